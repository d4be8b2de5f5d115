"""The causes of the distance between Thalweg's time and the bound, from the runtime's events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bench import headline, report, sources
from bench.builds import Build
from bench.report import Subject, Table, percent, seconds
from bench.samples import Cell, Sample, thalweg
from bench.session import Session, with_thalweg
from bench.settings import Settings
from bench.versus import Case
from thalweg import runs
from thalweg.analysis import paths
from thalweg.analysis.paths import CAUSES
from thalweg.network import write

subject = Subject(
    "distance",
    "Where the distance to the bound goes",
    sources.run_on_lab,
    ("scenario", "build", "collective", "size"),
)
traced_repetitions = 3  # the ring keeps some thousand events per rank


@dataclass(frozen=True)
class Result:
    """The critical path of the median repetition."""

    scenario: str
    build: Build
    cell: Cell
    bound: float | None
    sample: Sample
    path: pl.DataFrame
    """Hops in the order of time: sender, receiver, and un-dilated seconds by cause."""


def run(settings: Settings) -> None:
    results: list[Result] = []
    for case in headline.cases:
        if case.scenario not in settings.scenarios:
            continue
        with Session(case.scenario, settings.dilation) as session:
            for build in settings.debian_builds():
                results += measure(session, build, case, settings)
    tables = [totals(results), *(hops(result) for result in results)]
    data = {"samples": [record(result) for result in results]}
    report.finish(settings, subject, tables, data)


def measure(session: Session, build: Build, case: Case, settings: Settings) -> list[Result]:
    """Measures by one traced launch per collective, so that the ring holds all of it."""
    planned = session.plan(build)
    results = []
    for collective in case.bars:
        cell = Cell(collective, case.size, 0, thalweg)
        folder = session.folder / f"trace-{build.name}-{collective}"
        environment = {**with_thalweg(build, planned.plan), "THALWEG_TRACE": str(folder)}
        measured = session.measure(build, [cell], traced_repetitions, environment, settings.seed)
        valid = sorted(measured.valid.get(cell, []), key=lambda sample: sample.time)
        if not valid:
            report.console.print(f"[red]{build.name} {collective}: {measured.reasons(cell)}")
            continue
        sample = valid[len(valid) // 2]
        path = path_of(folder, sample, session)
        bound = session.bound(collective, case.size)
        results.append(Result(session.name, build, cell, bound, sample, path))
    return results


def path_of(folder: Path, sample: Sample, session: Session) -> pl.DataFrame:
    """Returns the critical path of a sample, from the traces of its launch."""
    network = folder / "network.json"
    write(session.scenario.network, network)
    run = runs.read(folder, network)
    start = sample.raw["start_ns"] / session.dilation
    shapes = run.shapes().filter(
        (pl.col("kind") == sample.cell.collective) & (pl.col("begin") >= start)
    )
    if shapes.is_empty():
        raise ValueError(f"{folder}: no call was recorded for the sample")
    call = shapes.sort("begin").row(0, named=True)["call"]
    return (
        paths.critical_paths(run)
        .filter(pl.col("call") == call)
        .sort("hop", descending=True)
        .select("sender", "receiver", *(pl.col(name) * 1e-9 for name in CAUSES))
    )


def totals(results: Sequence[Result]) -> Table:
    """Tables the share of the time by cause."""
    table = Table(
        "The critical path by cause",
        ["scenario", "build", "collective", "bytes", "time", "bound", "of limit", *CAUSES],
        notes=[
            "One repetition each, that of median time among the traced ones. The path goes back "
            "from the last exit: each stretch is what the next one waited for, so they add up.",
            "The causes are those of thalweg analyse (docs/guide.md), held against the scenario.",
        ],
    )
    for r in results:
        parts = {cause: float(r.path[cause].sum()) for cause in CAUSES}
        limit = (
            ["-", "-"] if r.bound is None else [seconds(r.bound), percent(r.bound / r.sample.time)]
        )
        table.add(
            r.scenario, r.build.name, r.cell.collective, r.cell.size,
            seconds(r.sample.time), *limit,
            *(f"{seconds(parts[c])} ({percent(parts[c] / r.sample.time)})" for c in CAUSES),
        )  # fmt: skip
    return table


def hops(result: Result) -> Table:
    """Tables the path in the order of time."""
    cell = result.cell
    table = Table(
        f"{result.scenario}, {result.build.name}, {cell.collective} of {cell.size} bytes",
        ["from", "to", *CAUSES],
    )
    for row in result.path.iter_rows(named=True):
        to = "itself" if row["sender"] == row["receiver"] else row["receiver"]
        table.add(
            row["sender"], to, *(seconds(row[c]) if row[c] > 0 else "-" for c in CAUSES)
        )  # fmt: skip
    return table


def record(result: Result) -> dict[str, Any]:
    """Returns the path as kept in the raw file."""
    return {
        "scenario": result.scenario,
        "build": result.build.name,
        "collective": result.cell.collective,
        "size": result.cell.size,
        "time": result.sample.time,
        "bound": result.bound,
        "path": result.path.to_dicts(),
    }
