"""The page of `script/bench wan`: tables and plots of measurements or simulations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from bench.matsuda import Setting, blind, in_segments, many, nearest, plan, rings, simple
from bench.page import Part
from bench.plot import Line, LinePanel, line_chart
from bench.report import Content, Figure, Table, percent, seconds, times
from bench.wan_points import Point, Series, in_series
from bench.wan_statements import bars_at, shape
from thalweg import units

close = 0.03  # what the measured number of senders may lose to the best one

colours = {
    1: "#c6dbef", 2: "#85bcdb", 4: "#4a98c9", 8: "#1764ab", 10: "#083370",  # up to the trunk's
    12: "#f768a1", 16: "#ae017e",  # and beyond
}  # fmt: skip
others = {
    simple: ("#e6550d", "6 3"), blind: ("#888", "2 3"), nearest: ("#444", "2 3"),
    rings: ("#7b3294", "6 3"), plan: ("#31a354", ""),
}  # fmt: skip


def contents(parts: Sequence[Part]) -> list[Content]:
    points, series = in_series(parts)
    return [
        *_common(points, series),
        *plots(series, "retransmissions", "TCP segments sent again", _retransmissions),
        by_name(points, "TCP segments sent again per operation", _retransmissions, [
            "Medians of all hosts together.",
        ]),
        by_name(points, "Frames that the trunks dropped per operation", _drops, []),
    ]  # fmt: skip


def simulated(parts: Sequence[Part]) -> list[Content]:
    """Makes the page without the lab's counts."""
    found = _common(*in_series(parts))
    note = (
        "All numbers on this page are simulated, on the scenarios' own networks. The simulator "
        "knows no losses: no number of senders is too large for it."
    )
    found[0].notes.insert(0, note)
    found[1].notes.append(
        "Without losses more senders cost nothing, and numbers that divide the ranks of a site "
        "give each sender as much: 16 is then ahead of what fills the trunk."
    )
    return found


def _common(points: Sequence[Point], series: Series) -> list[Content]:
    return [
        bars(points), senders(points), shape(series), model(series),
        *plots(series, "throughput", "throughput (MB/s)", Point.throughput),
        by_name(points, "Throughput in MB/s", Point.throughput, [
            "As the paper counts it: message size x ranks / time for bcast, message size x ranks "
            "squared / time for allreduce. Medians, where the paper has the maximum of ten runs "
            "(section 3.3).",
        ]),
        plans(points),
    ]  # fmt: skip


def _retransmissions(point: Point, name: str) -> float | None:
    return point.counted(name, "retransmits")


def _drops(point: Point, name: str) -> float | None:
    return point.counted(name, "trunk_drops")


def bars(points: Sequence[Point]) -> Table:
    """Tables our plan against the bound and the simple algorithm."""
    table = Table(
        "Against far-first and two-tier, and the bound",
        ["scenario", "build", "collective", "bytes", "bound", "far-first, two-tier", "Thalweg",
         "faster", "of limit", "bar", "met"],
    )  # fmt: skip
    where = f"{units.size_to_text(bars_at[1])} on {bars_at[0]}"
    measured = any((point.series[0], point.size) == bars_at for point in points)
    table.notes.append(f"The bar is for {where}{'' if measured else ', which no row has yet'}.")
    for point in points:
        ours, theirs, bound = point.time(plan), point.time(simple), point.part.facts["bound"]
        judged = (point.series[0], point.size) == bars_at
        bar = point.contest.bar
        if ours is None or theirs is None:
            reasons = [point.measurement.reasons(point.cell(name)) for name in (plan, simple)]
            table.add(*point.label, seconds(bound), *["invalid"] * 4,
                      bar.text() if judged else "", "; ".join(filter(None, reasons)))  # fmt: skip
            continue
        own, old = (point.measurement.times(point.cell(name)) for name in (plan, simple))
        missed = bar.missed(own, old, bound) if judged else []
        verdict = "MISSED: " + ", ".join(missed) if missed else "yes"
        table.add(
            *point.label, seconds(bound), seconds(theirs), seconds(ours), times(theirs / ours),
            percent(bound / ours), *((bar.text(), verdict) if judged else ("", "")),
        )  # fmt: skip
    return table


