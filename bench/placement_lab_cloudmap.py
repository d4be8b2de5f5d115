"""What CloudMap says of placements, judged by the runs on the lab: Figures 2, 6, 7, 13 and 15.

CloudMap places with Scotch alone (its section IV-C), so its statements are judged by Scotch's
placement; Thalweg's is beside it. Scotch gets messages and bytes, latencies and rates at once,
where the paper has a version for each metric (section V-C).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bench.bars import undecided
from bench.page import Part, valid_runs
from bench.placement_gains import Cell, decisive, timed
from bench.placement_programs import compared
from bench.plot import BarPanel, Stack, bar_chart
from bench.report import Content, Figure, Table, judged, percent, times

baseline = "interleave"
"""The paper's."""
of_paper = "scotch"
"""What the paper places with."""
shown = {of_paper: "Scotch", "thalweg": "Thalweg"}
gaining = {"bt": (32, 96), "lu": (64, 256)}
"""The programs that gain in the paper, but for sp, and their sizes here in place of the inputs B
and C."""
smaller = {program: sizes[0] for program, sizes in gaining.items()} | {"cg": 96, "mg": 4}
"""The programs of Figure 6 that send messages, and their sizes."""
noticeable = 1.03
"""How many times as fast a program is that gains, or gains more."""
slightly = 1.1
"""How many times as long a program takes at most whose time increases slightly."""
halves = ("intra-only", "inter-only")
"""Thalweg's forms of the paper's."""
stale = "stale"
"""The mapping's placement for the other time of the day."""
bars = {"over the baseline": "#2a6fb0"}


def contents(parts: Sequence[Part], cells: Sequence[Cell]) -> list[Content]:
    """Returns tables and drawings of the paper's quantities, with a verdict on each statement."""
    drawings = [_drawing(cells, method) for method in shown]
    return [_over_baseline(cells), *drawings, _costs(parts), _traffic(parts, cells)]


def _over(cell: Cell, method: str) -> float:
    """Returns how many times as fast a placement is as the baseline, by medians."""
    return cell.medians[baseline] / cell.medians[method]


def _over_baseline(cells: Sequence[Cell]) -> Table:
    """Tables CloudMap's Figures 6 and 7: how much faster than its baseline programs are."""
    methods = ("block", *shown)
    table = Table(
        "Times as fast as the baseline",
        ["cloud", "time", "program", "size", "block", *shown.values(), "runs"],
        notes=[
            "CloudMap's Figures 6 and 7. The baseline is interleave; block is the paper's "
            "RoundRobin. Medians of the table above, without plans. Runs: the valid ones of the "
            f"placement that has fewest; fewer than {decisive} decide nothing. Scotch gets "
            "messages and bytes, latencies and rates at once: the paper's two versions, by "
            "bandwidth and by latency, aren't run. It can't map programs without messages.",
            "The paper profiles the network and maps before each run, which its times include "
            "(sections VI-A and VI-F), so that its shortest program, is, loses; these are of the "
            "programs' timed parts. What thalweg run adds to a start (startup.md) is longer than "
            "most of these programs take.",
            *_verdicts(cells),
        ],
    )
    for cell in (each for each in cells if baseline in each.medians):
        labels = cell.part.labels
        known = [each for each in methods if each in cell.medians]
        table.add(
            labels["scenario"], labels["time"], labels["program"], labels["size"],
            *(times(_over(cell, each)) if each in known else "-" for each in methods),
            min(len(valid_runs(cell.part.samples, each)) for each in (baseline, *known)),
        )  # fmt: skip
    return table


def _verdicts(cells: Sequence[Cell]) -> Iterator[str]:
    known = [cell for cell in cells if {baseline, *shown} <= cell.medians.keys()]
    if any(_is_of(cell, *each) for cell in known for each in smaller.items()):
        yield _who_gains(known)
    if pairs := list(_both_sizes(known)):
        yield _larger_inputs(pairs)
    if any("random" in cell.medians for cell in known):
        yield _random_loses(known)


