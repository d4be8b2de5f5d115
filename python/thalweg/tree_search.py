"""Trees of ranks, and the search for moves that make one faster, by simulation."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from thalweg import algorithms, simulator, trees
from thalweg.algorithms import Problem
from thalweg.operations import Operation
from thalweg.plans import Setting

LEAST_GAIN = 0.01
"""A move that gains less isn't worth its while."""
LEAST_SEGMENT = 512
"""The shortest segments that are tried, in bytes."""
EQUAL = 1e-6
"""Relative difference of times that are taken to be equal."""


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

    @property
    def depths(self) -> list[int]:
        """By rank: how many edges lead to it from the root."""
        found = [0] * len(self.children)
        left = [self.parents.index(-1)]
        while left:
            for child in self.children[parent := left.pop()]:
                found[child] = found[parent] + 1
                left.append(child)
        return found

    def parameters(self) -> algorithms.Parameters:
        """Returns the tree as parameters of the algorithm that takes a declared one."""
        return trees.make(self.children, self.segment_size)

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
        parents, depth = self.parents, self.depths
        leader = min(ranks, key=lambda rank: (depth[rank], rank))
        found = self
        for rank in ranks:
            if rank != leader and parents[rank] != leader:
                found = found.hung(rank, leader, first=False)
        return found, leader


@dataclass(frozen=True)
class Move:
    """A change of a tree, and the seconds that a call is predicted to take before and after it."""

    what: str
    before: float
    after: float


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


class Search:
    """Makes the best move of a tree again and again, until none gains."""

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

    def _best(self, tree: Tree, now: _Cost) -> tuple[Tree, _Cost, str] | None:
        """Returns the best move of whole hosts, or else of one rank."""
        return self._best_of(self._of_hosts(tree), now) or self._best_of(
            self._neighbours(tree), now
        )

    def _best_of(
        self, changes: Iterable[tuple[Tree, str]], now: _Cost
    ) -> tuple[Tree, _Cost, str] | None:
        best = None
        least = now
        for changed, what in changes:
            if time.monotonic() > self._deadline:
                break
            cost = self._cost(changed)
            if cost.is_below(now) and (best is None or cost.is_below(least, 0)):
                best, least = (changed, cost, what), cost
        return best

    def _cost(self, tree: Tree) -> _Cost:
        prediction = self._simulate(tree)
        ends = [message.end for message in prediction.timeline]
        return _Cost(prediction.time, sum(ends) / max(len(ends), 1))

    def _simulate(self, tree: Tree) -> simulator.Prediction:
        skeleton = self._algorithm.build(self._problem, tree.parameters())
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
