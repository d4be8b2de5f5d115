"""CMPI's collectives as its paper prints them, for the pages that compare with it; simulated.

After Gong, He, Zhong: Network Performance Aware MPI Collective Communication Operations in the
Cloud, section 4. Its Algorithm 3 calls MPICH2's own bcast or reduce in each group, level by level.
They are simulated group by group, as if groups shared no link: a group's bcast begins when its
leader is done with the one of the level above, a group's reduce when the last of its ranks is done
with the level below. The algorithm `hierarchical`, in comparison, joins binomial trees of the
groups to one schedule. Its Algorithm 4 is the tree of the algorithm `distance-tree`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bench import networks
from thalweg import hierarchy, planner
from thalweg.algorithms import Parameters, Problem, Skeleton, find
from thalweg.collective import Collective, Kind
from thalweg.hierarchy import Scale
from thalweg.network import Network

rival = "mpich-1.4"
"""Whose collectives are called in the groups."""
algorithms: Mapping[Kind, str] = {
    Kind.bcast: "hierarchical",
    Kind.reduce: "hierarchical",
    Kind.gather: "distance-tree",
    Kind.scatter: "distance-tree",
}
"""The collectives, with our algorithm after the paper's for each."""
Judge = Callable[[Problem, Skeleton], Sequence[float]]
"""Returns the simulated seconds after which each rank is done."""
Groups = Sequence[Sequence[int]]
"""Groups of ranks, each with its leader first."""


@dataclass(frozen=True)
class Shape:
    """What a hierarchy is made by: as printed, unless other values are named."""

    base: float = 4  # k
    span: int = 1  # T_span
    adjust: Literal["close", "printed"] = "printed"
    scale: Scale = "linear"

    def parameters(self, **others: Any) -> Parameters:
        """Returns the same as parameters of an algorithm."""
        return Parameters(
            base=self.base, span=self.span, adjust=self.adjust, scale=self.scale, **others
        )


class Cmpi:
    """A collective by CMPI, made for a problem's network."""

    def __init__(self, problem: Problem, shape: Shape) -> None:
        self._groups: list[Groups] = []
        self.tree: Skeleton | None = None
        """What passes blocks, in a gather or scatter."""
        name = algorithms[problem.collective.kind]
        if name == "hierarchical":
            self._groups = levels(problem, shape)
        else:
            self.tree = find(name).build(problem, shape.parameters())

    def seconds(self, problem: Problem, judge: Judge) -> float:
        """Returns what it takes, perhaps on another network."""
        if self.tree:
            return max(judge(problem, self.tree))
        return max(
            followed(
                self._groups,
                problem.collective.ranks,
                lambda group: in_group(problem, group, judge),
                outwards=problem.collective.kind is Kind.bcast,
            )
        )


def followed(
    levels: Sequence[Groups],
    ranks: int,
    exits: Callable[[Sequence[int]], Sequence[float]],
    *,
    outwards: bool,
) -> list[float]:
    """Returns when each rank is done with all levels, the lowest of which comes first.

    `exits`: when each rank of a group is done, counted from its beginning. Outwards, as in a
    bcast, a group begins when its leader is done with the level above; else when all of its ranks
    are done with the level below.
    """
    done = [0.0] * ranks
    for groups in reversed(levels) if outwards else levels:
        for group in groups:
            begin = done[group[0]] if outwards else max(done[rank] for rank in group)
            for rank, own in zip(group, exits(group), strict=True):
                done[rank] = begin + own
    return done


def in_group(problem: Problem, group: Sequence[int], judge: Judge) -> Sequence[float]:
    """Returns when each rank of a group is done with MPICH2's own collective among them."""
    if len(group) == 1:
        return [0.0]
    part = Collective(problem.collective.kind, len(group), 0, problem.collective.size)
    algorithm, parameters = planner.selection(rival, part)
    hosts = [problem.placement[rank] for rank in group]
    own = Problem(part, problem.network, hosts, networks.library)
    return judge(own, find(algorithm).build(own, parameters))


@dataclass(frozen=True)
class Costs:
    """What a leader is chosen by, towards the others: levels, then transfer times."""

    levels: NDArray[np.int64]
    times: NDArray[np.float64]

    @staticmethod
    def of(net: Network, kind: Kind, size: int, shape: Shape) -> Costs:
        """Returns the costs on a network; the data of a reduce flows towards the leader."""
        hosts = len(net.hosts)
        latency, rate = (np.array(each) for each in (net.latency, net.bandwidth))
        apart = ~np.eye(hosts, dtype=bool)
        times = np.zeros((hosts, hosts))
        times[apart] = latency[apart] + size / rate[apart]
        ratios = times[apart] / times[apart].min()
        found = (
            ratios / shape.base if shape.scale == "linear" else np.log(ratios) / np.log(shape.base)
        )
        levels = np.zeros((hosts, hosts), dtype=np.int64)
        levels[apart] = np.floor(found)
        return Costs(levels.T, times.T) if kind is Kind.reduce else Costs(levels, times)


def levels(problem: Problem, shape: Shape) -> list[Groups]:
    """The groups of ranks of each level, from those of a host to the single one of all."""
    of = problem.collective
    net, placement = problem.network, problem.placement
    costs = Costs.of(net, of.kind, of.size, shape)
    by_host: dict[int, list[int]] = {}
    for rank, host in enumerate(placement):
        by_host.setdefault(host, []).append(rank)

    def led(ranks: Sequence[int]) -> list[int]:
        """Moves the leader to the front."""
        hosts = [placement[rank] for rank in ranks]
        leader = min(
            ranks,
            key=lambda rank: (
                rank != of.root,
                costs.levels[placement[rank], hosts].sum(),
                costs.times[placement[rank], hosts].sum(),
                rank,
            ),
        )
        return [leader, *(rank for rank in ranks if rank != leader)]

    found: list[Groups] = [[led(ranks) for ranks in by_host.values()]]
    leaders = {placement[group[0]]: group[0] for group in found[0]}
    made = hierarchy.build(net, of.size, shape.base, shape.span, shape.adjust, shape.scale)
    for level in made.levels[1:]:
        groups = [
            led(sorted(leaders[host] for host in members if host in leaders))
            for members in level.groups
            if any(host in leaders for host in members)
        ]
        found.append(groups)
        leaders = {placement[group[0]]: group[0] for group in groups}
    return found
