"""What placements cost beside Scotch's, a launcher's and the optimum, and how long they take.

Matrices of usual patterns on networks drawn from seeds; a placement's cost is that of
src/mapping/cost.hpp. Scotch gets the same hosts as the mapping, and its result is made to fit.
"""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import geometric_mean, median

import numpy as np
from numpy.typing import NDArray

from bench import families
from bench.networks import Draw, megabit
from bench.page import Page, Part
from bench.report import Subject, Table, percent, seconds, times
from bench.settings import Settings
from thalweg import mapping
from thalweg.errors import UserError
from thalweg.mapping import Communication
from thalweg.network import Network, Trunk, even_network

subject = Subject(
    "placement",
    "Placements beside Scotch's, launchers' and the optimum",
    ("src/mapping", "bench/placement.py", "bench/families.py"),
    ("ranks", "hosts", "pattern"),
    made="Simulated",
)
compared = ("scotch", "block", "interleave", "random", "intra-only", "inter-only")


@dataclass(frozen=True)
class Size:
    """Ranks, hosts, slots of each, and how many networks are drawn for each pattern."""

    ranks: int
    hosts: int
    slots: int
    networks: int

    @property
    def is_small(self) -> bool:
        """Whether all methods are compared."""
        return self.ranks <= 1024


sizes = (
    Size(64, 8, 8, 8),
    Size(64, 24, 4, 8),  # which hosts to use is part of the answer
    Size(256, 32, 8, 6),
    Size(256, 8, 32, 6),
    Size(1024, 64, 16, 2),
    Size(4096, 256, 16, 1),
    Size(16384, 256, 64, 1),
    Size(16384, 512, 32, 1),
)
bars = {(64, 8): 0.005, (256, 32): 0.030, (1024, 64): 1.0, (16384, 256): 10.0}
"""The longest times that are wanted, in seconds, by ranks and hosts."""
tiny = ((8, 4, 2), (9, 3, 3), (10, 5, 2), (12, 4, 3), (8, 8, 1), (9, 9, 1), (10, 10, 1))
"""Ranks, hosts and slots for which all placements are tried."""
usual_tiny = 3  # networks of each; with more placements than most_often, only one
most_often = 1_000_000
at_a_time = 100_000  # placements


@dataclass(frozen=True)
class Case:
    """Costs in seconds, by method; `time` is that of the mapping, on the clock."""

    ranks: int
    hosts: int
    pattern: str
    network: str
    time: float
    costs: dict[str, float]

    def ratio(self, other: str) -> float:
        return self.costs["thalweg"] / self.costs[other]


# Matrices --------------------------------------------------------------------------------------

Pairs = Iterator[tuple[int, int, float, float]]
"""Sender, receiver, messages, bytes."""


def grid(ranks: int, dimensions: int) -> list[int]:
    """Returns the sides of a grid, as equal as the ranks allow."""
    sides: list[int] = []
    for left in range(dimensions, 0, -1):
        side = round(ranks ** (1 / left))
        while ranks % side:
            side -= 1
        sides.append(side)
        ranks //= side
    return sides


def stencil(ranks: int, draw: Draw, dimensions: int) -> Pairs:
    """Each rank with its neighbours in a grid; more bytes in some dimensions than in others."""
    at = np.arange(ranks).reshape(grid(ranks, dimensions))
    for axis in range(dimensions):
        nbytes = 100 * draw.choice([8e3, 32e3, 128e3])
        low = np.take(at, range(at.shape[axis] - 1), axis).ravel()
        high = np.take(at, range(1, at.shape[axis]), axis).ravel()
        for a, b in zip(low.tolist(), high.tolist(), strict=True):
            yield a, b, 100, nbytes
            yield b, a, 100, nbytes


def wavefront(ranks: int, draw: Draw) -> Pairs:
    """Sweeps over a grid in one direction, as LU's, of many small messages."""
    for a, b, _, nbytes in stencil(ranks, draw, 2):
        if a < b:
            yield a, b, 2000, nbytes / 4


def butterfly(ranks: int, draw: Draw) -> Pairs:
    """Partners that differ in one bit, with more bytes the nearer they are."""
    growth = draw.choice([1, 2])
    for rank, bit in itertools.product(range(ranks), range((ranks - 1).bit_length())):
        if rank ^ 1 << bit < ranks:
            yield rank, rank ^ 1 << bit, 50, 5e6 / growth**bit


