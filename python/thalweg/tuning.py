"""Advice from a run: moves that make a collective's tree faster, each with its predicted effect.

A tree that a run used is taken from its messages. Moves along its critical path are simulated on
the run's network, corrected by what the run's own messages took, and the best one is made, until
none gains. (Reconfiguration, as Bongo, Anshus and Bjørndalen did it by hand, docs/papers.md.)
"""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from thalweg import algorithms, operations, planner, simulator, trees, wisdom
from thalweg import network as networks
from thalweg.algorithms import Problem
from thalweg.analysis import links, stages
from thalweg.analysis.tables import SHAPE, Run
from thalweg.collective import Kind, parse_kind
from thalweg.errors import UserError
from thalweg.network import Network
from thalweg.operations import Operation
from thalweg.plans import Setting

KINDS = (Kind.bcast, Kind.reduce, Kind.allreduce, Kind.barrier)
"""Collectives whose calls of a size have one tree, in which each message has all data."""
LEAST_GAIN = 0.01
"""A move that gains less isn't worth its while."""
LEAST_SHARE = 0.01
"""Collectives that take a smaller share of the time in planned calls are left as they are."""
LEAST_SEGMENT = 512
"""Bytes."""
CLEAR = 3.0
"""Standard errors by which a link's times must differ from the network's."""
MATTERS = 1.2
"""Times by which they must differ; less hardly changes what is best."""
EQUAL = 1e-6
"""Relative difference of times that are taken to be equal."""
BUDGET = 10.0
"""Seconds of search for each collective."""


@dataclass(frozen=True)
class Tree:
    """Who serves whom, in this order; the root has no parent."""

    children: tuple[tuple[int, ...], ...]
    segment_size: int = 0

    @property
    def parents(self) -> list[int]:
        """By rank; -1 for the root."""
        found = [-1] * len(self.children)
        for rank, own in enumerate(self.children):
            for child in own:
                found[child] = rank
        return found

    def below(self, rank: int) -> set[int]:
        """The rank and all that it serves, directly or not."""
        found, left = set(), [rank]
        while left:
            found.add(left[-1])
            left += self.children[left.pop()]
        return found

    def hung(self, child: int, parent: int, *, first: bool) -> "Tree":
        """The tree in which `parent` serves `child`, before its other children or after them."""
        children = [tuple(each for each in own if each != child) for own in self.children]
        children[parent] = (child, *children[parent]) if first else (*children[parent], child)
        return replace(self, children=tuple(children))

    def exchanged(self, a: int, b: int) -> "Tree":
        """The tree in which two ranks have each other's places."""
        other = {a: b, b: a}
        children = [tuple(other.get(each, each) for each in own) for own in self.children]
        children[a], children[b] = children[b], children[a]
        return replace(self, children=tuple(children))

    def gathered(self, ranks: Sequence[int]) -> tuple["Tree", int]:
        """The tree in which one of the ranks, the nearest to the root, serves the others, each with
        all below it; and that one."""
        parents = self.parents

        def depth(rank: int) -> int:
            return 0 if parents[rank] < 0 else 1 + depth(parents[rank])

        leader = min(ranks, key=lambda rank: (depth(rank), rank))
        found = self
        for rank in ranks:
            if rank != leader and parents[rank] != leader:
                found = found.hung(rank, leader, first=False)
        return found, leader


@dataclass(frozen=True)
class Correction:
    """A link whose messages took `ratio` times what the network file says; "" is all others."""

    from_host: str
    to_host: str
    ratio: float


@dataclass(frozen=True)
class Move:
    """A change of a tree, and the seconds that a call is predicted to take before and after it."""

    what: str
    before: float
    after: float


