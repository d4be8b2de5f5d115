"""Runs that never happened, with faults that are known: the events that the runtime would record.

Schedules are replayed on a network message by message, with noise drawn for each: ranks post what
they have, one after the other; messages queue at a host's ports and take latency and size / rate.
What a fault changes is in the replay only; the analysis gets the network as it should be.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections import defaultdict, deque
from dataclasses import dataclass, field, replace

import numpy as np

from thalweg import algorithms, events
from thalweg import network as networks
from thalweg.algorithms import Parameters, Problem
from thalweg.analysis import tables
from thalweg.analysis.tables import Names, Run
from thalweg.collective import Collective, Kind
from thalweg.events import RankEvents
from thalweg.network import Host, MessageCost, Network, Trunk

FAULTS = (
    "clean", "slow host", "slow link", "late rank", "rotating straggler", "serialising node",
    "saturated trunk", "busy core",
)  # fmt: skip
LONGER, ROUNDS_TO_TRY = 1.05, 8
"""A fault matters if so many rounds take that much longer with it."""
STEP = 2e-6
"""Seconds that a rank usually takes to post what it can."""
COMBINE = 1e-10
"""Seconds per byte."""


LIBRARY = "replay"


@dataclass(frozen=True)
class Fault:
    """What is wrong, and with whom."""

    kind: str
    culprit: str
    rank: int = -1
    host: int = -1
    link: tuple[int, int] = (-1, -1)
    factor: float = 1.0


@dataclass(frozen=True)
class Simulated:
    run: Run
    fault: Fault


@dataclass(frozen=True)
class _Message:
    step: int
    sender: int
    receiver: int
    combines: bool
    size: int


@dataclass
class _Case:
    """A network, a placement, and a schedule that is called again and again."""

    network: Network
    placement: list[int]
    kind: Kind
    size: int
    root: int
    messages: list[_Message]
    agreement: list[_Message]
    """The small allreduce with which each round ends."""
    noise: float
    program_noise: float
    between: float
    """Seconds between two calls."""
    usual: float = 0.0
    """Seconds that a call takes."""
    senders: dict[int, int] = field(default_factory=dict)


def simulate(kind: str, seed: int, calls: int = 40) -> Simulated:
    """Returns a run with a fault of this kind, drawn from the seed."""
    rng = random.Random(f"{kind} {seed}")
    case = _draw(rng, needs_trunk=kind == "saturated trunk", needs_fan=kind == "serialising node")
    case.usual = _Replay(case, Fault("clean", ""), random.Random(seed)).length()
    case.between = case.usual * rng.uniform(0.2, 3)
    fault = _that_matters(case, _draw_fault(kind, case, rng), seed)
    recorded = _Replay(case, fault, rng).run(calls)
    run = tables.build(
        recorded, Names(["drawn"], []), network=case.network, placement=case.placement,
        library=LIBRARY,
    )  # fmt: skip
    return Simulated(run, fault)


# What is drawn ---------------------------------------------------------------------------------


def _draw(rng: random.Random, *, needs_trunk: bool, needs_fan: bool) -> _Case:
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
    return _Case(
        net, placement, kind, size, 0, messages, agreement, rng.uniform(0.02, 0.15),
        rng.uniform(0.01, 0.1), 0,
    )  # fmt: skip


def _messages(problem: Problem, name: str) -> list[_Message]:
    collective = problem.collective
    skeleton = algorithms.find(name).build(problem, Parameters())
    schedule = algorithms.expand(collective.kind, skeleton, collective.total)
    layout = schedule.layout(collective)
    return [
        _Message(
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


def _draw_fault(kind: str, case: _Case, rng: random.Random) -> Fault:
    net, placement = case.network, case.placement
    senders: dict[int, int] = defaultdict(int)
    pairs: dict[tuple[int, int], int] = defaultdict(int)
    for each in case.messages:
        senders[each.sender] += 1
        a, b = placement[each.sender], placement[each.receiver]
        if a != b:
            pairs[a, b] += 1
    strength = rng.uniform(0.5, 2) * case.usual
    if kind == "slow host":
        host = placement[rng.choice(sorted(senders))]
        steps = max(2.0, len(case.messages) / len(placement))
        return Fault(kind, net.hosts[host].name, host=host, factor=1 + strength / (steps * STEP))
    if kind == "slow link":
        a, b = rng.choice(sorted(pairs))
        alone = net.latency_between(a, b) + case.size / net.bandwidth_between(a, b)
        return Fault(kind, f"{net.hosts[a].name} -> {net.hosts[b].name}", link=(a, b),
                     factor=1 + strength / alone)  # fmt: skip
    if kind == "late rank":
        rank = rng.randrange(len(placement))
        return Fault(kind, f"rank {rank}", rank=rank, factor=strength)
    if kind == "rotating straggler":
        return Fault(kind, "", factor=strength)
    if kind == "serialising node":
        fan = _fan_out(case)
        rank = rng.choice([rank for rank, most in fan.items() if most >= 2])
        return Fault(kind, f"rank {rank}", rank=rank, factor=strength / fan[rank])
    if kind == "saturated trunk":
        crossed = [sum(a in each.from_ and b in each.to for a, b in pairs) for each in net.trunks]
        # What only one pair crosses can't be told from that pair's link.
        trunk = rng.choice([at for at, count in enumerate(crossed) if count > 1] or [0])
        return Fault(kind, net.trunks[trunk].name, host=trunk, factor=rng.uniform(2, 6))
    if kind == "busy core":
        rank = rng.choice(sorted(senders))
        return Fault(kind, f"rank {rank}", rank=rank, factor=rng.uniform(1, 3) * case.usual)
    return Fault("clean", "")


def _that_matters(case: _Case, fault: Fault, seed: int) -> Fault:
    """Makes a fault stronger until it makes the run longer: others may hide it."""

    def length(of: Fault) -> float:
        replay = _Replay(case, of, random.Random(seed))
        replay.run(ROUNDS_TO_TRY)
        return replay.end

    clean = length(Fault("clean", ""))
    while fault.kind != "clean" and length(fault) < LONGER * clean and fault.factor < 1e9:
        fault = replace(fault, factor=2 * fault.factor)
    return fault


def _fan_out(case: _Case) -> dict[int, int]:
    """Returns how many messages each rank sends of what it has at once."""
    counts: dict[tuple[int, bool], int] = defaultdict(int)
    for each in case.messages:
        counts[each.sender, each.combines] += 1
    fan: dict[int, int] = defaultdict(int)
    for (rank, _), count in counts.items():
        fan[rank] = max(fan[rank], count)
    return fan


# The replay ------------------------------------------------------------------------------------


class _Replay:
    def __init__(self, case: _Case, fault: Fault, rng: random.Random) -> None:
        self.case, self.fault, self.rng = case, fault, rng
        self.ranks = len(case.placement)
        self.end = 0.0
        self.transfers: list[list[tuple[object, ...]]] = [[] for _ in range(self.ranks)]
        self.calls: list[list[tuple[object, ...]]] = [[] for _ in range(self.ranks)]

    def length(self) -> float:
        """Returns the seconds of a call that all enter at once."""
        exits = self._call(
            0, self.case.kind, self.case.size, self.case.messages, [0.0] * self.ranks
        )
        return max(exits)

    def run(self, calls: int) -> list[RankEvents]:
        case, fault, rng = self.case, self.fault, self.rng
        exits = [0.0] * self.ranks
        for number in range(calls):
            late = [case.between * math.exp(case.program_noise * rng.gauss(0, 1)) for _ in exits]
            if fault.kind == "late rank":
                late[fault.rank] += fault.factor * rng.uniform(0.7, 1.3)
            if fault.kind == "rotating straggler":
                late[rng.randrange(self.ranks)] += fault.factor * rng.uniform(0.7, 1.3)
            enters = [a + b for a, b in zip(exits, late, strict=True)]
            exits = self._call(2 * number, case.kind, case.size, case.messages, enters)
            exits = self._call(2 * number + 1, Kind.allreduce, 8, case.agreement, exits)
        self.end = max(exits)
        return [self._events(rank) for rank in range(self.ranks)]

    def _events(self, rank: int) -> RankEvents:
        return RankEvents(
            rank, self.ranks, 0,
            np.array(self.transfers[rank], events.TRANSFER),
            np.array(self.calls[rank], events.CALL),
        )  # fmt: skip

    def _step(self, rank: int) -> float:
        """Returns how long the rank takes for one step of its own."""
        took = STEP * math.exp(0.2 * self.rng.gauss(0, 1))
        fault = self.fault
        if fault.kind == "slow host" and self.case.placement[rank] == fault.host:
            took *= fault.factor
        if fault.kind == "busy core" and rank == fault.rank and self.rng.random() < 0.25:
            took += fault.factor * self.rng.uniform(0.5, 1.5)
        return took

    def _transit(self, message: _Message, a: int, b: int) -> tuple[float, float]:
        """Returns latency and seconds at the link's rate."""
        net = self.case.network
        noise = math.exp(abs(self.rng.gauss(0, self.case.noise)))
        if a == b:
            return 1e-6 * noise, message.size / 1e10
        factor = noise
        if self.fault.kind == "slow link" and (a, b) == self.fault.link:
            factor *= self.fault.factor
        if self.fault.kind == "saturated trunk":
            trunk = net.trunks[self.fault.host]
            if a in trunk.from_ and b in trunk.to:
                factor *= self.fault.factor * math.exp(0.1 * self.rng.gauss(0, 1))
        return factor * net.latency_between(a, b), factor * message.size / net.bandwidth_between(
            a, b
        )

    def _call(
        self, number: int, kind: Kind, size: int, messages: list[_Message], enters: list[float]
    ) -> list[float]:
        case = self.case
        sends, needs = _in_order(messages, self.ranks)
        free = [enter + self._step(rank) for rank, enter in enumerate(enters)]
        begun, ends = list(free), list(free)
        arrived: list[list[int]] = [[] for _ in range(self.ranks)]  # steps of applied receives
        trigger, last_trigger = list(free), [-1.0] * self.ranks
        port: dict[tuple[str, int], float] = defaultdict(float)
        posts: list[tuple[float, int, int, tuple[_Message, float, float]]] = []
        count = itertools.count()

        def post_next(rank: int) -> None:
            """Posts the rank's next send if all that it needs is there."""
            while sends[rank]:
                each = sends[rank][0]
                if sum(step < each.step for step in arrived[rank]) < needs[rank, each.step]:
                    return
                sends[rank].popleft()
                post = max(free[rank], trigger[rank]) + self._step(rank)
                if (
                    self.fault.kind == "serialising node" and rank == self.fault.rank
                    and trigger[rank] == last_trigger[rank]
                ):  # fmt: skip
                    post += self.fault.factor * self.rng.uniform(0.8, 1.2)
                last_trigger[rank] = trigger[rank]
                free[rank] = post
                ends[rank] = max(ends[rank], post + 1e-7)
                heapq.heappush(posts, (post, next(count), rank, (each, post, 0.0)))

        for rank in range(self.ranks):
            post_next(rank)
        while posts:
            time, _, rank, (each, post, wire) = heapq.heappop(posts)
            a, b = case.placement[each.sender], case.placement[each.receiver]
            if rank == each.sender:  # the message leaves, when the port is free
                latency, wire = self._transit(each, a, b)
                begin = max(time, port["out", a]) if a != b else time
                port["out", a] = begin + wire
                heapq.heappush(
                    posts, (begin + latency, next(count), each.receiver, (each, post, wire))
                )
                continue
            begin = max(time, port["in", b]) if a != b else time
            port["in", b] = begin + wire
            done = max(begin + wire, begun[rank]) + 2e-7
            combine = each.size * COMBINE if each.combines else 1e-7
            if self.fault.kind == "slow host" and case.placement[rank] == self.fault.host:
                combine *= self.fault.factor
            applied = max(done, free[rank]) + combine
            arrived[rank].append(each.step)
            trigger[rank] = max(trigger[rank], applied)
            free[rank] = max(free[rank], applied)
            ends[rank] = max(ends[rank], applied)
            self._record(number, kind, each, post, post + 1e-7, begun[rank], done, applied)
            post_next(rank)
        exits = [end + self._step(rank) for rank, end in enumerate(ends)]
        for rank in range(self.ranks):
            self.calls[rank].append(
                (2, kind.value, 1, 0, number, case.root, self.ranks, size,
                 _ns(enters[rank]), _ns(exits[rank]), 1, 0, number, 1, 0, 8, rank + 1)
            )  # fmt: skip
        return exits

    def _record(
        self, number: int, named: Kind, each: _Message, post: float, sent: float,
        expected: float, done: float, applied: float,
    ) -> None:  # fmt: skip
        how = int(each.combines)
        kind = named.value
        self.transfers[each.sender].append(
            (1, 0, kind, how, number, each.receiver, each.step, 0, 1, each.size, _ns(post),
             _ns(sent), _ns(sent), b"")
        )  # fmt: skip
        self.transfers[each.receiver].append(
            (1, 1, kind, how, number, each.sender, each.step, 0, 1, each.size, _ns(expected),
             _ns(done), _ns(applied), b"")
        )  # fmt: skip


def _in_order(
    messages: list[_Message], ranks: int
) -> tuple[list[deque[_Message]], dict[tuple[int, int], int]]:
    """Returns each rank's sends in order, and how many receives those of a step wait for."""
    sends: list[deque[_Message]] = [deque() for _ in range(ranks)]
    receives: list[list[int]] = [[] for _ in range(ranks)]
    for each in messages:
        sends[each.sender].append(each)
        receives[each.receiver].append(each.step)
    needs = {
        (rank, each.step): sum(step < each.step for step in receives[rank])
        for rank in range(ranks) for each in sends[rank]
    }  # fmt: skip
    return sends, needs


def _ns(seconds: float) -> int:
    return round(seconds * 1e9) + 10**12
