"""What differs between two runs, and whether it is more than noise."""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thalweg.analysis import outliers, stages
from thalweg.analysis.tables import Run

Floats = NDArray[np.float64]

MATCH = ["kind", "size", "ranks", "root", "communicator"]
"""Calls that are equal in these are the same in both runs, whatever plan they had."""
BLOCKS = 20
"""Calls are compared by the medians of this many stretches of time, since neighbours resemble each
other: as many samples as calls would make every drift look certain."""
CHANCE = 0.01
"""A difference is no noise if it had come about by chance less often, among all that are
compared."""


@dataclass(frozen=True)
class Difference:
    """How one time differs between run A and run B."""

    a_ns: float
    b_ns: float
    chance: float
    """The probability that times of one distribution differ that much: Mann and Whitney's test."""

    @property
    def ratio(self) -> float:
        return self.b_ns / self.a_ns if self.a_ns > 0 else math.inf


@dataclass(frozen=True)
class Part:
    """A stage at a node."""

    node: int
    stage: str
    difference: Difference
    reconfigured: bool
    """Whether the subtree below the node, or for two_way its parent, is another in B."""


@dataclass(frozen=True)
class Match:
    """Calls of one kind and size in both runs."""

    kind: str
    size: int
    ranks: int
    algorithms: tuple[str, str]
    """"native" where nothing was planned."""
    calls: tuple[int, int]
    whole: Difference
    """The time from the last entry to the last exit."""
    stages: dict[str, Difference]
    """Means over the ranks' paths; empty unless both were trees."""
    parts: tuple[Part, ...]
    """Parts that differ by more than noise, the largest difference first."""


@dataclass(frozen=True)
class Comparison:
    matches: tuple[Match, ...]
    only_in: tuple[int, int]
    """Calls of A and of B that the other doesn't have."""


def compare(a: Run, b: Run) -> Comparison:
    """Compares the calls of two runs of one program, the costliest first."""
    tables = [_durations(run) for run in (a, b)]
    keys = [set(table.select(MATCH).unique().iter_rows()) for table in tables]
    trees = [_node_times(run) for run in (a, b)]
    found = []
    for key in sorted(keys[0] & keys[1], key=str):
        own = [_with_key(table, key) for table in tables]
        below = [_with_key(tree, key) for tree in trees]
        found.append(_match(own[0], own[1], below[0], below[1]))
    found.sort(key=lambda match: -match.whole.a_ns * match.calls[0])
    lone = [
        sum(len(_with_key(table, key)) for key in own - other)
        for table, own, other in zip(tables, keys, reversed(keys), strict=True)
    ]
    return Comparison(tuple(found), (lone[0], lone[1]))


