"""Ranks of like behaviour, each group with a representative."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray


@dataclass(frozen=True)
class Group:
    """Ranks that one can't tell apart by one call."""

    ranks: tuple[int, ...]
    representative: int
    """The one closest to the group's mean."""
    mean: dict[str, float]
    """Mean of each column over the group's ranks."""
    total: float


def groups(table: pl.DataFrame, columns: list[str]) -> list[Group]:
    """Groups the ranks of a table with `rank` and these columns, a row for each rank and call.

    Two ranks are alike if the mean of every column differs by no more than that column deviates
    from call to call. Slowest group first. Groups begin with the slowest rank that is in none.
    """
    stats = table.group_by("rank").agg(
        *(pl.col(name).mean().alias(f"{name}_mean") for name in columns),
        *(pl.col(name).std().fill_null(0).alias(f"{name}_deviation") for name in columns),
    ).sort("rank")  # fmt: skip
    ranks = stats["rank"].to_numpy()
    means = stats.select(f"{name}_mean" for name in columns).to_numpy()
    spread = stats.select(f"{name}_deviation" for name in columns).to_numpy()
    # A nanosecond is the clocks' grain.
    pooled = np.maximum(np.sqrt((spread**2).mean(axis=0)) if len(ranks) else 0, 1.0)
    totals = means.sum(axis=1)
    order = np.argsort(-totals, kind="stable")
    # Ranks whose totals differ by more can't be alike; a nanosecond is for rounding.
    falling = -totals[order]
    ends = np.searchsorted(falling, falling + pooled.sum() + 1, side="right")
    is_left = np.ones(len(order), bool)
    found = []
    for at in range(len(order)):
        if not is_left[at]:
            continue
        near = at + np.flatnonzero(is_left[at : ends[at]])
        distance = np.abs(means[order[near]] - means[order[at]]) / pooled
        near = near[(distance <= 1).all(axis=1)]
        is_left[near] = False
        found.append(_group(ranks, means, order[near], pooled, columns))
    return found


def _group(
    ranks: NDArray[np.int64], means: NDArray[np.float64], members: NDArray[np.int64],
    pooled: NDArray[np.float64], columns: list[str],
) -> Group:  # fmt: skip
    mean = means[members].mean(axis=0)
    middle = np.argmin((np.abs(means[members] - mean) / pooled).sum(axis=1))
    return Group(
        tuple(sorted(int(rank) for rank in ranks[members])),
        int(ranks[members[middle]]),
        dict(zip(columns, map(float, mean), strict=True)),
        float(mean.sum()),
    )
