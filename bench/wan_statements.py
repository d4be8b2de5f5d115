"""What Matsuda et al. say of several senders, held against the points of `script/bench wan`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from bench.matsuda import (
    Contest,
    Setting,
    blind,
    contests,
    in_segments,
    many,
    nearest,
    scenarios,
    segment_size,
    simple,
)
from bench.report import Table, percent, times
from bench.wan_points import Point, Series
from thalweg import units

noise = 0.03  # a difference of medians of three that says nothing
best_of_paper = 8
"""Number of senders up to which it gets faster and no segment is lost (sections 3.4 and 3.5)."""
of_paper = {"bcast": 1.6, "allreduce": 3.2}
"""How many times as fast as far-first and two-tier the modified algorithm is (abstract, 32 MB)."""
bars_at = ("wan-2x16", 32_000_000)
rates_over_ours = 10
"""The paper's rates over the scenarios', whose delay is the same: as many times as large data take
as long on its links."""
setting_of_paper = Setting(latency=0.01, link=125e6, trunk=1250e6)  # section 3.3
nearby = 2  # times the size at which data take as long as the paper's
_alike = bars_at[1] // rates_over_ours
with_delay, without_delay = scenarios
Statement = tuple[str, str, bool | None]
"""A statement, what was found, and whether it holds; None if it isn't judged."""


def shape(series: Series) -> Table:
    """Tables the statements of sections 3.4 to 3.6, at the largest size."""
    points = [own[-1] for own in series.values()]
    table = Table(
        "What the paper found",
        ["scenario", "build", "collective", "bytes", "statement", "found", "holds"],
        notes=_notes(segmented=any(point.segmented for point in points)),
    )
    for point in points:
        for statement in statements(point):
            _add(table, point.label, statement)
        own = series[point.series]
        for sized, statement in over_simple(own):
            _add(table, sized.label, statement)
        for statement in drops(own):
            _add(table, [*point.series, "all" if len(own) > 1 else point.label[-1]], statement)
    for (scenario, build, collective), delayed in series.items():
        quick = series.get((without_delay, build, collective), [])
        pairs = [(a, b) for a in delayed for b in quick if a.size == b.size]
        if scenario == with_delay and pairs:
            for statement in contrast(*pairs[-1]):
                _add(table, ["both", *pairs[-1][0].label[1:]], statement)
    return table


def _add(table: Table, label: Sequence[str], statement: Statement) -> None:
    text, found, holds = statement
    verdict = "not judged" if holds is None else "yes" if holds else "no"
    table.add(*label, text, found, verdict)


