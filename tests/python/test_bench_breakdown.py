"""Programs end to end: what is computed from their runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench import breakdown, breakdown_figure, campaign, nbody, program
from bench.builds import Build
from bench.page import Page, Part, read_parts, write_parts
from bench.program import Program, Result
from bench.report import Figure, Table
from bench.session import Planned
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


def with_cmpi(each: Program) -> Part:
    """The same with CMPI, which takes 30 s; 2 of the 3 s are the probe's."""
    of = result(each)
    runs_of_cmpi = {"cmpi": runs(30, 5, each.rounds)}
    whole = Result(of.scenario, of.build, of.bound, of.overhead, {**of.runs, **runs_of_cmpi}, 2.0)
    facts = {"bound": of.bound, "overhead": of.overhead, "probe": whole.probe}
    labels = breakdown.labels(of.scenario, of.build, each)
    return Part(labels, facts, whole.samples(), "2026-11-28", "abc")


def page() -> Page:
    found = Page(Settings([], save=False, anew=True), breakdown.subject, breakdown.contents)
    for each in (program.nbody(1_000_000, 128), program.cg(409_600), program.cg(25_600)):
        for build in ("openmpi-4.1", "mpich-4.0"):
            of = result(each, build)
            facts = {"bound": of.bound, "overhead": of.overhead}
            labels = breakdown.labels(of.scenario, of.build, each)
            found.add(labels, facts, of.samples())
    return found


@pytest.mark.parametrize("each", [program.nbody(1_000_000, 128), program.cg(409_600)])
def test_computation_makes_up_its_share(each: Program) -> None:
    trial = {"total": 9.0, "computation": 1.0, each.rounds: 4}
    per_round = program.compute_time(trial, each)
    assert 4 * per_round / (8.0 + 4 * per_round) == pytest.approx(each.compute_share)


def test_the_paper_takes_the_vector_in_numbers() -> None:
    # 51,200 unknowns of 8 bytes.
    assert program.cg(max(breakdown_figure.sizes["cg"])).arguments == ("--size", "51200")


def test_what_is_stacked() -> None:
    of = result(program.cg(25_600))
    assert breakdown.split(of, "native") == {
        "computation": 5, "communication": 35, "other overheads": 0, "probe": 0,
    }  # fmt: skip
    assert breakdown.split(of, "thalweg") == {
        "computation": 5, "communication": 20, "other overheads": 3, "probe": 0,
    }  # fmt: skip


def test_gains_are_beside_the_papers() -> None:
    rows = breakdown.contents(page().parts)[0]
    assert isinstance(rows, Table)
    assert [row[:2] for row in rows.rows[::2]] == [
        ["CG", "25.6KB"], ["CG", "400KiB"], ["N-body", "1MB"],
    ]  # fmt: skip
    # 1 - 25 / 40, and 1 - 28 / 40 with the overheads; these parts don't have the probe by itself.
    assert {tuple(row[-4:-1]) for row in rows.rows} == {("37.5 %", "30.0 %", "30.0 %")}
    assert [row[-1] for row in rows.rows[::2]] == ["41.6 %", "41.6 %", "14.3 %"]
    # These parts are of before CMPI was run.
    assert {tuple(row[6:10]) for row in rows.rows} == {("-", "-", "-", "-")}
    assert rows.notes[-1].endswith("not judged, since CMPI itself isn't measured.")


def test_cmpi_s_trees_pay_for_the_probe_alone() -> None:
    gains, figure, table = breakdown.contents([with_cmpi(program.cg(25_600))])
    assert isinstance(gains, Table) and isinstance(figure, Figure) and isinstance(table, Table)
    # 1 - 30 / 40, and 1 - 32 / 40 with the probe; 10 of 35 s of communication are left out.
    assert gains.rows[0][6:10] == ["30.0 s", "25.0 %", "25.0 %", "20.0 %"]
    assert gains.notes[-1] == (
        "CG with 25.6KB: CMPI saves 25.0 % of the native time, with overheads, of which the paper "
        "says that CMPI saves 41.6 %, and 20.0 % with a probe in each run, too: holds, with less "
        "of a gain."
    )
    assert [row[4] for row in table.rows] == ["native", "CMPI", "Thalweg"]
    assert table.rows[1][-3:] == ["-", "2.00 s", "28.6 %"]
    assert "<title>CMPI\nmpich-4.0, communication: 25</title>" in figure.svg


def test_cmpi_s_trees_are_forced_and_nothing_else_is_planned() -> None:
    assert breakdown_figure.as_printed() == (
        "bcast=hierarchical:adjust=printed;reduce=hierarchical:adjust=printed;"
        "gather=distance-tree:adjust=printed;allreduce=native"
    )


def test_variants_that_are_forced_run_in_turn_with_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[tuple[bool, str]] = []

    def execute(
        _session: Any,
        _build: Build,
        of: Program,
        _compute: float = 0.0,
        planned: Planned | None = None,
        force: str = "",
    ) -> dict[str, float]:
        ran.append((planned is not None, force))
        return {"total": 9.0, "computation": 1.0, of.rounds: 4}

    class Session:
        name = "cloud"

        def bound(self, *_of: object) -> float:
            return 0.1

    monkeypatch.setattr(program, "execute", execute)
    session: Any = Session()
    build, planned = Build("mpich-4.0", "mpich", Path()), Planned(Path(), Path(), 2.0, 1.0)
    found = program.measure(
        session, build, program.cg(25_600), planned, 2, forced={"cmpi": "bcast=flat"}
    )
    turn = [(False, ""), (True, ""), (True, "bcast=flat")]
    assert ran == [(False, ""), *turn, *turn]
    assert {variant: len(runs) for variant, runs in found.runs.items()} == {
        "native": 2, "thalweg": 2, "cmpi": 2,
    }  # fmt: skip
    assert (found.overhead, found.probe) == (3.0, 2.0)


def test_figures_have_a_panel_per_size_and_bars_per_build() -> None:
    cg, nbody = (c for c in breakdown.contents(page().parts) if isinstance(c, Figure))
    assert (cg.name, nbody.name) == ("breakdown-cg-cloud", "breakdown-nbody-cloud")
    assert cg.svg.count("per broadcast") == 2
    assert cg.svg.count("<title>Thalweg\nmpich-4.0, communication: 20</title>") == 2


def test_a_result_survives_its_raw_file() -> None:
    parts = page().parts
    read = read_parts(json.loads(json.dumps(write_parts(parts))))
    for before, after in zip(parts, read, strict=True):
        for variant in breakdown.measured(breakdown.result_of(before)):
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
