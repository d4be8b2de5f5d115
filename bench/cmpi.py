"""CMPI's collectives against what MPICH2 1.4 selects, and Thalweg's plan; simulated.

After Gong, He, Zhong: Network Performance Aware MPI Collective Communication Operations in the
Cloud, section 5.2 and its appendix: 64 hosts, 200 ranks, 1 MB per rank, a random root, k = 4 and
T_span = 1, unless they are what is varied. Ranks are placed in blocks, in turn and at random.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bench import cmpi_page, networks, report, sources
from bench.cmpi_collectives import Cmpi, Shape, algorithms, rival
from bench.cmpi_gains import Times
from bench.cmpi_page import Cloud, Spread
from bench.page import Page, Record
from bench.report import Subject
from bench.settings import Settings
from thalweg import hierarchy, planner, units
from thalweg.algorithms import Problem, Skeleton, find
from thalweg.collective import Collective, Kind
from thalweg.hierarchy import Scale
from thalweg.lab import scenario
from thalweg.network import Network
from thalweg.planner import Effort, Options
from thalweg.simulator import Fidelity

subject = Subject(
    "cmpi",
    "CMPI against MPICH2 1.4",
    (*sources.planned, *sources.of_cmpi),
    ("sweep", "varied", "placement", "collective"),
    made="Simulated",
)
most_planned = 256  # ranks for which the planner's usual effort takes seconds
usual_networks = 3
many_ranks, few_networks = 1024, 1  # from so many ranks on, so few networks
messages = 20_000  # that are simulated of a long pipeline
no_plan = ""


@dataclass(frozen=True)
class Setup:
    """A point of a sweep."""

    sweep: str
    hosts: int = 64
    ranks: int = 200
    size: int = 1_000_000  # bytes per rank
    base: int = 4  # k
    span: int = 1  # T_span
    adjust: Literal["close", "printed"] = "printed"
    networks: int = usual_networks
    kinds: Sequence[Kind] = tuple(algorithms)
    planned: bool = True  # compared with Thalweg's plan, too

    @property
    def varied(self) -> str:
        values = {
            "bytes": units.size_to_text(self.size),
            "ranks": self.ranks,
            "hosts": self.hosts,
            "ranks per host": self.ranks // self.hosts,
            "k": self.base,
            cmpi_page.clusters: self.networks,
            cmpi_page.processes: self.ranks,
            cmpi_page.clouds: self.hosts,
        }
        return str(values.get(self.sweep, self.span))

    def shape(self, scale: Scale = "linear") -> Shape:
        return Shape(self.base, self.span, self.adjust, scale)

    @property
    def labels(self) -> Record:
        return {"sweep": self.sweep, "at": self.varied}


def setups() -> Iterator[Setup]:
    for size in (1_000, 10_000, 100_000, 1_000_000):
        yield Setup("bytes", size=size)
    for ranks in (32, 64, 128, 256, 512, 1024, 2048):
        count = few_networks if ranks >= many_ranks else usual_networks
        yield Setup("ranks", hosts=max(8, ranks * 64 // 200), ranks=ranks, networks=count)
    for hosts in (16, 32, 64, 128):
        yield Setup("hosts", hosts=hosts)
    for each in (1, 2, 4, 8):
        yield Setup("ranks per host", ranks=64 * each)
    usual = Setup("k", planned=False)
    for base in (2, 4, 8, 16):
        yield replace(usual, base=base)
    for span in (0, 1, 2, 4, 8):
        yield replace(usual, sweep="T_span", span=span)
        yield replace(usual, sweep="T_span, close hosts only", span=span, adjust="close")
    yield replace(usual, sweep=cmpi_page.clouds, hosts=128)
    yield replace(usual, sweep=cmpi_page.processes, kinds=(Kind.scatter,))
    shown = (Kind.bcast, Kind.scatter)
    yield replace(usual, sweep=cmpi_page.clusters, networks=100, kinds=shown)


def run(settings: Settings) -> None:
    page = Page(settings, subject, cmpi_page.contents)
    points = [
        each
        for each in setups()
        if each.ranks <= (settings.hosts or each.ranks) and not page.has(each.labels)
    ]
    with ProcessPoolExecutor() as pool:
        for point, found in zip(points, pool.map(measure, points), strict=True):
            page.add(point.labels, {}, [asdict(each) for each in found])
            report.console.print(f"{point.sweep}: {point.varied}")
    page.finish()


def measure(setup: Setup) -> Sequence[Times | Spread | Cloud]:
    if setup.sweep == cmpi_page.clouds:
        return described(setup)
    if setup.sweep == cmpi_page.processes:
        return process_times(setup)
    return [
        times(setup, seed, placement, problem)
        for seed in range(1, setup.networks + 1)
        for placement, problem in problems(setup, seed)
    ]


def problems(setup: Setup, seed: int) -> Iterator[tuple[str, Problem]]:
    """The collectives on one network, with the ranks placed in each manner; the roots are alike."""
    draw = random.Random(seed)
    net = networks.cloud(draw, setup.hosts)
    root = draw.randrange(setup.ranks)
    for name, place in placements.items():
        placement = place(draw, setup.ranks, setup.hosts)
        for kind in setup.kinds:
            yield name, asked(net, placement, Collective(kind, setup.ranks, root, setup.size))


def asked(net: Network, placement: Sequence[int], collective: Collective) -> Problem:
    return Problem(collective, net, placement, networks.library)


def times(setup: Setup, seed: int, placement: str, problem: Problem) -> Times:
    linear, logarithmic = (
        Cmpi(problem, setup.shape(scale)).seconds(problem, exits)
        for scale in ("linear", "logarithmic")
    )
    ours, plan = planned(problem) if setup.planned else (None, no_plan)
    return Times(
        setup.sweep,
        setup.varied,
        placement,
        problem.collective.kind.name,
        seed,
        flat=simulated(problem, selected(problem)),
        mpich=by_hosts(problem),
        cmpi=linear,
        logarithmic=logarithmic,
        joined=joined(problem, setup.shape()),
        ours=ours,
        plan=plan,
    )


def joined(problem: Problem, shape: Shape) -> float | None:
    """Seconds with binomial trees in all groups, joined to one schedule; None without groups."""
    name = algorithms[problem.collective.kind]
    if name != "hierarchical":
        return None
    return simulated(problem, find(name).build(problem, shape.parameters()))


def selected(problem: Problem) -> Skeleton:
    """What MPICH2 chooses when its SMP collectives are switched off."""
    algorithm, parameters = planner.selection(rival, problem.collective)
    return find(algorithm).build(problem, parameters)


def by_hosts(problem: Problem, judge: Callable[[Problem, Skeleton], float] | None = None) -> float:
    """Seconds of what MPICH2 chooses by default: some collectives go by hosts."""
    judge = judge or simulated
    (native,) = planner.native_algorithms(problem, rival)
    total = 0.0
    for phase in native.phases:
        part = asked(problem.network, phase.placement, phase.collective)
        total += judge(part, find(phase.algorithm).build(part, phase.parameters))
    return total


def planned(problem: Problem) -> tuple[float, str]:
    plan = plan_of(problem)
    return simulated(problem, plan.skeleton), plan.algorithm


def plan_of(problem: Problem) -> planner.Plan:
    """Returns Thalweg's plan; none is native."""
    effort = Effort.normal if problem.collective.ranks <= most_planned else Effort.estimate
    options = Options(
        library=networks.library, effort=effort, disabled=networks.only_algorithms, threads=1
    )
    return planner.plan(problem, options)


