import math

import pytest

from bench.summary import (
    median_interval,
    ratio,
    relative_difference,
    saved,
    slower_beyond_noise,
    speedup,
    summarise,
)


def test_summary_of_nine_known_values() -> None:
    # Sorted 1..9: quartiles at positions 2 and 6; deviations from 5 are 0,1,1,2,2,3,3,4,4.
    summary = summarise([9, 1, 8, 2, 7, 3, 6, 4, 5])
    assert summary.count == 9
    assert (summary.minimum, summary.lower_quartile, summary.median) == (1, 3, 5)
    assert (summary.upper_quartile, summary.maximum, summary.mad) == (7, 9, 2)


def test_one_sample_has_no_spread() -> None:
    summary = summarise([4.0])
    assert summary.minimum == summary.median == summary.maximum == 4.0
    assert summary.mad == 0


def test_an_outlier_moves_neither_median_nor_mad() -> None:
    assert summarise([1, 1, 1, 1, 1000]).median == 1
    assert summarise([1, 1, 1, 1, 1000]).mad == 0


def test_no_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="no valid sample"):
        summarise([])


def test_ratio_of_constants_is_exact() -> None:
    result = ratio([3.0] * 7, [2.0] * 7)
    assert (result.value, result.low, result.high) == (1.5, 1.5, 1.5)


def test_ratio_lies_in_its_interval_and_is_reproducible() -> None:
    top, bottom = [2.0, 2.1, 1.9, 2.2, 1.8, 2.0, 2.05], [1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.2]
    result = ratio(top, bottom, seed=5)
    assert result.low <= result.value <= result.high
    assert result == ratio(top, bottom, seed=5)


def test_the_interval_of_a_median_leaves_out_what_the_binomial_distribution_allows() -> None:
    # Leaving out 3 of 16 at each end errs in 2 * (1 + 16 + 120 + 560) / 2^16 = 2.1 %, 4 in 7.7 %.
    assert median_interval([float(i) for i in range(16, 0, -1)]) == (4.0, 13.0)
    assert median_interval([2.0, 1.0, 3.0]) == (1.0, 3.0)


@pytest.mark.parametrize("count", [1, 5, 6, 9, 20])
def test_intervals_of_medians_hold_95_percent(count: int) -> None:
    low, high = median_interval([float(i) for i in range(count)])
    left, right = int(low), int(high)
    assert left == count - 1 - right
    # The median is below the value number `left` if at most `left` of `count` are below the median.
    outside = [
        2 * sum(math.comb(count, k) for k in range(n + 1)) / 2**count for n in (left, left + 1)
    ]
    if count >= 6:  # of fewer not even all do
        assert outside[0] <= 0.05 < outside[1]
    else:
        assert left == 0


def test_relative_difference_is_symmetric() -> None:
    assert relative_difference(100, 105) == relative_difference(105, 100) == pytest.approx(0.05)


def test_slower_beyond_noise() -> None:
    native = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.0]
    assert slower_beyond_noise([1.2 * t for t in native], native)
    assert not slower_beyond_noise(native, native)
    assert not slower_beyond_noise([0.5 * t for t in native], native)


def test_half_the_time_is_twice_as_fast_and_saves_half() -> None:
    assert speedup(4, 2) == 2
    assert saved(4, 2) == 0.5
    assert saved(2, 4) == -1
