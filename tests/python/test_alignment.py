from typing import Any

import numpy as np
import polars as pl
import pytest
from recorded import Recording

from thalweg import network
from thalweg.analysis import alignment, tables
from thalweg.analysis.tables import Names
from thalweg.collective import Kind

LATENCY = 1000
"""Nanoseconds of each link."""


def exchanged(shifts: list[int], extra: dict[tuple[int, int], int]) -> pl.DataFrame:
    """Messages of all pairs, by clocks that are ahead by `shifts`; `extra`: nanoseconds that a
    pair's messages take beyond the latency."""
    rows = []
    for a in range(len(shifts)):
        for b in range(len(shifts)):
            if a != b:
                for late in (0, 70, 500):
                    took = LATENCY + extra.get((a, b), 0) + late
                    rows.append((a, b, 10_000 + shifts[a], 10_000 + took + shifts[b]))
    columns = ["sender", "receiver", "send_posted", "receive_done"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def latencies(hosts: int) -> np.ndarray:
    found = np.full((hosts, hosts), float(LATENCY))
    np.fill_diagonal(found, 0)
    return found


def test_clocks_are_aligned_within_the_bounds_that_messages_leave() -> None:
    shifts = [0, 30_000, -7_000, 400]
    added, errors = alignment.offsets(
        exchanged(shifts, {}), np.arange(4), latencies(4), np.array([0, 1e6, 1e6, 1e6])
    )
    # A tenth of the latency isn't taken for granted.
    assert errors == pytest.approx([0, 100, 100, 100])
    assert added == pytest.approx([-shift for shift in shifts], abs=100)


def test_a_slow_direction_is_seen_by_way_of_other_hosts() -> None:
    added, errors = alignment.offsets(
        exchanged([0, 0, 0], {(0, 1): 50_000}), np.arange(3), latencies(3), np.array([0, 1e6, 1e6])
    )
    assert added == pytest.approx([0, 0, 0], abs=200)
    assert errors.max() <= 200


def test_a_chain_of_one_link_leaves_the_middle() -> None:
    added, errors = alignment.offsets(
        exchanged([0, 0], {(0, 1): 50_000}), np.arange(2), latencies(2), np.array([0, 1e6])
    )
    assert added[1] == pytest.approx(-25_000)
    assert errors[1] == pytest.approx(25_100)


def test_latencies_that_messages_contradict_are_left_out() -> None:
    added, errors = alignment.offsets(
        exchanged([0, 0, 0], {}), np.arange(3), 10 * latencies(3), np.array([0, 1e6, 1e6])
    )
    assert added == pytest.approx([0, 0, 0], abs=1)
    assert errors[1:] == pytest.approx([LATENCY, LATENCY])


def test_errors_that_messages_contradict_change_nothing() -> None:
    known = np.array([0, 10.0, 10.0])
    added, errors = alignment.offsets(
        exchanged([0, 90_000, 0], {}), np.arange(3), latencies(3), known
    )
    assert added.tolist() == [0, 0, 0] and errors.tolist() == known.tolist()


class Rounds:
    """numpy, which counts the uses of its minimum: one for each round."""

    count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @property
    def minimum(self) -> Any:
        self.count += 1
        return np.minimum


def test_a_contradiction_is_found_in_a_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes as many as there are links from the reference and back to it, not all hosts."""
    rounds = Rounds()
    monkeypatch.setattr(alignment, "np", rounds)
    known = np.array([0, 10.0, *[1e6] * 30])
    added, errors = alignment.offsets(
        exchanged([0, 90_000, *[0] * 30], {}), np.arange(32), None, known
    )
    assert added.tolist() == [0] * 32 and errors.tolist() == known.tolist()
    assert rounds.count == 2


def test_several_ranks_of_a_host_have_one_clock() -> None:
    made = Recording(3)
    call = made.call(Kind.allreduce, {0: (0, 9000), 1: (0, 9000), 2: (5000, 14_000)})
    made.message(call, 2, 0, (5000, 5010), (0, 1100))
    made.message(call, 1, 2, (100, 110), (5000, 6200), step=1)
    run = tables.build(
        made.events(), Names(["drawn"], []), network=network.even_network(2, 1e-6, 1e9),
        placement=[0, 0, 1], clock_errors_ns=[0, 0, 1e6],
    )  # fmt: skip
    enter = dict(run.calls.select("rank", "enter").iter_rows())
    assert enter[0] == enter[1] == 0
    assert enter[2] == pytest.approx(0, abs=200)
    assert 0 < run.clock_error_ns <= 200