def _who_gains(cells: Sequence[Cell]) -> str:
    """The verdict on Figure 6, by cells with runs enough."""
    said: dict[str, list[str]] = {method: [] for method in shown}
    as_in_paper: list[bool] = []
    for program, size in smaller.items():
        own = [cell for cell in cells if _is_of(cell, program, size)]
        for method, words in said.items():
            gain = [_over(cell, method) > noticeable for cell in own]
            words.append(f"{program} in {sum(gain)} of {len(gain)}")
        as_in_paper += [_is_as_in_paper(cell, program) for cell in own if _runs(cell) >= decisive]
    right = sum(as_in_paper)
    verdict = judged(right == len(as_in_paper), in_part=2 * right > len(as_in_paper))
    return (
        "Figure 6: in the paper bt and lu gain over the baseline, as does sp, whose pattern is "
        "bt's, and which isn't run with its own sizes; cg and mg show no difference or take "
        f"slightly longer. More than {percent(noticeable - 1)} faster are, by Scotch's placement, "
        f"as CloudMap's, {', '.join(said[of_paper])} cells; by Thalweg's "
        f"{', '.join(said['thalweg'])}. By Scotch's it is as in the paper (slightly: at most "
        f"{times(slightly)}) in {right} of the {len(as_in_paper)} cells that have {decisive} runs: "
        f"{verdict if as_in_paper else undecided}."
    )


def _is_as_in_paper(cell: Cell, program: str) -> bool:
    gain = _over(cell, of_paper)
    return gain > noticeable if program in gaining else 1 / slightly <= gain <= noticeable


def _runs(cell: Cell) -> int:
    """Returns the valid runs of the baseline or Scotch's placement, of which there are fewer."""
    return min(len(valid_runs(cell.part.samples, each)) for each in (baseline, of_paper))


def _random_loses(cells: Sequence[Cell]) -> str:
    """The verdict on what the paper says of random placements (section VI-A)."""
    of = [cell for cell in cells if {baseline, "random"} <= cell.medians.keys()]
    over = [cell.medians["random"] / cell.medians[baseline] for cell in of]
    loses = sum(each > slightly for each in over)
    return (
        "Section VI-A: in the paper random placements lose much in many cases. Here they take "
        f"{times(min(over))} to {times(max(over))} as long as the baseline, more than "
        f"{times(slightly)} in {loses} of {len(of)} cells: {judged(2 * loses > len(of))}."
    )


def _both_sizes(cells: Sequence[Cell]) -> Iterator[tuple[Cell, Cell]]:
    """Yields the cells of the two sizes of a program on a cloud at a time."""
    for program, (small, large) in gaining.items():
        larger = {_where(cell): cell for cell in cells if _is_of(cell, program, large)}
        for cell in cells:
            if _is_of(cell, program, small) and (other := larger.get(_where(cell))):
                yield cell, other


def _is_of(cell: Cell, program: str, size: int) -> bool:
    labels = cell.part.labels
    return (labels["program"], labels["size"]) == (program, size)


def _where(cell: Cell) -> tuple[str, str]:
    """Returns its cloud and time of day."""
    return cell.part.labels["scenario"], cell.part.labels["time"]


def _larger_inputs(pairs: Sequence[tuple[Cell, Cell]]) -> str:
    """The verdict on Figure 7."""
    less = {
        method: sum(
            _over(large, method) * noticeable < _over(small, method) for small, large in pairs
        )
        for method in shown
    }
    holds = judged(less[of_paper] == len(pairs), in_part=2 * less[of_paper] > len(pairs))
    steps = " and ".join(
        f"{program} from {small} to {large}" for program, (small, large) in gaining.items()
    )
    return (
        "Figure 7: in the paper programs gain slightly less with larger inputs, since they "
        f"communicate for less of their time. Here, {steps} points per side (NAS has 102 and 162), "
        f"bt and lu gain less by more than {percent(noticeable - 1)} by Scotch's placement, as "
        f"CloudMap's, in {less[of_paper]} of {len(pairs)} cells, by Thalweg's in "
        f"{less['thalweg']} of {len(pairs)}: {holds}."
    )


def _drawing(cells: Sequence[Cell], method: str) -> Figure:
    """Draws Figures 6 and 7."""
    panels = []
    for cloud, time in dict.fromkeys(map(_where, cells)):
        stacks = [
            Stack(cell.name.replace(" ", "\n"), {"over the baseline": _over(cell, method)})
            for cell in cells
            if _where(cell) == (cloud, time)
            and {baseline, method} <= cell.medians.keys()
            and _sends_messages(cell.part)
        ]
        panels.append(BarPanel(f"{cloud}, {time}", "times as fast as interleave", stacks))
    name = shown[method]
    return Figure(
        f"{name} over the baseline (CloudMap's Figures 6 and 7)",
        f"placement-lab-over-baseline-{method}",
        bar_chart(panels, bars),
        [f"Programs that send messages: the column {name} of the table above."],
    )


