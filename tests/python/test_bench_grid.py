"""HLOT's testbed: its parts of the scenario `grid`, and the page from few samples."""

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
