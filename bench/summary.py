"""Medians and spreads of few, skewed samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
"""Samples that are drawn for a bootstrap interval."""


@dataclass(frozen=True)
class Summary:
    """The spread of some samples, in their unit; `mad` is the median absolute deviation."""

    count: int
    minimum: float
    lower_quartile: float
    median: float
    upper_quartile: float
    maximum: float
    mad: float


def summarise(samples: Sequence[float]) -> Summary:
    """Summarises one sample or more; quartiles are interpolated linearly. Raises ValueError."""
    if not samples:
        raise ValueError("there is nothing to summarise: no valid sample")
    values = np.asarray(samples, dtype=float)
    minimum, lower, median, upper, maximum = np.percentile(values, [0, 25, 50, 75, 100])
    mad = np.median(np.abs(values - median))
    return Summary(len(samples), *(float(v) for v in (minimum, lower, median, upper, maximum, mad)))


def speedup(theirs: float, ours: float) -> float:
    """Returns how many times as fast ours is, from what both take."""
    return theirs / ours


def saved(theirs: float, ours: float) -> float:
    """Returns the share of what theirs takes that ours saves; below 0 if it takes more."""
    return 1 - ours / theirs


@dataclass(frozen=True)
class Ratio:
    """A ratio of medians with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


def ratio(numerator: Sequence[float], denominator: Sequence[float], seed: int = 1) -> Ratio:
    """Median of `numerator` over median of `denominator`. Same seed, same interval."""
    random = np.random.default_rng(seed)
    top, bottom = np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float)

    def medians(values: np.ndarray) -> np.ndarray:
        picks = random.integers(0, len(values), (RESAMPLES, len(values)))
        result: np.ndarray = np.median(values[picks], axis=1)
        return result

    low, high = np.percentile(medians(top) / medians(bottom), [2.5, 97.5])
    return Ratio(float(np.median(top) / np.median(bottom)), float(low), float(high))


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """The order statistics that enclose the median of what the samples are drawn from, with a
    probability of at least 95 %, or the highest possible with fewer than six samples. Needs one."""
    values, count = sorted(samples), len(samples)
    beyond, left_out = 0.0, 0
    while (beyond := beyond + math.comb(count, left_out) / 2**count) <= 0.025:
        left_out += 1
    left_out = max(left_out - 1, 0)
    return values[left_out], values[-1 - left_out]


def relative_difference(a: float, b: float) -> float:
    """|a - b| over the smaller of the two; both above zero."""
    return abs(a - b) / min(a, b)


def slower_beyond_noise(ours: Sequence[float], native: Sequence[float]) -> bool:
    """Whether all of the 95 % interval of ours/native lies above 1."""
    return ratio(ours, native).low > 1.0
