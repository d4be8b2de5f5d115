"""Mutates valid inputs and gives them to everything that reads or uses them.

Each must be taken, or refused by a UserError of one line. Run by test_fuzz.py in a process of its
own, so that a crash or a hang is found too; by hand with more examples:

    python tests/python/fuzz_inputs.py --examples 5000 --seed 7

The input in work is in the file of --current.
"""

import json
import math
import struct
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from fuzzing import (
    NUMBERS,
    ODD,
    TEXTS,
    Property,
    attempt,
    main,
    mutated,
    mutated_bytes,
    mutated_text,
    refusals,
    remember,
)
from hypothesis import strategies as st

import thalweg
from thalweg import (
    algorithms,
    bounds,
    export,
    hierarchy,
    hosts,
    inputs,
    network,
    network_text,
    operations,
    planner,
    probe,
    schedule,
    simulator,
    trees,
    units,
)
from thalweg._core.algorithms import parse_parameters
from thalweg.algorithms import Parameters, Problem
from thalweg.collective import Collective, Kind
from thalweg.network import DeclaredGroup, Host, MessageCost, NativeTime, Network, Trunk
from thalweg.plans import Setting
from thalweg.schedule import How, Range, Schedule, Transfer

RANKS = 4


# Valid inputs ----------------------------------------------------------------------------------


def network_document() -> dict[str, Any]:
    names = [f"h{i}" for i in range(RANKS)]
    return {
        "schema": 1,
        "measured": {"at": "2026-01-01", "with": "test", "clock": "none"},
        "hosts": [{"name": name, "egress": "1Gbps", "ingress": 1e8} for name in names],
        "latency": {"unit": "ms", "matrix": [[0.1, 1, 2, 10]] * RANKS},
        "bandwidth": {"unit": "Mbps", "matrix": [[None, 100, 50, 10]] * RANKS},
        "trunks": [{"name": "t", "from": names[:2], "to": names[2:], "capacity": "10Mbps"}],
        "sites": [names[:2], names[2:]],
        "groups": [{"name": "g", "hosts": names[:2], "class": "cluster"}],
        "initial_window": 14480,
        "message_costs": {"openmpi": {"send": "1us", "receive": 1e-6, "eager_limit": "64KB"}},
        "native_times": [
            {"library": "openmpi", "collective": "bcast", "size": "8MB", "time": "3s"}
        ],
    }


def blocks_document() -> dict[str, Any]:
    blocks = {"unit": "s", "classes": [[2, 0], [2, 1]], "values": [[1, 2], [2, 1]], "self": [0, 0]}
    document = network_document() | {"schema": 2, "latency": blocks}
    document["latency"]["exceptions"] = [["h0", "h3", 5]]
    return document


def schedule_document() -> dict[str, Any]:
    return {
        "schema": 1,
        "collective": {"kind": "bcast", "ranks": RANKS, "root": 0, "size": 1000},
        "chunks": 2,
        "segments": 3,
        "period": 1,
        "window": 4,
        "weights": [1, 2],
        "transfers": [
            {"step": rank, "from": rank, "to": rank + 1, "how": "copy", "what": [[0, 2, 1]]}
            for rank in range(RANKS - 1)
        ],
    }


TREE: dict[str, Any] = {
    "schema": 1, "ranks": RANKS, "root": 0, "segment_size": "64KB",
    "children": {"h0": ["h1", 2], "2": ["h3"]}, "levels": {"h0": 2},
}  # fmt: skip
TREE_TEXT = "# a tree\nranks 4\nsegment_size 64KB\n0: 1 2\n2: 3\n"
HOSTFILE = "# hosts\nh0 slots=2\nh1:2 max_slots=4\nnode[0-3]\n"
HOSTS = "h0,h1:2,node[00-03,7]b"
FORCE = "segment_size=64KiB,degree=4,order=rank,base=4,span=1,adjust=close,window=8"


