"""Random collectives of all kinds against closed forms, with every build, for long.

It runs the stress program of the tests: forced algorithms at random, late ranks, ranks ahead, open
messages with wildcards, huge buffers, and memory and MPI objects that must not become more. Nine
tenths of the calls come from one thread, the others from three at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from bench.builds import Build
from bench.machine import repository
from bench.report import Table
from bench.settings import Settings
from thalweg import paths
from thalweg.errors import UserError
from thalweg.units import time_to_text

usual_calls = 1_000_000
ranks = 4
largest_bytes = 500


def run(settings: Settings) -> None:
    """Prints a row for each build. Raises UserError if any result was wrong."""
    calls = settings.calls or usual_calls
    table = Table(
        f"{calls} random collectives of {ranks} ranks, seed {settings.seed}",
        ["build", "result", "time"],
    )
    failures: list[str] = []
    for build in settings.builds:
        begin = time.monotonic()
        parts = [("stress", calls - calls // 10), ("threads", calls // 10)]
        wrong = [
            f"{build.name}, {how}: {done.stderr.strip()[-1000:]}"
            for how, number in parts
            if (done := _launch(build, settings.seed, number, how)).returncode
        ]
        failures += wrong
        result = "wrong" if wrong else "right"
        table.add(build.name, result, time_to_text(time.monotonic() - begin))
    table.print()
    if failures:
        raise UserError("\n".join(failures))


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
