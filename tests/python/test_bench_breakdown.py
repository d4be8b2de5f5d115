"""Programs end to end: what is computed from their runs."""

import json
from pathlib import Path

import pytest

from bench import breakdown, campaign, nbody, program
from bench.builds import Build
from bench.page import Page, read_parts, write_parts
from bench.program import Program, Result
from bench.report import Figure, Table
from bench.settings import Settings


def runs(total: float, computation: float, rounds: str) -> list[dict[str, float]]:
    """Three runs, the second being the median."""
    return [
        {"total": total + shift, "computation": computation, rounds: 10} for shift in (-1, 0, 2)
    ]


def result(each: Program, build: str = "mpich-4.0") -> Result:
    """40 s natively and 25 s with Thalweg, 5 s of them computation; 3 s to probe and plan."""
    both = {"native": runs(40, 5, each.rounds), "thalweg": runs(25, 5, each.rounds)}
    return Result("cloud", build, 0.1, 3.0, both)


def page() -> Page:
    found = Page(Settings([], save=False, anew=True), breakdown.subject, breakdown.contents)
    for each in (program.nbody(1_000_000, 128), program.cg(409_600), program.cg(25_600)):
        for build in ("openmpi-4.1", "mpich-4.0"):
            of = result(each, build)
            facts = {"bound": of.bound, "overhead": of.overhead}
            labels = breakdown.labels(of.scenario, of.build, each)
            found.add(labels, facts, breakdown.samples(of))
    return found


@pytest.mark.parametrize("each", [program.nbody(1_000_000, 128), program.cg(409_600)])
def test_computation_makes_up_its_share(each: Program) -> None:
    trial = {"total": 9.0, "computation": 1.0, each.rounds: 4}
    per_round = program.compute_time(trial, each)
    assert 4 * per_round / (8.0 + 4 * per_round) == pytest.approx(each.compute_share)


def test_the_paper_takes_the_vector_in_numbers() -> None:
    # 51,200 unknowns of 8 bytes.
    assert program.cg(max(breakdown.sizes["cg"])).arguments == ("--size", "51200")


def test_what_is_stacked() -> None:
    of = result(program.cg(25_600))
    assert breakdown.split(of, "native") == {
        "computation": 5, "communication": 35, "other overheads": 0,
    }  # fmt: skip
    assert breakdown.split(of, "thalweg") == {
        "computation": 5, "communication": 20, "other overheads": 3,
    }  # fmt: skip


def test_gains_are_beside_the_papers() -> None:
    rows = breakdown.contents(page().parts)[0]
    assert isinstance(rows, Table)
    assert [row[:2] for row in rows.rows[::2]] == [
        ["CG", "25.6KB"], ["CG", "400KiB"], ["N-body", "1MB"],
    ]  # fmt: skip
    # 1 - 25 / 40, and 1 - 28 / 40 with the overheads.
    assert {tuple(row[-3:-1]) for row in rows.rows} == {("37.5 %", "30.0 %")}
    assert [row[-1] for row in rows.rows[::2]] == ["41.6 %", "41.6 %", "14.3 %"]


def test_figures_have_a_panel_per_size_and_bars_per_build() -> None:
    cg, nbody = (c for c in breakdown.contents(page().parts) if isinstance(c, Figure))
    assert (cg.name, nbody.name) == ("breakdown-cg-cloud", "breakdown-nbody-cloud")
    assert cg.svg.count("per broadcast") == 2
    assert cg.svg.count("<title>Thalweg\nmpich-4.0, communication: 20</title>") == 2


def test_a_result_survives_its_raw_file() -> None:
    parts = page().parts
    read = read_parts(json.loads(json.dumps(write_parts(parts))))
    for before, after in zip(parts, read, strict=True):
        for variant in breakdown.variants:
            expected = breakdown.split(breakdown.result_of(before), variant)
            assert breakdown.split(breakdown.result_of(after), variant) == expected


def test_parts_can_be_chosen() -> None:
    build = Build("mpich-4.0", "mpich", Path("mpiexec"))
    chosen = Settings([build], ["cloud"], [102_400], programs=["cg"])
    (each,) = breakdown.programs(chosen)
    assert (each.name, each.message) == ("cg", 102_400)
    parts = breakdown.parts(chosen, page())
    left = campaign.what_is_left(chosen, lambda _labels: False, parts)
    assert list(campaign.estimates(chosen, parts, left)) == [
        "cloud, mpich-4.0, probe and plan", "cloud, mpich-4.0, CG with 100KiB",
    ]  # fmt: skip
    assert len(list(breakdown.programs(Settings([build])))) == 6


def test_the_table_of_n_body() -> None:
    both = {
        "native": [{"total": 9.0, "bcast": 6.0, "steps": 6}] * 3,
        "thalweg": [{"total": 6.0, "bcast": 3.0, "steps": 6}] * 3,
    }
    of = Result("cloud", "mpich-4.0", 0.25, 30.0, both)
    (row,) = nbody.totals([of]).rows
    # Half a second is saved in each step: 30 s are back after 60. A broadcast takes 1 s and 0.5 s.
    assert row[2:5] == ["9.00 s", "6.00 s", "1.50x"]
    assert row[-5:] == ["yes", "25 %", "50 %", "-300 %", "60 steps"]
