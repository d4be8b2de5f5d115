"""HLOT's testbed: its parts of the scenario `grid`, and the page from few samples."""

import re
from collections.abc import Mapping

import numpy as np
import pytest

from bench import grid, grid_networks, grid_page
from bench.page import Part
from bench.report import Figure, Table
from bench.trees import level_algorithms
from thalweg import hierarchy
from thalweg.algorithms import Parameters, find
from thalweg.lab import scenario
from thalweg.network import validate


@pytest.mark.parametrize("count", grid.clusters)
def test_the_first_clusters_are_a_network_with_its_levels(count: int) -> None:
    net = grid_networks.testbed(count)
    validate(net)
    assert len(net.hosts) == 2 * count and len(net.sites) == count
    whole = scenario.find("grid").network
    assert (net.latency == whole.latency[: 2 * count, : 2 * count]).all()
    classes = hierarchy.build(net, 0).classes(net)
    assert classes[1:3] == ["cluster", "LAN"]
    assert ("heavy WAN" in classes) == (count > 2)


def test_only_latencies_between_clusters_vary() -> None:
    net = grid_networks.testbed(4)
    varied = [grid_networks.varied(net, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert (varied[0].latency == varied[1].latency).all()
    assert (varied[0].latency != varied[2].latency).any()
    for site in net.sites:
        inside = np.ix_(site, site)
        assert (varied[0].latency[inside] == net.latency[inside]).all()
    apart = np.repeat(np.arange(4), 2)
    changed = varied[0].latency != net.latency
    assert (changed == (apart[:, None] != apart)).all()


def test_a_short_bcast_by_hlot_takes_no_longer_than_straight_to_each_organisation() -> None:
    problem = grid.problem_of(grid_networks.testbed(8), 2, 0)
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
    table, _, drawing = grid_page.contents([Part(labels, {}, samples, "2026-11-23", "0" * 40)])
    assert isinstance(table, Table)
    assert isinstance(drawing, Figure)
    assert "mpich-g2: 2" in drawing.svg
    assert table.rows == [["2", "3", "2B", "1.00 s", "100 %", "100 %", "500 ms", "100 %"]]


def test_clusters_of_an_organisation_have_one_of_their_latencies() -> None:
    net = grid_networks.drawn(1)
    same = grid_networks.by_organisations(net)
    assert [each.latency[0, 4] for each in same] == [
        net.latency[a, b] for a in (0, 2) for b in (4, 6)
    ]
    for each in same:
        validate(each)
        assert len(set(each.latency[:4, 4:8].flat)) == 1
        inside = each.latency[:4, :4] == net.latency[:4, :4]
        assert inside.all(), "within an organisation nothing changes"


def test_runs_from_each_root_are_on_the_same_networks() -> None:
    net = grid_networks.testbed(2)
    first, again, other = (next(grid.single_runs(net, 1, root)) for root in (0, 0, 4))
    assert first == again != other


def single_runs(theirs: float, cluster: str = "ajoua") -> Part:
    samples = [
        {"hlot": ours, "mpich-g2": theirs * ours, "magpie": 2.0, "Thalweg": 0.5}
        for ours in (1.0, 1.01, 1.02)
    ]
    return Part({"figure": "5", "cluster": cluster}, {}, samples, "2026-11-28", "0" * 40)


def test_single_runs_are_held_against_the_paper_from_each_cluster() -> None:
    def said(*theirs: float) -> list[str]:
        parts = [single_runs(each, f"cluster {at}") for at, each in enumerate(theirs)]
        return grid_page.contents(parts)[0].notes[-2:]

    faster, apart = said(1.5, 1.2)
    assert "in 3, 3 of 3 runs from the 2 clusters, by 20 % to 50 % on average" in faster
    assert faster.endswith("counts as faster: holds.")
    assert apart.endswith("don't overlap from 2 of 2 clusters: holds.")
    faster, apart = said(1.5, 1.0)
    assert "along the same tree from 1." in faster
    assert [each.split(": ")[-1] for each in (faster, apart)] == ["holds from 1 of 2 clusters."] * 2
    assert [each.split(": ")[-1] for each in said(0.999)] == ["does not hold."] * 2


def test_draws_say_whom_the_scenario_favours() -> None:
    def part(by: str, own: float, *drawn: float) -> Part:
        samples = [
            {"seed": at or None, "hlot": 1.0, "mpich-g2": 1 + gain, "magpie": 2.0}
            for at, gain in enumerate((own, *drawn))
        ]
        return Part({"figure": "draws", "by": by}, {}, samples, "2026-11-28", "0" * 40)

    def said(*parts: Part) -> Table:
        found = grid_page.contents(parts)[0]
        assert isinstance(found, Table)
        return found

    clusters = part("clusters", 0.5, 0.2, 0.3, 1.7)
    table = said(clusters, part("organisations", 0.4, 0.31))
    assert table.rows[0] == ["clusters", "3", "20 %", "30 %", "170 %", "1 of 3", "50 %"]
    assert "draw favours HLOT: its gain is 50 %" in table.notes[-2]
    assert table.notes[-2].endswith("and more in 1 of 3.")
    assert "third neither favours nor disfavours HLOT" in table.notes[-1]
    assert "third favours HLOT" in said(clusters, part("organisations", 0, 0)).notes[-1]
    assert "third disfavours HLOT" in said(clusters, part("organisations", 1, 1)).notes[-1]


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
    said = grid_page.contents([single_runs(1.5), *over_roots({2: gain, 1_000: 0.1})])[0].notes[-1]
    assert f"at most {100 * gain:.0f} % over all roots, with 2B: {verdict}." in said
    assert said.endswith(
        f"best it is {100 * gain:.0f} %, and 50 % in the mean of the runs from ajoua."
    )


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
    (said,) = grid_page.growth(parts, "7", "size")
    assert said.startswith("Figure 7: from 2 to 8,000 bytes the gain is ")
    assert re.search(f"{verdict}\\.$", said)
