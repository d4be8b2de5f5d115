"""The bound and the planner's choice beside the optimum, which a whole search finds for few hosts.

The search tries every schedule of whole messages on three or four hosts. Each host sends one
message after another at its egress rate; a message arrives a latency later, and messages to a host
come in one after another at its ingress rate. A vector is sent whole or in two segments. All sums
of contributions that a host can form from what it has are at hand, so that no schedule is left out.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench import networks, sources
from bench.cases import by_collective_and_size, judge_networks, percentile_90, text_of
from bench.networks import megabit
from bench.page import Page, Part
from bench.report import Subject, Table, percent, seconds, times
from bench.settings import Settings
from thalweg import bounds, planner, units
from thalweg.algorithms import Problem
from thalweg.collective import Collective, Kind
from thalweg.network import Host, Network

subject = Subject(
    "optimum",
    "The optimum on few hosts, the bound and the choice",
    (*sources.planned, "src/bounds"),
    ("collective", "size"),
    made="Simulated",
)
collectives = ("bcast", "reduce", "allreduce", "allgather", "reduce_scatter")
sizes = (30_000, 500_000)
usual_networks, most_hosts = 12, 4
most_states = 4_000
"""States after which a search is given up."""
rounding = 1e-6
found_alike = 1.001
"""How much longer than the choice a schedule may last that the search still counts."""
proven, finer, given_up = "proven", "finer", "given up"  # outcomes
worst_shown = 20


@dataclass(frozen=True)
class Case:
    """Times in seconds. `optimum` is the search's, or the choice's where that is less."""

    network: str
    hosts: int
    collective: str
    size: int
    plan: str
    time: float
    bound: float
    optimum: float
    outcome: str


# Networks --------------------------------------------------------------------------------------


def drawn(seed: int) -> tuple[str, Network]:
    """Draws hosts on a line, a star or anywhere, of equal rates or one of them slower."""
    draw = random.Random(seed)
    count = most_hosts - 1 + seed // 3 % 2
    shape = ("line", "star", "any")[seed % 3]
    scale = 10 ** draw.uniform(-4, -1.5)
    distances = [scale * draw.uniform(0.3, 3) for _ in range(count)]
    latency = [[0.0] * count for _ in range(count)]
    for a in range(count):
        for b in range(a):
            if shape == "line":
                between = abs(sum(distances[:a]) - sum(distances[:b]))
            elif shape == "star":
                between = distances[a] + distances[b]
            else:
                between = scale * draw.uniform(1, 2)  # so that no detour is shorter
            latency[a][b] = latency[b][a] = between
    rate = megabit * 10 ** draw.uniform(1, 3)
    rates = [rate] * count
    if draw.random() < 0.4:
        rates[draw.randrange(count)] /= draw.choice([2, 4])
    hosts = [Host(f"h{at}", each, each) for at, each in enumerate(rates)]
    bandwidth = [[min(a, b) for b in rates] for a in rates]
    return f"{shape}-{count}-{seed}", Network(hosts, latency, bandwidth)  # type: ignore[arg-type]


# The search ------------------------------------------------------------------------------------

Held = tuple[dict[int, float], ...]
"""The sets of contributors (as bits) whose sum a host has, and since when, by segment."""


@dataclass(frozen=True)
class Goal:
    """What each host has at first, by segment, and the hosts that need all contributions."""

    bytes: float  # of a segment
    held: list[Held]  # by host
    full: list[int]  # by segment
    needs: list[list[int]]  # hosts, by segment


def goal_of(collective: Collective, segments: int) -> Goal:
    """Cuts vectors into segments; collectives of a block per rank send each block whole."""
    ranks, root, every = collective.ranks, collective.root, (1 << collective.ranks) - 1
    everyone = list(range(ranks))
    per_rank = collective.kind in (Kind.allgather, Kind.reduce_scatter)
    count = ranks if per_rank else segments
    reduces = collective.kind in (Kind.reduce, Kind.allreduce, Kind.reduce_scatter)
    full = [every if reduces else 1 << (at if per_rank else root) for at in range(count)]
    held = [
        tuple({1 << host: 0.0} if 1 << host & full[at] else {} for at in range(count))
        for host in everyone
    ]
    needs = [everyone] * count
    if collective.kind == Kind.reduce:
        needs = [[root]] * count
    if collective.kind == Kind.reduce_scatter:
        needs = [[at] for at in everyone]
    return Goal(collective.size / (1 if per_rank else segments), held, full, needs)


@dataclass(frozen=True)
class State:
    out: tuple[float, ...]  # when each host's last message has left
    in_: tuple[float, ...]  # when the last message to each host has come in
    held: tuple[Held, ...]

    def key(self) -> object:
        """Returns what is equal for states from which the same is possible."""
        held = tuple(
            tuple(tuple(sorted((m, round(t, 9)) for m, t in of.items())) for of in host)
            for host in self.held
        )
        return tuple(round(t, 9) for t in self.out + self.in_), held


class Search:
    """Depth-first branch and bound."""

    def __init__(self, net: Network, goal: Goal, best: float, enough: float) -> None:
        """Looks for a time below `best`, until it is `enough`."""
        self.best, self._goal, self._enough = best, goal, enough
        self._out = [goal.bytes / host.egress for host in net.hosts]
        self._in = [goal.bytes / host.ingress for host in net.hosts]
        self._latency = net.latency.tolist()
        self._near = shortest(self._latency)
        self._seen: set[object] = set()
        none = (0.0,) * len(net.hosts)
        self.visit(State(none, none, tuple(goal.held)))

    @property
    def complete(self) -> bool:
        return len(self._seen) < most_states or self.best <= self._enough

    def visit(self, state: State) -> None:
        key = state.key()
        if key in self._seen or len(self._seen) >= most_states:
            return
        self._seen.add(key)
        children = sorted(
            ((self.least(child), at, child) for at, child in enumerate(self.sends(state))),
            key=lambda each: each[:2],
        )
        for least, _, child in children:
            if self.best <= self._enough or least >= self.best * (1 - rounding):
                return
            if self.is_end(child):
                self.best = least
            else:
                self.visit(child)

    def is_end(self, state: State) -> bool:
        goal = self._goal
        return all(
            goal.full[at] in state.held[host][at]
            for at in range(len(goal.full))
            for host in goal.needs[at]
        )

    def sends(self, state: State) -> Iterator[State]:
        """Yields the states after one more message that tells its receiver anything new."""
        hosts = range(len(state.out))
        for sender in hosts:
            for at, held in enumerate(state.held[sender]):
                for mask, since in held.items():
                    for receiver in hosts:
                        known = state.held[receiver][at]
                        if receiver != sender and all(mask & ~other for other in known):
                            yield self.send(state, sender, receiver, at, mask, since)

    def send(
        self, state: State, sender: int, receiver: int, at: int, mask: int, since: float
    ) -> State:
        start = max(state.out[sender], since)
        first = start + self._latency[sender][receiver]
        slower = max(self._out[sender], self._in[receiver])
        done = max(first + slower, max(first, state.in_[receiver]) + self._in[receiver])
        known = dict(state.held[receiver][at])
        for other, time in [(0, 0.0), *known.items()]:
            if not other & mask:
                known[other | mask] = min(known.get(other | mask, math.inf), max(time, done))
        of_receiver = list(state.held[receiver])
        of_receiver[at] = known
        return State(
            replaced(state.out, sender, start + self._out[sender]),
            replaced(state.in_, receiver, done),
            replaced(state.held, receiver, tuple(of_receiver)),
        )

    def least(self, state: State) -> float:
        """A time before which nothing ends that begins with these messages."""
        goal, least = self._goal, 0.0
        missing = [0] * len(state.out)
        for at, full in enumerate(goal.full):
            for host in goal.needs[at]:
                if full in state.held[host][at]:
                    least = max(least, state.held[host][at][full])
                else:
                    missing[host] += 1
                    least = max(least, self.least_of(state, host, at, full))
        for host, count in enumerate(missing):
            if count:
                least = max(least, state.in_[host] + count * self._in[host])
        return least

    def least_of(self, state: State, host: int, at: int, full: int) -> float:
        """Returns when all contributions to a segment can be at a host, at the earliest."""
        latest = 0.0
        for contributor in (1 << bit for bit in range(len(state.out)) if full >> bit & 1):
            soonest = math.inf
            for other, held in enumerate(state.held):
                for mask, since in held[at].items():
                    if mask & contributor:
                        arrives = max(since, state.out[other]) + self._near[other][host]
                        soonest = min(soonest, since if other == host else arrives + self._in[host])
            latest = max(latest, soonest)
        return latest


def replaced(values: tuple[Any, ...], at: int, value: object) -> tuple[Any, ...]:
    return (*values[:at], value, *values[at + 1 :])


def shortest(latency: Sequence[Sequence[float]]) -> list[list[float]]:
    """Returns the least sums of latencies along any path."""
    near = [list(row) for row in latency]
    hosts = range(len(near))
    for middle in hosts:
        for a in hosts:
            for b in hosts:
                near[a][b] = min(near[a][b], near[a][middle] + near[middle][b])
    return near


def optimum(problem: Problem, choice: float, bound: float) -> tuple[float, str]:
    """Returns the least time of a schedule, and what that is worth."""
    best, complete = choice * found_alike, True
    for segments in (1, 2) if problem.collective.blocks == 1 else (1,):
        goal = goal_of(problem.collective, segments)
        search = Search(problem.network, goal, best, bound * found_alike)
        best, complete = search.best, complete and search.complete
    if not complete and best > bound * found_alike:
        return min(best, choice), given_up
    is_proven = best < choice * found_alike or choice <= bound * found_alike
    return min(best, choice), proven if is_proven else finer


# The page --------------------------------------------------------------------------------------


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    judge = partial(judge_network, settings.sizes or sizes, settings.collectives or collectives)
    judge_networks(page, settings.seeds(usual_networks), most_hosts, judge)


def judge_network(of_sizes: Sequence[int], of_collectives: Sequence[str], seed: int) -> list[Case]:
    """Returns all cases of one network."""
    name, net = drawn(seed)
    return [judge(name, net, Kind[kind], size) for kind in of_collectives for size in of_sizes]


def judge(name: str, net: Network, kind: Kind, size: int) -> Case:
    ranks = len(net.hosts)
    problem = Problem(Collective(kind, ranks, 0, size), net, range(ranks), "")
    plan = planner.plan(problem, planner.Options(disabled=networks.only_algorithms))
    bound = bounds.bound(problem).time
    best, outcome = optimum(problem, plan.predicted, bound)
    return Case(name, ranks, kind.name, size, text_of(plan), plan.predicted, bound, best, outcome)


def contents(parts: Sequence[Part]) -> list[Table]:
    cases = [Case(**sample) for part in parts for sample in part.samples]
    return [ratios(cases), worst(cases)]


def ratios(cases: Sequence[Case]) -> Table:
    table = Table(
        "Optimum, bound and choice",
        ["collective", "bytes", "cases", "proven", "finer", "choice / bound, median",
         "90th percentile", "optimum / bound, median", "90th percentile",
         "choice / optimum, median", "90th percentile", "worst"],
    )  # fmt: skip
    for collective, size, group in by_collective_and_size(cases):
        known = [case for case in group if case.outcome == proven]
        slowest = [times(max(case.time / case.optimum for case in known))] if known else ["-"]
        table.add(
            collective,
            units.size_to_text(size),
            len(group),
            len(known),
            sum(case.outcome == finer for case in group),
            *median_and_90(known, lambda case: case.time / case.bound),
            *median_and_90(known, lambda case: case.optimum / case.bound),
            *median_and_90(known, lambda case: case.time / case.optimum),
            *slowest,
        )
    table.notes += [
        "The optimum is the least time of any schedule of whole messages, with the vector in one "
        "or two segments. Bytes: of the vector, or of each block.",
        f"Proven: the search ended before {most_states} states for each number of segments, or "
        "found the bound itself; the ratios are of these cases. Finer: the search ended, and the "
        "choice, which may use more segments, is faster than all that it tried.",
        "The search lets data to one host share its ingress when it arrives. The simulator "
        "charges it when the data is sent, so a choice's time may exceed the optimum by the time "
        "of a message where paths of different latencies lead to one host.",
    ]
    return table


def median_and_90(cases: Sequence[Case], of: Callable[[Case], float]) -> tuple[str, str]:
    if not cases:
        return "-", "-"
    values = [of(case) for case in cases]
    return times(statistics.median(values)), times(percentile_90(values))


def worst(cases: Sequence[Case]) -> Table:
    table = Table(
        "The choices farthest from the optimum",
        ["network", "collective", "bytes", "choice", "time", "optimum", "slower", "bound"],
    )
    known = [case for case in cases if case.outcome == proven]
    for case in sorted(known, key=lambda case: -case.time / case.optimum)[:worst_shown]:
        table.add(case.network, case.collective, units.size_to_text(case.size), case.plan,
                  seconds(case.time), seconds(case.optimum),
                  percent(case.time / case.optimum - 1), seconds(case.bound))  # fmt: skip
    return table
