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
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import geometric_mean, median

from bench import kahip, recording
from bench.page import Page, Part, Record
from bench.placement_cases import matrix, network, patterns
from bench.placement_optimum import at_a_time, optimum
from bench.placement_programs import Kernel
from bench.report import Subject, Table, console, percent, seconds, times
from bench.settings import Settings
from thalweg import mapping
from thalweg.collective import Kind
from thalweg.errors import UserError
from thalweg.mapping import Call, Communication, Mapping
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
compared = ("scotch", "block", "interleave", "random", "intra-only", "inter-only")
compared_at_size = ("scotch", "block", "interleave", "random")
"""With very many ranks."""
rival = "kahip"
most_ranks_of_kahip = 256
"""With more it takes many seconds."""


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
recorded_label = "recorded"
recorded = {
    64: (Kernel("lu", 64, 1), Kernel("bt", 32, 1), Kernel("cg", 96, 1), Kernel("mg", 4, 1)),
    256: (Kernel("lu", 64, 1), Kernel("bt", 96, 1), Kernel("cg", 256, 1), Kernel("mg", 4, 1)),
}
"""Programs by the ranks with which they are recorded: with 256 each takes minutes on two cores."""
calls = (Call(Kind.allreduce, 8, 1000), Call(Kind.bcast, 1_000_000, 3),
         Call(Kind.allgather, 1000, 10))  # fmt: skip
"""Calls of all ranks, where collectives are planned for placements."""
with_calls_label = "with collectives"
with_calls = (Size(64, 8, 8, 2), Size(256, 32, 8, 2), Size(1024, 64, 16, 1))
bars = {(64, 8): 0.005, (64, 24): 0.005, (256, 32): 0.030, (1024, 64): 1.0, (16384, 256): 10.0}
"""The longest times that are wanted, in seconds, by ranks and hosts."""
tiny = ((8, 4, 2), (9, 3, 3), (10, 5, 2), (12, 4, 3), (8, 8, 1), (9, 9, 1), (10, 10, 1))
"""Ranks, hosts and slots for which all placements are tried."""
usual_tiny = 3  # networks of each; with more placements than most_often, only one
most_often = 1_000_000


@dataclass(frozen=True)
class Case:
    """Costs in seconds, by method; `time` is the mapping's, of the processor."""

    ranks: int
    hosts: int
    pattern: str
    network: str
    time: float
    costs: dict[str, float]
    between: dict[str, float] = field(default_factory=dict)
    """Bytes between hosts: CloudMap's equation 2."""
    comm_time: dict[str, float] = field(default_factory=dict)
    """CloudMap's equation 4."""

    def ratio(self, other: str) -> float:
        return self.costs["thalweg"] / self.costs[other]

    @property
    def over_least(self) -> float:
        """Its cost over the least of all others."""
        return self.costs["thalweg"] / min(c for name, c in self.costs.items() if name != "thalweg")


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
    if not page.has(with_calls := {"pattern": with_calls_label}):
        page.add(with_calls, {}, map(asdict, planned(settings.seed, few=few)))
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
    if not (made_for := recording.build_among(settings.builds)):
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


def _by_kahip(net: Network, program: Communication, placed: dict[str, Mapping]) -> Mapping | None:
    found = kahip.place(net, program, placed["scotch"].placement)
    if found is None:
        return None
    cost = mapping.cost_of(net, program, found)
    return Mapping(found, cost, mapping.traffic_of(net, program, found), rival)


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


def contents(parts: Sequence[Part]) -> list[Table]:
    called = [part for part in parts if part.labels.get("pattern") == with_calls_label]
    ran = [part for part in parts if recorded_label in part.labels]
    cases = cases_of([part for part in parts if part not in [*called, *ran]])
    large = [case for case in cases if "optimum" not in case.costs]
    small = [case for case in cases if "optimum" in case.costs]
    tables = [by_size(large), by_pattern(large), *by_method(large), worst(large)] if large else []
    tables += [beside_optimum(small)] if small else []
    tables += [with_collectives(cases_of(called))] if called else []
    return [*tables, by_program(cases_of(ran))] if ran else tables


def cases_of(parts: Sequence[Part]) -> list[Case]:
    return [Case(**sample) for part in parts for sample in part.samples]


def mean(values: Sequence[float]) -> str:
    return times(geometric_mean(values))


judged_by = ("cases", "cost / Scotch's", "worst", "cost / block's", "worst", "cost / least, worst",
             "time, median", "longest", "wanted")  # fmt: skip


