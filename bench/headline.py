"""Native against Thalweg on the three scenarios, against the bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import report
from bench.bars import Bar, dilation_disagrees
from bench.builds import Build
from bench.measurement import Measurement
from bench.report import Table, percent, seconds, times
from bench.samples import Cell, native, thalweg
from bench.session import Session, with_thalweg
from bench.settings import Settings
from bench.summary import summarise


@dataclass(frozen=True)
class Case:
    """What is measured on one scenario, and the bar for each collective."""

    scenario: str
    size: int
    bars: Mapping[str, Bar]
    fastest_native: bool = False  # compare with the fastest of the libraries' defaults

    def cells(self) -> list[Cell]:
        return [Cell(c, self.size, 0, variant) for c in self.bars for variant in (native, thalweg)]


cases = (
    Case("two-sites", 8_000_000, {"bcast": Bar(1.25, 2.5), "allreduce": Bar(1.5, 1.5)}),
    Case("cloud", 1_000_000, {"bcast": Bar(times_faster=1.4)}, fastest_native=True),
    Case("even", 1_000_000, {c: Bar(never_slower=True) for c in ("bcast", "allreduce")}),
)


@dataclass(frozen=True)
class Result:
    """One build in one case, at dilation d and 2d."""

    case: Case
    build: Build
    dilations: tuple[float, float]
    measurements: tuple[Measurement, Measurement]
    bounds: Mapping[str, float | None]  # by collective


def run(settings: Settings) -> None:
    results = [
        result
        for case in cases
        if case.scenario in settings.scenarios
        for result in measure(case, settings)
    ]
    data = {"samples": [sample for result in results for sample in raw(result)]}
    report.finish(settings, "headline", "Native against Thalweg", [table(results)], data)


def measure(case: Case, settings: Settings) -> list[Result]:
    """Each build at dilation d, then each at 2d with the same plan."""
    builds = settings.debian_builds()
    cells = case.cells()
    with Session(case.scenario, settings.dilation) as session:
        plans = {build.name: session.plan(build) for build in builds}
        first = {b.name: _measure(session, b, cells, plans, settings) for b in builds}
        bounds = {c: session.bound(c, case.size) for c in case.bars}
        dilation = session.dilation
    with Session(case.scenario, 2 * dilation) as session:
        fewer = settings.at_twice_the_dilation()
        second = {b.name: _measure(session, b, cells, plans, fewer) for b in builds}
    return [
        Result(case, b, (dilation, 2 * dilation), (first[b.name], second[b.name]), bounds)
        for b in builds
    ]


def _measure(
    session: Session, build: Build, cells: list[Cell], plans: Mapping[str, Any], settings: Settings
) -> Measurement:
    environment = with_thalweg(build, plans[build.name])
    return session.measure(build, cells, settings.repetitions, environment, settings.seed)


def table(results: Sequence[Result]) -> Table:
    """One row per scenario, build and collective."""
    rows = Table(
        "Native against Thalweg",
        ["scenario", "build", "collective", "bytes", "bound", "native", "Thalweg", "faster",
         "native of limit", "Thalweg of limit", "bar", "met", "at 2d"],
        notes=[
            "Medians. \"Of limit\" is bound / time: 100 % is the physical limit of the scenario.",
            "\"At 2d\" says whether native and Thalweg agree within 5 % at twice the dilation.",
            "On cloud the bar compares with the faster of the two libraries' defaults.",
        ],
    )  # fmt: skip
    for result in results:
        for collective in result.case.bars:
            rows.add(*_row(result, collective, results))
    return rows


def _row(result: Result, collective: str, results: Sequence[Result]) -> list[str]:
    case, size = result.case, result.case.size
    bar, bound = case.bars[collective], result.bounds[collective]
    label = [case.scenario, result.build.name, collective, str(size)]
    limit = "-" if bound is None else seconds(bound)
    ours, theirs = (Cell(collective, size, 0, variant) for variant in (thalweg, native))
    first = result.measurements[0]
    reasons = [first.reasons(c) for c in (ours, theirs) if not first.complete(c)]
    if reasons:
        return [*label, limit, *["invalid"] * 5, bar.text(), "; ".join(reasons), ""]
    our_time, native_time = (summarise(first.times(c)).median for c in (ours, theirs))
    missed = bar.missed(first.times(ours), _reference(result, theirs, results), bound)
    shares = ["-", "-"] if bound is None else [percent(bound / t) for t in (native_time, our_time)]
    return [
        *label, limit, seconds(native_time), seconds(our_time), times(native_time / our_time),
        *shares, bar.text(), "MISSED: " + ", ".join(missed) if missed else "yes",
        _dilations(result, (theirs, ours)),
    ]  # fmt: skip


def _reference(result: Result, theirs: Cell, results: Sequence[Result]) -> list[float]:
    """The native samples that the bar compares with."""
    if not result.case.fastest_native:
        return result.measurements[0].times(theirs)
    candidates = [
        r.measurements[0].times(theirs)
        for r in results
        if r.case is result.case and r.measurements[0].complete(theirs)
    ]
    return min(candidates, key=lambda samples: summarise(samples).median)


def _dilations(result: Result, cells: Sequence[Cell]) -> str:
    first, second = result.measurements
    parts = []
    for cell in cells:
        if not second.complete(cell):
            parts.append(f"{cell.variant}: invalid")
        elif differ := dilation_disagrees(first.times(cell), second.times(cell)):
            parts.append(f"{cell.variant}: differs by {differ}")
    return "; ".join(parts) or "agree"


def raw(result: Result) -> list[dict[str, Any]]:
    """All samples of both dilations, labelled."""
    return [
        sample
        for dilation, measurement in zip(result.dilations, result.measurements, strict=True)
        for sample in measurement.raw(
            scenario=result.case.scenario, build=result.build.name, dilation=dilation
        )
    ]
