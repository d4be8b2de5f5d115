"""Plans against very many random trees, and HLOT against its rivals, simulated.

Figure 9 of Gong, He, Zhong (Network Performance Aware MPI Collective Communication Operations in
the Cloud), and the gain of Park et al. (HLOT) for short messages on 2 to 8 clusters.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass

from bench import networks, random_trees, report, sources
from bench.page import Page, Part
from bench.random_trees import Carlo
from bench.report import Content, Subject, Table, percent, seconds
from bench.settings import Settings
from thalweg import planner
from thalweg.algorithms import Parameters, Problem, Skeleton, find
from thalweg.collective import Collective, Kind
from thalweg.planner import Options
from thalweg.simulator import Fidelity

subject = Subject(
    "trees",
    "Trees",
    (*sources.planned, *sources.of_cmpi, "bench/random_trees.py", "bench/trees.py"),
    ("carlo", "generator", "segmented", "placement", "cloud", "clusters", "size"),
    made="Simulated",
)
trees, segmented_trees = 1_000_000, 2_000
short_sizes = (2, 64, 1_000, 8_000, 64_000, 1_000_000)
clusters = (2, 3, 4, 6, 8)
cluster_networks = 5
level_algorithms = ("hlot", "mpich-g2", "magpie")
our_plan = "Thalweg"


@dataclass(frozen=True)
class Gain:
    """Times for one network and size, in seconds by algorithm, of the fluid simulator."""

    clusters: int
    size: int
    times: dict[str, float]


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    wanted = [
        draw
        for draw in random_trees.draws(settings.trees or trees, segmented_trees)
        if not page.has(draw.labels)
    ]
    with ProcessPoolExecutor() as pool:
        for draw, found in zip(wanted, pool.map(random_trees.sampled, wanted), strict=True):
            page.add(draw.labels, {}, [found])
            report.console.print("/".join(map(str, draw.labels.values())))
    for count in clusters:
        if page.has({"clusters": count}):
            continue
        gains = [asdict(gain) for gain in short_messages(count)]
        page.add({"clusters": count}, {}, gains)
        report.console.print(f"{count} clusters")
    page.finish()


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


def contents(parts: Sequence[Part]) -> list[Content]:
    carlo = [Carlo(**each) for part in parts if "carlo" in part.labels for each in part.samples]
    gains = [Gain(**each) for part in parts if "clusters" in part.labels for each in part.samples]
    return [*random_trees.contents(carlo), gain_of_hlot(gains)]


def gain_of_hlot(gains: Sequence[Gain]) -> Table:
    table = Table(
        "HLOT on short messages",
        ["clusters", "bytes", "HLOT", "over mpich-g2", "least", "most", "over magpie", "least",
         "most", our_plan, "over HLOT", "least", "most"],
    )  # fmt: skip
    for key in dict.fromkeys((each.clusters, each.size) for each in gains):
        group = [each.times for each in gains if (each.clusters, each.size) == key]
        hlot, ours = (
            statistics.median(times[name] for times in group) for name in ("hlot", our_plan)
        )
        table.add(
            *key,
            seconds(hlot),
            *faster_by(group, "hlot", "mpich-g2"),
            *faster_by(group, "hlot", "magpie"),
            seconds(ours),
            *faster_by(group, our_plan, "hlot"),
        )
    table.notes.append(
        f"A broadcast on {cluster_networks} networks of 4 to 12 hosts per cluster. Times are "
        "medians. Over: how much faster on the same network, the geometric mean over the networks, "
        "then the least and the most of a single one. These networks are drawn without LANs inside "
        "their clusters, so that MPICH-G2 has the same levels as MagPIe, and the same times in all "
        "rows: grid.md has LANs."
    )
    return table


def faster_by(group: Sequence[Mapping[str, float]], name: str, rival: str) -> list[str]:
    """By how much one is faster than another on the same network: geometric mean, least, most.

    Medians of both, each over the networks, could be those of different networks.
    """
    ratios = [times[rival] / times[name] for times in group]
    shown = (statistics.geometric_mean(ratios), min(ratios), max(ratios))
    return [percent(ratio - 1) for ratio in shown]
