"""What `thalweg run` adds to the start of a program: on hosts never seen, and on known ones.

A short program is started by the launcher alone and by `thalweg run`, in turn: with an empty cache
folder, then as another program with what is in that folder now, and once more, when there is a run
of it to go by. Each round is made in a lab at the scenario's dilation and in one at twice that: the
network's time is proportional to the dilation, and this machine's work is not. Rounds are parts, so
that more are added by `--repetitions` with `--resume`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from bench import sources, startup_page
from bench.builds import Build
from bench.page import Page, Record, failed_run
from bench.progress import Progress
from bench.report import Subject, console
from bench.session import LaunchFailedError, Session, launch_timeout
from bench.settings import Settings
from bench.startup_page import alone, known, recorded, unseen
from thalweg import paths, wisdom
from thalweg.lab import counters, launch, scenario, validity
from thalweg.lab.counters import Counters

scenarios = ("two-sites", "cloud", "three-sites", "grid")
subject = Subject(
    "startup",
    "What `thalweg run` adds to a program's start",
    (
        *sources.run_on_lab, *sources.started,
        "bench/startup.cpp", "bench/startup.py",
    ),
    ("scenario", "build", "dilation", "variant"),
)  # fmt: skip
TURNS = 3
"""How often each run is made in a lab."""
TURN_SECONDS = 7.0, 2.0
"""What a turn takes, about: this machine's seconds, and the network's, un-dilated."""
LAB_SECONDS = 12.0
"""What it takes to bring a lab up and down, about."""
LAST_WORDS = 10.0
"""Seconds for which standard error is read once the command has ended: others may hold it."""
asking = ("measuring the network", "using the network")
"""The beginnings of what `thalweg run` says before it measures or verifies the network."""
answered = "no run of"
"""The beginning of what it says next, of a program that it doesn't know."""
by_us = {unseen: "one", known: "another", recorded: "another"}
"""The runs by `thalweg run` in their order, each with its program's name: no run of `another` is
recorded when the hosts are known first."""
Wanted = tuple[str, float, int]
"""A lab to measure in: scenario, dilation and round."""


def run(settings: Settings) -> None:
    """Measures a round of both builds in labs of both dilations on each scenario."""
    page = Page(settings, subject, startup_page.contents)
    left = _what_is_left(settings, page)
    progress = Progress({_title(each): _estimate(each, len(left[each])) for each in left})
    for wanted, builds in left.items():
        name, dilation, at = wanted
        with progress.part(_title(wanted)), Session(name, dilation) as session:
            found: dict[str, list[Record]] = {build.name: [] for build in builds}
            for turn in range(TURNS):
                for build in builds if (at + turn) % 2 == 0 else reversed(builds):
                    found[build.name] += _turn(session, build, at + turn)
            for build in builds:
                if found[build.name]:
                    page.add(_labels(wanted, build), {}, found[build.name])
    page.finish()


def _what_is_left(settings: Settings, page: Page) -> dict[Wanted, list[Build]]:
    """Returns the builds that the page lacks, of each part that lacks any."""
    found = {}
    for at in range(settings.repetitions):
        for name in settings.scenarios:
            usual = settings.dilation or scenario.find(name).dilation
            for wanted in ((name, usual, at), (name, 2 * usual, at)):
                builds = settings.debian_builds()
                if missing := [each for each in builds if not page.has(_labels(wanted, each))]:
                    found[wanted] = missing
    return found


def _labels(wanted: Wanted, build: Build) -> Record:
    name, dilation, at = wanted
    return {"scenario": name, "build": build.name, "dilation": dilation, "round": at}


def _title(wanted: Wanted) -> str:
    name, dilation, at = wanted
    return f"{name}, time dilated {dilation:g} times, round {at + 1}"


def _estimate(wanted: Wanted, builds: int) -> float:
    machine, network = TURN_SECONDS
    return LAB_SECONDS + TURNS * builds * (machine + wanted[1] * network)


# Runs -------------------------------------------------------------------------------------------


