"""The simulator: predicts when each transfer of a schedule ends on a network."""

from collections.abc import Sequence

from thalweg._core import simulator as _core
from thalweg._core.algorithms import Problem, Skeleton
from thalweg._core.schedule import Schedule
from thalweg._core.simulator import (
    Fidelity,
    Generator,
    Options,
    Prediction,
    Sample,
    SimulatedMessage,
)
from thalweg.errors import user_errors

__all__ = [
    "Fidelity",
    "Generator",
    "Options",
    "Prediction",
    "Sample",
    "SimulatedMessage",
    "critical_path",
    "monte_carlo",
    "simulate",
]


@user_errors()
def simulate(
    problem: Problem, schedule: Skeleton | Schedule, options: Options | None = None
) -> Prediction:
    """Predicts when the last rank is done with this skeleton or schedule, counted from 0.

    The ranks enter at the problem's `entries`, all at 0 if it has none.

    Deterministic. Raises UserError if the schedule can't be executed.
    """
    return _core.simulate(problem, schedule, options or Options())


@user_errors()
def critical_path(timeline: Sequence[SimulatedMessage]) -> list[SimulatedMessage]:
    """Returns the events of a whole timeline that set its time, first to last.

    Raises UserError if it is only a part of one.
    """
    return _core.critical_path(timeline)


@user_errors()
def monte_carlo(
    problem: Problem,
    count: int,
    *,
    generator: Generator = Generator.binomial,
    seed: int = 1,
    quantiles: Sequence[float] = (0.01, 0.1, 0.5, 0.9, 0.99),
    bins: int = 50,
    options: Options | None = None,
) -> Sample:
    """Returns the `fast` times of `count` random trees for a bcast, reduce, scatter or gather.

    `Generator.binomial` permutes the ranks of a binomial tree below its root, which is a fair
    rival of a plan; with `Generator.recursive` each rank joins below a random one. Returns the
    minimum, its tree (`order` and `parents` as in a Skeleton), `quantiles`, and a histogram:
    `counts` between `edges`. Deterministic for a seed. Raises UserError for another
    collective.
    """
    return _core.monte_carlo(
        problem, generator, count, seed, list(quantiles), bins, options or Options()
    )
