"""Plans against the best of many random trees, and HLOT against its rivals, simulated.

Figure 9 of Gong, He, Zhong (Network Performance Aware MPI Collective Communication Operations in
the Cloud), and the gain of Park et al. (HLOT) for short messages on 2 to 8 clusters.
"""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

from bench import networks, report, sources
from bench.page import Page, Part
from bench.report import Subject, Table, percent, seconds
from bench.settings import Settings
from thalweg import planner, simulator, units
from thalweg.algorithms import Parameters, Problem, Skeleton, find
from thalweg.collective import Collective, Kind
from thalweg.planner import Effort, Options
from thalweg.simulator import Fidelity, Generator, Sample

subject = Subject(
    "trees",
    "Trees",
    sources.planned,
    ("carlo", "generator", "clusters", "size"),
    made="Simulated",
)
hosts = 64
trees = 10_000_000
block = 1_000_000
rival = "mpich-1.4"
window = 8  # messages that a rank has in flight, in random trees and in CMPI's
cmpi_algorithms = {Kind.bcast: "hierarchical", Kind.scatter: "distance-tree"}
short_sizes = (2, 64, 1_000, 8_000, 64_000, 1_000_000)
clusters = (2, 3, 4, 6, 8)
cluster_networks = 5
level_algorithms = ("hlot", "mpich-g2", "magpie")
our_plan = "Thalweg"


@dataclass(frozen=True)
class Carlo:
    """Times in seconds, of the fast simulator."""

    collective: str
    generator: str
    count: int
    minimum: float
    median: float
    mpich: float  # MPICH2 1.4's choice
    cmpi: float
    better: float  # share of the trees that are faster than CMPI
    ours: float
    plan: str


@dataclass(frozen=True)
class Gain:
    """Times for one network and size, in seconds by algorithm, of the fluid simulator."""

    clusters: int
    size: int
    times: dict[str, float]


Record = TypeVar("Record", Carlo, Gain)


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    for kind in cmpi_algorithms:
        for generator in (Generator.binomial, Generator.recursive):
            labels = {"carlo": kind.name, "generator": generator.name}
            if page.has(labels):
                continue
            found = monte_carlo(kind, generator, settings.trees or trees)
            page.add(labels, {}, [asdict(found)])
            report.console.print(f"{kind.name}: {generator.name}")
    for count in clusters:
        if page.has({"clusters": count}):
            continue
        gains = [asdict(gain) for gain in short_messages(count)]
        page.add({"clusters": count}, {}, gains)
        report.console.print(f"{count} clusters")
    page.finish()


def monte_carlo(kind: Kind, generator: Generator, count: int) -> Carlo:
    draw = random.Random(1)
    net = networks.cloud(draw, hosts)
    collective = Collective(kind, hosts, draw.randrange(hosts), block)
    problem = Problem(collective, net, range(hosts), networks.library)
    options = simulator.Options(fidelity=Fidelity.fast, window=window)
    sample = simulator.monte_carlo(
        problem, count, generator=generator, quantiles=[0.5], options=options
    )
    wanted = Options(
        library=networks.library, effort=Effort.patient, disabled=networks.only_algorithms
    )
    plan = planner.plan(problem, wanted)
    ours = networks.simulated(problem, plan.skeleton, Fidelity.fast)
    name, parameters = planner.selection(rival, collective)
    mpich, cmpi = (
        networks.simulated(problem, find(algorithm).build(problem, of), Fidelity.fast)
        for algorithm, of in (
            (name, parameters),
            (cmpi_algorithms[kind], Parameters(window=window)),
        )
    )
    return Carlo(
        kind.name,
        generator.name,
        count,
        sample.minimum,
        sample.quantiles[0],
        mpich,
        cmpi,
        share_below(sample, cmpi),
        ours,
        plan.algorithm,
    )


