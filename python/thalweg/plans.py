"""Plans from Python: `plan(network, Bcast(root=0, nbytes="8MB"))`, and what a plan can do."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from thalweg import algorithms, inputs, planner, simulator, trees, units
from thalweg import network as networks
from thalweg import schedule as schedules
from thalweg.algorithms import Parameters, Problem, Skeleton
from thalweg.collective import Collective, Kind
from thalweg.errors import UserError, user_errors
from thalweg.network import Network
from thalweg.operations import Operation
from thalweg.planner import Candidate, Entry, Explanation, Options, PassTime, PlanFile, Table
from thalweg.schedule import Schedule
from thalweg.simulator import Event, Fidelity, Prediction

__all__ = ["NATIVE", "NORMAL", "Plan", "Search", "Setting", "plan", "save", "write_table"]

BUDGET = 10.0
"""Seconds that a patient search may take, unless said otherwise."""
NATIVE = "native"
"""Plan.algorithm where the MPI library's own collective is the choice."""


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
    """The best known way to do an operation on a network.

    `network` is a Network, the path of a network or scenario file, the name of a scenario of the
    lab, or the content of such a file. There is one rank on each of its hosts, unless `hosts` names
    others ("a:2,node[0-3]", or a list of such), `ranks` says how many there are (they fill the
    slots of one host after the other), or `placement` has the host of each rank, by number or name.
    `library` is the MPI library whose message costs and native times count: the first that the
    network knows unless given. `algorithm` allows only this one; "native" is the MPI library's own.
    `schedule` is one of the caller's: it is verified and predicted instead of planning. `effort` is
    "estimate" (milliseconds), "normal" or "patient": then a search, whose random choices depend on
    `seed`, goes on for `budget` seconds (or text such as "1min"). The same arguments give the same
    plan.

    Raises UserError saying what is wrong with the arguments, or with the schedule.
    """
    net = _network(network)
    where = _placement(net, ranks, hosts, placement)
    search = Search(effort, seed, units.parse_time(budget) if isinstance(budget, str) else budget)
    setting = Setting(net, where, known_library(net, library, "the network"), search)
    return setting.plan(operation, algorithm, schedule)


@dataclass(frozen=True)
class Search:
    """How hard is planned."""

    effort: str = "normal"
    seed: int = 0
    budget: float = BUDGET
    """Seconds that a patient search may take."""


NORMAL = Search()


@dataclass(frozen=True)
class Setting:
    """Where an operation runs, and how hard it is planned."""

    network: Network
    placement: list[int]
    """A host number per rank."""
    library: str = ""
    """Whose message costs and native times count; empty: none."""
    search: Search = NORMAL

    def plan(
        self,
        operation: Operation,
        algorithm: str = "",
        schedule: Schedule | None = None,
        tree: Parameters | None = None,
    ) -> "Plan":
        """As plan() of this module; `tree` is one by hand (trees.read). Raises UserError."""
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

    def table(self, kinds: Sequence[Kind]) -> Table:
        """Plans of all sizes and roots of these collectives. Takes seconds. Raises UserError."""
        return planner.make_table(self.network, self.placement, kinds, self.options())

    def host(self, rank: int) -> str:
        """The name of the rank's host."""
        return self.network.hosts[self.placement[rank]].name


@dataclass(frozen=True, repr=False)
class Plan:
    """The choice for one operation, and how it came about. Times are in seconds."""

    problem: Problem
    options: Options
    explanation: Explanation

    @property
    def collective(self) -> Collective:
        """The operation on as many ranks as it was planned for."""
        return self.problem.collective

    @property
    def placement(self) -> list[int]:
        """The host number of each rank."""
        return self.problem.placement

    @property
    def algorithm(self) -> str:
        """Its name; "native" is the MPI library's own collective, "listed" a given schedule."""
        return self.explanation.plan.algorithm

    @property
    def is_native(self) -> bool:
        """Whether the MPI library's own collective is the choice: it has no schedule."""
        return self.algorithm == NATIVE

    @property
    def parameters(self) -> Parameters:
        """What was chosen of the algorithm."""
        return self.explanation.plan.parameters

    @property
    def skeleton(self) -> Skeleton:
        """What the algorithm decided. Raises UserError for a native plan."""
        if self.is_native:
            raise UserError(
                f"{self.reason}: the MPI library's own collective has no schedule; name an "
                "algorithm to see another one's"
            )
        return self.explanation.plan.skeleton

    @cached_property
    def schedule(self) -> Schedule:
        """The transfers of all ranks. Raises UserError for a native plan."""
        return algorithms.expand(self.collective.kind, self.skeleton, self.collective.size)

    @property
    def predicted(self) -> float:
        """The time it is predicted to take, of native the measured one; 0 if that isn't known."""
        return self.explanation.plan.predicted

    @property
    def bound(self) -> float:
        """The physical limit: no schedule can take less."""
        return self.explanation.plan.bound.time

    @property
    def bound_reason(self) -> str:
        """The cut or path that sets the bound."""
        return self.explanation.plan.bound.reason

    @property
    def reason(self) -> str:
        """Why it was chosen, in a sentence."""
        return self.explanation.plan.reason

    @property
    def title(self) -> str:
        """What was planned, and what was chosen: "bcast of 8MB on 16 ranks: binomial"."""
        collective = self.collective
        size = f" of {units.size_to_text(collective.size)}"
        if collective.block_sizes:
            size = f" of {units.size_to_text(collective.total)} in unequal blocks"
        if collective.kind is Kind.barrier:
            size = ""
        return f"{collective.kind.name}{size} on {collective.ranks} ranks: {self.algorithm}"

    @property
    def candidates(self) -> list[Candidate]:
        """All that was compared, best first."""
        return self.explanation.candidates

    @property
    def critical_path(self) -> list[Event]:
        """The messages that set the predicted time, first to last; none where too many are sent."""
        return self.explanation.critical_path

    @property
    def passes(self) -> list[PassTime]:
        """What the planner did, and how long that took."""
        return self.explanation.passes

    def host(self, rank: int) -> str:
        """The name of the rank's host."""
        return self.problem.network.hosts[self.placement[rank]].name

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
        """Why this plan, for people: candidates, bound, critical path."""
        from thalweg import explain

        return explain.text(self)

    def draw(self, path: str | PathLike[str]) -> None:
        """Draws the schedule over the hierarchy of hosts, as .svg or .png. Raises UserError."""
        from thalweg import picture, plan_picture

        picture.write(Path(path), plan_picture.svg(self))

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a plan file with this plan alone: see save() of this module."""
        save(path, [self])

    def __repr__(self) -> str:
        time = units.time_to_text(self.predicted) if self.predicted else "unknown"
        return f"<Plan of {self.collective.kind.name}: {self.algorithm}, predicted {time}>"


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
    return Entry(kind, plan.skeleton, least, plan.predicted, plan.bound)


def write_table(path: str | PathLike[str], network: Network, library: str, table: Table) -> None:
    """Writes a plan file, as a whole or not at all. Raises UserError."""
    output = Path(path)
    temporary = output.with_name(output.name + ".part")
    try:
        temporary.write_bytes(planner.to_bytes(PlanFile(network, library, [table])))
        temporary.replace(output)
    except OSError as error:
        raise UserError(f"plan {output}: {error.strerror}") from None


def known_library(net: Network, library: str | None, where: str) -> str:
    """The library, or the first that the network knows. Raises UserError for an unknown one."""
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
