"""Bad inputs, each with the sentence that names what is at fault. test_fuzz.py tries many more."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import thalweg
from thalweg import (
    algorithms,
    bounds,
    export,
    hierarchy,
    hosts,
    network,
    network_text,
    planner,
    probe,
    schedule,
    simulator,
    trees,
)
from thalweg.algorithms import Parameters, Problem
from thalweg.collective import Collective, Kind
from thalweg.errors import UserError
from thalweg.network import DeclaredGroup, Host, MessageCost, NativeTime, Network, Trunk
from thalweg.schedule import How, Range, Schedule, Transfer

HOSTS = 4
ALL = list(range(HOSTS))
NAN = math.nan
TRUNK = ([0, 1], [2, 3])
BCAST = Collective(Kind.bcast, HOSTS, 0, 1000)


def four_hosts() -> Network:
    return network.even_network(HOSTS, 1e-3, 1e7)


def set_latency(net: Network, value: float) -> None:
    net.latency[0, 1] = value


def set_bandwidth(net: Network, value: float) -> None:
    net.bandwidth[2, 3] = value


EDITS: dict[str, tuple[str, Callable[[Network], Any]]] = {
    f"{name}": (message, lambda net, name=attribute, value=value: setattr(net, name, value))
    for name, message, attribute, value in [
        ("a trunk's host", "trunk t names host number 99", "trunks", [Trunk("t", [99], [2], 1e6)]),
        ("a negative host", "trunk t names host number -5", "trunks", [Trunk("t", [-5], [2], 1e6)]),
        ("no capacity", "capacity of trunk t is 0bps", "trunks", [Trunk("t", *TRUNK, 0.0)]),
        ("NaN capacity", "trunk t is not a number", "trunks", [Trunk("t", *TRUNK, NAN)]),
        ("20,000 trunks", "20000 trunks: at most 1024", "trunks",
         [Trunk(f"t{i}", *TRUNK, 1e6) for i in range(20_000)]),
        ("no egress", "egress capacity of host h0 is 0bps", "hosts",
         [Host(f"h{i}", 0.0) for i in ALL]),
        ("NaN egress", "egress capacity of host h0 is not a number", "hosts",
         [Host(f"h{i}", NAN) for i in ALL]),
        ("negative ingress", "ingress capacity of host h0 is -8bps", "hosts",
         [Host(f"h{i}", 1e6, -1.0) for i in ALL]),
        ("equal names", "host a is listed twice", "hosts", [Host("a")] * HOSTS),
        ("a site's host", "site number 0 names host number 77", "sites", [[0, 1, 2, 77]]),
        ("a host without a site", "host host2 is in no site", "sites", [[0, 1]]),
        ("a group's host", "group g names host number 77", "groups", [DeclaredGroup("g", [77])]),
        ("overlapping groups", "groups a and b share some of their hosts", "groups",
         [DeclaredGroup("a", [0, 1]), DeclaredGroup("b", [1, 2])]),
        ("20,000 groups", "20000 groups: at most 4096", "groups",
         [DeclaredGroup(f"g{i}", [0]) for i in range(20_000)]),
        ("NaN cost", "message costs of x contain not a number", "message_costs",
         {"x": MessageCost(send=NAN)}),
        ("negative cost", "message costs of x contain -1s", "message_costs",
         {"x": MessageCost(receive=-1.0)}),
        ("negative eager limit", "eager limit of x is -1", "message_costs",
         {"x": MessageCost(eager_limit=-1)}),
        ("NaN native time", "native time of x's bcast is not a number", "native_times",
         [NativeTime("x", "bcast", 1, NAN)]),
        ("negative window", "the initial window is -1 bytes", "initial_window", -1),
    ]
} | {
    "NaN latency": ("latency host0 -> host1 is not a number", lambda net: set_latency(net, NAN)),
    "negative latency": ("latency host0 -> host1 is -1s", lambda net: set_latency(net, -1)),
    "infinite latency": ("host0 -> host1 is infinite", lambda net: set_latency(net, math.inf)),
    "no bandwidth": ("bandwidth host2 -> host3 is 0bps", lambda net: set_bandwidth(net, 0)),
    "NaN bandwidth": ("host2 -> host3 is not a number", lambda net: set_bandwidth(net, NAN)),
}  # fmt: skip

BINOMIAL = algorithms.find("binomial")

USES: list[Callable[[Network, Problem, algorithms.Skeleton], object]] = [
    lambda net, problem, skeleton: thalweg.plan(net, thalweg.Bcast(nbytes=1000)),
    lambda net, problem, skeleton: thalweg.plan(net, thalweg.Bcast(), effort="estimate"),
    lambda net, problem, skeleton: planner.plan(problem),
    lambda net, problem, skeleton: planner.explain(problem),
    lambda net, problem, skeleton: planner.make_table(net, ALL, [Kind.bcast]),
    lambda net, problem, skeleton: planner.quick_table(net, ALL),
    lambda net, problem, skeleton: bounds.bound(problem),
    lambda net, problem, skeleton: simulator.simulate(problem, skeleton),
    lambda net, problem, skeleton: simulator.monte_carlo(problem, 10),
    lambda net, problem, skeleton: hierarchy.build(net),
    lambda net, problem, skeleton: hierarchy.asymmetry(net),
    lambda net, problem, skeleton: hierarchy.links(net),
    lambda net, problem, skeleton: algorithms.closeness_order(net, ALL, 0),
    lambda net, problem, skeleton: probe.outline(net, 10.0),
    lambda net, problem, skeleton: list(export.simgrid(net)),
    lambda net, problem, skeleton: network_text.as_json(net),
    lambda net, problem, skeleton: network.to_json(net),
]


@pytest.mark.parametrize("edit", EDITS)
def test_whatever_uses_a_network_checks_it_first(edit: str) -> None:
    message, change = EDITS[edit]
    net = four_hosts()
    problem = Problem(BCAST, net, ALL)
    skeleton = BINOMIAL.build(problem, Parameters())
    change(net)
    for use in USES:
        with pytest.raises(UserError, match=message):
            use(net, problem, skeleton)
    for build in (lambda: Problem(BCAST, net, ALL), lambda: BINOMIAL.build(problem, Parameters())):
        with pytest.raises(ValueError, match=message):
            build()


def test_a_matrix_of_another_size_is_refused() -> None:
    many = [Host(f"h{i}") for i in range(100_000)]
    with pytest.raises(ValueError, match="a matrix of 2 by 2 numbers doesn't fit"):
        Network(many, np.zeros((2, 2)), np.ones((2, 2)))
    with pytest.raises(ValueError, match="a matrix must be rows and columns of numbers"):
        Network(many[:2], [[0, 1], [1]], [[1, 1], [1, 1]])  # type: ignore[arg-type]
    few = Network(many[:2], [[0, 1], [1, 0]], [[1, 1], [1, 1]])  # type: ignore[arg-type]
    assert few.latency_between(0, 1) == 1
    with pytest.raises(UserError, match="a network needs from 1 to 1048576 hosts"):
        network.even_network(2**31 - 1, 1e-3, 1e7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"operation": "bcast"}, "'bcast' is no operation: give one such as Bcast"),
        ({"operation": thalweg.Bcast}, "is no operation"),
        ({"operation": thalweg.Bcast(nbytes=2**63)}, "nbytes 9223372036854775808 must be at least"),
        ({"operation": thalweg.Bcast(nbytes=2**62)}, "more than the 256 PiB"),
        ({"operation": thalweg.Gather(nbytes=[2**62] * 4)}, "more than the 256 PiB"),
        ({"operation": thalweg.Bcast(nbytes=1e6)}, "nbytes 1000000.0 must be a whole number"),  # type: ignore[arg-type]
        ({"operation": thalweg.Bcast(nbytes=-1)}, "nbytes -1 must be at least 0"),
        ({"operation": thalweg.Bcast(root=True)}, "root True must be a whole number"),
        ({"operation": thalweg.Bcast(root=1.0)}, "root 1.0 must be a whole number"),  # type: ignore[arg-type]
        ({"operation": thalweg.Alltoall(nbytes=[1, 2, 3, 4])}, "must have a row for each sender"),  # type: ignore[list-item]
        ({"ranks": "8"}, "ranks '8' must be a whole number"),
        ({"ranks": 0}, "ranks 0 must be at least 1"),
        ({"ranks": 10**9}, "1000000000 ranks are too many: plans are for at most 32768"),
        ({"hosts": "host[0-999999999]"}, "more than 32768 hosts are listed"),
        ({"hosts": 3}, "hosts 3 must be a list"),
        ({"hosts": "host0:1000000000"}, "1000000000 ranks are too many"),
        ({"placement": [0, 2**40]}, "there is no host number 1099511627776"),
        ({"placement": [0, 1.5]}, "placement of rank 1: 1.5 must be a whole number"),
        ({"placement": "host0"}, "placement 'host0' must be a list"),
        ({"effort": None}, "effort None must be text"),
        ({"seed": 1.5}, "seed 1.5 must be a whole number"),
        ({"seed": -1}, "seed -1: must be from 0"),
        ({"budget": -1}, "budget -1 must be seconds from 0"),
        ({"library": 3}, "library 3 must be text"),
        ({"algorithm": None}, "algorithm None must be text"),
        ({"schedule": []}, r"\[\] is no Schedule"),
        ({"network": 3}, "network 3: give a Network"),
        ({"network": "a\0b"}, "no file can have this name"),
        ({"network": {"schema": {1}}}, "can't be written as JSON"),
    ],
)  # fmt: skip
def test_each_argument_of_a_plan_is_checked(arguments: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "network": four_hosts(),
        "operation": thalweg.Bcast(nbytes=1000),
    } | arguments
    with pytest.raises(UserError, match=message):
        thalweg.plan(given.pop("network"), given.pop("operation"), **given)


def test_numbers_of_numpy_are_whole_numbers() -> None:
    operation = thalweg.Bcast(root=np.int32(1), nbytes=np.int64(1000))  # type: ignore[arg-type]
    plan = thalweg.plan(four_hosts(), operation, ranks=np.int64(8), effort="estimate")  # type: ignore[arg-type]
    assert (plan.collective.root, plan.collective.size, plan.collective.ranks) == (1, 1000, 8)
    vector = thalweg.Gather(nbytes=np.array([1, 2, 3, 4]))  # type: ignore[arg-type]
    assert vector.collective(4).block_sizes == [1, 2, 3, 4]
    assert thalweg.Gather(nbytes=np.int64(5)).collective(4).size == 5  # type: ignore[arg-type]


def test_the_limit_of_ranks_is_that_of_the_core() -> None:
    net = four_hosts()
    with pytest.raises(UserError, match=f"plans are for 1 to {hosts.MOST_RANKS}"):
        planner.make_table(net, [0] * (hosts.MOST_RANKS + 1), [Kind.bcast])


def test_more_hosts_may_have_more_ranks_and_trunks() -> None:
    names = [Host(f"h{at}", 1e8, 1e8) for at in range(hosts.MOST_RANKS + 1)]
    one = np.ones((1, 1))
    net = Network.from_classes(names, [0] * len(names), 1e-4 * one, 1e8 * one)
    net.trunks = [Trunk(f"t{at}", [0], [1], 1e8) for at in range(2000)]
    assert hosts.check_ranks(len(names), len(names)) == len(names)
    options = planner.Options(effort=planner.Effort.normal)
    collective = Collective(Kind.bcast, len(names), 0, 1000)
    found = planner.plan(Problem(collective, net, range(len(names)), ""), options)
    assert found.predicted > 0


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (Problem, (1, 2, 3), r"Problem\(\) takes .*not \(int, int, int\)$"),
        (Trunk, (), r"Trunk\(\) takes \(name: str, from_: Sequence\[int\].*, not \(\)$"),
        (Trunk, ("t", [0], [2**31], 1.0), r"Trunk\(\) takes"),
        (Trunk, ("t", [0], [1], "1"), r"not \(str, list, list, str\)$"),
        (Range, ("x",), r"Range\(\) takes \(first: int, .*not \(str\)$"),
        (Collective, ("bcast", 4), r"Collective\(\) takes"),
        (Network, (4,), r"Network\(\) takes .*not \(int\)$"),
        (Network.from_classes, (4,), r"Network.from_classes\(\) takes"),
        (Network.find, (four_hosts(), 3), r"Network.find\(\) takes \(name: str\).*not \(int\)$"),
        (setattr, (four_hosts(), "trunks", 3), r"Network.trunks takes .*not \(int\)$"),
        (setattr, (four_hosts(), "sites", "ab"), r"Network.sites takes .*not \(str\)$"),
        (setattr, (four_hosts(), "clock", None), r"Network.clock takes .*not \(NoneType\)$"),
    ],
)  # fmt: skip
def test_arguments_of_other_types_are_refused_in_one_line(
    make: Callable[..., object], given: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(TypeError, match=message) as refused:
        make(*given)
    assert len(str(refused.value).splitlines()) == 1


def test_a_keyword_that_is_unknown_is_named() -> None:
    with pytest.raises(TypeError, match=r"Host\(\) takes .*not \(str, speed: int\)$"):
        Host("h", speed=1)  # type: ignore[call-arg]


def test_types_that_convert_are_still_converted() -> None:
    trunk = Trunk("t", np.array([0]), (1, 2), 3)  # type: ignore[arg-type]
    assert (trunk.from_, trunk.to, trunk.capacity) == ([0], [1, 2], 3.0)
    net = four_hosts()
    net.trunks = (trunk,)
    assert net.trunks == [trunk]


# Schedules -------------------------------------------------------------------------------------

CHAIN = [Transfer(r, r + 1, r, How.copy, [Range(0)]) for r in range(HOSTS - 1)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Schedule(1, CHAIN, 2, 2**31 - 1), "last segment may begin at step 1073741823"),
        (lambda: Schedule(1, CHAIN, 2**31 - 1), "last segment may begin at step 1073741823"),
        (lambda: Schedule(0, []), "needs at least 1 chunk, not 0"),
        (lambda: Schedule(2**62, CHAIN), "4611686018427387904 chunks is too large"),
        (lambda: moving(Range(5)), "isn't within the 1 chunks"),
        (lambda: moving(Range(0, -5)), "the range of -5 chunks"),
        (lambda: moving(Range(0, 1, 0)), "in steps of 0"),
        (lambda: moving(Range(0, 2**62, 2**62)), "isn't within the 1 chunks"),
    ],
)
def test_impossible_schedules_are_not_made(make: Callable[[], Schedule], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def moving(part: Range) -> Schedule:
    return Schedule(1, [Transfer(0, 1, 0, How.copy, [part])])


@pytest.mark.parametrize(
    ("transfers", "message"),
    [
        ([Transfer(0, 99, 0, How.copy, [Range(0)])], "there are only the ranks 0 to 3"),
        ([Transfer(-1, 2, 0, How.copy, [Range(0)])], "there are only the ranks 0 to 3"),
        ([Transfer(0, 1, 2**31 - 1, How.copy, [Range(0)])], "the last step is 1073741823"),
        ([Transfer(0, 1, -1, How.copy, [Range(0)])], "the step is below 0"),
        ([Transfer(0, 1, 0, How.copy, [])], "it moves no chunk"),
        (CHAIN[::-1], "transfers must ascend by"),
    ],
)
def test_only_what_has_the_form_of_a_schedule_is_simulated(
    transfers: list[Transfer], message: str
) -> None:
    problem = Problem(BCAST, four_hosts(), ALL)
    made = Schedule(1, transfers)
    with pytest.raises(UserError, match=message):
        simulator.simulate(problem, made)
    with pytest.raises(ValueError, match=message):
        schedule.verify(BCAST, made)


def test_a_skeleton_is_only_for_its_own_collective() -> None:
    net = four_hosts()
    skeleton = BINOMIAL.build(Problem(BCAST, net, ALL), Parameters())
    fewer = Problem(Collective(Kind.bcast, 2, 0, 1000), net, [0, 1])
    with pytest.raises(UserError, match="isn't one for a bcast of 2 ranks: it is for 4 ranks"):
        simulator.simulate(fewer, skeleton)
    with pytest.raises(UserError, match="isn't one for a scan of 4 ranks"):
        algorithms.expand(Kind.scan, skeleton, 1000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ranks 2147483647\n0: 1\n", "a tree has from 1 to 32768 ranks, not 2147483647"),
        ("ranks 4\nsegment_size " + "1" * 31 + "\n0: 1 2 3\n", "it is too large"),
    ],
)
def test_huge_trees_are_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        trees.from_text(text, 4)
