"""SVG drawings of networks and plans, for a page (thalweg report) or alone."""

import html
import math
import re
import textwrap
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thalweg.hierarchy import Hierarchy
from thalweg.printable import printable

HOST = 34
"""Width of a host, in units of the drawing."""
LEVEL = 22
"""Height of a level of the hierarchy."""
RANK = 36
"""Width of a rank of a tree, with the words beside it."""
ROW = 44.0
"""Height of a level of a tree, unless it is deeper than MOST_HEIGHT."""
MOST_HEIGHT = 1200
SCALE = (
    (0, 32, 77), (0, 48, 111), (42, 64, 108), (72, 82, 107), (94, 98, 110), (114, 115, 116),
    (135, 132, 121), (158, 150, 119), (182, 169, 113), (208, 190, 103), (234, 211, 87),
    (255, 234, 70),
)  # fmt: skip
"""Dark to bright, stations of cividis: even steps to the eye, also to the colour-blind and in grey
(Nuñez, Anderton and Renslow, "Optimizing colormaps with consideration for color vision
deficiency")."""
NEAR, FAR = (0, 114, 178), (213, 94, 0)
"""Blue and vermilion after Okabe and Ito, for lines, on light and on dark paper."""
LINE, LETTER, LEAST_WIDTH = 15, 5.6, 420
"""For text above a drawing: height of a line, width of a letter; least width of the drawing."""

_TIP = (
    '<defs><marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="8" '
    'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
    '<path d="M0,0 L6,3 L0,6 z"/></marker></defs>'
)


def escape(content: str) -> str:
    """Makes text fit for SVG and HTML, which have no control characters."""
    return html.escape(printable(content))


def colour(share: float, scale: Sequence[tuple[int, int, int]] = SCALE) -> str:
    """Returns a colour between the first (0) and the last (1) of a scale."""
    at = min(max(share, 0.0), 1.0) * (len(scale) - 1)
    first = min(int(at), len(scale) - 2)
    mixed = (
        round(a + (b - a) * (at - first))
        for a, b in zip(scale[first], scale[first + 1], strict=True)
    )
    return f"rgb({','.join(map(str, mixed))})"


def host_order(hierarchy: Hierarchy) -> list[int]:
    """Orders the hosts so that every group of the hierarchy is contiguous."""
    order: list[int] = [host for group in hierarchy.levels[-1].groups for host in group]
    for level in reversed(hierarchy.levels):
        place = {host: at for at, host in enumerate(order)}
        groups = sorted(level.groups, key=lambda group: min(place[host] for host in group))
        order = [host for group in groups for host in sorted(group, key=place.__getitem__)]
    return order


def heatmap(
    names: Sequence[str],
    scores: NDArray[np.float64],
    texts: Sequence[Sequence[str]],
    ends: tuple[str, str],
) -> str:
    """Draws a matrix from rows to columns; a cell shows its text under the pointer.

    `ends`: what the darkest (score 0) and the brightest (score 1) colour stand for.
    """
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
    words = 6 * len(ends[0]) + 8
    for step in range(11):
        cells.append(
            f'<rect x="{words + 8 * step}" y="{side + 6}" width="8" height="10" '
            f'fill="{colour(step / 10)}"/>'
        )
    cells += [text(4, side + 15, ends[0]), text(words + 92, side + 15, ends[1])]
    return svg(max(side, words + 100 + 6 * len(ends[1])), side + 20, cells)


def hierarchy(tree: Hierarchy, names: Sequence[str]) -> str:
    """Draws the groups of a hierarchy as boxes, all hosts on top."""
    order = host_order(tree)
    right, below = _room(names)
    parts = [*_boxes(tree, order, names, 0), *_names(order, names, _height(tree))]
    return svg(len(order) * HOST + right, _height(tree) + below, parts)


