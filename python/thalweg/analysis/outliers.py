"""Calls that took much longer than others like them, what they cost, and whether they return."""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thalweg.analysis.robust import spread_of_column
from thalweg.analysis.tables import SHAPE, Run
from thalweg.collective_names import ONE_TO_ALL

Floats = NDArray[np.float64]

FENCE = 3.0
"""A call is an outlier if it is farther above the median than that many times the distance from the
median to the ninth decile, and than that many deviations: heavy tails of many calls are no
outliers."""
LEAST = 9
"""Fewest rounds of a period that have outliers: SIGNIFICANCE lets believe no fewer, and what comes
in a few bursts has none."""
MOST = 1000
"""Most outliers that a period is looked for in."""
SIGNIFICANCE = 1e-3
"""Probability with which times without a period would look as regular."""
REGULAR = 0.7
"""Least length of the mean of the times' directions, as parts of a period: what isn't spread as by
chance needn't be regular."""


@dataclass(frozen=True)
class Period:
    seconds: float
    p_value: float
    """Probability that times drawn at random look as regular."""


def durations(run: Run) -> pl.DataFrame:
    """Returns each call with `took`: nanoseconds from its last entry to its last exit; `usual`, the
    median of the calls of its shape; `waited`, from its first entry to its last; and `last`, the
    rank that entered last.

    What the program's imbalance costs is in `waited` only. Calls of a root that doesn't wait count
    from its entry.
    """
    one_to_all = pl.col("kind").is_in(ONE_TO_ALL)
    by_entry = run.calls.sort("call", "enter", "rank")
    roots = by_entry.filter(one_to_all & (pl.col("rank") == pl.col("root")))
    entered = pl.concat([by_entry, roots]).group_by("call", maintain_order=True).last()
    decisive = entered.select("call", last="rank", entry="enter")
    return (
        run.shapes()
        .join(decisive, on="call")
        .with_columns(
            (pl.col("end") - pl.col("entry")).cast(pl.Float64).alias("took"),
            (pl.col("entry") - pl.col("begin")).cast(pl.Float64).alias("waited"),
        )
        .with_columns(pl.col("took").median().over(SHAPE).alias("usual"))
    )


def outliers(run: Run) -> pl.DataFrame:
    """Returns the calls that took much longer than others of their shape, or waited so for who came
    late: rows of durations(), `cost`: nanoseconds beyond the usual, and `culprit`: the rank that
    was waited for; null if the wait was as usual."""
    too_long, too_late = _excess("took"), _excess("waited")
    return (
        durations(run)
        .with_columns(
            too_long.fill_null(0).add(too_late.fill_null(0)).alias("cost"),
            pl.when(too_late.is_not_null()).then("last").alias("culprit"),
        )
        .filter(pl.col("cost") > 0)
    )


def _excess(name: str) -> pl.Expr:
    """Returns by how much a time is above the usual of its shape; null unless it is an outlier."""
    time = pl.col(name)
    above = time - time.median().over(SHAPE)
    decile = (time.quantile(0.9) - time.median()).over(SHAPE)
    spread = spread_of_column(time).over(SHAPE)
    return pl.when(above > FENCE * pl.max_horizontal(decile, spread, 1)).then(above)


def late_again_and_again(run: Run) -> set[int]:
    """Returns the ranks that outliers wait for at times which have a period."""
    late = outliers(run).drop_nulls("culprit")
    return {
        rank
        for (rank,), own in late.group_by("culprit")
        if period(own["begin"].to_numpy().astype(float), own["cost"].to_numpy())
    }


def period(times_ns: Floats, costs: Floats) -> Period | None:
    """Returns the period of outliers that begin at these times, if they have one.

    It is looked for among the costliest, and among ever more of them: what returns may be among
    others that don't. The most regular decides.
    """
    count = min(len(times_ns), MOST)
    if count < LEAST:
        return None
    costliest = np.argsort(-costs, kind="stable")
    sizes = [*(LEAST << at for at in range(16) if LEAST << at < count), count]
    found = [_period(np.sort(times_ns[costliest[:size]]), len(sizes)) for size in sizes]
    return min(filter(None, found), key=lambda each: each.p_value, default=None)


def _period(times_ns: Floats, tests: int) -> Period | None:
    """Returns the period of ascending times.

    Rayleigh's test over frequencies up to twice the mean one, whose p-value is multiplied by how
    many were tried. Of periods as good, the longest: each of its parts fits as well.
    """
    times = times_ns * 1e-9
    count = len(times)
    if times[-1] <= times[0]:
        return None
    span = times[-1] - times[0]
    tried = np.arange(LEAST - 1.0, 2.0 * count, 0.125) / span
    # In parts, since all frequencies by all times take hundreds of megabytes.
    parts = np.array_split(tried, math.ceil(len(tried) / 256))
    strength = np.concatenate(
        [np.abs(np.exp(2j * math.pi * np.outer(part, times)).mean(axis=1)) for part in parts]
    )
    best = float(strength.max())
    p_value = tests * len(tried) * _p_value(count, best)
    if p_value > SIGNIFICANCE or best < REGULAR:
        return None
    first = int(np.argmax(strength >= 0.95 * best))
    while first + 1 < len(strength) and strength[first + 1] > strength[first]:
        first += 1
    if _rounds(tried[first] * times) < LEAST:
        return None
    return Period(float(1 / tried[first]), min(1.0, p_value))


def _rounds(turns: Floats) -> int:
    """Returns in how many rounds there are times, which are given in rounds."""
    phase = np.angle(np.exp(2j * math.pi * turns).mean()) / (2 * math.pi)
    return len(np.unique(np.round(turns - phase)))


def _p_value(count: int, strength: float) -> float:
    """Returns the probability that the mean of so many random directions is at least that long.

    Source: Zar, Biostatistical Analysis, equation 27.4: close also for few directions.
    """
    squares = (count * strength) ** 2
    return math.exp(math.sqrt(1 + 4 * count + 4 * (count**2 - squares)) - (1 + 2 * count))
