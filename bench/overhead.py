"""What the preloaded runtime costs on this host, beside the MPI library alone.

Ranks that aren't alone on a host pretend to be on two, so that calls are planned.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.builds import Build
from bench.page import Page, Part
from bench.report import Subject, Table, console
from bench.settings import Settings
from thalweg import paths, plans
from thalweg.algorithms import Algorithm, all_algorithms
from thalweg.collective import Kind
from thalweg.network import even_network
from thalweg.planner import Table as PlanTable

subject = Subject(
    "overhead",
    "What the runtime costs",
    ("src/runtime", "src/execution", "bench/overhead.cpp"),
    ("build", "case", "algorithm", "collective"),
)
planned = "barrier=dissemination;allreduce=rabenseifner"
temporary = "temporary memory"
_RANKS = 8
_KINDS = (Kind.bcast, Kind.allreduce, Kind.allgather, Kind.alltoall)
_NEEDS_FILES = ("listed", "tree")

Samples = list[dict[str, Any]]


def run(settings: Settings) -> None:
    """Measures each build."""
    page = Page(settings, subject, contents)
    for build in settings.builds:
        for case, measure in cases.items():
            labels = {"build": build.name, "case": case}
            if not page.has(labels):
                page.add(labels, {}, measure(build, settings.repetitions))
                console.print(f"{build.name}: {case}")
    page.finish()


@dataclass(frozen=True)
class Row:
    """A row of a build's table: two values of a case's samples, and what the second is more."""

    what: str
    case: str
    keys: tuple[str, str]
    aim: str = ""
    text: Callable[[float], str] = str
    more: str = ""
    """The key of the difference, if it isn't that of the two values."""
    parts: int = 1
    """How many equal parts the difference has, of which one is shown."""
    has_share: bool = True
    """Whether the difference is shown also as a share of the first value."""

    def cells(self, samples: Sequence[Mapping[str, Any]]) -> list[str]:
        """Returns medians of the values, and of the differences."""
        one, other = ([sample[key] for sample in samples] for key in self.keys)
        pairs = list(zip(one, other, strict=True))
        more = [sample[self.more] for sample in samples] if self.more else [b - a for a, b in pairs]
        difference = self.text(statistics.median(more) / self.parts)
        if self.has_share and all(one):
            shares = [each / a for each, a in zip(more, one, strict=True)]
            difference += f" ({statistics.median(shares):+.1%})"
        return [self.what, *(self.text(statistics.median(it)) for it in (one, other)), difference,
                self.aim]  # fmt: skip


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns the tables of each build's costs, and of the temporary memory of all."""
    samples = {(part.labels["build"], part.labels["case"]): part.samples for part in parts}
    tables = []
    for build in dict.fromkeys(part.labels["build"] for part in parts):
        table = Table(
            f"Costs, {build}", ["what", "MPI library alone", "with Thalweg", "more", "aim"]
        )
        for row in rows:
            if found := samples.get((build, row.case)):
                table.add(*row.cells(found))
        if table.rows:
            tables.append(table)
    if tables:
        tables[-1].notes += _NOTES
    memory = {build: found for (build, case), found in samples.items() if case == temporary}
    return [*tables, *([_temporary_table(memory)] if memory else [])]


_NOTES = [
    "Medians of launches; differences are medians of pairs that take turns. A planned call stands "
    "beside one exchange of a message by the MPI library, which it can't do without.",
    "In rows with *recorded* or *events* both columns are with Thalweg, without and with that. Of "
    "single calls they are what a call takes beyond the MPI library's.",
]


