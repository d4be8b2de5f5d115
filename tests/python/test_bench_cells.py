import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import campaign, cells, versus
from bench.builds import Build
from bench.measurement import Measurement
from bench.page import Page, Record, read_parts, write_parts
from bench.samples import Cell, Sample
from bench.settings import Settings
from bench.versus import Result

CASE = cells.case("grid", 8_000_000)


def sample(cell: Cell, repetition: int, time: float, correct: bool = True) -> Sample:
    raw = {
        "collective": cell.collective, "size": cell.size, "root": 0, "variant": cell.variant,
        "repetition": repetition, "time": time, "entry_skew": 0.0, "correct": correct,
    }  # fmt: skip
    return Sample(cell, repetition, time, 0.0, correct, None, raw)


def result(faster: float) -> Result:
    """Three repetitions; native takes 4 s, Thalweg `faster` times less; bounds are 1 s."""
    times = {"native": 4.0, "thalweg": 4.0 / faster}
    measurement = Measurement(dict.fromkeys(CASE.cells(), 3))
    measurement.add(
        [sample(cell, n, times[cell.variant]) for cell in CASE.cells() for n in range(-1, 3)],
        lambda _: [],
    )
    bounds = dict.fromkeys(cells.collectives, 1.0)
    return Result(CASE, "openmpi-4.1", 4.0, measurement, bounds)


def labels_of(each: Result) -> dict[str, Any]:
    return cells.labels(each.case.scenario, each.build, each.case.size)


def page_of(*results: Result) -> Page:
    page = Page(Settings([], save=False, anew=True), cells.subject, cells.contents)
    for each in results:
        page.add(labels_of(each), versus.facts(each), each.measurement.raw())
    return page


def test_only_large_messages_are_held_against_the_bound() -> None:
    near, never_slower = "<= 1.5x bound, not slower beyond noise", "not slower beyond noise"
    assert cells.bar("grid", "reduce", 8_000_000).text() == near
    assert cells.bar("grid", "reduce", 1_000_000).text() == never_slower
    assert cells.bar("grid", "bcast", 8_000_000).text() == never_slower
    assert cells.bar("two-sites", "bcast", 1_000_000).text() == never_slower
    two_sites = "<= 1.25x bound, >= 2.5x faster, not slower beyond noise"
    assert cells.bar("two-sites", "bcast", 8_000_000).text() == two_sites


def test_bars_that_are_met_and_missed() -> None:
    (table,) = cells.contents(page_of(result(faster=3.0)).parts)
    assert [row[-1] for row in table.rows] == ["yes"] * 3
    assert table.notes[-1] == "The bar is met in 3 of 3 cells."
    (table,) = cells.contents(page_of(result(faster=2.0)).parts)
    assert [row[-1] for row in table.rows] == ["yes", "MISSED: 2.00x bound", "yes"]
    (table,) = cells.contents(page_of(result(faster=0.5)).parts)
    assert [row[-1] for row in table.rows] == [
        "MISSED: 2.00x as slow (2.00 to 2.00)",
        "MISSED: 8.00x bound, 2.00x as slow (2.00 to 2.00)",
        "MISSED: 2.00x as slow (2.00 to 2.00)",
    ]


def test_a_result_survives_its_raw_file() -> None:
    before = result(faster=2.0)
    before.measurement.add([sample(CASE.cell("bcast", "native"), 3, 9.0, correct=False)],
                           lambda sample: [] if sample.correct else ["wrong"])  # fmt: skip
    document = json.loads(json.dumps(write_parts(page_of(before).parts)))
    after = cells.result_of(*read_parts(document))
    assert dataclasses.replace(after, measurement=before.measurement) == before
    for cell in CASE.cells():
        assert after.measurement.times(cell) == before.measurement.times(cell)
        assert after.measurement.reasons(cell) == before.measurement.reasons(cell)
    assert len(after.measurement.warm_ups) == 6


def test_incomplete_cells_say_why() -> None:
    failed = result(faster=2.0)
    failed.measurement.valid.clear()
    failed.measurement.failed_launches.append("it took too long")
    (table,) = cells.contents(page_of(failed).parts)
    assert table.rows[0][-1] == "it took too long"
    assert "invalid" in table.rows[0]


def test_rows_are_in_the_order_of_the_scenarios() -> None:
    late = dataclasses.replace(result(2.0), case=cells.case("two-sites", 8_000_000))
    (table,) = cells.contents(page_of(result(2.0), late).parts)
    assert [row[0] for row in table.rows] == ["two-sites"] * 3 + ["grid"] * 3


def estimated(settings: Settings, has: Callable[[Record], bool]) -> dict[str, float]:
    """The parts that are left, with their estimates."""
    parts = cells.parts(settings, page_of())
    return campaign.estimates(settings, parts, campaign.what_is_left(settings, has, parts))


def test_parts_that_a_page_has_are_left_out_and_so_are_their_labs() -> None:
    builds = [Build(name, "openmpi", Path("mpirun")) for name in ("openmpi-4.1", "mpich-4.0")]
    settings = Settings(builds, ["grid", "three-sites"], [64_000, 1_000_000], repetitions=3)

    def has(labels: Record) -> bool:
        measured = ("grid", "mpich-4.0", 64_000)
        return any(labels[key] in measured for key in ("scenario", "build", "size"))

    assert list(estimated(settings, has)) == [
        "three-sites, openmpi-4.1, probe and plan", "three-sites, openmpi-4.1, 1MB",
    ]  # fmt: skip
    assert not estimated(settings, lambda _labels: True)


def test_every_part_has_an_estimate() -> None:
    builds = [Build(name, "openmpi", Path("mpirun")) for name in ("openmpi-4.1", "mpich-4.0")]
    settings = Settings(builds, ["grid"], [1_000_000], repetitions=3)
    found = estimated(settings, lambda _labels: False)
    assert list(found) == [
        "grid, openmpi-4.1, probe and plan", "grid, openmpi-4.1, 1MB",
        "grid, mpich-4.0, probe and plan", "grid, mpich-4.0, 1MB",
    ]  # fmt: skip
    assert all(seconds > 0 for seconds in found.values())
