"""The N-body example end to end, with the share of computation fixed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import report
from bench.builds import Build
from bench.report import Table, percent, seconds, times
from bench.samples import native, thalweg
from bench.session import LaunchFailedError, Planned, Session, most_launches, with_thalweg
from bench.settings import Settings
from bench.summary import ratio, summarise
from thalweg import paths
from thalweg.lab import counters, validity
from thalweg.lab.counters import Counters

compute_share = 0.2  # of the total under the library's own collectives
message = 1_000_000  # bytes of all bodies
steps = 6
times_faster = 1.3  # the bar
scenario_names = ("two-sites", "cloud")

Run = Mapping[str, Any]
"""What nbody --json writes."""


@dataclass(frozen=True)
class Result:
    """Runs of one build on one scenario, native and Thalweg in turn."""

    scenario: str
    build: Build
    planned: Planned
    bound: float | None  # of the broadcast
    runs: Mapping[str, Sequence[Run]]  # by variant


def run(settings: Settings) -> None:
    results = []
    for scenario in scenario_names:
        if scenario not in settings.scenarios:
            continue
        with Session(scenario, settings.dilation) as session:
            results += [measure(session, build, settings) for build in settings.debian_builds()]
    data = {"samples": [sample for result in results for sample in _raw(result)]}
    tables = [totals(results), breakdown(results)]
    report.finish(settings, "nbody", "N-body, end to end", tables, data)


def measure(session: Session, build: Build, settings: Settings) -> Result:
    """Finds the computation's time natively, then runs native and Thalweg in turn."""
    planned = session.plan(build)
    compute = compute_time(nbody(session, build, compute=0, steps=4))
    runs: dict[str, list[Run]] = {native: [], thalweg: []}
    for _ in range(settings.repetitions):
        runs[native].append(nbody(session, build, compute))
        runs[thalweg].append(nbody(session, build, compute, planned))
    return Result(session.name, build, planned, session.bound("bcast", message), runs)


def compute_time(trial: Run) -> float:
    """Seconds of computation per step that make up `compute_share` of a run like `trial`."""
    rest = trial["total"] - trial["computation"]
    return float(rest / trial["steps"] * compute_share / (1 - compute_share))


def nbody(
    session: Session,
    build: Build,
    compute: float,
    planned: Planned | None = None,
    steps: int = steps,
) -> Run:
    """One valid run; with Thalweg if it is planned for.

    Raises LaunchFailedError if none of `most_launches` is valid.
    """
    reasons: list[str] = []
    for _ in range(most_launches):
        before = counters.read(session.lab)
        result = _launch(session, build, compute, planned, steps)
        counted = counters.read(session.lab).since(before)
        reasons = _judge(session, result, counted)
        if not reasons:
            return result
    raise LaunchFailedError(f"N-body under {build.name} is invalid: {'; '.join(reasons)}")


def _launch(
    session: Session, build: Build, compute: float, planned: Planned | None, steps: int
) -> Run:
    file = session.folder / "nbody.json"
    file.unlink(missing_ok=True)
    program = [
        str(paths.binary(f"nbody-{build.flavour}")),
        "--message", str(message), "--steps", str(steps), "--compute-time", f"{compute:.6f}",
        "--dilation", f"{session.dilation:g}", "--json", str(file),
    ]  # fmt: skip
    session.run(build, program, with_thalweg(build, planned) if planned else {})
    result: Run = json.loads(file.read_text())
    return result


def _judge(session: Session, run: Run, counted: Counters) -> list[str]:
    """Why a run is invalid. A step gathers a message and broadcasts it."""
    others = session.ranks - 1
    least = run["steps"] * (run["message"] * others + run["message"] // session.ranks * others)
    bound = session.bound("bcast", run["message"]) or 0.0
    per_step = (run["total"] - run["computation"]) / run["steps"]
    verdict = validity.judge(session.scenario, counted, per_step, least, bound)
    return list(verdict.reasons)


def totals(results: Sequence[Result]) -> Table:
    """End to end, against the bar."""
    table = Table(
        "N-body, end to end",
        ["scenario", "build", "native", "Thalweg", "faster", "95 % interval", "bar", "met",
         "bcast of limit, native", "bcast of limit, Thalweg", "probing pays after"],
        notes=[
            f"{steps} steps, {message} bytes per broadcast; computation is fixed to "
            f"{percent(compute_share)} of the native total and the same with Thalweg.",
            "\"Probing pays after\" so many steps; a probed network is kept between runs.",
        ],
    )  # fmt: skip
    for result in results:
        ours, theirs = ([r["total"] for r in result.runs[v]] for v in (thalweg, native))
        faster = ratio(theirs, ours)
        met = "yes" if faster.value >= times_faster else "MISSED"
        saved = (summarise(theirs).median - summarise(ours).median) / steps
        overhead = result.planned.probe_seconds + result.planned.plan_seconds
        table.add(
            result.scenario, result.build.name, seconds(summarise(theirs).median),
            seconds(summarise(ours).median), times(faster.value),
            f"{faster.low:.2f} - {faster.high:.2f}", f">= {times_faster}x", met,
            *(_of_limit(result, variant) for variant in (native, thalweg)),
            f"{overhead / saved:.0f} steps" if saved > 0 else "never",
        )  # fmt: skip
    return table


def _of_limit(result: Result, variant: str) -> str:
    if result.bound is None:
        return "-"
    bcast = summarise([r["bcast"] / r["steps"] for r in result.runs[variant]]).median
    return percent(result.bound / bcast)


def breakdown(results: Sequence[Result]) -> Table:
    """Computation, communication and other overheads, as in figure 11 of the CMPI paper."""
    table = Table(
        "Where the time goes",
        ["scenario", "build", "variant", "computation", "gather", "bcast", "other in the program",
         "probing and planning"],
        notes=["Medians over runs; probing and planning are done once, before the first run."],
    )  # fmt: skip
    for result in results:
        for variant, runs in result.runs.items():
            parts = [
                seconds(summarise([max(r[part], 0) for r in runs]).median)
                for part in ("computation", "gather", "bcast", "other")
            ]
            overhead = result.planned.probe_seconds + result.planned.plan_seconds
            table.add(
                result.scenario, result.build.name, variant, *parts,
                seconds(overhead) if variant == thalweg else "-",
            )  # fmt: skip
    return table


def _raw(result: Result) -> list[dict[str, Any]]:
    labels = {"scenario": result.scenario, "build": result.build.name}
    return [
        {**labels, "variant": variant, **run}
        for variant, runs in result.runs.items()
        for run in runs
    ]
