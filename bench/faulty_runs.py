"""Runs that never happened, with faults that are known: the events that the runtime would record.

Network, collective and fault are drawn; then the schedule is replayed (bench/faulty_replay.py).
What a fault changes is in the replay only; the analysis gets the network as it should be.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from bench.faulty_replay import STEP, Case, Message, PlantedFault, Replay
from thalweg import algorithms
from thalweg import network as networks
from thalweg.algorithms import Parameters, Problem
from thalweg.analysis import tables
from thalweg.analysis.faults import Fault
from thalweg.analysis.tables import Names, Run
from thalweg.collective import Collective, Kind
from thalweg.network import Host, MessageCost, Network, Trunk

FAULTS = (
    "clean", Fault.slow_host, Fault.slow_link, Fault.late_rank, Fault.rotating_straggler,
    Fault.serialising_node, Fault.saturated_trunk, Fault.busy_core,
)  # fmt: skip
LONGER, ROUNDS_TO_TRY = 1.05, 8
"""A fault matters if so many rounds take that much longer with it."""
LIBRARY = "replay"


@dataclass(frozen=True)
class Simulated:
    run: Run
    fault: PlantedFault


def simulate(kind: str, seed: int, calls: int = 40) -> Simulated:
    """Returns a run with a fault of this kind, drawn from the seed."""
    rng = random.Random(f"{kind} {seed}")
    case = _draw(
        rng, needs_trunk=kind == Fault.saturated_trunk, needs_fan=kind == Fault.serialising_node
    )
    case.usual = Replay(case, PlantedFault("clean", ""), random.Random(seed)).length()
    case.between = case.usual * rng.uniform(0.2, 3)
    fault = _that_matters(case, _draw_fault(kind, case, rng), seed)
    recorded = Replay(case, fault, rng).run(calls)
    run = tables.build(
        recorded, Names(["drawn"], []), network=case.network, placement=case.placement,
        library=LIBRARY,
    )  # fmt: skip
    return Simulated(run, fault)


# What is drawn ---------------------------------------------------------------------------------


def _draw(rng: random.Random, *, needs_trunk: bool, needs_fan: bool) -> Case:
    hosts, sites = rng.choice([6, 8, 12, 16]), rng.choice([1, 2, 2, 3])
    if needs_trunk:
        sites = max(sites, 2)
    net = _network(rng, hosts, sites)
    ranks = hosts * rng.choice([1, 1, 2])
    placement = [rank * hosts // ranks for rank in range(ranks)]
    kind = rng.choice([Kind.allreduce, Kind.allreduce, Kind.bcast, Kind.reduce, Kind.allgather])
    if needs_fan:
        kind = rng.choice([Kind.allreduce, Kind.bcast])
    if needs_trunk:
        kind = rng.choice([Kind.allreduce, Kind.allgather])
    size = int(10 ** rng.uniform(1, 5.5))
    names = {
        Kind.allreduce: ["binomial", "knomial", "recursive-doubling", "binary"],
        Kind.allgather: ["ring", "bruck"],
    }.get(kind, ["binomial", "knomial", "binary"])
    if needs_fan:
        names = ["knomial", "binomial", "flat"]
    if needs_trunk:
        names = ["recursive-doubling"] if kind is Kind.allreduce else ["bruck"]
    collective = Collective(kind, ranks, 0, size)
    name = rng.choice([n for n in names if _can(n, collective)])
    messages = _messages(Problem(collective, net, placement), name)
    agreement = _messages(
        Problem(Collective(Kind.allreduce, ranks, 0, 8), net, placement), "binomial"
    )
    return Case(
        net, placement, kind, size, 0, messages, agreement, rng.uniform(0.02, 0.15),
        rng.uniform(0.01, 0.1), 0,
    )  # fmt: skip


def _messages(problem: Problem, name: str) -> list[Message]:
    collective = problem.collective
    skeleton = algorithms.find(name).build(problem, Parameters())
    schedule = algorithms.expand(collective.kind, skeleton, collective.total)
    layout = schedule.layout(collective)
    return [
        Message(
            each.step, each.from_, each.to, each.how.value > 0,
            sum(_bytes(layout, part) for part in each.what),
        )
        for each in schedule if each.from_ != each.to
    ]  # fmt: skip


def _can(name: str, collective: Collective) -> bool:
    try:
        return algorithms.find(name).can_do(collective)
    except ValueError:
        return False


def _bytes(layout, part) -> int:  # type: ignore[no-untyped-def]
    ends = [layout.interval(0, part.first + at * part.stride) for at in range(part.count)]
    return sum(end - begin for begin, end in ends)


def _network(rng: random.Random, hosts: int, sites: int) -> Network:
    near, far = 10 ** rng.uniform(-5, -4), 10 ** rng.uniform(-3.5, -2)
    rate = 10 ** rng.uniform(8, 9.5)
    site = [host * sites // hosts for host in range(hosts)]
    latency, bandwidth = np.full((hosts, hosts), near), np.full((hosts, hosts), rate)
    for a in range(hosts):
        for b in range(hosts):
            if a == b:
                latency[a, b] = 0
                bandwidth[a, b] = math.inf
            elif site[a] != site[b]:
                latency[a, b] = far * rng.uniform(0.9, 1.1)
                bandwidth[a, b] = rate / 2
    listed = [Host(f"h{host}", rate, rate) for host in range(hosts)]
    net = networks.Network(listed, latency, bandwidth)
    net.message_costs = {LIBRARY: MessageCost(eager_limit=2**40)}
    if sites > 1:
        members = [[h for h in range(hosts) if site[h] == at] for at in range(sites)]
        net.sites = members
        net.trunks = [
            Trunk(f"{a} to {b}", members[a], members[b], rate)
            for a in range(sites) for b in range(sites) if a != b
        ]  # fmt: skip
    return net


def _draw_fault(kind: str, case: Case, rng: random.Random) -> PlantedFault:
    net, placement = case.network, case.placement
    senders: dict[int, int] = defaultdict(int)
    pairs: dict[tuple[int, int], int] = defaultdict(int)
    for each in case.messages:
        senders[each.sender] += 1
        a, b = placement[each.sender], placement[each.receiver]
        if a != b:
            pairs[a, b] += 1
    strength = rng.uniform(0.5, 2) * case.usual
    if kind == Fault.slow_host:
        host = placement[rng.choice(sorted(senders))]
        steps = max(2.0, len(case.messages) / len(placement))
        return PlantedFault(
            kind, net.hosts[host].name, host=host, factor=1 + strength / (steps * STEP)
        )
    if kind == Fault.slow_link:
        a, b = rng.choice(sorted(pairs))
        alone = net.latency_between(a, b) + case.size / net.bandwidth_between(a, b)
        link = f"{net.hosts[a].name} -> {net.hosts[b].name}"
        return PlantedFault(kind, link, link=(a, b), factor=1 + strength / alone)
    if kind == Fault.late_rank:
        rank = rng.randrange(len(placement))
        return PlantedFault(kind, f"rank {rank}", rank=rank, factor=strength)
    if kind == Fault.rotating_straggler:
        return PlantedFault(kind, "", factor=strength)
    if kind == Fault.serialising_node:
        fan = _fan_out(case)
        rank = rng.choice([rank for rank, most in fan.items() if most >= 2])
        return PlantedFault(kind, f"rank {rank}", rank=rank, factor=strength / fan[rank])
    if kind == Fault.saturated_trunk:
        crossed = [sum(a in each.from_ and b in each.to for a, b in pairs) for each in net.trunks]
        # What only one pair crosses can't be told from that pair's link.
        trunk = rng.choice([at for at, count in enumerate(crossed) if count > 1] or [0])
        return PlantedFault(kind, net.trunks[trunk].name, host=trunk, factor=rng.uniform(2, 6))
    if kind == Fault.busy_core:
        rank = rng.choice(sorted(senders))
        return PlantedFault(kind, f"rank {rank}", rank=rank, factor=rng.uniform(1, 3) * case.usual)
    return PlantedFault("clean", "")


def _that_matters(case: Case, fault: PlantedFault, seed: int) -> PlantedFault:
    """Makes a fault stronger until it makes the run longer: others may hide it."""

    def length(of: PlantedFault) -> float:
        replay = Replay(case, of, random.Random(seed))
        replay.run(ROUNDS_TO_TRY)
        return replay.end

    clean = length(PlantedFault("clean", ""))
    while fault.kind != "clean" and length(fault) < LONGER * clean and fault.factor < 1e9:
        fault = replace(fault, factor=2 * fault.factor)
    return fault


def _fan_out(case: Case) -> dict[int, int]:
    """Returns how many messages each rank sends of what it has at once."""
    counts: dict[tuple[int, bool], int] = defaultdict(int)
    for each in case.messages:
        counts[each.sender, each.combines] += 1
    fan: dict[int, int] = defaultdict(int)
    for (rank, _), count in counts.items():
        fan[rank] = max(fan[rank], count)
    return fan