def senders(points: Sequence[Point]) -> Table:
    """Whether the number of senders in the network file is the best one."""
    table = Table(
        "The number of senders that the network tells",
        ["scenario", "build", "collective", "bytes", "fills the trunk", "from the network",
         "best n", "slower than the best", f"at most {percent(close)}"],
        notes=[
            "From the network: how many the modified algorithm takes unless told, on the network "
            "that the page's predictions are for, or on the lab that was probed. The bar is that "
            "it is the best, or nearly.",
        ],
    )  # fmt: skip
    for point in points:
        facts, best = point.part.facts, point.best()
        own = point.time(many(facts["senders"]))
        label = [*point.label, facts["filling"], facts["senders"]]
        if best is None or own is None:
            table.add(*label, "invalid", "", "")
            continue
        slower = own / best[1] - 1
        verdict = "yes" if slower <= close else "MISSED"
        table.add(*label, best[0], f"{100 * slower:.1f} %", verdict)
    return table


def model(series: Series) -> Table:
    """Tables the paper's costs with the scenario's parameters, at the largest size."""
    table = Table(
        "Against the cost model",
        ["scenario", "build", "collective", "bytes", "algorithm", "Table 1", "found",
         "found / Table 1"],
        notes=[
            "Table 1 of the paper with the scenario's latency and rates; the transfer between the "
            "sites takes at least M / B of the trunk.",
        ],
    )  # fmt: skip
    for points in series.values():
        point = points[-1]
        setting = Setting(**point.part.facts["setting"])
        costs = {many(n): setting.modified_cost(point.size, n) for n in point.senders}
        costs |= {in_segments(n): costs[many(n)] for n in point.segmented}
        costs[simple] = setting.simple_cost(point.contest, point.size)
        for name, cost in costs.items():
            if (time := point.time(name)) is not None:
                shown = point.contest.simple if name == simple else name
                table.add(*point.label, shown, seconds(cost), seconds(time), times(time / cost))
    return table


def by_name(
    points: Sequence[Point],
    title: str,
    value: Callable[[Point, str], float | None],
    notes: Sequence[str],
) -> Table:
    """Tables a column per number of senders and per other algorithm."""
    numbers = sorted({n for point in points for n in point.senders})
    segmented = sorted({n for point in points for n in point.segmented})
    names = [
        *map(many, numbers), *map(in_segments, segmented), simple, blind, nearest, rings, plan,
    ]  # fmt: skip
    table = Table(
        title,
        ["scenario", "build", "collective", "bytes",
         *("far-first, two-tier" if name == simple else name for name in names)],
        notes=list(notes),
    )  # fmt: skip
    for point in points:
        found = [value(point, name) for name in names]
        table.add(*point.label, *("-" if v is None else f"{v:,.0f}" for v in found))
    return table


def plans(points: Sequence[Point]) -> Table:
    """Tables the planner's choices."""
    table = Table("Thalweg's plans", ["scenario", "build", "collective", "bytes", "algorithm"])
    for point in points:
        table.add(*point.label, point.part.facts["planned"])
    return table


def plots(
    series: Series, name: str, y_label: str, value: Callable[[Point, str], float | None]
) -> list[Figure]:
    """A figure per scenario and build, with the collectives side by side as in Figures 6 and 7."""
    figures = []
    for (scenario, build), keys in itertools.groupby(series, lambda key: key[:2]):
        panels = [_panel(key[2], series[key], y_label, value) for key in keys]
        title = f"{name.capitalize()} on {scenario}, {build}"
        figures.append(Figure(title, f"{scenario}-{build}-{name}", line_chart(panels)))
    return figures


def _panel(
    collective: str,
    points: Sequence[Point],
    y_label: str,
    value: Callable[[Point, str], float | None],
) -> LinePanel:
    lines = []
    for name, (colour, dashes) in _styles(points).items():
        found = [(p.size / 1e6, v) for p in points if (v := value(p, name)) is not None]
        shown = points[0].contest.simple if name == simple else name
        if found:
            lines.append(Line(shown, found, colour, dashes))
    sizes = [(p.size / 1e6, f"{p.size / 1e6:g}") for p in points]
    return LinePanel(collective, "message size (MB)", y_label, sizes, lines)


def _styles(points: Sequence[Point]) -> dict[str, tuple[str, str]]:
    """Colour and dashes by name."""
    numbers = sorted({n for point in points for n in point.senders})
    of_number = {n: colours.get(n, "#6a51a3") for n in numbers}
    return {
        **{many(n): (colour, "") for n, colour in of_number.items()},
        **{in_segments(n): (colour, "2 2") for n, colour in of_number.items()},
        **others,
    }
