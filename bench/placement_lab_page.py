"""The page of programs on the lab in several placements."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import report, uneven
from bench.page import Part, valid_runs
from bench.placement_programs import compared, kernels, lammps
from bench.plot import BarPanel, Stack, bar_chart
from bench.report import Content, Figure, Table, percent, seconds, times
from bench.summary import median_interval

slots = 8  # ranks of a host
timed = ("block", "interleave", "scotch", "thalweg")
planned, block_planned, stale = "planned", "block, planned", "stale"
"""The mapping's placement with plans for it, the launcher's order with plans, and the mapping's for
the other time of the day."""
rivals = ("block", "scotch")
"""A launcher's order and Scotch alone: the best of the two is what a gain is against."""
bar, enough, least_ratio = 1.5, 0.8, 0.97
decisive = 6
"""Rounds of which order statistics enclose the median with 95 %; fewer decide nothing."""
missed, undecided, same = "MISSED", "not decided", "same placement"


def contents(parts: Sequence[Part]) -> list[Content]:
    """Returns the times by placement, drawn too, and what the placements send between hosts."""
    simulated = simulated_gains()
    cells = [cell for part in parts if (cell := _cell(part, simulated))]
    return [_times(parts, cells), _drawing(cells), _costs(parts), _traffic(parts, cells)]


@dataclass(frozen=True)
class _Cell:
    """What a part's samples say."""

    part: Part
    medians: Mapping[str, float]
    rounds: int
    gain: float
    low: float
    high: float
    """The median of the rounds' gains, and what encloses it: with 95 %, if the rounds suffice."""
    promised: float
    simulated: float | None
    """The gain that SMPI finds on this cloud; None if it isn't simulated."""
    is_same: bool
    """Whether the launcher's order stays and is the faster rival: the same placement twice."""

    @property
    def is_slower(self) -> str:
        """What the bar says, by which a placement loses no more than 3 %."""
        if self.is_same:
            return same
        if self.rounds < decisive or (self.gain < least_ratio and self.high >= 1):
            return undecided
        return missed if self.gain < least_ratio else "yes"

    @property
    def name(self) -> str:
        labels = self.part.labels
        return f"{labels['program']} {labels['size']}"

    @property
    def alone(self) -> float:
        """The gain of the placement without plans, of the medians."""
        best = min(self.medians[rival] for rival in rivals if rival in self.medians)
        return best / self.medians["thalweg"]

    @property
    def has_plans(self) -> bool:
        """Whether the gain is that of the placement with plans for it."""
        return planned in self.medians


Gains = Mapping[tuple[str, str, str, int], float]
"""By cloud, time of day, program and size."""


def simulated_gains() -> Gains:
    """Returns the gains on the page of simulated placements; none if there is no such page."""
    path = report.results / "placement-smpi.json"
    if not path.exists():
        return {}
    heads = json.loads(path.read_text())["parts"]
    here = {"hosts": uneven.HOSTS, "slots": slots}
    return {
        _key(head["labels"]): head["facts"]["gain"]
        for head in heads
        if head["labels"].items() >= here.items()
    }


def _key(labels: Mapping[str, Any]) -> tuple[str, str, str, int]:
    return labels["scenario"], labels["time"], labels["program"], labels["size"]


def _cell(part: Part, simulated: Gains) -> _Cell | None:
    """Returns what a part's samples say; None if a placement has no valid run."""
    variants = list(dict.fromkeys(sample["variant"] for sample in part.samples))
    runs = {variant: list(_valid_by_round(part, variant).values()) for variant in variants}
    if not all(runs.values()) or "thalweg" not in runs:
        return None
    medians = {variant: statistics.median(found) for variant, found in runs.items()}
    known = [rival for rival in rivals if rival in medians]
    rival = min(known, key=lambda each: medians[each])
    own = planned if planned in medians else "thalweg"
    theirs, ours = _valid_by_round(part, rival), _valid_by_round(part, own)
    pairs = [theirs[turn] / ours[turn] for turn in theirs.keys() & ours.keys()]
    cost = part.facts["cost"]
    promised = min(cost[each] for each in known) / cost["thalweg"] if cost["thalweg"] else 1.0
    low, high = median_interval(pairs) if pairs else (0.0, 0.0)
    gain = statistics.median(pairs) if pairs else medians[rival] / medians[own]
    is_same = own != planned and rival == "block" and cost["block"] == cost["thalweg"]
    judged = simulated.get(_key(part.labels))
    return _Cell(part, medians, len(pairs), gain, low, high, promised, judged, is_same)