def _temporary_table(samples: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    """Returns the memory of each algorithm and collective: the least and most of the builds."""
    table = Table(
        f"Temporary memory of 1 MiB on {_RANKS} ranks", ["algorithm", *(k.name for k in _KINDS)]
    )
    found: dict[tuple[str, str], list[float]] = {}
    for each in samples.values():
        for sample in each:
            key = (sample["algorithm"], sample["collective"])
            found.setdefault(key, []).append(sample["bytes"])
    for algorithm in dict.fromkeys(name for name, _ in found):
        table.add(algorithm, *(_span(found.get((algorithm, kind.name), [])) for kind in _KINDS))
    table.notes.append(
        "What the heap of the rank that needs most grows by, beyond a call of 1 KiB, with what "
        f"the MPI library takes: least and most of {', '.join(samples)}. A vector has 1 MiB, and "
        "so have all blocks of an allgather or alltoall together."
    )
    return table


def _span(values: Sequence[float]) -> str:
    if not values:
        return "-"
    ends = dict.fromkeys(_size(value) for value in (min(values), max(values)))
    return " to ".join(ends)


def _launches(
    case: str,
    ranks: int,
    build: Build,
    repetitions: int,
    hosts: str = "a,b",
    native_plan: bool = False,
) -> Samples:
    return [
        _launch(build, case, ranks, hosts=hosts, native_plan=native_plan)
        for _ in range(repetitions)
    ]


def _init(ranks: int, build: Build, repetitions: int) -> Samples:
    found: Samples = []
    for _ in range(repetitions):
        alone, other = (_launch(build, "init", ranks, thalweg) for thalweg in (False, True))
        found.append(
            {f"alone_{name}": value for name, value in alone.items()}
            | {f"with_{name}": value for name, value in other.items()}
        )
    return found


def _recorded(
    case: str,
    ranks: int,
    recorded: str,
    build: Build,
    repetitions: int,
    native_plan: bool = False,
) -> Samples:
    """Compares what a call takes beyond the MPI library's own, without and with recording.

    Launches alternate; each compares with the library's call in itself. With events they are
    compared with the run record alone.
    """
    less, more = ("run record", "events") if recorded == "events" else ("", recorded)
    return [
        {
            name: _launch(build, case, ranks, recorded=recording, native_plan=native_plan)[
                "difference_ns"
            ]
            for name, recording in (("off", less), ("on", more))
        }
        for _ in range(2 * repetitions)
    ]


def _whole(recorded: str, build: Build, repetitions: int) -> Samples:
    """Compares whole runs of allreduces in pairs, which follow each other in changing order."""
    found: Samples = []
    for pair in range(5 * repetitions):
        order = [("off", ""), ("on", recorded)]
        found.append(
            {
                name: _launch(build, "allreduces", 2, recorded=recording)["mean_ns"]
                for name, recording in (order if pair % 2 == 0 else reversed(order))
            }
        )
    return found


def _temporary(build: Build, repetitions: int) -> Samples:
    """Measures once, since it doesn't vary."""
    del repetitions

    def is_measured(kind: Kind, algorithm: Algorithm) -> bool:
        return algorithm.supports(kind) and algorithm.name not in _NEEDS_FILES

    return [
        {
            "algorithm": algorithm.name,
            "collective": kind.name,
            "bytes": _launch(
                build, f"temporary {kind.name}", _RANKS, force=f"{kind.name}={algorithm.name}"
            )["temporary_bytes"],
        }
        for algorithm in all_algorithms()
        for kind in _KINDS
        if is_measured(kind, algorithm)
    ]


def _time(ns: float) -> str:
    for unit, factor in [("s", 1e9), ("ms", 1e6), ("µs", 1e3)]:
        if abs(ns) >= factor:
            return f"{ns / factor:.3g} {unit}"
    return f"{ns:.0f} ns"


def _size(count: float) -> str:
    for unit, factor in [("MiB", 2**20), ("KiB", 2**10)]:
        if abs(count) >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} B"


cases: Mapping[str, Callable[[Build, int], Samples]] = {
    "native call": partial(_launches, "pass-through", 1),
    "native barrier": partial(_launches, "pass-through-barrier", 1),
    "native call in place": partial(_launches, "pass-through-in-place", 1),
    "message": partial(_launches, "message", 1),
    "one host": partial(_launches, "small-call", 2, hosts="a"),
    "planned call": partial(_launches, "planned-call", 2),
    "used communicators": partial(_launches, "communicators", 2, native_plan=True),
    "recorded native call": partial(_recorded, "pass-through", 1, "run record"),
    "recorded message": partial(_recorded, "message", 1, "run record"),
    "recorded planned call": partial(_recorded, "planned-call", 2, "run record"),
    "recorded communicators": partial(
        _recorded, "communicators", 2, "run record", native_plan=True
    ),
    "events": partial(_recorded, "planned-call", 2, "events"),
    "recorded run": partial(_whole, "run record"),
    "run with events": partial(_whole, "events"),
    "first call": partial(_launches, "first-call", 16),
    "start of 16": partial(_init, 16),
    "start of 256": partial(_init, 256),
    temporary: _temporary,
}
"""What is measured, by name: functions of a build and a number of repetitions."""

