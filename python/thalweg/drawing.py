"""SVG drawings of networks and plans, to stand in a page (thalweg.report) or alone."""

import math
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from thalweg.hierarchy import Hierarchy

HOST = 34
"""Width of a host, in units of the drawing."""
LEVEL = 22
"""Height of a level of the hierarchy."""


def colour(score: float) -> str:
    """From red (0) to green (1)."""
    return f"rgb({round(225 - 130 * score)},{round(120 + 85 * score)},110)"


def host_order(hierarchy: Hierarchy) -> list[int]:
    """The hosts so that every group of the hierarchy is a stretch."""
    order: list[int] = [host for group in hierarchy.levels[-1].groups for host in group]
    for level in reversed(hierarchy.levels):
        place = {host: at for at, host in enumerate(order)}
        groups = sorted(level.groups, key=lambda group: min(place[host] for host in group))
        order = [host for group in groups for host in sorted(group, key=place.__getitem__)]
    return order


def heatmap(
    names: Sequence[str], scores: NDArray[np.float64], texts: Sequence[Sequence[str]]
) -> str:
    """A matrix from rows to columns; a cell shows its text when pointed at."""
    size, left = 14, 8 * max(map(len, names)) + 6
    cells = []
    for row, name in enumerate(names):
        y = left + row * size
        cells.append(text(left - 4, y + size - 3, name, anchor="end"))
        cells.append(
            f'<text transform="translate({left + row * size + size - 3},{left - 4}) rotate(-90)">'
            f"{escape(name)}</text>"
        )
        for column, other in enumerate(names):
            if row == column:
                continue
            title = f"{name} to {other}: {texts[row][column]}"
            cells.append(
                f'<rect x="{left + column * size}" y="{y}" width="{size - 1}" '
                f'height="{size - 1}" fill="{colour(float(scores[row, column]))}">'
                f"<title>{escape(title)}</title></rect>"
            )
    side = left + size * len(names) + 4
    return svg(side, side, cells)


def hierarchy(tree: Hierarchy, names: Sequence[str]) -> str:
    """Its groups as boxes, all hosts on top."""
    order = host_order(tree)
    right, below = _room(names)
    parts = [*_boxes(tree, order, names, 0), *_names(order, names, _height(tree))]
    return svg(len(order) * HOST + right, _height(tree) + below, parts)


def transfers(
    tree: Hierarchy,
    names: Sequence[str],
    sent: Mapping[tuple[int, int], float],
    titles: Mapping[tuple[int, int], str],
) -> str:
    """Arcs between hosts over the hierarchy: what each sends to each, the wider the more.

    `sent`: (from, to) -> bytes, by host. Arcs to the right run above, to the left below.
    """
    order = host_order(tree)
    place = {host: at for at, host in enumerate(order)}
    longest = max((abs(place[a] - place[b]) for a, b in sent), default=1)
    room = min(14 + 9 * longest, 220)
    middle = room + 8
    parts = _boxes(tree, order, names, middle + room + 16)
    most = max(sent.values(), default=1.0)
    for (a, b), size in sorted(
        sent.items(), key=lambda item: -abs(place[item[0][0]] - place[item[0][1]])
    ):
        x1, x2 = (place[end] * HOST + HOST / 2 for end in (a, b))
        side = -1 if x2 > x1 else 1
        height = room * (0.25 + 0.75 * abs(place[a] - place[b]) / longest)
        far = tree.distance(a, b) / max(1, len(tree.levels) - 1)
        parts.append(
            f'<path d="M{x1:.0f},{middle} Q{(x1 + x2) / 2:.0f},{middle + side * height * 1.8:.0f} '
            f'{x2:.0f},{middle}" fill="none" stroke="{colour(1 - far)}" '
            f'stroke-width="{1 + 3 * math.sqrt(size / most):.1f}" marker-end="url(#tip)">'
            f"<title>{escape(titles[a, b])}</title></path>"
        )
    parts += [f'<circle cx="{place[h] * HOST + HOST / 2:.0f}" cy="{middle}" r="3"/>' for h in order]
    bottom = middle + room + 16 + _height(tree)
    marker = (
        '<defs><marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="8" '
        'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0,0 L6,3 L0,6 z"/></marker></defs>'
    )
    right, below = _room(names)
    everything = [marker, *parts, *_names(order, names, bottom)]
    return svg(len(order) * HOST + right, bottom + below, everything)


def _height(tree: Hierarchy) -> int:
    return LEVEL * (len(tree.levels) - 1)


def _boxes(tree: Hierarchy, order: Sequence[int], names: Sequence[str], top: int) -> list[str]:
    place = {host: at for at, host in enumerate(order)}
    parts = []
    for depth, level in enumerate(reversed(tree.levels[1:])):
        shade = round(238 - 26 * depth)
        for group in level.groups:
            first = min(place[host] for host in group)
            members = ", ".join(names[host] for host in group)
            title = f"level {len(tree.levels) - 1 - depth}: {members}"
            parts.append(
                f'<rect x="{first * HOST + 2}" y="{top + depth * LEVEL}" '
                f'width="{len(group) * HOST - 4}" height="{LEVEL - 3}" rx="4" '
                f'fill="rgb({shade},{shade},{min(255, shade + 12)})">'
                f"<title>{escape(title)}</title></rect>"
            )
    return parts


def _room(names: Sequence[str]) -> tuple[float, float]:
    """What _names() needs to the right of the last host, and below."""
    longest = 6.5 * max(map(len, names))
    return max(2, 0.65 * longest - HOST / 2), 0.77 * longest + 12


def _names(order: Sequence[int], names: Sequence[str], y: int) -> list[str]:
    return [
        f'<text transform="translate({at * HOST + HOST / 2 - 4:.0f},{y + 6}) rotate(50)">'
        f"{escape(names[host])}</text>"
        for at, host in enumerate(order)
    ]


def text(x: float, y: float, content: str, anchor: str = "start") -> str:
    """Words that begin, have their middle, or end at a place."""
    return f'<text x="{x:.10g}" y="{y:.10g}" text-anchor="{anchor}">{escape(content)}</text>'


def svg(width: float, height: float, parts: Sequence[str]) -> str:
    """The whole drawing."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" font-size="10">'
        f"{''.join(parts)}</svg>"
    )
