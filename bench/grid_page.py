"""The page of `script/bench grid`: what HLOT gains over its rivals on its testbed."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence

from bench.grid_networks import SPREAD, draws
from bench.page import Part
from bench.plot import Line, LinePanel, line_chart
from bench.report import Content, Figure, Table, judged, percent, seconds, times
from bench.summary import speedup
from bench.trees import level_algorithms, our_plan
from thalweg import units

drawn_by = ("clusters", "organisations")
"""What has latencies of its own to each of the others."""
noticed = 0.01  # a difference of gains
little = 0.05  # a difference of the gains' medians over the draws that decides nothing
mostly = 0.9  # of the runs from a root, by which "HLOT is faster" holds there
on_paper = 1.6
"""About the gain over MPICH-G2 on the testbed: abstract and section 5, which don't say of what."""
NORMAL_99 = 2.576
"""Standard errors of a mean within which it lies with 99 %."""
colours = {"hlot": "#1764ab", "mpich-g2": "#ae017e", "magpie": "#fd8d3c", our_plan: "#238b45"}


def contents(parts: Sequence[Part]) -> list[Content]:
    found: list[Content] = []
    single = [part for part in parts if "cluster" in part.labels]
    if single:
        found += [_single(single, parts), _drawn(single)]
    clusters_table = _means(parts, "6b", "By clusters: 2 bytes")
    clusters_table.notes.append(
        "Means over all roots. In the paper the gain over MPICH-G2 grows with the clusters."
    )
    clusters_table.notes += growth(parts, "6b", "clusters")
    sizes_table = _means(parts, "7", "By size: 8 clusters")
    sizes_table.notes.append(
        "Means over all roots. In the paper the gain grows a little with the size."
    )
    sizes_table.notes += growth(parts, "7", "size")
    return [*found, *_draws(parts), clusters_table, sizes_table, *gains_drawn(parts)]


def growth(parts: Sequence[Part], figure: str, label: str) -> list[str]:
    """One sentence: whether HLOT gains more over MPICH-G2 from point to point of a figure."""
    own = [part for part in parts if part.labels["figure"] == figure]
    gains = [*map(_gain, own)]
    steps = list(itertools.pairwise(gains))
    if not steps:
        return []
    falls = sum(after < before - noticed for before, after in steps)
    verdict = judged(not falls)
    if falls and gains[-1] == max(gains):
        verdict = "holds as a whole, not at each step"
    first, last = (own[at].labels[label] for at in (0, -1))
    ends = f"{first:,} to {last:,} {'bytes' if label == 'size' else label}"
    return [
        f"Figure {figure}: from {ends} the gain is {', '.join(map(percent, gains))}; it falls in "
        f"{falls} of {len(steps)} steps, where the paper has it grow: {verdict}."
    ]


def gains_drawn(parts: Sequence[Part]) -> list[Figure]:
    """Figures 6b and 7: how many times as long the rivals take as HLOT."""
    panels = []
    for figure, title, label in (("6b", "2 bytes", "clusters"), ("7", "8 clusters", "size")):
        own = [part for part in parts if part.labels["figure"] == figure]
        if not own:
            continue
        ticks = [
            units.size_to_text(part.labels[label]) if label == "size" else str(part.labels[label])
            for part in own
        ]
        lines = [
            Line(
                rival,
                [(at + 1, _mean(part, rival) / _mean(part, "hlot")) for at, part in enumerate(own)],
                colours[rival],
            )
            for rival in ("mpich-g2", "magpie")
        ]
        places = [(at + 1, tick) for at, tick in enumerate(ticks)]
        panels.append(LinePanel(title, label, "its time over HLOT's", places, lines,
                                logarithmic=False))  # fmt: skip
    drawing = Figure("Figures 6b and 7: HLOT beside its rivals", "grid-gains", line_chart(panels))
    drawing.notes.append("Means over all roots; above 1 HLOT is faster.")
    return [drawing] if panels else []


def _mean(part: Part, algorithm: str) -> float:
    return statistics.fmean(_times(part)[algorithm])


def _gain(part: Part) -> float:
    """By how much HLOT is faster than MPICH-G2, by the means of a part."""
    return speedup(_mean(part, "mpich-g2"), _mean(part, "hlot")) - 1


def _faster(part: Part) -> int:
    """In how many runs HLOT is faster than MPICH-G2."""
    return sum(each["hlot"] < each["mpich-g2"] for each in part.samples)


