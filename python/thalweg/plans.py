"""Plans from Python: `plan(network, Bcast(root=0, nbytes="8MB"))`, and uses of a plan."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from thalweg import (
    algorithms,
    inputs,
    planner,
    simulator,
    trees,
    units,
)
from thalweg import network as networks
from thalweg import schedule as schedules
from thalweg.algorithms import Parameters, Problem, Skeleton
from thalweg.collective import Kind
from thalweg.errors import UserError, user_errors
from thalweg.explained_plan import NATIVE, ExplainedPlan
from thalweg.files import write_file
from thalweg.hosts import check_ranks
from thalweg.network import Network
from thalweg.operations import Operation, whole
from thalweg.planner import Entry, Options, PlanFile, Table
from thalweg.printable import short
from thalweg.schedule import Schedule
from thalweg.simulator import Fidelity, Prediction

__all__ = [
    "ESTIMATE",
    "NATIVE",
    "NORMAL",
    "Plan",
    "Search",
    "Setting",
    "plan",
    "save",
    "write_table",
]

BUDGET = 10.0
"""Default seconds of a patient search."""


def plan(
    network: Network | str | PathLike[str] | Mapping[str, Any],
    operation: Operation,
    *,
    ranks: int | None = None,
    hosts: str | Sequence[str] | None = None,
    placement: Sequence[int] | Sequence[str] | None = None,
    library: str | None = None,
    algorithm: str = "",
    schedule: Schedule | None = None,
    effort: str = "normal",
    seed: int = 0,
    budget: float | str = BUDGET,
) -> "Plan":
    """Returns the best known plan of an operation on a network.

    `network` is a Network, the path of a network or scenario file, the name of a scenario of the
    lab, or the content of such a file. There is one rank on each of its hosts, unless `hosts` names
    others ("a:2,node[0-3]", or a list of such), `ranks` is their number (they fill the slots of one
    host after the other), or `placement` has the host of each rank, by number or name. `library` is
    the MPI library whose message costs and native times count (default: the network's first).
    `algorithm` allows only this one; "native" is the MPI library's own. `schedule` is the caller's
    own: it is verified and predicted instead of planning. `effort` is "estimate" (milliseconds),
    "normal" or "patient", which adds a search for `budget` seconds (or text such as "1min") whose
    random choices depend on `seed`. The same arguments give the same plan.

    Raises UserError saying what is wrong with the arguments, or with the schedule.
    """
    if not isinstance(operation, Operation):
        raise UserError(
            f"{short(repr(operation))} is no operation: give one such as Bcast(root=0, "
            'nbytes="8MB")'
        )
    if schedule is not None and not isinstance(schedule, Schedule):
        raise UserError(f"{short(repr(schedule))} is no Schedule: make one, or read it from a file")
    net = _network(network)
    where = _placement(net, ranks, hosts, placement)
    name = known_library(net, None if library is None else _text(library, "library"), "the network")
    setting = Setting(net, where, name, _search(effort, seed, budget))
    return setting.plan(operation, _text(algorithm, "algorithm"), schedule)


@dataclass(frozen=True)
class Search:
    """The effort of planning."""

    effort: str = "normal"
    seed: int = 0
    budget: float = BUDGET
    """Seconds of a patient search, counted in simulated messages: a million per second."""


NORMAL = Search()
ESTIMATE = Search(effort="estimate")
"""For networks that were measured quickly: a program shouldn't wait for its plans."""


@dataclass(frozen=True)
class Setting:
    """Where an operation runs, and the effort of planning it."""

    network: Network
    placement: list[int]
    """A host number per rank."""
    library: str = ""
    """The MPI library whose message costs and native times count; empty: none."""
    search: Search = NORMAL

    def plan(
        self,
        operation: Operation,
        algorithm: str = "",
        schedule: Schedule | None = None,
        tree: Parameters | None = None,
    ) -> "Plan":
        """Plans as plan() of this module does; `tree` is a declared one (trees.read).

        Raises UserError.
        """
        if not self.placement:
            raise UserError("there are no ranks to plan for: name a host, or ranks")
        collective = operation.collective(len(self.placement))
        with user_errors():
            problem = Problem(collective, self.network, self.placement, self.library)
            given = [] if schedule is None else [algorithms.listed(collective, schedule)]
            if tree is not None:
                given.append(algorithms.find(trees.NAME).build(problem, tree))
            if given:
                algorithm = given[0].algorithm
            options = self.options(algorithm, given)
            return Plan(problem, options, planner.explain(problem, options))

    def options(self, algorithm: str = "", given: Sequence[Skeleton] = ()) -> Options:
        """The planner's options. Raises UserError."""
        if not 0 <= self.search.seed < 2**64:
            raise UserError(f"seed {self.search.seed}: must be from 0 to 2^64 - 1")
        with user_errors():
            return Options(
                library=self.library, force=algorithm, given=given,
                effort=planner.parse_effort(self.search.effort), seed=self.search.seed,
                budget=self.search.budget,
            )  # fmt: skip

    def table(self, kinds: Sequence[Kind] = tuple(Kind)) -> Table:
        """Plans all sizes and roots of these collectives. Takes seconds. Raises UserError."""
        return planner.make_table(self.network, self.placement, kinds, self.options())

    def host(self, rank: int) -> str:
        """The name of the rank's host."""
        return self._host_of_rank[rank]

    @cached_property
    def _host_of_rank(self) -> list[str]:
        hosts = self.network.hosts
        return [hosts[host].name for host in self.placement]


class Plan(ExplainedPlan):
    """An explained plan with methods that verify, simulate, print, draw and save it."""

    def verify(self) -> None:
        """Replays the schedule. Raises UserError naming the first transfer that is wrong."""
        with user_errors():
            schedules.verify(self.collective, self.schedule)

    def simulate(
        self, fidelity: Fidelity = Fidelity.fluid, *, timeline: bool = False
    ) -> Prediction:
        """Predicts each rank's exit, and with `timeline` each message. Raises UserError."""
        if not isinstance(fidelity, Fidelity):
            raise UserError(f"fidelity {short(repr(fidelity))} must be Fidelity.fast or .fluid")
        options = simulator.Options(fidelity, self.options.window, timeline=timeline)
        return simulator.simulate(self.problem, self.skeleton, options)

    def explain(self) -> str:
        """Explains the plan as text: candidates, bound, critical path."""
        from thalweg import explain  # text and pictures: a run that is planned needs neither

        return explain.text(self)

    def draw(self, path: str | PathLike[str]) -> None:
        """Draws the schedule over the hierarchy of hosts, as .svg or .png. Raises UserError."""
        from thalweg import picture, plan_picture

        picture.write(Path(path), plan_picture.svg(self))

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a plan file with this plan alone: see save() of this module."""
        save(path, [self])


def save(path: str | PathLike[str], plans: Sequence[Plan]) -> None:
    """Writes a plan file, for `thalweg run --plan`, of plans for one network and placement.

    Each is used for all sizes of its collective, and for its root if it has one. Where that is the
    first rank of its host, the host's other ranks share the plan with the two exchanged, unless it
    is a schedule that was given. Everything else is native.

    Raises UserError if the plans don't belong together, or the file can't be written.
    """
    if not plans:
        raise UserError(f"plan {path}: there is no plan to write; give it one at least")
    first = plans[0]
    for each in plans:
        if not isinstance(each, Plan):
            raise UserError(f"plan {path}: {short(repr(each))} is no Plan: give those of plan()")
        if each.placement != first.placement or each.problem.network != first.problem.network:
            raise UserError(f"plan {path}: all plans must be for the same network and placement")
    entries = [_entry(each) for each in plans if not each.is_native]
    if len({(entry.kind, entry.root) for entry in entries}) < len(entries):
        raise UserError(f"plan {path}: two plans are for the same collective and root; drop one")
    library = first.options.library
    write_table(path, first.problem.network, library, Table(first.placement, entries))


_FROM_NO_SIZE = (Kind.barrier, Kind.gather, Kind.scatter, Kind.alltoall)
"""Collectives whose calls may have no size that all ranks know, as MPI_Gatherv: they look for 0."""


def _entry(plan: Plan) -> Entry:
    kind = plan.collective.kind
    least = 0 if kind in _FROM_NO_SIZE else 1
    size = plan.collective.size
    return Entry(kind, plan.skeleton, least, size, plan.predicted, plan.bound, plan.native)


def write_table(path: str | PathLike[str], network: Network, library: str, table: Table) -> None:
    """Writes a whole plan file or none. Raises UserError."""
    with user_errors():
        file = PlanFile(network, library, [table])
    write_file(Path(path), f"plan {path}", planner.to_bytes(file))


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise UserError(f"{name} {short(repr(value))} must be text")
    return value


def _search(effort: str, seed: int, budget: float | str) -> Search:
    """Checks the effort of planning."""
    if isinstance(budget, str):
        seconds = units.parse_time(budget)
    else:
        try:
            seconds = float(budget)
        except (TypeError, ValueError, OverflowError):
            seconds = math.nan
        if isinstance(budget, bool) or not seconds >= 0:
            raise UserError(
                f'budget {short(repr(budget))} must be seconds from 0, or text such as "1min"'
            )
    return Search(_text(effort, "effort"), whole(seed, "seed"), seconds)


def known_library(net: Network, library: str | None, where: str) -> str:
    """Returns the library, or the network's first. Raises UserError for an unknown one."""
    if library and net.message_costs and library not in net.message_costs:
        known = ", ".join(net.message_costs)
        raise UserError(
            f"{where} was measured with {known}, not {library}; "
            f"add it with `thalweg probe --mpi {library} --base FILE`"
        )
    return library or next(iter(net.message_costs), "")


def _network(given: Network | str | PathLike[str] | Mapping[str, Any]) -> Network:
    if isinstance(given, Network):
        return given
    if isinstance(given, Mapping):
        content = given.get("network", given)
        try:
            text = json.dumps(content)
        except (TypeError, ValueError, RecursionError) as error:
            raise UserError(f"network: can't be written as JSON: {error}") from None
        return networks.from_json(text, "network")
    if not isinstance(given, str | PathLike) or isinstance(fspath(given), bytes):
        raise UserError(
            f"network {short(repr(given))}: give a Network, a file's path, a scenario's name, or a "
            "file's content"
        )
    return inputs.network(Path(given))


def _placement(
    net: Network,
    ranks: int | None,
    hosts: str | Sequence[str] | None,
    placement: Sequence[int] | Sequence[str] | None,
) -> list[int]:
    if ranks is not None and (ranks := whole(ranks, "ranks")) < 1:
        raise UserError(f"ranks {ranks} must be at least 1")
    if placement is None:
        if not (hosts is None or isinstance(hosts, str)):
            hosts = ",".join(_text(each, "a host of hosts") for each in _listed(hosts, "hosts"))
        return inputs.ranks_on(net, ranks, hosts, "hosts")
    hosts_of_ranks = _listed(placement, "placement")
    if hosts is not None or (ranks is not None and ranks != len(hosts_of_ranks)):
        raise UserError("placement says where each rank is: leave out hosts and ranks")
    check_ranks(len(hosts_of_ranks), len(net.hosts))
    names = {each for each in hosts_of_ranks if isinstance(each, str)}
    number_of = dict(zip(names, inputs.placement(net, list(names)), strict=True))
    found = [
        number_of[each] if isinstance(each, str) else whole(each, f"placement of rank {rank}:")
        for rank, each in enumerate(hosts_of_ranks)
    ]
    for rank, host in enumerate(found):
        if not 0 <= host < len(net.hosts):
            raise UserError(
                f"placement of rank {rank}: there is no host number {host}; the network has "
                f"{len(net.hosts)}, from 0"
            )
    return found


def _listed(values: Any, name: str) -> list[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise UserError(f"{name} {short(repr(values))} must be a list")
    return list(values)