def valid_network() -> Network:
    return network.from_json(json.dumps(network_document()), "valid")


def plan_bytes() -> bytes:
    setting = Setting(valid_network(), list(range(RANKS)), "openmpi")
    kinds = (Kind.bcast, Kind.allreduce, Kind.alltoall)
    table = planner.make_table(setting.network, setting.placement, kinds, setting.options(), 10**6)
    return planner.to_bytes(planner.PlanFile(setting.network, "openmpi", [table]))


def with_checksum(data: bytes) -> bytes:
    """Corrects size and checksum (docs/plan-file.md), so that what was changed is read."""
    head, content = data[:16], data[32:]
    value = 0xCBF29CE484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return head + struct.pack("<QQ", len(content), value) + content


# Uses ------------------------------------------------------------------------------------------


def use_network(net: Network) -> None:
    """Calls whatever computes from a network."""
    ranks = list(range(min(RANKS, len(net.hosts))))
    for kind in (Kind.bcast, Kind.allreduce, Kind.scan):
        with refusals():
            use_collective(net, ranks, Collective(kind, len(ranks), 0, 5000))
    attempt(lambda: planner.make_table(net, ranks, [Kind.bcast], _quick(), 5000))
    attempt(lambda: planner.quick_table(net, ranks))
    attempt(lambda: hierarchy.build(net).classes(net))
    attempt(lambda: hierarchy.asymmetry(net))
    attempt(lambda: network_text.as_json(net))
    attempt(lambda: network_text.parts(net, Path("net.json"), [], network_text.Grouping()))
    attempt(lambda: list(export.simgrid(net)))
    attempt(lambda: probe.outline(net, 10.0))
    attempt(lambda: algorithms.closeness_order(net, ranks, 0))
    if text := attempt(lambda: network.to_json(net)):
        assert network.from_json(text, "written") == net


def use_collective(net: Network, ranks: list[int], collective: Collective) -> None:
    library = next(iter(net.message_costs), "")
    problem = attempt(lambda: Problem(collective, net, ranks, library), ValueError)
    if problem is None:
        return
    limit = bounds.bound(problem).time
    assert limit >= 0
    for effort in (planner.Effort.estimate, planner.Effort.normal):
        found = planner.explain(problem, planner.Options(effort=effort))
        assert not math.isnan(found.plan.predicted)
    algorithm = algorithms.find("binomial" if collective.kind is Kind.bcast else "linear-scan")
    if algorithm.can_do(collective):
        skeleton = algorithm.build(problem, Parameters())
        assert simulator.simulate(problem, skeleton).time >= 0


def _quick() -> planner.Options:
    return planner.Options(effort=planner.Effort.estimate)


def use_schedule(collective: Collective, found: Schedule) -> None:
    attempt(lambda: schedule.verify(collective, found), ValueError)
    attempt(lambda: schedule.sent(collective, found), ValueError)
    attempt(lambda: schedule.to_json(collective, found))
    if collective.ranks > 64:
        return
    net = valid_network()
    placement = [rank % RANKS for rank in range(collective.ranks)]
    problem = attempt(lambda: Problem(collective, net, placement), ValueError)
    if problem is None:
        return
    for options in (
        simulator.Options(max_messages=1000),
        simulator.Options(simulator.Fidelity.fast),
    ):
        if options.max_messages or found.segments * len(found) < 10_000:
            with refusals():
                simulator.simulate(problem, found, options)
    exact = operations.Exact(collective)
    attempt(lambda: Setting(net, problem.placement).plan(exact, schedule=found).explain())


def use_skeleton(kind: Kind, skeleton: algorithms.Skeleton) -> None:
    for size in (0, 1, 70_000):
        with refusals(ValueError):
            whole = algorithms.expand(kind, skeleton, size)
            schedule.verify(Collective(kind, skeleton.ranks, skeleton.root, size), whole)
    net = valid_network()
    with refusals(ValueError):
        placement = [rank % RANKS for rank in range(skeleton.ranks)]
        problem = Problem(Collective(kind, skeleton.ranks, skeleton.root, 70_000), net, placement)
        simulator.simulate(problem, skeleton, simulator.Options(max_messages=1000))


