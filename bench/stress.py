"""Random collectives of all kinds against closed forms, with every build, for long.

It runs the stress program of the tests: forced algorithms at random, late ranks, ranks ahead, open
messages with wildcards, huge buffers, neighbourhoods on grids and graphs, and memory and MPI
objects that must not become more. Nine tenths of the calls come from one thread, the others from
three at once.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence

from bench.builds import Build
from bench.machine import repository
from bench.page import Page, Part
from bench.report import Subject, Table, console
from bench.settings import Settings
from thalweg import paths
from thalweg.errors import UserError
from thalweg.units import size_to_text, time_to_text

usual_calls = 1_000_000
ranks = 4
largest_bytes = 500
subject = Subject(
    "stress",
    "Random collectives for long",
    ("src", "tests/mpi"),
    ("build", "calls", "seed", "how"),
)


def run(settings: Settings) -> None:
    """Runs the program with each build. Raises UserError if any result was wrong."""
    calls = settings.calls or usual_calls
    page = Page(settings, subject, contents)
    failures: list[str] = []
    for how, number in [("stress", calls - calls // 10), ("threads", calls // 10)]:
        for build in settings.builds:
            labels = {"build": build.name, "calls": number, "seed": settings.seed, "how": how}
            if page.has(labels):
                continue
            begin = time.monotonic()
            done = _launch(build, settings.seed, number, how)
            found = re.search(r"grown (-?\d+) left (-?\d+)", done.stdout)
            sample = {
                "right": done.returncode == 0,
                "seconds": time.monotonic() - begin,
                "grown_bytes": int(found[1]) if found else None,
                "objects_left": int(found[2]) if found else None,
            }
            page.add(labels, {}, [sample])
            console.print(f"{build.name}, {how}: {'right' if sample['right'] else 'wrong'}")
            if not sample["right"]:
                failures.append(f"{build.name}, {how}: {done.stderr.strip()[-1000:]}")
    page.finish()
    if failures:
        raise UserError("\n".join(failures))


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns a row for each run."""
    table = Table(
        f"Calls of {ranks} ranks on one host, which pretend to be on several",
        ["build", "threads", "calls", "seed", "results", "time", "memory", "objects"],
    )
    for part in parts:
        labels = part.labels
        for sample in part.samples:
            grown, left = sample["grown_bytes"], sample["objects_left"]
            table.add(
                labels["build"], "3" if labels["how"] == "threads" else "1",
                str(labels["calls"]), str(labels["seed"]),
                "right" if sample["right"] else "wrong", time_to_text(sample["seconds"]),
                "-" if grown is None else _signed_size(grown), "-" if left is None else f"{left:+}",
            )  # fmt: skip
    table.notes.append(
        "A wrong result, a crash, more memory than 32 MiB, or 2,000 MPI objects that are left make "
        "a run wrong. Memory is what rank 0's process had in the end beyond what it had after the "
        "first fifth of the calls; objects is by how much the highest number of a new handle rose."
    )
    return [table]


def _signed_size(count: int) -> str:
    return ("-" if count < 0 else "+") + size_to_text(abs(count))


def _launch(build: Build, seed: int, calls: int, how: str) -> subprocess.CompletedProcess[str]:
    tests = repository / "tests" / "mpi"
    built = repository / "build" / "tests" / "mpi"
    program = built / f"random_collectives_{build.flavour}"
    if not program.exists():
        raise UserError(f"{program} isn't built: run ninja -C build tests/all")
    preload = ["--preload", str(paths.library(build.flavour))]
    if build.flavour == "mpich":
        preload += ["--preload", str(built / "libyield.so")]  # Ranks outnumber the cores.
    return subprocess.run(
        [sys.executable, str(tests / "launch.py"), build.flavour, *preload, "--ranks", str(ranks),
         "--", str(program), str(seed), str(calls), str(largest_bytes), how],
        env={**os.environ, "THALWEG_TEST_MPI": build.name}, check=False, text=True,
        capture_output=True,
    )  # fmt: skip