def _notes(*, segmented: bool) -> list[str]:
    segments = units.size_to_text(segment_size)
    fewer = (
        "Numbers of senders up to the paper's best one are held against the paper in segments of "
        f"{segments}, of which the paper doesn't speak, but with which times are Table 1's for all "
        "of them. "
        "Inside the sites the bcast is recursive then, as printed, and the allreduce goes by "
        "rings, since with recursive halving and doubling it takes longer than Table 1 in "
        "segments, too. All other rows are without segments, with which few senders take longer "
        "than Table 1: in a bcast ranks that have their part pass it on, and so share the ports of "
        "others that still wait for theirs from the other site; in an allreduce a sender has to "
        "receive a part as a whole before it sends it on."
        if segmented
        else "All numbers of senders were measured without segments, with which few take longer "
        "than Table 1 says in the simulation, too (wan-simulated.md says why), and TCP starts "
        "slowly on each of a sender's connections: it has one to each rank of the other site whose "
        "part it sends. The paper doesn't say how many its senders have."
    )
    return [
        "At the largest size measured; more senders than the paper's best number are held "
        f"against it at each size. What differs by {percent(noise)} or less is alike, neither "
        "faster nor slower.",
        f"The paper's best number of senders is {best_of_paper}, although its rates are ten "
        "times the scenario's, so that the same number fills the trunk. It says of bcast that "
        "more senders up to it are faster, and that with more than it the performance drops, but "
        "gradually improves with the size; allreduce is held against the same.",
        fewer,
        "Losses are the frames that the trunks dropped. That there are none up to the best number "
        "says something of it where larger numbers have some, and is judged there alone, with the "
        "delay.",
        "The originals that know no sites are as the paper prints them, whose halving begins "
        'with the farthest rank, and as MPICH has them ("near first"): its allreduce begins '
        "with the nearest rank, and its bcast goes on after the scatter by a ring, as MPICH's "
        "does from 512 KiB on. The paper has the former alone.",
        'Section 3.6: without delay (switches-2x16) "the effect of reducing the number of nodes '
        'simultaneously communicating was almost not observed". Two readings are judged. To reduce '
        "it from all ranks of a site to the best number gains nothing there, as it does with the "
        "delay in the paper. Or to have fewer senders than the best number loses less there than "
        f"with the delay, by more than {percent(noise)}; but by the paper's Table 1 what senders "
        "gain doesn't depend on the delay. Other statements on more senders and fewer are of the "
        "delay alone.",
        f"The abstract's {of_paper['bcast']:g} and {of_paper['allreduce']:g} times are of 32 MB at "
        f"{rates_over_ours} times these rates: at the same delay {units.size_to_text(_alike)} "
        "takes as long here. They are judged at the size nearest to that, where it is within "
        f"{nearby} times of it, and at 32 MB. By the paper's own Table 1 they would be "
        f"{' and '.join(times(by_table_1(each)) for each in contests)}.",
    ]


def drops(points: Sequence[Point]) -> Iterator[Statement]:
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


def statements(point: Point) -> list[Statement]:
    """Returns section 3's statements that are held against one size."""
    time = {n: t for n in point.senders if (t := point.time(many(n))) is not None}
    below = [n for n in time if n <= best_of_paper]
    found: list[Statement] = []
    if _has_delay(point):
        found += _rises(point)
    lost = {n: count for n in time if (count := _lost(point, n)) is not None}
    if lost:
        text = ", ".join(f"{n}: {count:.0f}" for n, count in lost.items())
        quiet = not any(lost[n] for n in below if n in lost)
        others_lose = any(count for n, count in lost.items() if n > best_of_paper)
        judged = _has_delay(point) and (others_lose or not quiet)
        statement = f"no losses between the sites with n up to {best_of_paper}"
        found.append((statement, text, quiet if judged else None))
    if below:
        found += _over_originals(point, below[-1], time[below[-1]])
    one = _up_to_best(point).get(1)
    if _has_delay(point) and one and (old := point.time(simple)):
        found.append(_single(point, old / one))
    return found


def over_simple(points: Sequence[Point]) -> Iterator[tuple[Point, Statement]]:
    """Holds the paper's best number of senders against the simple algorithm, as the abstract does,
    at the size that takes as long here as the paper's, and at the paper's own."""
    delayed = [point for point in points if _has_delay(point)]
    if not delayed:
        return
    alike = min(delayed, key=lambda point: abs(math.log(point.size / _alike)))
    for point in delayed:
        below = [n for n in point.senders if n <= best_of_paper]
        old, new = point.time(simple), point.time(many(below[-1])) if below else None
        if (point is not alike and point.size != bars_at[1]) or not (old and new):
            continue
        wanted = of_paper[point.contest.collective]
        at = units.size_to_text(point.size)
        yield (
            point,
            (
                f"n = {below[-1]} is {wanted:g} times as fast as {point.contest.simple}, at 32 MB",
                f"{times(old / new)} as fast at {at}, which take as long as "
                f"{units.size_to_text(point.size * rates_over_ours)} there",
                old / new >= wanted / (1 + noise) if _is_as_in_paper(point) else None,
            ),
        )


