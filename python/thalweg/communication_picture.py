"""Draws communication matrices as SVG, in colours that everybody can tell apart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from thalweg import communication
from thalweg.communication import Floats, Quantity, Scale
from thalweg.drawing import colour, escape, svg, text
from thalweg.mapping import Communication
from thalweg.report import bins
from thalweg.report.bins import Bins

SIDE = 440
"""Side of a matrix, about."""
MOST_CELLS = 128
"""Most rows and columns of a matrix: more make files that browsers show slowly."""
FRAME = "#d55e00"
"""Vermilion after Okabe and Ito, which the scale of colours doesn't have."""
GAP, LETTER, LINE = 28, 6, 12
LEGEND = 62
"""Height below the matrices."""


@dataclass(frozen=True)
class Panel:
    """A matrix, of which empty cells are NaN."""

    title: str
    rows: Bins
    cells: Floats

    @property
    def cell(self) -> int:
        return max(3, min(18, SIDE // self.rows.count))

    @property
    def side(self) -> int:
        return self.cell * self.rows.count


def matrix(title: str, found: Communication, quantity: Quantity) -> str:
    """Draws a matrix with its ranks in order."""
    rows = bins.in_order(found.ranks, MOST_CELLS)
    return panels([panel(title, found, quantity, rows)], quantity)


def panel(title: str, found: Communication, quantity: Quantity, rows: Bins) -> Panel:
    """Returns a matrix with these rows and columns."""
    values = communication.values(found, quantity)
    return Panel(title, rows, bins.total(rows, found.sender, found.receiver, values))


def panels(found: Sequence[Panel], quantity: Quantity) -> str:
    """Draws matrices side by side, with one scale of colours."""
    return svg(*layout(found, quantity))


def layout(found: Sequence[Panel], quantity: Quantity) -> tuple[float, float, list[str]]:
    """Returns width, height and parts of panels()."""
    scale = communication.scale(*(each.cells for each in found))
    parts: list[str] = []
    top = 30 + max(_room(each) for each in found)
    at = 0.0
    for each in found:
        left = at + _room(each) + 22
        parts += _panel(each, scale, quantity, left, top)
        at = left + max(each.side, 5.6 * len(each.title)) + GAP
    bottom = top + max(each.side for each in found)
    most = max(int(np.bincount(each.rows.of).max()) for each in found)
    parts += _legend(scale, quantity, most, bottom + 16)
    return max(at, 420), bottom + LEGEND, parts


def _room(each: Panel) -> int:
    """Returns the length of the longest name."""
    return LETTER * max(len(name) for _, name in _names(each))


def _panel(
    each: Panel, scale: Scale | None, quantity: Quantity, left: float, top: float
) -> list[str]:
    cell, side = each.cell, each.side
    parts = [
        text(left, 14, each.title),
        f'<rect x="{left:g}" y="{top:g}" width="{side}" height="{side}" fill="#eee"/>',
    ]
    for middle, name in _names(each):
        y, x = top + middle * cell + 3, left + middle * cell + 3
        parts.append(text(left - 5, y, name, "end"))
        parts.append(
            f'<text transform="translate({x:g},{top - 5:g}) rotate(-90)">{escape(name)}</text>'
        )
    return [*parts, *_cells(each, scale, quantity, left, top), *_outlines(each, left, top)]


def _names(each: Panel) -> list[tuple[float, str]]:
    """Returns names of groups, or of rows if there are none, and the middle of each in rows; as
    many as have room."""
    found: list[tuple[float, str]] = []
    first = 0
    for name, count in each.rows.groups or [(label, 1) for label in each.rows.labels]:
        middle = first + count / 2
        if not found or (middle - found[-1][0]) * each.cell >= LINE:
            found.append((middle, name))
        first += count
    return found


def _cells(
    each: Panel, scale: Scale | None, quantity: Quantity, left: float, top: float
) -> Iterator[str]:
    if not scale:
        return
    to_text = communication.to_text(quantity)
    shares = scale.share(each.cells)
    for row, column in np.argwhere(np.isfinite(each.cells)):
        ends = f"{each.rows.labels[row]} to {each.rows.labels[column]}"
        title = f"{ends}: {to_text(float(each.cells[row, column]))}"
        yield (
            f'<rect x="{left + column * each.cell:g}" y="{top + row * each.cell:g}" '
            f'width="{each.cell}" height="{each.cell}" '
            f'fill="{colour(float(shares[row, column]))}"><title>{escape(title)}</title></rect>'
        )


def _outlines(each: Panel, left: float, top: float) -> Iterator[str]:
    """Draws a frame around the cells inside each group, and a bolder one around those of sites."""
    for groups, width in ((each.rows.groups, 1), (each.rows.sites, 2.5)):
        first = 0
        for _, count in groups:
            at, size = first * each.cell, count * each.cell
            yield (
                f'<rect x="{left + at:g}" y="{top + at:g}" width="{size}" height="{size}" '
                f'fill="none" stroke="{FRAME}" stroke-width="{width}"/>'
            )
            first += count


def _legend(scale: Scale | None, quantity: Quantity, most: int, top: float) -> list[str]:
    size = f", up to {most} x {most} ranks a cell" if most > 1 else ""
    words = f"{quantity} from rank (row) to rank (column){size}"
    if not scale:
        return [text(4, top + 20, f"{words}: nothing was sent")]
    to_text = communication.to_text(quantity)
    steps, width = 44, 5
    end = 4 + width * steps
    parts = [
        text(4, top + 38, words),
        f'<rect x="{end + 40}" y="{top}" width="10" height="10" fill="#eee"/>',
        text(end + 54, top + 9, "nothing"),
    ]
    for step in range(steps):
        parts.append(
            f'<rect x="{4 + width * step}" y="{top}" width="{width}" height="10" '
            f'fill="{colour(step / (steps - 1))}"/>'
        )
    ends = ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
    for share, anchor in ends if scale.most > scale.least else ends[2:]:
        words = to_text(scale.at(share))
        parts.append(text(4 + width * steps * share, top + 22, words, anchor))
    return parts
