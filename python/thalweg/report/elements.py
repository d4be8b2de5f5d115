"""The parts of a page, as the scripts in `assets/` show them: dictionaries, ready for JSON.

Parts with the same `link` belong together: a row of a table, a cell of a heatmap and a line of a
drawing with the same key are selected together. The keys of a heatmap are "row,column", or "row,"
for a whole row.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Block = dict[str, Any]
Unit = Literal["text", "time", "size", "rate", "count", "share", "ratio"]
"""How a value is printed. Times are in seconds, sizes in bytes, rates in bytes per second."""
Scale = Literal["linear", "log", "sqrt"]

MOST_ROWS = 300
"""Most rows of a table in a page."""
DIGITS = 7
"""Significant digits of the numbers in a page: more than it shows, as it rounds once more."""


@dataclass(frozen=True)
class Section:
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    title: str
    lead: Sequence[str]
    """Sentences that answer first."""
    facts: Sequence[tuple[str, str, str]]
    """What is measured, its value, and a remark."""
    sections: Sequence[Section]
    warnings: Sequence[str] = ()
    about: Sequence[str] = ()
    """Sentences at the end: where all this comes from."""


def text(*paragraphs: str) -> Block:
    return {"kind": "text", "text": list(paragraphs)}


def table(
    caption: str,
    columns: Sequence[tuple[str, Unit]],
    rows: Iterable[Sequence[Any]],
    *,
    keys: Sequence[str] = (),
    link: str = "",
    note: str = "",
) -> Block:
    """A table that can be sorted. It has the first MOST_ROWS rows; a note says if there are more.

    Cells are text, or numbers in the column's unit; None where there is nothing to say. A column
    of nothing else is left out.
    """
    rows = [[_cell(cell) for cell in row] for row in rows]
    used = [
        at for at in range(len(columns)) if not rows or any(row[at] is not None for row in rows)
    ]
    columns = [columns[at] for at in used]
    rows = [[row[at] for at in used] for row in rows]
    if len(rows) > MOST_ROWS:
        note = f"{note} The first {MOST_ROWS} of {len(rows)} rows.".strip()
    return {
        "kind": "table",
        "caption": caption,
        "columns": [list(column) for column in columns],
        "rows": rows[:MOST_ROWS],
        "keys": list(keys[:MOST_ROWS]),
        "link": link,
        "note": note,
    }


@dataclass(frozen=True)
class Layer:
    """The values of a heatmap."""

    name: str
    unit: Unit
    values: NDArray[np.float64]
    """Values by row and column; NaN where there is none."""
    scale: Scale = "log"


@dataclass(frozen=True)
class Axis:
    """Rows or columns of a heatmap."""

    title: str
    labels: Sequence[str]
    groups: Sequence[tuple[str, int]] = field(default=())
    """Neighbours that belong together, such as the ranks of a host: name and number of rows."""


def heatmap(
    caption: str,
    rows: Axis,
    columns: Axis,
    layers: Sequence[Layer],
    *,
    link: str = "",
    by_row: bool = False,
    note: str = "",
) -> Block:
    """A matrix in colours. Several layers are shown one at a time. `by_row`: a cell selects its
    row."""
    return {
        "kind": "heatmap",
        "caption": caption,
        "rows": _axis(rows),
        "columns": _axis(columns),
        "layers": [
            {
                "name": layer.name,
                "unit": layer.unit,
                "scale": layer.scale,
                "values": numbers(layer.values),
                "summary": _summary(layer, rows, columns),
            }
            for layer in layers
        ],
        "link": link,
        "by_row": by_row,
        "note": note,
    }


def _axis(axis: Axis) -> dict[str, Any]:
    return {
        "title": axis.title,
        "labels": list(axis.labels),
        "groups": [list(g) for g in axis.groups],
    }


def _summary(layer: Layer, rows: Axis, columns: Axis) -> list[Any]:
    """The places and values of the least and the most, for who can't see the picture."""
    known = np.argwhere(np.isfinite(layer.values))
    if not len(known):
        return []
    values = layer.values[tuple(known.T)]
    ends = [known[np.argmin(values)], known[np.argmax(values)]]
    return [
        [rows.labels[row], columns.labels[column], _cell(float(layer.values[row, column]))]
        for row, column in ends
    ]


def drawing(caption: str, svg: str, description: str, *, link: str = "", note: str = "") -> Block:
    """A picture in SVG; `description` says in words what it shows. Its parts with `data-key` can be
    selected."""
    return {
        "kind": "drawing",
        "caption": caption,
        "svg": svg,
        "description": description,
        "link": link,
        "note": note,
    }


def path(caption: str, steps: Sequence[tuple[str, str, float | None]], *, note: str = "") -> Block:
    """Steps that lead from one to the next: each a name, a remark, and a share from 0 to 1, or
    none."""
    return {
        "kind": "path",
        "caption": caption,
        "steps": [[name, remark, _cell(share)] for name, remark, share in steps],
        "note": note,
    }


def numbers(values: NDArray[np.float64]) -> list[float | int | None]:
    """Returns an array's values in a row: whole, or in DIGITS digits; None where not finite."""
    return [_cell(value) for value in np.asarray(values, float).ravel().tolist()]


def _cell(value: Any) -> Any:
    """Shortens a number; text stays."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    short = value if value.is_integer() else float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
