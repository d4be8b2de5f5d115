import random

import pytest

from bench import neighborhoods
from thalweg import planner
from thalweg.errors import UserError
from thalweg.network import even_network


@pytest.mark.parametrize(("ranks", "dimensions", "degree"), [(12, 2, 4), (27, 3, 6), (5, 2, 2)])
def test_ranks_of_a_grid_have_neighbours_along_its_axes(
    ranks: int, dimensions: int, degree: int
) -> None:
    edges = neighborhoods.stencil(ranks, dimensions, corners=False)
    assert len(set(edges)) == len(edges) == ranks * degree
    assert {(b, a) for a, b in edges} == set(edges)


def test_corners_are_neighbours_if_wanted() -> None:
    assert len(neighborhoods.stencil(27, 3, corners=True)) == 27 * 26


def test_graphs_have_neither_loops_nor_edges_twice() -> None:
    for make in neighborhoods.graphs.values():
        edges = make(16, random.Random(5))
        assert len(set(edges)) == len(edges)
        assert all(a != b and 0 <= a < 16 and 0 <= b < 16 for a, b in edges)


def test_a_single_message_is_native() -> None:
    net = even_network(2, 1e-3, 1e6)
    pacing, window, native, time = planner.plan_neighborhood([(0, 1, 1000)], net, [0, 1])
    assert (pacing, window) == ("native", 0)
    assert native == time == pytest.approx(2e-3)


def test_a_rank_that_is_not_there_is_refused() -> None:
    net = even_network(2, 1e-3, 1e6)
    with pytest.raises(UserError, match="rank 7, the placement has 2"):
        planner.plan_neighborhood([(0, 7, 1000)], net, [0, 1])
    with pytest.raises(UserError, match="-1 bytes"):
        planner.plan_neighborhood([(0, 1, -1)], net, [0, 1])
