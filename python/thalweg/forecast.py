"""Forecasts of a quantity from its history, and changes in it.

Values are what the caller makes of them; of latencies and rates give logarithms, so that an error
is a fraction of the value. Times are in seconds since 1970 (UTC) and ascend.
"""

from collections.abc import Sequence

from thalweg._core import forecast as _core
from thalweg._core.forecast import Change, Forecast, Hindsight
from thalweg.errors import user_errors

__all__ = ["Change", "Forecast", "Hindsight", "changes", "forecast", "hindsight"]


@user_errors()
def forecast(times: Sequence[float], values: Sequence[float], at: float) -> Forecast:
    """Returns what to expect at a time, with the mean absolute error of such forecasts so far.

    The predictor that would have been best so far decides (`predictor`). The error is infinite
    before the second value. Raises UserError for numbers that aren't finite, and times that don't
    ascend.
    """
    return _core.forecast(times, values, at)


@user_errors()
def hindsight(times: Sequence[float], values: Sequence[float]) -> Hindsight:
    """Returns what would have been forecast for each value, and by each predictor.

    Raises UserError as forecast() does.
    """
    return _core.hindsight(times, values)


@user_errors()
def changes(
    times: Sequence[float],
    values: Sequence[float],
    *,
    slack: float = 0.1,
    threshold: float = 0.5,
    lasting: int = 3,
) -> list[Change]:
    """Returns the lasting changes of the level, by a two-sided CUSUM.

    Deviations up to `slack` are noise; a change is where `threshold` has accumulated beyond it and
    the level stays changed for more than `lasting` values, so that a link that flaps has none.
    Raises UserError as forecast() does.
    """
    return _core.changes(times, values, slack, threshold, lasting)
