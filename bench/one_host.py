"""Programs on one host, where nothing is planned, with the runtime preloaded and without it.

Pairs of runs take turns in going first. Times are those of whole launches, MPI_Init included.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence

from bench.builds import Build
from bench.page import Page, Part
from bench.report import Subject, Table, console, seconds
from bench.settings import Settings
from thalweg import paths

subject = Subject(
    "one-host",
    "What the runtime costs on one host",
    ("src/runtime", "examples", "bench/overhead.cpp"),
    ("build", "program"),
)
ranks = 2
limit = 0.02
programs: Mapping[str, tuple[str, ...]] = {
    "N-body": ("nbody", "--bodies", "1000", "--steps", "250"),
    "CG": ("cg", "--size", "200000"),
    "10^5 allreduces of 8 bytes": ("thalweg-bench-overhead", "allreduces"),
}


def run(settings: Settings) -> None:
    """Measures each program with each build."""
    page = Page(settings, subject, contents)
    for build in settings.builds:
        for name, command in programs.items():
            pairs = [_pair(build, command, at % 2 == 0) for at in range(settings.repetitions)]
            page.add({"build": build.name, "program": name}, {}, pairs)
            console.print(f"{build.name}: {name}")
    page.finish()


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns a row for each build and program."""
    table = Table(
        f"Whole runs of {ranks} ranks",
        ["build", "program", "alone", "with Thalweg", "more (median of pairs)", "least", "most"],
    )
    for part in parts:
        alone, preloaded = ([pair[key] for pair in part.samples] for key in ("alone", "preloaded"))
        more = [b / a - 1 for a, b in zip(alone, preloaded, strict=True)]
        table.add(
            part.labels["build"], part.labels["program"],
            seconds(statistics.median(alone)), seconds(statistics.median(preloaded)),
            *(f"{share:+.1%}" for share in (statistics.median(more), min(more), max(more))),
        )  # fmt: skip
    table.notes.append(
        f"At most {limit:.0%} is the aim. `thalweg run` preloads the runtime on one host only "
        "where a plan or THALWEG_FORCE is given, as here; it then finds in MPI_Init that there is "
        "nothing to plan, and counts the calls for the summary."
    )
    return [table]


def _pair(build: Build, command: Sequence[str], alone_first: bool) -> dict[str, float]:
    """Returns the seconds of a run without the runtime and of one with it."""
    found = {}
    for preloaded in (not alone_first, alone_first):
        found["preloaded" if preloaded else "alone"] = _time(build, command, preloaded)
    return found


def _time(build: Build, command: Sequence[str], preloaded: bool) -> float:
    program = [str(paths.binary(f"{command[0]}-{build.flavour}")), *command[1:]]
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "LD_PRELOAD": str(paths.library(build.flavour)),
            "THALWEG_FORCE": "bcast=native",
            "THALWEG_SUMMARY": f"{folder}/summary.json",
        }
        begin = time.monotonic()
        build.run((ranks, environment if preloaded else {}, program))
        return time.monotonic() - begin
