"""What `thalweg lab check` makes of its measurements, without a lab."""

from collections.abc import Iterator

import pytest

from thalweg.lab import check

RATE = 1e6


def measured(rate: float) -> check.Finding:
    return check.Finding("rate", "a -> b", RATE, rate)


def confirm(errors: Iterator[float]) -> check.Finding:
    """Confirms a quantity whose successive measurements have these errors."""

    def measure() -> check.Finding:
        return measured(RATE * (1 + next(errors)))

    return check.confirm(measure(), measure)


@pytest.mark.parametrize("errors", [[0.0], [0.2, 0.01], [-0.1, 0.1, -0.04]])
def test_a_disturbed_measurement_is_repeated_until_it_agrees(errors: list[float]) -> None:
    finding = confirm(iter(errors))
    assert finding.passed
    assert finding.attempts == len(errors)
    assert finding.error == pytest.approx(errors[-1])


def test_what_stays_wrong_is_a_finding_and_is_measured_no_more() -> None:
    rest = iter([0.2, 0.3, 0.25, 0.0])
    finding = confirm(rest)
    assert not finding.passed
    assert finding.attempts == check.ATTEMPTS == 3
    assert finding.measured == pytest.approx(1.25 * RATE)
    assert list(rest) == [0.0]


def test_repetitions_are_told() -> None:
    assert check._remark(measured(RATE)) == ""
    assert check._remark(confirm(iter([0.1, 0.0]))) == "measured 2 times"
    wrong = check._remark(confirm(iter([0.1] * 3)))
    assert wrong == "over 5 %, measured 3 times"