@dataclass(frozen=True)
class Advice:
    """What to do about a collective."""

    kind: Kind
    size: int
    root: int
    calls: int
    observed: float
    """Median seconds of the run's calls, from the last rank's entry to the last exit."""
    used: Tree
    tuned: Tree
    before: float
    """Predicted seconds of a call with `used`."""
    moves: tuple[Move, ...]
    """From `used` to `tuned`."""
    native: float
    """Predicted seconds of the MPI library's own; infinite if unknown."""
    planned: float
    """What the planner's choice is predicted to take; infinite if that is native."""
    planned_name: str
    elsewhere: tuple[Correction, ...] = ()
    """Links that took other times than the network says, which the predictions allow for."""

    @property
    def after(self) -> float:
        """Predicted seconds of a call with `tuned`."""
        return self.moves[-1].after if self.moves else self.before

    @property
    def best(self) -> str:
        """What is predicted to be fastest: "native", "plan" or "tree"; "as is" if nothing gains."""
        times = {"tree": self.after, "plan": self.planned, "native": self.native}
        name = min(times, key=lambda each: times[each])
        # A tree is as good as what is hardly faster: it is what was measured.
        if self.after <= times[name] * (1 + LEAST_GAIN):
            name = "tree"
        return name if times[name] < self.before * (1 - LEAST_GAIN) else "as is"


def advise(run: Run, budget: float = BUDGET) -> list[Advice]:
    """Returns advice for the collectives of a run whose calls have trees, the costliest first.

    Raises UserError if the run's network isn't known, or there is no such collective.
    """
    if run.network is None:
        raise UserError("what a move would gain is simulated: give --network, and -H as in the run")
    corrected, corrections = corrected_network(run)
    found = []
    for shape in _shapes(run):
        tree = _used(run, shape["call"])
        if tree is not None:
            found.append(_advise(run, shape, tree, corrected, corrections, budget))
    if not found:
        raise UserError(
            "the run has no planned bcast, reduce, allreduce or barrier of all ranks whose "
            "messages form one tree: there is nothing to move"
        )
    return found


def corrected_network(run: Run) -> tuple[Network, list[Correction]]:
    """Returns the run's network with the links as slow, or fast, as its messages found them.

    Only differences are corrected that are well beyond their error and matter. What all links have
    in common, such as a slow library or a dilated lab, is taken to be so for those that were not
    used, too.
    """
    assert run.network is not None
    network = networks.from_json(networks.to_json(run.network), "network")
    number = {host.name: at for at, host in enumerate(network.hosts)}
    observed = links.ratios(run)
    if observed.is_empty():
        return network, []
    common = float(
        observed["log_ratio"].to_numpy().mean()
        if len(observed) < 3
        else np.median(observed["log_ratio"].to_numpy())
    )
    factor = np.full((len(number), len(number)), math.exp(common) if _matters(common, 0) else 1.0)
    found = [Correction("", "", float(factor[0, 0]))] if factor[0, 0] != 1 else []
    for link in observed.iter_rows(named=True):
        if not _matters(link["log_ratio"] - math.log(factor[0, 0]), link["error"]):
            continue
        ends = number[link["from_host"]], number[link["to_host"]]
        factor[ends] = math.exp(link["log_ratio"])
        found.append(Correction(link["from_host"], link["to_host"], float(factor[ends])))
    np.fill_diagonal(factor, 1)
    if found:
        network.latency = network.latency * factor
        network.bandwidth = network.bandwidth / factor
    return network, found


def _matters(log_ratio: float, error: float) -> bool:
    return abs(log_ratio) >= max(CLEAR * error, math.log(MATTERS))


def _shapes(run: Run) -> Iterator[dict[str, Any]]:
    """Calls that are alike, with one of them, their number and their median time."""
    lasted = pl.col("end") - pl.col("last_enter")
    shapes = (
        run.shapes()
        .filter(pl.col("planned"))
        .group_by([name for name in SHAPE if name != "communicator"])
        .agg(pl.col("call").last(), pl.len().alias("calls"), lasted.median().alias("median"),
             lasted.sum().alias("total"))
        .sort("total", descending=True)
    )  # fmt: skip
    whole = float(shapes["total"].sum())
    names = [kind.name for kind in KINDS]
    for shape in shapes.iter_rows(named=True):
        known = shape["kind"] in names and shape["ranks"] == run.ranks
        if known and shape["total"] >= LEAST_SHARE * whole:
            yield shape


