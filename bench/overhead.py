"""What the preloaded runtime costs on this host, beside the MPI library alone: one table.

Ranks that aren't alone on a host pretend to be on two, so that calls are planned.
"""

from __future__ import annotations

import statistics
import tempfile

from bench.builds import Build
from bench.report import Table
from bench.settings import Settings
from thalweg import paths
from thalweg.algorithms import Algorithm, all_algorithms
from thalweg.collective import Kind

planned = "barrier=dissemination;allreduce=rabenseifner"


def run(settings: Settings) -> None:
    """Prints the table of each build."""
    for build in settings.builds:
        table(build, settings.repetitions).print()
        temporary_memory(build).print()


def table(build: Build, repetitions: int) -> Table:
    """Returns the costs of one build, medians of several launches."""
    found = Table(f"Overhead, {build.name}", ("what", "MPI library alone", "with Thalweg", "more"))

    def measured(
        case: str, ranks: int, thalweg: bool = True, hosts: str = "a,b"
    ) -> dict[str, float]:
        launches = [_launch(build, case, ranks, thalweg, hosts=hosts) for _ in range(repetitions)]
        return {name: statistics.median(it[name] for it in launches) for name in launches[0]}

    for what, case, ranks in [
        ("a native call (broadcast on MPI_COMM_SELF)", "pass-through", 1),
        ("a message (MPI_Sendrecv with itself)", "message", 1),
        (
            "an allreduce of 8 bytes of 2 ranks on one host",
            "small-call",
            2,
        ),
        (
            "a planned call (barrier of 2 ranks; alone: an exchange of one message)",
            "planned-call",
            2,
        ),
        ("a communicator made and freed (10^5 of 2 ranks)", "communicators", 2),
    ]:
        it = measured(case, ranks, hosts="a" if case == "small-call" else "a,b")
        more = f"{_time(it['difference_ns'])} ({it['difference_ns'] / it['native_ns']:+.1%})"
        found.add(what, _time(it["native_ns"]), _time(it["intercepted_ns"]), more)
    for what, case, ranks, recorded, parts in _RECORDED:
        off, on = _in_turn(build, case, ranks, recorded, 2 * repetitions)
        found.add(
            f"{what}, {recorded} (both: beyond the library)", _time(off), _time(on),
            _time((on - off) / parts),
        )  # fmt: skip
    for recorded, bar in _WHOLE:
        off, on, shares = _whole_runs(build, recorded, 5 * repetitions)
        low, middle, high = statistics.quantiles(shares, n=4)
        found.add(
            f"an allreduce of 2 ranks, whole runs, {recorded} (both: Thalweg; bar: {bar:.1%})",
            _time(off), _time(on), f"{middle:+.1%} ({low:+.1%} to {high:+.1%})",
        )  # fmt: skip
    first = measured("first-call", 16)
    found.add(
        "the first call of a plan (allreduce of 16 ranks; alone: a later call)",
        _time(first["later_ns"]), _time(first["first_ns"]),
        _time(first["first_ns"] - first["later_ns"]),
    )  # fmt: skip
    found.add("memory per rank and plan (the same)", "0 B", *[_size(first["bytes_per_plan"])] * 2)
    for ranks in (16, 256):
        alone, with_thalweg = (measured("init", ranks, thalweg) for thalweg in (False, True))
        for what, key, text in [
            (f"MPI_Init with {ranks} ranks", "init_ns", _time),
            (f"memory of a rank after it, of {ranks}", "resident_bytes", _size),
        ]:
            more = text(with_thalweg[key] - alone[key])
            found.add(what, text(alone[key]), text(with_thalweg[key]), more)
    return found


