"""CMPI's bcast and reduce with MPICH2's own collective in each group, as its Algorithm 3 has it.

The algorithm `hierarchical` joins the groups by binomial trees to one schedule. MPICH2 chooses
other algorithms for long vectors, which are simulated here group by group: the groups of a level at
the same time, as if they shared no link; the levels one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench import networks
from thalweg import hierarchy, planner
from thalweg.algorithms import Problem, Skeleton, find
from thalweg.collective import Collective, Kind
from thalweg.network import Network

Judge = Callable[[Problem, Skeleton], float]
Groups = Sequence[Sequence[int]]
"""Groups of ranks, each with its leader first."""


@dataclass(frozen=True)
class Costs:
    """What a leader is chosen by, towards the others: levels, then transfer times."""

    levels: NDArray[np.int64]
    times: NDArray[np.float64]

    @staticmethod
    def of(net: Network, kind: Kind, size: int, base: float) -> Costs:
        """The data of a reduce flows towards the leader."""
        hosts = len(net.hosts)
        latency, rate = (np.array(each) for each in (net.latency, net.bandwidth))
        apart = ~np.eye(hosts, dtype=bool)
        times = np.zeros((hosts, hosts))
        times[apart] = latency[apart] + size / rate[apart]
        levels = np.zeros((hosts, hosts), dtype=np.int64)
        levels[apart] = np.floor(times[apart] / (base * times[apart].min()))
        return Costs(levels.T, times.T) if kind is Kind.reduce else Costs(levels, times)


def levels(problem: Problem, base: float, span: int) -> list[Groups]:
    """The groups of ranks of each level, from those of a host to the single one of all."""
    of = problem.collective
    net, placement = problem.network, problem.placement
    costs = Costs.of(net, of.kind, of.size, base)
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
    for level in hierarchy.build(net, of.size, base, span).levels[1:]:
        groups = [
            led(sorted(leaders[host] for host in members if host in leaders))
            for members in level.groups
            if any(host in leaders for host in members)
        ]
        found.append(groups)
        leaders = {placement[group[0]]: group[0] for group in groups}
    return found


def time(problem: Problem, base: float, span: int, rival: str, judge: Judge) -> float:
    """Seconds; `rival`: whose selection rules choose in the groups."""
    of = problem.collective
    total = 0.0
    for groups in levels(problem, base, span):
        slowest = 0.0
        for group in groups:
            if len(group) < 2:
                continue
            part = Collective(of.kind, len(group), 0, of.size)
            algorithm, parameters = planner.selection(rival, part)
            hosts = [problem.placement[rank] for rank in group]
            own = Problem(part, problem.network, hosts, networks.library)
            slowest = max(slowest, judge(own, find(algorithm).build(own, parameters)))
        total += slowest
    return total
