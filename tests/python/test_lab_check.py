"""What `thalweg lab check` makes of its measurements, without a lab."""

from collections.abc import Iterator
from typing import Any

import pytest

from thalweg.lab import check, scenario

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


def test_what_tcp_does_not_reach_is_not_checked() -> None:
    even = scenario.document("even")

    def why(latency_ms: float = 0.1, rate: float | None = 100, **more: Any) -> str:
        hosts = [{"name": host["name"]} for host in even["network"]["hosts"]]
        every = [[latency_ms for _ in hosts] for _ in hosts]
        network = {
            "schema": 1,
            "hosts": hosts,
            "latency": {"unit": "ms", "matrix": every},
            "bandwidth": {"unit": "Mbps", "matrix": [[rate for _ in hosts] for _ in hosts]},
        }
        found = scenario.parse({**even, "network": network, **more})
        return check.why_unchecked(found, (0, 1), check.window_of_tcp(found))

    assert why() == ""
    assert why(rate=None) == "unlimited"
    assert "2.1 MB in flight" in why(100, 1000)
    assert why(100, 1000, tcp={"rmem": "4096 131072 99000000", "wmem": "1 2 99000000"}) == ""
    assert "lost" in why(loss=0.01)


def test_a_trunk_behind_another_one_is_not_checked() -> None:
    document = scenario.document("even")
    names = [host["name"] for host in document["network"]["hosts"]]

    def trunk(name: str, capacity: str) -> dict[str, Any]:
        return {"name": name, "from": names[:8], "to": names[8:], "capacity": capacity}

    trunks = [trunk("in", "100Mbps"), trunk("out", "105Mbps"), trunk("wide", "9Gbps")]
    found = scenario.parse({**document, "network": {**document["network"], "trunks": trunks}})
    window = check.window_of_tcp(found)
    assert [check.why_trunk_unchecked(found, each, window) for each in found.trunks] == [
        "each flow across it is limited by another trunk"
    ] * 3


def test_a_scenario_is_checked_without_its_timeline() -> None:
    timeline = [{"at": "1s", "hosts": ["node0"], "egress": "50Mbps"}]
    found = check._unchanging(scenario.parse({**scenario.document("even"), "timeline": timeline}))
    assert not found.plain["timeline"] and not found.document["timeline"]
