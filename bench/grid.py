"""HLOT, MPICH-G2 and MagPIe on the testbed of Park et al.: eight clusters of four organisations.

Figures 5, 6 and 7 of their paper, section 4, on the scenario `grid`: single broadcasts on latencies
that vary from run to run, and means over all roots by clusters and by size.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bench import networks, sources
from bench.page import Page, Part, Record
from bench.plot import Line, LinePanel, line_chart
from bench.report import Content, Figure, Subject, Table, judged, percent, seconds
from bench.settings import Settings
from bench.trees import hlot_and_rivals, level_algorithms, our_plan
from thalweg import units
from thalweg.algorithms import Problem, Skeleton
from thalweg.collective import Collective, Kind
from thalweg.lab import scenario
from thalweg.network import DeclaredGroup, Network
from thalweg.simulator import Fidelity

subject = Subject(
    "grid",
    "HLOT on its testbed",
    (*sources.planned, "python/thalweg/lab/scenarios.py"),
    ("figure", "clusters", "size"),
    made="Simulated",
)
ranks_per_host = 2  # 32 processes on eight clusters, as in the paper
samples = 130
clusters = (2, 3, 4, 5, 6, 7, 8)
sizes = (2, 1_000, 8_000, 64_000, 256_000, 1_000_000)
noticed = 0.01  # a difference of gains
on_paper = 1.6
"""About the gain over MPICH-G2 on the testbed: abstract and section 5, which don't say of what."""
NORMAL_99 = 2.576
"""Standard errors of a mean within which it lies with 99 %."""
SPREAD = 0.3
"""The standard deviation of the logarithm of a path's latency from run to run."""
colours = {"hlot": "#1764ab", "mpich-g2": "#ae017e", "magpie": "#fd8d3c", our_plan: "#238b45"}


def testbed(count: int) -> Network:
    """Returns the scenario's first clusters, with clusters and organisations declared."""
    whole = scenario.find("grid").network
    kept = sorted(host for site in whole.sites[:count] for host in site)
    at = {host: index for index, host in enumerate(kept)}
    both = np.ix_(kept, kept)
    net = Network([whole.hosts[host] for host in kept], whole.latency[both], whole.bandwidth[both])
    net.message_costs = whole.message_costs
    sites = [sorted(at[host] for host in site) for site in whole.sites[:count]]
    net.sites = sites
    net.trunks = [
        type(trunk)(
            trunk.name,
            [at[host] for host in trunk.from_ if host in at],
            [at[host] for host in trunk.to if host in at],
            trunk.capacity,
        )
        for trunk in whole.trunks
        if set(trunk.from_) & at.keys() and set(trunk.to) & at.keys()
    ]
    names = [net.hosts[site[0]].name for site in sites]
    net.groups = [
        *(DeclaredGroup(names[i], site, "cluster") for i, site in enumerate(sites)),
        *(
            DeclaredGroup(names[i][:-2], sorted(sites[i] + sites[i + 1]), "LAN")
            for i in range(0, count - 1, 2)
        ),
        DeclaredGroup("grid", list(range(len(kept))), "heavy WAN"),
    ][: None if count > 2 else -1]
    return net


def varied(net: Network, random: np.random.Generator) -> Network:
    """Returns the network with the latencies between clusters as in one run."""
    site_of = np.zeros(len(net.hosts), dtype=int)
    for number, site in enumerate(net.sites):
        site_of[site] = number
    drawn = np.exp(SPREAD * random.standard_normal((len(net.sites),) * 2))
    factors = np.where(site_of[:, None] == site_of, 1, drawn[site_of[:, None], site_of])
    found = net.copy()
    found.latency = net.latency * factors
    return found


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    single: Record = {"figure": "5"}
    if not page.has(single):
        page.add(single, {}, single_runs(settings.seed))
    means: list[Record] = [
        *({"figure": "6b", "clusters": count, "size": 2} for count in clusters),
        *({"figure": "7", "clusters": 8, "size": size} for size in sizes),
    ]
    for labels in means:
        if not page.has(labels):
            page.add(labels, {}, by_root(testbed(labels["clusters"]), labels["size"]))
    page.finish()