def _times(parts: Sequence[Part], cells: Sequence[_Cell]) -> Table:
    table = Table(
        "Run times, un-dilated",
        ["cloud", "time", "program", "size", *compared, planned, "gain", "interval",
         "at most 3 % slower", "placement alone", "promised", "simulated", "rounds", "dilation",
         "in a row"],
        notes=[
            "Medians of valid runs that take turns, of the program's timed part; "
            f"{slots} ranks on each of {uneven.HOSTS} hosts. Gain: the faster of block and Scotch, "
            "over planned where that was run, else over thalweg: the median of the rounds' ratios. "
            "Placement alone: the medians' ratio without plans. Promised: that of the placements' "
            "costs, in which nothing overlaps or is computed, and plans don't count. Simulated: "
            "the gain that SMPI finds on the same cloud, not as probed, but as it is "
            "([placement-smpi.md](placement-smpi.md)).",
            _coverage(),
            "Rounds: those in which both runs were valid by the lab's own counters, which other "
            "work on the machine disturbs. Ten are wanted; of kernels as many as begin within "
            "12.5 un-dilated seconds, of the rows with a dilation of 4 within 25. Kernels are run "
            "in all placements; other programs, which need a launch for each, in some.",
            "Dilation: by how much the lab slows the network down. 64 ranks share two cores: what "
            "they compute and how often they are scheduled counts in these times, the less the "
            "higher the dilation.",
            "In a row: how often a kernel runs each time, of which the time is the mean; once in "
            "rows without a number.",
        ],
    )  # fmt: skip
    for cell in cells:
        labels, medians = cell.part.labels, cell.medians
        table.add(
            labels["scenario"], labels["time"], labels["program"], labels["size"],
            *(seconds(medians[each]) if each in medians else "-" for each in (*compared, planned)),
            times(cell.gain), f"{cell.low:.2f} - {cell.high:.2f}", cell.is_slower,
            times(cell.alone), times(cell.promised),
            times(cell.simulated) if cell.simulated else "-",
            cell.rounds, f"{cell.part.facts['dilation']:g}",
            cell.part.facts.get("in_a_row", "-"),
        )  # fmt: skip
    table.notes += [*_verdicts(cells), _not_measured(parts), _SEEDS]
    return table


_SEEDS = (
    "The clouds are drawn from seeds, those of 40 for which costs promise most, of lu and of "
    "mg, so that they promise more than usual ones."
)


def _coverage() -> str:
    """Says with which probability an interval encloses the median: that of n rounds, all of them,
    leaves it out if it lies above all or below all of these."""
    of_few = (f"{percent(1 - 2 ** (1 - n))} for {n}" for n in range(2, decisive))
    return (
        "Interval: the order statistics that enclose the median of the rounds' ratios with 95 %, "
        f"or of fewer than {decisive} rounds all, which enclose it with {', '.join(of_few)}."
    )


def _not_measured(parts: Sequence[Part]) -> str:
    """Names what of the list of programs is not on the page, or only of some clouds and times."""
    clouds = [(name, time) for name in uneven.spreads for time in uneven.times_of_day]
    found = {
        (part.labels["program"], part.labels["size"], part.labels["scenario"], part.labels["time"])
        for part in parts
    }
    missing = []
    for kernel in kernels:
        name = f"{kernel.name} {kernel.size}"
        cells = [each for each in clouds if (kernel.name, kernel.size, *each) not in found]
        if len(cells) == len(clouds):
            missing.append(name)
        elif cells:
            where = ", ".join(f"{cloud} in the {time}" for cloud, time in cells)
            missing.append(f"{name} ({where})")
    said = f"Not measured, of the programs of this benchmark: {', '.join(missing) or 'none'}. "
    return f"{said}{lammps.upper()} is left out where it isn't installed."


