"""SimGrid as a judge of plans: it agrees with `fluid` where both should, and the page."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from bench import networks, simgrid
from bench.page import Part, read_parts, write_parts
from bench.simgrid import Case, Judged, SimGrid
from thalweg import algorithms, network, paths, simulator
from thalweg.algorithms import Parameters, Problem
from thalweg.collective import Collective, Kind
from thalweg.errors import UserError
from thalweg.network import MessageCost, Network, Trunk
from thalweg.schedule import How, Range, Schedule, Transfer

is_built = (paths.package() / "bin" / "thalweg-bench-simgrid").is_file()
needs_simgrid = pytest.mark.skipif(not is_built, reason="libsimgrid-dev isn't installed")
RATE = 1e8  # bytes per second


def even(hosts: int) -> Network:
    net = network.even_network(hosts, 1e-4, RATE)
    net.message_costs = {networks.library: networks.cost}
    return net


def by_fluid(problem: Problem, replayed: Schedule) -> float:
    return simulator.simulate(problem, replayed).time


@needs_simgrid
@pytest.mark.parametrize("size", [1_000, 64_000, 1_000_000])
@pytest.mark.parametrize(
    ("kind", "algorithm", "segment_size"),
    [
        (Kind.bcast, "pipelined-chain", 8192),
        (Kind.bcast, "binomial", 0),
        (Kind.reduce, "binomial", 100_000),
        (Kind.allgather, "ring", 0),
        (Kind.allreduce, "recursive-doubling", 0),  # large messages cross
        (Kind.alltoall, "linear", 0),
    ],
)
def test_simgrid_agrees_with_fluid(
    tmp_path: Path, kind: Kind, algorithm: str, segment_size: int, size: int
) -> None:
    problem = Problem(Collective(kind, 8, 0, size), even(8), range(8), networks.library)
    skeleton = algorithms.find(algorithm).build(problem, Parameters(segment_size=segment_size))
    expanded = algorithms.expand(kind, skeleton, size)
    found = SimGrid(problem.network, networks.library, tmp_path).time(problem, expanded)
    assert found == pytest.approx(by_fluid(problem, expanded), rel=0.03)


@needs_simgrid
def test_simgrid_has_as_many_messages_in_flight_as_a_schedule_asks_for(tmp_path: Path) -> None:
    """More than usual: each rank gets a message from all others in the time of the farthest."""
    net = even(24)
    for other in range(1, 24):
        net.latency[0, other] = net.latency[other, 0] = 1e-2
    problem = Problem(Collective(Kind.alltoall, 24, 0, 100), net, range(24), networks.library)
    skeleton = algorithms.find("linear").build(problem, Parameters(window=32))
    expanded = algorithms.expand(Kind.alltoall, skeleton, 100)
    found = SimGrid(net, networks.library, tmp_path).time(problem, expanded)
    assert found == pytest.approx(by_fluid(problem, expanded), rel=0.03)
    assert found < 1.5e-2


@needs_simgrid
def test_a_nearer_flow_gets_more_unless_shares_are_equal(tmp_path: Path) -> None:
    net = network.even_network(3, 1e-3, RATE)
    net.latency[0, 2] = 3e-3
    net.bandwidth[0, 2] = RATE / 2
    net.message_costs = {networks.library: MessageCost(eager_limit=10**9)}
    problem = Problem(Collective(Kind.scatter, 3, 0, 1_000_000), net, range(3), networks.library)
    both = Schedule(3, [Transfer(0, to, 0, How.copy, [Range(to)]) for to in (1, 2)])
    alone = 1e6 / RATE  # seconds that the port takes for one of them
    judge = SimGrid(net, networks.library, tmp_path)
    assert judge.time(problem, both, simgrid.equal) == pytest.approx(2 * alone + 3e-3, rel=1e-4)
    # The near one has three quarters of the port; the other two thirds then go at its own rate.
    end = alone / 0.75 + 2 / 3 * 2 * alone + 3e-3
    assert judge.time(problem, both) == pytest.approx(end, rel=1e-4)


@needs_simgrid
def test_a_trunk_is_shared(tmp_path: Path) -> None:
    net = even(4)
    net.trunks = [Trunk("it", [0, 1], [2, 3], RATE / 2)]
    problem = Problem(Collective(Kind.alltoall, 4, 0, 1_000_000), net, range(4), networks.library)
    skeleton = algorithms.find("linear").build(problem, Parameters(window=32))
    expanded = algorithms.expand(Kind.alltoall, skeleton, 1_000_000)
    found = SimGrid(net, networks.library, tmp_path).time(problem, expanded)
    assert found >= 4e6 / (RATE / 2)
    assert found == pytest.approx(by_fluid(problem, expanded), rel=0.03)


@needs_simgrid
def test_more_ranks_than_hosts_are_refused(tmp_path: Path) -> None:
    problem = Problem(Collective(Kind.bcast, 5, 0, 8), even(5), range(5), networks.library)
    one = Schedule(1, [Transfer(0, 4, 0, How.copy, [Range(0)])])
    with pytest.raises(UserError, match="has 5 ranks, the network 4 hosts"):
        SimGrid(even(4), networks.library, tmp_path).time(problem, one)


# The page --------------------------------------------------------------------------------------

PLAN = Judged("packed-trees", 100, 1.0, 1.2, 1.0)
RIVAL = Judged("binomial", 7, 2.0, 1.5, 2.0)
CASE = Case("sites-16-1", 16, "bcast", 1_000_000, 0, PLAN, RIVAL)


def tables(cases: Sequence[Case]) -> list[list[list[str]]]:
    parts = [Part({"seed": 1}, {}, [asdict(case) for case in cases], "", "")]
    again = read_parts(write_parts(parts))
    return [table.rows for table in simgrid.contents(again)]


def test_the_page_counts_what_simgrid_finds_slower() -> None:
    bad = replace(CASE, network="sites-8-2", plan=replace(PLAN, weighted=1.8))
    rivals, fluid, worst = tables([CASE, bad])
    assert rivals[0] == ["bcast", "1MB", "2", "0", "1", "+20.0 %", "2 %", "100 %", "100 %"]
    assert rivals[-1][0] == "all"
    assert fluid[0] == ["bcast", "1MB", "1.50x", "1.20x", "1.80x", "1.00x", "1.00x", "1.00x"]
    assert worst[0][0] == "sites-8-2"


def test_what_is_too_long_is_counted_apart() -> None:
    long = replace(CASE, rival=Judged("ring", 10**6, 2.0, 0, 0))
    rivals, fluid, worst = tables([CASE, long])
    assert rivals[0][2:4] == ["1", "1"]
    assert len(worst) == 1
    rivals, fluid, worst = tables([long])
    assert rivals[0][2:] == ["0", "1", "", "", "", "", ""]
    assert not fluid and not worst


def test_a_judge_that_is_not_there_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_PREFIX", "/nowhere")
    with pytest.raises(UserError, match="libsimgrid-dev"):
        simgrid.program()