def single_runs(seed: int) -> Iterator[dict[str, Any]]:
    """Broadcasts of 2 bytes from rank 0, each in a network of its own; planned for the mean one."""
    net, random = testbed(8), np.random.default_rng(seed)
    skeletons = hlot_and_rivals(problem_of(net, 2, 0))
    for _ in range(samples):
        problem = problem_of(varied(net, random), 2, 0)
        yield {name: time_of(problem, skeleton) for name, skeleton in skeletons.items()}


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


def contents(parts: Sequence[Part]) -> list[Content]:
    found: list[Content] = []
    for part in parts:
        if part.labels["figure"] == "5":
            found += [_single(part, parts), _drawn(part)]
    clusters_table = _means(parts, "6b", "By clusters: 2 bytes")
    clusters_table.notes.append(
        "Means over all roots. In the paper the gain over MPICH-G2 grows with the clusters."
    )
    clusters_table.notes += growth(parts, "6b", "clusters")
    sizes_table = _means(parts, "7", "By size: 8 clusters")
    sizes_table.notes.append(
        "Means over all roots. In the paper the gain grows a little with the size."
    )
    sizes_table.notes += growth(parts, "7", "size")
    return [*found, clusters_table, sizes_table, *gains_drawn(parts)]


def growth(parts: Sequence[Part], figure: str, label: str) -> list[str]:
    """One sentence: whether HLOT gains more over MPICH-G2 from point to point of a figure."""
    own = [part for part in parts if part.labels["figure"] == figure]
    gains = [_mean(part, "mpich-g2") / _mean(part, "hlot") - 1 for part in own]
    steps = list(itertools.pairwise(gains))
    if not steps:
        return []
    falls = sum(after < before - noticed for before, after in steps)
    verdict = judged(not falls)
    if falls and gains[-1] == max(gains):
        verdict = "holds as a whole, not at each step"
    first, last = (own[at].labels[label] for at in (0, -1))
    ends = f"{first:,} to {last:,} {'bytes' if label == 'size' else label}"
    return [
        f"Figure {figure}: from {ends} the gain is {', '.join(map(percent, gains))}; it falls in "
        f"{falls} of {len(steps)} steps, where the paper has it grow: {verdict}."
    ]


def gains_drawn(parts: Sequence[Part]) -> list[Figure]:
    """Figures 6b and 7: how many times as long the rivals take as HLOT."""
    panels = []
    for figure, title, label in (("6b", "2 bytes", "clusters"), ("7", "8 clusters", "size")):
        own = [part for part in parts if part.labels["figure"] == figure]
        if not own:
            continue
        ticks = [
            units.size_to_text(part.labels[label]) if label == "size" else str(part.labels[label])
            for part in own
        ]
        lines = [
            Line(
                rival,
                [(at + 1, _mean(part, rival) / _mean(part, "hlot")) for at, part in enumerate(own)],
                colours[rival],
            )
            for rival in ("mpich-g2", "magpie")
        ]
        places = [(at + 1, tick) for at, tick in enumerate(ticks)]
        panels.append(LinePanel(title, label, "its time over HLOT's", places, lines,
                                logarithmic=False))  # fmt: skip
    drawing = Figure("Figures 6b and 7: HLOT beside its rivals", "grid-gains", line_chart(panels))
    drawing.notes.append("Means over all roots; above 1 HLOT is faster.")
    return [drawing] if panels else []


def _mean(part: Part, algorithm: str) -> float:
    return statistics.fmean(_times(part)[algorithm])


def _single(part: Part, all_parts: Sequence[Part]) -> Table:
    table = Table(
        f"Single runs (Figures 5 and 6a): {len(part.samples)} broadcasts of 2 bytes, 8 clusters",
        ["algorithm", "least", "median", "mean", "99 % interval of the mean", "most",
         "HLOT is faster by", "in"],
        notes=[
            "Figure 6a, a visual test, compares the intervals of the means: where they don't "
            "overlap, the algorithms differ.",
            "The latency between two clusters varies from run to run by a factor whose logarithm "
            f"has a standard deviation of {SPREAD}. Trees are those for the scenario's latencies.",
        ],
    )  # fmt: skip
    times = _times(part)
    for name, own in times.items():
        better = sum(a < b for a, b in zip(times["hlot"], own, strict=True)) / len(own)
        mean = statistics.fmean(own)
        error = _error(own)
        table.add(
            name, seconds(min(own)), seconds(statistics.median(own)), seconds(mean),
            f"{seconds(mean - error)} - {seconds(mean + error)}", seconds(max(own)),
            *(
                ("-", "-") if name == "hlot"
                else (percent(mean / statistics.fmean(times["hlot"]) - 1), percent(better))
            ),
        )  # fmt: skip
    table.notes += _verdicts(times["hlot"], times["mpich-g2"])
    table.notes += _whole_gain(part, all_parts)
    return table


