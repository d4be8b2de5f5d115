"""What placements cost beside Scotch's, a launcher's and the optimum, and how long they take.

Matrices of usual patterns, and those of programs that are recorded on this machine, on networks
drawn from seeds; a placement's cost is that of src/mapping/cost.hpp. Scotch gets the same hosts as
the mapping, and its result is made to fit.
"""

from __future__ import annotations

import itertools
import math
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import kahip, recording
from bench.page import Page, Record
from bench.placement_cases import matrix, network, patterns
from bench.placement_optimum import at_a_time, optimum
from bench.placement_page import (
    Case,
    compared,
    compared_at_size,
    contents,
    most_ranks_of_kahip,
    recorded_label,
    rival,
    with_calls_label,
)
from bench.placement_programs import Kernel
from bench.report import Subject, console
from bench.settings import Settings
from thalweg import mapping
from thalweg.collective import Kind
from thalweg.errors import UserError
from thalweg.mapping import Call, Communication
from thalweg.network import Network

subject = Subject(
    "placement",
    "Placements beside Scotch's, launchers' and the optimum",
    (
        "src/mapping",
        "bench/placement.py",
        "bench/placement_cases.py",
        "bench/placement_optimum.py",
        "bench/families.py",
        "bench/kahip.py",
        *recording.sources,
    ),
    ("ranks", "hosts", "pattern"),
    made="Simulated",
)


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
recorded = {
    64: (Kernel("lu", 64, 1), Kernel("bt", 32, 1), Kernel("cg", 96, 1), Kernel("mg", 4, 1)),
    256: (Kernel("lu", 64, 1), Kernel("bt", 96, 1), Kernel("cg", 256, 1), Kernel("mg", 4, 1)),
}
"""Programs by the ranks with which they are recorded: with 256 each takes minutes on two cores."""
calls = (Call(Kind.allreduce, 8, 1000), Call(Kind.bcast, 1_000_000, 3),
         Call(Kind.allgather, 1000, 10))  # fmt: skip
"""Calls of all ranks, where collectives are planned for placements."""
with_calls = (Size(64, 8, 8, 2), Size(256, 32, 8, 2), Size(1024, 64, 16, 1))
tiny = ((8, 4, 2), (9, 3, 3), (10, 5, 2), (12, 4, 3), (8, 8, 1), (9, 9, 1), (10, 10, 1))
"""Ranks, hosts and slots for which all placements are tried."""
usual_tiny = 3  # networks of each; with more placements than most_often, only one
most_often = 1_000_000


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
    if not page.has(exact := {"hosts": "up to 10"}):
        count = 1 if few else settings.networks or usual_tiny
        page.add(exact, {}, map(asdict, optima(settings.seed, count, few=few)))
    if not page.has(called := {"pattern": with_calls_label}):
        page.add(called, {}, map(asdict, planned(settings.seed, few=few)))
    add_recorded(page, settings)
    page.finish()


def add_recorded(page: Page, settings: Settings) -> None:
    """Adds a part for each recorded program and number of hosts. Raises UserError."""
    parts = [
        (size, at, kernel, labels_of(size, kernel))
        for size in sizes
        if size.ranks <= (256 if settings.save else 64)
        for at, kernel in enumerate(recorded.get(size.ranks, ()))
    ]
    left = [each for each in parts if not page.has(each[-1])]
    if not left:
        return
    if not (made_for := settings.build_named(recording.native)):
        console.print(f"[yellow]nothing is recorded: {recording.native} isn't here")
        return
    with tempfile.TemporaryDirectory() as folder:
        records = recording.Records(made_for, Path(folder) / "record")
        for size, at, kernel, labels in left:
            sent = records.of(kernel, size.ranks).matrix
            seeds = seeds_of(at, settings, settings.networks or size.networks)
            cases = (case_of(size, name_of(kernel), sent, seed) for seed in seeds)
            page.add(labels, {"slots": size.slots}, map(asdict, cases))


