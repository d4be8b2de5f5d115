"""The page of `script/bench cmpi`: tables and plots beside the paper's numbers."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench import cmpi_figures, cmpi_gains
from bench.cmpi_figures import colours, dashes
from bench.cmpi_gains import Times, grouped, named
from bench.page import Part, Record
from bench.plot import Line, line_chart
from bench.report import Content, Figure, Table, judged, seconds
from thalweg import units

clusters = "virtual clusters"
processes = "processes"
clouds = "clouds"
percentiles = (10, 25, 50, 75, 90, 100)
hosts_of_paper, levels_of_paper = 64, 4  # of Figure 5
shares = tuple(range(0, 101, 5))
"""Percentiles of a distribution that is drawn."""


@dataclass(frozen=True)
class Spread:
    """Percentiles of the ranks' times in a scatter."""

    placement: str
    seed: int
    mpich: Mapping[str, float]
    cmpi: Mapping[str, float]


@dataclass(frozen=True)
class Cloud:
    """A network's shape."""

    network: str
    scale: str
    hosts: int
    latency: float  # share of the pairs whose directions differ in level
    bandwidth: float
    groups: Sequence[Sequence[int]]  # hosts of each group, by level from the lowest
    latencies: Sequence[float]  # of the pairs, in seconds, at each of `shares`
    rates: Sequence[float]  # of one flow, in bytes per second


def contents(parts: Sequence[Part]) -> list[Content]:
    spreads = [Spread(**sample) for sample in samples(parts, processes)]
    shown_clouds = [Cloud(**sample) for sample in samples(parts, clouds)]
    timed = {part.labels["sweep"] for part in parts} - {processes, clouds}
    found = [Times(**sample) for sample in samples(parts, *timed)]
    several = [each for each in found if each.sweep == clusters]
    points = [each for each in found if each.sweep != clusters]
    varied = [each for each in points if each.sweep in cmpi_gains.settings]
    return [
        cmpi_gains.beside_paper(points),
        *cmpi_gains.gains_drawn(points, "bytes", "Figure 6 of the paper", "cmpi-sizes"),
        cmpi_gains.losses(varied),
        cmpi_gains.together(points),
        *cmpi_gains.gains_drawn(points, "ranks", "The appendix's ranks", "cmpi-ranks"),
        cmpi_gains.scales(varied),
        cmpi_gains.in_groups(points),
        cmpi_gains.default(points),
        *(
            cmpi_gains.by_sweep(points, sweep)
            for sweep in dict.fromkeys(each.sweep for each in points)
        ),
        *virtual_clusters(several),
        *single_processes(spreads),
        *shapes(shown_clouds),
    ]


def samples(parts: Sequence[Part], *sweeps: str) -> list[Record]:
    return [sample for part in parts if part.labels["sweep"] in sweeps for sample in part.samples]


def virtual_clusters(found: Sequence[Times]) -> list[Content]:
    """Figure 8: the distribution of the times over many networks."""
    if not found:
        return []
    table = Table(
        "Distribution over virtual clusters",
        ["collective", "placement", "networks", "algorithm", *(f"{p} %" for p in percentiles),
         "CMPI is faster in"],
        notes=[
            "Figure 8 of the paper: bcast and scatter on clouds drawn from seeds; percentiles. "
            "There CMPI is the faster one and the more stable one.",
        ],
    )  # fmt: skip
    panels = []
    for (kind,), of_kind in grouped(found, lambda each: (each.collective,)).items():
        lines = []
        for (placement,), group in grouped(of_kind, lambda each: (each.placement,)).items():
            faster = f"{sum(each.cmpi < each.mpich for each in group)} of {len(group)}"
            for name, values in (
                ("MPICH2 1.4", [each.mpich for each in group]),
                ("CMPI", [each.cmpi for each in group]),
            ):
                row = [seconds(float(p)) for p in np.percentile(values, percentiles)]
                last = faster if name == "CMPI" else ""
                table.add(kind, placement, len(values), name, *row, last)
                lines.append(cmpi_figures.distribution(name, placement, values))
        panels.append(cmpi_figures.of_times(kind, lines, "clusters (%)"))
    table.notes.append(over_networks(found))
    return [
        table,
        Figure("Distribution over virtual clusters", "cmpi-clusters", line_chart(panels)),
    ]


def over_networks(found: Sequence[Times]) -> str:
    """One sentence on Figure 8: where CMPI is the faster and the more stable one."""
    faster, steadier, rows = [], [], []
    for (kind, placement), group in grouped(
        found, lambda each: (each.collective, each.placement)
    ).items():
        rows.append(f"{kind} {named[placement]}")
        if 2 * sum(each.cmpi < each.mpich for each in group) > len(group):
            faster.append(rows[-1])
        if middle([each.cmpi for each in group]) < middle([each.mpich for each in group]):
            steadier.append(rows[-1])
    verdict = judged(faster == steadier == rows, in_part=2 * len(faster) > len(rows))
    return (
        f"Figure 8: CMPI is faster on most networks for {listed(faster)}; the middle 80 % of its "
        f"times lie closer together for {listed(steadier)}: {verdict}."
    )


