"""The causes of the distance between Thalweg's time and the bound, from the runtime's events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import headline, report, sources
from bench.builds import Build
from bench.critical_path import Cause, Link, Links, Stretch, Transfer, by_hop, causes, critical_path
from bench.report import Subject, Table, percent, seconds
from bench.samples import Cell, Sample, thalweg
from bench.session import Session, with_thalweg
from bench.settings import Settings
from bench.versus import Case
from thalweg import events
from thalweg.lab.scenario import Scenario

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
    path: Sequence[Stretch]  # seconds, un-dilated


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
    """One traced launch per collective, so that the ring holds all of it."""
    planned = session.plan(build)
    results = []
    for collective in case.bars:
        cell = Cell(collective, case.size, 0, thalweg)
        folder = session.folder / f"trace-{build.name}-{collective}"
        environment = {**with_thalweg(build, planned), "THALWEG_TRACE": str(folder)}
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


def path_of(folder: Path, sample: Sample, session: Session) -> list[Stretch]:
    """Returns the critical path of a sample, from the traces of its launch."""
    start, scale = sample.raw["start_ns"], 1e-9 / session.dilation
    entries, exits = sample.raw["entries"], sample.raw["exits"]
    is_bcast = sample.cell.collective == "bcast"
    begin = entries[sample.cell.root] if is_bcast else max(entries)
    last = int(np.argmax(exits))
    transfers = []
    for rank in range(session.ranks):
        trace = events.read(folder / f"rank-{rank}.events")
        calls = trace.calls[trace.calls["enter_ns"] >= start]
        if not len(calls):
            raise ValueError(f"{folder}: rank {rank} recorded no call for the sample")
        call = calls[np.argmin(calls["enter_ns"])]
        own = trace.transfers[trace.transfers["call"] == call["call"]]
        transfers += [_transfer(rank, row, start, scale) for row in own if row["direction"] < 2]
    return critical_path(transfers, begin, last, exits[last], links(session.scenario))


def _transfer(rank: int, row: Any, start: int, scale: float) -> Transfer:
    return Transfer(
        rank,
        int(row["peer"]),
        int(row["direction"]) == 0,
        int(row["step"]),
        int(row["segment"]),
        int(row["size"]),
        (int(row["posted_ns"]) - start) * scale,
        (int(row["done_ns"]) - start) * scale,
    )


def links(of: Scenario) -> Links:
    """Returns the limits of a single transfer in the scenario, one rank per host."""

    def link(sender: int, receiver: int) -> Link:
        return Link(of.latency(sender, receiver), of.pair_rate(sender, receiver))

    return link


def totals(results: Sequence[Result]) -> Table:
    """Tables the share of the time by cause."""
    table = Table(
        "The critical path by cause",
        ["scenario", "build", "collective", "bytes", "time", "bound", "of limit", *causes],
        notes=[
            "One repetition each, that of median time among the traced ones. The path goes back "
            "from the last exit: each stretch is what the next one waited for, so they add up.",
            "wire: bytes / rate of the link; latency: paid where a transfer doesn't follow another "
            "on its link; below the link's rate: what transfers took beyond that; rank: between "
            "what a rank waited for and its next post.",
        ],
    )
    for r in results:
        parts = {c: sum(s.length for s in r.path if s.cause == c) for c in causes}
        limit = (
            ["-", "-"] if r.bound is None else [seconds(r.bound), percent(r.bound / r.sample.time)]
        )
        table.add(
            r.scenario, r.build.name, r.cell.collective, r.cell.size,
            seconds(r.sample.time), *limit,
            *(f"{seconds(parts[c])} ({percent(parts[c] / r.sample.time)})" for c in causes),
        )  # fmt: skip
    return table


def hops(result: Result) -> Table:
    """Tables the path in the order of time."""
    cell = result.cell
    table = Table(
        f"{result.scenario}, {result.build.name}, {cell.collective} of {cell.size} bytes",
        ["from", "to", *causes],
    )
    for (sender, receiver), parts in by_hop(result.path).items():
        to = "itself" if sender == receiver else receiver
        table.add(sender, to, *(_part(parts, cause) for cause in causes))
    return table


def _part(parts: dict[Cause, float], cause: Cause) -> str:
    return seconds(parts[cause]) if parts[cause] > 0 else "-"


def record(result: Result) -> dict[str, Any]:
    """Returns the path as kept in the raw file."""
    return {
        "scenario": result.scenario,
        "build": result.build.name,
        "collective": result.cell.collective,
        "size": result.cell.size,
        "time": result.sample.time,
        "bound": result.bound,
        "path": [[s.sender, s.receiver, s.cause, s.begin, s.end] for s in result.path],
    }
