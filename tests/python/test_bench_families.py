"""The twelve families of networks, and the page about messages of medium size on them."""

from dataclasses import asdict, replace

import pytest

from bench import families, middle
from bench.page import Part
from thalweg.network import from_json, to_json

SEEDS = range(2 * len(families.families))
CASE = middle.Case("star-8-2", "mpich", "allreduce", 30_000, 0, "ring", 1.5, 1.0, "a trunk", 1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_draws_one_valid_network(seed: int) -> None:
    drawn, again = families.drawn(seed, 16), families.drawn(seed, 16)
    text = to_json(drawn.network)
    assert text == to_json(again.network)
    assert to_json(from_json(text, drawn.name)) == text
    assert drawn.placement == again.placement
    assert drawn.name == f"{drawn.family}-{drawn.ranks}-{seed}"
    assert drawn.library in drawn.network.message_costs


def test_a_tree_of_links_has_a_trunk_for_each_direction_and_sums_of_latencies() -> None:
    nodes = [
        families.Node(-1, 1),
        families.Node(0, 2, latency=1.0, up=10.0, down=20.0),
        families.Node(1, 1, latency=2.0, up=30.0, down=40.0),
    ]
    net = families.tree_network(nodes, 100.0, 0.5)
    assert net.sites == [[0], [1, 2], [3]]
    assert net.latency[1, 2] == 1.0
    assert net.latency[0, 3] == net.latency[3, 0] == 1.0 + 1.0 + 2.0
    assert net.bandwidth[3, 0] == 10.0
    assert net.bandwidth[0, 3] == 20.0
    assert [(trunk.from_, trunk.to, trunk.capacity) for trunk in net.trunks] == [
        ([1, 2, 3], [0], 10.0),
        ([0], [1, 2, 3], 20.0),
        ([3], [0, 1, 2], 30.0),
        ([0, 1, 2], [3], 40.0),
    ]


def test_no_plan_is_better_than_the_bound() -> None:
    for seed in (2, 10):
        for case in middle.judge_network((1_000,), ("allreduce", "alltoall"), 8, seed):
            assert case.time >= case.bound > 0


def test_the_page_says_which_bars_are_met() -> None:
    far = replace(CASE, collective="bcast", time=2.0)
    without = replace(CASE, size=1_000, time=9.0)
    samples = [asdict(case) for case in (CASE, far, without)]
    distances, worst = middle.contents([Part({}, {}, samples, "", "")])
    assert [(row[0], row[1], row[-1]) for row in distances.rows] == [
        ("bcast", "30KB", "no"),
        ("allreduce", "1KB", ""),
        ("allreduce", "30KB", "yes"),
    ]
    assert next(row[-2] for row in worst.rows).startswith("9")
