"""Clouds that drift over two days, and what is said of trees and placements on them."""

import random
from dataclasses import asdict, replace

import numpy as np
import pytest

from bench import cloudmap, cloudmap_drawings, days, drift, networks
from bench.cloudmap import Case
from bench.days import Hour
from bench.drift import Drift
from bench.page import Part
from bench.report import Figure, Table
from thalweg import mapping
from thalweg.collective import Kind
from thalweg.mapping import Call
from thalweg.matrices import Program
from thalweg.network import validate

NET = networks.cloud(random.Random(1), 8)


@pytest.mark.parametrize("of", [drift.band, drift.jumps])
def test_a_drifting_network_is_the_same_for_a_seed_and_no_faster_than_its_ports(of: Drift) -> None:
    found, again = (list(of.networks(NET, 3, every=6.0)) for _ in range(2))
    assert [hour for hour, _ in found] == [0, 6, 12, 18, 24, 30, 36, 42]
    for (_, one), (_, other) in zip(found, again, strict=True):
        validate(one)
        assert np.array_equal(one.latency, other.latency)
        assert np.array_equal(one.bandwidth, other.bandwidth)
        for a, host in enumerate(one.hosts):
            for b in set(range(8)) - {a}:
                assert one.bandwidth[a, b] <= host.egress
    first, last = found[0][1], found[-1][1]
    assert not np.array_equal(first.latency, last.latency)


def test_pairs_keep_their_levels_for_a_time_and_then_change() -> None:
    (_, first), (_, second), *_ = drift.jumps.networks(NET, 1, every=1.0)
    same = first.latency == second.latency
    assert 0.4 < same.mean() < 0.95
    assert np.array_equal(same, same.T), "the directions of a pair change together"


HOUR = Hour(0.0, mpich=2.0, cmpi=1.0, cmpi_anew=0.99, ours=0.5, ours_anew=0.5)


def test_the_page_of_days_says_whether_gains_stay() -> None:
    hours = [HOUR, replace(HOUR, hour=2.0, cmpi=2.5)]
    part = Part({"collective": "bcast", "placement": "block"}, {}, list(map(asdict, hours)), "", "")
    table, times, _ = days.contents([part])
    assert isinstance(table, Table)
    assert table.rows[0][3:6] == ["12 %", "-25 %", "50 %"]
    assert "faster in 1 of 2 calls" in table.notes[-1]
    assert "vary by more than 10 %" in table.notes[-1]
    assert isinstance(times, Table)
    assert times.rows[0][:4] == ["bcast", "block", "2.00 s", "1.75 s"]


def test_two_days_of_a_small_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloudmap, "two_days", cloudmap.Instances("12", "small", 4, 2))
    cases = [case for case in cloudmap.over_two_days() if case.pattern == "wavefront"]
    assert len(cases) == drift.hours
    first = cases[0].costs
    assert first["thalweg"] == first["thalweg, kept"] <= first["block"]
    table = cloudmap.over_time(cases)
    assert [row[0] for row in table.rows] == ["wavefront"]


def test_gains_that_stay_are_told_from_those_that_vary() -> None:
    def two_hours(pattern: str, later: float) -> list[Case]:
        names = ("thalweg", "thalweg, kept", "scotch", "scotch, kept")
        costs = [dict.fromkeys(names, cost) | {cloudmap.baseline: 2.0} for cost in (1.0, later)]
        return [Case(pattern, 0, hour, each) for hour, each in enumerate(costs)]

    stays, varies = two_hours("wavefront", 1.05), two_hours("butterfly", 0.8)
    note = cloudmap.over_time([*stays, *varies]).notes[-1]
    assert "at most 1.25x anew (butterfly) and 1.25x kept (butterfly)" in note
    assert note.endswith("for 1 of 2 patterns: holds in part.")
    assert cloudmap.over_time(stays).notes[-1].endswith("for 1 of 1 patterns: holds.")
    assert cloudmap.over_time(varies).notes[-1].endswith(": does not hold.")


def test_larger_inputs_have_more_bytes_and_faster_instances_faster_links() -> None:
    small, large = (
        cloudmap.program(replace(cloudmap.two_days, bytes=size), "wavefront", 1)
        for size in (1.0, 2.0)
    )
    assert sum(large.nbytes) == pytest.approx(2 * sum(small.nbytes))
    assert list(large.messages) == list(small.messages)
    slow, fast = (
        cloudmap.network(replace(cloudmap.two_days, rate=rate), random.Random(1))
        for rate in (cloudmap.usual_rate, 5 * cloudmap.usual_rate)
    )
    assert fast.bandwidth == pytest.approx(5 * slow.bandwidth)
    assert fast.hosts[0].egress == pytest.approx(5 * slow.hosts[0].egress)


def test_statements_are_judged_by_both_figures() -> None:
    holds, fails = cloudmap.verdicts({"6": 2.0, "7": 1.9, "8": 1.5})
    assert holds.endswith("1.90x against 2.00x, so it holds.")
    assert fails.endswith("1.50x against 2.00x, so it doesn't hold.")
    (most,) = cloudmap.verdicts({"9": 2.37, "11b": 3.07})
    assert most.startswith("Figure 11b beside 9") and most.endswith("so it holds.")
    cases = [Case("wavefront", 0, 0.0, {"interleave": 4.0, "thalweg": 2.0})]
    assert cloudmap.faster(cases, "thalweg") == [2.0]


def test_pairs_are_drawn_over_days_and_as_boxes() -> None:
    lines, boxes = cloudmap_drawings.days_drawn(NET)
    first, second = (NET.hosts[at].name for at in (0, 1))
    for name in cloudmap_drawings.quantities:
        assert name in lines.svg and name in boxes.svg
    assert f"{first} to {second}" in lines.svg
    assert all(host.name in boxes.svg for host in NET.hosts[1:])
    assert "drift is drawn" in lines.notes[0]
    hours = list(drift.jumps.networks(NET, 1))
    varies = cloudmap_drawings.most_over_least(hours)
    assert len(varies) == 8 * 7 and min(varies) >= 1
    latencies = [value for _, value in cloudmap_drawings.values(hours, "latency (us)", 1)]
    assert len(latencies) == drift.hours
    assert varies[0] == pytest.approx(max(latencies) / min(latencies))


def test_a_box_is_a_stack_up_to_each_quartile() -> None:
    found = cloudmap_drawings.box([1.0, 2.0, 4.0, 7.0, 11.0])
    assert list(found.values()) == [1.0, 1.0, 2.0, 3.0, 4.0]


def test_alltoalls_go_between_all_ranks_and_recorded_matrices_are_drawn() -> None:
    few = mapping.communication(4, [0, 1], [1, 0], [3, 3], [30, 30])
    calls = [Call(Kind.alltoall, 16, 2.0), Call(Kind.allreduce, 8, 5.0)]
    pairs = list(cloudmap.pairs_of(Program(few, calls)))
    assert pairs[:2] == [(0, 1, 30.0), (1, 0, 30.0)]
    assert len(pairs) == 2 + 4 * 3 and {nbytes for *_, nbytes in pairs[2:]} == {32.0}
    samples = [
        {"pattern": name, "sender": sender, "receiver": receiver, "bytes": nbytes}
        for name, of in (("ft 64", pairs[2:]), ("bt 32", pairs[:2]))
        for sender, receiver, nbytes in of
    ]
    (figure,) = cloudmap.contents([Part({"figure": "4"}, {"ranks": 4}, samples, "", "")])
    assert isinstance(figure, Figure)
    assert "Heterogeneity of bytes: ft 64 0.00, bt 32 2.24." in figure.notes[0]
