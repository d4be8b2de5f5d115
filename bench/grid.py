"""HLOT, MPICH-G2 and MagPIe on the testbed of Park et al.: eight clusters of four organisations.

Figures 5, 6 and 7 of their paper, section 4, on the scenario `grid`: single broadcasts on latencies
that vary from run to run, from a root in each cluster, and means over all roots by clusters and by
size; the last also where latencies are drawn anew, or are those of organisations.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench import grid_networks, grid_page, networks, sources
from bench.grid_networks import testbed
from bench.page import Page, Record
from bench.report import Subject
from bench.settings import Settings
from bench.trees import hlot_and_rivals, level_algorithms
from thalweg.algorithms import Parameters, Problem, Skeleton, find
from thalweg.collective import Collective, Kind
from thalweg.network import Network
from thalweg.simulator import Fidelity

subject = Subject(
    "grid",
    "HLOT on its testbed",
    (
        *sources.planned, "python/thalweg/lab/scenarios.py", "bench/grid.py",
        "bench/grid_networks.py",
    ),
    ("figure", "cluster", "clusters", "size", "by"),
    made="Simulated",
)  # fmt: skip
ranks_per_host = 2  # 32 processes on eight clusters, as in the paper
samples = 130
clusters = (2, 3, 4, 5, 6, 7, 8)
sizes = (2, 1_000, 8_000, 64_000, 256_000, 1_000_000)


def run(settings: Settings) -> None:
    page = Page(settings, subject, grid_page.contents)
    whole = testbed(8)
    for site in whole.sites:
        single: Record = {"figure": "5", "cluster": whole.hosts[site[0]].name[:-1]}
        if not page.has(single):
            page.add(single, {}, single_runs(whole, settings.seed, ranks_per_host * site[0]))
    means: list[Record] = [
        *({"figure": "6b", "clusters": count, "size": 2} for count in clusters),
        *({"figure": "7", "clusters": 8, "size": size} for size in sizes),
    ]
    for labels in means:
        if not page.has(labels):
            page.add(labels, {}, by_root(testbed(labels["clusters"]), labels["size"]))
    for by in grid_page.drawn_by:
        labels = {"figure": "draws", "by": by}
        if not page.has(labels):
            page.add(labels, {}, by_draw(by))
    page.finish()


def single_runs(net: Network, seed: int, root: int) -> Iterator[dict[str, Any]]:
    """Broadcasts of 2 bytes from the root, each in a network of its own; planned for the mean one.

    The networks are the same for each root.
    """
    random = np.random.default_rng(seed)
    skeletons = hlot_and_rivals(problem_of(net, 2, root))
    for _ in range(samples):
        problem = problem_of(grid_networks.varied(net, random), 2, root)
        yield {name: time_of(problem, skeleton) for name, skeleton in skeletons.items()}


def by_draw(by: str) -> Iterator[dict[str, Any]]:
    """Means over all roots with 2 bytes on eight clusters, for the scenario's latencies and for
    those of each seed."""
    for seed in (None, *range(1, grid_networks.draws + 1)):
        net = testbed(8) if seed is None else grid_networks.drawn(seed)
        for each in [net] if by == "clusters" else grid_networks.by_organisations(net):
            problems = [
                problem_of(each, 2, root) for root in range(ranks_per_host * len(net.hosts))
            ]
            yield {
                "seed": seed,
                **{
                    name: statistics.fmean(
                        time_of(problem, find(name).build(problem, Parameters()))
                        for problem in problems
                    )
                    for name in level_algorithms
                },
            }


def by_root(net: Network, size: int) -> Iterator[dict[str, Any]]:
    for root in range(ranks_per_host * len(net.hosts)):
        problem = problem_of(net, size, root)
        times = {name: time_of(problem, each) for name, each in hlot_and_rivals(problem).items()}
        yield {"root": root, **times}


def problem_of(net: Network, size: int, root: int) -> Problem:
    hosts = len(net.hosts)
    placement = [rank // ranks_per_host for rank in range(ranks_per_host * hosts)]
    bcast = Collective(Kind.bcast, len(placement), root, size)
    return Problem(bcast, net, placement, networks.library)


def time_of(problem: Problem, skeleton: Skeleton) -> float:
    return networks.simulated(problem, skeleton, Fidelity.fluid)
