"""HLOT's testbed: its parts of the scenario `grid`, and the page from few samples."""

import re
from collections.abc import Mapping

import numpy as np
import pytest

from bench import grid
from bench.page import Part
from bench.report import Figure, Table
from bench.trees import level_algorithms
from thalweg import hierarchy
from thalweg.algorithms import Parameters, find
from thalweg.lab import scenario
from thalweg.network import validate


@pytest.mark.parametrize("count", grid.clusters)
def test_the_first_clusters_are_a_network_with_its_levels(count: int) -> None:
    net = grid.testbed(count)
    validate(net)
    assert len(net.hosts) == 2 * count and len(net.sites) == count
    whole = scenario.find("grid").network
    assert (net.latency == whole.latency[: 2 * count, : 2 * count]).all()
    classes = hierarchy.build(net, 0).classes(net)
    assert classes[1:3] == ["cluster", "LAN"]
    assert ("heavy WAN" in classes) == (count > 2)


def test_only_latencies_between_clusters_vary() -> None:
    net = grid.testbed(4)
    varied = [grid.varied(net, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert (varied[0].latency == varied[1].latency).all()
    assert (varied[0].latency != varied[2].latency).any()
    for site in net.sites:
        inside = np.ix_(site, site)
        assert (varied[0].latency[inside] == net.latency[inside]).all()
    apart = np.repeat(np.arange(4), 2)
    changed = varied[0].latency != net.latency
    assert (changed == (apart[:, None] != apart)).all()


def test_a_short_bcast_by_hlot_takes_no_longer_than_straight_to_each_organisation() -> None:
    problem = grid.problem_of(grid.testbed(8), 2, 0)
    times = {
        name: grid.time_of(problem, find(name).build(problem, Parameters()))
        for name in level_algorithms
    }
    assert times["hlot"] <= times["mpich-g2"]


def test_gains_are_of_means() -> None:
    labels = {"figure": "6b", "clusters": 2, "size": 2}
    samples = [
        {"root": root, "hlot": 1.0, "mpich-g2": 1.0 + root, "magpie": 2.0, "Thalweg": 0.5}
        for root in range(3)
    ]
    table, _, drawing = grid.contents([Part(labels, {}, samples, "2026-11-23", "0" * 40)])
    assert isinstance(table, Table)
    assert isinstance(drawing, Figure)
    assert "mpich-g2: 2" in drawing.svg
    assert table.rows == [["2", "3", "2B", "1.00 s", "100 %", "100 %", "500 ms", "100 %"]]


def single_runs(theirs: float) -> Part:
    samples = [
        {"hlot": ours, "mpich-g2": theirs * ours, "magpie": 2.0, "Thalweg": 0.5}
        for ours in (1.0, 1.01, 1.02)
    ]
    return Part({"figure": "5"}, {}, samples, "2026-11-28", "0" * 40)


def test_single_runs_are_held_against_the_paper() -> None:
    def said(theirs: float) -> list[str]:
        return grid.contents([single_runs(theirs)])[0].notes[-2:]

    faster, apart = said(1.5)
    assert "in 100 % of the runs, by 50 % on average" in faster
    assert faster.endswith("faster throughout: holds.")
    assert apart.endswith("do not overlap, where the paper's are apart: holds.")
    slower, meet = said(0.999)
    assert "in 0 % of the runs" in slower and "does not hold" in slower
    assert meet.endswith("meet, where the paper's are apart: does not hold.")


def over_roots(gains: Mapping[int, float]) -> list[Part]:
    """Parts of Figure 7: what HLOT gains over MPICH-G2 by size."""
    return [
        Part(
            {"figure": "7", "clusters": 8, "size": size},
            {},
            [{"root": 0, "hlot": 1.0, "mpich-g2": 1 + gain, "magpie": 2.0, "Thalweg": 0.5}],
            "2026-11-28",
            "0" * 40,
        )
        for size, gain in gains.items()
    ]


@pytest.mark.parametrize(("gain", "verdict"), [(1.7, "holds"), (0.6, "does not hold")])
def test_the_gain_of_the_whole_testbed_is_the_most_of_all_means(gain: float, verdict: str) -> None:
    said = grid.contents([single_runs(1.5), *over_roots({2: gain, 1_000: 0.1})])[0].notes[-1]
    assert f"50 % in single runs and at most {100 * gain:.0f} % over all roots, with 2B" in said
    assert said.endswith(f": {verdict}.")


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ((0.1, 0.1, 0.4), "10 %, 10 %, 40 %; it falls in 0 of 2 steps, .*: holds"),
        ((0.3, 0.1, 0.4), "falls in 1 of 2 steps, .*: holds as a whole, not at each step"),
        ((0.3, 0.1, 0.0), "falls in 2 of 2 steps, .*: does not hold"),
    ],
)
def test_gains_grow_or_do_not(gains: tuple[float, ...], verdict: str) -> None:
    parts = over_roots(dict(zip((2, 1_000, 8_000), gains, strict=True)))
    (said,) = grid.growth(parts, "7", "size")
    assert said.startswith("Figure 7: from 2 to 8,000 bytes the gain is ")
    assert re.search(f"{verdict}\\.$", said)
