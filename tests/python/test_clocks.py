"""Clocks of hosts: lines through what was compared, with their errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.clocks import LARGEST_DRIFT, RANK_0S, UNKNOWN, HostClock, are_one

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


def test_each_time_is_on_the_line_between_its_own_comparisons() -> None:
    clock = HostClock([0, 1000, 3000], [0, 100, 500], [4, 8, 2])
    times = np.array([-500, 0, 500, 1000, 2000, 3000, 4000])
    assert clock.offset(times).tolist() == pytest.approx([-50, 0, 50, 100, 300, 500, 700])
    assert clock.error(times).tolist() == pytest.approx([1.5 * 4 + 0.5 * 8, 4, 6, 8, 5, 2, 3 + 4])
    assert clock.drift == pytest.approx(500 / 3000)


def test_clocks_are_one_if_each_is_rank_0s_within_its_error() -> None:
    near = HostClock([5, 9], [-40, 30], [50, 30])
    assert are_one([RANK_0S, near])
    assert not are_one([RANK_0S, near, HostClock([5], [51], [50])])
    assert not are_one([RANK_0S, UNKNOWN])
