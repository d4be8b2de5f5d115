"""Load imbalance: who is waited for. The weighted graph of last arrivals, and its longest path."""

from dataclasses import dataclass

import polars as pl

from thalweg.analysis.tables import Run


@dataclass(frozen=True)
class Imbalance:
    """The longest path in the graph of last arrivals of one shape."""

    shape: int
    calls: int
    path: tuple[int, ...]
    """Ranks from the root to the one whose program is waited for."""
    counts: tuple[int, ...]
    """Last arrivals at each node of the path, of the next one on it, or of the program itself."""

    @property
    def share(self) -> float:
        """The share of the calls in which the end of the path was last, at its own node."""
        return self.counts[-1] / self.calls if self.calls else 0.0


def last_arrivals(run: Run, of_nodes: pl.DataFrame, shapes: pl.DataFrame) -> pl.DataFrame:
    """Returns the graph: shape, node, contributor, `last`: how often it arrived last, and `waited`:
    mean nanoseconds for which the node's other contributors waited then.

    `shapes`: stages.shape_of_calls(run).
    """
    arrivals = of_nodes.filter(pl.col("t1").is_not_null()).join(shapes, on="call")
    node = ["call", "segment", "node"]
    waited = arrivals.with_columns(
        (pl.col("arrival_wait").sum() / (pl.len() - 1).clip(1)).over(node).alias("waited")
    )
    return (
        waited.group_by("shape", "node", "contributor")
        .agg(
            (pl.col("arrival_wait") == 0).sum().cast(pl.Int64).alias("last"),
            pl.col("waited").filter(pl.col("arrival_wait") == 0).mean().fill_null(0),
            pl.col("parent").first(),
            pl.struct("call", "segment").n_unique().alias("calls"),
        )
        .sort("shape", "node", "contributor")
    )


def longest_paths(graph: pl.DataFrame) -> list[Imbalance]:
    """Returns for each shape the path from its root with the most last arrivals on it."""
    return [
        _longest(int(shape[0]), part)
        for shape, part in graph.group_by("shape", maintain_order=True)
    ]


def _longest(shape: int, graph: pl.DataFrame) -> Imbalance:
    below: dict[int, list[tuple[int, int]]] = {}
    root = -1
    for node, contributor, last, parent in graph.select(
        "node", "contributor", "last", "parent"
    ).iter_rows():
        below.setdefault(node, []).append((contributor, last))
        if parent is None:
            root = node
    best: dict[int, tuple[int, int, int]] = {}  # node -> (sum, next, its count)
    for node in reversed(_from_root(below, root)):
        best[node] = max(
            (count + (best[to][0] if to != node and to in best else 0), to, count)
            for to, count in below[node]
        )
    path, counts, node = [root], list[int](), root
    while node in best:
        _, following, count = best[node]
        counts.append(count)
        if following == node:
            break
        path.append(following)
        node = following
    calls = int(graph["calls"].max() or 0)  # type: ignore[arg-type]
    return Imbalance(shape, calls, tuple(path), tuple(counts))


def _from_root(below: dict[int, list[tuple[int, int]]], root: int) -> list[int]:
    order = [root] if root in below else []
    for node in order:
        order += [to for to, _ in below[node] if to != node and to in below]
    return order


def last_entries(run: Run) -> pl.DataFrame:
    """Returns for calls of any schedule how often each rank entered last: kind, planned, rank,
    last, calls, share."""
    calls = run.calls.with_columns(
        (pl.col("enter") == pl.col("enter").max().over("call")).alias("is_last")
    )
    found = calls.group_by("kind", "planned", "rank").agg(
        pl.col("is_last").sum().cast(pl.Int64).alias("last"), pl.len().alias("calls")
    )
    return found.with_columns((pl.col("last") / pl.col("calls")).alias("share")).sort(
        "kind", "planned", "rank"
    )