def _interval(part: Part, algorithm: str) -> tuple[float, float]:
    """Where the mean lies with 99 %."""
    own = _times(part)[algorithm]
    error = NORMAL_99 * statistics.stdev(own) / math.sqrt(len(own))
    return statistics.fmean(own) - error, statistics.fmean(own) + error


def _apart(part: Part) -> bool:
    return _interval(part, "hlot")[1] < _interval(part, "mpich-g2")[0]


def _single(single: Sequence[Part], parts: Sequence[Part]) -> Table:
    runs = len(single[0].samples)
    table = Table(
        f"Single runs (Figures 5 and 6a): {runs} broadcasts of 2 bytes from each cluster, "
        f"{len(single)} clusters",
        ["root in", "HLOT", "99 % interval of the mean", "MPICH-G2", "99 % interval of the mean",
         "HLOT is faster by", "in runs", "intervals", "over magpie", our_plan, "over HLOT"],
        notes=[
            "The root is the first rank of a cluster. Times are means. Figure 6a, a visual test, "
            "compares the intervals of the means: where they don't overlap, the algorithms differ.",
            "The latency between two clusters varies from run to run by a factor whose logarithm "
            f"has a standard deviation of {SPREAD}, the same for each root. Trees are those for "
            "the scenario's latencies.",
            "The paper doesn't say from which root, and has no sentence on what its Figures 5 and "
            "6a show, whose drawings the text that we have lacks: they are read as showing that "
            "HLOT is faster.",
        ],
    )  # fmt: skip
    for part in single:
        mean = {name: statistics.fmean(own) for name, own in _times(part).items()}
        table.add(
            part.labels["cluster"],
            *(
                text
                for name in ("hlot", "mpich-g2")
                for text in (seconds(mean[name]), " - ".join(map(seconds, _interval(part, name))))
            ),
            percent(_gain(part)), f"{_faster(part)} of {runs}",
            "apart" if _apart(part) else "overlap",
            percent(speedup(mean["magpie"], mean["hlot"]) - 1),
            seconds(mean[our_plan]), percent(speedup(mean["hlot"], mean[our_plan]) - 1),
        )  # fmt: skip
    table.notes += [*_verdicts(single), *_whole_gain(single, parts)]
    return table


def _verdicts(single: Sequence[Part]) -> list[str]:
    """What the paper's figures show of single runs, held against the runs from each cluster."""
    runs, count = len(single[0].samples), len(single)
    faster, apart = [*map(_faster, single)], [*map(_apart, single)]
    often = [number for number in faster if number >= mostly * runs]
    range_of_gains = " to ".join(percent(of(map(_gain, single))) for of in (min, max))
    same = sum(all(each["hlot"] == each["mpich-g2"] for each in part.samples) for part in single)
    return [
        f"Figure 5: HLOT is faster than MPICH-G2 in {', '.join(map(str, faster))} of {runs} runs "
        f"from the {count} clusters, by {range_of_gains} on average; it sends along the same tree "
        f"from {same}. Where it is faster in {percent(mostly)} of the runs or more, it counts as "
        f"faster: {_from_clusters(len(often), count)}.",
        f"Figure 6a: the intervals of HLOT and of MPICH-G2 don't overlap from {sum(apart)} of "
        f"{count} clusters: {_from_clusters(sum(apart), count)}.",
    ]


def _from_clusters(held: int, count: int) -> str:
    """How a verdict on runs from each cluster ends."""
    return f"holds from {held} of {count} clusters" if 0 < held < count else judged(held == count)


def _whole_gain(single: Sequence[Part], parts: Sequence[Part]) -> list[str]:
    """Holds what the paper says of its testbed as a whole against the mean over all roots."""
    means = [part for part in parts if part.labels["figure"] == "7"]
    if not means:
        return []
    best = max(means, key=_gain)
    in_runs = max(single, key=_gain)
    samples = [each for part in means for each in part.samples]
    one = max(speedup(each["mpich-g2"], each["hlot"]) for each in samples) - 1
    return [
        f"Abstract and section 5: around {percent(on_paper)} faster than MPICH-G2, it isn't said "
        "with what sizes and roots. That is read as MPICH-G2 taking "
        f"{times(1 + on_paper)} as long. Here it is at most {percent(_gain(best))} over all roots, "
        f"with {units.size_to_text(best.labels['size'])}: {judged(_gain(best) >= on_paper)}. "
        f"Were {times(on_paper)} as long meant, it would be so: "
        f"{judged(1 + _gain(best) >= on_paper)}. From the single root that suits HLOT best it is "
        f"{percent(one)}, and {percent(_gain(in_runs))} in the mean of the runs from "
        f"{in_runs.labels['cluster']}.",
    ]


