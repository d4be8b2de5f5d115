"""A lab that is up for measuring, and its launches, probes and plans."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from bench import machine
from bench.builds import Build
from bench.measurement import Measurement, judge_by_itself
from bench.progress import duration
from bench.report import console
from bench.samples import Cell, Sample, read
from bench.settings import budget
from thalweg import bounds, paths
from thalweg.algorithms import Problem
from thalweg.collective import Collective, parse_kind
from thalweg.console import progress
from thalweg.errors import UserError
from thalweg.lab import launch, lifecycle, scenario, validity
from thalweg.lab.control import Control
from thalweg.lab.state import Lab

most_launches = 3  # of one set of cells: the first, and twice what was invalid or failed
launch_timeout = 900.0  # seconds
seconds_between_lines = 120.0  # that say how far a launch is
added_budget = 5.0  # of one that only adds an MPI library to a network


class LaunchFailedError(Exception):
    """A program did not run to its end; the message says why."""


@dataclass(frozen=True)
class Planned:
    """The input of a run with Thalweg: the probed network and its plan file."""

    network: Path
    plan: Path
    probe_seconds: float  # un-dilated
    plan_seconds: float


def with_thalweg(build: Build, plan: Path) -> dict[str, str]:
    """The environment of ranks that run with Thalweg and a plan file."""
    return {
        "LD_PRELOAD": str(paths.library(build.flavour)),
        "THALWEG_PLAN": str(plan),
    }


def physical_limit(
    of: scenario.Scenario, collective: str, size: int, root: int = 0
) -> float | None:
    """The bound on a scenario's network in seconds; None if none is known."""
    ranks = len(of.hosts)
    wanted = Collective(parse_kind(collective), ranks, root, size)
    try:
        return bounds.bound(Problem(wanted, of.network, range(ranks))).time
    except UserError:
        return None


def least_traffic(cell: Cell, ranks: int) -> int:
    """Returns the bytes that must cross the network, one rank per host.

    An element of an allreduce takes 2 (ranks - 1) messages whatever the algorithm; one of a
    reduce_scatter as many as one of a reduce.
    """
    messages = {
        "bcast": ranks - 1,
        "reduce": ranks - 1,
        "allreduce": 2 * (ranks - 1),
        "gather": ranks - 1,
        "scatter": ranks - 1,
        "allgather": ranks * (ranks - 1),
        "alltoall": ranks * (ranks - 1),
        "reduce_scatter": ranks * (ranks - 1),
        "scan": ranks - 1,
        "exscan": ranks - 1,
        "barrier": 0,
    }
    return messages[cell.collective] * cell.size


