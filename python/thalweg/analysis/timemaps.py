"""Timemaps: when each rank's data passes each stage of a tree, and which rank is late when.

After Bongo, Anshus and Bjørndalen, Figures 2 and 3 (docs/papers.md).
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thalweg.analysis import stages
from thalweg.analysis.tables import Run
from thalweg.analysis.waits import with_lateness

Floats = NDArray[np.float64]

DOWN = ("arrival_wait", "down", "two_way")
UP = ("two_way", "up", "departure_wait")


@dataclass(frozen=True)
class Curve:
    """One rank's path: points from its program to the root and back.

    Time 0 is at the root; height 1 is the rank's program, 0 the root, so that trees of different
    height can be compared.
    """

    rank: int
    times: tuple[float, ...]
    """Nanoseconds, ascending."""
    heights: tuple[float, ...]
    names: tuple[str, ...]
    """The stage that ends at each point; "" at the first."""


def tree_shapes(run: Run) -> pl.DataFrame:
    """Returns the shapes with the same tree in all calls, through which data goes to the root and
    back, the costliest first.

    shape: the first call of the shape; its kind, algorithm, ranks and size; `calls` counts; spent:
    nanoseconds of all ranks in these calls.
    """
    tree = stages.edges(run).filter(pl.col("t2").is_not_null() & pl.col("t3").is_not_null())
    shape_of = stages.shape_of_calls(run)
    alike = stages.of_one_tree(tree.rename({"child": "node"}).join(shape_of, on="call"))
    calls = run.calls.join(alike.select("call").unique(), on="call", how="semi")
    return (
        calls.join(shape_of, on="call")
        .group_by("shape")
        .agg(
            pl.col("kind", "algorithm", "ranks").first(), pl.col("size").max(),
            pl.col("call").n_unique().alias("calls"),
            (pl.col("exit") - pl.col("enter")).sum().alias("spent"),
        )
        .sort("spent", descending=True)
    )  # fmt: skip


def curves(run: Run, shape: int, *, arrival_wait: bool = True) -> list[Curve]:
    """Returns the mean timemap of the calls of a shape, a curve for each rank.

    Half of an edge's round-trip latency is drawn in each direction. Without `arrival_wait` the
    stages tell of the tree alone, not of the program's imbalance.
    """
    calls = stages.shape_of_calls(run).filter(pl.col("shape") == shape)
    part = stages.edges(run).join(calls, on="call", how="semi")
    return curves_of(stages.means(run, stages.nodes(run, part)), arrival_wait=arrival_wait)


def curves_of(means: pl.DataFrame, *, arrival_wait: bool = True) -> list[Curve]:
    """Returns what curves() does, from stages.means() of one shape; nothing if data goes in one
    direction only."""
    means = means.filter(pl.col("up").is_not_null() & pl.col("down").is_not_null())
    path = stages.along_paths(means, ["shape"])
    if not arrival_wait:
        path = path.with_columns(pl.lit(0.0).alias("arrival_wait"))
    return [_curve(int(rank[0]), own) for rank, own in path.group_by("rank", maintain_order=True)]


def _curve(rank: int, path: pl.DataFrame) -> Curve:
    """`path`: the rank's levels, its own node first."""
    levels = path.sort("level").to_dicts()
    down: list[tuple[str, float]] = []
    up: list[tuple[str, float]] = []
    for level in levels:
        at = f"rank {level['node']}"
        down += [(f"{_name(stage)} at {at}", _part(level, stage)) for stage in DOWN]
        up = [(f"{_name(stage)} at {at}", _part(level, stage)) for stage in UP] + up
    # The root has no edge to a parent.
    down, up = down[:-1], up[1:]
    times = np.concatenate([[0.0], np.cumsum([time for _, time in [*down, *up]])])
    heights = [*(1 - at / len(down) for at in range(len(down) + 1)),
               *((at + 1) / len(up) for at in range(len(up)))]  # fmt: skip
    names = ["", *(name for name, _ in [*down, *up])]
    zero = times[len(down)]
    return Curve(rank, tuple(map(float, times - zero)), tuple(heights), tuple(names))


def _name(stage: str) -> str:
    return stage.replace("_", " ")


def _part(level: dict[str, float], stage: str) -> float:
    return level[stage] / 2 if stage == "two_way" else level[stage]


def representatives(found: list[Curve], most: int) -> list[Curve]:
    """Returns at most this many curves: the slowest, the fastest, and those evenly between."""
    ordered = sorted(found, key=lambda curve: curve.times[-1] - curve.times[0], reverse=True)
    if len(ordered) <= most:
        return ordered
    chosen = np.unique(np.linspace(0, len(ordered) - 1, most).round().astype(int))
    return [ordered[at] for at in chosen]


# Rank by call ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lateness:
    """By how much ranks' programs made them late: a fixed straggler is a line, one that changes is
    scattered."""

    ranks: tuple[tuple[int, ...], ...]
    """The ranks of each row."""
    calls: tuple[tuple[int, int], ...]
    """First and last call of each column, as counted in the run."""
    late: Floats
    """Nanoseconds by row and column: the most that one of the ranks spent before one of the calls,
    since its last, beyond the median of all ranks; never negative."""


def lateness(run: Run, rows: int = 128, columns: int = 200) -> Lateness:
    """Returns the lateness of ranks in all calls, of many ranks and calls the most of a group."""
    calls = with_lateness(run).with_columns(
        pl.col("call").rank("dense").cast(pl.Int64).sub(1).alias("number")
    )
    count = int(calls["number"].max() or 0) + 1  # type: ignore[arg-type]
    rows, columns = min(rows, run.ranks), min(columns, count)
    binned = calls.with_columns(
        (pl.col("rank") * rows // run.ranks).alias("row"),
        (pl.col("number") * columns // count).alias("column"),
    )
    cells = binned.group_by("row", "column").agg(pl.col("computed").max().clip(0))
    late = np.zeros((rows, columns))
    late[cells["row"].to_numpy(), cells["column"].to_numpy()] = cells["computed"].to_numpy()
    members = tuple(
        tuple(rank for rank in range(run.ranks) if rank * rows // run.ranks == row)
        for row in range(rows)
    )
    spans = binned.group_by("column").agg(
        pl.col("call").min().alias("first"), pl.col("call").max().alias("last")
    ).sort("column")  # fmt: skip
    return Lateness(members, tuple(spans.select("first", "last").iter_rows()), late)
