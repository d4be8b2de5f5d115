"""Chooses which rank a program's run has on which host, by what an earlier run sent; says what that
promises, and afterwards what came of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from thalweg import (
    binding,
    host_names,
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
from thalweg.units import size_to_text, time_to_text

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
    source = f"{matrix}" if matrix or not known.run else f"the run of {_when(known.run)}"
    now, best = _usual_and_best(problem)
    objection = _objection(now.total, best.total, _earlier_seconds(known))
    before = None if objection else in_order(program, usual)
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


def launcher_order(run: Run) -> list[str] | None:
    """Returns the host of each rank in the launcher's order, if the run was placed otherwise."""
    found = run.launch.get("order")
    if not isinstance(found, list) or len(found) != run.ranks:
        return None
    names = host_names.as_in([str(name) for name in found], run.hosts)
    return names if names != hosts_of(run) else None


def in_order(program: Sequence[str], hosts: Sequence[str]) -> Run | None:
    """Returns the latest recorded run with the same arguments and the ranks on these hosts."""
    for run in past_runs.same(program, len(hosts)):
        if is_on(run, hosts):
            return run
    return None


def is_on(run: Run, hosts: Sequence[str]) -> bool:
    """Whether a run had its ranks on these hosts, with their domains or without."""
    return host_names.as_in(hosts, run.hosts, domains=True) == hosts_of(run)


def hosts_of(run: Run) -> list[str]:
    """By rank, as the hosts call themselves."""
    return [run.hosts[host] for host in run.placement]


def seconds_of(run: Run) -> float | None:
    """How long a recorded run took, its start by the launcher included; None if not known."""
    found = run.launch.get("seconds")
    return found / run.dilation if isinstance(found, int | float) and found > 0 else None


def _earlier_seconds(known: Program) -> float | None:
    return seconds_of(known.run) if known.run else None


def in_collectives(run: Run) -> float:
    """Returns the seconds that a rank spent in blocking collectives, on average."""
    return float(run.blocking_calls["seconds"].sum()) / run.ranks


def _when(run: Run) -> str:
    return str(run.launch.get("start", "an unknown time"))


# What is said -----------------------------------------------------------------------------------


def lines(choice: PlacementChoice) -> Iterator[str]:
    """What was chosen, and what it promises."""
    if choice.restriction:
        yield choice.restriction
    if choice.objection:
        yield f"the launcher's order stays: {choice.objection} ({choice.source})"
        return
    yield (
        f"{choice.moved} of {len(choice.usual.hosts)} ranks start on another host than in the "
        f"launcher's order, by what was sent in {choice.source}:"
    )
    yield f"{'':36}{'launcher':>12}{'placed':>12}"
    for name, usual, best in _rows(choice):
        yield f"{name:36}{usual:>12}{best:>12}"


def _rows(choice: PlacementChoice) -> Iterator[tuple[str, str, str]]:
    pair = choice.usual.traffic, choice.best.traffic
    for name, field in (
        ("sent point to point inside hosts", "intra_host"),
        ("sent point to point between hosts", "inter_host"),
        ("sent point to point between sites", "inter_site"),
    ):
        is_known = field != "inter_site" or choice.has_sites
        usual, best = (
            size_to_text(round(getattr(traffic, field))) if is_known else "-" for traffic in pair
        )
        yield name, usual, best
    for name, times in (
        ("CommTime, point to point", [traffic.comm_time for traffic in pair]),
        ("communication of a rank", [choice.usual.total, choice.best.total]),
    ):
        usual, best = map(time_to_text, times)
        yield name, usual, best


def outcome(choice: PlacementChoice, run: Run) -> str:
    """Compares what was predicted with what the run's record says."""
    if not is_on(run, choice.chosen.hosts):
        return "the launcher placed ranks otherwise than it was told: nothing to compare"
    took = seconds_of(run)
    if took is None:
        return "how long the run took isn't recorded"
    text = f"the run took {time_to_text(took)}"
    before = choice.before
    if before is None or (earlier := seconds_of(before)) is None:
        return text + "; none with these arguments is recorded in the launcher's order"
    predicted = choice.usual.total - choice.best.total
    saved = earlier - took
    return (
        f"{text}, in the launcher's order {time_to_text(earlier)} ({_when(before)}): "
        f"{time_to_text(abs(saved))} {'less' if saved >= 0 else 'more'}, where a rank's "
        f"communication was to take {time_to_text(predicted)} less if nothing overlaps; "
        f"collectives took a rank {time_to_text(in_collectives(run))}, then "
        f"{time_to_text(in_collectives(before))}"
    )


def as_json(choice: PlacementChoice) -> dict[str, Any]:
    return {
        "source": choice.source,
        "hosts": list(choice.chosen.hosts),
        "moved": choice.moved,
        "objection": choice.objection or None,
        "restriction": choice.restriction or None,
        "launcher": _figures(choice.usual, has_sites=choice.has_sites),
        "best": _figures(choice.best, has_sites=choice.has_sites),
    }


def _figures(placed: PredictedPlacement, *, has_sites: bool) -> dict[str, float | None]:
    traffic = placed.traffic
    return {
        "cost": placed.total,
        "comm_time": traffic.comm_time,
        "intra_host": traffic.intra_host,
        "inter_host": traffic.inter_host,
        "inter_site": traffic.inter_site if has_sites else None,
    }
