"""Paced collectives of neighbourhoods beside all messages at once, which is what MPI libraries do.

Grids and graphs of neighbours are laid over networks drawn from seeds, and simulated.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from bench import families, sources
from bench.page import Page, Part
from bench.report import Subject, Table, console, percent, times
from bench.settings import Settings
from bench.summary import speedup
from thalweg import planner, units

subject = Subject(
    "neighborhoods",
    "Collectives of neighbourhoods",
    sources.planned,
    ("size",),
    made="Simulated",
)
usual_networks, most_hosts = 24, 16
sizes = (1024, 64 * 1024, 1024 * 1024)
ranks_per_host = (1, 8)
native = "native"

Graph = list[tuple[int, int]]
"""The edges from a rank to a neighbour."""


@dataclass(frozen=True)
class Case:
    """Times in seconds."""

    network: str
    family: str
    graph: str
    ranks: int
    per_host: int
    size: int
    pacing: str
    native: float
    time: float

    @property
    def speedup(self) -> float:
        return speedup(self.native, self.time)


def stencil(ranks: int, dimensions: int, *, corners: bool) -> Graph:
    """A periodic grid, in which ranks have neighbours along the axes, or also across corners."""
    sides = _sides(ranks, dimensions)
    places = list(itertools.product(*map(range, sides)))
    number = {place: at for at, place in enumerate(places)}
    steps = [
        step
        for step in itertools.product((-1, 0, 1), repeat=dimensions)
        if any(step) and (corners or sum(map(abs, step)) == 1)
    ]
    edges = {
        (at, number[tuple((x + d) % n for x, d, n in zip(place, step, sides, strict=True))])
        for at, place in enumerate(places)
        for step in steps
    }
    return sorted(edge for edge in edges if edge[0] != edge[1])


def _sides(ranks: int, dimensions: int) -> list[int]:
    """Divides ranks into sides as equal as their prime factors allow."""
    sides, rest = [1] * dimensions, ranks
    factors = []
    for factor in range(2, ranks + 1):
        while rest % factor == 0:
            factors.append(factor)
            rest //= factor
    for factor in reversed(factors):
        sides[sides.index(min(sides))] *= factor
    return sides


def scattered(ranks: int, degree: int, draw: random.Random) -> Graph:
    """Each rank sends to as many others, drawn evenly."""
    return [
        (rank, other)
        for rank in range(ranks)
        for other in draw.sample([it for it in range(ranks) if it != rank], min(degree, ranks - 1))
    ]


def skewed(ranks: int, draw: random.Random) -> Graph:
    """Edges in both directions, most of which end at few ranks, as in social networks."""
    edges = set()
    for rank in range(ranks):
        for _ in range(4):
            other = math.floor(ranks * draw.random() ** 3)
            if other != rank:
                edges |= {(rank, other), (other, rank)}
    return sorted(edges)


graphs: Mapping[str, Callable[[int, random.Random], Graph]] = {
    "grid, 2-D": lambda ranks, _draw: stencil(ranks, 2, corners=False),
    "grid, 3-D": lambda ranks, _draw: stencil(ranks, 3, corners=False),
    "grid, 3-D with corners": lambda ranks, _draw: stencil(ranks, 3, corners=True),
    "random, 4 each": lambda ranks, draw: scattered(ranks, 4, draw),
    "random, 12 each": lambda ranks, draw: scattered(ranks, 12, draw),
    "skewed": skewed,
}


def run(settings: Settings) -> None:
    """Plans every graph and size on each network."""
    page = Page(settings, subject, contents)
    for seed in settings.seeds(usual_networks):
        cases = judge_network(seed, settings.sizes or sizes)
        page.add({"network": cases[0].network}, {}, [asdict(case) for case in cases])
        console.print(f"{cases[0].network}: {sum(case.pacing != native for case in cases)} paced")
    page.finish()


def judge_network(seed: int, of_sizes: Sequence[int]) -> list[Case]:
    """Returns all cases of one network."""
    drawn = families.drawn(seed, most_hosts)
    hosts = len(drawn.network.hosts)
    cases = []
    for per_host in ranks_per_host:
        if per_host > 1:
            for host in range(hosts):
                drawn.network.latency[host, host] = 1e-6
                drawn.network.bandwidth[host, host] = 5e9
        placement = [host for host in range(hosts) for _ in range(per_host)]
        for (name, make), size in itertools.product(graphs.items(), of_sizes):
            graph = make(len(placement), random.Random(f"{seed} {name}"))
            pacing, _, alone, time = planner.plan_neighborhood(
                [(a, b, size) for a, b in graph], drawn.network, placement, drawn.library
            )
            cases.append(
                Case(drawn.name, drawn.family, name, len(placement), per_host, size, pacing,
                     alone, time)
            )  # fmt: skip
    return cases


def contents(parts: Sequence[Part]) -> list[Table]:
    cases = [Case(**sample) for part in parts for sample in part.samples]
    keys: list[tuple[str, Callable[[Case], str]]] = [
        ("graph", lambda case: case.graph),
        ("family of networks", lambda case: case.family),
        ("ranks per host", lambda case: str(case.per_host)),
        ("bytes", lambda case: units.size_to_text(case.size)),
        ("pacing", lambda case: case.pacing),
    ]
    tables = [speedups(cases, title, key) for title, key in keys]
    tables[0].notes.append(
        f"{sum(case.pacing != native for case in cases)} of {len(cases)} cases are paced; native "
        "stays where no pacing is predicted to gain 5 %."
    )
    return tables


def speedups(cases: Sequence[Case], title: str, key: Callable[[Case], str]) -> Table:
    """Returns how many cases are paced, and how much faster those are, by a property."""
    table = Table(
        f"Gain by {title}",
        [title, "cases", "paced", "share", "native / paced, median of these", "most"],
    )
    for value in dict.fromkeys(map(key, cases)):
        group = [case for case in cases if key(case) == value]
        paced = [case.speedup for case in group if case.pacing != native]
        shown = [times(statistics.median(paced)), times(max(paced))] if paced else ["-", "-"]
        table.add(value, len(group), len(paced), percent(len(paced) / len(group)), *shown)
    return table