def share_below(sample: Sample, time: float) -> float:
    """Share of the trees that take less than a time, by the histogram: trees of a bin are even."""
    within = 0.0
    for count, (low, high) in zip(sample.counts, itertools.pairwise(sample.edges), strict=True):
        if high <= time:
            within += count
        elif low < time:
            within += count * (time - low) / (high - low)
    return within / sample.count


def short_messages(count: int) -> list[Gain]:
    """Compares HLOT, its rivals and our plan, on networks of several clusters."""
    gains = []
    for seed in range(1, cluster_networks + 1):
        drawn = networks.of_clusters(random.Random(seed), count)
        ranks = len(drawn.hosts)
        for size in short_sizes:
            bcast = Collective(Kind.bcast, ranks, 0, size)
            problem = Problem(bcast, drawn, range(ranks), networks.library)
            times = {
                name: networks.simulated(problem, skeleton, Fidelity.fluid)
                for name, skeleton in hlot_and_rivals(problem).items()
            }
            gains.append(Gain(count, size, times))
    return gains


def hlot_and_rivals(problem: Problem) -> dict[str, Skeleton]:
    """Returns HLOT's tree, its rivals' and our plan, by name."""
    found = {name: find(name).build(problem, Parameters()) for name in level_algorithms}
    wanted = Options(library=networks.library, disabled=networks.only_algorithms)
    return {**found, our_plan: planner.plan(problem, wanted).skeleton}


def read(kind: type[Record], record: dict[str, Any]) -> Record:
    """Makes a sample of its record, which may also have labels of its part."""
    return kind(**{field.name: record[field.name] for field in fields(kind)})


def contents(parts: Sequence[Part]) -> list[Table]:
    carlo: list[Carlo] = []
    gains: list[Gain] = []
    for part in parts:
        for sample in part.samples:
            if "generator" in sample:
                carlo.append(read(Carlo, sample))
            else:
                gains.append(read(Gain, sample))
    return [random_trees(carlo), gain_of_hlot(gains)]


def random_trees(found: Sequence[Carlo]) -> Table:
    table = Table(
        "Random trees",
        ["collective", "trees", "how many", "best", "median", "MPICH2 1.4", "CMPI",
         "trees faster than CMPI", "Thalweg", "plan", "better than all"],
    )  # fmt: skip
    for each in found:
        table.add(
            each.collective,
            each.generator,
            f"{each.count:,}",
            seconds(each.minimum),
            seconds(each.median),
            seconds(each.mpich),
            seconds(each.cmpi),
            f"{100 * each.better:.2g} %",
            seconds(each.ours),
            each.plan,
            "yes" if each.ours < each.minimum else "no",
        )
    table.notes.append(
        f"{hosts} hosts of a cloud, {units.size_to_text(block)}, a random root. Binomial: the "
        "binomial tree of MPI libraries with its ranks permuted at random; recursive: ranks join "
        "in random order, each below any rank in the tree. They and CMPI's tree pass the vector on "
        "in one piece, with up to eight messages in flight from a rank; MPICH2's bcast and "
        "Thalweg's plans cut it. In the paper CMPI is close to the best tree."
    )
    return table


def gain_of_hlot(gains: Sequence[Gain]) -> Table:
    table = Table(
        "HLOT on short messages",
        ["clusters", "bytes", "HLOT", "over mpich-g2", "over magpie", "Thalweg", "over HLOT"],
    )
    for key in dict.fromkeys((each.clusters, each.size) for each in gains):
        group = [each.times for each in gains if (each.clusters, each.size) == key]
        median = {name: statistics.median(times[name] for times in group) for name in group[0]}
        table.add(
            *key,
            seconds(median["hlot"]),
            percent(median["mpich-g2"] / median["hlot"] - 1),
            percent(median["magpie"] / median["hlot"] - 1),
            seconds(median["Thalweg"]),
            percent(median["hlot"] / median["Thalweg"] - 1),
        )
    table.notes.append(
        f"A broadcast on {cluster_networks} networks of 4 to 12 hosts per cluster, medians. Over: "
        "how much faster."
    )
    return table
