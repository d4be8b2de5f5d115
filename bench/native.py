"""Times of the MPI libraries' own collectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench import report, sources
from bench.bars import dilation_disagrees
from bench.builds import Build
from bench.measurement import OnScenario
from bench.report import Subject, Table, percent, seconds
from bench.samples import Cell, native
from bench.session import Session
from bench.settings import Settings

subject = Subject(
    "native",
    "The MPI libraries' own collectives",
    sources.lab,
    ("scenario", "build", "dilation", "collective", "size"),
)
collectives = ("bcast", "reduce", "allreduce", "gather", "allgather")
sizes = (64_000, 1_000_000)
large = 8_000_000  # in headline cells only
headline = {
    "two-sites": [("bcast", large), ("allreduce", large)],
    "cloud": [("bcast", 1_000_000)],
}


@dataclass(frozen=True)
class Result(OnScenario):
    """One build on one scenario."""

    bounds: dict[Cell, float | None]


def run(settings: Settings) -> None:
    results, again = [], []
    for scenario in settings.scenarios:
        with Session(scenario, settings.dilation) as session:
            cells = all_cells(session.ranks, scenario, settings.sizes)
            results += [_measure(session, build, cells, settings) for build in settings.builds]
            double = 2 * session.dilation
        cells = [cell for cell in headline_cells(scenario) if cell in cells]
        if cells:
            with Session(scenario, double) as session:
                fewer = settings.at_twice_the_dilation()
                again += [_measure(session, build, cells, fewer) for build in settings.builds]
    tables = [_times(results), _dilation(results, again)]
    data = {"samples": [s for r in [*results, *again] for s in r.raw()]}
    report.finish(settings, subject, tables, data)


def all_cells(ranks: int, scenario: str, only: Sequence[int] = ()) -> list[Cell]:
    """Returns all cells; the size of a gather or allgather is that of the whole result."""
    cells = [cell(c, size, ranks) for size in only or sizes for c in collectives]
    return cells + [c for c in headline_cells(scenario) if c not in cells and not only]


def cell(collective: str, size: int, ranks: int) -> Cell:
    block = size // ranks if "gather" in collective else size
    return Cell(collective, block, 0, native)


def headline_cells(scenario: str) -> list[Cell]:
    """The cells whose times must not depend on the dilation."""
    return [Cell(c, size, 0, native) for c, size in headline.get(scenario, [])]


def _measure(session: Session, build: Build, cells: list[Cell], settings: Settings) -> Result:
    measurement = session.measure(build, cells, settings.repetitions, seed=settings.seed)
    bounds = {c: session.bound(c.collective, c.size, c.root) for c in cells}
    return Result(session.name, build, session.dilation, measurement, bounds)


def _times(results: list[Result]) -> Table:
    table = Table(
        "Native times",
        ["scenario", "build", "collective", "bytes", "median", "quartiles", "bound", "of limit"],
        notes=["Bytes of a gather or allgather are those of one rank's block."],
    )
    for result in results:
        for cell, bound in result.bounds.items():
            summary = result.measurement.summary(cell)
            label = [result.scenario, result.build.name, cell.collective, cell.size]
            if summary is None:
                table.add(*label, "invalid", result.measurement.reasons(cell), "", "")
                continue
            quartiles = f"{seconds(summary.lower_quartile)} - {seconds(summary.upper_quartile)}"
            limit = (
                ["-", "-"] if bound is None else [seconds(bound), percent(bound / summary.median)]
            )
            table.add(*label, seconds(summary.median), quartiles, *limit)
    return table


def _dilation(results: list[Result], again: list[Result]) -> Table:
    table = Table(
        "The same at twice the dilation",
        ["scenario", "build", "collective", "bytes", "at d", "at 2d", "agree within 5 %"],
    )
    first = {(r.scenario, r.build.name): r for r in results}
    for second in again:
        base = first[second.scenario, second.build.name]
        for cell in second.bounds:
            label = [second.scenario, second.build.name, cell.collective, cell.size]
            one, two = base.measurement.summary(cell), second.measurement.summary(cell)
            if one is None or two is None:
                table.add(*label, "", "", "invalid")
                continue
            differ = dilation_disagrees(
                base.measurement.times(cell), second.measurement.times(cell)
            )
            verdict = f"no: {differ}" if differ else "yes"
            table.add(*label, seconds(one.median), seconds(two.median), verdict)
    return table
