"""Clouds that drift over two days, and what is said of trees and placements on them."""

import random
from dataclasses import replace

import numpy as np
import pytest

from bench import (
    cloudmap,
    cloudmap_cases,
    cloudmap_drawings,
    cloudmap_page,
    drift,
    networks,
)
from bench.cloudmap_cases import Case
from bench.drift import Drift
from bench.page import Part
from bench.report import Figure
from thalweg import mapping
from thalweg.collective import Kind
from thalweg.mapping import Call
from thalweg.matrices import Program
from thalweg.network import even_network, validate

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


def test_two_days_of_a_small_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloudmap_cases, "two_days", cloudmap_cases.Instances("12", "small", 4, 2))
    cases = [case for case in cloudmap_cases.over_two_days() if case.pattern == "wavefront"]
    assert len(cases) == drift.hours
    first = cases[0].costs
    assert first["thalweg"] == first["thalweg, kept"] <= first["block"]
    assert first.keys() >= cloudmap_cases.versions.keys()
    table = cloudmap_page.over_time(cases)
    assert [row[0] for row in table.rows] == ["wavefront"]


def test_gains_that_stay_are_told_from_those_that_vary() -> None:
    """By Scotch's placements, with which the paper places; what Thalweg's placements gain decides
    nothing."""

    def two_hours(pattern: str, later: float) -> list[Case]:
        ours = {"thalweg": 1.0, "thalweg, kept": 1.0, cloudmap_cases.baseline: 2.0}
        costs = [ours | dict.fromkeys(("scotch", "scotch, kept"), cost) for cost in (1.0, later)]
        return [Case(pattern, 0, hour, each) for hour, each in enumerate(costs)]

    stays, varies = two_hours("wavefront", 1.05), two_hours("butterfly", 0.8)
    (note,) = cloudmap_page.over_time([*stays, *varies]).notes[1:]
    assert "by Scotch gains are 1.90x to 2.50x anew and 1.90x to 2.50x kept" in note
    assert "at most 1.25x anew (butterfly) and 1.25x kept (butterfly); by Thalweg" in note
    assert "for 1 of 2 patterns: holds in part. With Thalweg's they do for 2 of 2." in note
    assert "for 1 of 1 patterns: holds." in cloudmap_page.over_time(stays).notes[-1]
    assert "for 0 of 1 patterns: does not hold." in cloudmap_page.over_time(varies).notes[-1]


def test_the_papers_two_versions_are_placed_by_what_they_know() -> None:
    """Ranks 0 and 1 exchange all messages, 0 and 2 all bytes; either version joins its pair."""
    of = cloudmap_cases.Instances("6", "tiny", 2, 2)
    net = cloudmap_cases.network(of, random.Random(1))
    sent = mapping.communication(4, [0, 0], [1, 2], [1e6, 1], [1, 1e9])
    joined = {"latency": (0, 1), "bandwidth": (0, 2)}
    assert set(joined) == set(cloudmap_cases.versions.values())
    for metric, (one, other) in joined.items():
        placement = cloudmap_cases.placed(net, sent, of, "scotch", metric).placement
        assert placement[one] == placement[other], metric
    found = cloudmap_cases.costs(net, sent, of)
    assert set(found) == {*cloudmap_cases.methods, *cloudmap_cases.versions}


def test_which_version_gains_more_is_judged_only_where_both_are_known() -> None:
    def verdict(*latency: float) -> list[str]:
        cases = [
            [Case("wavefront", 0, 0.0, {"scotch, bandwidth": 1.0, "scotch, latency": cost})]
            for cost in latency
        ]
        return list(cloudmap_page.of_versions(cases, "figures"))

    assert verdict(1.04, 1.02, 0.99)[0].endswith("at most 1.10x): holds.")
    assert "in 2 of 3 figures, and 1.02x as much" in verdict(1.04, 1.02, 0.99)[0]
    assert verdict(2.0, 2.0)[0].endswith(": holds in part.")
    assert verdict(0.9, 0.9)[0].endswith(": does not hold.")
    older = [Case("wavefront", 0, 0.0, {"interleave": 4.0, "scotch": 2.0})]
    assert not list(cloudmap_page.of_versions([older], "figures"))
    assert cloudmap_page.shown_mean(older, "scotch, latency") == "-"
    assert cloudmap_page.shown_mean(older, "scotch") == "2.00x"


def test_larger_inputs_have_more_bytes_and_faster_instances_faster_links() -> None:
    small, large = (
        cloudmap_cases.program(replace(cloudmap_cases.two_days, bytes=size), "wavefront", 1)
        for size in (1.0, 2.0)
    )
    assert sum(large.nbytes) == pytest.approx(2 * sum(small.nbytes))
    assert list(large.messages) == list(small.messages)
    slow, fast = (
        cloudmap_cases.network(replace(cloudmap_cases.two_days, rate=rate), random.Random(1))
        for rate in (cloudmap_cases.usual_rate, 5 * cloudmap_cases.usual_rate)
    )
    assert fast.bandwidth == pytest.approx(5 * slow.bandwidth)
    assert fast.hosts[0].egress == pytest.approx(5 * slow.hosts[0].egress)


def test_statements_are_judged_by_both_figures() -> None:
    """By Scotch's gains, which come first; those of Thalweg would turn each verdict around."""
    ours = {"6": 2.0, "7": 2.1, "8": 2.5, "9": 4.0, "11b": 3.0}
    larger, fails = cloudmap_page.verdicts({"6": 2.0, "7": 1.9, "8": 1.5}, ours)
    assert "computation: not judged; by Thalweg 2.10x against 2.00x." in larger
    assert "1.50x against 2.00x, so it doesn't hold; by Thalweg 2.50x against 2.00x." in fails
    (most,) = cloudmap_page.verdicts({"9": 2.37, "11b": 3.07}, ours)
    assert most.startswith("Figure 11b beside 9") and "so it holds; by Thalweg" in most
    cases = [Case("wavefront", 0, 0.0, {"interleave": 4.0, "thalweg": 2.0})]
    assert cloudmap_page.faster(cases, "thalweg") == [2.0]


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
    (figure,) = cloudmap_page.contents([Part({"figure": "4"}, {"ranks": 4}, samples, "", "")])
    assert isinstance(figure, Figure)
    assert "Heterogeneity of bytes: ft 64 0.00, bt 32 2.24." in figure.notes[0]
    assert "the paper discards collectives (IV-B)" in figure.notes[0]


def test_a_drawn_cloud_says_how_uneven_it_is_in_both_directions() -> None:
    net = even_network(3, 1e-4, 1e9)
    latency, bandwidth = np.array(net.latency), np.array(net.bandwidth)
    latency[0, 1] *= 4
    bandwidth[2, 1] *= 2
    net.latency, net.bandwidth = latency, bandwidth
    said = cloudmap_drawings.unevenness(net)
    assert said.startswith("latencies differ by up to 4.00x and rates differ by up to 2.00x; in")
    assert "latencies differ by 1.00x in the median and up to 4.00x" in said
    assert said.endswith("rates differ by 1.00x in the median and up to 2.00x")