_row = partial(Row, text=_time)
_compared = partial(_row, keys=("native_ns", "intercepted_ns"), more="difference_ns")
_in_turn = partial(_row, keys=("off", "on"))
_memory = partial(Row, text=_size, has_share=False)

rows: Sequence[Row] = [
    _compared("a native call (broadcast on MPI_COMM_SELF)", "native call", aim="60 ns"),
    _compared("a native call without data (barrier on MPI_COMM_SELF)", "native barrier",
              aim="60 ns"),
    _compared("a native call in place (allreduce on MPI_COMM_SELF)", "native call in place",
              aim="60 ns"),
    _compared("a message (MPI_Sendrecv with itself)", "message"),
    _compared("an allreduce of 8 bytes of 2 ranks on one host", "one host", aim="2 %"),
    _compared("a planned call (barrier of 2 ranks)", "planned call"),
    _compared("a communicator made, used once and freed (10^5 of 2 ranks)", "used communicators",
              aim="5 %"),
    _in_turn("a native call, recorded", "recorded native call", has_share=False),
    _in_turn("a message, recorded", "recorded message", aim="30 ns", has_share=False),
    _in_turn("a planned call, recorded", "recorded planned call", has_share=False),
    _in_turn("a communicator made, used once and freed, recorded", "recorded communicators",
             has_share=False),
    # A call, a send and a receive.
    _in_turn("one of the three events of a planned call", "events", aim="100 ns", parts=3,
             has_share=False),
    _in_turn("an allreduce of 2 ranks, whole runs, recorded", "recorded run", aim="0.3 %"),
    _in_turn("an allreduce of 2 ranks, whole runs, events", "run with events", aim="1 %"),
    _row("the first call of a plan (allreduce of 16 ranks; alone: a later call)", "first call",
         ("later_ns", "first_ns"), has_share=False),
    _memory("memory per rank and plan (the same)", "first call", ("none", "bytes_per_plan")),
    *(
        row(what.format(ranks), f"start of {ranks}", (f"alone_{key}", f"with_{key}"))
        for ranks in (16, 256)
        for what, key, row in [
            ("MPI_Init with {} ranks", "init_ns", _row),
            ("memory of a rank after it, of {}", "resident_bytes", _memory),
        ]
    ),
]  # fmt: skip


def _launch(
    build: Build, case: str, ranks: int, thalweg: bool = True, recorded: str = "",
    force: str = planned, hosts: str = "a,b", native_plan: bool = False,
) -> dict[str, float]:  # fmt: skip
    """Runs the program and reads its lines "name value".

    `case`: its arguments.

    `recorded`: nothing, "run record", or "events", which are recorded besides.

    `native_plan`: two ranks have a plan by which all is native, in place of `force` and `hosts`. So
    communicators are set up when their calls have earned it; where calls are forced, at the first.
    """
    program = paths.binary(f"thalweg-bench-overhead-{build.flavour}")
    with tempfile.TemporaryDirectory() as folder:
        preloaded = {
            "LD_PRELOAD": str(paths.library(build.flavour)),
            "THALWEG_FORCE": force,
            "THALWEG_ASSUME_HOSTS": hosts,
        }
        if native_plan:
            preloaded |= _native_plan(Path(folder) / "plan")
        if recorded:
            preloaded["THALWEG_RECORD"] = str(Path(folder) / "record")
        if recorded == "events":
            preloaded["THALWEG_EVENTS"] = "64MB"
        printed = build.run((ranks, preloaded if thalweg else {}, [str(program), *case.split()]))
    return {name: float(value) for name, value in map(str.split, printed.splitlines())} | {
        "none": 0.0
    }


def _native_plan(path: Path) -> dict[str, str]:
    """Writes a plan by which all is native; returns with what two ranks of two hosts follow it."""
    network = even_network(2, 1e-4, 1e9)
    plans.write_table(path, network, "", PlanTable([0, 1], []))
    return {
        "THALWEG_PLAN": str(path),
        "THALWEG_FORCE": "",
        "THALWEG_ASSUME_HOSTS": ",".join(host.name for host in network.hosts),
    }