def _costs(parts: Sequence[Part]) -> Table:
    """Tables CloudMap's Figure 13, only a part of the mapping, and its Figure 2, another time."""
    methods = (*timed, *halves)
    table = Table(
        "Cost over that of a random placement (CloudMap's Figure 13)",
        ["cloud", "time", "program", "size", *methods, "for the other time"],
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
            *(_share(cost, each) for each in methods),
            _share({stale: part.facts["stale"], "random": cost["random"]}, stale),
        )  # fmt: skip
    return table


def _halves(cells: Sequence[Cell]) -> str:
    """What Thalweg's forms of the halves of the paper's mapping took."""
    needed = {*shown, *halves}
    of = [c for c in cells if _sends_messages(c.part) and needed <= c.medians.keys()]
    faster = {
        (half, whole): sum(cell.medians[half] <= cell.medians[whole] for cell in of)
        for half in halves
        for whole in shown
    }
    said = (
        f"{half} is as fast as Scotch's placement, as CloudMap's, or faster in "
        f"{faster[half, of_paper]} of {len(of)} cells, and as Thalweg's in "
        f"{faster[half, 'thalweg']} of {len(of)}"
        for half in halves
    )
    return (
        "Figure 13: in the paper most programs gain much less by either half of its mapping alone. "
        "The halves as printed, by Scotch with groups or hosts at random, weren't run here "
        f"(placement.md has their costs). Thalweg's own forms: {'; '.join(said)}: not judged."
    )


def _explained(cells: Sequence[Cell]) -> str:
    """The verdict on the paper's statement that bytes and CommTime tell which placement is fast."""
    beside_baseline = _told(cells, of_paper, baseline)
    verdict = judged(
        all(right == count for right, count in beside_baseline),
        in_part=all(2 * right > count for right, count in beside_baseline),
    )
    if not all(count for _, count in beside_baseline):
        verdict = undecided
    said = [
        f"by bytes between hosts in {bytes_[0]} of {bytes_[1]} and by CommTime in {time[0]} of "
        f"{time[1]}"
        for bytes_, time in (beside_baseline, _told(cells, "thalweg", of_paper))
    ]
    return (
        "Figure 15: in the paper programs are faster where both sums are less. Of Scotch's "
        f"placement, as CloudMap's, and the baseline, the one with less is the faster {said[0]} "
        f"cells in which these differ: {verdict}. Of Thalweg's placement and Scotch's "
        f"it is the faster {said[1]}."
    )


def _told(cells: Sequence[Cell], one: str, other: str) -> list[tuple[int, int]]:
    """Returns, for bytes and for CommTime, in how many cells the placement with less is the faster
    one, and in how many they differ."""
    of = [c for c in cells if _sends_messages(c.part) and {one, other} <= c.medians.keys()]
    found = []
    for name in ("between", "comm_time"):
        sums = [(cell.part.facts[name], cell.medians) for cell in of]
        told = [
            (sent[one] < sent[other]) == (taken[one] < taken[other])
            for sent, taken in sums
            if sent[one] != sent[other]
        ]
        found.append((sum(told), len(told)))
    return found


def _traffic(parts: Sequence[Part], cells: Sequence[Cell]) -> Table:
    methods = [each for each in compared if each != "random"]
    table = Table(
        "Over a random placement's: bytes between hosts, CommTime (CloudMap's Figure 15, "
        "equations 2 and 4)",
        ["cloud", "time", "program", "size", *methods],
        notes=[_halves(cells), _explained(cells)],
    )
    for part in filter(_sends_messages, parts):
        between, comm_time, labels = part.facts["between"], part.facts["comm_time"], part.labels
        table.add(
            labels["scenario"], labels["time"], labels["program"], labels["size"],
            *(f"{_share(between, each)}, {_share(comm_time, each)}" for each in methods),
        )  # fmt: skip
    return table


def _sends_messages(part: Part) -> bool:
    """Whether a program's ranks send messages besides what collectives do."""
    return bool(part.facts["between"]["random"])


def _share(of: Mapping[str, float], method: str) -> str:
    return percent(of[method] / of["random"]) if of["random"] and method in of else "-"