def middle(times: Sequence[float]) -> float:
    """Returns how far apart the middle 80 % lie."""
    low, high = np.percentile(times, [10, 90])
    return float(high - low)


def listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def single_processes(found: Sequence[Spread]) -> list[Content]:
    """Figure 7: the distribution of single ranks' times in a scatter."""
    if not found:
        return []
    table = Table(
        "Times of single ranks in a scatter",
        ["placement", "algorithm", *(f"{p} %" for p in percentiles)],
        notes=[
            "Figure 7 of the paper: percentiles over the ranks, each the median of the networks. "
            "There CMPI's ranks need more equal times than MPICH2's.",
        ],
    )
    panels = []
    for placement in dashes:
        own = [each for each in found if each.placement == placement]
        lines = []
        for name, of in (("MPICH2 1.4", [s.mpich for s in own]), ("CMPI", [s.cmpi for s in own])):
            row = [statistics.median(each[str(p)] for each in of) for p in percentiles]
            table.add(placement, name, *map(seconds, row))
            points = list(zip(row, percentiles, strict=True))
            lines.append(Line(name, points, colours[name]))
        panels.append(cmpi_figures.of_times(named[placement], lines, "ranks (%)"))
    table.notes.append(over_ranks(found))
    drawing = Figure("Times of single ranks in a scatter", "cmpi-ranks-scatter", line_chart(panels))
    return [table, drawing]


def over_ranks(found: Sequence[Spread]) -> str:
    """One sentence on Figure 7: where CMPI's ranks need more equal times."""
    equal, rows = [], []
    for placement in dashes:
        group = [each for each in found if each.placement == placement]
        rows.append(named[placement])
        ours, theirs = (
            statistics.median(each["90"] for each in of)
            - statistics.median(each["10"] for each in of)
            for of in ([each.cmpi for each in group], [each.mpich for each in group])
        )
        if ours < theirs:
            equal.append(rows[-1])
    return (
        "Figure 7: the times of the middle 80 % of CMPI's ranks lie closer together with ranks "
        f"{listed(equal)}: {judged(equal == rows)}."
    )


def shapes(found: Sequence[Cloud]) -> list[Content]:
    """Figures 2 and 5, and section 3.2: asymmetry after levels, and the hierarchy."""
    if not found:
        return []
    table = Table(
        "The clouds: asymmetry and hierarchy",
        ["network", "levels", "hosts", "asymmetric latency", "asymmetric bandwidth",
         "groups by level", "hosts of the groups above single hosts"],
        notes=[
            "k = 4, 1 MB, T_span = 1. Asymmetric: the levels of the two directions differ. The "
            "paper finds 58.2 % of the pairs of 128 instances asymmetric in latency and 18.2 % in "
            "bandwidth, after levels (section 3.2), and a hierarchy of four levels with balanced "
            "groups on 64 (Figure 5).",
            "The scenario draws 58.2 % and 18.2 % of its pairs with unequal directions, before "
            "levels: after them fewer are left, since a pair counts only if a level's edge lies "
            "between its directions.",
        ],
    )  # fmt: skip
    for each in found:
        lowest = sorted(each.groups[1], reverse=True) if len(each.groups) > 1 else []
        table.add(
            each.network,
            each.scale,
            each.hosts,
            f"{100 * each.latency:.1f} %",
            f"{100 * each.bandwidth:.1f} %",
            ", ".join(str(len(groups)) for groups in each.groups),
            ", ".join(map(str, lowest)),
        )
    linear = [each for each in found if each.scale == "linear"]
    if like_paper := [each for each in linear if each.hosts == hosts_of_paper]:
        table.notes.append(hierarchies(like_paper))
    latencies = [(each.network, each.latencies) for each in linear]
    rates = [(each.network, each.rates) for each in linear]
    panels = [
        cmpi_figures.pairs("latency", seconds, shares, latencies),
        cmpi_figures.pairs("bandwidth", units.rate_to_text, shares, rates),
    ]
    return [table, Figure("Distribution of the pairs", "cmpi-pairs", line_chart(panels))]


def hierarchies(found: Sequence[Cloud]) -> str:
    """One sentence on Figure 5: how many levels networks of 64 hosts have, how equal groups are."""
    levels = [len(each.groups) for each in found]
    hosts = [group for each in found if len(each.groups) > 1 for group in each.groups[1]]
    near = all(abs(each - levels_of_paper) <= 1 for each in levels)
    holds = near and bool(hosts) and max(hosts) <= 2 * min(hosts)
    return (
        f"Figure 5: {min(levels)} to {max(levels)} levels on {hosts_of_paper} hosts, and above "
        f"single hosts groups of {min(hosts, default=0)} to {max(hosts, default=0)}, where the "
        f"paper has {levels_of_paper} levels and balanced groups; within one level, and a "
        f"factor of two: {judged(holds)}."
    )
