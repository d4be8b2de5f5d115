"""The examples, end to end: native and Thalweg in turn, with the share of computation fixed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.builds import Build
from bench.page import Record, failed_run, valid_runs
from bench.report import console
from bench.samples import native, thalweg
from bench.session import (
    LaunchFailedError,
    Planned,
    Session,
    launch_timeout,
    most_launches,
    with_thalweg,
)
from thalweg import paths
from thalweg.lab import counters, validity
from thalweg.lab.counters import Counters

Run = Mapping[str, Any]
"""The output of an example's --json."""


@dataclass(frozen=True)
class Program:
    """An example that gathers a message on one rank and broadcasts it, again and again."""

    name: str
    rounds: str  # how often, as its JSON has it
    arguments: tuple[str, ...]
    message: int  # bytes, about: a CG's vector is rounded up to whole rows per rank
    compute_share: float  # of the total under the library's own collectives

    def rounds_of(self, run: Run) -> int:
        return int(run[self.rounds])


def nbody(message: int, steps: int) -> Program:
    """The N-body example, whose communication has the share that the CMPI paper implies: it saves
    33.2 % of communication's time and with that 14.3 % of the whole (section 5.4)."""
    arguments = ("--message", str(message), "--steps", str(steps))
    return Program("nbody", "steps", arguments, message, compute_share=1 - 0.143 / 0.332)


def cg(message: int) -> Program:
    """Conjugate gradients until they converge; communication is 90 % as in the CMPI paper."""
    return Program("cg", "iterations", ("--size", str(message // 8)), message, compute_share=0.1)


@dataclass(frozen=True)
class Result:
    """Runs of one build, its variants in turn."""

    scenario: str
    build: str
    bound: float | None  # of one broadcast
    overhead: float  # un-dilated seconds of probing and planning
    runs: Mapping[str, Sequence[Run]]  # by variant
    probe: float | None = None  # of the overhead, what probing took; None: not kept
    failed: Sequence[Run] = ()  # runs none of whose launches became valid

    def samples(self) -> list[Record]:
        """Returns all runs as a page keeps them."""
        runs = [{"variant": name, **run} for name, runs in self.runs.items() for run in runs]
        return [*runs, *map(dict, self.failed)]


def runs_of(samples: Sequence[Record]) -> dict[str, Any]:
    """Returns what samples() was made from, by the names of Result."""
    names = dict.fromkeys(sample["variant"] for sample in samples)
    runs = {name: valid_runs(samples, name) for name in names}
    return {"runs": runs, "failed": [sample for sample in samples if sample.get("invalid")]}


def measure(
    session: Session,
    build: Build,
    program: Program,
    planned: Planned,
    repetitions: int,
    trial: Program | None = None,
    forced: Mapping[str, str] | None = None,
) -> Result:
    """Finds the computation's time natively, by a shorter `trial` if given; then runs both.

    `forced`: what else is run, by variant, with what THALWEG_FORCE is then. Raises
    LaunchFailedError if no run of a variant is valid.
    """
    compute = compute_time(execute(session, build, trial or program), program)
    ours = {variant: (planned, force) for variant, force in (forced or {}).items()}
    variants = {native: (None, ""), thalweg: (planned, ""), **ours}
    runs: dict[str, list[Run]] = {variant: [] for variant in variants}
    failed = []
    for _ in range(repetitions):
        for variant, (plans, force) in variants.items():
            try:
                runs[variant].append(execute(session, build, program, compute, plans, force))
            except LaunchFailedError as failure:
                console.print(f"[yellow]{variant}: {failure}[/yellow]")
                failed.append(failed_run(variant, failure))
    if lacking := [variant for variant, found in runs.items() if not found]:
        raise LaunchFailedError(f"{program.name} under {build.name}: no valid run, {lacking}")
    return Result(
        session.name, build.name, session.bound("bcast", program.message),
        planned.probe_seconds + planned.plan_seconds, runs, planned.probe_seconds, failed,
    )  # fmt: skip


def compute_time(trial: Run, program: Program) -> float:
    """Seconds of computation per round that make up the program's share of a run like `trial`."""
    rest = trial["total"] - trial["computation"]
    share = program.compute_share
    return float(rest / program.rounds_of(trial) * share / (1 - share))


def execute(
    session: Session,
    build: Build,
    program: Program,
    compute: float = 0.0,
    planned: Planned | None = None,
    force: str = "",
) -> Run:
    """One valid run; with Thalweg if it is planned for, and what `force` says in place of plans.

    Raises LaunchFailedError if none of `most_launches` is valid.
    """
    reasons: list[str] = []
    for _ in range(most_launches):
        before = counters.read(session.lab)
        result = _launch(session, build, program, compute, planned, force)
        counted = counters.read(session.lab).since(before)
        reasons = _judge(session, program, result, counted)
        if not reasons:
            return result
    raise LaunchFailedError(f"{program.name} under {build.name} is invalid: {'; '.join(reasons)}")


def _launch(
    session: Session,
    build: Build,
    program: Program,
    compute: float,
    planned: Planned | None,
    force: str,
) -> Run:
    file = session.folder / f"{program.name}.json"
    file.unlink(missing_ok=True)
    command = [
        str(paths.binary(f"{program.name}-{build.flavour}")), *program.arguments,
        "--compute-time", f"{compute:.6f}", "--dilation", f"{session.dilation:g}",
        "--json", str(file),
    ]  # fmt: skip
    environment = with_thalweg(build, planned.plan) if planned else {}
    if force:
        environment["THALWEG_FORCE"] = force
    session.run(build, command, environment, timeout=4 * launch_timeout)
    result: Run = json.loads(file.read_text())
    return result


def _judge(session: Session, program: Program, run: Run, counted: Counters) -> list[str]:
    """Says why a run is invalid. A round gathers a message and broadcasts it.

    What is reported is the whole run, so that is what a late frame must not disturb.
    """
    others, rounds = session.ranks - 1, program.rounds_of(run)
    least = rounds * (run["message"] * others + run["message"] // session.ranks * others)
    bound = rounds * (session.bound("bcast", run["message"]) or 0.0)
    communication = run["total"] - run["computation"]
    hops = rounds * others
    verdict = validity.judge(session.scenario, counted, communication, least, bound, hops)
    return list(verdict.reasons)
