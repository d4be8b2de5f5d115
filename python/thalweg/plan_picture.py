"""Draws a plan's schedule over the hierarchy of hosts."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from thalweg import drawing, hierarchy, schedule, units
from thalweg.collective import is_rooted
from thalweg.drawing import Edge
from thalweg.errors import UserError
from thalweg.explained_plan import ExplainedPlan
from thalweg.hierarchy import Hierarchy

SMALL = 1_000
"""Bytes of the messages of the hierarchy: so small that latency separates sites."""
MOST_RANKS = 512
"""Most ranks of a drawing: more can't be distinguished."""
MOST_LABELS = 32
"""Most arcs labelled with their times: more labels would hide each other."""
DENSE = 6
"""Mean number of hosts that a host sends to above which a matrix is clearer than arcs."""

Pair = tuple[int, int]


@dataclass
class Traffic:
    """The messages from one place to another."""

    size: int = 0
    """Bytes."""
    messages: int = 0
    time: float = 0.0
    """Seconds of the longest message on an idle network."""

    def add(self, size: int, messages: int, time: float) -> None:
        self.size += size
        self.messages += messages
        self.time = max(self.time, time)

    def describe(self) -> str:
        count = f"{self.messages} message" + "s" * (self.messages != 1)
        return f"{units.size_to_text(self.size)} in {count} of {units.time_to_text(self.time)}"


@dataclass
class Flows:
    """A schedule's traffic."""

    ranks: dict[Pair, Traffic] = field(default_factory=dict)
    """Flows between ranks."""
    hosts: dict[Pair, Traffic] = field(default_factory=dict)
    """Flows between hosts."""


def svg(plan: ExplainedPlan, tree: Hierarchy | None = None) -> str:
    """Returns the drawing as SVG. `tree` is the network's hierarchy, if the caller has it.

    A schedule whose messages go along one tree is drawn as that tree, with a message's time on
    each link; several trees are drawn separately; others as arcs between hosts, wider for more
    bytes, or as a matrix if nearly every rank sends to every other. Native plans are only
    described. Raises UserError if there are too many ranks.
    """
    check_ranks(len(plan.placement))
    tree = tree or hierarchy.build(plan.problem.network, SMALL)
    names = [host.name for host in plan.problem.network.hosts]
    if plan.is_native:
        return drawing.headed(heading(plan), drawing.hierarchy(tree, names))
    flows = traffic(plan)
    if trees := find_trees(plan, flows.ranks):
        edges = []
        for number, pairs in enumerate(trees):
            own = traffic(plan, number) if _has_parts(plan, len(trees)) else flows
            edges.append([_edge(plan, own.ranks, pair) for pair in pairs])
        body = drawing.trees(tree, names, plan.placement, edges)
        legend = (
            "Beside each rank: the time of one message on its link, while nothing else is sent."
        )
    elif len(flows.hosts) > DENSE * len(set(plan.placement)):
        body = _matrix(tree, names, flows.hosts)
        legend = "Data from each host (row) to each (column): brighter for more bytes."
    else:
        body = _arcs(tree, names, flows.hosts)
        legend = (
            "Arcs to the right run above, wider for more bytes; a time is that of one message "
            "while nothing else is sent."
        )
    return drawing.headed([*heading(plan), legend], body)


def check_ranks(ranks: int) -> None:
    """Raises UserError if there are too many ranks for a drawing."""
    if ranks > MOST_RANKS:
        raise UserError(
            f"a drawing of {ranks} ranks couldn't be read: plan for at most {MOST_RANKS}"
        )


def heading(plan: ExplainedPlan) -> list[str]:
    """Returns the text above the drawing."""
    collective = plan.collective
    lines = [plan.title, plan.reason]
    if plan.is_native:
        return lines
    skeleton = plan.skeleton
    segments = plan.schedule.segments
    if segments > 1:
        lines.append(
            f"A pipeline of {segments} segments of {units.size_to_text(skeleton.segment_size)}, "
            f"{skeleton.period} step{'s' * (skeleton.period != 1)} apart."
        )
    if is_rooted(collective.kind):
        lines.append(f"The root is rank {collective.root} on {plan.host(collective.root)}.")
    return lines


