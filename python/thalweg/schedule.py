"""Schedules: transfers, each with a step, from a collective's precondition to its postcondition.

All transfers of a step read the state before that step.
"""

from thalweg._core import schedule as _core
from thalweg._core.collective import Collective
from thalweg._core.schedule import How, Layout, Range, Schedule, Transfer

__all__ = ["How", "Layout", "Range", "Schedule", "Transfer", "verify"]


def verify(collective: Collective, schedule: Schedule) -> None:
    """Replays the schedule and checks that it does what the collective asks for, once each.

    Raises ValueError naming the first transfer at fault, or the rank, chunk and what it lacks.
    """
    _core.verify(collective, schedule)
