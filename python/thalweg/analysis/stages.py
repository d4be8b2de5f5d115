"""Where time goes in a tree, after Bongo, Anshus and Bjørndalen, section 3 (docs/papers.md).

"Down" is towards the root. A node is a rank; its contributors are its children and its own program,
called by the node's own number. Contributor i arrives at a node when its data is there (t1), or its
program enters; the node sends to its parent (t2), has the result (t3), and contributor i departs
when the send to it is posted (t4), or its program leaves. All stages but the round-trip latencies
are differences of one host's clock, and those are differences of such differences, so that clocks
needn't be aligned. Along the path from a rank to the root all stages together are the rank's time
in the call.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from thalweg.analysis.tables import SHAPE, Run
from thalweg.collective_names import ALL_TO_ONE, ONE_TO_ALL, ROOTED

AT_NODE = ["arrival_wait", "down", "up", "departure_wait"]
"""Stages at a node: the wait for its last contributor, from then to its send to its parent, from
having the result to its first send, and from then to the contributor's."""
STAGES = [*AT_NODE[:2], "two_way", *AT_NODE[2:]]
"""All stages: also the latency of the edge to the parent, there and back."""

_SEGMENT = ["call", "segment"]


def edges(run: Run) -> pl.DataFrame:
    """Returns the trees in which planned calls' data travelled, a row for each edge and segment.

    call, segment, child, parent; t2, t3 at the child and t1, t4 at the parent: null where data goes
    in one direction only. Calls whose messages form no tree have no rows.
    """
    messages = run.messages.join(
        run.calls.group_by("call").agg(pl.col("kind", "ranks").first()), on="call"
    )
    one_way = pl.concat([_down_edges(messages), _up_edges(messages)])
    rest = messages.filter(~pl.col("kind").is_in(ROOTED))
    return pl.concat([one_way, _two_way_edges(rest)]).sort(*_SEGMENT, "child")


_EDGE = [*_SEGMENT, "child", "parent", "t1", "t2", "t3", "t4", "combined"]


def _down_edges(messages: pl.DataFrame) -> pl.DataFrame:
    found = messages.filter(pl.col("kind").is_in(ONE_TO_ALL)).with_columns(
        child="receiver", parent="sender", t3="receive_done", t4="send_posted",
        t1=pl.lit(None, pl.Int64), t2=pl.lit(None, pl.Int64), combined=pl.lit(None, pl.Int64),
    )  # fmt: skip
    return _trees(found).select(_EDGE)


def _up_edges(messages: pl.DataFrame) -> pl.DataFrame:
    found = messages.filter(pl.col("kind").is_in(ALL_TO_ONE)).with_columns(
        child="sender", parent="receiver", t2="send_posted", t1="receive_done",
        t3=pl.lit(None, pl.Int64), t4=pl.lit(None, pl.Int64), combined="applied",
    )  # fmt: skip
    return _trees(found).select(_EDGE)


def _two_way_edges(messages: pl.DataFrame) -> pl.DataFrame:
    """Pairs of messages up and, in a later step, down the same edge, of calls without others."""
    up = messages.with_columns(
        child="sender", parent="receiver", t2="send_posted", t1="receive_done", combined="applied"
    ).with_columns(pl.len().over(_SEGMENT).alias("count"))
    down = messages.select(
        *_SEGMENT, child="receiver", parent="sender", t3="receive_done", t4="send_posted",
        later="step",
    )  # fmt: skip
    both = up.join(down, on=[*_SEGMENT, "child", "parent"]).filter(pl.col("step") < pl.col("later"))
    paired = both.filter(pl.col("count") == 2 * (pl.col("ranks") - 1))
    return _trees(paired).select(_EDGE)


def _trees(found: pl.DataFrame) -> pl.DataFrame:
    """Keeps the segments in which each rank but one has one parent, and all reach that one."""
    whole = (pl.len().over(_SEGMENT) == pl.col("ranks") - 1) & (
        pl.col("child").n_unique().over(_SEGMENT) == pl.col("ranks") - 1
    )
    found = found.filter(whole)
    # In a tree a node's step up is after its children's; down, it is before.
    above = found.select(*_SEGMENT, node="child", up="parent")
    parents = found.select(*_SEGMENT, node="parent", up="parent").unique()
    roots = parents.join(above, on=[*_SEGMENT, "node"], how="anti")
    above = pl.concat([above, roots])
    # Each round leads twice as far up, and stays at the root: chains are as deep as ranks are many.
    for _ in range(int(found["ranks"].max() or 0).bit_length()):  # type: ignore[arg-type]
        farther = above.select(*_SEGMENT, up="node", farther="up")
        both = above.join(farther, on=[*_SEGMENT, "up"])
        above = both.select(*_SEGMENT, "node", up="farther")
        if (both["up"] == both["farther"]).all():
            break
    reached = above.join(roots.select(*_SEGMENT, up="node"), on=[*_SEGMENT, "up"], how="semi")
    child = reached.select(*_SEGMENT, child="node")
    return found.join(child, on=[*_SEGMENT, "child"], how="semi").filter(whole)


