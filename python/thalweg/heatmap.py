"""Cells of heatmaps in a terminal, which letters tell apart where there are no colours."""

from rich.text import Text

from thalweg.drawing import colour

SHADES = ".:-=+*#%@"
"""From dark to bright."""
MOST_CELLS = 64
"""Most rows and columns of a heatmap in a terminal."""


def cell(share: float) -> Text:
    """Returns a cell for a share of 0 to 1: its colour hides its letters. Blank for NaN."""
    if not share >= 0:
        return Text("  ")
    shade = colour(share)
    letter = SHADES[min(int(share * len(SHADES)), len(SHADES) - 1)]
    return Text(2 * letter, style=f"{shade} on {shade}")


def line(text: str) -> Text:
    """Returns the begin of a line of cells, which is never wrapped."""
    return Text(text, no_wrap=True, overflow="ignore")


def room(width: int, label: int) -> int:
    """Returns how many cells have room in a line, beside a label and a blank."""
    return max(1, min(MOST_CELLS, (width - label - 1) // 2))