def temporary_memory(build: Build) -> Table:
    """Returns how much memory the rank that needs most takes for a call, by algorithm."""
    found = Table(
        f"Temporary memory of 1 MiB on {_RANKS} ranks, {build.name}",
        ("algorithm", *(kind.name for kind in _TEMPORARY)),
    )

    def grown(kind: Kind, algorithm: Algorithm) -> str:
        if not algorithm.supports(kind):
            return "-"
        force = f"{kind.name}={algorithm.name}"
        it = _launch(build, f"temporary {kind.name}", _RANKS, True, force=force)
        return _size(it["temporary_bytes"])

    for algorithm in all_algorithms():
        if any(map(algorithm.supports, _TEMPORARY)) and algorithm.name not in _NEEDS_FILES:
            found.add(algorithm.name, *(grown(kind, algorithm) for kind in _TEMPORARY))
    found.notes.append(
        "What the heap grows by, beyond a call of 1 KiB, with what the MPI library takes. "
        "A vector has 1 MiB, and so have all blocks of an allgather or alltoall together."
    )
    return found


_RANKS = 8
_TEMPORARY = (Kind.bcast, Kind.allreduce, Kind.allgather, Kind.alltoall)
_NEEDS_FILES = ("listed", "tree")
_RECORDED = [
    ("a native call", "pass-through", 1, "run record", 1),
    ("a message", "message", 1, "run record", 1),
    ("a planned call", "planned-call", 2, "run record", 1),
    # A call, a send and a receive.
    ("one of the three events of a planned call", "planned-call", 2, "events", 3),
]
"""What costs more when it is recorded: the call, its case and ranks, how it is recorded, and by how
many parts to divide the difference."""


_WHOLE = [("run record", 0.003), ("events", 0.01)]
"""What a whole run of allreduces may cost more, by what is recorded."""


def _whole_runs(build: Build, recorded: str, pairs: int) -> tuple[float, float, list[float]]:
    """Returns the median time of a call without and with recording, and by how much each pair of
    runs, which follow each other in changing order, differs."""
    times: tuple[list[float], list[float]] = ([], [])
    for pair in range(pairs):
        order = ((0, ""), (1, recorded))
        for which, recording in order if pair % 2 == 0 else reversed(order):
            it = _launch(build, "allreduces", 2, True, recording)
            times[which].append(it["mean_ns"])
    more = [on / off - 1 for off, on in zip(*times, strict=True)]
    return statistics.median(times[0]), statistics.median(times[1]), more


def _in_turn(
    build: Build, case: str, ranks: int, recorded: str, repetitions: int
) -> tuple[float, float]:
    """Returns what a call costs more than the MPI library's own, without and with recording.

    Medians of launches that alternate; each compares with the library's call in itself. With events
    they are compared with the run record alone.
    """
    times: tuple[list[float], list[float]] = ([], [])
    less, more = ("run record", "events") if recorded == "events" else ("", recorded)
    for _ in range(repetitions):
        for kept, recording in zip(times, (less, more), strict=True):
            kept.append(_launch(build, case, ranks, True, recording)["difference_ns"])
    return statistics.median(times[0]), statistics.median(times[1])


def _launch(
    build: Build, case: str, ranks: int, thalweg: bool, recorded: str = "", force: str = planned,
    hosts: str = "a,b",
) -> dict[str, float]:  # fmt: skip
    """Runs the program and reads its lines "name value".

    `case`: its arguments.

    `recorded`: nothing, "run record", or "events", which are recorded besides.
    """
    program = paths.binary(f"thalweg-bench-overhead-{build.flavour}")
    with tempfile.TemporaryDirectory() as folder:
        preloaded = {
            "LD_PRELOAD": str(paths.library(build.flavour)),
            "THALWEG_FORCE": force,
            "THALWEG_ASSUME_HOSTS": hosts,
        }
        if recorded:
            preloaded["THALWEG_RECORD"] = folder
        if recorded == "events":
            preloaded["THALWEG_EVENTS"] = "64MB"
        printed = build.run((ranks, preloaded if thalweg else {}, [str(program), *case.split()]))
    return {name: float(value) for name, value in map(str.split, printed.splitlines())}


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
