"""Chooses which rank a program's run has on which host, by what an earlier run sent."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from thalweg import (
    binding,
    inputs,
    kept_mapping,
    mapping,
    matrices,
    past_runs,
    placement,
    programs,
    record,
    wisdom,
)
from thalweg.binding import Core
from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.kept_mapping import MappingProblem
from thalweg.mapping import Mapping, TrafficSums
from thalweg.matrices import Program
from thalweg.network import Network
from thalweg.record import Run
from thalweg.units import time_to_text

LEAST_SHARE = 0.05
"""The share of the communication's cost that a placement must save, or the launcher's order stays.
Below it the cost's own errors decide; chains of messages must save as much (planned.hpp)."""
LEAST_OF_RUN = 0.01
"""The share of the earlier run's time, likewise. Below it no run would show it, and launchers may
bind ranks of a placement less tightly to cores."""


@dataclass(frozen=True)
class PredictedPlacement:
    """A placement, and what it is predicted to cost."""

    hosts: Sequence[str]
    """By rank, as the network has them: what they call themselves."""
    mapping: Mapping

    @property
    def total(self) -> float:
        """What a rank spends communicating, in seconds, with collectives planned."""
        return self.mapping.total

    @property
    def traffic(self) -> TrafficSums:
        return self.mapping.traffic


@dataclass(frozen=True)
class PlacementChoice:
    """The launcher's own order and the best placement that was found."""

    source: str
    """Where the communication matrix is from, in words."""
    program: Program
    """What the program sends."""
    usual: PredictedPlacement
    best: PredictedPlacement
    objection: str
    """Why the launcher's order stays; empty if it doesn't."""
    before: Run | None
    """The latest run with the same arguments in the launcher's order, if it was recorded; None if
    that order stays."""
    has_sites: bool
    """Whether the network has sites, so that what goes between them is known."""
    restriction: str = ""
    """What the launcher's restriction to blocks costs, as a sentence without its full stop; empty
    if it costs too little to count."""

    @property
    def chosen(self) -> PredictedPlacement:
        return self.usual if self.objection else self.best

    @property
    def moved(self) -> int:
        """How many ranks aren't where the launcher would start them."""
        return sum(a != b for a, b in zip(self.usual.hosts, self.chosen.hosts, strict=True))


def choose(
    net: Network, listed: Sequence[Host], usual: Sequence[str], program: Sequence[str],
    matrix: Path | None = None, *, in_blocks: bool = False,
) -> PlacementChoice | None:  # fmt: skip
    """Chooses among the slots of the listed hosts; `usual`: where the launcher would start ranks.

    World rank 0 stays where it is, since it reads and writes a program's files. The matrix is that
    of an earlier run in the cache, or the one of the file or run record that is named. None if
    there is neither. With `in_blocks` the ranks of each host follow each other.
    Raises UserError if the named matrix can't be used, or a host isn't in the network, or if
    mapping for a program that isn't named takes longer than all of its communication.
    """
    usual = inputs.own_names(net, usual)
    if (known := known_program(program, len(usual), matrix)) is None:
        return None
    problem = _problem(net, listed, usual, known, "inter-only" if in_blocks else "thalweg")
    if not matrix and (why := _takes_too_long(problem, program)):
        raise UserError(why)
    source = f"{matrix}" if matrix or not known.run else f"the run of {known.run.start}"
    now, best = _usual_and_best(problem)
    objection = _objection(now.total, best.total, _earlier_seconds(known))
    before = None if objection else past_runs.in_order(program, usual)
    return PlacementChoice(source, known, now, best, objection, before, bool(net.sites))


def _takes_too_long(problem: MappingProblem, program: Sequence[str]) -> str:
    """Says so if mapping takes longer, as far as it is known, than a run of the same program with
    the same arguments could save if its communication took no time at all; else empty.

    What mapping took counts a tenth less each time, so that it is tried again.
    """
    run = problem.program.run
    if not run or not past_runs.is_like(run, program):
        return ""
    if not (spent := kept_mapping.seconds(problem)):
        return ""
    costs = problem.estimated()
    if (takes := spent / run.dilation) <= costs:
        return ""
    wisdom.keep_seconds_of_mapping(*problem.size, spent * 0.9)
    return (
        f"mapping took {time_to_text(takes)}, more than the {time_to_text(costs)} that all of "
        "a rank's communication costs"
    )


def may_cost_much(
    choice: PlacementChoice, net: Network, listed: Sequence[Host], program: Sequence[str]
) -> bool:
    """Whether blocks may cost so much more than other placements that restricted() says so. They
    don't where even no communication at all would save too little, and it isn't said where to find
    out takes longer than it may save, as far as that is known."""
    if _objection(choice.chosen.total, 0.0, _earlier_seconds(choice.program)):
        return False
    free = _problem(net, listed, choice.usual.hosts, choice.program, "thalweg")
    return not _takes_too_long(free, program)


