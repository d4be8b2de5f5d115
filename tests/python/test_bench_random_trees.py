"""Random trees: how they are drawn, their distribution, and the table and drawing of it."""

import random
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest

from bench import cmpi, random_trees, trees
from bench.cmpi_collectives import algorithms
from bench.page import Part
from bench.random_trees import Carlo, Draw, Times
from bench.report import Figure, Table
from thalweg.collective import Kind
from thalweg.simulator import Generator


def times(counts: list[int], edges: list[float]) -> Times:
    return Times(edges[0], edges[1], np.array(counts), np.array(edges))


def test_the_share_of_trees_below_a_time() -> None:
    found = times([2, 0, 8], [1.0, 2.0, 3.0, 5.0])
    shares = [found.below(time) for time in (0.5, 1.0, 1.5, 2.5, 4.0, 5.0, 9.0)]
    assert shares == pytest.approx([0, 0, 0.1, 0.2, 0.6, 1, 1])


def test_a_density_has_all_but_the_slowest_trees() -> None:
    found = times([100_000, 0, 0, 1], [1.0, 2.0, 50.0, 90.0, 100.0])
    density = np.array(found.density())
    assert density[:, 1].sum() == pytest.approx(1, abs=1e-3)
    assert density[:, 0].min() > 1
    assert density[:, 0].max() < 2
    ratios = density[1:, 0] / density[:-1, 0]
    assert ratios == pytest.approx(np.full(len(ratios), ratios[0]))


@pytest.mark.parametrize("generator", list(Generator))
def test_a_drawn_tree_has_every_rank_once(generator: Generator) -> None:
    ranks = random.Random(2).sample(range(13), 13)
    children = random_trees.drawers[generator](ranks, random.Random(1))
    below = [child for each in children for child in each]
    assert sorted([ranks[0], *below]) == list(range(13))
    parents = {child: parent for parent, each in enumerate(children) for child in each}
    at = ranks[-1]
    for _ in ranks:
        at = parents.get(at, ranks[0])
    assert at == ranks[0]


def test_the_binomial_tree_is_that_of_mpi_libraries() -> None:
    assert random_trees.binomial_tree(range(6), random.Random()) == [
        [4, 2, 1], [], [3], [], [5], [],
    ]  # fmt: skip


def test_only_trees_of_whole_vectors_are_cut() -> None:
    draws = list(random_trees.draws(10, 2))
    assert {draw.kind for draw in draws if draw.segmented} == {Kind.bcast, Kind.reduce}
    assert {draw.kind for draw in draws} == set(algorithms)
    assert len({tuple(draw.labels.values()) for draw in draws}) == len(draws)
    assert {draw.placement for draw in draws if draw.kind is Kind.gather} == set(cmpi.placements)


@pytest.mark.parametrize("segmented", [False, True])
def test_a_sample_is_not_better_than_its_best_tree(segmented: bool) -> None:
    found = Carlo(**random_trees.sampled(Draw(Kind.bcast, Generator.binomial, 3, segmented)))
    assert 0 < found.minimum <= found.median
    assert 0 < found.ours < found.cmpi
    assert 0 <= found.better <= 1


def carlo(**more: object) -> Carlo:
    usual = {
        "collective": "bcast", "generator": "binomial", "segmented": False, "count": 100,
        "minimum": 0.1, "median": 0.2, "mpich": 0.3, "cmpi": 0.105, "better": 0.25,
        "better_than_mpich": 0.9, "ours": 0.05, "plan": "flat",
        "density": [[0.1, 0.4], [0.2, 0.6]],
    }  # fmt: skip
    return Carlo(**{**usual, **more})  # type: ignore[arg-type]


def test_gains_are_those_of_the_same_network() -> None:
    """Medians over networks may be of different ones: here 1 and 9 s, of which the ratio is 9."""
    rows = [(1.0, 1.0), (0.5, 9.0), (10.0, 10.0)]
    gains = [
        trees.Gain(3, 2, {"hlot": hlot, "mpich-g2": rival, "magpie": rival, trees.our_plan: 0.5})
        for hlot, rival in rows
    ]
    table = trees.gain_of_hlot(gains)
    (row,) = table.rows
    assert row[3:6] == row[6:9] == ["162 %", "0 %", "1700 %"]  # of 1, 18 and 1
    assert row[10:] == ["242 %", "0 %", "1900 %"]  # of 2, 1 and 20
    assert "on the same network, the geometric mean" in table.notes[0]


def test_the_page_says_whether_cmpi_is_close_to_the_best() -> None:
    samples = [carlo(), carlo(collective="gather", cmpi=0.2), carlo(segmented=True, ours=0.2)]
    parts = [Part({"carlo": each.collective}, {}, [asdict(each)], "", "") for each in samples]
    table, _, figure, _ = trees.contents(parts)
    assert isinstance(table, Table)
    assert isinstance(figure, Figure)
    assert [row[-1] for row in table.rows] == ["yes", "yes", "no"]
    close, far = table.notes[-2:]
    assert "5 % above the best one's, so that it is close" in close
    assert "100 % above the best one's, so that it is not close" in far
    assert figure.svg.count("<svg") == 1


def test_curves_of_a_panel_have_the_same_bins() -> None:
    whole = carlo()
    cut = carlo(segmented=True, cmpi=0.04, density=[[0.05, 0.5], [0.06, 0.5]])
    panel = random_trees.panel("bcast", [whole, cut])
    curves = {line.label: line for line in panel.lines}
    one, other = (curves[f"binomial, {name}"].points for name in ("one piece", "segmented"))
    ratios = {round(b[0] / a[0], 6) for points in (one, other) for a, b in pairwise(points)}
    assert len(ratios) == 1
    for points in (one, other):
        assert sum(share for _, share in points) == pytest.approx(100)
    assert curves["CMPI, segmented"].dashes == curves["binomial, segmented"].dashes != ""
    assert [curves[f"CMPI, {name}"].points[0][0] for name in ("one piece", "segmented")] == [
        0.105, 0.04
    ]  # fmt: skip
    assert panel.x_ticks[0][1] == "40.0 ms"


def test_trees_of_other_placements_are_in_the_table_alone() -> None:
    samples = [carlo(), carlo(placement="block", cmpi=0.7)]
    table, clouds, figure = random_trees.contents(samples)
    assert isinstance(clouds, Table)
    assert len(clouds.rows) == 1
    assert isinstance(table, Table)
    assert isinstance(figure, Figure)
    assert [row[1] for row in table.rows] == ["random", "block"]
    assert "bcast, in blocks: " in table.notes[-1]
    assert figure.svg == random_trees.figure(samples[:1]).svg


def test_other_clouds_are_in_their_table_alone() -> None:
    samples = [
        carlo(cloud=2, count=10, cmpi=0.6), carlo(), carlo(segmented=True, cmpi=0.04),
        carlo(collective="reduce", cloud=3), carlo(generator="recursive"),
    ]  # fmt: skip
    table, clouds, figure = random_trees.contents(samples)
    assert isinstance(table, Table)
    assert isinstance(clouds, Table)
    assert isinstance(figure, Figure)
    assert len(table.rows) == 3
    assert [row[:3] for row in clouds.rows] == [
        ["bcast", "1", "100"], ["bcast", "2", "10"], ["reduce", "3", "100"]
    ]  # fmt: skip
    assert clouds.rows[1][-1] == "2.00x"
    assert figure.svg == random_trees.figure([samples[1], samples[2], samples[4]]).svg
    assert random_trees.contents([samples[0]]) == []