def chance(a: Floats, b: Floats) -> float:
    """Returns how often samples of one distribution differ as much in their ranks.

    The normal approximation of Mann and Whitney's test, both sides, ties counted half.
    """
    n, m = len(a), len(b)
    if n == 0 or m == 0:
        return 1.0
    both = np.concatenate([a, b])
    _, where, counts = np.unique(both, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[where]
    u = float(ranks[:n].sum()) - n * (n + 1) / 2
    total = n + m
    ties = float(((counts**3 - counts) / (total * (total - 1))).sum())
    deviation = math.sqrt(max(n * m / 12 * (total + 1 - ties), 0))
    if deviation == 0:
        return 1.0
    z = max(abs(u - n * m / 2) - 0.5, 0) / deviation
    return math.erfc(z / math.sqrt(2))


def blocks(times: Floats) -> Floats:
    """Returns the medians of stretches of times that follow each other."""
    parts = np.array_split(times, min(BLOCKS, len(times))) if len(times) else []
    return np.array([np.median(part) for part in parts])


def difference(a: Floats, b: Floats) -> Difference:
    """Compares times in their order."""
    middle = [float(np.median(times)) if len(times) else 0.0 for times in (a, b)]
    return Difference(middle[0], middle[1], chance(blocks(a), blocks(b)))


def _durations(run: Run) -> pl.DataFrame:
    return outliers.durations(run).sort("call")


def _with_key(table: pl.DataFrame, key: tuple[object, ...]) -> pl.DataFrame:
    equal = [pl.col(name) == value for name, value in zip(MATCH, key, strict=True)]
    return table.filter(pl.all_horizontal(equal))


def _node_times(run: Run) -> pl.DataFrame:
    """Returns the stages of each node in each call: MATCH, call, node, parent, below (its subtree
    as text), stage, time. Times at nodes are means over contributors and segments."""
    tree = stages.edges(run)
    of_nodes = stages.nodes(run, tree)
    both = of_nodes.filter(pl.col("down").is_not_null() & pl.col("up").is_not_null())
    by_call = both.group_by("call", "node").agg(
        pl.col("parent").first().fill_null(-1),
        pl.col("contributor").filter(pl.col("contributor") != pl.col("node")).unique().sort()
        .alias("children"),
        pl.col(stages.STAGES).mean(),
    )  # fmt: skip
    shaped = by_call.join(stages.shape_of_calls(run), on="call")
    shapes = shaped.unique(["shape", "node"], keep="first").select("shape", "node", "children")
    signature = pl.DataFrame(
        [(shape, node, text) for shape, text_of in _subtrees(shapes).items()
         for node, text in text_of.items()],
        schema={"shape": pl.Int64, "node": pl.Int64, "below": pl.String}, orient="row",
    )  # fmt: skip
    keys = run.shapes().select("call", *MATCH)
    return (
        shaped.drop("children").join(signature, on=["shape", "node"]).join(keys, on="call")
        .unpivot(stages.STAGES, index=[*MATCH, "call", "node", "parent", "below"],
                 variable_name="stage", value_name="time")
        .drop_nulls("time").sort("call", "node")
    )  # fmt: skip


def _subtrees(shapes: pl.DataFrame) -> dict[int, dict[int, str]]:
    """Returns for each shape each node's subtree as text such as "0(1,2(3))"."""
    found: dict[int, dict[int, str]] = {}
    children: dict[int, dict[int, list[int]]] = {}
    for shape, node, below in shapes.iter_rows():
        children.setdefault(shape, {})[node] = below
    for shape, below in children.items():
        texts: dict[int, str] = {}
        while len(texts) < len(below):
            for node, own in below.items():
                if node not in texts and all(child in texts for child in own):
                    inner = ",".join(texts[child] for child in own)
                    texts[node] = f"{node}({inner})" if inner else str(node)
        found[shape] = texts
    return found


def _match(a: pl.DataFrame, b: pl.DataFrame, below_a: pl.DataFrame, below_b: pl.DataFrame) -> Match:
    first = a.row(0, named=True)
    algorithms = [
        (row["algorithm"] if row["planned"] else "native") for row in (first, b.row(0, named=True))
    ]
    whole = difference(*(table["took"].to_numpy() for table in (a, b)))
    by_stage, parts = {}, list[Part]()
    if not below_a.is_empty() and not below_b.is_empty():
        means = [_means_by_stage(each) for each in (below_a, below_b)]
        by_stage = {
            stage: difference(means[0][stage], means[1][stage])
            for stage in stages.STAGES if stage in means[0] and stage in means[1]
        }  # fmt: skip
        parts = _parts(below_a, below_b)
    return Match(
        first["kind"], first["size"], first["ranks"], (algorithms[0], algorithms[1]),
        (len(a), len(b)), whole, by_stage, tuple(parts),
    )  # fmt: skip


def _means_by_stage(table: pl.DataFrame) -> dict[str, Floats]:
    mean = table.group_by("stage", "call").agg(pl.col("time").mean()).sort("call")
    return {
        str(stage[0]): own["time"].to_numpy()
        for stage, own in mean.group_by("stage", maintain_order=True)
    }


def _parts(a: pl.DataFrame, b: pl.DataFrame) -> list[Part]:
    groups = [dict(table.group_by("node", "stage", maintain_order=True)) for table in (a, b)]
    shared = [key for key in groups[0] if key in groups[1]]
    found = []
    for key in shared:
        own = [group[key] for group in groups]
        changed = difference(own[0]["time"].to_numpy(), own[1]["time"].to_numpy())
        # Some of many comparisons look unlikely by chance.
        if changed.chance * len(shared) >= CHANCE:
            continue
        stage = str(key[1])
        column = "parent" if stage == "two_way" else "below"
        same = own[0][column][0] == own[1][column][0]
        found.append(Part(int(key[0]), stage, changed, not same))
    return sorted(found, key=lambda part: -abs(part.difference.b_ns - part.difference.a_ns))