def _verdicts(cells: Sequence[_Cell]) -> list[str]:
    by_cost = [cell for cell in cells if cell.promised >= bar]
    simulated = [cell for cell in cells if (cell.simulated or 0) >= bar]
    judged = sum(cell.simulated is not None for cell in cells)
    there = sum(gain >= bar for gain in simulated_gains().values())
    same = [cell.gain for cell in cells if cell.is_same]
    return [
        f"SMPI finds a gain of {bar}x or more in {len(simulated)} of the {judged} cells that are "
        f"simulated; the lab does in {_reached(simulated)} of these; wanted in {percent(enough)}: "
        f"{_verdict(simulated)}. {there - len(simulated)} of the {there} simulated cells with such "
        "a gain aren't measured.",
        f"By costs, a gain of {bar}x is promised in {len(by_cost)} of {len(cells)} cells and "
        f"reached in {_reached(by_cost)} of these.",
        f"{_reached(cells)} of {len(cells)} cells gain {bar}x or more, promised or not.",
        _by_plans(cells),
        _slower(cells),
        f"Where the launcher's order stays and is the faster of these, in {len(same)} cells, the "
        "same placement is timed twice, which tells how exact gains are: "
        f"{times(min(same, default=1))} to {times(max(same, default=1))}.",
    ]


def _by_plans(cells: Sequence[_Cell]) -> str:
    """Says in how many cells a gain is the plans', which collectives need more than placements."""
    gaining = [cell for cell in cells if cell.has_plans and cell.gain >= bar]
    programs = " and ".join(dict.fromkeys(cell.part.labels["program"] for cell in gaining))
    if not gaining:
        return "None of these gains is that of plans."
    alone = [cell.alone for cell in gaining]
    return (
        f"In {len(gaining)} of these, of {programs}, the gain is the plans': the placement alone "
        f"gains {times(min(alone))} to {times(max(alone))}."
    )


def _reached(cells: Sequence[_Cell]) -> int:
    return sum(cell.gain >= bar for cell in cells)


def _verdict(cells: Sequence[_Cell]) -> str:
    """Says whether gains are reached where they are to be had."""
    if not cells:
        return undecided
    return "met" if _reached(cells) >= enough * len(cells) else missed


def _slower(cells: Sequence[_Cell]) -> str:
    """Names each cell that lost more than 3 %, and what that says of the bar."""
    worse = [cell for cell in cells if cell.gain < least_ratio]
    names = "; ".join(
        f"{cell.name} on {cell.part.labels['scenario']} in the {cell.part.labels['time']} "
        f"{times(cell.gain)}, {cell.rounds} rounds, {cell.is_slower}"
        for cell in worse
    )
    others = [cell for cell in worse if not cell.is_same]
    programs = len({cell.part.labels["program"] for cell in others})
    found = [cell.is_slower for cell in cells]
    verdict = next((each for each in (missed, undecided) if each in found), "met")
    return (
        "More than 3 % slower than the faster of block and Scotch, which is missed where the "
        f"interval lies below 1, and not decided below {decisive} rounds: {names or 'none'}. "
        f"In {len(others)} of these cells, of {programs} programs, the placement differs from the "
        "launcher's. "
        f"Not decided in {found.count(undecided)} of {len(found)} cells; over all: {verdict}."
    )


def _valid_by_round(part: Part, variant: str) -> dict[int, float]:
    return {run["round"]: run["time"] for run in valid_runs(part.samples, variant)}


baseline = "interleave"
"""The paper's."""
bars = {"over the baseline": "#2a6fb0"}


