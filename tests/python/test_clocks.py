"""Clocks of hosts: lines through what was compared, with their errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.clocks import LARGEST_DRIFT, UNKNOWN, HostClock

near = st.integers(-(10**6), 10**6)
errors = st.integers(1, 10**5)


@given(near, st.integers(-(10**5), 10**5), errors, errors, st.floats(-1, 1), st.floats(-1, 1))
def test_the_true_offset_is_within_the_error(
    offset: int, gained: int, first: int, last: int, low: float, high: float
) -> None:
    """Between the comparisons and beyond, if what was compared was wrong by at most its error."""
    begin, end = 10**9, 3 * 10**9
    clock = HostClock(
        [begin, end],
        [round(offset + low * first), round(offset + gained + high * last)],
        [first + 1, last + 1],
    )
    times = np.linspace(0, 5 * 10**9, 11)
    true = offset + gained * (times - begin) / (end - begin)
    assert np.all(np.abs(clock.offset(times) - true) <= clock.error(times) + 1e-3)
    assert abs(clock.drift - gained / (end - begin)) <= clock.drift_error


def test_a_clock_that_was_compared_once_may_drift() -> None:
    clock = HostClock([1000], [50], [7])
    assert clock.offset(np.array([1000, 10**9])).tolist() == [50, 50]
    assert clock.error(10**9 + 1000) == pytest.approx(7 + 10**9 * LARGEST_DRIFT)
    assert (clock.drift, clock.drift_error) == (0, LARGEST_DRIFT)


def test_rank_0s_own_clock_has_no_error() -> None:
    clock = HostClock([1000], [0], [0])
    assert clock.error(10**12) == 0
    assert clock.drift_error == 0


def test_nothing_is_known_of_a_clock_that_was_never_compared() -> None:
    assert UNKNOWN.offset(5) == 0
    assert np.isinf(UNKNOWN.error(5))
