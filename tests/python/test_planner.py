import pytest

from thalweg import algorithms, network, planner
from thalweg.algorithms import Problem
from thalweg.collective import Collective, Kind
from thalweg.errors import UserError
from thalweg.network import Host, MessageCost, NativeTime, Network
from thalweg.planner import Options, PlanFile

HOSTS = 4


def four_hosts() -> Network:
    net = network.even_network(HOSTS, 1e-3, 1e7)
    net.hosts = [Host(host.name, 1e7, 1e7) for host in net.hosts]
    net.message_costs = {"openmpi": MessageCost(send=5e-6, receive=5e-6)}
    return net


def bcast(net: Network, size: int) -> Problem:
    return Problem(Collective(Kind.bcast, HOSTS, 0, size), net, range(HOSTS), "openmpi")


def test_a_plan_is_explained() -> None:
    explained = planner.explain(bcast(four_hosts(), 10_000_000), Options(library="openmpi"))
    plan = explained.plan
    assert plan.algorithm == explained.candidates[0].algorithm
    assert plan.reason.startswith(f"{plan.algorithm}:segment_size=")
    assert plan.bound.time <= plan.predicted == explained.candidates[0].time
    # The path is that of the whole pipeline, the prediction leaves out what repeats itself.
    assert explained.critical_path[-1].end == pytest.approx(plan.predicted, rel=1e-3)
    assert explained.passes[0].pass_ == "candidates"
    assert planner.plan(bcast(four_hosts(), 10_000_000), Options("openmpi")).reason == plan.reason


def test_native_is_chosen_where_it_is_faster() -> None:
    net = four_hosts()
    net.native_times = [NativeTime("openmpi", "bcast", 1000, 1e-5)]
    explained = planner.explain(bcast(net, 1000), Options(library="openmpi"))
    assert explained.plan.algorithm == "native"
    assert explained.plan.native.measured
    assert explained.plan.native.time == pytest.approx(1e-5)
    assert explained.plan.native.algorithm.startswith("openmpi-4.1: ")
    assert explained.candidates[0].algorithm == "native"
    assert explained.candidates[0].fluid == pytest.approx(1e-5)


def test_forcing_what_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match="rnig"):
        planner.plan(bcast(four_hosts(), 1000), Options(force="rnig"))
    with pytest.raises(UserError, match="bound"):
        planner.plan(bcast(four_hosts(), 1000), Options(disabled=["bonud"]))
    with pytest.raises(ValueError, match="at least 1"):
        Options(window=-1)


def test_a_plan_file_comes_back_as_it_was() -> None:
    net = four_hosts()
    kinds = [Kind.bcast, Kind.allreduce]
    table = planner.make_table(net, range(HOSTS), kinds, Options(library="openmpi"), 100_000)
    data = planner.to_bytes(PlanFile(net, "openmpi", [table]))
    read = planner.from_bytes(data)
    assert read.network == net
    assert read.library == "openmpi"
    assert read.tables == [table]
    entry = table.find(Kind.bcast, 2, 50_000)
    assert entry is not None
    assert entry.skeleton.root == entry.root == 2
    assert table.find(Kind.bcast, 2, 0) is None
    with pytest.raises(UserError, match="damaged"):
        planner.from_bytes(data[:-1])
    with pytest.raises(UserError, match="isn't a plan file"):
        planner.from_bytes(b"{}")


def test_a_quick_table_knows_every_root() -> None:
    table = planner.quick_table(four_hosts(), range(HOSTS), Options(library="openmpi"))
    assert all(table.find(Kind.bcast, root, 1_000_000) for root in range(HOSTS))
    assert planner.quick_table(four_hosts(), [0, 7]).entries == []


def test_a_library_selects_without_a_network() -> None:
    assert set(planner.selections()) >= {"mpich", "mpich-1.4", "openmpi-4.1"}
    algorithm, parameters = planner.selection("mpich-1.4", Collective(Kind.bcast, 8, 3, 12_288))
    assert algorithm == "scatter-doubling"
    assert parameters.order == "rank"
    asked = Problem(Collective(Kind.bcast, HOSTS, 1, 1000), four_hosts(), range(HOSTS))
    assert algorithms.find(algorithm).build(asked, parameters).order == [1, 2, 3, 0]
    with pytest.raises(UserError, match=r"openmpi-4\.1"):
        planner.selection("mpich-9", asked.collective)


def test_a_library_goes_by_hosts_where_they_have_several_ranks() -> None:
    reduce = Collective(Kind.reduce, HOSTS + 2, 0, 1000)
    asked = Problem(reduce, four_hosts(), [*range(HOSTS), 0, 0])
    (found,) = planner.native_algorithms(asked, "mpich-1.4")
    assert str(found) == "mpich-1.4: binomial within hosts, binomial between hosts"
    within, between = found.phases
    assert (within.level, within.placement) == (planner.Level.within_hosts, [0, 0, 0])
    assert (between.level, between.placement) == (planner.Level.between_hosts, list(range(HOSTS)))
    assert [phase.collective.ranks for phase in found.phases] == [3, HOSTS]
    (alone,) = planner.native_algorithms(
        Problem(Collective(Kind.reduce, HOSTS, 0, 1000), four_hosts(), range(HOSTS)), "mpich-1.4"
    )
    assert [phase.level for phase in alone.phases] == [planner.Level.all]
