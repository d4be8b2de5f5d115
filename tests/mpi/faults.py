"""What happens to a program when a rank or a plan fails: one case per call.

faults.py FLAVOUR CASE BUILD_FOLDER
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from behaviour import Case, native, said
from launch import build, environment, launcher_environment, rank_process

RANKS = 3
SECONDS_STOPPED = 5
SECONDS_TO_END = 60  # A hang would last for ever.


@contextmanager
def running(case: Case, calls: int) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """Starts random planned collectives; their launcher and the process of rank 1 among them."""
    name = f"random_collectives_{case.flavour}"
    begun = case.folder / "begun"
    own = environment([case.library, *case.others], {"TEST_BEGUN": str(begun)})
    program = [str(case.program(name)), "3", str(calls), "500", "stress"]
    process = subprocess.Popen(
        build(case.flavour).command((RANKS, own, program)),
        env=launcher_environment(case.flavour), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while not begun.exists() and process.poll() is None:
            time.sleep(0.01)
        yield process, rank_process(process.pid, 1, name)
    finally:
        process.terminate()  # which ends the ranks, too
        process.wait()


def killed(case: Case) -> None:
    """The job ends with an error, as without the runtime."""
    with running(case, 10**8) as (process, victim):
        os.kill(victim, signal.SIGKILL)
        assert process.wait(timeout=SECONDS_TO_END) != 0


def stopped(case: Case) -> None:
    """A rank that stands still for a while only delays the others."""
    with running(case, 10_000) as (process, victim):
        os.kill(victim, signal.SIGSTOP)
        time.sleep(SECONDS_STOPPED)
        assert process.poll() is None
        os.kill(victim, signal.SIGCONT)
        assert process.wait() == 0


def plans(case: Case) -> None:
    """A plan file that is cut off, altered or of another version is refused in one line."""
    whole = case.folder / "whole.plan"
    subprocess.run([case.program("make_plan"), str(RANKS), whole], check=True)
    good = whole.read_bytes()
    bad = case.folder / "bad.plan"
    for content in [
        b"",
        *(good[:length] for length in (1, 7, len(good) // 2, len(good) - 1)),
        good + b"x",
        *(bytes([*good[:at], good[at] ^ 0xFF, *good[at + 1 :]]) for at in range(0, 12, 2)),
    ]:
        bad.write_bytes(content)
        settings = {"THALWEG_FORCE": "", "THALWEG_PLAN": str(bad)}
        stderr, summary = case.semantics("calls", settings)
        assert len(said(stderr)) == 1 and str(bad) in stderr, stderr
        assert native(summary, "allreduce") == {"no-plan": 2}, summary


CASES: dict[str, Callable[[Case], None]] = {"killed": killed, "stopped": stopped, "plans": plans}


def main() -> int:
    flavour, name, build_folder = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        CASES[name](Case(flavour, Path(build_folder), Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