def transpose(ranks: int, draw: Draw) -> Pairs:
    """A grid's rows and columns, of at most 32 ranks, exchange everything, as a 2-D FFT's do."""
    rows, columns = grid(ranks, 2)
    block = min(columns, draw.choice([8, 16, 32]))
    for rank in range(ranks):
        row, column = divmod(rank, columns)
        first = row * columns + column // block * block
        for other in range(first, min(first + block, (row + 1) * columns)):
            if other != rank:
                yield rank, other, 20, 1e6
        if column < rows and row < columns:
            yield rank, column * columns + row, 20, 4e6


def random_sparse(ranks: int, draw: Draw) -> Pairs:
    """Six receivers of each rank, anywhere."""
    for rank, _ in itertools.product(range(ranks), range(6)):
        yield rank, draw.randrange(ranks), draw.randint(1, 100), 1e3 * draw.randint(1, 5000)


def power_law(ranks: int, draw: Draw) -> Pairs:
    """Few ranks have many partners, as in graphs of the web; partners of new ranks are old ones."""
    ends = [0]
    for rank in range(1, ranks):
        for _ in range(4):
            other = draw.choice(ends)
            yield rank, other, 100, 1e3 * draw.randint(1, 2000)
            yield other, rank, 100, 1e3 * draw.randint(1, 2000)
            ends.append(other)
        ends.append(rank)


patterns: dict[str, Callable[[int, Draw], Pairs]] = {
    "stencil-2d": lambda ranks, draw: stencil(ranks, draw, 2),
    "stencil-3d": lambda ranks, draw: stencil(ranks, draw, 3),
    "wavefront": wavefront,
    "butterfly": butterfly,
    "transpose": transpose,
    "random": random_sparse,
    "power-law": power_law,
}


def matrix(pattern: str, ranks: int, seed: int) -> Communication:
    """Draws the matrix of a pattern."""
    draw = random.Random(f"{pattern} {ranks} {seed}")
    columns = list(zip(*patterns[pattern](ranks, draw), strict=True))
    return mapping.communication(ranks, *columns)


# Networks --------------------------------------------------------------------------------------


def uneven(draw: Draw, hosts: int) -> Network:
    """Virtual machines of which each pair is different, and each direction, as in CloudMap's
    Figure 2; no site is known."""
    net = even_network(hosts, 150e-6, 2000 * megabit)
    spread = draw.uniform(0.2, 0.6)
    noise = np.random.default_rng(draw.randrange(1 << 30))
    net.latency *= noise.lognormal(0, spread, (hosts, hosts))
    net.bandwidth *= np.minimum(1, noise.lognormal(-spread, spread, (hosts, hosts)))
    net.sites = []
    return net


def racks(draw: Draw, hosts: int) -> Network:
    """Four sites of four racks, with uneven directions: latencies 2 ms, 120 us and 40 us."""
    net = even_network(hosts, 40e-6, 10000 * megabit)
    at = np.arange(hosts)
    rack, site = at * 16 // hosts, at * 4 // hosts
    far, near = site[:, None] != site, rack[:, None] == rack
    noise = np.random.default_rng(draw.randrange(1 << 30)).lognormal(0, 0.3, (hosts, hosts))
    net.latency = np.where(far, 2e-3, np.where(near, 40e-6, 120e-6)) * noise * (1 - np.eye(hosts))
    net.bandwidth = np.where(far, 1000, np.where(near, 10000, 4000)) * megabit / noise
    net.sites = [np.flatnonzero(site == each).tolist() for each in sorted(set(site.tolist()))]
    return net


drawn_from = {
    "uneven": uneven,
    "cloud": families.cloud,
    "racks": racks,
    "nested": families.nested,
    "star": families.star,
    "slow-direction": families.slow_direction,
    "fat-tree": families.fat_tree,
    "slow-port": families.slow_port,
}


def network(seed: int, hosts: int) -> tuple[str, Network]:
    """Draws a network; seeds take the families in turn. Hosts are in no order."""
    name = list(drawn_from)[seed % len(drawn_from)]
    draw = random.Random(f"{name} {hosts} {seed}")
    return f"{name}-{hosts}-{seed}", shuffled(drawn_from[name](draw, hosts), draw)


def shuffled(net: Network, draw: Draw) -> Network:
    """Lists the hosts in another order."""
    order = draw.sample(range(len(net.hosts)), len(net.hosts))
    place = {host: at for at, host in enumerate(order)}
    hosts = net.hosts
    other = Network(
        [hosts[host] for host in order],
        net.latency[order][:, order],
        net.bandwidth[order][:, order],
    )
    other.trunks = [
        Trunk(t.name, [place[h] for h in t.from_], [place[h] for h in t.to], t.capacity)
        for t in net.trunks
    ]
    other.sites = [[place[host] for host in site] for site in net.sites]
    return other


# The optimum -----------------------------------------------------------------------------------

