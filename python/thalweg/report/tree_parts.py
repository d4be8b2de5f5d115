"""The trees and flows that a run's planned calls went along, and their timemaps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from thalweg import drawing, hierarchy, plan_picture, timemap_picture, units
from thalweg import network as networks
from thalweg.analysis import stages, timemaps
from thalweg.analysis.findings import Findings
from thalweg.analysis.tables import Run
from thalweg.analysis.timemaps import Curve
from thalweg.drawing import Edge
from thalweg.hierarchy import Hierarchy
from thalweg.report import bins, elements
from thalweg.report.elements import Block, Layer
from thalweg.report.event_parts import NS, name_of
from thalweg.report.network_parts import MOST_DRAWN
from thalweg.timemap_picture import Configuration

MOST_SHAPES = 3
"""Most shapes of calls whose plans are shown: the costliest."""
MOST_CURVES = 48
"""Most ranks of a timemap."""


@dataclass(frozen=True)
class Hosts:
    """The hosts of a run, with or without a network."""

    tree: Hierarchy | None
    """None: there are too many of them."""
    names: Sequence[str]
    placement: Sequence[int]

    @property
    def order(self) -> Sequence[int]:
        return range(len(self.names)) if self.tree is None else drawing.host_order(self.tree)


def hosts(run: Run) -> Hosts:
    """Returns the hosts by closeness; without a network all are equally close."""
    if run.network is not None and len(run.network.hosts) <= hierarchy.MOST_HOSTS:
        names = [host.name for host in run.network.hosts]
        return Hosts(hierarchy.build(run.network, plan_picture.SMALL), names, run.placement)
    names = list(dict.fromkeys(run.hosts))
    number = {name: at for at, name in enumerate(names)}
    tree = None
    if len(names) <= hierarchy.MOST_HOSTS:
        tree = hierarchy.build(networks.even_network(len(names), 1e-4, 1e9))
    return Hosts(tree, names, [number[host] for host in run.hosts])


def plans(found: Findings) -> list[Block]:
    """The costliest planned calls: their trees with timemaps, or their flows between hosts."""
    run = found.run
    costly = found.shapes.filter(pl.col("planned")).head(MOST_SHAPES)
    if costly.is_empty():
        return []
    places = hosts(run)
    blocks: list[Block] = []
    for row in costly.iter_rows(named=True):
        own = _of_shape(run, row["shape"])
        means = found.stages.filter(pl.col("shape") == row["shape"])
        blocks += _tree(own, means, row, places) or _flows(own, row, places)
    return blocks


def _of_shape(run: Run, shape: int) -> Run:
    """The run's calls of one shape."""
    shaped = stages.shape_of_calls(run).filter(pl.col("shape") == shape)
    calls, messages = (
        part.join(shaped, on="call", how="semi") for part in (run.calls, run.messages)
    )
    return replace(run, calls=calls, messages=messages)


def _tree(run: Run, means: pl.DataFrame, row: dict[str, object], places: Hosts) -> list[Block]:
    """The tree of calls, or nothing if they have none, or not always the same.

    `means`: stages.means() of the shape.
    """
    own = means.filter((pl.col("node") == pl.col("contributor")) & pl.col("parent").is_not_null())
    if own.is_empty():
        return []
    parents = own.select("parent", child="node")
    link, name = f"tree-{row['shape']}", f"{name_of(row)}: {row['algorithm']}"
    blocks = []
    if places.tree is not None and run.ranks <= MOST_DRAWN:
        note = (
            "Each rank is above its host, at its depth in the tree. Lines go from blue to "
            "vermilion with the level of the hierarchy that they cross; beside a rank stands the "
            "mean "
            "round-trip latency of its edge, where data goes both ways."
        )
        svg = drawing.trees(
            places.tree, places.names, places.placement, [_edges(run, parents, means)]
        )
        blocks.append(
            elements.drawing(
                f"Tree of {name}",
                svg,
                f"The tree has {len(parents)} edges; the table below lists them.",
                link=link,
                note=note,
            )
        )
    return [*blocks, _edge_table(run, parents, means, link, name), *_timemap(means, link, name)]


def _edges(run: Run, parents: pl.DataFrame, means: pl.DataFrame) -> list[Edge]:
    latency = _latencies(means)
    sent: dict[tuple[int, int], tuple[float, int]] = {
        (a, b): (size, count)
        for a, b, size, count in run.messages.group_by("sender", "receiver")
        .agg(pl.col("size").mean(), pl.len())
        .iter_rows()
    }
    found = []
    for child, parent in parents.select("child", "parent").sort("child").iter_rows():
        down, up = sent.get((parent, child)), sent.get((child, parent))
        words = [
            f"rank {a} to rank {b}: {units.size_to_text(round(each[0]))} in {each[1]} messages"
            for a, b, each in ((parent, child, down), (child, parent, up))
            if each
        ]
        time = latency.get(child)
        label = "" if time is None else units.ns_to_text(time)
        found.append(
            Edge(
                child,
                parent,
                sum(each[0] for each in (down, up) if each),
                label,
                "; ".join(words),
                down is not None,
                up is not None,
            )
        )
    return found


def _latencies(means: pl.DataFrame) -> dict[int, float]:
    """The mean round-trip latency of the edge above each rank, where it is known."""
    own = means.filter((pl.col("node") == pl.col("contributor")) & pl.col("two_way").is_not_null())
    return dict(own.select("node", "two_way").iter_rows())


