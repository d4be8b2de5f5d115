"""Numbers about a communication matrix: how much ranks send, and how unevenly."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from thalweg import matrices, units
from thalweg.errors import UserError
from thalweg.mapping import Communication
from thalweg.record import Run

Floats = NDArray[np.float64]
Quantity = Literal["messages", "bytes"]
LEAST_RANGE = 10.0
QUANTITIES: tuple[Quantity, ...] = ("messages", "bytes")


@dataclass(frozen=True)
class Summary:
    """A quantity of a communication matrix in numbers."""

    total: float
    pairs: int
    """How many ordered pairs of ranks have any."""
    share: float
    """The share of all ordered pairs that have any."""
    heterogeneity: float
    """The coefficient of variation over all ordered pairs: 0 if all are equal."""
    busiest_tenth: float
    """The share of the total that the tenth of all pairs with the most has: 0.1 if all are equal.
    """
    busiest_rank: float
    """The most that a rank sends and receives, over the mean of the ranks."""


def values(matrix: Communication, quantity: Quantity) -> Floats:
    """Returns a quantity by pair, in the order of `matrix.sender` and `matrix.receiver`."""
    return matrix.messages if quantity == "messages" else matrix.nbytes


def to_text(quantity: Quantity) -> Callable[[float], str]:
    """Returns how values of a quantity are printed."""
    return (
        _count_to_text if quantity == "messages" else lambda value: units.size_to_text(round(value))
    )


def _count_to_text(value: float) -> str:
    """Returns whole numbers as they are, and others, which are means or weights, in short."""
    return f"{value:,.0f}" if value == round(value) or value >= 100 else f"{value:.3g}"


def summary(matrix: Communication, quantity: Quantity) -> Summary:
    """Describes a quantity. O(pairs log pairs)."""
    found = values(matrix, quantity)
    here = found > 0
    ranks, total = matrix.ranks, float(found.sum())
    all_pairs = ranks * (ranks - 1)
    of_rank = sum(
        np.bincount(ends, found, minlength=ranks) for ends in (matrix.sender, matrix.receiver)
    )
    tenth = np.sort(found)[::-1][: -(-all_pairs // 10)]
    return Summary(
        total,
        int(here.sum()),
        float(here.sum()) / all_pairs if all_pairs else 0.0,
        matrices.heterogeneity(found[here], ranks),
        float(tenth.sum()) / total if total else 0.0,
        float(np.max(of_rank)) / (2 * total / ranks) if total else 0.0,
    )


def usual(matrix: Communication) -> Quantity:
    """Returns bytes, or messages if there are no bytes."""
    return "bytes" if matrix.nbytes.any() or not matrix.messages.any() else "messages"


def where_collectives_are(run: Run | None) -> str:
    """Ends a sentence that says that nothing was sent: where a run's collectives are, if any."""
    called = run is not None and len(run.calls)
    return "; collectives are kept as calls" if called else ""


def check(matrix: Communication, quantity: Quantity, where: str) -> None:
    """Raises UserError if a matrix has only the other quantity."""
    other: Quantity = "bytes" if quantity == "messages" else "messages"
    if values(matrix, other).any() and not values(matrix, quantity).any():
        raise UserError(f"{where}: has {other}, but no {quantity}; ask for --matrix {other}")


@dataclass(frozen=True)
class Scale:
    """Colours by logarithm between the least and the most that is above zero, at least a factor of
    LEAST_RANGE unless all are equal: small differences look small."""

    least: float
    most: float

    def share(self, found: Floats) -> Floats:
        """Returns where values are, from 0 to 1; NaN stays."""
        if self.most <= self.least:
            return np.where(np.isnan(found), np.nan, 1.0)
        shares: Floats = np.log(found / self.least) / np.log(self.most / self.least)
        return shares

    def at(self, share: float) -> float:
        """Returns the value at a place from 0 to 1."""
        return float(self.least * (self.most / self.least) ** share)


def scale(*found: Floats) -> Scale | None:
    """Returns the scale of cells, of which NaN are empty; None if all are."""
    everything = np.concatenate([each[np.isfinite(each)] for each in found])
    if not len(everything):
        return None
    least, most = float(everything.min()), float(everything.max())
    return Scale(least if least == most else min(least, most / LEAST_RANGE), most)
