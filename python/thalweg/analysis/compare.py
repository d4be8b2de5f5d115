"""What differs between two runs, and whether it is more than noise."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thalweg.analysis import outliers, stages
from thalweg.analysis.tables import Run

Floats = NDArray[np.float64]

MATCH = ["kind", "size", "ranks", "root", "group"]
"""Calls that are equal in these, and whose groups have the same members, are the same in both runs,
whatever plan they had."""
BLOCKS = 20
"""Calls are compared by the medians of this many stretches of time, since neighbours resemble each
other: as many samples as calls would make every drift look certain."""
SIGNIFICANCE = 0.01
"""A difference is no noise if it had come about by chance less often, among all that are
compared."""


@dataclass(frozen=True)
class Difference:
    """How one time differs between run A and run B."""

    a_ns: float
    b_ns: float
    p_value: float
    """The probability that times of one distribution differ that much: Mann and Whitney's test. In
    a comparison: that this happens anywhere among all that are compared, at most."""
    least_p_value: float = 0.0
    """What it would be for times without any overlap."""

    @property
    def has_enough_calls(self) -> bool:
        """Whether times without any overlap would be no noise."""
        return self.least_p_value < SIGNIFICANCE

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
    """What most calls of each run went by; "native" where nothing was planned."""
    calls: tuple[int, int]
    whole: Difference
    """The time from the last entry to the last exit."""
    stages: dict[str, Difference]
    """Means over the ranks' paths in the calls by the tree of most calls; empty unless both runs
    had one, the same in all calls by its algorithm."""
    parts: tuple[Part, ...]
    """Parts that differ by more than noise, the largest difference first."""


@dataclass(frozen=True)
class Comparison:
    matches: tuple[Match, ...]
    only_in: tuple[int, int]
    """Calls of A and of B that the other doesn't have."""


def compare(a: Run, b: Run) -> Comparison:
    """Compares the calls of two runs of one program, the costliest first."""
    runs = [(run, _members(run)) for run in (a, b)]
    tables = [_by_key(_durations(run), members) for run, members in runs]
    trees = [_by_key(_node_times(run), members) for run, members in runs]
    none = pl.DataFrame()
    found = _among_all([
        _match(*(table[key] for table in tables), *(tree.get(key, none) for tree in trees))
        for key in sorted(tables[0].keys() & tables[1].keys(), key=str)
    ])  # fmt: skip
    found.sort(key=lambda match: -match.whole.a_ns * match.calls[0])
    only_a, only_b = (
        sum(len(calls) for key, calls in own.items() if key not in other)
        for own, other in (tables, reversed(tables))
    )
    return Comparison(tuple(found), (only_a, only_b))


def _among_all(matches: Sequence[Match]) -> list[Match]:
    """Returns the matches with p-values that hold among all that are compared, and of their parts
    those that differ by more than noise, the largest difference first."""
    wholes = _corrected([match.whole for match in matches])
    of_stages = iter(_corrected([each for match in matches for each in match.stages.values()]))
    of_parts = iter(_corrected([part.difference for match in matches for part in match.parts]))

    def changed(parts: Sequence[Part]) -> tuple[Part, ...]:
        known = [replace(part, difference=next(of_parts)) for part in parts]
        beyond = [part for part in known if part.difference.p_value < SIGNIFICANCE]
        beyond.sort(key=lambda part: -abs(part.difference.b_ns - part.difference.a_ns))
        return tuple(beyond)

    return [
        replace(
            match,
            whole=whole,
            stages={stage: next(of_stages) for stage in match.stages},
            parts=changed(match.parts),
        )
        for match, whole in zip(matches, wholes, strict=True)
    ]


def _corrected(found: Sequence[Difference]) -> list[Difference]:
    """Returns differences with their p-values times the number of those that have enough calls, at
    most 1: some of many differences look unlikely by chance.

    The larger the number, the fewer have enough calls: it is the least one that they don't exceed.
    Source: Tarone, A Modified Bonferroni Method for Discrete Data, 1990.
    """
    least = sorted(each.least_p_value for each in found)
    count = next(
        count
        for count in range(1, len(least) + 2)
        if bisect_left(least, SIGNIFICANCE / count) <= count
    )
    return [
        replace(
            each,
            p_value=min(count * each.p_value, 1.0),
            least_p_value=min(count * each.least_p_value, 1.0),
        )
        for each in found
    ]


def p_value(a: Floats, b: Floats) -> float:
    """Returns how often samples of one distribution differ as much in their ranks.

    Mann and Whitney's test, both sides, by all orders that the samples may have; equal ones share
    their ranks. Cost: that of n·(n + m)³ numbers for samples of new sizes, or with equal ones.
    """
    n, total = len(a), len(a) + len(b)
    if n in (0, total):
        return 1.0
    _, where, counts = np.unique(np.concatenate([a, b]), return_inverse=True, return_counts=True)
    doubled = (2 * np.cumsum(counts) - counts + 1)[where]  # shared ranks are multiples of a half
    mean = n * (total + 1)
    likely = _likely_sums(n, tuple(sorted(doubled.tolist())))
    as_far = np.abs(np.arange(len(likely)) - mean) >= abs(int(doubled[:n].sum()) - mean)
    return min(float(likely[as_far].sum()), 1.0)


@lru_cache(maxsize=256)
def _likely_sums(taken: int, ranks: tuple[int, ...]) -> Floats:
    """Returns by sum how likely it is that of so many of the ranks, taken at random."""
    ways = np.zeros((taken + 1, sum(ranks) + 1))
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, :-rank]
    return np.asarray(ways[taken] / ways[taken].sum())


