"""The page of `script/bench wan`: tables and plots of measurements or simulations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from bench.matsuda import Setting, blind, many, nearest, plan, rings, scenarios, simple
from bench.page import Part
from bench.plot import Line, LinePanel, line_chart
from bench.report import Content, Figure, Table, percent, seconds, times
from bench.wan_points import Point, Series, in_series
from thalweg import units

close = 0.03  # what the measured number of senders may lose to the best one
alike = 0.2  # what differs by so much still "hardly" matters
noise = 0.03  # a difference of medians of three that says nothing
best_of_paper = 8
"""Number of senders up to which it gets faster and no segment is lost (sections 3.4 and 3.5)."""
fewest_judged = 4
"""Number of senders from which ours take what Table 1 says, where TCP doesn't start slowly. With
fewer, a sender must receive parts while it sends others, which ours do in segments alone."""
of_paper = {"bcast": 1.6, "allreduce": 3.2}
"""How many times as fast as far-first and two-tier the modified algorithm is (abstract, 32 MB)."""
bars_at = ("wan-2x16", 32_000_000)
_, without_delay = scenarios

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
            "squared / time for allreduce. Medians.",
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


def shape(series: Series) -> Table:
    """Tables the statements of sections 3.4 to 3.6, at the largest size."""
    table = Table(
        "What the paper found",
        ["scenario", "build", "collective", "bytes", "statement", "found", "holds"],
        notes=[
            "At the largest size measured; more senders than the paper's best number are held "
            "against it at each size. Losses are the frames that the trunks dropped. What "
            f"differs by {percent(noise)} or less is alike, neither faster nor slower.",
            f"The paper's best number of senders is {best_of_paper}, although its rates are ten "
            "times the scenario's, so that the same number fills the trunk. It says of bcast that "
            "with more senders the performance drops, but gradually improves with the size; "
            "allreduce is held against the same.",
            f"With fewer than {fewest_judged} senders ours are built without the overlap of "
            "Table 1, by which a sender receives parts while it sends others: what these numbers "
            "show isn't held against the paper.",
            "The originals that know no sites are as the paper prints them, whose halving begins "
            'with the farthest rank, and as MPICH has them ("near first"): its allreduce begins '
            "with the nearest rank, and its bcast goes on after the scatter by a ring, as MPICH's "
            "does from 512 KiB on. The paper has the former alone.",
            "Section 3.6: without delay (switches-2x16) the effect of several senders was almost "
            "not observed, so the statements on more senders and fewer are of the delay alone. "
            f"Times that differ by at most {percent(alike)} are held to hardly differ.",
        ],
    )
    for points in series.values():
        point = points[-1]
        for statement, found, holds in statements(point):
            verdict = "not judged" if holds is None else "yes" if holds else "no"
            table.add(*point.label, statement, found, verdict)
        for statement, found, holds in drops(points):
            sizes = "all" if len(points) > 1 else point.label[-1]
            table.add(*point.series, sizes, statement, found, "yes" if holds else "no")
    return table


def drops(points: Sequence[Point]) -> Iterator[tuple[str, str, bool]]:
    """Holds each number of senders beyond the paper's best one against that, at each size."""
    delayed = [point for point in points if _has_delay(point)]
    for n in sorted({n for point in delayed for n in point.senders if n > best_of_paper}):
        pairs = {
            units.size_to_text(point.size): (time, best)
            for point in points
            if (time := point.time(many(n))) and (best := point.time(many(best_of_paper)))
        }
        if not pairs:
            continue
        ratios = {size: time / best for size, (time, best) in pairs.items()}
        slower = sum(ratio > 1 + noise for ratio in ratios.values())
        each = ", ".join(f"{size} {times(ratio)}" for size, ratio in ratios.items())
        yield (
            f"n = {n} is slower than n = {best_of_paper}",
            f"slower in {slower} of {len(ratios)} sizes; its time over the other's: {each}",
            slower == len(ratios),
        )


def statements(point: Point) -> list[tuple[str, str, bool | None]]:
    """Returns section 3's statements on one size, results, and whether they hold; None if they are
    of another size, or of numbers of senders that aren't judged."""
    time = {n: t for n in point.senders if (t := point.time(many(n))) is not None}
    below = [n for n in time if n <= best_of_paper]
    found: list[tuple[str, str, bool | None]] = []
    judged = [n for n in below if n >= fewest_judged]
    if len(judged) > 1:
        statement, holds = (_rises if _has_delay(point) else _hardly_matters)(time, judged)
        found.append((statement, _gains(time, below), holds))
    lost = {n: count for n in time if (count := _drops(point, many(n))) is not None}
    if lost:
        text = ", ".join(f"{n}: {count:.0f}" for n, count in lost.items())
        quiet = not any(lost[n] for n in below if n in lost)
        found.append((f"no losses between the sites with n up to {best_of_paper}", text, quiet))
    if below:
        found += _over_originals(point, below[-1], time[below[-1]])
    if not _has_delay(point):
        return found
    old, one = point.time(simple), time.get(1)
    if old and below:
        ratio = old / time[below[-1]]
        wanted, name = of_paper[point.contest.collective], point.contest.simple
        its_size = point.size == bars_at[1]
        at = "" if its_size else f" at {units.size_to_text(point.size)}"
        found.append(
            (f"n = {below[-1]} is {wanted:g} times as fast as {name}, at 32 MB",
             f"{times(ratio)} as fast{at}", ratio >= wanted / (1 + noise) if its_size else None)
        )  # fmt: skip
    if old and one:
        faster = times(old / one)
        of_one = {"bcast": "like far-first", "allreduce": "faster than two-tier"}
        found.append((f"n = 1 is {of_one[point.contest.collective]}", f"{faster} as fast", None))
    return found


def _rises(time: Mapping[int, float], judged: Sequence[int]) -> tuple[str, bool]:
    """Holds each number of senders up to the paper's best one against the one before it."""
    gained = [time[a] / time[b] for a, b in itertools.pairwise(judged)]
    return (
        f"faster with n from {judged[0]} up to {best_of_paper}",
        all(ratio > 1 + noise for ratio in gained),
    )


def _hardly_matters(time: Mapping[int, float], judged: Sequence[int]) -> tuple[str, bool]:
    """Holds the numbers of senders up to the paper's best one against each other."""
    found = [time[n] for n in judged]
    return (
        f"the number of senders hardly matters (section 3.6), from n = {judged[0]} on",
        max(found) / min(found) <= 1 + alike,
    )


def _gains(time: Mapping[int, float], below: Sequence[int]) -> str:
    """Says how many times as fast the last number of senders is as each of the others."""
    last = below[-1]
    return f"n = {last}: " + ", ".join(
        f"{times(time[n] / time[last])} n = {n}" for n in reversed(below[:-1])
    )


def _has_delay(point: Point) -> bool:
    return point.series[0] != without_delay


def _over_originals(point: Point, n: int, time: float) -> Iterator[tuple[str, str, bool]]:
    """Holds n senders against the originals that know no sites: the paper's form and MPICH's."""
    for name, form in ((blind, ""), (nearest, ", near first")):
        original = point.time(name)
        if original:
            yield (
                f"n = {n} is faster than the site-blind original{form}",
                f"{times(original / time)} as fast",
                time < original / (1 + noise),
            )


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
    names = [*map(many, numbers), simple, blind, nearest, rings, plan]
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
    return {**{many(n): (colours.get(n, "#6a51a3"), "") for n in numbers}, **others}
