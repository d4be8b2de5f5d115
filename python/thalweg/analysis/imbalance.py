"""Load imbalance: who is waited for. The weighted graph of last arrivals, and its longest path."""

from dataclasses import dataclass

import polars as pl

from thalweg.analysis import stages


@dataclass(frozen=True)
class Imbalance:
    """The longest path in the graph of last arrivals of one shape."""

    shape: int
    calls: int
    path: tuple[int, ...]
    """Ranks from the root to the one whose program is waited for."""
    counts: tuple[float, ...]
    """In how many calls the next one on the path, or the program itself, arrived last at each node
    of it. Of a call in segments each counts for its share."""

    @property
    def share(self) -> float:
        """The share of the calls in which the end of the path was last, at its own node."""
        return self.counts[-1] / self.calls if self.calls else 0.0


def last_arrivals(of_nodes: pl.DataFrame, shapes: pl.DataFrame) -> pl.DataFrame:
    """Returns the graph: shape, node, contributor, `last`: in how many of its `calls` it arrived
    last, each segment counting for its share of a call, and `waited`: mean nanoseconds for which
    the node's other contributors waited then. Shapes whose trees differ between calls are left out.

    `shapes`: stages.shape_of_calls(run).
    """
    arrivals = stages.of_one_tree(of_nodes.join(shapes, on="call"))
    arrivals = arrivals.filter(pl.col("t1").is_not_null()).with_columns(
        (1 / pl.col("segment").n_unique().over("call")).alias("share")
    )
    node = ["call", "segment", "node"]
    waited = arrivals.with_columns(
        (pl.col("arrival_wait").sum() / (pl.len() - 1).clip(1)).over(node).alias("waited")
    )
    return (
        waited.group_by("shape", "node", "contributor")
        .agg(
            pl.col("share").filter(pl.col("arrival_wait") == 0).sum().alias("last"),
            pl.col("waited").filter(pl.col("arrival_wait") == 0).mean().fill_null(0),
            pl.col("parent").first(),
            pl.col("call").n_unique().alias("calls"),
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
    below: dict[int, list[tuple[int, float]]] = {}
    root = -1
    for node, contributor, last, parent in graph.select(
        "node", "contributor", "last", "parent"
    ).iter_rows():
        below.setdefault(node, []).append((contributor, last))
        if parent is None:
            root = node
    best: dict[int, tuple[float, int, float]] = {}  # node -> (sum, next, its count)
    children = {node: [to for to, _ in counted] for node, counted in below.items()}
    for node in reversed(stages.from_root(children, root)):
        best[node] = max(
            (count + (best[to][0] if to != node and to in best else 0), to, count)
            for to, count in below[node]
        )
    path, counts, node = [root], list[float](), root
    while node in best:
        _, following, count = best[node]
        counts.append(count)
        if following == node:
            break
        path.append(following)
        node = following
    calls = int(graph["calls"].max() or 0)  # type: ignore[arg-type]
    return Imbalance(shape, calls, tuple(path), tuple(counts))
