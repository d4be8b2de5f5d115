"""Programs on one host, where nothing is planned, with the runtime preloaded and without it.

Pairs of runs take turns in going first. Times are those of whole launches, MPI_Init included. What
`thalweg run` itself takes before and after the program is measured apart, on the shortest one.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from bench.builds import Build
from bench.page import Page, Part
from bench.report import Subject, Table, console, seconds
from bench.settings import Settings
from bench.summary import median_interval
from thalweg import paths
from thalweg.errors import UserError

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
by_command = "`thalweg run` of 10^5 allreduces"


def run(settings: Settings) -> None:
    """Measures each program with each build."""
    page = Page(settings, subject, contents)
    for build in settings.builds:
        for name, command in programs.items():
            one, other = (partial(run, build, command) for run in (_alone, _preloaded))
            pairs = [_pair(one, "preloaded", other, at) for at in range(settings.repetitions)]
            page.add({"build": build.name, "program": name}, {}, pairs)
            console.print(f"{build.name}: {name}")
        one, other = (partial(run, build) for run in (_launched, _by_command))
        pairs = [_pair(one, "command", other, at) for at in range(settings.repetitions)]
        page.add({"build": build.name, "program": by_command}, {}, pairs)
        console.print(f"{build.name}: {by_command}")
    page.finish()


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns a row for each build and program, and one for each build's `thalweg run`."""
    whole = Table(
        f"Whole runs of {ranks} ranks",
        ["build", "program", "alone", "with Thalweg", "more (median of pairs)", "95 % interval"],
    )
    commands = Table(
        "What `thalweg run` itself takes",
        ["build", "program", "by the launcher", "by `thalweg run`", "more (median of pairs)",
         "95 % interval"],
    )  # fmt: skip
    for part in parts:
        is_command = part.labels["program"] == by_command
        keys = ("alone", "command" if is_command else "preloaded")
        alone, other = ([pair[key] for pair in part.samples] for key in keys)
        pairs = zip(alone, other, strict=True)
        differences = [b - a if is_command else b / a - 1 for a, b in pairs]
        low, high = median_interval(differences)
        text = _more if is_command else "{:+.1%}".format
        table = commands if is_command else whole
        table.add(
            part.labels["build"], part.labels["program"],
            *(seconds(statistics.median(each)) for each in (alone, other)),
            text(statistics.median(differences)), f"{text(low)} to {text(high)}",
        )  # fmt: skip
    whole.notes.append(
        f"At most {limit:.0%} is the aim. `thalweg run` preloads the runtime on one host only "
        "where a plan or THALWEG_FORCE is given, as here; it then finds in MPI_Init that there is "
        "nothing to plan, and counts the calls for the summary."
    )
    commands.notes.append(
        "Without a plan, as here, it starts the MPI library's launcher with nothing preloaded. The "
        "difference is the command's own start, however long the program runs."
    )
    return [whole, *([commands] if commands.rows else [])]


def _more(difference: float) -> str:
    """Prints a difference of times, which may be negative."""
    return f"{'-' if difference < 0 else '+'}{seconds(abs(difference))}"


def _pair(
    alone: Callable[[], None], key: str, other: Callable[[], None], at: int
) -> dict[str, float]:
    """Returns the seconds of both runs; the first one of even pairs is that without Thalweg."""
    runs = [("alone", alone), (key, other)]
    return {name: _time(run) for name, run in (runs if at % 2 == 0 else reversed(runs))}


def _time(run: Callable[[], None]) -> float:
    begin = time.monotonic()
    run()
    return time.monotonic() - begin


def _program(build: Build, command: Sequence[str]) -> list[str]:
    return [str(paths.binary(f"{command[0]}-{build.flavour}")), *command[1:]]


def _alone(build: Build, command: Sequence[str]) -> None:
    build.run((ranks, {}, _program(build, command)))


def _preloaded(build: Build, command: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "LD_PRELOAD": str(paths.library(build.flavour)),
            "THALWEG_FORCE": "bcast=native",
            "THALWEG_SUMMARY": f"{folder}/summary.json",
        }
        build.run((ranks, environment, _program(build, command)))


def _launched(build: Build) -> None:
    """Starts the shortest program as `thalweg run` does on one host."""
    root = ["--allow-run-as-root"] if build.flavour == "openmpi" else []
    _check([str(build.launcher), *root, "-n", str(ranks), *_shortest(build)])


def _by_command(build: Build) -> None:
    options = ["-n", str(ranks), "--launcher", str(build.launcher), "--mpi", build.flavour]
    _check([sys.executable, "-m", "thalweg", "run", *options, "--", *_shortest(build)])


def _shortest(build: Build) -> list[str]:
    return _program(build, programs["10^5 allreduces of 8 bytes"])


def _check(command: Sequence[str]) -> None:
    done = subprocess.run(command, check=False, text=True, capture_output=True)
    if done.returncode != 0:
        raise UserError(f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}")
