"""Which of several values are unusual, where most are as usual."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SURE = 5.0
"""Standard errors between what is unusual and the others."""
TO_SIGMA = 1.4826
"""A normal distribution's deviation as a multiple of its median absolute deviation."""


def unusual(values: Floats, errors: Floats, deviation: float) -> NDArray[np.bool_]:
    """Returns which values are above the others, by more than chance and more than a single
    observation deviates.

    At most three quarters of them may be: their base is the lower quartile, their spread that of
    the values below the median.
    """
    if len(values) < 3:
        return np.zeros(len(values), bool)
    base, middle = np.quantile(values, [0.25, 0.5])
    low = values[values <= middle]
    chance = SURE * np.sqrt(errors**2 + spread_of(low) ** 2)
    above = values - base
    found: NDArray[np.bool_] = (above > chance) & (above > deviation)
    return found


def spread_of(values: Floats) -> float:
    """Returns the deviation of values of which most are as usual."""
    if not len(values):
        return 0.0
    return TO_SIGMA * float(np.median(np.abs(values - np.median(values))))


def spread_of_column(values: pl.Expr) -> pl.Expr:
    """Returns the same of a column: with .over() after it, of each group; null if it is empty."""
    return TO_SIGMA * (values - values.median()).abs().median()
