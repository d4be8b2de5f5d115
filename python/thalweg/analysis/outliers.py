"""Calls that took much longer than others like them, what they cost, and whether they return."""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thalweg.analysis.robust import TO_SIGMA
from thalweg.analysis.tables import SHAPE, Run

Floats = NDArray[np.float64]

FENCE = 3.0
"""A call is an outlier if it is farther above the median than that many times the distance from the
median to the ninth decile, and than that many deviations: heavy tails of many calls are no
outliers."""
LEAST = 4
"""Fewest outliers of which a period is asked."""
MOST = 1000
"""Most outliers that a period is looked for in."""
CHANCE = 1e-3
"""Probability with which times without a period would look as regular."""


@dataclass(frozen=True)
class Period:
    seconds: float
    chance: float
    """Probability that times drawn at random look as regular."""


def durations(run: Run) -> pl.DataFrame:
    """Returns each call with `took`: nanoseconds from its last entry to its last exit, and `usual`,
    the median of the calls of its shape.

    From the first entry it would be the program's imbalance that is seen. Calls of a root that
    doesn't wait count from its entry.
    """
    shapes = run.shapes()
    root_enter = run.calls.filter(pl.col("rank") == pl.col("root")).select(
        "call", pl.col("enter").alias("root_enter")
    )
    one_to_all = pl.col("kind").is_in(["bcast", "scatter"])
    begin = (
        pl.when(one_to_all)
        .then("root_enter")
        .otherwise("last_enter")
        .fill_null(pl.col("last_enter"))
    )
    return shapes.join(root_enter, on="call", how="left").with_columns(
        (pl.col("end") - begin).cast(pl.Float64).alias("took")
    ).with_columns(pl.col("took").median().over(SHAPE).alias("usual"))  # fmt: skip


def outliers(run: Run) -> pl.DataFrame:
    """Returns the outliers: a call's row of durations(), and `cost`: took - usual."""
    took = pl.col("took")
    above = took - pl.col("usual")
    decile = (took.quantile(0.9) - took.median()).over(SHAPE)
    deviation = TO_SIGMA * (took - took.median()).abs().median().over(SHAPE)
    found = durations(run).filter(above > FENCE * pl.max_horizontal(decile, deviation, 1))
    return found.with_columns((took - pl.col("usual")).alias("cost"))


def period(times_ns: Floats) -> Period | None:
    """Returns the period of times, if they have one.

    Rayleigh's test over frequencies up to twice the mean one, whose chance is multiplied by how
    many were tried. Of periods as good, the longest: each of its parts fits as well.
    """
    times = np.sort(times_ns)[:MOST] * 1e-9
    count = len(times)
    if count < LEAST or times[-1] <= times[0]:
        return None
    span = times[-1] - times[0]
    tried = np.arange(1.0, 2.0 * count, 0.125) / span
    strength = np.abs(np.exp(2j * math.pi * np.outer(tried, times)).mean(axis=1))
    best = float(strength.max())
    chance = len(tried) * math.exp(-count * best**2)
    if chance > CHANCE:
        return None
    first = int(np.argmax(strength >= 0.95 * best))
    while first + 1 < len(strength) and strength[first + 1] > strength[first]:
        first += 1
    return Period(float(1 / tried[first]), min(1.0, chance))