def _edge_table(
    run: Run, parents: pl.DataFrame, means: pl.DataFrame, link: str, name: str
) -> Block:
    latency = _latencies(means)
    arrivals = {
        (a, b): (wait, last)
        for a, b, wait, last in means.select(
            "node", "contributor", "arrival_wait", "last"
        ).iter_rows()
    }
    rows = []
    for child, parent in parents.select("child", "parent").sort("child").iter_rows():
        wait, last = arrivals.get((parent, child), (None, None))
        last = None if wait is None else last
        rows.append(
            (
                child,
                run.hosts[child],
                parent,
                run.hosts[parent],
                NS * latency[child] if child in latency else None,
                NS * wait if wait is not None else None,
                last,
            )
        )
    note = "Waits at the parent: from when its data is there until that of the last contributor is."
    if all(row[5] is None for row in rows):
        note = ""  # nor is there the column
    return elements.table(
        f"Edges of {name}",
        [
            ("rank", "count"),
            ("on", "text"),
            ("parent", "count"),
            ("parent on", "text"),
            ("round-trip latency", "time"),
            ("waits at the parent", "time"),
            ("was last", "count"),
        ],
        rows,
        keys=[f"rank {row[0]}" for row in rows],
        link=link,
        note=note,
    )


def _timemap(means: pl.DataFrame, link: str, name: str) -> list[Block]:
    curves = timemaps.curves_of(means)
    if not curves:
        return []
    return [timemap(f"Timemap of {name}", [Configuration("mean of the calls", curves)], link)]


def timemap(title: str, configurations: Sequence[Configuration], link: str = "") -> Block:
    """Curves over each other, at most MOST_CURVES of each."""
    few = [
        Configuration(each.name, timemaps.representatives(list(each.curves), MOST_CURVES))
        for each in configurations
    ]
    words = []
    for each in configurations:
        slowest = max(each.curves, key=_length)
        words.append(
            f"{each.name}: the longest path is rank {slowest.rank}'s with {_span(slowest)}, "
            f"most of it in {_longest_stage(slowest)}."
        )
    ranks = max(len(each.curves) for each in configurations)
    cut = (
        f" {MOST_CURVES} of {ranks} ranks are drawn, from the slowest to the fastest."
        if (ranks > MOST_CURVES)
        else ""
    )
    return elements.drawing(
        title,
        timemap_picture.timemap("", few),
        " ".join(words),
        link=link,
        note="A line for each rank, from its program down to the root, where time is 0, and up "
        "again. " + " ".join(words) + cut,
    )


def _length(curve: Curve) -> float:
    return curve.times[-1] - curve.times[0]


def _span(curve: Curve) -> str:
    return units.ns_to_text(_length(curve))


def _longest_stage(curve: Curve) -> str:
    parts = [b - a for a, b in zip(curve.times, curve.times[1:], strict=False)]
    return curve.names[1 + parts.index(max(parts))]


def _flows(run: Run, row: dict[str, object], places: Hosts) -> list[Block]:
    """The data between hosts of calls that don't go along one tree."""
    calls = max(run.calls["call"].n_unique(), 1)
    sums: dict[tuple[int, int], list[float]] = {}
    by_pair = run.messages.group_by("sender", "receiver").agg(
        pl.col("size").sum(), pl.len().alias("count")
    )
    for a, b, size, count in by_pair.iter_rows():
        ends = places.placement[a], places.placement[b]
        if ends[0] != ends[1]:
            pair = sums.setdefault(ends, [0.0, 0.0])
            pair[0] += size / calls
            pair[1] += count / calls
    if not sums:
        return []
    name = f"{name_of(row)}: {row['algorithm']}"
    names = places.names
    used = {host for ends in sums for host in ends}
    rows = sorted(sums.items(), key=lambda item: -item[1][0])
    titles = {
        ends: f"{names[ends[0]]} to {names[ends[1]]}: {units.size_to_text(round(size))} in "
        f"{count:.3g} messages"
        for ends, (size, count) in sums.items()
    }
    link = f"flows-{row['shape']}"
    order = [host for host in places.order if host in used]
    position = {host: at for at, host in enumerate(order)}
    axis = bins.of_hosts([names[host] for host in order], range(len(order)))
    row_of = {host: int(axis.of[at]) for at, host in enumerate(order)}
    table = elements.table(
        f"Data between hosts in a call of {name}",
        [("from", "text"), ("to", "text"), ("messages", "count"), ("bytes", "size")],
        [(names[a], names[b], round(count, 2), size) for (a, b), (size, count) in rows],
        keys=[f"{row_of[a]},{row_of[b]}" for (a, b), _ in rows],
        link=link,
    )
    pairs = [(position[a], position[b], size) for (a, b), (size, _) in sums.items()]
    columns = [np.array(each) for each in zip(*pairs, strict=True)]
    matrix = elements.heatmap(
        f"Data between hosts in a call of {name}",
        axis.axis("from"),
        axis.axis("to"),
        [Layer("bytes", "size", bins.total(axis, *columns))],
        link=link,
    )
    is_dense = len(sums) > plan_picture.DENSE * len(used)
    if places.tree is None or len(used) > MOST_DRAWN or is_dense:
        return [matrix, table]
    svg = drawing.arcs(places.tree, names, {ends: size for ends, (size, _) in sums.items()}, titles)
    return [
        elements.drawing(
            f"Flows of {name}",
            svg,
            "Arcs between hosts; the table below lists them.",
            note="Wider for more bytes; arcs to the right are above, to the left below.",
        ),
        matrix,
        table,
    ]
