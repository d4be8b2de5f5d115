"""What this machine and what a dilated network takes of a time, told apart by two dilations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bench.page import Part


@dataclass(frozen=True)
class Split:
    """Seconds that something takes: work of this machine, and un-dilated ones of the network."""

    machine: float
    network: float

    @property
    def total(self) -> float:
        return self.machine + self.network


def split(slow: tuple[float, float], slower: tuple[float, float]) -> Split:
    """Tells apart work and network's time by two dilations, each with the seconds taken at it."""
    network = (slower[1] - slow[1]) / (slower[0] - slow[0])
    return Split(slow[1] - slow[0] * network, network)


def dilation_of(part: Part) -> float:
    """Returns the dilation that a part is labelled with."""
    return float(part.labels["dilation"])


def split_of(parts: Iterable[Part], seconds_of: Callable[[Part], float | None]) -> Split | None:
    """Tells apart what takes so many seconds in two parts, the less dilated one first; None if it
    isn't known of both."""
    points = [
        (dilation_of(part), seconds) for part in parts if (seconds := seconds_of(part)) is not None
    ]
    return split(*points) if len(points) == 2 else None