class Session:
    """Context manager: brings a lab up, takes it down. One at a time."""

    lab: Lab

    def __init__(
        self, name: str | scenario.Scenario, dilation: float | None = None, slots: int = 1
    ) -> None:
        """`slots`: ranks on each host, one after the other."""
        self.scenario = scenario.find(name) if isinstance(name, str) else name
        self.name = self.scenario.name
        self.dilation = dilation or self.scenario.dilation
        self.slots = slots
        self.ranks = slots * len(self.scenario.hosts)
        self.folder = _scratch_folder()
        self._launches = 0
        self._bounds: dict[tuple[str, int, int], float | None] = {}

    def __enter__(self) -> Self:
        console.print(f"[bold]lab {self.name}[/bold], time dilated {self.dilation:g} times")
        self.lab = lifecycle.up(self.scenario, self.dilation)
        if self.slots > 1:
            launch.write_host_files(self.lab.folder, self.lab.hosts, self.slots)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        lifecycle.down()

    def advance(self, now: scenario.Scenario) -> None:
        """Moves the lab's timeline to its next change, after which its network is that of `now`,
        and waits until all hosts have made it.

        Raises UserError if there is none.
        """
        with Control(self.lab.folder) as control:
            control.advance()
        self.scenario = now
        self._bounds.clear()

    def bound(self, collective: str, size: int, root: int = 0) -> float | None:
        """The physical limit on the scenario's network in seconds, or None if none is known."""
        key = (collective, size, root)
        if key not in self._bounds:
            self._bounds[key] = physical_limit(self.scenario, *key)
        return self._bounds[key]

    def plan(self, build: Build, budget: float = budget) -> Planned:
        """Probes the lab's network through the build's own launcher, and plans for it.

        `budget` is the probe's, in un-dilated seconds. The second build of a flavour, and the other
        flavour, only add to what the first measured.
        """
        net = self.folder / "network.json"
        if net.exists():
            probe_seconds = self.probe(build, net, added_budget, ["--base", str(net)])
        else:
            probe_seconds = self.probe(build, net, budget)
        return replace(self.plan_for(build, net), probe_seconds=probe_seconds)

    def plan_for(self, build: Build, net: Path) -> Planned:
        """Plans for a network file, whether it is the lab's or not."""
        plan = net.with_name(f"{net.stem}-{build.name}.plan")
        began = time.monotonic()
        self._thalweg(
            ["plan", str(net), "-n", str(self.ranks), "--mpi", build.flavour, "-o", str(plan)]
        )
        return Planned(net, plan, 0.0, time.monotonic() - began)

    def plan_at_first_start(self, build: Build) -> Planned:
        """Returns what a `thalweg run` on hosts that were never seen measures and plans, by such a
        run. How long either takes isn't told."""
        cache = Path(tempfile.mkdtemp(dir=self.folder))
        program = str(paths.binary(f"thalweg-bench-startup-{build.flavour}"))
        self._thalweg(
            ["run", "--launcher", str(build.launcher), "--no-placement", "--no-record",
             "-n", str(self.ranks), "--", program, "--json", str(cache / "startup.json")],
            {
                **launch.environment(self.lab), **build.environment,
                "XDG_CACHE_HOME": str(cache), "THALWEG_WISDOM": str(cache / "wisdom"),
            },
        )  # fmt: skip
        network, plan = (next(cache.rglob(at)) for at in ("networks/*.json", "plans/*.plan"))
        return Planned(network, plan, 0.0, 0.0)

    def probe(
        self, build: Build, output: Path, budget: float | None, options: Sequence[str] = ()
    ) -> float:
        """Probes the lab's network through the build's own launcher.

        `budget` and what is returned, the time it took, are un-dilated seconds. Without a budget
        the probe takes as long as users' do.
        """
        limit = [] if budget is None else ["--budget", f"{budget:g}s"]
        arguments = ["--launcher", str(build.launcher), *limit, *options]
        began = time.monotonic()
        self._thalweg(["probe", *arguments, "-o", str(output)], launch.environment(self.lab))
        return (time.monotonic() - began) / self.dilation

    def measure(
        self,
        build: Build,
        cells: Sequence[Cell],
        repetitions: int,
        environment: Mapping[str, str] | None = None,
        seed: int = 1,
        timeout: float = launch_timeout,
        warm_ups: int = 1,
        calls: int = 1,
    ) -> Measurement:
        """Measures cells interleaved in one launch; repeats invalid ones, within limits.

        `environment` is that of the ranks: with_thalweg(), or nothing for the library alone.
        `timeout` is a launch's, in seconds of this machine. The first `warm_ups` repetitions of
        each launch don't count. A repetition is so many `calls` in a row; its time is one's.
        """
        measurement = Measurement(dict.fromkeys(cells, repetitions))
        for attempt in range(most_launches):
            missing = [cell for cell in cells if not measurement.complete(cell)]
            if not missing:
                break
            output = self._output()
            try:
                counts = (warm_ups, repetitions, calls)
                self._launch(build, missing, counts, environment, seed + attempt, timeout, output)
            except LaunchFailedError as failure:
                measurement.failed_launches.append(str(failure))
                console.print(f"[yellow]{build.name}: {failure}[/yellow]")
            measurement.add(_samples(output), self.judge)
        return measurement

    def judge(self, sample: Sample) -> list[str]:
        """Why a sample is invalid; empty if it is valid."""
        cell = sample.cell
        bound = self.bound(cell.collective, cell.size, cell.root)
        if sample.counted is None:
            return ["the switch's counters are missing"]
        verdict = validity.judge(
            self.scenario,
            sample.counted,
            sample.time * sample.calls,
            least_traffic(cell, self.ranks) * sample.calls,
            bound or 0.0,
        )
        return [*judge_by_itself(sample), *verdict.reasons]

    def run(
        self,
        build: Build,
        program: Sequence[str],
        environment: Mapping[str, str] | None = None,
        timeout: float = launch_timeout,
        options: Sequence[str] = (),
    ) -> str:
        """Runs a program on all hosts, `slots` ranks each; returns what it prints and complains of.

        `options`: the launcher's own, besides. Raises LaunchFailedError.
        """
        # Through env, since launchers differ in how they pass variables on.
        inside = launch.environment(self.lab)
        variables = {**build.environment, **(environment or {})}
        if preloaded := variables.get("LD_PRELOAD"):
            variables["LD_PRELOAD"] = f"{preloaded}:{inside['LD_PRELOAD']}"
        settings = [f"{name}={value}" for name, value in variables.items()]
        called = Path(program[0]).name
        command = [str(build.launcher), *options, "-n", str(self.ranks), "env", *settings, *program]
        try:
            result = launch.run(self.lab, self.lab.hosts[0], command, inside, timeout)
        except subprocess.TimeoutExpired:
            raise LaunchFailedError(f"{called} took longer than {timeout:g} s") from None
        if result.returncode != 0:
            said = " / ".join(_reason(result.stderr))
            raise LaunchFailedError(f"{called} ended with status {result.returncode}: {said}")
        return result.stdout + result.stderr

    def _thalweg(self, arguments: Sequence[str], inside: Mapping[str, str] | None = None) -> None:
        """Runs a command of Thalweg, inside the lab if its environment is given."""
        command = [sys.executable, "-m", "thalweg", *arguments]
        console.print(f"[dim]thalweg {' '.join(arguments)}[/dim]")
        if inside is None:
            subprocess.run(command, check=True)
        else:
            line = launch.command(self.lab, self.lab.hosts[0], command)
            subprocess.run(line, env={**os.environ, **inside}, check=True)

    def _launch(
        self,
        build: Build,
        cells: Sequence[Cell],
        counts: tuple[int, int, int],
        environment: Mapping[str, str] | None,
        seed: int,
        timeout: float,
        output: Path,
    ) -> None:
        """Measures cells; `counts`: warm-ups, repetitions, and calls of each."""
        warm_ups, repetitions, calls = counts
        program = [str(paths.binary(f"thalweg-bench-{build.flavour}"))]
        for cell in cells:
            program += ["--cell", cell.argument()]
        program += ["--warm-ups", str(warm_ups), "--repetitions", str(repetitions)]
        program += ["--calls", str(calls), "--seed", str(seed)]
        program += ["--dilation", f"{self.dilation:g}", "--output", str(output)]
        with _Watch(output, len(cells) * (repetitions + warm_ups), f"{self.name}, {build.name}"):
            self.run(build, program, environment, timeout)

    def _output(self) -> Path:
        """Returns a file for a launch to write."""
        self._launches += 1
        return self.folder / f"launch-{self._launches}.jsonl"


