"""CG and N-body simulated and split: what is simulated, and what the page says of it."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bench import breakdown_smpi_page
from bench.breakdown_smpi import Setting, iterations, of_rank, sizes, timed
from bench.breakdown_smpi_page import Sample, points
from bench.page import Part
from bench.report import Figure, Table
from bench.smpi_programs import build

PROBE = 10.0


def samples(rounds: int, *each: tuple[int, float, float, float]) -> list[Sample]:
    """Seconds of a round by MPICH2, CMPI and Thalweg, for each number of bytes."""
    return [
        Sample(variant, size, rounds, time, 0.0, 0.0 if variant == "native" else 1.0)
        for size, *times in each
        for variant, time in zip(("native", "cmpi", "thalweg"), times, strict=True)
    ]


CG = samples(100, (800, 0.1, 0.1, 0.05), (409_600, 9.0, 4.0, 2.0))
NBODY = samples(128, (2048, 0.5, 0.5, 0.25), (1_048_576, 4.3, 2.3, 1.3))


def part(program: str, found: list[Sample], network: int = 1) -> Part:
    facts = {"hosts": 64, "probe": PROBE}
    if program == "nbody":
        facts |= {"checked": 2048, "whole": 64.5}
    labels = {"network": network, "ranks": 64, "program": program}
    return Part(labels, facts, [vars(each) for each in found], "2026-11-30", "abc")


def notes(*parts: Part) -> list[str]:
    table = breakdown_smpi_page.contents(parts)[0]
    assert isinstance(table, Table)
    return table.notes


def said(figure: str, *parts: Part) -> str:
    (found,) = (note for note in notes(*parts) if note.startswith(f"Figure 11 ({figure})"))
    return found


def test_the_figure_s_points() -> None:
    found = points([part("nbody", NBODY), part("cg", CG)])
    assert [(each.figure, each.at) for each in found] == [
        ("11a", "100 numbers"), ("11a", "51,200 numbers"),
        ("11b", "1 step"), ("11b", "8 steps"), ("11b", "32 steps"), ("11b", "128 steps"),
        ("11c", "2KiB"), ("11c", "1MiB"),
    ]  # fmt: skip


def test_computation_has_its_share_at_the_largest_size_and_grows_with_it() -> None:
    least, largest = points([part("cg", CG)])
    assert largest.split("native") == pytest.approx(
        {"computation": 100.0, "communication": 900.0, "other overheads": 0.0, "probe": 0.0}
    )
    assert least.computation == pytest.approx(100 * 800 / 409_600)
    assert largest.split("cmpi") == pytest.approx(
        {"computation": 100.0, "communication": 400.0, "other overheads": 1.0, "probe": PROBE}
    )
    assert largest.saved("cmpi") == pytest.approx([0.5, 0.499, 0.489])


def test_verdicts_are_sentences_with_the_paper_s_numbers() -> None:
    parts = [part("cg", CG), part("nbody", NBODY)]
    assert said("11a", *parts) == (
        "Figure 11 (11a), CG by the vector's length, 64 ranks: with 51,200 numbers CMPI takes "
        "50.0 % less time than MPICH2, and 49.9 % less with overheads (paper: 41.6 % less), 48.9 % "
        "less with a probe in each run, too; with 100 numbers 9.8 % more with overheads (paper: "
        "more): holds."
    )
    assert said("11b", *parts).endswith("(paper: they become insignificant): holds.")
    assert said("11c", *parts).endswith(
        "; its communication takes 46.5 % less (paper: 33.2 % less): holds."
    )


def test_what_does_not_hold_is_said() -> None:
    slower = [replace(each, each=20.0) if each.variant == "cmpi" else each for each in CG + NBODY]
    parts = [part("cg", slower[: len(CG)]), part("nbody", slower[len(CG) :])]
    assert "CMPI takes 110.0 % more time than MPICH2, and" in said("11a", *parts)
    assert all(said(each, *parts).endswith("does not hold.") for each in ("11a", "11c"))
    costly = [replace(each, each=each.each / 1000) for each in NBODY]
    assert said("11b", part("nbody", costly)).endswith("holds in part.")


def test_the_page_shows_the_network_on_which_cmpi_saves_the_median() -> None:
    of = {seed: [replace(each, each=each.each * (seed if each.variant == "cmpi" else 1))
                 for each in CG] for seed in (1, 2, 4)}  # fmt: skip
    parts = [part("cg", of[seed], seed) for seed in (4, 1, 2)]
    (shown,) = breakdown_smpi_page.typical(parts)
    assert shown.labels["network"] == 2
    gains, by_network, *_ = breakdown_smpi_page.contents(parts)
    assert isinstance(gains, Table)
    assert isinstance(by_network, Table)
    assert len(gains.rows) == 2
    assert [row[2] for row in by_network.rows] == ["1", "2", "4"]
    assert by_network.rows[0][3] == gains_of(parts[1]) != by_network.rows[1][3]


def gains_of(one: Part) -> str:
    gains = breakdown_smpi_page.contents([one])[0]
    assert isinstance(gains, Table)
    return str(gains.rows[-1][6])


def test_a_simulation_that_was_ended_leaves_a_gap() -> None:
    left = [each for each in CG if (each.variant, each.bytes) != ("thalweg", 409_600)]
    table = breakdown_smpi_page.contents([part("cg", left)])[0]
    assert isinstance(table, Table)
    assert table.rows[-1][9:12] == ["-", "-", "-"]
    assert any("the simulation was ended" in note for note in table.notes)


def test_a_whole_run_stands_beside_what_the_few_rounds_say() -> None:
    parts = [part("cg", CG), part("nbody", NBODY)]
    assert any("took 64.5 s with 64 ranks (64.0 s by this)" in note for note in notes(*parts))


def test_each_subfigure_is_drawn() -> None:
    found = breakdown_smpi_page.contents([part("cg", CG), part("nbody", NBODY)])
    drawn = {each.name: each for each in found if isinstance(each, Figure)}
    assert list(drawn) == [f"breakdown-simulated-{each}-64" for each in ("11a", "11b", "11c")]
    assert "<title>CMPI, communication: 400</title>" in drawn["breakdown-simulated-11a-64"].svg


def test_the_paper_s_axes_are_simulated() -> None:
    assert [size // 8 for size in sizes("cg", 64)] == [100, 800, 6400, 51_200]
    assert sizes("nbody", 64) == [2048, 16_384, 131_072, 1_048_576]
    assert sizes("nbody", 200)[0] == 16_384  # 200 bodies of 32 bytes don't fit into 2 KiB
    assert of_rank("cg", 64, 800) == 16  # 2 numbers of 100 on each of 64 ranks


def test_cg_converges_as_on_the_lab() -> None:
    assert iterations(12_800) == 199  # breakdown.md


def test_rounds_take_simulated_time(tmp_path: Path) -> None:
    """A further round of N-body takes what its gather and broadcast do on a plain network."""
    if not shutil.which("smpirun"):
        pytest.skip("SimGrid isn't installed")
    setting = Setting(1, 4, tmp_path)
    assert setting.facts["probe"] > 0
    built = build(timed("nbody", 4, 4096, 1), tmp_path)
    times = [setting.total(timed("nbody", 4, 4096, n), "native", built) for n in (1, 2, 4)]
    assert all(times)
    first, second, fourth = (time or 0.0 for time in times)
    assert fourth - second == pytest.approx(2 * (second - first), rel=0.1)
    assert 1e-4 < second - first < 0.1
