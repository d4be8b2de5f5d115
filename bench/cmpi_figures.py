"""The drawings of `script/bench cmpi`, made of plain numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

from bench.plot import Line, LinePanel, quarters

colours = {"MPICH2 1.4": "#e6550d", "CMPI": "#1764ab", "Thalweg": "#31a354"}
dashes = {"block": "", "round robin": "6 3", "random": "2 3"}
"""How lines are dashed, by placement."""
shades = ("#e6550d", "#08519c", "#3182bd", "#6baed6", "#756bb1", "#9e9ac8", "#bcbddc")
"""Colours of networks."""


def over_mpich(
    kind: str,
    sweep: str,
    values: Sequence[str],
    savings: Mapping[tuple[str, str], Sequence[float | None]],
) -> LinePanel:
    """Draws MPICH2's time over that of others, from their savings by algorithm and placement: one
    for each value of the sweep, or None."""
    lines = [
        Line(
            f"{algorithm}, {placement}",
            [(at + 1, 1 / (1 - share)) for at, share in enumerate(each) if share is not None],
            colours[algorithm],
            dashes[placement],
        )
        for (algorithm, placement), each in savings.items()
    ]
    x_ticks = [(at + 1, value) for at, value in enumerate(values)]
    return LinePanel(kind, sweep, "MPICH2's time over its", x_ticks, lines, logarithmic=False)


def distribution(algorithm: str, placement: str, times: Sequence[float]) -> Line:
    """Draws the distribution of times in seconds."""
    points = [(time, 100 * (at + 1) / len(times)) for at, time in enumerate(sorted(times))]
    return Line(f"{algorithm}, {placement}", points, colours[algorithm], dashes[placement])


def pairs(
    title: str,
    shown: Callable[[float], str],
    shares: Sequence[float],
    found: Sequence[tuple[str, Sequence[float]]],
) -> LinePanel:
    """Draws the distribution over the pairs of hosts for each network, from its values at these
    percentiles; `shown` says a value with its unit."""
    lines = [
        Line(network, list(zip(each, shares, strict=True)), colour)
        for (network, each), colour in zip(found, itertools.cycle(shades), strict=False)
    ]
    return LinePanel(title, title, "pairs (%)", quarters(lines, shown), lines)


def of_times(title: str, lines: Sequence[Line], y_label: str) -> LinePanel:
    """Returns a panel of times in seconds, with ticks at the quarters of its logarithmic axis."""
    return LinePanel(title, "time", y_label, quarters(lines), lines)
