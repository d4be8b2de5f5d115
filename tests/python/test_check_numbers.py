"""The check of the numbers in README.md and docs/papers.md finds each number that no page has."""

from pathlib import Path

import pytest

import check_numbers
from bench import report
from check_numbers import MEASURED, PAPERS, README, faults
from page_numbers import (
    RESULTS,
    Claims,
    all_of,
    cell,
    cells,
    fewest_samples,
    formula,
    given,
    kinds,
    negative,
    note,
)

TEXT = f"""# Program

It helps.

{check_numbers.SECTION}

On 16 hosts; medians of seven (`bench/results/fast.md`).

| network | collective | MPI | native | Thalweg | faster | of the bound | page |
|---|---|---|---|---|---|---|---|
| `pair`: 2 hosts, 10 ms | bcast, 8 MB | Open MPI 4.1 | 2.09 s | 713 ms | 2.9x | 1.10x | FAST |
| | | MPICH 4.0 | 600 ms | 580 ms | 1.0x | 1.16x | `bench/results/fast.md` |

Bodies, with computation 20 % of the run, are 2.9 (Open MPI 4.1) and 1.0 times
(MPICH 4.0) as fast (`bench/results/fast.md`).

Of cells, none of the 32 takes over 1.03x the time, within 20 %
(`bench/results/fast.md`).
""".replace("FAST", "`fast.md`")
VERDICTS = """
| paper | figure or table | page | verdict |
| --- | --- | --- | --- |
| A | Figure 1 | `slow.md` | A drawing of 7 hosts. |
| | Figure 2 | `bench/results/slow.md` | CMPI takes 28, 15 and 42 % less time (paper: 5 %) on \
82 of 100 clouds, and reduces 61 % more. |
| B | Figure 2 | `bench/results/slow.md` | Of CG 68.3 % are saved; mapping takes 15.5 ms for 256. |
"""
FAST = """# Fast

| scenario | build | collective | bytes | bound | native | Thalweg | faster | at 2d |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| pair | openmpi-4.1 | bcast | 8000000 | 650 ms | 2.09 s | 713 ms | 2.93x | agree |
| pair | mpich-4.0 | bcast | 8000000 | 500 ms | 600 ms | 580 ms | 1.03x | agree |
| even | mpich-4.0 | bcast | 1000000 | 2.00 s | 1.00 s | 1.00 s | 1.00x | native: differs by 8.1 % |
| even | openmpi-4.1 | bcast | 1000000 | 1.00 s | 2.00 s | 1.00 s | 2.50x | agree |
| even | openmpi-4.1 | scan | 1000000 | 1.00 s | 2.00 s | 1.00 s | 9.70x | agree |

- Computation is fixed to 20 % of the total; 65 % of 3200 are bcasts, 2 % are of 70.
- None lies above 1.03x in 32 of 32 cells, 53 of 54 predictions within 20 %.
"""
SLOW = """# Slow

## Savings

| program | bcast | reduce | gather | clouds | saved | time |
| --- | --- | --- | --- | --- | --- | --- |
| CG | 28 % | 15 % | 42 % | 82 of 100 | 68.3 % | 15.5 ms |
| N-body | 99 % | -61 % | 77 % | 99 of 100 | 78.5 % | 15.9 ms |
"""
SUMMARY = '{"name": "x", "cells": [{"samples": 9, "dilation": 4}, {"samples": 7, "dilation": 4}]}'

MET = "lies above *x in # of # cells"
KNOWN: dict[str, Claims] = {
    README: {
        "On 16 hosts;": [given("16"), fewest_samples("fast", dilation=4)],
        "`pair`:": [given("2", "10 ms")],
        "Bodies,": [
            note("fast", "Computation is fixed to # of"),
            *cells("fast", "faster", "pair", ["openmpi-4.1", "mpich-4.0"]),
        ],
        "Of cells,": [
            formula(lambda met, measured: measured - met, note("fast", MET)),
            note("fast", "in * of # cells"),
            note("fast", "None lies above # in"),
            note("fast", "predictions within #."),
        ],
    },
    PAPERS: {
        "A, Figure 1": [given("7")],
        "A, Figure 2": [
            *cells("slow", ["bcast", "reduce", "gather"], "CG"),
            cell("slow", "clouds", "CG", says="# of #"),
            negative(cell("slow", "reduce", "program=N-body", "table=Savings")),
        ],
        "B, Figure 2": [*cells("slow", ["saved", "time"], "CG"), given("256")],
    },
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / RESULTS).mkdir(parents=True)
    (tmp_path / PAPERS).parent.mkdir()
    (tmp_path / README).write_text(TEXT)
    (tmp_path / PAPERS).write_text(VERDICTS)
    for name, page in (("fast", FAST), ("slow", SLOW)):
        write_page(tmp_path, name, page)
    return tmp_path