Placements = NDArray[np.int8]
"""A row for each placement: the host of each rank."""


def all_placements(ranks: int, hosts: int, slots: int) -> Iterator[Placements]:
    """Yields all placements that keep capacities, some at a time."""

    def grown(front: list[int], left: list[int]) -> Iterator[list[int]]:
        if len(front) == ranks:
            yield front
            return
        for host in range(hosts):
            if left[host]:
                left[host] -= 1
                yield from grown([*front, host], left)
                left[host] += 1

    every = grown([], [slots] * hosts)
    while some := list(itertools.islice(every, at_a_time)):
        yield np.array(some, np.int8)


def costs_of(net: Network, program: Communication, placements: Placements) -> NDArray[np.float64]:
    """Returns the costs by their definition, independently of src/mapping."""
    hosts = net.hosts
    ports = [(1 / host.egress, 1 / host.ingress) for host in hosts]
    pairs = np.zeros(len(placements))
    busy = np.zeros((2 * len(hosts) + len(net.trunks), len(placements)))
    behind = [(np.isin(range(len(hosts)), t.from_), np.isin(range(len(hosts)), t.to))
              for t in net.trunks]  # fmt: skip
    message = net.latency * (1 - np.eye(len(hosts)))
    byte = 1 / net.bandwidth * (1 - np.eye(len(hosts)))
    entries = zip(program.sender, program.receiver, program.messages, program.nbytes, strict=True)
    for sender, receiver, messages, nbytes in entries:
        a, b = placements[:, sender], placements[:, receiver]
        pairs += messages * message[a, b] + nbytes * byte[a, b]
        apart = nbytes * (a != b)
        for host, (out, into) in enumerate(ports):
            busy[2 * host] += apart * (a == host) * out
            busy[2 * host + 1] += apart * (b == host) * into
        for at, (from_, to) in enumerate(behind):
            busy[2 * len(hosts) + at] += apart * from_[a] * to[b] / net.trunks[at].capacity
    load: NDArray[np.float64] = (busy**8).sum(axis=0) ** (1 / 8)
    return pairs / program.ranks + load


def optimum(net: Network, program: Communication, slots: int) -> float:
    """Returns the least cost of any placement."""
    every = all_placements(program.ranks, len(net.hosts), slots)
    return min(float(costs_of(net, program, some).min()) for some in every)


# The page --------------------------------------------------------------------------------------


def run(settings: Settings) -> None:
    if not mapping.has_scotch():
        raise UserError("this build has no Scotch to compare with: install libscotch-dev")
    page = Page(settings, subject, contents)
    few = not settings.save
    for size in sizes:
        if size.ranks <= 256 or not few:
            labels = {"ranks": size.ranks, "hosts": size.hosts}
            if page.has(labels):
                continue
            networks = settings.networks or size.networks
            page.add(labels, {"slots": size.slots}, map(asdict, judged(size, settings, networks)))
    count = 1 if few else settings.networks or usual_tiny
    page.add({"hosts": "up to 10"}, {}, map(asdict, optima(settings.seed, count, few=few)))
    page.finish()


def judged(size: Size, settings: Settings, networks: int) -> Iterator[Case]:
    """Yields the cases of one size: each pattern on several networks."""
    for at, pattern in enumerate(patterns):
        for number in range(networks):
            seed = settings.seed + at * networks + number
            name, net = network(seed, size.hosts)
            program = matrix(pattern, size.ranks, seed)
            slots = [size.slots] * size.hosts
            begin = time.perf_counter()
            found = mapping.place(net, program, slots)
            elapsed = time.perf_counter() - begin
            costs = {"thalweg": found.cost.total}
            for method in compared if size.is_small else compared[:2]:
                costs[method] = mapping.place(net, program, slots, method=method).cost.total
            yield Case(size.ranks, size.hosts, pattern, name, elapsed, costs)


def optima(seed: int, networks: int, *, few: bool) -> Iterator[Case]:
    """Yields cases for which the optimum is known."""
    for (ranks, hosts, slots), number in itertools.product(tiny, range(networks)):
        count = math.factorial(ranks) / math.factorial(slots) ** hosts
        if (few and count > at_a_time) or (number and count > most_often):
            continue
        pattern = list(patterns)[(ranks + hosts + number) % len(patterns)]
        name, net = network(seed + ranks + hosts + number, hosts)
        program = matrix(pattern, ranks, seed + number)
        begin = time.perf_counter()
        found = mapping.place(net, program, [slots] * hosts)
        elapsed = time.perf_counter() - begin
        costs = {"thalweg": found.cost.total, "optimum": optimum(net, program, slots)}
        costs["scotch"] = mapping.place(net, program, [slots] * hosts, method="scotch").cost.total
        yield Case(ranks, hosts, pattern, name, elapsed, costs)


