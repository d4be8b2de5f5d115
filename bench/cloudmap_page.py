"""The page of CloudMap's figures as costs, and a verdict on each of its statements.

CloudMap places with Scotch alone (its section IV-C), so its statements are judged by Scotch's
placements; Thalweg's are beside them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from statistics import geometric_mean, mean

from bench import cloudmap_drawings, drift, report
from bench.cloudmap_cases import (
    Case,
    Instances,
    baseline,
    by_smpi,
    days,
    larger,
    methods,
    program,
    recorded,
    settings_of_paper,
    two_days,
    versions,
)
from bench.page import Part
from bench.placement_cases import patterns, uneven
from bench.plot import BarPanel, Line, LinePanel, Stack, bar_chart, line_chart
from bench.report import Content, Figure, Table, judged, times

verb = {True: "holds", False: "doesn't hold"}
alike = 0.05
"""How much less than the baseline a placement may cost that is about as good."""
steady = 1.1
"""Most over least, at most, of what stays over two days."""
slightly = 1.1
"""How many times as much as another a method gains at most that gains slightly more."""
placers = {"scotch": "Scotch", "thalweg": "Thalweg"}
"""What CloudMap places with, and ours."""
shown_pattern = "transpose"
"""Rows that exchange, and partners across the diagonal: as cg, the benchmark of Figure 12."""
colours = {
    "interleave": "#e6550d", "scotch": "#444", "thalweg, kept": "#1764ab", "thalweg": "#31a354"
}  # fmt: skip


def contents(parts: Sequence[Part]) -> list[Content]:
    by_figure = {
        part.labels["figure"]: [Case(**each) for each in part.samples]
        for part in parts
        if part.labels["figure"] not in (recorded, by_smpi)
    }
    found: list[Content] = []
    instances = [each for each in settings_of_paper if each.figure in by_figure]
    if instances:
        found.append(by_instances(instances, by_figure))
        found += [drawn(four, by_figure) for four in (instances[:4], instances[4:]) if four]
        found += [by_pattern(instances, by_figure, method) for method in placers]
        found += drawings()
    if ran := [part for part in parts if part.labels["figure"] in (recorded, by_smpi)]:
        samples = [each for part in ran for each in part.samples]
        found.append(cloudmap_drawings.recorded_drawn(samples, ran[0].facts["ranks"]))
    if days in by_figure:
        found += [over_time(by_figure[days]), figure(by_figure[days])]
    return found


def drawings() -> list[Figure]:
    """Figures 1 to 4, of a cloud and patterns that are drawn."""
    net = uneven(random.Random(0), settings_of_paper[0].hosts)
    matrices = {pattern: program(settings_of_paper[0], pattern, 0) for pattern in patterns}
    return [
        *cloudmap_drawings.days_drawn(net),
        *cloudmap_drawings.network_drawn(net),
        *cloudmap_drawings.patterns_drawn(matrices),
    ]


def faster(cases: Sequence[Case], method: str, over: str = baseline) -> list[float]:
    """How many times the other's cost is this one's."""
    return [case.costs[over] / case.costs[method] for case in cases]


def by_instances(of: Sequence[Instances], by_figure: Mapping[str, Sequence[Case]]) -> Table:
    table = Table(
        "Costs of the baseline over those of placements",
        ["figure", "instances", "ranks", "cases", "block", "random", "Scotch", "least", "most",
         "bandwidth", "latency", "Thalweg", "least", "most"],
        notes=[
            "Geometric means over seven patterns and the networks of each: how many times the cost "
            "of a placement that of the paper's baseline is, which deals ranks out in turn. Above "
            "1 is better. Scotch alone is what CloudMap places with: here it gets messages and "
            "bytes, latencies and rates at once; bandwidth and latency are the paper's two "
            "versions (V-C), of bytes and rates and of messages and latencies. Least and most: of "
            "the column before them.",
            f"Input C has messages of {larger:.2f} times the bytes of input B's, as a grid's faces "
            "have. Instances differ in their rates (2, 10 and 8 Gbit/s), not in their latencies.",
        ],
    )  # fmt: skip
    for each in of:
        cases = by_figure[each.figure]
        table.add(
            each.figure, each.name, each.ranks, len(cases),
            *(shown_mean(cases, name) for name in ("block", "random")),
            *with_extremes(cases, "scotch"),
            *(shown_mean(cases, name) for name in versions), *with_extremes(cases, "thalweg"),
        )  # fmt: skip
    table.notes += verdicts(*(mean_gains(name, of, by_figure) for name in placers))
    table.notes += of_versions([by_figure[each.figure] for each in of], "figures")
    random_ = [1 / gain for gain in mean_gains("random", of, by_figure).values()]
    table.notes.append(
        "Figures 6 to 11b: random placements lose much in many cases, in the paper; here they cost "
        f"{times(min(random_))} to {times(max(random_))} as much as the baseline, so it "
        f"{verb[all(each > slightly for each in random_)]}."
    )
    blocks = mean_gains("block", of, by_figure).values()
    table.notes.append(
        "Figures 6 to 11b: RoundRobin, which is block here, is about as fast as the baseline in "
        "the paper, even if neighbours communicate; here the baseline's cost is "
        f"{times(min(blocks))} to {times(max(blocks))} its cost, so it "
        f"{verb[max(blocks) - 1 <= alike]}."
    )
    return table


def shown_mean(cases: Sequence[Case], method: str) -> str:
    """Returns "-" of a method that the cases, which may be older, don't have."""
    if not all(method in case.costs for case in cases):
        return "-"
    return times(geometric_mean(faster(cases, method)))