def _used(run: Run, call: int) -> Tree | None:
    """The tree of a call, children in the order in which they are served; None if it has none."""
    messages = run.messages.filter(pl.col("call") == call)
    edges = stages.edges(
        replace(run, calls=run.calls.filter(pl.col("call") == call), messages=messages)
    )
    if edges.is_empty():
        return None
    first = edges.filter(pl.col("segment") == edges["segment"].min())
    # In a reduce the child that is served first is combined last.
    served = first.with_columns(order=pl.coalesce("t4", -pl.col("t1"))).sort("parent", "order")
    children: list[list[int]] = [[] for _ in range(run.ranks)]
    for parent, child in served.select("parent", "child").iter_rows():
        children[parent].append(child)
    segmented = edges["segment"].n_unique() > 1
    segment_size = int(messages["size"].to_numpy().max()) if segmented else 0
    return Tree(tuple(map(tuple, children)), segment_size)


def _advise(
    run: Run,
    shape: dict[str, Any],
    tree: Tree,
    network: Network,
    corrections: Sequence[Correction],
    budget: float,
) -> Advice:
    root = max(shape["root"], 0)
    operation = operations.make(shape["kind"], f"{shape['size']}B", root)
    setting = Setting(network, list(run.placement), run.library)
    climb = _Climb(setting, operation, budget)
    tuned, moves = climb.run(tree)
    plan = setting.plan(operation)
    best = plan.explanation.plan
    return Advice(
        kind=parse_kind(shape["kind"]),
        size=shape["size"],
        root=root,
        calls=shape["calls"],
        observed=shape["median"] * 1e-9,
        used=tree,
        tuned=tuned,
        before=climb.time(tree),
        moves=tuple(moves),
        native=best.native.time if best.native.time > 0 else math.inf,
        planned=math.inf if plan.is_native else best.predicted,
        planned_name="" if plan.is_native else plan.algorithm,
        elsewhere=tuple(corrections),
    )


@dataclass(frozen=True)
class _Cost:
    """What a call costs, in seconds."""

    time: float
    mean: float
    """When a message ends, on average: where two paths are equally long, one move can't help the
    time, but it may prepare the move that does."""

    def is_below(self, other: "_Cost", gain: float = LEAST_GAIN) -> bool:
        if self.time < other.time * (1 - LEAST_GAIN):
            return True
        same = self.time <= other.time * (1 + EQUAL)
        return same and self.mean < other.mean * (1 - gain)