def by_size(cases: Sequence[Case]) -> Table:
    table = Table("Cost and time by size", ["ranks", "hosts", *judged_by])
    for ranks, hosts in dict.fromkeys((case.ranks, case.hosts) for case in cases):
        group = [case for case in cases if (case.ranks, case.hosts) == (ranks, hosts)]
        table.add(ranks, hosts, *costs_of(group), *times_of(group))
    table.add("all", "", *costs_of(cases), "", "", "")
    table.notes += [
        "Ratios are geometric means; worst: the largest one. Wanted: at most 0.9 of Scotch's cost "
        "on the mean, never above it nor above block's. Least: that of all other placements of "
        "this page.",
        "Times are of the processor, of all that thalweg.mapping.place() does on its one thread, "
        "Scotch's part included: those on the clock of a machine with nothing else to do. The time "
        "wanted of 64 ranks is that of CloudMap's Table II, which has 28 ms for 256 ranks, and "
        "0.69 s and 1.67 s for profiling 8 and 32 instances before each run.",
    ]
    return table


def costs_of(group: Sequence[Case]) -> list[object]:
    return [len(group), *beside(group), worst_of([case.over_least for case in group])]


def times_of(group: Sequence[Case]) -> list[str]:
    found = [case.time for case in group]
    return [seconds(median(found)), seconds(max(found)), wanted(group)]


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


def by_program(cases: Sequence[Case]) -> Table:
    table = Table("Recorded matrices", ["program", "ranks", "hosts", *judged_by])
    for program, ranks, hosts in dict.fromkeys((c.pattern, c.ranks, c.hosts) for c in cases):
        group = [c for c in cases if (c.pattern, c.ranks, c.hosts) == (program, ranks, hosts)]
        table.add(program, ranks, hosts, *costs_of(group), *times_of(group))
    table.add("all", "", "", *costs_of(cases), "", "", "")
    table.notes.append(
        "As the first table, of kernels of examples/patterns.cpp with their sizes, recorded on one "
        "machine: the messages that they send, in their order, without collectives. No optimum is "
        "known of so many ranks."
    )
    return table


def by_method(cases: Sequence[Case]) -> list[Table]:
    """As CloudMap's Figures 13 and 15: other ways to place, and only a part of the mapping."""
    titles = {
        "costs": "Cost over that of random placements",
        "between": "Bytes between hosts over those of random placements (CloudMap's equation 2)",
        "comm_time": "CommTime over that of random placements (CloudMap's equation 4)",
    }
    tables = []
    known = [case for case in cases if "random" in case.costs]
    shown = ("thalweg", *compared, rival)
    for name, title in titles.items():
        table = Table(title, ["ranks", "hosts", *shown])
        for ranks, hosts in dict.fromkeys((case.ranks, case.hosts) for case in known):
            group = [case for case in known if (case.ranks, case.hosts) == (ranks, hosts)]
            table.add(ranks, hosts, *(_over_random(group, name, each) for each in shown))
        tables.append(table)
    tables[0].notes += [
        "Geometric means over all patterns, of bytes and CommTime arithmetic ones, since some "
        "placements have none between hosts.",
        f"KaHIP takes uniform trees only: hosts of equal slots, sites of equal size; up to "
        f"{most_ranks_of_kahip} ranks, on the hosts that Scotch's placement uses.",
    ]
    return tables


def _over_random(group: Sequence[Case], name: str, method: str) -> str:
    pairs = [(of[method], of["random"]) for case in group if method in (of := getattr(case, name))]
    shares = [own / random for own, random in pairs if random > 0]
    if not shares:
        return "-"
    return mean(shares) if name == "costs" else times(sum(shares) / len(shares))


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
        "computed independently. Wanted: at most 3 %. Of more than 12 ranks no optimum is known "
        "here."
    )
    return table


def with_collectives(cases: Sequence[Case]) -> Table:
    table = Table("With collectives", ["ranks", "hosts", "cases", "cost / block's", "worst",
                                       "cost / the estimate's choice", "worst", "time, median",
                                       "longest", "wanted"])  # fmt: skip
    for ranks, hosts in dict.fromkeys((case.ranks, case.hosts) for case in cases):
        group = [case for case in cases if (case.ranks, case.hosts) == (ranks, hosts)]
        ratios = [[case.ratio(other) for case in group] for other in ("block", "estimate")]
        shown = [show(of) for of in ratios for show in (mean, worst_of)]
        table.add(ranks, hosts, len(group), *shown, *times_of(group))
    table.notes.append(
        "All ranks call 1,000 allreduces of 8 B, 3 bcasts of 1 MB and 10 allgathers of 1 KB. Costs "
        "have them as they are planned for each placement, with up to 64 ranks all of them, with "
        "more as far as planning takes tens of milliseconds, else as estimated. The estimate's "
        "choice: the placement that is best by the estimate alone."
    )
    return table


def wanted(group: Sequence[Case]) -> str:
    """Returns the time that is wanted of cases of one size, and whether the longest is within
    it."""
    bar = bars.get((group[0].ranks, group[0].hosts))
    if bar is None:
        return "-"
    return f"{seconds(bar)}, {'met' if max(case.time for case in group) <= bar else 'MISSED'}"


def worst_of(ratios: Sequence[float]) -> str:
    return times(max(ratios))
