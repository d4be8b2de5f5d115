"""Native against Thalweg in every cell: collectives, sizes and scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench import campaign, sources, versus
from bench.bars import Bar
from bench.builds import Build
from bench.campaign import Campaign
from bench.page import Page, Part
from bench.report import Subject, Table
from bench.session import Planned, Session, physical_limit
from bench.settings import Settings
from bench.versus import Case, Result
from thalweg import units
from thalweg.lab.scenario import Scenario

scenarios = ("two-sites", "cloud", "grid", "three-sites")
collectives = ("bcast", "reduce", "allreduce")
sizes = (64_000, 1_000_000, 8_000_000)
large = 8_000_000  # from here on some are held against the bound
of_two_sites = {
    "bcast": Bar(1.25, 2.5, never_slower=True),
    "allreduce": Bar(1.5, 1.5, never_slower=True),
}
subject = Subject(
    "cells",
    "Native against Thalweg in every cell",
    sources.run_on_lab,
    ("scenario", "build", "collective", "size", "variant"),
)
both_times_bound = 5.0  # of native and Thalweg together, as far as progress is concerned


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    campaign.run(settings, page, parts(settings, page))


def parts(settings: Settings, page: Page) -> Campaign[int]:
    """A part for each size."""
    rounds = (settings.repetitions + 1) * both_times_bound

    def seconds(truth: Scenario, size: int) -> float:
        return rounds * sum(physical_limit(truth, each, size) or 0 for each in collectives)

    def measure(session: Session, build: Build, planned: Planned, size: int) -> None:
        of = case(session.name, size)
        result = versus.measure(session, build, of, planned, settings)
        found = (versus.facts(result), result.measurement.raw())
        page.add(labels(session.name, build.name, size), *found)

    return Campaign(settings.sizes or sizes, units.size_to_text, labels, seconds, measure)


def case(name: str, size: int) -> Case:
    return Case(name, size, {collective: bar(name, collective, size) for collective in collectives})


def bar(name: str, collective: str, size: int) -> Bar:
    """Never slower than native; large messages near the bound, and faster on two sites."""
    if size >= large and name == "two-sites" and collective in of_two_sites:
        return of_two_sites[collective]
    near = collective == "reduce" and size >= large
    return Bar(times_bound=1.5 if near else None, never_slower=True)


def labels(scenario: str, build: str, size: int) -> dict[str, Any]:
    return {"scenario": scenario, "build": build, "size": size}


def result_of(part: Part) -> Result:
    """Restores the result of a part."""
    of = case(part.labels["scenario"], part.labels["size"])
    return versus.restored(of, part.labels["build"], part.facts, part.samples)


def contents(parts: Sequence[Part]) -> list[Table]:
    results = sorted((result_of(part) for part in parts), key=_place)
    return [table(results)]


def _place(result: Result) -> tuple[int, str, int]:
    """Sorts in the order of the scenarios."""
    return scenarios.index(result.case.scenario), result.build, result.case.size


def table(results: Sequence[Result]) -> Table:
    """One row per scenario, build, size and collective."""
    rows = Table("Native against Thalweg in every cell", versus.columns, notes=list(versus.notes))
    met = []
    for result in results:
        for collective in result.case.bars:
            row = versus.row(result, collective, results)
            met.append(row[-1] == "yes")
            rows.add(*row)
    rows.notes.append(f"The bar is met in {sum(met)} of {len(met)} cells.")
    return rows