def traffic(plan: ExplainedPlan, part: int | None = None) -> Flows:
    """Returns the traffic between ranks and between hosts, or that of one part of each block."""
    net, placement = plan.problem.network, plan.placement
    found = Flows()
    segments = plan.schedule.segments
    for a, b, size in schedule.messages(plan.collective, plan.schedule, part):
        ends = placement[a], placement[b]
        time = net.latency_between(*ends) + size / segments / net.bandwidth_between(*ends)
        found.ranks.setdefault((a, b), Traffic()).add(size, segments, time)
        if ends[0] != ends[1]:
            found.hosts.setdefault(ends, Traffic()).add(size, segments, time)
    return found


def _has_parts(plan: ExplainedPlan, trees: int) -> bool:
    """Whether each tree has a part of each block."""
    return plan.schedule.chunks == trees * plan.collective.blocks and trees > 1


def find_trees(plan: ExplainedPlan, pairs: Collection[Pair]) -> list[list[Pair]]:
    """Returns the trees that the messages go along, each as (child, parent) pairs, or none."""
    parents = plan.skeleton.parents
    if len(parents) > 1:
        trees = [[(child, up) for child, up in enumerate(tree) if up >= 0] for tree in parents]
        used = {frozenset(pair) for pair in pairs}
        return trees if used == {frozenset(pair) for tree in trees for pair in tree} else []
    order = plan.skeleton.order
    root = plan.collective.root if is_rooted(plan.collective.kind) or not order else order[0]
    found = span(pairs, plan.collective.ranks, root)
    return [found] if found else []


def span(pairs: Iterable[Pair], ranks: int, root: int) -> list[Pair]:
    """Returns the (child, parent) pairs of the tree that these pairs form, if they do."""
    links = {frozenset(pair) for pair in pairs}
    if len(links) != ranks - 1:
        return []
    near: dict[int, list[int]] = {rank: [] for rank in range(ranks)}
    for a, b in links:
        near[a].append(b)
        near[b].append(a)
    parents, ready = {root: root}, [root]
    for rank in ready:
        for other in sorted(near[rank]):
            if other not in parents:
                parents[other] = rank
                ready.append(other)
    return [(child, parents[child]) for child in ready[1:]] if len(ready) == ranks else []


def _edge(plan: ExplainedPlan, flows: Mapping[Pair, Traffic], pair: Pair) -> Edge:
    child, parent = pair
    down, up = flows.get((parent, child)), flows.get((child, parent))
    directions = [
        f"{_rank(plan, a)} to {_rank(plan, b)}: {flow.describe()}"
        for a, b, flow in ((parent, child, down), (child, parent, up))
        if flow
    ]
    return Edge(
        child,
        parent,
        sum(flow.size for flow in (down, up) if flow),
        "\n".join(dict.fromkeys(units.time_to_text(flow.time) for flow in (down, up) if flow)),
        "; ".join(directions),
        down is not None,
        up is not None,
    )


def _rank(plan: ExplainedPlan, rank: int) -> str:
    return f"rank {rank} on {plan.host(rank)}"


def _arcs(tree: Hierarchy, names: Sequence[str], flows: Mapping[Pair, Traffic]) -> str:
    labels = {pair: units.time_to_text(flow.time) for pair, flow in flows.items()}
    return drawing.arcs(
        tree,
        names,
        {pair: flow.size for pair, flow in flows.items()},
        _titles(names, flows),
        labels if len(labels) <= MOST_LABELS else {},
    )


def _matrix(tree: Hierarchy, names: Sequence[str], flows: Mapping[Pair, Traffic]) -> str:
    """Draws the traffic from row to column, brighter for more bytes."""
    used = {host for pair in flows for host in pair}
    order = [host for host in drawing.host_order(tree) if host in used]
    most = max(flow.size for flow in flows.values()) or 1
    titles = _titles(names, flows)
    scores = np.zeros((len(order), len(order)))
    texts = [["nothing" for _ in order] for _ in order]
    for row, a in enumerate(order):
        for column, b in enumerate(order):
            if (a, b) in flows:
                scores[row, column] = flows[a, b].size / most
                texts[row][column] = titles[a, b].split(": ", 1)[1]
    ends = ("nothing", units.size_to_text(most))
    return drawing.heatmap([names[host] for host in order], scores, texts, ends)


def _titles(names: Sequence[str], flows: Mapping[Pair, Traffic]) -> dict[Pair, str]:
    return {
        (a, b): f"{names[a]} to {names[b]}: {flow.describe()}" for (a, b), flow in flows.items()
    }
