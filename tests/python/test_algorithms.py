from pathlib import Path

import pytest

from thalweg import algorithms, bounds, network, schedule
from thalweg.algorithms import Parameters, Problem
from thalweg.collective import Collective, Kind
from thalweg.errors import UserError

ROOT = Path(__file__).parents[2]
HOSTS, SIZE, LATENCY, RATE = 4, 1_000_000, 1e-4, 1e8


def problem(kind: Kind, root: int = 0) -> Problem:
    even = network.even_network(HOSTS, LATENCY, RATE)
    return Problem(Collective(kind, HOSTS, root, SIZE), even, list(range(HOSTS)))


@pytest.mark.parametrize("algorithm", algorithms.all_algorithms(), ids=lambda a: a.name)
def test_candidates_build_schedules_that_verify(algorithm: algorithms.Algorithm) -> None:
    for kind in (Kind.bcast, Kind.reduce, Kind.allreduce):
        if not algorithm.supports(kind):
            with pytest.raises(ValueError, match=algorithm.name):
                algorithm.build(problem(kind), Parameters())
            continue
        asked = problem(kind, root=2 if kind != Kind.allreduce else 0)
        for parameters in algorithm.candidates(asked):
            skeleton = algorithm.build(asked, parameters)
            assert skeleton.algorithm == algorithm.name
            schedule.verify(asked.collective, algorithms.expand(kind, skeleton, SIZE))


def test_a_problem_outlives_its_network() -> None:
    assert problem(Kind.bcast).network.hosts[3].name == "host3"


def test_find_lists_the_known_names() -> None:
    assert algorithms.find("ring").name == "ring"
    with pytest.raises(UserError, match="pipelined-chain"):
        algorithms.find("rnig")


def test_closeness_order_begins_at_first() -> None:
    even = network.even_network(HOSTS, LATENCY, RATE)
    assert algorithms.closeness_order(even, range(HOSTS), 2) == [2, 0, 1, 3]
    with pytest.raises(UserError, match="rank 4"):
        algorithms.closeness_order(even, range(HOSTS), 4)


def test_impossible_problems_are_refused() -> None:
    even = network.even_network(HOSTS, LATENCY, RATE)
    with pytest.raises(ValueError, match="host number 9"):
        Problem(Collective(Kind.bcast, 2), even, [0, 9])
    with pytest.raises(ValueError, match="2 ranks"):
        Problem(Collective(Kind.bcast, 3), even, [0, 1])
    with pytest.raises(ValueError, match="segment_size"):
        Parameters(segment_size=-1)


def test_bound_of_even_hosts() -> None:
    bcast = bounds.bound(problem(Kind.bcast))
    # What leaves the root within the last latency but one reaches one host only; a bound is found
    # to a part in 10,000.
    others = HOSTS - 1
    assert bcast.time == pytest.approx(SIZE / RATE + (2 - 1 / others) * LATENCY, rel=1e-4)
    assert bcast.reason == "egress of host0, host0 -> 3 hosts: 1MB / 800Mbps + 166us latency"
    allreduce = bounds.bound(problem(Kind.allreduce))
    assert allreduce.time == pytest.approx(2 * (HOSTS - 1) * SIZE / (HOSTS * RATE) + LATENCY)
    for kind in Kind:
        assert bounds.bound(problem(kind)).time > 0


def test_the_page_of_algorithms_has_them_all() -> None:
    """Names, collectives and sources are those of the code."""
    lines = (ROOT / "docs" / "algorithms.md").read_text().splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| `")]
    of_page = {name.strip("`"): (collectives, source) for name, collectives, _, source in rows}
    assert len(of_page) == len(rows)
    assert of_page == {
        each.name: (
            " ".join(kind.name for kind in Kind if each.supports(kind)) or "as given",
            each.source,
        )
        for each in algorithms.all_algorithms()
    }
