"""How much `thalweg run` makes sure of the network between its hosts before a run."""

from dataclasses import dataclass
from typing import Literal

from thalweg import percentage

Verify = Literal["auto", "always", "off"]
Start = Literal["quick", "full"]

THRESHOLD = 0.2
"""The difference from which on a network is calibrated anew: CMPI's."""


@dataclass(frozen=True)
class Caution:
    """How much is made sure before a run."""

    verify: Verify = "auto"
    threshold: float = THRESHOLD
    start: Start = "quick"
    """How hosts that were never seen are measured: in about a second, or fully. With "full" hosts
    that were measured in about a second before are measured anew, and plans are thorough, too,
    however long a program is known to run."""


USUAL = Caution()


def check_threshold(percent: str) -> float:
    """Reads "20%". Raises UserError."""
    return percentage.parse(percent, "--recalibrate", "20%")
