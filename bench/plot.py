"""Line charts and stacked bars as SVG, in the manner of thalweg.drawing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from bench.report import seconds
from thalweg.drawing import svg, text

width, height = 380, 250  # of a panel's plot, without axes
left, top, bottom = 56, 30, 50
legend_width = 150
grid, ink = "#ddd", "#444"


@dataclass(frozen=True)
class Line:
    """A series of points, joined; x must be above 0."""

    label: str
    points: Sequence[tuple[float, float]]
    colour: str
    dashes: str = ""  # as stroke-dasharray


@dataclass(frozen=True)
class LinePanel:
    """Lines from zero upwards, with a tick on the x axis at each of `x_ticks`."""

    title: str
    x_label: str
    y_label: str
    x_ticks: Sequence[tuple[float, str]]
    lines: Sequence[Line]
    logarithmic: bool = True
    """Whether the x axis is."""


@dataclass(frozen=True)
class Stack:
    """A bar of parts on top of each other."""

    label: str
    parts: Mapping[str, float]


@dataclass(frozen=True)
class BarPanel:
    """Bars side by side."""

    title: str
    y_label: str
    stacks: Sequence[Stack]


def line_chart(panels: Sequence[LinePanel]) -> str:
    """Panels side by side; the legend, of all labels, to their right."""
    drawn = [_lines(panel, _offset(index)) for index, panel in enumerate(panels)]
    samples = {line.label: line for panel in panels for line in panel.lines}
    marks = [(label, _stroke(line) + ' d="M0,0 h22"/>') for label, line in samples.items()]
    return _chart(len(panels), drawn, marks)


def bar_chart(panels: Sequence[BarPanel], colours: Mapping[str, str]) -> str:
    """Panels side by side, each with its own scale; `colours` by part, from the bottom up."""
    drawn = [_bars(panel, colours, _offset(index)) for index, panel in enumerate(panels)]
    marks = [
        (part, f'<rect y="-5" width="22" height="10" fill="{colour}"/>')
        for part, colour in reversed(list(colours.items()))
    ]
    return _chart(len(panels), drawn, marks)


def ticks(most: float) -> list[float]:
    """At most six round numbers from 0 to at least `most`."""
    if most <= 0:
        return [0.0, 1.0]
    step = 10.0 ** math.floor(math.log10(most / 5))
    step *= next(factor for factor in (1, 2, 2.5, 5, 10) if factor * step * 5 >= most)
    return [n * step for n in range(math.ceil(most / step - 1e-9) + 1)]


def quarters(
    lines: Sequence[Line], shown: Callable[[float], str] = seconds
) -> list[tuple[float, str]]:
    """Ticks at the ends and the quarters of the logarithmic axis of these lines; `shown` says what
    x is, with its unit."""
    every = [x for line in lines for x, _ in line.points]
    return [(x, shown(x)) for x in np.geomspace(min(every), max(every), 5).tolist()]


def _chart(panels: int, drawn: Sequence[Sequence[str]], marks: Sequence[tuple[str, str]]) -> str:
    x = _offset(panels) - left + 20
    legend = [
        f'<g transform="translate({x},{top + 8 + 16 * row})">{mark}{text(28, 4, label)}</g>'
        for row, (label, mark) in enumerate(marks)
    ]
    tall = max(top + height + bottom, top + 16 * len(marks) + 8)
    wide = x + legend_width
    paper = f'<rect width="{wide}" height="{tall}" fill="white"/>'
    return svg(wide, tall, [paper, *(part for parts in drawn for part in parts), *legend])


def _offset(panel: int) -> int:
    """Where a panel's plot begins."""
    return left + panel * (left + width)


def _lines(panel: LinePanel, x0: int) -> list[str]:
    scale = ticks(max((y for line in panel.lines for _, y in line.points), default=0))
    to_y = _vertical(scale)
    on_axis: Callable[[float], float] = math.log if panel.logarithmic else float
    first, last = (on_axis(panel.x_ticks[end][0]) for end in (0, -1))

    def to_x(value: float) -> float:
        return x0 + 10 + (width - 20) * (on_axis(value) - first) / ((last - first) or 1)

    parts = [*_frame(panel.title, panel.y_label, scale, x0)]
    for value, label in panel.x_ticks:
        parts.append(text(to_x(value), top + height + 16, label, "middle"))
    parts.append(text(x0 + width / 2, top + height + 36, panel.x_label, "middle"))
    for line in panel.lines:
        places = [(to_x(x), to_y(y)) for x, y in line.points]
        path = " L".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'{_stroke(line)} d="M{path}"><title>{escape(line.label)}</title></path>')
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{line.colour}">'
            f"<title>{escape(line.label)}: {value:.4g}</title></circle>"
            for (x, y), (_, value) in zip(places, line.points, strict=True)
        ]
    return parts


def _bars(panel: BarPanel, colours: Mapping[str, str], x0: int) -> list[str]:
    scale = ticks(max((sum(stack.parts.values()) for stack in panel.stacks), default=0))
    to_y = _vertical(scale)
    parts = [*_frame(panel.title, panel.y_label, scale, x0)]
    slot = width / max(len(panel.stacks), 1)
    for index, stack in enumerate(panel.stacks):
        x, below = x0 + slot * index + 0.2 * slot, 0.0
        for part, colour in colours.items():
            value = stack.parts.get(part, 0.0)
            parts.append(
                f'<rect x="{x:.1f}" y="{to_y(below + value):.1f}" width="{0.6 * slot:.1f}" '
                f'height="{to_y(below) - to_y(below + value):.1f}" fill="{colour}">'
                f"<title>{escape(stack.label)}, {escape(part)}: {value:.4g}</title></rect>"
            )
            below += value
        for row, word in enumerate(stack.label.split("\n")):
            parts.append(text(x + 0.3 * slot, top + height + 16 + 13 * row, word, "middle"))
    return parts


def _vertical(scale: Sequence[float]) -> Callable[[float], float]:
    return lambda value: top + height * (1 - value / scale[-1])


def _frame(title: str, y_label: str, scale: Sequence[float], x0: int) -> list[str]:
    """Title and vertical axis."""
    to_y = _vertical(scale)
    heading = text(x0 + width / 2, top - 12, title, "middle")
    parts = [
        f'<g font-size="12" font-weight="bold">{heading}</g>',
        f'<g transform="translate({x0 - 42},{top + height / 2:.0f}) rotate(-90)">'
        f"{text(0, 0, y_label, 'middle')}</g>",
    ]
    for value in scale:
        y = to_y(value)
        colour = ink if value == 0 else grid
        parts.append(f'<path d="M{x0},{y:.1f} h{width}" stroke="{colour}" fill="none"/>')
        parts.append(text(x0 - 5, y + 3, f"{value:,.6g}", "end"))
    return parts


def _stroke(line: Line) -> str:
    """A path without its end."""
    dashes = f' stroke-dasharray="{line.dashes}"' if line.dashes else ""
    return f'<path fill="none" stroke="{line.colour}" stroke-width="1.6"{dashes}'
