"""Plans from Python: `plan(network, Bcast(root=0, nbytes="8MB"))`, and uses of a plan."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from thalweg import (
    algorithms,
    explain,
    inputs,
    picture,
    plan_picture,
    planner,
    simulator,
    trees,
    units,
)
from thalweg import network as networks
from thalweg import schedule as schedules
from thalweg.algorithms import Parameters, Problem, Skeleton
from thalweg.choice import NATIVE, Choice
from thalweg.collective import Kind
from thalweg.errors import UserError, user_errors
from thalweg.files import write_whole
from thalweg.network import Network
from thalweg.operations import Operation
from thalweg.planner import Entry, Options, PlanFile, Table
from thalweg.schedule import Schedule
from thalweg.simulator import Fidelity, Prediction

__all__ = ["NATIVE", "NORMAL", "Plan", "Search", "Setting", "plan", "save", "write_table"]

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
    net = _network(network)
    where = _placement(net, ranks, hosts, placement)
    search = Search(effort, seed, units.parse_time(budget) if isinstance(budget, str) else budget)
    setting = Setting(net, where, known_library(net, library, "the network"), search)
    return setting.plan(operation, algorithm, schedule)


@dataclass(frozen=True)
class Search:
    """The effort of planning."""

    effort: str = "normal"
    seed: int = 0
    budget: float = BUDGET
    """Time limit of a patient search in seconds."""


NORMAL = Search()


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
        """As plan() of this module; `tree` is a declared one (trees.read). Raises UserError."""
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
        effort = planner.parse_effort(self.search.effort)
        try:
            return Options(
                library=self.library, force=algorithm, given=given,
                effort=effort, seed=self.search.seed, budget=self.search.budget,
            )  # fmt: skip
        except ValueError as error:
            raise UserError(str(error)) from None
        except TypeError:
            raise UserError(f"seed {self.search.seed!r}: must be a whole number from 0") from None

    def table(self, kinds: Sequence[Kind] = tuple(Kind)) -> Table:
        """Plans all sizes and roots of these collectives. Takes seconds. Raises UserError."""
        return planner.make_table(self.network, self.placement, kinds, self.options())

    def host(self, rank: int) -> str:
        """The name of the rank's host."""
        return self.network.hosts[self.placement[rank]].name


class Plan(Choice):
    """A choice with methods that verify, simulate, explain, draw and save it."""

    def verify(self) -> None:
        """Replays the schedule. Raises UserError naming the first transfer that is wrong."""
        with user_errors():
            schedules.verify(self.collective, self.schedule)

    def simulate(
        self, fidelity: Fidelity = Fidelity.fluid, *, timeline: bool = False
    ) -> Prediction:
        """Predicts each rank's exit, and with `timeline` each message. Raises UserError."""
        options = simulator.Options(fidelity, self.options.window, timeline=timeline)
        return simulator.simulate(self.problem, self.skeleton, options)

    def explain(self) -> str:
        """Explains the plan as text: candidates, bound, critical path."""
        return explain.text(self)

    def draw(self, path: str | PathLike[str]) -> None:
        """Draws the schedule over the hierarchy of hosts, as .svg or .png. Raises UserError."""
        picture.write(Path(path), plan_picture.svg(self))

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a plan file with this plan alone: see save() of this module."""
        save(path, [self])


def save(path: str | PathLike[str], plans: Sequence[Plan]) -> None:
    """Writes a plan file, for `thalweg run --plan`, of plans for one network and placement.

    Each is used for all sizes of its collective, and for its root if it has one; everything else is
    native. Raises UserError if the plans don't belong together, or the file can't be written.
    """
    if not plans:
        raise UserError(f"plan {path}: there is no plan to write; give it one at least")
    first = plans[0]
    for each in plans:
        if each.placement != first.placement or each.problem.network != first.problem.network:
            raise UserError(f"plan {path}: all plans must be for the same network and placement")
    entries = [_entry(each) for each in plans if not each.is_native]
    if len({(entry.kind, entry.root) for entry in entries}) < len(entries):
        raise UserError(f"plan {path}: two plans are for the same collective and root; drop one")
    library = first.options.library
    write_table(path, first.problem.network, library, Table(first.placement, entries))


def _entry(plan: Plan) -> Entry:
    kind = plan.collective.kind
    least = 0 if kind is Kind.barrier else 1
    return Entry(kind, plan.skeleton, least, plan.predicted, plan.bound, plan.native)


def write_table(path: str | PathLike[str], network: Network, library: str, table: Table) -> None:
    """Writes a whole plan file or none. Raises UserError."""
    try:
        write_whole(Path(path), planner.to_bytes(PlanFile(network, library, [table])))
    except OSError as error:
        raise UserError(f"plan {path}: {error.strerror}") from None


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
        return networks.from_json(json.dumps(content), "network")
    return inputs.network(Path(given))


def _placement(
    net: Network,
    ranks: int | None,
    hosts: str | Sequence[str] | None,
    placement: Sequence[int] | Sequence[str] | None,
) -> list[int]:
    if placement is None:
        listed = hosts if hosts is None or isinstance(hosts, str) else ",".join(hosts)
        return inputs.ranks_on(net, ranks, listed)
    if hosts is not None or (ranks is not None and ranks != len(placement)):
        raise UserError("placement says where each rank is: leave out hosts and ranks")
    found: list[int] = []
    for each in placement:
        found += inputs.placement(net, [each]) if isinstance(each, str) else [each]
    return found
