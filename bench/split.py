"""What this machine and what a dilated network takes of a time, told apart by two dilations."""

from __future__ import annotations

from dataclasses import dataclass


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