def arcs(
    tree: Hierarchy,
    names: Sequence[str],
    sent: Mapping[tuple[int, int], float],
    titles: Mapping[tuple[int, int], str],
    labels: Mapping[tuple[int, int], str] = {},
) -> str:
    """Draws arcs between hosts over the hierarchy, wider for more bytes.

    `sent`: (from, to) -> bytes, by host. Arcs to the right run above, to the left below. The hosts
    are those that have an arc, or all if there is none.
    """
    order = _used(tree, {host for ends in sent for host in ends})
    place = {host: at for at, host in enumerate(order)}
    longest = max((abs(place[a] - place[b]) for a, b in sent), default=1)
    room = min(14 + 9 * longest, 220)
    middle = room + 8
    parts = _boxes(tree, order, names, middle + room + 16)
    words = []
    most = max(sent.values(), default=0) or 1
    for (a, b), size in sorted(
        sent.items(), key=lambda item: -abs(place[item[0][0]] - place[item[0][1]])
    ):
        x1, x2 = (place[end] * HOST + HOST / 2 for end in (a, b))
        side = -1 if x2 > x1 else 1
        height = room * (0.25 + 0.75 * abs(place[a] - place[b]) / longest)
        parts.append(
            f'<path d="M{x1:.0f},{middle} Q{(x1 + x2) / 2:.0f},{middle + side * height * 1.8:.0f} '
            f'{x2:.0f},{middle}" fill="none" stroke="{_link_colour(tree, a, b)}" '
            f'stroke-width="{1 + 3 * math.sqrt(size / most):.1f}" marker-end="url(#tip)">'
            f"<title>{escape(titles[a, b])}</title></path>"
        )
        if label := labels.get((a, b)):
            y = middle + side * height * 0.9 + 3
            words.append(text((x1 + x2) / 2, y, label, anchor="middle", small=True))
    parts += [f'<circle cx="{place[h] * HOST + HOST / 2:.0f}" cy="{middle}" r="3"/>' for h in order]
    bottom = middle + room + 16 + _height(tree)
    right, below = _room(names)
    everything = [_TIP, *parts, *words, *_names(order, names, bottom)]
    return svg(len(order) * HOST + right, bottom + below, everything)


@dataclass(frozen=True)
class Edge:
    """An edge of a tree: the data between a rank and its parent."""

    child: int
    parent: int
    size: float
    """Bytes in both directions together."""
    label: str
    """Text beside the child, by lines."""
    title: str
    down: bool = True
    """Whether data goes from the parent to the child."""
    up: bool = False


def trees(
    tree: Hierarchy,
    names: Sequence[str],
    placement: Sequence[int],
    edges: Sequence[Sequence[Edge]],
) -> str:
    """Draws trees of ranks, one below the other, over the hierarchy of their hosts.

    A rank is above its host (placement: rank -> host), at its depth in the tree. An edge is wider
    for more bytes, and vermilion instead of blue for a higher level that it crosses.
    """
    order = _used(tree, set(placement))
    width = max(HOST, RANK * max(Counter(placement).values()))
    x = _columns(order, placement, width)
    parts: list[str] = []
    top = 14.0
    for each in edges:
        depths = _depths(each, len(placement))
        deepest = max(depths)
        row = min(ROW, max(ROW / 2.5, MOST_HEIGHT / max(1, deepest)))
        parts += _tree(tree, placement, each, x, [top + row * depth for depth in depths])
        top += row * deepest + 30
    lines = [
        f'<path d="M{(at + 0.5) * width:.0f},6 V{top:.0f}" stroke="#888" stroke-opacity="0.2"/>'
        for at in range(len(order))
    ]
    bottom = top + _height(tree)
    right, below = _room(names)
    hosts = [*_boxes(tree, order, names, top, width), *_names(order, names, bottom, width)]
    return svg(
        len(order) * width + max(right, RANK), bottom + below, [_TIP, *lines, *parts, *hosts]
    )


def _tree(
    tree: Hierarchy,
    placement: Sequence[int],
    edges: Sequence[Edge],
    x: Sequence[float],
    y: Sequence[float],
) -> list[str]:
    """Draws one of the trees of trees()."""
    most = max((edge.size for edge in edges), default=0) or 1
    parts = []
    for edge in edges:
        a, b = edge.parent, edge.child
        tips = ' marker-end="url(#tip)"' * edge.down + ' marker-start="url(#tip)"' * edge.up
        bend = (y[a] + y[b]) / 2
        parts.append(
            f'<path d="M{x[a]:.1f},{y[a] + 4:.1f} C{x[a]:.1f},{bend:.1f} {x[b]:.1f},{bend:.1f} '
            f'{x[b]:.1f},{y[b] - 4:.1f}" fill="none" '
            f'stroke="{_link_colour(tree, placement[a], placement[b])}" '
            f'stroke-width="{1 + 2.5 * math.sqrt(edge.size / most):.1f}"{tips} '
            f'data-key="rank {edge.child}">'
            f"<title>{escape(edge.title)}</title></path>"
        )
    for edge in edges:
        lines = edge.label.split("\n")
        for at, line in enumerate(lines):
            down = 3 + 8 * (at - (len(lines) - 1) / 2)
            parts.append(text(x[edge.child] + 5, y[edge.child] + down, line, small=True))
    return parts + [
        f'<circle cx="{x[rank]:.1f}" cy="{y[rank]:.1f}" r="3"><title>rank {rank}</title></circle>'
        for rank in range(len(placement))
    ]