def blocks(times: Floats) -> Floats:
    """Returns the medians of stretches of times that follow each other."""
    parts = np.array_split(times, min(BLOCKS, len(times))) if len(times) else []
    return np.array([np.median(part) for part in parts])


def difference(a: Floats, b: Floats) -> Difference:
    """Compares times in their order."""
    middle = [float(np.median(times)) if len(times) else 0.0 for times in (a, b)]
    own, other = blocks(a), blocks(b)
    # In two of all orders of the samples, those of one run come before all of the other's.
    least = min(2 / math.comb(len(own) + len(other), len(own)), 1.0)
    return Difference(middle[0], middle[1], p_value(own, other), least)


def _durations(run: Run) -> pl.DataFrame:
    return outliers.durations(run).sort("call")


def _members(run: Run) -> dict[int, str]:
    """Returns by number of a group its members, in their order, as text."""
    members = run.calls.unique(["group", "rank"]).sort("group", "member")
    text = pl.col("rank").cast(pl.String).str.join(",")
    return dict(members.group_by("group").agg(text).iter_rows())


def _by_key(
    table: pl.DataFrame, members: Mapping[int, str]
) -> dict[tuple[object, ...], pl.DataFrame]:
    """Returns the parts of a table by MATCH, with members instead of the numbers of their groups,
    which another run doesn't have."""
    parts = table.partition_by(MATCH, as_dict=True)
    return {(*key[:-1], members[key[-1]]): part for key, part in parts.items()}


def _node_times(run: Run) -> pl.DataFrame:
    """Returns the stages of each node in each call: MATCH, call, node, parent, below (its subtree
    as text), stage, time. Times at nodes are means over contributors and segments. Of several trees
    that raced, only that of most calls."""
    tree = stages.edges(run)
    of_nodes = stages.nodes(run, tree)
    alike = stages.of_one_tree(of_nodes.join(stages.shape_of_calls(run), on="call"))
    both = alike.filter(pl.col("down").is_not_null() & pl.col("up").is_not_null())
    shaped = both.group_by("shape", "call", "node").agg(
        pl.col("parent").first().fill_null(-1),
        pl.col("contributor").filter(pl.col("contributor") != pl.col("node")).unique().sort()
        .alias("children"),
        pl.col(stages.STAGES).mean(),
    )  # fmt: skip
    first = shaped.filter(pl.col("call") == pl.col("call").min().over("shape"))
    shapes = first.select("shape", "node", "parent", "children")
    signature = pl.DataFrame(
        [(shape, node, text) for shape, text_of in _subtrees(shapes).items()
         for node, text in text_of.items()],
        schema={"shape": pl.Int64, "node": pl.Int64, "below": pl.String}, orient="row",
    )  # fmt: skip
    keys = run.shapes().select("call", *MATCH)
    often = shaped.group_by("shape").agg(pl.col("call").n_unique().alias("calls"))
    most = (
        often.join(keys, left_on="shape", right_on="call")
        .sort("calls", "shape", descending=[True, False])
        .unique(MATCH, keep="first")
    )
    shaped = shaped.join(most, on="shape", how="semi").drop("children")
    return (
        shaped.join(signature, on=["shape", "node"]).join(keys, on="call")
        .unpivot(stages.STAGES, index=[*MATCH, "call", "node", "parent", "below"],
                 variable_name="stage", value_name="time")
        .drop_nulls("time").sort("call", "node")
    )  # fmt: skip


def _subtrees(shapes: pl.DataFrame) -> dict[int, dict[int, str]]:
    """Returns for each shape each node's subtree as text such as "0(1,2(3))"."""
    found = {}
    for (shape,), nodes in shapes.group_by("shape"):
        children = dict(nodes.select("node", "children").iter_rows())
        texts: dict[int, str] = {}
        for root in nodes.filter(pl.col("parent") == -1)["node"]:
            for node in reversed(stages.from_root(children, root)):
                inner = ",".join(texts[child] for child in children[node])
                texts[node] = f"{node}({inner})" if inner else str(node)
        found[int(shape)] = texts
    return found


def _match(a: pl.DataFrame, b: pl.DataFrame, below_a: pl.DataFrame, below_b: pl.DataFrame) -> Match:
    first = a.row(0, named=True)
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
        first["kind"], first["size"], first["ranks"], (_usual(a), _usual(b)),
        (len(a), len(b)), whole, by_stage, tuple(parts),
    )  # fmt: skip


def _usual(calls: pl.DataFrame) -> str:
    """What most of the calls went by: an algorithm, or "native"."""
    name = pl.when("planned").then("algorithm").otherwise(pl.lit("native"))
    counted = calls.select(name.alias("name")).group_by("name", maintain_order=True).len()
    return str(counted.sort("len", descending=True, maintain_order=True)["name"][0])


def _means_by_stage(table: pl.DataFrame) -> dict[str, Floats]:
    mean = table.group_by("stage", "call").agg(pl.col("time").mean()).sort("call")
    return {
        str(stage[0]): own["time"].to_numpy()
        for stage, own in mean.group_by("stage", maintain_order=True)
    }


def _parts(a: pl.DataFrame, b: pl.DataFrame) -> list[Part]:
    """Returns all parts that both have."""
    groups = [dict(table.group_by("node", "stage", maintain_order=True)) for table in (a, b)]
    found = []
    for key in [key for key in groups[0] if key in groups[1]]:
        own = [group[key] for group in groups]
        changed = difference(own[0]["time"].to_numpy(), own[1]["time"].to_numpy())
        stage = str(key[1])
        column = "parent" if stage == "two_way" else "below"
        same = own[0][column][0] == own[1][column][0]
        found.append(Part(int(key[0]), stage, changed, not same))
    return found
