"""CloudMap's Figures 1 to 4: a cloud over days and as matrices, and what programs send."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median

import numpy as np
from numpy.typing import NDArray

from bench import drift
from bench.networks import megabit
from bench.page import Record
from bench.plot import BarPanel, Line, LinePanel, Stack, bar_chart, line_chart
from bench.report import Figure, times
from thalweg import communication, communication_picture, hierarchy, mapping, picture
from thalweg.communication_picture import Panel
from thalweg.mapping import Communication
from thalweg.network import Network
from thalweg.report import bins

Floats = NDArray[np.float64]
Hours = Sequence[tuple[float, Network]]
quantities: dict[str, Callable[[Network], Floats]] = {
    "latency (us)": lambda net: 1e6 * net.latency,
    "rate (Mbit/s)": lambda net: net.bandwidth / megabit,
}
"""What a pair of hosts has, by its name with its unit."""
tones = ("#e6550d", "#444", "#1764ab", "#31a354")
"""A colour for each pair whose days are drawn as lines."""
segments = {
    "up to the least": "#f7f7f7", "lower quarter": "#c7e9c0", "to the median": "#31a354",
    "from the median": "#74c476", "upper quarter": "#c7e9c0",
}  # fmt: skip
"""The parts of a box plot as a stack, from below, and their colours."""


def days_drawn(net: Network) -> list[Figure]:
    """Figures 1 and 3: pairs of hosts over two days that drift, and how their values spread."""
    hours = list(drift.jumps.networks(net, seed=1))
    varies = most_over_least(hours)
    lines = Figure(
        "Pairs of a cloud over two days, simulated",
        "cloudmap-pairs",
        line_chart([over_time(hours, name) for name in quantities]),
        [
            "Figure 1 of the paper is of a day of Azure; these are days of the cloud below, whose "
            "drift is drawn: each pair keeps its latency and rate for "
            f"{drift.jumps.steady:g} hours on the mean. Most over least latency of a pair: "
            f"{times(min(varies))} to {times(max(varies))}, in the median {times(median(varies))} "
            "(paper: most quadruple).",
        ],
    )
    boxes = Figure(
        "Distributions of the same days, simulated",
        "cloudmap-boxes",
        bar_chart([spread(hours, name) for name in quantities], segments),
        [
            f"Figure 3 of the paper is of Azure, too; here from {net.hosts[0].name} to each other "
            "host, hour by hour: least, quartiles and most.",
        ],
    )
    return [lines, boxes]


def most_over_least(hours: Hours) -> list[float]:
    """Returns by how much the latency of each ordered pair varies."""
    latencies = np.array([net.latency for _, net in hours])
    apart = latencies[:, ~np.eye(latencies.shape[1], dtype=bool)]
    ratios: list[float] = (apart.max(axis=0) / apart.min(axis=0)).tolist()
    return ratios


def over_time(hours: Hours, name: str) -> LinePanel:
    """Draws a quantity of some pairs, all from the first host."""
    names = [host.name for host in hours[0][1].hosts]
    lines = [
        Line(f"{names[0]} to {names[to]}", list(values(hours, name, to)), colour)
        for to, colour in zip(range(1, len(names)), tones, strict=False)
    ]
    return LinePanel(name, "hours", name, drift.ticks, lines, logarithmic=False)


def spread(hours: Hours, name: str) -> BarPanel:
    """Draws box plots of a quantity, from the first host to each other one."""
    hosts = hours[0][1].hosts
    stacks = [
        Stack(hosts[to].name, box([value for _, value in values(hours, name, to)]))
        for to in range(1, len(hosts))
    ]
    return BarPanel(name, name, stacks)


def values(hours: Hours, name: str, to: int) -> list[tuple[float, float]]:
    """Returns each hour and a quantity then, from the first host to another."""
    return [(hour, float(quantities[name](net)[0, to])) for hour, net in hours]


def box(found: Sequence[float]) -> dict[str, float]:
    """Returns least, quartiles and most, each as what it has above the one before."""
    marks = np.percentile(found, [0, 25, 50, 75, 100])
    return dict(zip(segments, np.diff(marks, prepend=0.0).tolist(), strict=True))


def network_drawn(net: Network) -> list[Figure]:
    """Figure 2: a network as matrices."""
    tree = hierarchy.build(net)
    figures = [
        Figure(f"A cloud's {view}", f"cloudmap-{view}", picture.svg(net, view, tree))
        for view in picture.MATRICES
    ]
    figures[0].notes.append(
        "Figure 2 of the paper is of Azure, at three moments; this is a cloud that is drawn, at "
        f"one. Between its pairs of hosts {unevenness(net)} (paper: no asymmetry)."
    )
    return figures


def unevenness(net: Network) -> str:
    """Says by how much pairs of hosts differ, and the two directions of a pair."""
    apart = ~np.eye(len(net.hosts), dtype=bool)
    said: list[str] = []
    directed: list[str] = []
    for name, matrix in (("latencies", net.latency), ("rates", net.bandwidth)):
        found, both = matrix[apart], np.maximum(matrix, matrix.T)[apart]
        said.append(f"{name} differ by up to {times(float(found.max() / found.min()))}")
        ratios = both / np.minimum(matrix, matrix.T)[apart]
        directed.append(
            f"{name} differ by {times(float(np.median(ratios)))} in the median and up to "
            f"{times(float(ratios.max()))}"
        )
    return f"{' and '.join(said)}; in the two directions of a pair {' and '.join(directed)}"


def patterns_drawn(matrices: Mapping[str, Communication]) -> list[Figure]:
    """Figure 4: who sends to whom in each pattern, and how unequal that is."""
    panels = panels_of(matrices)
    drawings = [
        Figure(
            f"Communication matrices: {', '.join(each.title for each in four)}",
            f"cloudmap-patterns-{number}",
            communication_picture.panels(four, "bytes"),
        )
        for number, four in enumerate((panels[:4], panels[4:]), 1)
    ]
    drawings[-1].notes.append(
        "Figure 4 of the paper is of the NAS benchmarks, and of numbers of messages; these are "
        f"bytes. {heterogeneity(matrices)}"
    )
    return drawings


def recorded_drawn(samples: Sequence[Record], ranks: int) -> Figure:
    """Figure 4 of programs: what recorded kernels sent."""
    matrices = {}
    for name in dict.fromkeys(each["pattern"] for each in samples):
        own = [each for each in samples if each["pattern"] == name]
        matrices[name] = mapping.communication(
            ranks,
            [each["sender"] for each in own],
            [each["receiver"] for each in own],
            [1.0] * len(own),
            [each["bytes"] for each in own],
        )
    drawing = communication_picture.panels(panels_of(matrices, most_drawn), "bytes")
    title = f"Communication matrices, recorded: {', '.join(matrices)}"
    return Figure(
        title,
        "cloudmap-recorded",
        drawing,
        [
            "ft and bt are kernels of examples/patterns.cpp, with their sizes, that communicate as "
            "the NAS benchmarks FT and BT, which Figure 4 of the paper has; IS (NAS) is the "
            "benchmark itself, of class A, run by SMPI. Bytes, where the paper has numbers of "
            "messages. An alltoall counts as a block from each rank to each other, an alltoallv, "
            "by which IS sends its keys, as blocks of their mean size, so that a program with "
            "little else has no heterogeneity by construction; the paper discards collectives "
            "(IV-B). Other collectives don't count here either. "
            f"{heterogeneity(matrices)}",
        ],
    )


most_drawn = 32
"""Rows of a recorded matrix: where all send to all, a file has a mark for each pair of them."""


def panels_of(matrices: Mapping[str, Communication], most: int | None = None) -> list[Panel]:
    """Draws matrices with a row for each rank, or at most so many."""
    return [
        communication_picture.panel(
            name, sent, "bytes", bins.in_order(sent.ranks, most or sent.ranks)
        )
        for name, sent in matrices.items()
    ]


def heterogeneity(matrices: Mapping[str, Communication]) -> str:
    found = (
        f"{name} {communication.summary(sent, 'bytes').heterogeneity:.2f}"
        for name, sent in matrices.items()
    )
    return f"Heterogeneity of bytes: {', '.join(found)}."
