"""Counters and the verdict on a measurement."""

import dataclasses

import pytest

from thalweg.lab import counters, scenario, validity
from thalweg.lab.counters import Counters

EDGES = tuple(1e-6 * 2 ** (n / 4) for n in range(80))
SCENARIO = scenario.find("even")  # dilation 4, 16 hosts
TIME, BYTES = 1.0, 15 * 8_000_000


def bucket(seconds: float) -> int:
    """The bucket that a lateness is counted in; the last one has no end."""
    return next((n for n, edge in enumerate(EDGES) if edge >= seconds), len(EDGES) - 1)


def counted(**changed: object) -> Counters:
    """A flawless interval of 4 s (1 s un-dilated) with 15,000 frames."""
    nothing = tuple([0] * 16)
    crossed = tuple(tuple(BYTES // 240 + 1 if a != b else 0 for b in range(16)) for a in range(16))
    clean = Counters(
        dilation=4,
        hosts=tuple(f"node{n}" for n in range(16)),
        elapsed=4,
        busy=1,
        frames=15_000,
        pair_bytes=crossed,
        drops={"ingress": 0},
        late=0,
        lateness=tuple([0] * 80),
        lateness_edges=EDGES,
        host_drops=nothing,
        retransmits=nothing,
        steal=0,
        run_queue_delay=0,
    )
    return dataclasses.replace(clean, **changed)  # type: ignore[arg-type]


def late(count: int, seconds: float) -> tuple[int, ...]:
    return tuple(count if n == bucket(seconds) else 0 for n in range(80))


def judge(one: Counters, bound: float = 0.5, time: float = TIME, hops: int | None = None) -> str:
    return "; ".join(validity.judge(SCENARIO, one, time, BYTES, bound, hops).reasons)


def test_a_clean_measurement_is_valid() -> None:
    assert validity.judge(SCENARIO, counted(), TIME, BYTES, bound=0.9).valid


def test_lateness_counts_beyond_two_percent_of_the_time_per_hop() -> None:
    # 2 % of 1 s, dilated 4 times, over 15 hops: 5.33 ms.
    assert judge(counted(lateness=late(200, 4e-3))) == ""
    assert judge(counted(lateness=late(100, 8e-3))) == "", "one in a hundred and fifty"
    assert "200 of 15000 frames" in judge(counted(lateness=late(200, 8e-3)))
    assert judge(counted(lateness=late(200, 8e-3)), hops=5) == ""


def test_a_single_outage_counts_if_it_is_long() -> None:
    assert judge(counted(lateness=late(1, 60e-3))) == ""
    assert "ms late" in judge(counted(lateness=late(1, 110e-3)))


def test_a_busy_switch_invalidates() -> None:
    assert judge(counted(busy=3.4)) == ""
    assert "busy 86%" in judge(counted(busy=3.44))


def test_bytes_that_did_not_cross_invalidate() -> None:
    none = tuple(tuple([0] * 16) for _ in range(16))
    assert "found another path" in judge(counted(pair_bytes=none))


def test_local_drops_invalidate() -> None:
    drops = tuple(3 if n == 5 else 0 for n in range(16))
    assert "node5 dropped 3 frames" in judge(counted(host_drops=drops))


def test_nothing_is_faster_than_the_bound() -> None:
    assert judge(counted(), bound=1.0) == ""
    assert "below the physical limit" in judge(counted(), bound=1.001)


def test_every_reason_is_given() -> None:
    bad = counted(busy=4, lateness=late(9_000, 0.1))
    assert len(validity.judge(SCENARIO, bad, TIME, 10**12, bound=2).reasons) == 4


def test_delta_subtracts() -> None:
    before = counted()
    after = dataclasses.replace(before, elapsed=10.0, busy=2.5, frames=20_000, late=7)
    delta = after.since(before)
    assert delta == counters.delta(before, after)
    assert (delta.elapsed, delta.busy, delta.frames, delta.late) == (6.0, 1.5, 5_000, 7)
    assert delta.busy_fraction == pytest.approx(0.25)
    assert delta.bytes == 0


def test_lateness_is_read_from_its_buckets() -> None:
    one = counted(lateness=late(3, 1e-3))
    assert one.late_beyond(0.5e-3) == 3
    assert one.late_beyond(2e-3) == 0
    assert one.late_beyond(1e6) == 0  # beyond all buckets
    assert (
        counted(lateness=late(1, 10.0)).late_beyond(1e6) == 1
    )  # in the last one, which has no end
    assert 1e-3 <= one.latest < 1e-3 * 2**0.25
    assert counted().latest == 0