def contents(parts: Sequence[Part]) -> list[Table]:
    cases = [Case(**sample) for part in parts for sample in part.samples]
    large = [case for case in cases if "optimum" not in case.costs]
    small = [case for case in cases if "optimum" in case.costs]
    tables = [by_size(large), by_pattern(large), by_method(large), worst(large)] if large else []
    return [*tables, beside_optimum(small)] if small else tables


def mean(values: Sequence[float]) -> str:
    return times(geometric_mean(values))


def by_size(cases: Sequence[Case]) -> Table:
    table = Table(
        "Cost and time by size",
        ["ranks", "hosts", "cases", "cost / Scotch's", "worst", "cost / block's", "worst",
         "time, median", "longest", "wanted"],
    )  # fmt: skip
    keys = list(dict.fromkeys((case.ranks, case.hosts) for case in cases))
    for ranks, hosts in keys:
        group = [case for case in cases if (case.ranks, case.hosts) == (ranks, hosts)]
        bar = bars.get((ranks, hosts))
        table.add(ranks, hosts, len(group), *beside(group), seconds(median(c.time for c in group)),
                  seconds(max(c.time for c in group)), seconds(bar) if bar else "-")  # fmt: skip
    table.add("all", "", len(cases), *beside(cases), "", "", "")
    table.notes += [
        "Ratios are geometric means; worst: the largest one. Wanted: at most 0.9 of Scotch's cost "
        "on the mean, never above it nor above block's.",
        "Times are on the clock, with all that thalweg.mapping.place() does, Scotch's part "
        "included; those wanted of 64 and 256 ranks are CloudMap's Table II.",
    ]
    return table


def beside(group: Sequence[Case]) -> list[str]:
    found = []
    for other in ("scotch", "block"):
        ratios = [case.ratio(other) for case in group]
        found += [mean(ratios), times(max(ratios))]
    return found


def by_pattern(cases: Sequence[Case]) -> Table:
    table = Table("Cost by pattern", ["pattern", "cases", "cost / Scotch's", "worst",
                                      "cost / block's", "worst"])  # fmt: skip
    for pattern in dict.fromkeys(case.pattern for case in cases):
        group = [case for case in cases if case.pattern == pattern]
        table.add(pattern, len(group), *beside(group))
    return table


def by_method(cases: Sequence[Case]) -> Table:
    """As CloudMap's Figures 13 and 15: other ways to place, and only a part of the mapping."""
    shown = ("thalweg", *compared)
    table = Table("Cost over that of random placements", ["ranks", "hosts", *shown])
    known = [case for case in cases if "random" in case.costs]
    for ranks, hosts in dict.fromkeys((case.ranks, case.hosts) for case in known):
        group = [case for case in known if (case.ranks, case.hosts) == (ranks, hosts)]
        table.add(ranks, hosts, *(mean([c.costs[each] / c.costs["random"] for c in group])
                                  for each in shown))  # fmt: skip
    table.notes.append("Geometric means over all patterns.")
    return table


def worst(cases: Sequence[Case]) -> Table:
    table = Table("The cases nearest to Scotch's cost, or above",
                  ["network", "ranks", "pattern", "cost", "Scotch's", "ratio"])  # fmt: skip
    for case in sorted(cases, key=lambda case: -case.ratio("scotch"))[:12]:
        table.add(case.network, case.ranks, case.pattern, seconds(case.costs["thalweg"]),
                  seconds(case.costs["scotch"]), f"{case.ratio('scotch'):.4f}")  # fmt: skip
    return table


def beside_optimum(cases: Sequence[Case]) -> Table:
    table = Table("Beside the optimum", ["ranks", "hosts", "cases", "cost / optimum, mean", "worst",
                                         "Scotch's / optimum, mean", "worst"])  # fmt: skip
    for ranks, hosts in dict.fromkeys((case.ranks, case.hosts) for case in cases):
        group = [case for case in cases if (case.ranks, case.hosts) == (ranks, hosts)]
        above = [case.ratio("optimum") for case in group]
        scotch = [case.costs["scotch"] / case.costs["optimum"] for case in group]
        table.add(ranks, hosts, len(group), percent(geometric_mean(above) - 1),
                  percent(max(above) - 1), percent(geometric_mean(scotch) - 1),
                  percent(max(scotch) - 1))  # fmt: skip
    table.notes.append(
        "How far above the least cost of all placements, which are tried one by one with costs "
        "computed independently. Wanted: at most 3 %."
    )
    return table