def with_extremes(cases: Sequence[Case], method: str) -> list[str]:
    """Returns the mean, the least and the most of what a method gains."""
    gains = faster(cases, method)
    return [times(of) for of in (geometric_mean(gains), min(gains), max(gains))]


def of_versions(groups: Sequence[Sequence[Case]], what: str) -> Iterator[str]:
    """The verdict on section VI-G, where the cases of all groups have both versions."""
    if not all(versions.keys() <= case.costs.keys() for cases in groups for case in cases):
        return
    bandwidth, latency = versions
    over = [geometric_mean(faster(cases, bandwidth, over=latency)) for cases in groups]
    more, whole = sum(each > 1 for each in over), geometric_mean(over)
    in_most = 2 * more > len(over)
    yield (
        "Sections VI-B and VI-G: in most cases CloudMap by bandwidth gains slightly more than by "
        f"latency, in the paper; here in {more} of {len(over)} {what}, and {times(whole)} as much "
        f"in the geometric mean (slightly: at most {times(slightly)}): "
        f"{judged(in_most and 1 < whole <= slightly, in_part=in_most)}."
    )


def mean_gains(
    method: str, of: Sequence[Instances], by_figure: Mapping[str, Sequence[Case]]
) -> dict[str, float]:
    """Returns the geometric mean of how many times less a method costs, by figure."""
    return {each.figure: geometric_mean(faster(by_figure[each.figure], method)) for each in of}


def drawn(of: Sequence[Instances], by_figure: Mapping[str, Sequence[Case]]) -> Figure:
    """A panel for each figure, as the paper has them."""
    colour = {"cost": colours["thalweg"]}
    panels = [
        BarPanel(
            f"Figure {each.figure}: {each.name}",
            "cost over the baseline's",
            [
                Stack(method, {"cost": 1 / geometric_mean(faster(by_figure[each.figure], method))})
                for method in methods
            ],
        )
        for each in of
    ]
    title = f"Costs over the baseline's: Figures {of[0].figure} to {of[-1].figure}"
    drawing = Figure(title, f"cloudmap-costs-{of[0].figure}", bar_chart(panels, colour))
    drawing.notes.append("Geometric means as in the table above; below 1 is better.")
    return drawing


def verdicts(scotch: Mapping[str, float], thalweg: Mapping[str, float]) -> list[str]:
    """One sentence for each of the paper's statements, where both its figures are there."""
    unlike = (
        "which costs can't tell, since the paper's reason is that programs then communicate for "
        "less of their time, and costs have no computation: not judged"
    )
    statements = (
        ("7", "6", "larger inputs gain slightly less (sp 31 % instead of 35 %)", unlike),
        ("9", "8", "larger inputs gain slightly less, on 32 instances", unlike),
        ("8", "6", "more instances and tasks gain more", ""),
        ("10b", "10a", "larger inputs gain slightly less, on faster instances", unlike),
        ("11a", "8", "large instances gain most (cg is up to 11 times as fast)", ""),
        ("11b", "9", "large instances gain most, with larger inputs, too", ""),
    )
    return [
        f"Figure {one} beside {other}: {what}, in the paper; here by Scotch, as CloudMap places, "
        f"{times(scotch[one])} against {times(scotch[other])}, "
        f"{reason or f'so it {verb[scotch[one] > scotch[other]]}'}; by Thalweg "
        f"{times(thalweg[one])} against {times(thalweg[other])}."
        for one, other, what, reason in statements
        if one in scotch and other in scotch
    ]


def by_pattern(
    of: Sequence[Instances], by_figure: Mapping[str, Sequence[Case]], method: str
) -> Table:
    name = placers[method]
    table = Table(
        f"{name} by pattern",
        ["pattern", *(f"Figure {each.figure}" for each in of)],
        notes=[f"The same, of {name}'s placements."],
    )
    for pattern in patterns:
        rows = ([c for c in by_figure[each.figure] if c.pattern == pattern] for each in of)
        table.add(pattern, *(times(geometric_mean(faster(row, method))) for row in rows))
    return table


