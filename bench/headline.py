"""Native against Thalweg on three scenarios, each at two dilations, against the bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench import sources, versus
from bench.bars import Bar, dilation_disagrees
from bench.builds import Build
from bench.page import Page, Part, Record
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
builds_measured = ("openmpi-4.1", "mpich-4.0", "mpich-5.0")
"""Debian's, and the release of MPICH whose own collectives are faster (bench/native.py)."""
kept = Bar(never_slower=True)
cases = (
    # Native allreduces on two sites differ by 8 % between the dilations 4 and 8.
    Case("two-sites", 1_000_000, dict.fromkeys(("bcast", "reduce", "allreduce"), kept), dilation=8),
    Case("cloud", 1_000_000, {"bcast": Bar(times_faster=1.4), "allreduce": kept},
         fastest_native=True),
    Case("even", 1_000_000, dict.fromkeys(("bcast", "allreduce"), kept)),
)  # fmt: skip


dilations = {("two-sites", "openmpi-4.1"): 16.0}
"""Dilations by scenario and build, where the case's isn't enough: bcasts and allreduces differ by
over 5 % between 8 and 16. At twice the dilation these have all repetitions, too."""


@dataclass(frozen=True)
class Twice:
    """One build in one case, at dilation d and 2d."""

    first: Result
    second: Result


def run(settings: Settings) -> None:
    """Measures a part for each scenario and build."""
    page = Page(settings, subject, contents)
    for case in cases:
        builds = [
            build
            for build in map(settings.build_named, builds_measured)
            if build is not None
            and case.scenario in settings.scenarios
            and not page.has(labels(case, build.name))
        ]
        for dilation, own in by_dilation(case, builds).items():
            for result in measure(case, own, settings, dilation):
                page.add(labels(case, result.first.build), facts(result), raw(result))
    page.finish()


def by_dilation(case: Case, builds: Sequence[Build]) -> dict[float | None, list[Build]]:
    """Returns the builds by the dilation of their lab; None: the scenario's own."""
    found: dict[float | None, list[Build]] = {}
    for build in builds:
        dilation = dilations.get((case.scenario, build.name), case.dilation)
        found.setdefault(dilation, []).append(build)
    return found


def measure(
    case: Case, builds: Sequence[Build], settings: Settings, dilation: float | None
) -> Iterator[Twice]:
    """Measures each build at dilation d, then each at 2d with the same plan."""
    with Session(case.scenario, settings.dilation or dilation) as session:
        plans = {build.name: session.plan(build, settings.budget) for build in builds}
        first = [versus.measure(session, b, case, plans[b.name], settings) for b in builds]
        once = session.dilation
    with Session(case.scenario, 2 * once) as session:
        second = [
            versus.measure(session, b, case, plans[b.name], at_twice(case, b, settings))
            for b in builds
        ]
    yield from (Twice(*both) for both in zip(first, second, strict=True))


def at_twice(case: Case, build: Build, settings: Settings) -> Settings:
    is_close = (case.scenario, build.name) in dilations
    return settings if is_close else settings.at_twice_the_dilation()


def labels(case: Case, build: str) -> Record:
    return {"scenario": case.scenario, "build": build, "size": case.size}


def facts(result: Twice) -> Record:
    return {"first": versus.facts(result.first), "second": versus.facts(result.second)}


def raw(result: Twice) -> list[dict[str, Any]]:
    """All samples of both dilations, labelled."""
    return [
        sample
        for one in (result.first, result.second)
        for sample in one.measurement.raw(dilation=one.dilation)
    ]


def result_of(part: Part) -> Twice:
    """Restores the results behind facts() and raw()."""
    case = next(each for each in cases if each.scenario == part.labels["scenario"])
    first, second = (
        versus.restored(
            case,
            part.labels["build"],
            found,
            [sample for sample in part.samples if sample["dilation"] == found["dilation"]],
        )
        for found in (part.facts["first"], part.facts["second"])
    )
    return Twice(first, second)


def contents(parts: Sequence[Part]) -> list[Table]:
    names = [case.scenario for case in cases]
    results = [result_of(part) for part in parts]
    return [table(sorted(results, key=lambda each: names.index(each.first.case.scenario)))]


def table(results: Sequence[Twice]) -> Table:
    """One row per scenario, build and collective."""
    rows = Table(
        "Native against Thalweg",
        [*versus.columns, "at 2d"],
        notes=[
            *versus.notes,
            '"At 2d" says whether native and Thalweg agree within 5 % at twice the dilation.',
            "On cloud the bar compares with the fastest of the libraries' defaults.",
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