def _turn(session: Session, build: Build, at: int) -> Iterator[Record]:
    """Makes each run once, in an order of which the launcher alone is the first or the last.

    The turn ends if `thalweg run` fails: then nothing is known of its hosts.
    """
    with tempfile.TemporaryDirectory(dir=session.folder, ignore_cleanup_errors=True) as folder:
        cache = Path(folder)
        for variant in (alone, *by_us) if at % 2 == 0 else (*by_us, alone):
            try:
                sample = _sample(session, build, _command(session, build, variant), cache)
            except LaunchFailedError as failure:
                console.print(f"[yellow]{build.name}, {variant}: {failure}[/yellow]")
                yield failed_run(variant, failure)
                return
            if variant == unseen:
                sample["planning"] = _planning(cache)
            console.print(
                f"{build.name}, {variant}: first statement after {sample['begun']:.2f} s, exit "
                f"after {sample['ended']:.2f} s"
            )
            yield {"variant": variant, **sample}


def _program(session: Session, build: Build, name: str) -> Path:
    """Returns a program of its own: `thalweg run` knows programs by their files."""
    copy = session.folder / f"{name}-{build.flavour}"
    if not copy.exists():
        shutil.copy2(paths.binary(f"thalweg-bench-startup-{build.flavour}"), copy)
    return copy


def _times(session: Session) -> Path:
    return session.folder / "startup.json"


def _command(session: Session, build: Build, variant: str) -> list[str]:
    program = _program(session, build, by_us.get(variant, "one"))
    words = [str(program), "--json", str(_times(session))]
    if variant == alone:
        return [str(build.launcher), "-n", str(session.ranks), *words]
    return [sys.executable, "-m", "thalweg", "run", "-n", str(session.ranks), "--", *words]


def _sample(session: Session, build: Build, command: Sequence[str], cache: Path) -> Record:
    """One run: seconds of this machine from its start, not un-dilated. Raises LaunchFailedError.

    All hosts of a lab share a clock with this process.
    """
    file = _times(session)
    file.unlink(missing_ok=True)
    environment = {
        **launch.environment(session.lab), **build.environment,
        "XDG_CACHE_HOME": str(cache), "THALWEG_WISDOM": str(_wisdom(cache)),
    }  # fmt: skip
    before = counters.read(session.lab)
    began = time.monotonic()
    status, said = _follow(
        launch.command(session.lab, session.lab.hosts[0], command), environment, launch_timeout
    )
    ended = time.monotonic()
    if status != 0 or not file.exists():
        last = " / ".join(text for _, text in said[-3:])
        raise LaunchFailedError(f"ended with status {status}: {last}")
    told = json.loads(file.read_text())
    begun = told["begun"] - began
    return {
        "begun": begun, "done": told["done"] - began, "ended": ended - began,
        "asked": _first(said, asking, began), "answered": _first(said, (answered,), began),
        "invalid": _invalid(session, before, begun), "said": [text for _, text in said],
    }  # fmt: skip


def _follow(
    command: Sequence[str], environment: Mapping[str, str], timeout: float
) -> tuple[int, list[tuple[float, str]]]:
    """Returns a command's exit status, and the lines of its standard error with the time of each.

    Raises LaunchFailedError if it takes too long.
    """
    said: list[tuple[float, str]] = []

    def read(errors: IO[str]) -> None:
        said.extend((time.monotonic(), line.strip()) for line in errors)

    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
    )  # fmt: skip
    assert process.stderr
    reader = threading.Thread(target=read, args=(process.stderr,), daemon=True)
    reader.start()
    try:
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise LaunchFailedError(f"it took longer than {timeout:g} s") from None
    reader.join(LAST_WORDS)
    return status, said


def _first(
    said: Sequence[tuple[float, str]], beginnings: tuple[str, ...], since: float
) -> float | None:
    """Returns when `thalweg run` first said something that begins so."""
    marks = tuple(f"thalweg: {beginning}" for beginning in beginnings)
    return next((at - since for at, text in said if text.startswith(marks)), None)


def _wisdom(cache: Path) -> Path:
    return cache / "thalweg" / "wisdom"


def _planning(cache: Path) -> float | None:
    """Returns the seconds for which a table was planned, as wisdom keeps them."""
    found = wisdom.load(_wisdom(cache)).items()
    return next((float(value) for key, value in found if key.startswith('{"planning"')), None)


def _invalid(session: Session, before: Counters, begun: float) -> list[str]:
    counted = counters.read(session.lab).since(before)
    verdict = validity.judge(session.scenario, counted, begun / session.dilation, 0)
    return list(verdict.reasons)