placed_anew = ("scotch", "scotch, kept", "thalweg", "thalweg, kept")
"""Methods whose placements are for each hour, or kept from the first one."""


def over_time(cases: Sequence[Case]) -> Table:
    """Tables Figure 12: placements over two days."""
    table = Table(
        "Two days",
        ["pattern", "baseline varies by", "Scotch", "least", "most", "Scotch, kept", "least",
         "most", "Thalweg", "least", "most", "Thalweg, kept", "least", "most",
         "placing anew gains Scotch", "placing anew gains Thalweg"],
        notes=[
            "Simulated: all drift is drawn, of the kind that a scenario's timeline has: each pair "
            "keeps its latency and rate for four hours on the mean. Costs at each of 48 hours on "
            f"{two_days.name}; ratios as above. Kept: the placement of the first hour. Varies by: "
            "most over least of the baseline's costs.",
        ],
    )  # fmt: skip
    of_pattern = {
        pattern: [case for case in cases if case.pattern == pattern]
        for pattern in dict.fromkeys(case.pattern for case in cases)
    }
    for pattern, own in of_pattern.items():
        table.add(
            pattern, times(swing([case.costs[baseline] for case in own])),
            *(shown for method in placed_anew for shown in with_extremes(own, method)),
            *(report.percent(mean(faster(own, method, over=f"{method}, kept")) - 1)
              for method in placers),
        )  # fmt: skip
    table.notes.append(_over_days(of_pattern))
    table.notes += of_versions(list(of_pattern.values()), "patterns")
    return table


def swing(values: Sequence[float]) -> float:
    return max(values) / min(values)


def _over_days(by_pattern: Mapping[str, Sequence[Case]]) -> str:
    """The verdict on CloudMap's Figure 12."""
    base = {
        pattern: swing([case.costs[baseline] for case in own])
        for pattern, own in by_pattern.items()
    }
    gains = {
        method: {pattern: faster(own, method) for pattern, own in by_pattern.items()}
        for method in placed_anew
    }
    stay = {
        method: sum(
            max(base[pattern], swing(gains[method][pattern])) <= steady for pattern in by_pattern
        )
        for method in placers
    }
    said = "; ".join(
        f"by {name} gains are {_varies(gains[method], gains[f'{method}, kept'])}"
        for method, name in placers.items()
    )
    return (
        "Figure 12 of the paper: the baseline is stable and gains stay over the two days, placed "
        f"anew for each run; here the baseline varies by {times(max(base.values()))} at most; "
        f"{said}. Baseline and gains of Scotch, placed anew, as CloudMap, vary by {times(steady)} "
        f"or less for {stay['scotch']} of {len(base)} patterns: "
        f"{judged(stay['scotch'] == len(base), in_part=stay['scotch'] > 0)}. With Thalweg's they "
        f"do for {stay['thalweg']} of {len(base)}.{_of_shown(base, gains['scotch'])}"
    )


def _of_shown(base: Mapping[str, float], gains: Gains) -> str:
    """The same of the one pattern that the paper's figure is of."""
    if shown_pattern not in gains:
        return ""
    varies = swing(gains[shown_pattern])
    return (
        f" The paper's figure is of cg alone, whose pattern is {shown_pattern} here: its baseline "
        f"varies by {times(base[shown_pattern])} and Scotch's gain by {times(varies)}, so it "
        f"{verb[max(varies, base[shown_pattern]) <= steady]} for it."
    )


Gains = Mapping[str, Sequence[float]]
"""By pattern."""


def _varies(anew: Gains, kept: Gains) -> str:
    """Says between what gains lie, and by how much those of one pattern vary at most."""
    ranges: list[str] = []
    most: list[str] = []
    for how, gains in (("anew", anew), ("kept", kept)):
        low, high = min(map(min, gains.values())), max(map(max, gains.values()))
        ranges.append(f"{times(low)} to {times(high)} {how}")
        by, pattern = max((swing(values), pattern) for pattern, values in gains.items())
        most.append(f"{times(by)} {how} ({pattern})")
    return f"{' and '.join(ranges)}, and one pattern's vary by at most {' and '.join(most)}"


def figure(cases: Sequence[Case]) -> Figure:
    own = [case for case in cases if case.pattern == shown_pattern]
    lines = [
        Line(name, [(case.hour, case.costs[name]) for case in own], colour)
        for name, colour in colours.items()
    ]
    of = LinePanel(shown_pattern, "hours", "cost (s)", drift.ticks, lines, logarithmic=False)
    return Figure("Two days, simulated", "cloudmap-days", line_chart([of]))