def nodes(run: Run, tree: pl.DataFrame) -> pl.DataFrame:
    """Returns the stages at each node of the trees: a row for each contributor and segment.

    call, segment, node, contributor (the node itself: its own program), parent (null: the root),
    t1, t4, t2, t3; arrival_order and departure_order from 1; nanoseconds of AT_NODE and of two_way,
    the node's edge to its parent. Null where data doesn't go in that direction.
    """
    segments = tree.select(_SEGMENT).unique()
    kinds = pl.col("kind")
    programs = run.calls.join(segments, on="call").select(
        *_SEGMENT,
        pl.col("rank").cast(pl.Int64).alias("node"),
        pl.col("rank").cast(pl.Int64).alias("contributor"),
        pl.when(kinds.is_in(ONE_TO_ALL)).then(None).otherwise("enter").alias("t1"),
        pl.when(kinds.is_in(ALL_TO_ONE)).then(None).otherwise("exit").alias("t4"),
        pl.lit(None, pl.Int64).alias("combined"),
    )
    children = tree.select(
        *_SEGMENT, node="parent", contributor="child", t1="t1", t4="t4", combined="combined"
    )
    own = tree.select(*_SEGMENT, "parent", "t2", "t3", node="child")
    whole = pl.concat([programs, children]).join(own, on=[*_SEGMENT, "node"], how="left")
    node = [*_SEGMENT, "node"]
    # The root has the result when it has combined everything.
    complete = pl.max_horizontal("combined", "t1").max().over(node)
    whole = whole.with_columns(complete.alias("complete")).with_columns(
        pl.when(pl.col("parent").is_null()).then("complete").otherwise("t2").alias("t2"),
        pl.when(pl.col("parent").is_null() & pl.col("t4").is_not_null())
        .then("complete").otherwise("t3").alias("t3"),
    )  # fmt: skip
    at_parent = tree.select(*_SEGMENT, node="child", there=pl.col("t4") - pl.col("t1"))
    return (
        _with_stages(whole)
        .join(at_parent, on=node, how="left")
        .with_columns((pl.col("t3") - pl.col("t2") - pl.col("there")).alias("two_way"))
        .drop("there", "complete", "combined")
        .sort(*node, "contributor")
    )


def _with_stages(whole: pl.DataFrame) -> pl.DataFrame:
    """Adds orders and AT_NODE, from the times of all contributors to each node."""
    node = [*_SEGMENT, "node"]
    last, first = pl.col("t1").max().over(node), pl.col("t4").min().over(node)
    return whole.with_columns(
        pl.col("t1").rank("ordinal").over(node).alias("arrival_order"),
        pl.col("t4").rank("ordinal").over(node).alias("departure_order"),
        (last - pl.col("t1")).alias("arrival_wait"),
        (pl.col("t2") - last).alias("down"),
        (first - pl.col("t3")).alias("up"),
        (pl.col("t4") - first).alias("departure_wait"),
    )


def subtrees(run: Run, of_nodes: pl.DataFrame) -> pl.DataFrame:
    """Returns the stages of each host's subtree as if it were one node, in the form of nodes().

    node: the host's rank whose parent is on another host, or the root. Its contributors are the
    programs of the host's ranks and the children that they have on other hosts. Hosts with several
    such ranks have no subtree, and no rows.
    """
    hosts = pl.DataFrame({"rank": range(run.ranks), "host": run.hosts})

    def on_host(column: str) -> pl.DataFrame:
        return hosts.select(pl.col("rank").cast(pl.Int64).alias(column),
                            pl.col("host").alias(f"{column}_host"))  # fmt: skip

    whole = of_nodes
    for column in ("node", "contributor", "parent"):
        whole = whole.join(on_host(column), on=column, how="left")
    host = [*_SEGMENT, "node_host"]
    is_top = pl.col("parent").is_null() | (pl.col("parent_host") != pl.col("node_host"))
    tops = whole.filter(is_top).select(*host, "node", "parent", "t2", "t3", "two_way").unique()
    tops = tops.filter(pl.len().over(host) == 1)
    is_outside = pl.col("contributor_host") != pl.col("node_host")
    contributors = whole.filter((pl.col("contributor") == pl.col("node")) | is_outside)
    return (
        _with_stages(contributors.select(*host, "contributor", "t1", "t4").join(tops, on=host))
        .drop("node_host")
        .sort(*_SEGMENT, "node", "contributor")
    )


