"""Bounds: proven lower limits of the time of a collective on a network."""

from thalweg._core import bounds as _core
from thalweg._core.algorithms import Problem
from thalweg._core.bounds import Bound
from thalweg.errors import user_errors

__all__ = ["Bound", "bound", "bound_with_slow_start"]


@user_errors()
def bound(problem: Problem) -> Bound:
    """Returns the physical limit of the problem's time, and what sets it.

    The time is from first entry to last exit or, for bcast and scatter, from the root's entry to
    last exit. Measured times compare with it where all ranks enter together. The CPU time of
    messages of the problem's library counts too.
    """
    return _core.bound(problem)


@user_errors()
def bound_with_slow_start(problem: Problem) -> Bound:
    """Returns the limit on the network with its transport: TCP's slow start counts too.

    It holds for MPI libraries with one connection for each pair of ranks, all idle before. It is
    the physical limit where that is larger or the network has no `initial_window`. Handshakes of
    large messages don't count, since a plan may send small ones.
    """
    return _core.bound_with_slow_start(problem)
