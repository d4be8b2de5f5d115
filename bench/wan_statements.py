"""What Matsuda et al. say of several senders, held against the points of `script/bench wan`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from bench.matsuda import blind, in_segments, many, nearest, scenarios, segment_size, simple
from bench.report import Table, percent, times
from bench.wan_points import Point, Series
from thalweg import units

noise = 0.03  # a difference of medians of three that says nothing
best_of_paper = 8
"""Number of senders up to which it gets faster and no segment is lost (sections 3.4 and 3.5)."""
fewest_judged = 4
"""Number of senders from which ours take what Table 1 says without segments, where TCP doesn't
start slowly. With fewer, a sender must receive parts while it sends others, which ours do in
segments alone."""
of_paper = {"bcast": 1.6, "allreduce": 3.2}
"""How many times as fast as far-first and two-tier the modified algorithm is (abstract, 32 MB)."""
bars_at = ("wan-2x16", 32_000_000)
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
        f"{segments}, of which the paper doesn't speak, but of which a sender receives some while "
        "it sends others, as Table 1 assumes. "
        "Inside the sites the bcast is recursive then, as printed, and the allreduce goes by "
        "rings, since with recursive halving and doubling it takes longer than Table 1 in "
        "segments, too. All other rows are without segments."
        if segmented
        else "All numbers of senders were measured without segments. So with fewer than "
        f"{fewest_judged} ours lack the overlap of Table 1, by which a sender receives parts while "
        "it sends others: what "
        "these numbers show isn't held against the paper (wan-simulated.md has them in segments)."
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
        "Section 3.6: without delay (switches-2x16) the effect of several senders was almost "
        "not observed, unlike with it. This contrast is judged, by what the best number gains over "
        f"fewer on either network: it holds where that is more than {percent(noise)} more with the "
        "delay. Other statements on more senders and fewer are of the delay alone.",
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
    """Returns section 3's statements on one size; those of another size, or of numbers of senders
    that don't fit Table 1, aren't judged."""
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
    if not _has_delay(point):
        return found
    if (old := point.time(simple)) and below:
        ratio = old / time[below[-1]]
        wanted, name = of_paper[point.contest.collective], point.contest.simple
        its_size = point.size == bars_at[1]
        at = "" if its_size else f" at {units.size_to_text(point.size)}"
        found.append(
            (f"n = {below[-1]} is {wanted:g} times as fast as {name}, at 32 MB",
             f"{times(ratio)} as fast{at}", ratio >= wanted / (1 + noise) if its_size else None)
        )  # fmt: skip
    one = _up_to_best(point).get(1)
    if old and one:
        found.append(_single(point, old / one))
    return found


def _up_to_best(point: Point) -> dict[int, float]:
    """Returns times by number of senders up to the paper's best one, in segments if there are."""
    name, numbers = (in_segments, point.segmented) if point.segmented else (many, point.senders)
    found = {n: point.time(name(n)) for n in numbers if n <= best_of_paper}
    return {n: time for n, time in found.items() if time is not None}


def _judged(point: Point, numbers: Sequence[int]) -> list[int]:
    """Returns the numbers of senders with which ours can take what Table 1 says."""
    return [n for n in numbers if point.segmented or n >= fewest_judged]


def _form(point: Point) -> str:
    return ", in segments" if point.segmented else ""


def _rises(point: Point) -> Iterator[Statement]:
    """Holds each number of senders up to the paper's best one against the one before it."""
    time = _up_to_best(point)
    *fewer, last = time or [0]
    judged = _judged(point, list(time))
    if len(judged) > 1:
        yield (
            f"faster with n from {judged[0]} up to {best_of_paper}{_form(point)}",
            f"n = {last}: "
            + ", ".join(f"{times(time[n] / time[last])} n = {n}" for n in reversed(fewer)),
            all(time[a] / time[b] > 1 + noise for a, b in itertools.pairwise(judged)),
        )


def contrast(delayed: Point, quick: Point) -> Iterator[Statement]:
    """Holds what more senders gain with the delay against what they gain without it."""
    slow, fast = _up_to_best(delayed), _up_to_best(quick)
    if delayed.segmented != quick.segmented or not slow.keys() & fast.keys():
        return
    *fewer, last = sorted(slow.keys() & fast.keys())
    gains = {n: (slow[n] / slow[last], fast[n] / fast[last]) for n in fewer}
    judged = _judged(delayed, fewer)
    if judged:
        each = ", ".join(
            f"{times(gains[n][0])} and {times(gains[n][1])} n = {n}" for n in reversed(fewer)
        )
        yield (
            "more senders gain more with the delay than without it, "
            f"from n = {judged[0]} up to {best_of_paper}{_form(delayed)}",
            f"n = {last}, with the delay and without it: {each}",
            all(gains[n][0] > gains[n][1] * (1 + noise) for n in judged),
        )


def _single(point: Point, ratio: float) -> Statement:
    """Holds a single sender against the simple algorithm, which takes `ratio` times its time."""
    text, holds = {
        "bcast": ("like far-first", abs(ratio - 1) <= noise),
        "allreduce": ("faster than two-tier", ratio > 1 + noise),
    }[point.contest.collective]
    judged = holds if _judged(point, [1]) else None
    return f"n = 1 is {text}{_form(point)}", f"{times(ratio)} as fast", judged


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
