import pytest

from thalweg import algorithms, network, schedule, simulator
from thalweg.algorithms import Parameters, Problem
from thalweg.collective import Collective, Kind
from thalweg.errors import UserError
from thalweg.schedule import How, Range, Schedule, Transfer
from thalweg.simulator import Fidelity, Options

HOSTS, LATENCY, RATE = 4, 1e-3, 1e6


def bcast(size: int) -> Problem:
    even = network.even_network(HOSTS, LATENCY, RATE)
    return Problem(Collective(Kind.bcast, HOSTS, 0, size), even, range(HOSTS))


@pytest.mark.parametrize("fidelity", list(Fidelity))
def test_a_chain_takes_its_segments_and_latencies(fidelity: Fidelity) -> None:
    # 8 segments of 1 ms through 3 links of 1 ms latency.
    asked = bcast(8000)
    chain = algorithms.find("pipelined-chain").build(asked, Parameters(segment_size=1000))
    found = simulator.simulate(asked, chain, Options(fidelity=fidelity, timeline=True))
    assert found.time == pytest.approx(3 * LATENCY + (8 + 2) * 1e-3)
    assert max(found.exits) == found.time
    assert len(found.timeline) == 3 * 8
    assert [event.step for event in found.timeline] == sorted(e.step for e in found.timeline)
    path = simulator.critical_path(found.timeline)
    assert path[0].start == 0
    assert path[-1].end == found.time


def test_any_schedule_can_be_simulated() -> None:
    to_each = [Transfer(0, rank, 0, How.copy, [Range(0)]) for rank in range(1, HOSTS)]
    asked = bcast(1000)
    whole = Schedule(1, to_each)
    schedule.verify(asked.collective, whole)
    found = simulator.simulate(asked, whole)
    assert found.time == pytest.approx(LATENCY + 3e-3)  # They share a port of RATE.
    assert found.timeline == []


def test_wrong_options_are_refused() -> None:
    asked = bcast(1000)
    flat = algorithms.find("flat").build(asked, Parameters())
    with pytest.raises(UserError, match="at least 1"):
        simulator.simulate(asked, flat, Options(window=-1))


def test_random_trees() -> None:
    asked = bcast(1000)
    sample = simulator.monte_carlo(asked, 300, seed=3, quantiles=[0, 0.5, 1], bins=7)
    assert sample.count == sum(sample.counts) == 300
    assert len(sample.edges) == 8
    assert sample.minimum == sample.quantiles[0] <= sample.quantiles[1] <= sample.maximum
    # Binomial trees on equal hosts are alike: the root's second message passes its port, and on.
    assert sample.minimum == pytest.approx(sample.maximum) == pytest.approx(2 * LATENCY + 2e-3)
    assert sorted(sample.order) == list(range(HOSTS))
    assert sample.parents[sample.order[0]] == -1
    drawn = simulator.monte_carlo(asked, 300, generator=simulator.Generator.recursive)
    assert drawn.minimum < drawn.maximum
    with pytest.raises(UserError, match="allreduce"):
        simulator.monte_carlo(
            Problem(Collective(Kind.allreduce, HOSTS), asked.network, range(4)), 1
        )
