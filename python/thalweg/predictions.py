"""Predicted times beside those that were measured in a run: which were wrong, and how far."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from thalweg.printable import plural
from thalweg.units import time_to_text

OFF_BY = 0.2
"""How far, relatively, a prediction is from the measured time to be called wrong."""


@dataclass(frozen=True)
class Prediction:
    """The seconds that a plan, or native, was predicted to take for a call, and took."""

    of: str
    """Text such as "native"."""
    shape: str
    """Text such as "bcast of 1MiB"."""
    predicted: float
    taken: float

    @property
    def is_wrong(self) -> bool:
        """False where one of the times isn't known."""
        known = self.predicted > 0 and self.taken > 0
        return known and abs(self.taken - self.predicted) > OFF_BY * self.predicted

    @property
    def distance(self) -> float:
        """How far off it is: twice as long is as far as half as long."""
        return abs(math.log(self.taken / self.predicted))

    @property
    def share(self) -> str:
        """Text such as "+300 %"."""
        return f"{100 * (self.taken / self.predicted - 1):+.0f} %"

    def sentence(self) -> str:
        """Text such as "native was predicted to take 1ms, and took 4ms (+300 %)"."""
        predicted, taken = map(time_to_text, (self.predicted, self.taken))
        return f"{self.of} was predicted to take {predicted}, and took {taken} ({self.share})"


def line(wrong: Sequence[Prediction]) -> str:
    """One phrase on predictions that were wrong; empty if there are none."""
    if not wrong:
        return ""
    worst = max(wrong, key=lambda each: each.distance)
    predicted, taken = map(time_to_text, (worst.predicted, worst.taken))
    return (
        f"{plural(len(wrong), 'prediction')} off by more than {100 * OFF_BY:.0f} % "
        f"(most: {worst.of} for {worst.shape}: predicted {predicted}, took {taken})"
    )