def _is_as_in_paper(point: Point) -> bool:
    """Whether the size is the paper's, or takes about as long here as that does there."""
    return point.size == bars_at[1] or 1 / nearby <= point.size / _alike <= nearby


def by_table_1(of: Contest) -> float:
    """How many times as fast as the simple algorithm the paper's own model has it, at 32 MB."""
    size = bars_at[1]
    return setting_of_paper.simple_cost(of, size) / setting_of_paper.modified_cost(
        size, best_of_paper
    )


def _up_to_best(point: Point) -> dict[int, float]:
    """Returns times by number of senders up to the paper's best one, in segments if there are."""
    name, numbers = (in_segments, point.segmented) if point.segmented else (many, point.senders)
    found = {n: point.time(name(n)) for n in numbers if n <= best_of_paper}
    return {n: time for n, time in found.items() if time is not None}


def _form(point: Point) -> str:
    return ", in segments" if point.segmented else ""


def _rises(point: Point) -> Iterator[Statement]:
    """Holds each number of senders up to the paper's best one against the one before it."""
    time = _up_to_best(point)
    *fewer, last = time or [0]
    if fewer:
        yield (
            f"faster with n from {fewer[0]} up to {best_of_paper}{_form(point)}",
            f"n = {last}: "
            + ", ".join(f"{times(time[n] / time[last])} n = {n}" for n in reversed(fewer)),
            all(time[a] / time[b] > 1 + noise for a, b in itertools.pairwise(time)),
        )


def contrast(delayed: Point, quick: Point) -> Iterator[Statement]:
    """Holds what fewer senders lose or gain with the delay against the same without it."""
    slow, fast = _up_to_best(delayed), _up_to_best(quick)
    best, all_of_site = quick.time(many(best_of_paper)), quick.time(many(quick.senders[-1]))
    if best and all_of_site and quick.senders[-1] > best_of_paper:
        yield (
            f"without delay it gains nothing to have {best_of_paper} senders instead of "
            f"{quick.senders[-1]} (one reading of section 3.6)",
            f"n = {best_of_paper}: {times(all_of_site / best)} as fast",
            all_of_site / best <= 1 + noise,
        )
    if delayed.segmented != quick.segmented or not slow.keys() & fast.keys():
        return
    *fewer, last = sorted(slow.keys() & fast.keys())
    gains = {n: (slow[n] / slow[last], fast[n] / fast[last]) for n in fewer}
    if fewer:
        each = ", ".join(
            f"{times(gains[n][0])} and {times(gains[n][1])} n = {n}" for n in reversed(fewer)
        )
        yield (
            "more senders gain more with the delay than without it, "
            f"from n = {fewer[0]} up to {best_of_paper}{_form(delayed)} (another reading)",
            f"n = {last}, with the delay and without it: {each}",
            all(with_it > without * (1 + noise) for with_it, without in gains.values()),
        )


def _single(point: Point, ratio: float) -> Statement:
    """Holds a single sender against the simple algorithm, which takes `ratio` times its time."""
    text, holds = {
        "bcast": ("like far-first", abs(ratio - 1) <= noise),
        "allreduce": ("faster than two-tier", ratio > 1 + noise),
    }[point.contest.collective]
    return f"n = 1 is {text}{_form(point)}", f"{times(ratio)} as fast", holds


def _lost(point: Point, senders: int) -> float | None:
    return point.counted(many(senders), "trunk_drops")


def _has_delay(point: Point) -> bool:
    return point.series[0] != without_delay


def _over_originals(point: Point, n: int, time: float) -> Iterator[Statement]:
    """Holds n senders against the originals that know no sites: the paper's form and MPICH's."""
    for name, form in ((blind, ""), (nearest, ", near first")):
        original = point.time(name)
        if original:
            yield (
                f"n = {n} is faster than the site-blind original{form}",
                f"{times(original / time)} as fast",
                time < original / (1 + noise),
            )
