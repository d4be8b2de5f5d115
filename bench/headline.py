"""Native against Thalweg on the three scenarios, against the bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench import report, sources, versus
from bench.bars import Bar, dilation_disagrees
from bench.report import Subject, Table
from bench.samples import native, thalweg
from bench.session import Session
from bench.settings import Settings
from bench.versus import Case, Result

subject = Subject(
    "headline",
    "Native against Thalweg",
    sources.run_on_lab,
    ("scenario", "build", "dilation", "collective", "size", "variant"),
)
cases = (
    Case("two-sites", 8_000_000, {"bcast": Bar(1.25, 2.5), "allreduce": Bar(1.5, 1.5)}),
    Case("cloud", 1_000_000, {"bcast": Bar(times_faster=1.4)}, fastest_native=True),
    Case("even", 1_000_000, {c: Bar(never_slower=True) for c in ("bcast", "allreduce")}),
)


@dataclass(frozen=True)
class Twice:
    """One build in one case, at dilation d and 2d."""

    first: Result
    second: Result


def run(settings: Settings) -> None:
    results = [
        result
        for case in cases
        if case.scenario in settings.scenarios
        for result in measure(case, settings)
    ]
    data = {"samples": [sample for result in results for sample in raw(result)]}
    report.finish(settings, subject, [table(results)], data)


def measure(case: Case, settings: Settings) -> list[Twice]:
    """Each build at dilation d, then each at 2d with the same plan."""
    builds = settings.debian_builds()
    with Session(case.scenario, settings.dilation) as session:
        plans = {build.name: session.plan(build) for build in builds}
        first = [versus.measure(session, b, case, plans[b.name], settings) for b in builds]
        dilation = session.dilation
    with Session(case.scenario, 2 * dilation) as session:
        fewer = settings.at_twice_the_dilation()
        second = [versus.measure(session, b, case, plans[b.name], fewer) for b in builds]
    return [Twice(*both) for both in zip(first, second, strict=True)]


def table(results: Sequence[Twice]) -> Table:
    """One row per scenario, build and collective."""
    rows = Table(
        "Native against Thalweg",
        [*versus.columns, "at 2d"],
        notes=[
            *versus.notes,
            '"At 2d" says whether native and Thalweg agree within 5 % at twice the dilation.',
            "On cloud the bar compares with the faster of the two libraries' defaults.",
        ],
    )
    firsts = [result.first for result in results]
    for result in results:
        for collective in result.first.case.bars:
            row = versus.row(result.first, collective, firsts)
            rows.add(*row, _dilations(result, collective))
    return rows


def _dilations(result: Twice, collective: str) -> str:
    first, second = result.first.measurement, result.second.measurement
    cells = [result.first.case.cell(collective, variant) for variant in (native, thalweg)]
    if not all(first.complete(cell) for cell in cells):
        return ""
    parts = []
    for cell in cells:
        if not second.complete(cell):
            parts.append(f"{cell.variant}: invalid")
        elif differ := dilation_disagrees(first.times(cell), second.times(cell)):
            parts.append(f"{cell.variant}: differs by {differ}")
    return "; ".join(parts) or "agree"


def raw(result: Twice) -> list[dict[str, Any]]:
    """All samples of both dilations, labelled."""
    return [
        sample
        for one in (result.first, result.second)
        for sample in one.measurement.raw(
            scenario=one.case.scenario, build=one.build, dilation=one.dilation
        )
    ]