# Properties ------------------------------------------------------------------------------------


def check_networks(document: dict[str, Any]) -> None:
    remember(document)
    text = json.dumps(document)
    if found := attempt(lambda: network.from_json(text, "net.json")):
        use_network(found)
    attempt(lambda: thalweg.plan({"network": document}, thalweg.Bcast(nbytes=1000)))


def check_network_text(text: str) -> None:
    remember(text)
    attempt(lambda: network.from_json(text, "net.json"))


def check_edits(edit: tuple[str, Any, Any, Any]) -> None:
    """Changes a valid network through the Python API."""
    remember(edit)
    what, a, b, value = edit
    net = valid_network()
    problem = Problem(Collective(Kind.allreduce, RANKS, 0, 1000), net, range(RANKS), "openmpi")
    with refusals(ValueError, TypeError, OverflowError):
        if what == "trunk":
            net.trunks = [*net.trunks, Trunk("new", [a], [b], value)]
        elif what == "host":
            net.hosts = [Host("h0", value, a), *net.hosts[1:]]
        elif what == "latency":
            net.latency[int(a) % RANKS, int(b) % RANKS] = value
        elif what == "bandwidth":
            net.bandwidth[int(a) % RANKS, int(b) % RANKS] = value
        elif what == "set":
            net.set_latency(a, b, value)
        elif what == "part":
            net.change_part("egress", "bandwidth", [a], [b], value)
        elif what == "error":
            net.latency_error = np.full((RANKS, RANKS), value, dtype=np.float32)
        elif what == "sites":
            net.sites = [[a], [b], [value]]
        elif what == "groups":
            net.groups = [DeclaredGroup("g", [a, b], value)]
        elif what == "cost":
            net.message_costs = {"openmpi": MessageCost(value, a, b)}
        elif what == "eager":
            net.message_costs = {"openmpi": MessageCost(eager_limit=value)}
        elif what == "native":
            net.native_times = [NativeTime("openmpi", "allreduce", a, value)]
        else:
            net.initial_window = value
    attempt(lambda: bounds.bound(problem))
    attempt(lambda: planner.plan(problem))
    use_network(net)


def check_schedules(document: dict[str, Any]) -> None:
    remember(document)
    if found := attempt(lambda: schedule.from_json(json.dumps(document), "schedule")):
        use_schedule(*found)


def check_made_schedules(numbers: list[Any]) -> None:
    """Makes a schedule of odd numbers in Python."""
    remember(numbers)
    chunks, source, target, step, first, count, stride, segments, period, window, weight = numbers
    with refusals(ValueError, TypeError, OverflowError):
        odd = Transfer(source, target, step, How.copy, [Range(first, count, stride)])
        weights = [weight] * 2 if weight else []
        made = Schedule(chunks, [odd], segments, period, weights, window)
        use_schedule(Collective(Kind.bcast, RANKS, 0, 1000), made)


def check_trees(document: dict[str, Any]) -> None:
    remember(document)
    net = valid_network()
    for placement in (range(RANKS), [0, 0, 0, 1, 2, 3, 3]):
        use_tree(document, Setting(net, list(placement)))


def use_tree(document: dict[str, Any], setting: Setting) -> None:
    text = json.dumps(document)
    if tree := attempt(lambda: trees.from_json(text, setting.network, setting.placement)):
        attempt(lambda: setting.plan(thalweg.Bcast(nbytes=1000), tree=tree))