def described(setup: Setup) -> list[Cloud]:
    """Asymmetry and hierarchy of the drawn clouds and of the scenario: Figures 2 and 5."""
    nets = {"scenario cloud": scenario.find("cloud").network}
    for hosts in (setup.hosts, Setup.hosts):
        nets |= {
            f"drawn, seed {seed}, {hosts} hosts": networks.cloud(random.Random(seed), hosts)
            for seed in range(1, setup.networks + 1)
        }
    found = []
    for name, net in nets.items():
        for scale in ("linear", "logarithmic"):
            latency, bandwidth = hierarchy.asymmetry(net, setup.base, scale)
            levels = hierarchy.build(
                net, setup.size, setup.base, setup.span, setup.adjust, scale
            ).levels
            sizes = [[len(group) for group in level.groups] for level in levels]
            found.append(
                Cloud(
                    name, scale, len(net.hosts), latency, bandwidth, sizes,
                    distribution(net.latency), distribution(net.bandwidth),
                )
            )  # fmt: skip
    return found


def distribution(matrix: NDArray[np.float64]) -> list[float]:
    """Returns the percentiles of what pairs of hosts have."""
    apart = ~np.eye(len(matrix), dtype=bool)
    return [float(each) for each in np.percentile(np.asarray(matrix)[apart], cmpi_page.shares)]


def process_times(setup: Setup) -> list[Spread]:
    """The times of single ranks: Figure 7."""
    return [
        Spread(
            placement,
            seed,
            mpich=spread(problem, selected(problem)),
            cmpi=spread(problem, tree(problem, setup.shape())),
        )
        for seed in range(1, setup.networks + 1)
        for placement, problem in problems(setup, seed)
    ]


def tree(problem: Problem, shape: Shape) -> Skeleton:
    """Returns CMPI's tree of a gather or scatter."""
    found = Cmpi(problem, shape).tree
    assert found
    return found


def spread(problem: Problem, skeleton: Skeleton) -> Mapping[str, float]:
    """Percentiles of the ranks' times, by name."""
    found = networks.exits(problem, skeleton, Fidelity.fluid)
    shares = cmpi_page.percentiles
    return {
        str(share): float(each)
        for share, each in zip(shares, np.percentile(found, shares), strict=True)
    }


def in_blocks(_draw: random.Random, ranks: int, hosts: int) -> list[int]:
    """Fills host after host, as equally as possible."""
    return [rank * hosts // ranks for rank in range(ranks)]


def in_turn(_draw: random.Random, ranks: int, hosts: int) -> list[int]:
    return [rank % hosts for rank in range(ranks)]


def unevenly(draw: random.Random, ranks: int, hosts: int) -> list[int]:
    """Places a rank on each host if there are enough, and the others at random."""
    placement = [rank if rank < hosts else draw.randrange(hosts) for rank in range(ranks)]
    draw.shuffle(placement)
    return placement


placements: dict[str, Callable[[random.Random, int, int], list[int]]] = {
    "block": in_blocks,
    "round robin": in_turn,
    "random": unevenly,
}


def simulated(problem: Problem, skeleton: Skeleton) -> float:
    """Returns seconds; simulates only the beginning of a long pipeline."""
    return networks.simulated(problem, skeleton, Fidelity.fluid, messages)


def exits(problem: Problem, skeleton: Skeleton) -> list[float]:
    """Returns when each rank is done, in seconds, likewise."""
    return networks.exits(problem, skeleton, Fidelity.fluid, messages)