def labels_of(size: Size, kernel: Kernel) -> Record:
    return {"ranks": size.ranks, "hosts": size.hosts, recorded_label: name_of(kernel)}


def name_of(kernel: Kernel) -> str:
    return f"{kernel.name} {kernel.size}"


def judged(size: Size, settings: Settings, networks: int) -> Iterator[Case]:
    """Yields the cases of one size: each pattern on several networks."""
    for at, pattern in enumerate(patterns):
        for seed in seeds_of(at, settings, networks):
            yield case_of(size, pattern, matrix(pattern, size.ranks, seed), seed)


def seeds_of(at: int, settings: Settings, networks: int) -> range:
    """Returns the seeds of the networks for the pattern or program of this number."""
    first = settings.seed + at * networks
    return range(first, first + networks)


def case_of(size: Size, pattern: str, program: Communication, seed: int) -> Case:
    """Places a program on the network of a seed by all methods."""
    name, net = network(seed, size.hosts)
    slots = [size.slots] * size.hosts
    begin = time.process_time()
    found = mapping.place(net, program, slots)
    elapsed = time.process_time() - begin
    placed = {"thalweg": found} | {
        method: mapping.place(net, program, slots, method=method)
        for method in (compared if size.is_small else compared_at_size)
    }
    if size.ranks <= most_ranks_of_kahip and (other := _by_kahip(net, program, placed)):
        placed[rival] = other
    return Case(
        size.ranks, size.hosts, pattern, name, elapsed,
        {method: each.cost.total for method, each in placed.items()},
        {method: each.traffic.inter_host for method, each in placed.items()},
        {method: each.traffic.comm_time for method, each in placed.items()},
    )  # fmt: skip


def _by_kahip(
    net: Network, program: Communication, placed: dict[str, mapping.Mapping]
) -> mapping.Mapping | None:
    found = kahip.place(net, program, placed["scotch"].placement)
    if found is None:
        return None
    cost = mapping.cost_of(net, program, found)
    return mapping.Mapping(found, cost, mapping.traffic_of(net, program, found), rival)


def optima(seed: int, networks: int, *, few: bool) -> Iterator[Case]:
    """Yields cases for which the optimum is known."""
    for (ranks, hosts, slots), number in itertools.product(tiny, range(networks)):
        count = math.factorial(ranks) / math.factorial(slots) ** hosts
        if (few and count > at_a_time) or (number and count > most_often):
            continue
        pattern = list(patterns)[(ranks + hosts + number) % len(patterns)]
        name, net = network(seed + ranks + hosts + number, hosts)
        program = matrix(pattern, ranks, seed + number)
        begin = time.process_time()
        found = mapping.place(net, program, [slots] * hosts)
        elapsed = time.process_time() - begin
        costs = {"thalweg": found.cost.total, "optimum": optimum(net, program, slots)}
        costs["scotch"] = mapping.place(net, program, [slots] * hosts, method="scotch").cost.total
        yield Case(ranks, hosts, pattern, name, elapsed, costs)


def planned(seed: int, *, few: bool) -> Iterator[Case]:
    """Yields cases whose costs have collectives as they are planned for each placement."""
    for size in with_calls[:1] if few else with_calls:
        for at, number in itertools.product(range(len(patterns)), range(size.networks)):
            pattern = list(patterns)[at]
            name, net = network(seed + at * size.networks + number, size.hosts)
            program = matrix(pattern, size.ranks, seed + number)
            slots = [size.slots] * size.hosts
            begin = time.process_time()
            found = mapping.place(net, program, slots, calls=calls)
            elapsed = time.process_time() - begin
            guess = mapping.place(net, program, slots, calls=calls, finalists=1)
            judged = mapping.place(
                net, program, slots, calls=calls, finalists=1, usual=guess.placement
            )
            costs = {"thalweg": found.total}
            costs |= {"block": found.usual.total} if found.usual else {}
            costs |= {"estimate": judged.usual.total} if judged.usual else {}
            yield Case(size.ranks, size.hosts, pattern, name, elapsed, costs)
