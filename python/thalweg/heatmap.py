"""Cells of heatmaps in a terminal, which letters tell apart where there are no colours."""

from rich.text import Text

from thalweg.drawing import colour

SHADES = ".:-=+*#%@"
"""From dark to bright."""


def cell(share: float) -> Text:
    """Returns a cell for a share of 0 to 1: its colour hides its letters. Blank for NaN."""
    if not share >= 0:
        return Text("  ")
    shade = colour(share)
    letter = SHADES[min(int(share * len(SHADES)), len(SHADES) - 1)]
    return Text(2 * letter, style=f"{shade} on {shade}")