def write_page(tree: Path, name: str, page: str) -> None:
    path = tree / RESULTS / f"{name}.md"
    path.write_text(page)
    path.with_suffix(".json").write_text(SUMMARY)
    report.seal(path)


def forge(tree: Path, file: str | Path, old: str, new: str) -> None:
    text = (tree / file).read_text()
    assert text.count(old) == 1
    (tree / file).write_text(text.replace(old, new))


def test_once_and_twice_are_numbers() -> None:
    said = check_numbers.shown("It loses once, Twice in turn; calls follow each other at once.")
    assert [each.text for each in said] == ["once", "Twice"]
    assert check_numbers.is_rounded("Twice", 2) and not check_numbers.is_rounded("once", 2)


def test_right_numbers_pass(tree: Path) -> None:
    assert list(faults(tree, KNOWN)) == []


def test_all_sections_of_what_was_measured_are_checked(tree: Path) -> None:
    measured = "# Measured\n\n## Bodies\n\n- Bodies are 2.9 times as fast (`fast.md`).\n- Of 9.\n"
    (tree / MEASURED).write_text(measured)
    fast = cell("fast", "faster", "openmpi-4.1", "pair")
    assert list(faults(tree, KNOWN | {MEASURED: {"- Bodies are": [fast]}})) == [
        "docs/measured.md:6: script/claims.py doesn't say where 9 comes from"
    ]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("2.9 (Open", "9.7 (Open", "README.md:14: 9.7 should be 2.93 x"),
        ("1.0 times", "2.5 times", "README.md:14: 2.5 times should be 1.03 x"),
        ("2.9x", "3.0x", "README.md:11: faster is 3.0x, from fast follows 2.930x"),
        ("1.10x", "1.11x", "README.md:11: of the bound is 1.11x, from fast follows 1.097x"),
        ("713 ms", "714 ms", "README.md:11: Thalweg is 714 ms, in fast it is 713 ms"),
        ("1.03x", "1.00x", "README.md:17: 1.00 x should be 1.03 x"),
        ("the 32", "the 3200", "README.md:17: 3200 should be 32"),
        ("none", "two", "README.md:17: two should be 0"),
        ("within 20 %", "within 2 %", "README.md:17: 2 % should be 20 %"),
        ("computation 20 %", "computation 65 %", "README.md:14: 65 % should be 20 %"),
        ("computation 20 %", "computation 20 ms", "README.md:14: 20 ms should be 20 %"),
        ("of seven", "of seventy", "README.md:7: seventy should be 7"),
        ("10 ms |", "11 ms |", "README.md:11: 11 ms should be 0.01 s"),
        ("It helps.", "It is 4.5 times as fast.", "README.md:3: script/claims.py doesn't say"),
        ("It helps.", "It wins 3 of 4.", "README.md:3: script/claims.py doesn't say where 3"),
    ],
)
def test_a_forged_number_of_the_readme_is_found(tree: Path, old: str, new: str, fault: str) -> None:
    forge(tree, README, old, new)
    assert any(each.startswith(fault) for each in faults(tree, KNOWN)), list(faults(tree, KNOWN))


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("28, 15 and", "99, 15 and", "docs/papers.md:5: 99 should be 28 %"),
        ("28, 15 and", "28, 77 and", "docs/papers.md:5: 77 should be 15 %"),
        ("on 82 of", "on 99 of", "docs/papers.md:5: 99 should be 82"),
        ("68.3 %", "78.5 %", "docs/papers.md:6: 78.5 % should be 68.3 %"),
        ("15.5 ms", "15.9 ms", "docs/papers.md:6: 15.9 ms should be 0.0155 s"),
        ("15.5 ms", "15.5 s", "docs/papers.md:6: 15.5 s should be 0.0155 s"),
        ("61 % more", "61 % more, -61 % less", "docs/papers.md:5: script/claims.py doesn't say"),
        ("7 hosts", "8 hosts", "docs/papers.md:4: 8 should be 7"),
    ],
)
def test_a_forged_number_of_a_verdict_is_found(tree: Path, old: str, new: str, fault: str) -> None:
    forge(tree, PAPERS, old, new)
    assert any(each.startswith(fault) for each in faults(tree, KNOWN)), list(faults(tree, KNOWN))


def test_a_page_that_is_forged_with_the_readme_is_found(tree: Path) -> None:
    forge(tree, README, "713 ms | 2.9x | 1.10x", "613 ms | 2.9x | 0.94x")
    forge(tree, RESULTS / "fast.md", "713 ms", "613 ms")
    wanted = "bench/results/fast.md: isn't the page that was written with its summary"
    assert list(faults(tree, KNOWN)) == [wanted]
    (tree / RESULTS / "fast.json").write_text(SUMMARY)
    assert list(faults(tree, KNOWN)) == [wanted]


