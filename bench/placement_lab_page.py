"""The page of programs on the lab in several placements."""

from __future__ import annotations

from collections.abc import Sequence

from bench import placement_lab_cloudmap, uneven
from bench.bars import undecided
from bench.page import Part, runs_that_failed
from bench.placement_gains import (
    Cell,
    bar,
    cells_of,
    decisive,
    fastest_rival,
    lacking,
    least_ratio,
    missed,
    planned,
    simulated_speedups,
    slots,
)
from bench.placement_programs import compared, kernels, lammps
from bench.report import Content, Table, percent, seconds, times

enough = 0.8
"""The share of the cells with a simulated gain in which the lab is to have it, too."""


def contents(parts: Sequence[Part]) -> list[Content]:
    """Returns the times by placement, and CloudMap's figures of the same runs."""
    cells = cells_of(parts)
    return [_times(parts, cells), *placement_lab_cloudmap.contents(parts, cells)]


def _times(parts: Sequence[Part], cells: Sequence[Cell]) -> Table:
    table = Table(
        "Run times, un-dilated",
        ["cloud", "time", "program", "size", *compared, planned, "gain", "interval",
         "at most 3 % slower", "placement alone", "promised", "simulated", "rounds", "dilation",
         "in a row"],
        notes=[
            "Medians of valid runs that take turns, of the program's timed part; "
            f"{slots} ranks on each of {uneven.HOSTS} hosts. Gain: {fastest_rival}, over planned "
            "where that was run, else over thalweg: the median of the rounds' ratios. "
            "Placement alone: the same over thalweg. Promised: that of the placements' "
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
        labels, medians, faster = cell.part.labels, cell.medians, cell.speedup
        table.add(
            labels["scenario"], labels["time"], labels["program"], labels["size"],
            *(seconds(medians[each]) if each in medians else "-" for each in (*compared, planned)),
            times(faster.ratio), f"{faster.low:.2f} - {faster.high:.2f}", cell.at_most_slower,
            times(cell.alone.ratio), times(cell.promised),
            times(cell.simulated) if cell.simulated else "-",
            faster.count, f"{cell.part.facts['dilation']:g}",
            cell.part.facts.get("in_a_row", "-"),
        )  # fmt: skip
    table.notes += [*_verdicts(cells), _not_measured(parts), _left_out(parts), _SEEDS]
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


def _left_out(parts: Sequence[Part]) -> str:
    """Names parts that are no cells, and says which runs failed."""
    names = [f"{_named(part)} ({', '.join(of)})" for part in parts if (of := lacking(part))]
    failed = runs_that_failed(sample for part in parts for sample in part.samples)
    return f"Measured, but left out for want of valid runs: {'; '.join(names) or 'none'}. {failed}"


def _named(part: Part) -> str:
    labels = part.labels
    return f"{labels['program']} {labels['size']} on {labels['scenario']} in the {labels['time']}"


def _verdicts(cells: Sequence[Cell]) -> list[str]:
    by_cost = [cell for cell in cells if cell.promised >= bar]
    simulated = [cell for cell in cells if (cell.simulated or 0) >= bar]
    judged = sum(cell.simulated is not None for cell in cells)
    there = sum(each >= bar for each in simulated_speedups().values())
    reached, open_ = _reached(cells)
    repeated = [cell.repeated.ratio for cell in cells if cell.repeated]
    return [
        f"A cell gains {bar}x if it has {decisive} rounds or more and its interval begins there or "
        "above; where only the median reaches it, that isn't decided.",
        f"SMPI finds a gain of {bar}x or more in {len(simulated)} of the {judged} cells that are "
        f"simulated; the lab does in {_said(simulated)}; wanted in {percent(enough)}: "
        f"{_verdict(simulated)}. {there - len(simulated)} of the {there} simulated cells with such "
        "a gain aren't measured.",
        f"By costs, a gain of {bar}x is promised in {len(by_cost)} of {len(cells)} cells and "
        f"reached in {_said(by_cost)}.",
        f"{reached} of {len(cells)} cells gain {bar}x or more, promised or not; {open_} aren't "
        "decided.",
        _by_plans(cells),
        _slower(cells),
        f"Where the launcher's order stays, in {len(repeated)} cells, the same placement is timed "
        "twice, as block and as thalweg, which tells how exact gains are: "
        f"{times(min(repeated, default=1))} to {times(max(repeated, default=1))}.",
    ]


def _by_plans(cells: Sequence[Cell]) -> str:
    """Says in how many cells a gain is the plans', which collectives need more than placements."""
    gaining = [cell for cell in cells if cell.has_plans and cell.speedup.ratio >= bar]
    programs = " and ".join(dict.fromkeys(cell.part.labels["program"] for cell in gaining))
    if not gaining:
        return "None of these gains is that of plans."
    alone = [cell.alone.ratio for cell in gaining]
    return (
        f"In {len(gaining)} of these, decided or not, of {programs}, the gain is the plans': the "
        f"placement alone gains {times(min(alone))} to {times(max(alone))}."
    )


def _reached(cells: Sequence[Cell]) -> tuple[int, int]:
    """Returns how many cells gain what is wanted, and of how many that isn't decided."""
    return (
        sum(cell.speedup.reaches_bar for cell in cells),
        sum(cell.speedup.may_reach_bar for cell in cells),
    )


def _said(cells: Sequence[Cell]) -> str:
    reached, open_ = _reached(cells)
    return f"{reached} of these, and {open_} aren't decided"


def _verdict(cells: Sequence[Cell]) -> str:
    """Says whether gains are reached where they are to be had, or may be."""
    wanted = enough * len(cells)
    reached, open_ = _reached(cells)
    if cells and reached >= wanted:
        return "met"
    return undecided if reached + open_ >= wanted else missed


def _slower(cells: Sequence[Cell]) -> str:
    """Names each cell that lost more than 3 %, and each whose plans hide such a loss of its
    placement, and says what that means for the bar."""
    as_run = [cell for cell in cells if cell.speedup.ratio < least_ratio]
    alone = [cell for cell in cells if cell.has_plans and cell.alone.ratio < least_ratio]
    names = [
        f"{_named(cell.part)} {times(cell.speedup.ratio)}, {cell.speedup.count} rounds, "
        f"{cell.at_most_slower}"
        for cell in as_run
    ] + [
        f"{_named(cell.part)} {times(cell.alone.ratio)} by the placement without plans, "
        f"{cell.alone.count} rounds, {cell.at_most_slower_alone}"
        for cell in alone
    ]
    others = [cell for cell in cells if cell in [*as_run, *alone] and not cell.repeated]
    programs = len({cell.part.labels["program"] for cell in others})
    found = [cell.at_most_slower for cell in cells]
    judged = [*found, *(cell.at_most_slower_alone for cell in alone)]
    verdict = next((each for each in (missed, undecided) if each in judged), "met")
    return (
        f"More than 3 % slower than {fastest_rival}, which is missed where the interval lies below "
        f"1, and not decided below {decisive} rounds: {'; '.join(names) or 'none'}. "
        f"In {len(others)} of these cells, of {programs} programs, the placement differs from "
        f"block; in {sum(cell not in as_run for cell in others)} of them plans make up for it. "
        f"Not decided in {found.count(undecided)} of {len(found)} cells; over all: {verdict}."
    )
