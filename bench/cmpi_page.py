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
from bench.report import Content, Figure, Table, seconds

clusters = "virtual clusters"
processes = "processes"
clouds = "clouds"
percentiles = (10, 25, 50, 75, 90, 100)
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
        panels.append(cmpi_figures.panel(kind, lines, "clusters (%)"))
    return [
        table,
        Figure("Distribution over virtual clusters", "cmpi-clusters", line_chart(panels)),
    ]


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
            points = [(1000 * time, share) for time, share in zip(row, percentiles, strict=True)]
            lines.append(Line(name, points, colours[name]))
        panels.append(cmpi_figures.panel(named[placement], lines, "ranks (%)"))
    drawing = Figure("Times of single ranks in a scatter", "cmpi-ranks-scatter", line_chart(panels))
    return [table, drawing]


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
    latencies = [(each.network, each.latencies) for each in linear]
    rates = [(each.network, each.rates) for each in linear]
    panels = [
        cmpi_figures.pairs("latency (ms)", 1e3, shares, latencies),
        cmpi_figures.pairs("bandwidth (MB/s)", 1e-6, shares, rates),
    ]
    return [table, Figure("Distribution of the pairs", "cmpi-pairs", line_chart(panels))]