def _draws(parts: Sequence[Part]) -> list[Table]:
    """How much of the gain hangs on the latencies that were drawn."""
    table = Table(
        f"Latencies drawn {draws} times: 2 bytes, 8 clusters",
        ["latencies of", "networks", "over mpich-g2, least", "median", "most",
         f"at least {percent(on_paper)}", "in the scenario's draw"],
        notes=[
            "Means over all roots. The latencies between clusters are drawn (function `grid` of "
            "`python/thalweg/lab/scenarios.py`), since the paper prints none of its testbed's: it "
            "says that the eight clusters are at four organisations, joined by the general "
            "purpose internet. That an organisation is a LAN, and that no light WAN is among its "
            "five levels, is our guess. The other tables of this page are of the scenario's draw.",
            "As drawn, two clusters of an organisation differ in their latencies towards a third "
            "one. With latencies of organisations they don't: one of the four that the clusters of "
            "two organisations have is that of all, which makes four networks of each draw.",
        ],
    )  # fmt: skip
    medians = {}
    for part in parts:
        if part.labels["figure"] != "draws":
            continue
        by, gains = part.labels["by"], {True: [], False: []}  # type: str, dict[bool, list[float]]
        for each in part.samples:
            gains[each["seed"] is None].append(speedup(each["mpich-g2"], each["hlot"]) - 1)
        own, drawn = gains[True], gains[False]
        medians[by] = statistics.median(drawn)
        table.add(
            by, len(drawn), percent(min(drawn)), percent(medians[by]), percent(max(drawn)),
            f"{sum(gain >= on_paper for gain in drawn)} of {len(drawn)}",
            ", ".join(map(percent, own)),
        )  # fmt: skip
        if by == "clusters":
            more = sum(gain > own[0] + noticed for gain in drawn)
            favours = "favours" if own[0] > medians[by] else "disfavours"
            table.notes.append(
                f"The scenario's draw {favours} HLOT: its gain is {percent(own[0])}, in the median "
                f"of the draws {percent(medians[by])}, and more in {more} of {len(drawn)}."
            )
    if len(medians) == len(drawn_by):
        apart, alike = (medians[by] for by in drawn_by)
        effect = "favours" if apart > alike else "disfavours"
        if abs(apart - alike) <= little:
            effect = "neither favours nor disfavours"
        table.notes.append(
            f"That clusters of one organisation differ towards a third {effect} HLOT: in the "
            f"median it gains {percent(apart)}, and {percent(alike)} where they don't differ."
        )
    return [table] if table.rows else []


def _drawn(single: Sequence[Part]) -> Figure:
    """The runs from the clusters from which HLOT gains least and most."""

    def panel(part: Part) -> LinePanel:
        lines = [
            Line(name, list(enumerate(1e3 * t for t in _times(part)[name])), colours[name])
            for name in ("hlot", "mpich-g2")
        ]
        x_ticks = [(at, str(at)) for at in range(0, len(part.samples) + 1, 26)]
        title = f"root in {part.labels['cluster']}"
        return LinePanel(title, "run", "ms", x_ticks, lines, logarithmic=False)

    panels = [panel(of(single, key=_gain)) for of in (min, max)]
    drawing = Figure("Figure 5: single broadcasts", "grid-single-runs", line_chart(panels))
    drawing.notes.append("From the clusters from which HLOT gains least and most.")
    return drawing


def _means(parts: Sequence[Part], figure: str, title: str) -> Table:
    table = Table(
        title,
        ["clusters", "ranks", "size", "HLOT", "over mpich-g2", "over magpie", "Thalweg",
         "over HLOT"],
    )  # fmt: skip
    for part in parts:
        if part.labels["figure"] != figure:
            continue
        mean = {name: statistics.fmean(own) for name, own in _times(part).items()}
        table.add(
            part.labels["clusters"], len(part.samples), units.size_to_text(part.labels["size"]),
            seconds(mean["hlot"]),
            *(percent(speedup(mean[name], mean["hlot"]) - 1) for name in ("mpich-g2", "magpie")),
            seconds(mean[our_plan]), percent(speedup(mean["hlot"], mean[our_plan]) - 1),
        )  # fmt: skip
    return table


def _times(part: Part) -> Mapping[str, list[float]]:
    return {name: [each[name] for each in part.samples] for name in (*level_algorithms, our_plan)}
