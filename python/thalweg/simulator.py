"""The simulator: predicts when each transfer of a schedule ends on a network."""

from collections.abc import Sequence

from thalweg._core import simulator as _core
from thalweg._core.algorithms import Problem, Skeleton
from thalweg._core.schedule import Schedule
from thalweg._core.simulator import Event, Fidelity, Options, Prediction
from thalweg.errors import user_errors

__all__ = ["Event", "Fidelity", "Options", "Prediction", "critical_path", "simulate"]


@user_errors()
def simulate(
    problem: Problem, schedule: Skeleton | Schedule, options: Options | None = None
) -> Prediction:
    """Predicts the problem's time if it is done by this skeleton or schedule, all entering at 0.

    The same for the same input. Raises UserError if the schedule can't be executed.
    """
    return _core.simulate(problem, schedule, options or Options())


def critical_path(timeline: Sequence[Event]) -> list[Event]:
    """The events of a whole timeline that set its time, first to last."""
    return _core.critical_path(timeline)