def along_paths(stages: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns the stages that each rank's data passes from its program to the root.

    `stages`: of nodes(), or means of them, one row for each of `keys`, node and contributor, of
    trees in which data returns. Returns keys, rank, level (0 at its own node), node, and STAGES, of
    which two_way is 0 at the root. Their sum over all levels is the rank's time in the call.
    """
    at = stages.filter(pl.col("node") == pl.col("contributor")).with_columns(
        rank="node", level=pl.lit(0)
    )
    levels = []
    while not at.is_empty():
        levels.append(at.select(*keys, "rank", "level", "node", "parent", *STAGES))
        above = at.filter(pl.col("parent").is_not_null()).select(
            *keys, "rank", pl.col("level") + 1, node="parent", contributor="node"
        )
        at = above.join(stages, on=[*keys, "node", "contributor"])
    if not levels:
        return stages.select(*keys, rank="node", level=pl.lit(0), node="node", parent="parent",
                             **{name: pl.col(name) for name in STAGES})  # fmt: skip
    return (
        pl.concat(levels).with_columns(pl.col("two_way").fill_null(0)).sort(*keys, "rank", "level")
    )


def means(run: Run, of_nodes: pl.DataFrame) -> pl.DataFrame:
    """Returns nodes() of calls of one shape as one: a row for each shape, node and contributor.

    `shape` is the first call of the shape; `calls` counts. Means of STAGES, their deviations as
    STAGE_deviation, and `last` and `first`: how often the contributor arrived last, and departed
    first. The parent is null at the root; shapes whose trees differ between calls are left out.
    """
    shaped = of_one_tree(of_nodes.join(shape_of_calls(run), on="call"))
    key = ["shape", "node", "contributor"]
    found = shaped.group_by(key, maintain_order=True).agg(
        pl.col("parent").first(),
        pl.col("call").n_unique().alias("calls"),
        *(pl.col(name).mean() for name in STAGES),
        *(pl.col(name).std().fill_null(0).alias(f"{name}_deviation") for name in STAGES),
        (pl.col("arrival_wait") == 0).sum().alias("last"),
        (pl.col("departure_wait") == 0).sum().alias("first"),
        pl.col("arrival_order", "departure_order").mean(),
    )
    return found.sort(key)


def of_one_tree(shaped: pl.DataFrame) -> pl.DataFrame:
    """Keeps of nodes() with their shapes, or of edges() with a `node`, those in whose calls each
    node has the same parent.

    Plans that follow the network may put another tree of the same algorithm in a plan's place.
    """
    parent = pl.col("parent").fill_null(-1)
    node = ["shape", "node"]
    call = pl.col("call").n_unique()
    is_same = (parent.min().over(node) == parent.max().over(node)) & (
        call.over(node) == call.over("shape")
    )
    return shaped.filter(is_same.all().over("shape"))


def from_root(contributors: Mapping[int, Sequence[int]], root: int) -> list[int]:
    """Returns the nodes of a tree, each before those below it.

    `contributors`: of each node, which may be one of them itself.
    """
    order = [root] if root in contributors else []
    seen = {root}
    for node in order:
        below = (contributors.keys() & contributors[node]) - seen
        seen |= below
        order += sorted(below)
    return order


def shape_of_calls(run: Run) -> pl.DataFrame:
    """Returns call, and `shape`: the first call that it is compared with."""
    shapes = run.shapes()
    return shapes.select("call", pl.col("call").min().over(SHAPE).alias("shape"))


def serialisation(of_nodes: pl.DataFrame, run: Run) -> pl.DataFrame:
    """Returns departures() of the nodes' children, whose slope is the time that a node's sends take
    one after the other."""
    return departures(of_nodes.filter(pl.col("node") != pl.col("contributor")), run)


def departures(contributors: pl.DataFrame, run: Run) -> pl.DataFrame:
    """Returns how late contributors depart by their order: of subtrees(), the paper's Figure 3b.

    `contributors`: rows of nodes() or subtrees(). Returns shape, node, order from 1, delay: mean
    nanoseconds of up and departure_wait; `slope`: nanoseconds by which each departure at that node
    is later than the one before.
    """
    those = contributors.filter(pl.col("t3").is_not_null() & pl.col("t4").is_not_null()).join(
        shape_of_calls(run), on="call"
    )
    node = ["shape", "node"]
    delays = (
        those.with_columns(
            pl.col("t4").rank("ordinal").over("call", "segment", "node").alias("order"),
            (pl.col("t4") - pl.col("t3")).alias("delay"),
        )
        .group_by(*node, "order")
        .agg(pl.col("delay").mean(), pl.len().alias("departures"))
        .sort(*node, "order")
    )
    x, y = pl.col("order"), pl.col("delay")
    slope = pl.cov(x, y).over(node) / x.var().over(node)
    return delays.with_columns(slope.alias("slope"))
