"""Rows of native against Thalweg, and the headline's at two dilations."""

import json
from collections.abc import Mapping
from pathlib import Path

from bench import headline, versus
from bench.bars import Bar
from bench.builds import Build
from bench.headline import Twice
from bench.measurement import Measurement
from bench.page import Page, Record, read_parts, write_parts
from bench.samples import Cell, Sample
from bench.settings import Settings
from bench.versus import Case, Result

CASE = Case("cloud", 1_000_000, {"bcast": Bar(times_faster=1.4)}, fastest_native=True)


CLOSE = "openmpi-4.1"


def raw(cell: Cell, repetition: int, time: float) -> Record:
    return {
        "collective": cell.collective, "size": cell.size, "root": 0, "variant": cell.variant,
        "repetition": repetition, "time": time, "entry_skew": 0.0, "correct": True,
    }  # fmt: skip


def result(build: str, times: Mapping[str, float], dilation: float = 4.0) -> Result:
    """Three repetitions of the same time, by variant; the bound is 1 s."""
    measurement = Measurement(dict.fromkeys(CASE.cells(), 3))
    for variant, time in times.items():
        cell = Cell("bcast", CASE.size, 0, variant)
        samples = [Sample(cell, n, time, 0.0, True, None, raw(cell, n, time)) for n in range(3)]
        measurement.add(samples, lambda _: [])
    return Result(CASE, build, dilation, measurement, {"bcast": 1.0})


def cell(row: list[str], column: str) -> str:
    return row[list(versus.columns).index(column)]


def test_a_row_has_times_shares_and_the_verdict() -> None:
    of = result("mpich-4.0", {"native": 4.0, "thalweg": 2.0})
    row = versus.row(of, "bcast", [of])
    assert len(row) == len(versus.columns)
    assert cell(row, "faster") == "2.00x"
    assert (cell(row, "native of limit"), cell(row, "Thalweg of limit")) == ("25 %", "50 %")
    assert cell(row, "met") == "yes"


def test_the_fastest_native_is_what_the_bar_compares_with() -> None:
    slow = result("mpich-4.0", {"native": 4.0, "thalweg": 2.0})
    fast = result("openmpi-4.1", {"native": 2.2, "thalweg": 2.0})
    row = versus.row(slow, "bcast", [slow, fast])
    assert cell(row, "faster") == "2.00x"
    assert cell(row, "met") == "MISSED: 1.10x faster"


def test_a_cell_that_could_not_be_measured_says_why() -> None:
    of = result("mpich-4.0", {"native": 4.0})
    of.measurement.failed_launches.append("no route to vm3")
    row = versus.row(of, "bcast", [of])
    assert cell(row, "Thalweg") == "invalid"
    assert cell(row, "met") == "no route to vm3"


def test_both_dilations_are_compared_and_kept() -> None:
    first = result("mpich-4.0", {"native": 4.0, "thalweg": 2.0})
    alike = result("mpich-4.0", {"native": 4.1, "thalweg": 2.0}, dilation=8.0)
    other = result("mpich-4.0", {"native": 4.4, "thalweg": 2.0}, dilation=8.0)
    rows = headline.table([Twice(first, alike), Twice(first, other)]).rows
    assert [row[-1] for row in rows] == ["agree", "native: differs by 10.0 %"]
    kept = headline.raw(Twice(first, alike))
    assert sorted({record["dilation"] for record in kept}) == [4.0, 8.0]
    assert len(kept) == 12


def test_both_dilations_survive_the_raw_file() -> None:
    both = Twice(
        result("mpich-4.0", {"native": 4.0, "thalweg": 2.0}),
        result("mpich-4.0", {"native": 4.1, "thalweg": 2.0}, dilation=8.0),
    )
    page = Page(Settings([], save=False, anew=True), headline.subject, headline.contents)
    page.add(headline.labels(CASE, "mpich-4.0"), headline.facts(both), headline.raw(both))
    (part,) = read_parts(json.loads(json.dumps(write_parts(page.parts))))
    after = headline.result_of(part)
    cells = [CASE.cell("bcast", variant) for variant in ("native", "thalweg")]
    assert [after.first.measurement.times(each) for each in cells] == [[4.0] * 3, [2.0] * 3]
    assert after.second.measurement.times(cells[0]) == [4.1] * 3
    assert (after.first.dilation, after.second.dilation) == (4.0, 8.0)


def test_a_build_whose_dilations_disagree_has_another_one_and_all_repetitions() -> None:
    case = next(each for each in headline.cases if each.scenario == "two-sites")
    builds = [Build(name, name.split("-")[0], Path("mpiexec")) for name in ("mpich-4.0", CLOSE)]
    mpich, openmpi = builds
    assert headline.by_dilation(case, builds) == {8: [mpich], 16: [openmpi]}
    assert headline.by_dilation(CASE, builds) == {None: builds}
    seven = Settings(builds, repetitions=7)
    assert headline.at_twice(case, openmpi, seven).repetitions == 7
    assert headline.at_twice(case, mpich, seven).repetitions == 3
    assert headline.at_twice(CASE, openmpi, seven).repetitions == 3