def _error(times: Sequence[float]) -> float:
    """Half of the interval of the mean."""
    return NORMAL_99 * statistics.stdev(times) / math.sqrt(len(times))


def _verdicts(ours: Sequence[float], theirs: Sequence[float]) -> list[str]:
    """What the paper says of single runs by HLOT and by MPICH-G2."""
    better = sum(a < b for a, b in zip(ours, theirs, strict=True)) / len(ours)
    gain = statistics.fmean(theirs) / statistics.fmean(ours) - 1
    apart = statistics.fmean(theirs) - statistics.fmean(ours) > _error(ours) + _error(theirs)
    return [
        f"Figure 5: HLOT is faster than MPICH-G2 in {percent(better)} of the runs, by "
        f"{percent(gain)} on average, where the paper's is faster throughout: "
        f"{judged(better == 1)}.",
        f"Figure 6a: the intervals of HLOT and of MPICH-G2 {'do not overlap' if apart else 'meet'},"
        f" where the paper's are apart: {judged(apart)}.",
    ]


def _whole_gain(single: Part, parts: Sequence[Part]) -> list[str]:
    """Holds what the paper says of its testbed as a whole against each mean on all clusters."""
    gains = {
        part.labels["size"]: _mean(part, "mpich-g2") / _mean(part, "hlot") - 1
        for part in parts
        if part.labels["figure"] == "7"
    }
    if not gains:
        return []
    size, most = max(gains.items(), key=lambda each: each[1])
    in_runs = _mean(single, "mpich-g2") / _mean(single, "hlot") - 1
    found = max(most, in_runs)
    return [
        f"Abstract and section 5: around {percent(on_paper)} faster than MPICH-G2, it isn't said "
        f"with what sizes and roots. Here it is {percent(in_runs)} in single runs and at most "
        f"{percent(most)} over all roots, with {units.size_to_text(size)}: "
        f"{judged(found >= on_paper)}.",
    ]


def _drawn(part: Part) -> Figure:
    times = _times(part)
    count = len(part.samples)
    shown = ("hlot", "mpich-g2")

    def panel(title: str, x_label: str, order: bool) -> LinePanel:
        lines = [
            Line(name, list(enumerate(1e3 * t for t in (sorted(own) if order else own))), colour)
            for name in shown
            for own, colour in [(times[name], colours[name])]
        ]
        x_ticks = [(at, str(at)) for at in range(0, count + 1, 26)]
        return LinePanel(title, x_label, "ms", x_ticks, lines, logarithmic=False)

    panels = [panel("as they came", "run", order=False), panel("in order", "runs", order=True)]
    return Figure("Figures 5 and 6a: single broadcasts", "grid-single-runs", line_chart(panels))


def _means(parts: Sequence[Part], figure: str, title: str) -> Table:
    table = Table(
        title,
        ["clusters", "ranks", "size", "HLOT", "over mpich-g2", "over magpie", "Thalweg",
         "over HLOT"],
    )  # fmt: skip
    for part in parts:
        if part.labels["figure"] != figure:
            continue
        mean = {name: statistics.fmean(own) for name, own in _times(part).items()}
        table.add(
            part.labels["clusters"], len(part.samples), units.size_to_text(part.labels["size"]),
            seconds(mean["hlot"]),
            *(percent(mean[name] / mean["hlot"] - 1) for name in ("mpich-g2", "magpie")),
            seconds(mean[our_plan]), percent(mean["hlot"] / mean[our_plan] - 1),
        )  # fmt: skip
    return table


def _times(part: Part) -> Mapping[str, list[float]]:
    return {name: [each[name] for each in part.samples] for name in (*level_algorithms, our_plan)}
