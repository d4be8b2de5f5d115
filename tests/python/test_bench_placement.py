"""The patterns, networks and optima of the page of placements."""

import numpy as np
import pytest

from bench import kahip, placement_cases
from bench.placement_cases import matrix, network, patterns
from bench.placement_optimum import all_placements, costs_of, optimum
from thalweg import mapping


@pytest.mark.parametrize("pattern", patterns)
@pytest.mark.parametrize("ranks", [8, 9, 64])
def test_patterns_have_messages_of_all_ranks(pattern: str, ranks: int) -> None:
    drawn = matrix(pattern, ranks, 1)
    assert drawn.ranks == ranks
    assert set(drawn.sender.tolist()) | set(drawn.receiver.tolist()) == set(range(ranks))
    assert drawn.nbytes.tolist() == matrix(pattern, ranks, 1).nbytes.tolist()


@pytest.mark.parametrize("ranks", [1, 7, 12, 64, 128])
def test_grids_hold_all_ranks(ranks: int) -> None:
    for dimensions in (2, 3):
        assert np.prod(placement_cases.grid(ranks, dimensions)) == ranks


@pytest.mark.parametrize("seed", range(len(placement_cases.drawn_from)))
def test_costs_are_those_of_the_mapping(seed: int) -> None:
    _, net = network(seed, 4)
    program = matrix("random", 6, seed)
    (every,) = all_placements(6, 4, 2)
    some = every[:: len(every) // 50]
    costs = [mapping.cost_of(net, program, row.tolist()).total for row in some]
    assert costs_of(net, program, some) == pytest.approx(costs)


def test_all_placements_are_tried() -> None:
    (every,) = all_placements(4, 3, 2)
    kept = {tuple(row) for row in every.tolist()}
    assert len(kept) == len(every) == 54  # 81, less those with three or four on a host
    _, net = network(1, 3)
    program = matrix("random", 4, 1)
    assert optimum(net, program, 2) == pytest.approx(costs_of(net, program, every).min())


@pytest.mark.parametrize("seed", range(4))
def test_kahip_is_made_to_fit_the_slots_of_another_placement(seed: int) -> None:
    _, net = network(seed, 6)
    program = matrix("stencil-2d", 24, seed)
    usual = mapping.place(net, program, [4] * 6, method="random")
    found = kahip.place(net, program, usual.placement)
    assert found is not None
    assert sorted(found) == sorted(usual.placement)
    # Neighbours in a grid share hosts.
    assert mapping.traffic_of(net, program, found).inter_host < usual.traffic.inter_host
    assert kahip.place(net, program, [0] * 20 + [1] * 4) is None
