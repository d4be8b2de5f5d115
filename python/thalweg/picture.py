"""Draws a network's matrices and hierarchy, in SVG or PNG."""

import re
from pathlib import Path
from typing import Literal

import numpy as np

from thalweg import drawing, units
from thalweg.description import Floats
from thalweg.errors import UserError
from thalweg.files import write_file
from thalweg.hierarchy import Hierarchy
from thalweg.network import Network
from thalweg.report import bins
from thalweg.report.bins import Bins

Quantity = Literal["latency", "bandwidth"]
View = Literal["latency", "bandwidth", "hierarchy"]

MATRICES: tuple[Quantity, ...] = ("latency", "bandwidth")
SCALE = 2.0
"""Pixels of a PNG per unit of the drawing, so that names can be read on any screen."""
MOST_PIXELS = 4096
"""Most pixels of a PNG's longer side; larger drawings are scaled down."""
FONTS = ("DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica")
"""Fonts for a PNG's text, the best first."""


def svg(net: Network, view: View, tree: Hierarchy) -> str:
    """Draws a view as SVG, with hosts in the order of `tree`, the network's hierarchy.

    Rows of a matrix are hosts, or of more than bins.MOST several hosts, with means.
    """
    names = [host.name for host in net.hosts]
    if view == "hierarchy":
        return drawing.hierarchy(tree, names)
    values: Floats = getattr(net, view)
    to_text = units.time_to_text if view == "latency" else units.rate_to_text
    rows = bins.of_hosts(names, drawing.host_order(tree))
    order = np.argsort(rows.of, kind="stable")
    values = values[order][:, order] if rows.single else means(rows, values)
    scores = goodness(values, lower_is_better=view == "latency")
    texts = [[to_text(float(value)) for value in row] for row in values]
    best = "lowest" if view == "latency" else "highest"
    ends = (_found(texts, scores, 0.0), f"{_found(texts, scores, 1.0)} ({best})")
    return drawing.heatmap(rows.labels, scores, texts, ends)


def means(rows: Bins, values: Floats) -> Floats:
    """Returns the means of cells; what is unlimited between all of their hosts stays so."""
    found = bins.mean(rows, values)
    return np.where(np.isnan(found), np.inf, found)


def _found(texts: list[list[str]], scores: Floats, score: float) -> str:
    """Returns the text of a cell with this score, none of a host with itself."""
    off_diagonal = np.where(np.eye(len(scores), dtype=bool), np.nan, scores)
    for row, column in np.argwhere(off_diagonal == score)[:1]:
        return str(texts[row][column])
    return ""


def goodness(values: Floats, *, lower_is_better: bool) -> Floats:
    """Scales each value between the worst (0) and the best (1) of two hosts, logarithmically.

    An unlimited rate counts as the best of the others, and 0, which latencies may be, as 1e-12.
    """
    off_diagonal = ~np.eye(len(values), dtype=bool) & np.isfinite(values)
    if not off_diagonal.any():
        return np.ones_like(values)
    logs = np.log(np.clip(values, 1e-12, max(values[off_diagonal].max(), 1e-12)))
    low, high = logs[off_diagonal].min(), logs[off_diagonal].max()
    if high - low < 1e-9:
        return np.ones_like(logs)
    scores: Floats = np.clip((logs - low) / (high - low), 0, 1)
    return 1 - scores if lower_is_better else scores


def write(path: Path, drawing: str) -> None:
    """Writes an SVG drawing as .svg or .png, by the file's name. Raises UserError."""
    check_name(path)
    content = drawing.encode() if path.suffix == ".svg" else png(drawing)
    write_file(path, str(path), content)


def check_name(path: Path) -> None:
    """Raises UserError if the name doesn't say which kind of picture to write."""
    if path.suffix not in (".svg", ".png"):
        raise UserError(f"{path}: the name of a picture must end with .svg or .png")


def png(drawing: str) -> bytes:
    """Renders an SVG drawing on white. Raises UserError if there is no font for its text."""
    import resvg_py

    size = re.search(r'width="(\d+)" height="(\d+)"', drawing)
    assert size, "drawings state their size first"
    return resvg_py.svg_to_bytes(
        svg_string=drawing,
        background="white",
        sans_serif_family=_font(),
        zoom=min(SCALE, MOST_PIXELS / max(int(size[1]), int(size[2]))),
    )


def _font() -> str:
    """Returns the first of FONTS that is installed.

    resvg silently leaves out text that it has no font for.
    """
    import resvg_py

    square = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{}</svg>'
    letter = square.format('<text y="9" font-family="sans-serif">x</text>')
    blank = resvg_py.svg_to_bytes(svg_string=square.format(""))
    for font in FONTS:
        if resvg_py.svg_to_bytes(svg_string=letter, sans_serif_family=font) != blank:
            return font
    raise UserError(
        f"a PNG needs one of the fonts {', '.join(FONTS)}: install one (Debian: "
        "fonts-dejavu-core), or draw an SVG"
    )
