"""Native against Thalweg in every cell: collectives, sizes and scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench import campaign, sources, versus
from bench.bars import Bar
from bench.builds import Build
from bench.campaign import Campaign
from bench.measurement import Measurement
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
large = 8_000_000  # from here on a reduce is held against the bound
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
        page.add(labels(session.name, build.name, size), facts(result), result.measurement.raw())

    return Campaign(settings.sizes or sizes, units.size_to_text, labels, seconds, measure)


def case(name: str, size: int) -> Case:
    return Case(name, size, {collective: bar(collective, size) for collective in collectives})


def bar(collective: str, size: int) -> Bar:
    """Never slower than native; a reduce of large messages near the bound."""
    near = collective == "reduce" and size >= large
    return Bar(times_bound=1.5 if near else None, never_slower=True)


def labels(scenario: str, build: str, size: int) -> dict[str, Any]:
    return {"scenario": scenario, "build": build, "size": size}


def facts(result: Result) -> dict[str, Any]:
    of = result.measurement
    return {
        "dilation": result.dilation,
        "repetitions": max(of.wanted.values()),
        "bounds": dict(result.bounds),
        "failed_launches": of.failed_launches,
    }


def result_of(part: Part) -> Result:
    """Restores the state behind labels(), facts() and the samples."""
    of = case(part.labels["scenario"], part.labels["size"])
    wanted = dict.fromkeys(of.cells(), int(part.facts["repetitions"]))
    measurement = Measurement.restored(wanted, part.samples)
    measurement.failed_launches = part.facts["failed_launches"]
    bounds, dilation = part.facts["bounds"], part.facts["dilation"]
    return Result(of, part.labels["build"], dilation, measurement, bounds)


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
