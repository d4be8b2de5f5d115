"""What happens to a program when a rank or a plan fails: one case per call.

faults.py FLAVOUR CASE BUILD_FOLDER
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from behaviour import Case, adapts, native, planned, races, said
from launch import build, environment, launcher_environment, rank_process

RANKS = 3
SECONDS_STOPPED = 5
SECONDS_TO_NOTICE = 6  # until plans for a wrong network are suspected: usual times settle in 5
SECONDS_TO_END = 120  # A hang would last for ever; two busy processors make a run slow.


@dataclass(frozen=True)
class Program:
    """A program of planned calls that says when it has begun, and its settings."""

    name: str
    arguments: list[str]
    settings: dict[str, str] = field(default_factory=dict)


def random(calls: int) -> Program:
    return Program("random_collectives", ["3", str(calls), "500", "stress"])


def racing(case: Case, calls: int) -> Program:
    """Ranks agree every few calls."""
    return Program("racing", ["3", str(calls)], races(case))


def adapting(case: Case, seconds: int) -> Program:
    """Plans are for a wrong network, which the ranks notice, and are replaced."""
    return Program("adapting", [str(seconds)], adapts(case, RANKS))


@contextmanager
def running(case: Case, of: Program) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """Starts a program; its launcher and the process of rank 1."""
    name = f"{of.name}_{case.flavour}"
    begun = case.folder / "begun"
    begun.unlink(missing_ok=True)
    own = environment([case.library, *case.others], {"TEST_BEGUN": str(begun)} | of.settings)
    command = [str(case.program(name)), *of.arguments]
    process = subprocess.Popen(
        build(case.flavour).command((RANKS, own, command)),
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
    kill_one(case, random(10**8))


def killed_racing(case: Case) -> None:
    """The same while plans race, so that ranks wait for each other's agreement."""
    kill_one(case, racing(case, 10**8))


def killed_adapting(case: Case) -> None:
    """The same while plans are watched and perhaps replaced."""
    kill_one(case, adapting(case, 10**4), after=SECONDS_TO_NOTICE)


def kill_one(case: Case, program: Program, after: float = 0) -> None:
    with running(case, program) as (process, victim):
        time.sleep(after)
        assert process.poll() is None
        os.kill(victim, signal.SIGKILL)
        assert process.wait(timeout=SECONDS_TO_END) != 0


def stopped(case: Case) -> None:
    """A rank that stands still for a while only delays the others."""
    stop_one(case, random(10_000))


def stopped_racing(case: Case) -> None:
    """The same while plans race."""
    stop_one(case, racing(case, 10_000))


def stopped_adapting(case: Case) -> None:
    """The same while plans are watched; at least one attempt is made to replace some.

    On a busy machine there are few calls in a second, so that noticing takes longer.
    """
    path = case.folder / "summary.json"
    summary = {}
    for seconds in (SECONDS_TO_NOTICE, 3 * SECONDS_TO_NOTICE, 9 * SECONDS_TO_NOTICE):
        program = adapting(case, seconds + SECONDS_STOPPED + 4)
        program.settings["THALWEG_SUMMARY"] = str(path)
        stop_one(case, program, seconds)
        summary = json.loads(path.read_text())
        if summary.get("changes"):
            return
    raise AssertionError(summary)


def stop_one(case: Case, program: Program, after: float = 0) -> None:
    with running(case, program) as (process, victim):
        time.sleep(after)
        os.kill(victim, signal.SIGSTOP)
        time.sleep(SECONDS_STOPPED)
        assert process.poll() is None
        os.kill(victim, signal.SIGCONT)
        assert process.wait(timeout=SECONDS_TO_END) == 0


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


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[bool]:
    """Mounts a file system in memory; whether that is possible here."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "thalweg-test", str(folder)]
    possible = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    try:
        yield possible
    finally:
        if possible:
            subprocess.run(["umount", folder], check=True)


def fill(folder: Path) -> None:
    """Takes all space of a small file system that can be written."""
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(512))


def files(case: Case) -> None:
    """Where results can't be written the program ends well, and rank 0 says so once."""
    blocked = case.folder / "blocked"
    blocked.touch()
    for folder, reason, options in [
        (blocked, "Not a directory", ""),
        (case.folder / "full", "No space left on device", "size=8k"),
        (case.folder / "read-only", "Read-only file system", "ro"),
    ]:
        with mounted(folder, options) if options else nullcontext(True) as possible:
            if not possible:
                continue
            fill(folder)
            settings = {
                "THALWEG_TRACE": str(folder / "trace"),
                "THALWEG_SUMMARY": str(folder / "summary.json"),
            }
            stderr, _ = case.semantics("collectives", settings)
            lines = said(stderr)
            assert len(lines) == 2, stderr
            for line, variable in zip(lines, settings, strict=True):
                assert line.startswith(f"thalweg: {variable}: {folder}/"), line
                assert f": can't be written: {reason}; " in line, line
            left = {path.name for path in folder.glob("**/*") if path.is_file()}
            assert left <= {"filler"}, left


def one_rank(case: Case) -> None:
    """Rank 0 says what another rank can't write."""
    trace = case.folder / "trace"
    (trace / "rank-1.events").mkdir(parents=True)
    stderr, summary = case.semantics("calls")
    (line,) = said(stderr)
    assert line.startswith(f"thalweg: THALWEG_TRACE: {trace}/rank-1.events: can't be written: ")
    assert planned(summary)["bcast"] == 3, summary
    assert {path.name for path in trace.iterdir()} == {
        "rank-0.events", "rank-1.events", "rank-2.events", "summary.json"
    }  # fmt: skip


CASES: dict[str, Callable[[Case], None]] = {
    "killed": killed,
    "killed-racing": killed_racing,
    "killed-adapting": killed_adapting,
    "stopped": stopped,
    "stopped-racing": stopped_racing,
    "stopped-adapting": stopped_adapting,
    "plans": plans,
    "files": files,
    "one-rank": one_rank,
}


def main() -> int:
    flavour, name, build_folder = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        CASES[name](Case(flavour, Path(build_folder), Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