class _Climb:
    """A search that makes the best move again and again."""

    def __init__(self, setting: Setting, operation: Operation, budget: float) -> None:
        collective = operation.collective(len(setting.placement))
        self._setting = setting
        self._problem = Problem(collective, setting.network, setting.placement, setting.library)
        self._size = collective.size
        self._algorithm = algorithms.find(trees.NAME)
        self._deadline = time.monotonic() + budget
        by_host: dict[int, list[int]] = {}
        for rank, host in enumerate(setting.placement):
            by_host.setdefault(host, []).append(rank)
        self._hosts = [ranks for ranks in by_host.values() if len(ranks) > 1]

    def time(self, tree: Tree) -> float:
        """Returns the predicted seconds of a call."""
        return self._simulate(tree).time

    def run(self, tree: Tree) -> tuple[Tree, list[Move]]:
        """Returns the tree from which no move gains, and the moves to it."""
        made: list[tuple[Tree, Move]] = []
        last, now = tree, self._cost(tree)
        while found := self._best(last, now):
            last, after, what = found
            made.append((last, Move(what, now.time, after.time)))
            now = after
        while made and made[-1][1].after > made[-1][1].before * (1 - LEAST_GAIN):
            made.pop()  # it prepared a move that never came
        return (made[-1][0] if made else tree), [move for _, move in made]

    def _best(self, tree: Tree, now: "_Cost") -> "tuple[Tree, _Cost, str] | None":
        """Returns the best move of whole hosts, or else of one rank."""
        return self._best_of(self._of_hosts(tree), now) or self._best_of(
            self._neighbours(tree), now
        )

    def _best_of(
        self, changes: Iterable[tuple[Tree, str]], now: "_Cost"
    ) -> "tuple[Tree, _Cost, str] | None":
        best = None
        least = now
        for changed, what in changes:
            if time.monotonic() > self._deadline:
                break
            cost = self._cost(changed)
            if cost.is_below(now) and (best is None or cost.is_below(least, 0)):
                best, least = (changed, cost, what), cost
        return best

    def _cost(self, tree: Tree) -> "_Cost":
        prediction = self._simulate(tree)
        ends = [message.end for message in prediction.timeline]
        return _Cost(prediction.time, sum(ends) / max(len(ends), 1))

    def _simulate(self, tree: Tree) -> simulator.Prediction:
        skeleton = self._algorithm.build(self._problem, parameters(tree))
        return simulator.simulate(self._problem, skeleton, simulator.Options(timeline=True))

    def _critical(self, tree: Tree) -> list[int]:
        """The ranks on the critical path, without the root, the last first."""
        path = simulator.critical_path(self._simulate(tree).timeline)
        parents = tree.parents
        ranks = [rank for each in reversed(path) for rank in (each.to, each.from_)]
        return [rank for rank in dict.fromkeys(ranks) if parents[rank] >= 0]

    def _of_hosts(self, tree: Tree) -> Iterator[tuple[Tree, str]]:
        """Trees that a host's ranks, or those of every host, enter by one of them: one move of a
        rank hardly gains where all of its host's ranks are scattered over the tree."""
        everywhere = tree
        for ranks in self._hosts:
            changed, leader = tree.gathered(ranks)
            everywhere, _ = everywhere.gathered(ranks)
            if changed != tree:
                yield changed, f"{self._name(leader)} serves all ranks of its host"
        if everywhere != tree:
            yield everywhere, "one rank of every host serves the others there"

    def _neighbours(self, tree: Tree) -> Iterator[tuple[Tree, str]]:
        yield from self._segments(tree)
        parents = tree.parents
        for child in self._critical(tree):
            below = tree.below(child)
            for parent in (rank for rank in range(len(parents)) if rank not in below):
                for first in (True, False):
                    changed = tree.hung(child, parent, first=first)
                    if changed != tree:
                        yield changed, self._hanging(child, parent, parents[child], first=first)
            for other in self._beside(child):
                yield (
                    tree.exchanged(child, other),
                    f"{self._name(other)} in the place of {self._name(child)}",
                )

    def _segments(self, tree: Tree) -> Iterator[tuple[Tree, str]]:
        """The same tree with longer and shorter segments."""
        now = tree.segment_size or self._size
        for size in {now // 4, now // 2, 2 * now, 4 * now}:
            if LEAST_SEGMENT <= size < self._size:
                yield replace(tree, segment_size=size), f"segments of {size} bytes"
        if tree.segment_size:
            yield replace(tree, segment_size=0), "the message in one piece"

    def _beside(self, rank: int) -> Iterator[int]:
        """The other ranks of a rank's host."""
        placement = self._setting.placement
        return (
            other for other, host in enumerate(placement)
            if host == placement[rank] and other != rank
        )  # fmt: skip

    def _hanging(self, child: int, parent: int, before: int, *, first: bool) -> str:
        place = "first" if first else "last"
        if parent == before:
            return f"{self._name(parent)} serves {self._name(child)} {place}"
        return (
            f"{self._name(child)} below {self._name(parent)}, served {place}, instead of below "
            f"{self._name(before)}"
        )

    def _name(self, rank: int) -> str:
        return f"rank {rank} ({self._setting.host(rank)})"


def parameters(tree: Tree) -> algorithms.Parameters:
    """Returns the tree as parameters of the algorithm that takes a declared one."""
    return trees.make(tree.children, tree.segment_size)


def keep(run: Run, advice: Sequence[Advice]) -> None:
    """Puts tuned trees into the remembered table of the run's network and hosts.

    `thalweg run` uses it from then on. Takes the seconds of planning if nothing is remembered.
    Raises UserError if the file can't be written.
    """
    assert run.network is not None
    setting = Setting(run.network, list(run.placement), run.library)
    table = wisdom.table(setting)
    for each in advice:
        beginnings = sorted(
            entry.min_size for entry in table.entries
            if entry.kind is each.kind and entry.root == each.root
        )  # fmt: skip
        low = max((size for size in beginnings if size <= each.size), default=0)
        high = min((size for size in beginnings if size > each.size), default=planner.LARGEST)
        table = planner.put_tree(
            table, run.network, each.kind, parameters(each.tuned), (low, high), setting.options()
        )
    wisdom.keep_table(setting, table)