def check_texts(text: str) -> None:
    """Trees, hostfiles, lists of hosts and sizes as text."""
    remember(text)
    net = valid_network()
    attempt(lambda: trees.from_text(text, RANKS))
    attempt(lambda: hosts.parse(text.replace("/", "")))
    attempt(lambda: inputs.ranks_on(net, None, text.replace("/", "")))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "hosts"
        path.write_text(text, errors="backslashreplace")
        attempt(lambda: hosts.placement(hosts.read(path), 3))
        attempt(lambda: inputs.network(path))
    for parse in (units.parse_size, units.parse_time, units.parse_rate):
        with refusals():
            parse(text)
    with refusals(ValueError):
        parameters = parse_parameters(text)
        problem = Problem(Collective(Kind.bcast, RANKS, 0, 10_000), net, range(RANKS))
        for name in ("knomial", "packed-trees", "pipelined-chain", "hierarchical", "tree"):
            skeleton = algorithms.find(name).build(problem, parameters)
            simulator.simulate(problem, skeleton, simulator.Options(max_messages=1000))


def check_plan_bytes(data: bytes) -> None:
    remember(data)
    attempt(lambda: planner.wisdom_from_bytes(data), ValueError)
    found = attempt(lambda: planner.from_bytes(with_checksum(data)))
    for table in found.tables if found else []:
        for entry in table.entries:
            if not entry.native:
                use_skeleton(entry.kind, entry.skeleton)


def check_arguments(arguments: dict[str, Any]) -> None:
    """Gives plan() odd arguments."""
    remember(arguments)
    rest = dict(arguments)
    name, nbytes, root = rest.pop("operation"), rest.pop("nbytes"), rest.pop("root")
    operation: Any = name
    if name in Kind.__members__:
        kind = Kind[name]
        fields = {"root": root} if kind in (Kind.bcast, Kind.gather) else {}
        operation = operations.OPERATIONS[kind](**fields, nbytes=nbytes)
    attempt(lambda: thalweg.plan(valid_network(), operation, **rest))


def strategies(plan: bytes) -> list[Property]:
    odd = st.sampled_from(ODD)
    number = st.sampled_from(NUMBERS)
    host = st.sampled_from([*range(-1, RANKS + 1), 2**31 - 1, 10**9])
    edits = ("trunk", "host", "latency", "bandwidth", "set", "part", "error", "sites", "groups",
             "cost", "eager", "native", "window")  # fmt: skip
    usual: dict[str, st.SearchStrategy[Any]] = {
        "operation": st.sampled_from(["bcast", "gather", "alltoall", "allreduce", "x", None, 3]),
        "nbytes": st.one_of(odd, st.sampled_from([1000, "64KB", [1, 2, 3, 4], np.int64(7)])),
        "root": st.one_of(odd, st.sampled_from([0, 1, np.int32(2)])),
    }
    optional: dict[str, st.SearchStrategy[Any]] = {
        "ranks": odd, "hosts": odd, "placement": odd, "library": odd, "algorithm": odd,
        "effort": st.one_of(odd, st.just("estimate")), "seed": odd, "schedule": odd,
        "budget": st.one_of(st.sampled_from(TEXTS), st.sampled_from([-1, 0, None, math.nan, []])),
    }  # fmt: skip
    force = st.one_of(*(mutated_text(text) for text in (TREE_TEXT, HOSTFILE, HOSTS, FORCE)))
    small = st.sampled_from([0, 1, 2, 3])
    numbers = st.lists(st.one_of(small, small, small, number), min_size=11, max_size=11)
    return [
        (check_networks, mutated(network_document())),
        (check_networks, mutated(blocks_document())),
        (check_network_text, mutated_text(json.dumps(network_document()))),
        (check_edits, st.tuples(st.sampled_from(edits), host, st.one_of(host, number), number)),
        (check_schedules, mutated(schedule_document())),
        (check_made_schedules, numbers),
        (check_trees, mutated(TREE)),
        (check_texts, force),
        (check_plan_bytes, mutated_bytes(plan)),
        (check_arguments, st.fixed_dictionaries(usual, optional=optional)),
    ]


if __name__ == "__main__":
    main(__doc__, lambda: strategies(plan_bytes()))
