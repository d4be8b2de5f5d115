"""Forecasts and changes, compared with slow references and with series whose answer is known."""

import math
from collections.abc import Callable, Sequence
from statistics import fmean, median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import forecast as bench
from thalweg import forecast
from thalweg.errors import UserError

Values = list[float]


def hour(at: float) -> int:
    return int(at // 3600) % 24


def smoothed(values: Sequence[float], gain: float) -> float:
    level = values[0]
    for value in values[1:]:
        level += gain * (value - level)
    return level


def hourly(times: Values, values: Values, at: float, gain: float) -> float:
    same = [v for t, v in zip(times, values, strict=True) if hour(t) == hour(at)]
    return smoothed(same, gain) if same else values[-1]


def daily_course(times: Values, values: Values, at: float) -> float:
    level, offsets = values[0], [0.0] * 24
    for t, v in zip(times, values, strict=True):
        error = v - level - offsets[hour(t)]
        level += 0.3 * error
        offsets[hour(t)] += 0.1 * 0.7 * error
    return level + offsets[hour(at)]


REFERENCE: dict[str, Callable[[Values, Values, float], float]] = {
    "last": lambda _t, v, _at: v[-1],
    "mean 5": lambda _t, v, _at: fmean(v[-5:]),
    "mean 20": lambda _t, v, _at: fmean(v[-20:]),
    "mean": lambda _t, v, _at: fmean(v),
    "median 5": lambda _t, v, _at: median(v[-5:]),
    "median 11": lambda _t, v, _at: median(v[-11:]),
    "median 51": lambda _t, v, _at: median(v[-51:]),
    "smoothing 0.1": lambda _t, v, _at: smoothed(v, 0.1),
    "smoothing 0.35": lambda _t, v, _at: smoothed(v, 0.35),
    "smoothing 0.75": lambda _t, v, _at: smoothed(v, 0.75),
    "hourly 0.1": lambda t, v, at: hourly(t, v, at, 0.1),
    "hourly 0.3": lambda t, v, at: hourly(t, v, at, 0.3),
    "daily course 0.1": daily_course,
}


def reference_mixture(predicted: Sequence[Values], values: Values, end: int) -> float:
    """The forecast of value `end` from all predictions of the earlier ones."""
    errors = [
        sum(0.99 ** (end - 1 - i) * abs(row[i] - values[i]) for i in range(1, end))
        for row in predicted
    ]
    best = sorted(range(len(errors)), key=errors.__getitem__)[:3]
    return fmean(predicted[p][end] for p in best if errors[p] <= errors[best[0]] * 1.05)


series = st.lists(
    st.tuples(st.floats(0, 5000), st.floats(-20, 20, allow_subnormal=False)),
    min_size=1, max_size=60,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(series, st.floats(0, 1e9))
def test_each_predictor_is_as_its_reference(steps: list[tuple[float, float]], begin: float) -> None:
    times = [float(at) for at in begin + np.cumsum([step for step, _ in steps])]
    values = [value for _, value in steps]
    found = forecast.hindsight(times, values)
    assert found.names == list(REFERENCE)
    for name, row in zip(found.names, found.predicted, strict=True):
        for i in range(1, len(values)):
            expected = REFERENCE[name](times[:i], values[:i], times[i])
            assert row[i] == pytest.approx(expected, abs=1e-9), (name, i)


@pytest.mark.parametrize("seed", range(5))
def test_the_mixture_is_as_its_reference(seed: int) -> None:
    times, values = bench.trace(seed, 150, "djs")
    found = forecast.hindsight(times, values)
    for end in range(2, len(values)):
        expected = reference_mixture(found.predicted, values, end)
        assert found.forecast[end] == pytest.approx(expected, abs=1e-9)
    last = forecast.forecast(times[:-1], values[:-1], times[-1])
    assert last.value == found.forecast[-1]
    assert last.predictor in found.names
    weights = [0.99 ** (len(values) - 2 - i) for i in range(1, len(values) - 1)]
    errors = [abs(found.forecast[i] - values[i]) for i in range(1, len(values) - 1)]
    assert last.error == pytest.approx(np.average(errors, weights=weights))


@pytest.mark.parametrize("kind", bench.kinds)
def test_the_forecast_is_about_as_good_as_the_best_predictor(kind: str) -> None:
    for seed in range(6):
        found = bench.compare(kind, 2000, seed)
        assert found["error"] <= bench.bar * found["best_error"], seed


def test_little_is_known_of_short_series() -> None:
    assert forecast.forecast([], [], 0).error == math.inf
    one = forecast.forecast([5], [3.5], 7)
    assert (one.value, one.error) == (3.5, math.inf)
    two = forecast.forecast([5, 6], [3.5, 4.5], 7)
    assert two.error == 1


@pytest.mark.parametrize(
    ("times", "values", "what"),
    [([0, 1], [0], "2 times for 1 values"), ([0, 1], [0, math.nan], "finite"),
     ([1, 0], [0, 0], "ascend"), ([math.inf], [0], "finite")],
)  # fmt: skip
def test_bad_series_are_refused(times: Values, values: Values, what: str) -> None:
    for function in (forecast.hindsight, forecast.changes):
        with pytest.raises(UserError, match=what):
            function(times, values)
    with pytest.raises(UserError, match=what):
        forecast.forecast(times, values, 9)
    with pytest.raises(UserError, match="positive"):
        forecast.changes([], [], lasting=0)


def steps_at(count: int, places: dict[int, float], seed: int) -> Values:
    values = np.random.default_rng(seed).normal(0, 0.03, count)
    for place, height in places.items():
        values[place:] += height
    return [float(value) for value in values]


@pytest.mark.parametrize("seed", range(20))
def test_steps_are_found_where_they_are(seed: int) -> None:
    values = steps_at(300, {90: 0.6, 180: -1.5}, seed)
    found = forecast.changes(range(300), values)
    assert [change.at for change in found] == pytest.approx([90, 180], abs=2)
    assert [change.after - change.before for change in found] == pytest.approx([0.6, -1.5], abs=0.1)


@pytest.mark.parametrize("seed", range(20))
def test_noise_spikes_and_flapping_are_no_changes(seed: int) -> None:
    values = steps_at(400, {}, seed)
    assert forecast.changes(range(400), values) == []
    for at in range(20, 400, 37):
        values[at] += 2
    assert forecast.changes(range(400), values) == []
    flapping = steps_at(400, {}, seed)
    for at in range(100, 400, 5):
        flapping[at] += 1
        flapping[at + 1] += 1
    assert forecast.changes(range(400), flapping) == []


def test_what_is_too_recent_is_no_change_yet() -> None:
    level = [0.0] * 50
    assert forecast.changes(range(53), [*level, 1, 1, 1]) == []
    (found,) = forecast.changes(range(54), [*level, 1, 1, 1, 1])
    assert (found.at, found.before, found.after) == (50, 0, 1)