def choose_unrestricted(
    choice: PlacementChoice, net: Network, listed: Sequence[Host]
) -> PlacementChoice:
    """Returns what would be chosen if the ranks of a host needn't follow each other."""
    free = _problem(net, listed, choice.usual.hosts, choice.program, "thalweg")
    now, best = _usual_and_best(free)
    objection = _objection(now.total, best.total, _earlier_seconds(choice.program))
    return replace(choice, usual=now, best=best, objection=objection)


def _problem(
    net: Network, listed: Sequence[Host], usual: Sequence[str], known: Program, method: str
) -> MappingProblem:
    slots, order = placement.slots_of(net, listed, len(usual))
    return MappingProblem(net, known, slots, order, inputs.placement(net, usual), method)


def _usual_and_best(problem: MappingProblem) -> tuple[PredictedPlacement, PredictedPlacement]:
    """Returns the launcher's order and the best placement found."""
    mapped = kept_mapping.place(problem)
    names = [host.name for host in problem.network.hosts]
    usual, best = (
        PredictedPlacement([names[host] for host in found.placement], found)
        for found in (mapped.usual or mapped, mapped)
    )
    return usual, best


def cores(
    program: Sequence[str], hosts: Sequence[str], topology: str, matrix: Path | None, *, alike: bool
) -> Sequence[Core]:
    """Returns a core for each rank (thalweg.binding), by the same messages as its host.

    Where nothing is known of them, ranks have cores in their order.
    Raises UserError as binding.bind().
    """
    ranks = len(hosts)
    known = known_program(program, ranks, matrix)
    sent = known.matrix if known else mapping.communication(ranks, [], [], [], [])
    return binding.bind(sent, hosts, topology, alike=alike)


def known_program(program: Sequence[str], ranks: int, matrix: Path | None) -> Program | None:
    """Returns what a program sends: of the named matrix, else of an earlier run in the cache."""
    if matrix:
        return named(matrix, ranks)
    if found := past_runs.find(program, ranks):
        return matrices.of_run(found)
    return None


def named(path: Path, ranks: int) -> Program:
    """Reads the matrix that the user named. Raises UserError if it isn't one of so many ranks."""
    known = matrices.read(path, ranks)
    if known.matrix.ranks != ranks:
        raise UserError(
            f"matrix {path}: is of {known.matrix.ranks} ranks, but the run has {ranks}; record a "
            f"run with -n {ranks}, or say -n {known.matrix.ranks}"
        )
    return known


def another_program(matrix: Path, program: Sequence[str]) -> str:
    """Says whose record a named matrix is, if it isn't this program's; else empty."""
    try:
        words = record.read(matrix).launch.get("program")
    except UserError:  # no record, but a matrix
        return ""
    if not words or past_runs.same_name(words, program):
        return ""
    other = programs.main_file(words)
    return f"{matrix} is the record of another program, {other}: its messages stand for this one"


def saves_enough(usual: float, best: float) -> bool:
    """Whether a placement's cost is so much below the launcher's that it may be believed."""
    return usual - best >= LEAST_SHARE * usual > 0


def _objection(before: float, after: float, seconds: float | None) -> str:
    """Says why another placement isn't taken, by the costs; else empty. `seconds`: of the earlier
    run; None if it isn't known."""
    if before <= 0:
        return "nothing is known to be sent between hosts"
    gain = before - after
    if not saves_enough(before, after):
        return (
            f"the best placement found saves {gain / before:.0%} of the communication's cost, less "
            f"than {LEAST_SHARE:.0%}"
        )
    if seconds and gain < LEAST_OF_RUN * seconds:
        return (
            f"the best placement found saves a rank {time_to_text(gain)} of "
            f"{time_to_text(seconds)}, less than {LEAST_OF_RUN:.0%}"
        )
    return ""


def weigh(choice: PlacementChoice, program: Sequence[str], spent: float) -> PlacementChoice:
    """Returns the choice with the launcher's order if placing took longer, in seconds of this
    machine, than a run is to save: as far as that is known, by a run of the same program with the
    same arguments."""
    run = choice.program.run
    if choice.objection or not run or not past_runs.is_like(run, program):
        return choice
    gain, takes = choice.usual.total - choice.best.total, spent / run.dilation
    if takes <= gain:
        return choice
    why = (
        f"mapping and planning for another placement take {time_to_text(takes)}, more than the "
        f"{time_to_text(gain)} that it promises to save a rank"
    )
    return replace(choice, objection=why, before=None)


def restricted(choice: PlacementChoice, free: PlacementChoice) -> PlacementChoice:
    """Returns the choice of blocks with what this restriction costs, if the same gain would be
    worth another placement. `free` is what would be chosen without it."""
    chosen, best = choice.chosen, free.best
    earlier = _earlier_seconds(choice.program)
    if free.objection or _objection(chosen.total, best.total, earlier):
        return choice
    said = (
        "this MPICH gives only ranks that follow each other shared memory on their host, so only "
        f"such blocks are placed: a rank's communication costs {time_to_text(chosen.total)} "
        f"instead of {time_to_text(best.total)}, which a newer MPICH (-rankmap) allows, and "
        "`thalweg place --write mpich-4` without shared memory"
    )
    return replace(choice, restriction=said)


def _earlier_seconds(known: Program) -> float | None:
    return known.run.seconds if known.run else None
