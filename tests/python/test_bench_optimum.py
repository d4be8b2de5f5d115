"""The search for the optimum on few hosts, where the optimum is known."""

import pytest

from bench import optimum
from bench.optimum import Search, drawn, goal_of
from thalweg import bounds
from thalweg.algorithms import Problem
from thalweg.collective import Collective, Kind
from thalweg.network import Host, Network

LATENCY, RATE, SIZE = 0.01, 1e6, 10_000
MESSAGE = SIZE / RATE


@pytest.fixture(autouse=True)
def short_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimum, "most_states", 1000)


def network(count: int) -> Network:
    latency = [[0.0 if a == b else LATENCY for b in range(count)] for a in range(count)]
    hosts = [Host(f"h{at}", RATE, RATE) for at in range(count)]
    return Network(hosts, latency, [[RATE] * count] * count)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "hosts", "segments", "time"),
    [
        (Kind.bcast, 2, 1, LATENCY + MESSAGE),
        (Kind.bcast, 3, 1, LATENCY + 2 * MESSAGE),
        (Kind.reduce, 3, 1, LATENCY + 2 * MESSAGE),
        (Kind.allreduce, 2, 1, LATENCY + MESSAGE),
        (Kind.allreduce, 3, 1, LATENCY + 2 * MESSAGE),
        (Kind.allgather, 3, 1, LATENCY + 2 * MESSAGE),
        (Kind.reduce_scatter, 3, 1, LATENCY + 2 * MESSAGE),
        # Each of the others passes on the half that it got first.
        (Kind.bcast, 3, 2, 2 * LATENCY + 1.5 * MESSAGE),
    ],
)
def test_known_optima_are_found(kind: Kind, hosts: int, segments: int, time: float) -> None:
    collective = Collective(kind, hosts, 0, SIZE)
    flat = LATENCY + 2 * MESSAGE
    search = Search(network(hosts), goal_of(collective, segments), 1.01 * min(time, flat), 0)
    assert search.best == pytest.approx(min(time, flat), rel=1e-6)


def test_a_slow_path_is_gone_around() -> None:
    net = network(3)
    net.latency[0, 2] = 10 * LATENCY
    search = Search(net, goal_of(Collective(Kind.bcast, 3, 0, SIZE), 1), 1, 0)
    assert search.best == pytest.approx(2 * (LATENCY + MESSAGE))


@pytest.mark.parametrize("kind", [Kind.bcast, Kind.reduce, Kind.allreduce, Kind.allgather])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_faster_than_the_bound(kind: Kind, seed: int) -> None:
    _, net = drawn(seed)
    problem = Problem(Collective(kind, 3, 0, 30_000), net, range(3), "")
    bound = bounds.bound(problem).time
    found, _ = optimum.optimum(problem, 1.2 * bound, bound)
    assert found >= bound * (1 - 1e-9)