def test_a_page_made_anew_needs_no_new_addresses(tree: Path) -> None:
    write_page(tree, "slow", SLOW.replace("15.5 ms", "14.5 ms"))
    assert list(faults(tree, KNOWN)) == ["docs/papers.md:6: 15.5 ms should be 0.0145 s"]
    forge(tree, PAPERS, "15.5 ms", "14.5 ms")
    assert list(faults(tree, KNOWN)) == []


def test_a_number_needs_a_link_to_its_page(tree: Path) -> None:
    forge(tree, README, " as fast (`bench/results/fast.md`).", " as fast.")
    assert list(faults(tree, KNOWN)) == [
        "README.md:14: doesn't link fast, from which it has numbers"
    ]


def test_rows_need_a_valid_row_of_their_page(tree: Path) -> None:
    forge(tree, README, "| | | MPICH 4.0", "| | reduce, 8 MB | MPICH 4.0")
    row = "| `even` | bcast, 1 MB | MPICH 4.0 | 1.00 s | 1.00 s | 1.0x | 0.50x | `fast.md` |\n"
    forge(tree, README, "\n\nBodies", f"\n{row}\nBodies")
    assert list(faults(tree, KNOWN)) == [
        "README.md:12: fast has no row for 8000000, mpich-4.0, pair, reduce",
        "README.md:13: fast calls the row invalid: at twice the dilation native: differs by 8.1 %",
    ]


def test_addresses_have_to_lead_to_one_number(tree: Path) -> None:
    wrong = [
        cell("slow", "time"),
        cell("slow", "times", "CG"),
        note("fast", "Computation is fixed to # of the whole"),
        note("none", "#"),
        fewest_samples("slow", dilation=8),
    ]
    for source in wrong:
        known = {README: KNOWN[README], PAPERS: {**KNOWN[PAPERS], "A, Figure 1": [source]}}
        (fault,) = faults(tree, known)
        assert fault.startswith("docs/papers.md:4: ")
        assert "no" in fault or "several" in fault


def test_claims_that_are_gone_and_numbers_that_are_missing_are_found(tree: Path) -> None:
    forge(tree, PAPERS, "A drawing of 7 hosts.", "A drawing.")
    forge(tree, README, "Bodies, with", "For bodies, with")
    found = list(faults(tree, KNOWN))
    assert "docs/papers.md:4: has 0 numbers, for which script/claims.py has 1" in found
    assert any("doesn't make the claim" in each and "'Bodies,'" in each for each in found)


def test_numbers_that_are_the_same_and_columns_of_one_name(tree: Path) -> None:
    write_page(tree, "slow", SLOW + "\n| a | n | n |\n| --- | --- | --- |\n| x | 6.9 | 7.2 |\n")
    both = all_of(cell("slow", "n", "x"), cell("slow", "n (2)", "x"))
    for source in (both, formula(lambda of: 5 + of, kinds("slow", "program", "table=Savings"))):
        known = {README: KNOWN[README], PAPERS: {**KNOWN[PAPERS], "A, Figure 1": [source]}}
        assert list(faults(tree, known)) == []


def test_results_among_the_papers_ideas_are_checked(tree: Path) -> None:
    ideas = """| paper | what | where |
| --- | --- | --- |
| A | section 1: maps of 9 hosts | `a.cpp`, which takes 28 % less time (`slow.md`) |
| | section 2: trees | `b.cpp`, with parameter `degree` up to 4 |

"""
    forge(tree, PAPERS, "| paper | figure", f"{ideas}| paper | figure")
    (fault,) = faults(tree, KNOWN)
    assert fault.startswith("docs/papers.md:4: script/claims.py doesn't say where 28 % comes from")
    papers = {**KNOWN[PAPERS], "section 1:": [cell("slow", "bcast", "CG")]}
    known = {README: KNOWN[README], PAPERS: papers}
    assert list(faults(tree, known)) == []
    forge(tree, PAPERS, "28 % less", "29 % less")
    assert list(faults(tree, known)) == ["docs/papers.md:4: 29 % should be 28 %"]


def test_the_audit_s_numbers_after_are_checked_and_those_before_are_not(tree: Path) -> None:
    file = tree / check_numbers.AUDIT
    file.parent.mkdir(parents=True)
    row = "| 1 | CG was slow | it is planned (`slow.md`) | 99 % saved | 68.3 % saved |\n"
    head = "# Audit\n\n| point | what was found | what was changed | before | after |\n"
    file.write_text(head + "| --- | --- | --- | --- | --- |\n" + row)
    known = {**KNOWN, check_numbers.AUDIT: {"CG was": [cell("slow", "saved", "CG")]}}
    assert list(faults(tree, known)) == []
    file.write_text(file.read_text().replace("68.3", "69.3"))
    assert list(faults(tree, known)) == [f"{check_numbers.AUDIT}:5: 69.3 % should be 68.3 %"]