def _reason(errors: str) -> list[str]:
    """Returns the lines of the programs themselves, else the launcher's last ones."""
    lines = errors.strip().splitlines()
    return [line for line in lines if line.startswith("thalweg-bench: ")][:1] or lines[-3:]


def _samples(output: Path) -> list[Sample]:
    """Returns what a launch has measured, even if it failed after that."""
    with contextlib.suppress(FileNotFoundError, ValueError):  # before its first measurement
        return read(output).samples
    return []


def _scratch_folder() -> Path:
    """Makes a folder beside the sources: hosts of a lab have temporary folders of their own."""
    parent = machine.repository / ".cache" / "bench"
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=parent))


class _Watch:
    """Shows how many lines of a launch's output are there, while the block runs."""

    def __init__(self, output: Path, total: int, description: str) -> None:
        self._output, self._total, self._description = output, total, description
        self._progress = progress(description, total)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> None:
        self._meter = self._progress.__enter__()
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._progress.__exit__(kind, error, trace)

    def _follow(self) -> None:
        began = said = time.monotonic()
        while not self._ended.wait(0.5):
            done = self._output.read_bytes().count(b"\n") - 1 if self._output.exists() else 0
            self._meter.update(done, self._total)
            now = time.monotonic()
            # A bar is only shown on a terminal.
            if done > 0 and not console.is_terminal and now - said > seconds_between_lines:
                left = duration((now - began) * (self._total - done) / done)
                console.print(f"{self._description}: {done} of {self._total} made; {left} left")
                said = now
