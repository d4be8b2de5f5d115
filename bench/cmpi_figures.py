"""The drawings of `script/bench cmpi`, made of plain numbers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from bench.plot import Line, LinePanel

colours = {"MPICH2 1.4": "#e6550d", "CMPI": "#1764ab", "Thalweg": "#31a354"}
dashes = {"block": "", "round robin": "6 3", "random": "2 3"}
"""How lines are dashed, by placement."""
shades = ("#e6550d", "#08519c", "#3182bd", "#6baed6", "#756bb1", "#9e9ac8", "#bcbddc")
"""Colours of networks."""


def over_mpich(
    kind: str,
    sweep: str,
    values: Sequence[str],
    gains: Mapping[tuple[str, str], Sequence[float | None]],
) -> LinePanel:
    """Draws MPICH2's time over that of others, from their gains by algorithm and placement: one
    for each value of the sweep, or None."""
    lines = [
        Line(
            f"{algorithm}, {placement}",
            [(at + 1, 1 / (1 - gain)) for at, gain in enumerate(each) if gain is not None],
            colours[algorithm],
            dashes[placement],
        )
        for (algorithm, placement), each in gains.items()
    ]
    x_ticks = [(at + 1, value) for at, value in enumerate(values)]
    return LinePanel(kind, sweep, "MPICH2's time over its", x_ticks, lines, logarithmic=False)


def distribution(algorithm: str, placement: str, times: Sequence[float]) -> Line:
    """Draws the distribution of times in seconds."""
    points = [(1000 * time, 100 * (at + 1) / len(times)) for at, time in enumerate(sorted(times))]
    return Line(f"{algorithm}, {placement}", points, colours[algorithm], dashes[placement])


def pairs(
    title: str, unit: float, shares: Sequence[float], found: Sequence[tuple[str, Sequence[float]]]
) -> LinePanel:
    """Draws the distribution over the pairs of hosts for each network, from its values at these
    percentiles; `unit` is what a value is multiplied by."""
    lines = [
        Line(network, [(unit * value, at) for value, at in zip(each, shares, strict=True)], colour)
        for (network, each), colour in zip(found, itertools.cycle(shades), strict=False)
    ]
    return panel(title, lines, "pairs (%)", title)


def panel(title: str, lines: Sequence[Line], y_label: str, x_label: str = "time (ms)") -> LinePanel:
    """Returns a panel with ticks at the quarters of its logarithmic axis."""
    every = [x for line in lines for x, _ in line.points]
    ticks = np.geomspace(min(every), max(every), 5)
    return LinePanel(title, x_label, y_label, [(float(x), f"{x:.3g}") for x in ticks], lines)
