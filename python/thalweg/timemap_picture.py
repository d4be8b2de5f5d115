"""Draws timemaps and lateness as SVG, in colours that everybody can tell apart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from thalweg import units
from thalweg.analysis.timemaps import Curve, Lateness
from thalweg.drawing import colour, escape, svg, text

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 720, 360, 70, 40, 50
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""After Okabe and Ito: distinct also to the colour-blind."""


@dataclass(frozen=True)
class Configuration:
    """A run's curves and what the legend calls them."""

    name: str
    curves: Sequence[Curve]


def timemap(title: str, configurations: Sequence[Configuration]) -> str:
    """Draws the curves of one or more configurations over each other.

    From left to right: time, 0 where the data is at the root. From top to bottom: stages, the
    program above and the root below, scaled to the same height for all.
    """
    everything = [curve for each in configurations for curve in each.curves]
    low = min((curve.times[0] for curve in everything), default=0.0)
    high = max((curve.times[-1] for curve in everything), default=0.0)
    span = max(high - low, 1.0)

    def x(time: float) -> float:
        return LEFT + (time - low) / span * WIDTH

    def y(height: float) -> float:
        return TOP + (1 - height) * HEIGHT

    parts = [text(LEFT, 16, title), *_time_axis(low, high, x), *_stage_axis(x(0))]
    for number, each in enumerate(configurations):
        stroke = COLOURS[number % len(COLOURS)]
        opacity = max(0.15, min(1.0, 6 / max(1, len(each.curves))))
        for curve in each.curves:
            points = list(zip(curve.times, curve.heights, strict=True))
            line = " ".join(f"{x(time):.1f},{y(height):.1f}" for time, height in points)
            whole = units.ns_to_text(curve.times[-1] - curve.times[0])
            parts.append(
                f'<polyline points="{line}" fill="none" stroke="{stroke}" stroke-width="1.5" '
                f'stroke-opacity="{opacity:.2f}" data-key="rank {curve.rank}"><title>'
                f"{escape(f'{each.name}, rank {curve.rank}: {whole}')}</title></polyline>"
            )
        top = TOP + 16 * number
        parts.append(f'<rect x="{LEFT + WIDTH + 14}" y="{top}" width="12" height="4" '
                     f'fill="{stroke}"/>')  # fmt: skip
        parts.append(text(LEFT + WIDTH + 32, top + 6, each.name))
    room = 40 + 7 * max((len(each.name) for each in configurations), default=0)
    return svg(LEFT + WIDTH + room, TOP + HEIGHT + BOTTOM, parts)


def _time_axis(low: float, high: float, x) -> list[str]:  # type: ignore[no-untyped-def]
    bottom = TOP + HEIGHT
    parts = [f'<path d="M{LEFT},{bottom} H{LEFT + WIDTH}" stroke="#888"/>']
    for time in _ticks(low, high):
        parts.append(
            f'<path d="M{x(time):.1f},{TOP} V{bottom}" stroke="#888" stroke-opacity="0.25"/>'
        )
        words = units.ns_to_text(abs(time)) if time else "0"
        parts.append(text(x(time), bottom + 14, "-" * (time < 0) + words, "middle"))
    words = "mean time before and after the data is at the root"
    return [*parts, text(LEFT + WIDTH / 2, bottom + 32, words, "middle")]


def _stage_axis(zero: float) -> list[str]:
    return [
        text(LEFT - 6, TOP + 6, "program", "end"), text(LEFT - 6, TOP + HEIGHT, "root", "end"),
        f'<path d="M{zero:.1f},{TOP} V{TOP + HEIGHT}" stroke="#888" stroke-dasharray="3 3"/>',
        text(zero - 8, TOP - 6, "down", "end"), text(zero + 8, TOP - 6, "up"),
    ]  # fmt: skip


def _ticks(low: float, high: float) -> list[float]:
    """Returns about eight round times between two."""
    rough = max(high - low, 1.0) / 8
    step = next(
        factor * 10 ** math.floor(math.log10(rough)) for factor in (1, 2, 5, 10)
        if factor * 10 ** math.floor(math.log10(rough)) >= rough
    )  # fmt: skip
    return [at * step for at in range(math.ceil(low / step), math.floor(high / step) + 1)]


def lateness(title: str, found: Lateness) -> str:
    """Draws ranks from top to bottom, calls from left to right: brighter is later.

    The scale is that of the square root, so that small lateness is seen beside a large one.
    """
    rows, columns = found.late.shape
    width, height = max(2, min(12, WIDTH // columns)), max(3, min(14, 2 * HEIGHT // rows))
    most = float(found.late.max()) or 1.0
    parts = [text(LEFT, 16, title)]
    for row, ranks in enumerate(found.ranks):
        name = f"rank {ranks[0]}" if len(ranks) == 1 else f"{ranks[0]} to {ranks[-1]}"
        top = TOP + row * height
        if row % max(1, math.ceil(12 / height)) == 0:
            parts.append(text(LEFT - 6, top + height - 1, name, "end", small=height < 10))
        for column, (first, last) in enumerate(found.calls):
            late = float(found.late[row, column])
            calls = f"call {first}" if first == last else f"calls {first} to {last}"
            tip = f"{name}, {calls}: {units.ns_to_text(late)} late"
            parts.append(
                f'<rect x="{LEFT + column * width}" y="{top}" width="{width}" height="{height}" '
                f'fill="{colour(math.sqrt(late / most))}"><title>{escape(tip)}</title></rect>'
            )
    right, bottom = LEFT + columns * width, TOP + rows * height
    parts.append(text((LEFT + right) / 2, bottom + 18, "calls, in the order of time", "middle"))
    for step in range(11):
        parts.append(f'<rect x="{right + 16}" y="{TOP + 110 - 11 * step}" width="14" height="11" '
                     f'fill="{colour(step / 10)}"/>')  # fmt: skip
    for share, top in ((1.0, TOP + 10), (0.25, TOP + 65)):
        parts.append(text(right + 36, top, units.ns_to_text(share * most)))
    parts.append(text(right + 36, TOP + 121, "not late"))
    return svg(right + 110, max(bottom + BOTTOM, TOP + 150), parts)