def _drawing(cells: Sequence[_Cell]) -> Figure:
    """Draws what CloudMap's Figures 6 and 7 do: how much faster than its baseline programs are."""
    panels = []
    for cloud, time in dict.fromkeys((c.part.labels["scenario"], c.part.labels["time"])
                                     for c in cells):  # fmt: skip
        stacks = [
            Stack(
                cell.name.replace(" ", "\n"),
                {"over the baseline": cell.medians[baseline] / cell.medians["thalweg"]},
            )
            for cell in cells
            if (cell.part.labels["scenario"], cell.part.labels["time"]) == (cloud, time)
            and baseline in cell.medians
            and _sends_messages(cell.part)
        ]
        panels.append(BarPanel(f"{cloud}, {time}", "times as fast as interleave", stacks))
    return Figure(
        "Over the baseline (CloudMap's Figures 6 and 7)",
        "placement-lab-baseline",
        bar_chart(panels, bars),
        [
            "The baseline is interleave. Programs that send messages, without plans; medians of "
            "the table above."
        ],
    )


def _costs(parts: Sequence[Part]) -> Table:
    """Tables CloudMap's Figure 13, only a part of the mapping, and its Figure 2, another time."""
    shown = (*timed, "intra-only", "inter-only")
    table = Table(
        "Cost over that of a random placement (CloudMap's Figure 13)",
        ["cloud", "time", "program", "size", *shown, "for the other time"],
        notes=[
            "For the other time: the mapping's placement for the network that is there at the "
            "other time of the day, at this one's cost. Programs without messages of their own, "
            "which only call collectives, are left out here and below.",
        ],
    )
    for part in filter(_sends_messages, parts):
        cost, labels = part.facts["cost"], part.labels
        table.add(
            labels["scenario"], labels["time"], labels["program"], labels["size"],
            *(_share(cost, each) for each in shown),
            _share({stale: part.facts["stale"], "random": cost["random"]}, stale),
        )  # fmt: skip
    return table


def _halves(cells: Sequence[_Cell]) -> str:
    """The verdict on the paper's statement about either half of its mapping."""
    of = [cell for cell in cells if _sends_messages(cell.part) and "inter-only" in cell.medians]
    said = []
    for half in ("intra-only", "inter-only"):
        faster = sum(cell.medians[half] <= cell.medians["thalweg"] for cell in of)
        said.append(f"{half} is as fast as both halves or faster in {faster} of {len(of)} cells")
    return (
        f"In the paper most programs gain much less by either half alone. Here {'; '.join(said)}."
    )


def _explained(cells: Sequence[_Cell]) -> str:
    """The verdict on the paper's statement that bytes and CommTime tell which placement is fast."""
    of = [cell for cell in cells if _sends_messages(cell.part) and "scotch" in cell.medians]
    said = []
    for name, equation in (("between", "bytes between hosts"), ("comm_time", "CommTime")):
        sums = [(cell.part.facts[name], cell.medians) for cell in of]
        told = [
            (sent["thalweg"] < sent["scotch"]) == (taken["thalweg"] < taken["scotch"])
            for sent, taken in sums
            if sent["thalweg"] != sent["scotch"]
        ]
        said.append(f"{equation} in {sum(told)} of {len(told)}")
    return (
        "In the paper programs are faster where both sums are less. Of Scotch's placement and "
        f"Thalweg's, the one with less is the faster by {' and by '.join(said)} cells in which "
        "these differ."
    )


def _traffic(parts: Sequence[Part], cells: Sequence[_Cell]) -> Table:
    shown = [each for each in compared if each != "random"]
    table = Table(
        "Over a random placement's: bytes between hosts, CommTime (CloudMap's Figure 15, "
        "equations 2 and 4)",
        ["cloud", "time", "program", "size", *shown],
        notes=[_halves(cells), _explained(cells)],
    )
    for part in filter(_sends_messages, parts):
        between, comm_time, labels = part.facts["between"], part.facts["comm_time"], part.labels
        table.add(
            labels["scenario"], labels["time"], labels["program"], labels["size"],
            *(f"{_share(between, each)}, {_share(comm_time, each)}" for each in shown),
        )  # fmt: skip
    return table


def _sends_messages(part: Part) -> bool:
    """Whether a program's ranks send messages besides what collectives do."""
    return bool(part.facts["between"]["random"])


def _share(of: Mapping[str, float], method: str) -> str:
    return percent(of[method] / of["random"]) if of["random"] and method in of else "-"
