"""Replays a schedule with a fault, and records the events that the runtime would record.

Each message goes over a network, with noise drawn for each: ranks post what they have, one after
the other; messages queue at a host's ports and take latency and size / rate.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections import defaultdict, deque
from dataclasses import dataclass

import numpy as np

from thalweg import events
from thalweg.analysis.faults import Fault
from thalweg.collective import Kind
from thalweg.events import RankEvents
from thalweg.network import Network

STEP = 2e-6
"""Seconds that a rank usually takes to post what it can."""
COMBINE = 1e-10
"""Seconds that a rank takes to combine a byte with its own."""


@dataclass(frozen=True)
class PlantedFault:
    """What is wrong, and with whom."""

    kind: str
    culprit: str
    rank: int = -1
    host: int = -1
    link: tuple[int, int] = (-1, -1)
    factor: float = 1.0


@dataclass(frozen=True)
class Message:
    """A message of a schedule; `combines` if its receiver combines it with its own data."""

    step: int
    sender: int
    receiver: int
    combines: bool
    size: int


@dataclass
class Case:
    """A network, a placement, and a schedule that is called again and again."""

    network: Network
    placement: list[int]
    kind: Kind
    size: int
    root: int
    messages: list[Message]
    agreement: list[Message]
    """The small allreduce with which each round ends."""
    noise: float
    program_noise: float
    between: float
    """Seconds between two calls."""
    usual: float = 0.0
    """Seconds that a call takes."""


class Replay:
    """Calls of a case, one after the other, with a fault; noise is drawn from `rng`."""

    def __init__(self, case: Case, fault: PlantedFault, rng: random.Random) -> None:
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
            if fault.kind == Fault.late_rank:
                late[fault.rank] += fault.factor * rng.uniform(0.7, 1.3)
            if fault.kind == Fault.rotating_straggler:
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
        if fault.kind == Fault.slow_host and self.case.placement[rank] == fault.host:
            took *= fault.factor
        if fault.kind == Fault.busy_core and rank == fault.rank and self.rng.random() < 0.25:
            took += fault.factor * self.rng.uniform(0.5, 1.5)
        return took

    def _transit(self, message: Message, a: int, b: int) -> tuple[float, float]:
        """Returns latency and seconds at the link's rate."""
        net = self.case.network
        noise = math.exp(abs(self.rng.gauss(0, self.case.noise)))
        if a == b:
            return 1e-6 * noise, message.size / 1e10
        factor = noise
        if self.fault.kind == Fault.slow_link and (a, b) == self.fault.link:
            factor *= self.fault.factor
        if self.fault.kind == Fault.saturated_trunk:
            trunk = net.trunks[self.fault.host]
            if a in trunk.from_ and b in trunk.to:
                factor *= self.fault.factor * math.exp(0.1 * self.rng.gauss(0, 1))
        return factor * net.latency_between(a, b), factor * message.size / net.bandwidth_between(
            a, b
        )

    def _call(
        self, number: int, kind: Kind, size: int, messages: list[Message], enters: list[float]
    ) -> list[float]:
        case = self.case
        sends, needs = _in_order(messages, self.ranks)
        free = [enter + self._step(rank) for rank, enter in enumerate(enters)]
        begun, ends = list(free), list(free)
        arrived: list[list[int]] = [[] for _ in range(self.ranks)]  # steps of applied receives
        trigger, last_trigger = list(free), [-1.0] * self.ranks
        port: dict[tuple[str, int], float] = defaultdict(float)
        posts: list[tuple[float, int, int, tuple[Message, float, float]]] = []
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
                    self.fault.kind == Fault.serialising_node and rank == self.fault.rank
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
            if self.fault.kind == Fault.slow_host and case.placement[rank] == self.fault.host:
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
        self, number: int, named: Kind, each: Message, post: float, sent: float,
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
    messages: list[Message], ranks: int
) -> tuple[list[deque[Message]], dict[tuple[int, int], int]]:
    """Returns each rank's sends in order, and how many receives those of a step wait for."""
    sends: list[deque[Message]] = [deque() for _ in range(ranks)]
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
