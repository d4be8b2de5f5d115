"""Bounds: proven lower limits of the time of a collective on a network."""

from thalweg._core import bounds as _core
from thalweg._core.algorithms import Problem
from thalweg._core.bounds import Bound
from thalweg.errors import user_errors

__all__ = ["Bound", "bound"]


@user_errors()
def bound(problem: Problem) -> Bound:
    """Returns the physical limit of the problem's time, and what sets it.

    The time is from last entry to last exit, or from the root's entry where only the root sends.
    The CPU time of messages of the problem's library counts too.
    """
    return _core.bound(problem)