def _depths(edges: Sequence[Edge], ranks: int) -> list[int]:
    """Returns each rank's depth: its steps from the root."""
    parents = {edge.child: edge.parent for edge in edges}
    children: list[list[int]] = [[] for _ in range(ranks)]
    for child, parent in parents.items():
        children[parent].append(child)
    depths = [0] * ranks
    left = [rank for rank in range(ranks) if rank not in parents]
    while left:
        parent = left.pop()
        for child in children[parent]:
            depths[child] = depths[parent] + 1
            left.append(child)
    return depths


def _columns(order: Sequence[int], placement: Sequence[int], width: float) -> list[float]:
    """Returns each rank's position: above its host, beside that host's other ranks."""
    place = {host: at for at, host in enumerate(order)}
    count = Counter(placement)
    seen: Counter[int] = Counter()
    columns = []
    for host in placement:
        columns.append(width * (place[host] + (seen[host] + 0.5) / count[host]))
        seen[host] += 1
    return columns


def _used(tree: Hierarchy, hosts: Collection[int]) -> list[int]:
    """Returns the order of these hosts, or of all if there are none."""
    return [host for host in host_order(tree) if not hosts or host in hosts]


def _link_colour(tree: Hierarchy, a: int, b: int) -> str:
    """Returns a link's colour: from blue to vermilion with the level of the hierarchy that it
    crosses."""
    return colour(tree.distance(a, b) / max(1, len(tree.levels) - 1), (NEAR, FAR))


def headed(lines: Sequence[str], drawing: str) -> str:
    """Puts lines of text above a drawing, broken to its width."""
    size = re.search(r'viewBox="0 0 (\d+) (\d+)"', drawing)
    assert size, "drawings state their size"
    width, height = max(int(size[1]), LEAST_WIDTH), int(size[2])
    broken = [part for line in lines for part in textwrap.wrap(line, int(width / LETTER))]
    top = LINE * len(broken) + 8
    words = [text(4, LINE * (at + 1), line) for at, line in enumerate(broken)]
    body = (
        f'<g transform="translate(0,{top})">{drawing[drawing.index(">") + 1 : -len("</svg>")]}</g>'
    )
    return svg(width, top + height, [*words, body])


def _height(tree: Hierarchy) -> int:
    return LEVEL * (len(tree.levels) - 1)


def _boxes(
    tree: Hierarchy, order: Sequence[int], names: Sequence[str], top: float, width: float = HOST
) -> list[str]:
    place = {host: at for at, host in enumerate(order)}
    parts = []
    for depth, level in enumerate(reversed(tree.levels[1:])):
        shade = 0.12 + 0.1 * depth
        for group in level.groups:
            inside = [host for host in group if host in place]
            if not inside:
                continue
            first = min(place[host] for host in inside)
            members = ", ".join(names[host] for host in inside)
            title = f"level {len(tree.levels) - 1 - depth}: {members}"
            parts.append(
                f'<rect x="{first * width + 2}" y="{top + depth * LEVEL:.10g}" '
                f'width="{len(inside) * width - 4}" height="{LEVEL - 3}" rx="4" '
                f'fill="#6f7f9f" fill-opacity="{min(shade, 0.8):.2f}">'
                f"<title>{escape(title)}</title></rect>"
            )
    return parts


def _room(names: Sequence[str]) -> tuple[float, float]:
    """Returns the space that _names() needs to the right of the last host, and below."""
    longest = 6.5 * max(map(len, names))
    return max(2, 0.65 * longest - HOST / 2), 0.77 * longest + 12


def _names(order: Sequence[int], names: Sequence[str], y: float, width: float = HOST) -> list[str]:
    return [
        f'<text transform="translate({(at + 0.5) * width - 4:.0f},{y + 6:.10g}) rotate(50)">'
        f"{escape(names[host])}</text>"
        for at, host in enumerate(order)
    ]


def text(x: float, y: float, content: str, anchor: str = "start", *, small: bool = False) -> str:
    """Draws words that begin, have their middle, or end at a place."""
    size = ' font-size="8" paint-order="stroke" stroke="white" stroke-width="2"' * small
    return f'<text x="{x:.10g}" y="{y:.10g}" text-anchor="{anchor}"{size}>{escape(content)}</text>'


def svg(width: float, height: float, parts: Sequence[str]) -> str:
    """Returns the whole drawing."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" font-size="10">'
        f"{''.join(parts)}</svg>"
    )
