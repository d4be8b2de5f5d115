"""The faults that an analysis names."""

from enum import StrEnum
from typing import Literal


class Fault(StrEnum):
    """What is wrong."""

    late_rank = "late rank"
    rotating_straggler = "rotating straggler"
    slow_host = "slow host"
    busy_core = "busy core"
    serialising_node = "serialising node"
    slow_link = "slow link"
    saturated_trunk = "saturated trunk"

    @property
    def at_fault(self) -> Literal["program", "host", "network"]:
        """Whose fault it is."""
        if self in (Fault.late_rank, Fault.rotating_straggler):
            return "program"
        return "network" if self in (Fault.slow_link, Fault.saturated_trunk) else "host"
