"""The papers' figures: docs/papers.md has a row for each, and what the rows name is there."""

import json
import shlex
import sys
from pathlib import Path

import pytest
import typer.main

from bench import (
    cloudmap,
    cmpi,
    cmpi_smpi,
    days,
    grid,
    machine,
    papers,
    placement,
    placement_smpi,
    report,
    trees,
    wan,
)
from bench.commands import commands
from bench.settings import Settings
from thalweg import cli
from thalweg.errors import UserError

DOCUMENT = machine.repository / "docs" / "papers.md"
COLUMNS = ["paper", "figure or table", "page", "command", "verdict"]


def rows() -> list[list[str]]:
    """The rows of the table of figures, each with its paper."""
    lines = DOCUMENT.read_text().splitlines()
    first = lines.index("| " + " | ".join(COLUMNS) + " |") + 2
    found: list[list[str]] = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        found.append([cells[0] or found[-1][0], *cells[1:]])
    return found


def pages_of_row(cell: str) -> list[str]:
    return [Path(name.strip("` ")).stem for name in cell.split(",") if name.strip() != "-"]


def test_every_figure_has_a_row_and_no_row_is_made_up() -> None:
    listed = [(row[0], row[1]) for row in rows()]
    assert len(listed) == len(set(listed))
    known = [(paper, figure) for paper, figures in papers.pages_of.items() for figure in figures]
    assert listed == known


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]}-{row[1]}")
def test_a_row_names_a_page_that_is_there_or_says_why_not(row: list[str]) -> None:
    paper, figure, page, _, verdict = row
    assert verdict.endswith(".")
    named = pages_of_row(page)
    for name in named:
        assert (report.results / f"{name}.md").exists(), name
    wanted = papers.pages_of[paper][figure]
    assert set(named) <= set(wanted)
    for missing in set(wanted) - set(named):
        assert papers.makers[missing].on_lab
    if not named:
        assert verdict.startswith(("Not made", "A drawing", "A setting", "A test"))


@pytest.mark.parametrize(
    "command",
    sorted({part.strip(" `") for row in rows() for part in row[3].split(",") if part != "-"}),
)
def test_a_row_names_a_command_that_is_there(command: str) -> None:
    program, name, *options = shlex.split(command)
    if program == "script/bench":
        assert " ".join([name, *options]) in {each.command for each in papers.makers.values()}
    else:
        assert program == "thalweg"
        group = typer.main.get_command(cli.app)
        assert name in getattr(group, "commands", {}), command


def test_each_row_names_the_commands_of_its_pages() -> None:
    for paper, figure, _, command, _ in rows():
        for page in papers.pages_of[paper][figure]:
            assert f"`script/bench {papers.makers[page].command}`" in command, (paper, figure)


def test_makers_are_those_of_their_pages() -> None:
    simulated = (cmpi, cmpi_smpi, trees, grid, placement, placement_smpi, days, cloudmap)
    subjects = [each.subject for each in simulated] + [wan.in_simulator]
    for subject in subjects:
        maker = papers.makers[subject.name]
        assert maker.command == (subject.command or subject.name)
        assert not maker.on_lab


def test_every_page_is_of_some_figure() -> None:
    used = {
        page for figures in papers.pages_of.values() for pages in figures.values() for page in pages
    }
    assert used == set(papers.makers)


def write(folder: Path, page: str, **more: object) -> None:
    folder.mkdir(exist_ok=True)
    parts = [{"commit": "today"}, {"commit": "today"}]
    summary = {"machine": {"commit": "x"}, "measures": ["src"], "parts": parts}
    (folder / f"{page}.json").write_text(json.dumps(summary | more))


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where only what was made at the commit "today" is of today's sources."""
    monkeypatch.setattr(report, "results", tmp_path)
    monkeypatch.setattr(machine, "is_current", lambda commit, _paths: commit == "today")
    return tmp_path


def test_a_page_is_left_out_only_if_all_of_it_is_of_today(results: Path) -> None:
    settings = Settings([])
    assert not papers.is_finished(settings, "trees")
    write(results, "trees")
    assert papers.is_finished(settings, "trees")
    write(results, "trees", unfinished=True)
    assert not papers.is_finished(settings, "trees")
    write(results, "trees", parts=[{"commit": "today"}, {"commit": "before"}])
    assert not papers.is_finished(settings, "trees")
    write(results, "trees", parts=[])  # a page made as a whole
    assert not papers.is_finished(settings, "trees")


def made(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(papers, "make", lambda maker, _settings: found.append(maker.page))
    papers.run(settings)
    return found


def test_what_is_missing_is_made_and_the_lab_only_if_asked_for(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(results, "trees")
    write(results, "wan")
    assert made(monkeypatch, Settings([])) == [
        "cmpi", "days", "breakdown-simulated", "cmpi-smpi", "wan-simulated", "grid", "cloudmap",
        "placement-smpi", "placement",
    ]  # fmt: skip
    assert made(monkeypatch, Settings([], papers=["Matsuda"], lab=True)) == ["wan-simulated"]
    assert made(monkeypatch, Settings([], papers=["CMPI"], lab=True)) == [
        "cmpi", "days", "days-lab", "breakdown-simulated", "breakdown", "cmpi-smpi",
    ]  # fmt: skip
    assert made(monkeypatch, Settings([], papers=["HLOT"], anew=True)) == ["grid", "trees"]


def test_options_are_passed_on_to_commands_that_know_them() -> None:
    def given(page: str, **settings: bool) -> list[str]:
        return papers.arguments(papers.makers[page], Settings([], **settings))  # type: ignore[arg-type]

    assert given("wan-simulated") == ["wan", "--simulate", "--resume"]
    assert given("cmpi", anew=True, draft=True) == ["cmpi", "--draft", "--anew"]
    assert given("probe", save=False) == ["probe", "--quick", "--resume"]


@pytest.mark.parametrize("maker", papers.makers.values(), ids=lambda maker: maker.page)
def test_each_command_takes_what_is_passed_on_to_it(maker: papers.Maker) -> None:
    for settings in (Settings([], save=False, draft=True), Settings([], anew=True)):
        name, *given = papers.arguments(maker, settings)
        assert {option.removeprefix("--") for option in given} <= commands[name].taken


def test_a_command_that_fails_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(UserError, match="script/bench trees failed"):
        papers.make(papers.makers["trees"], Settings([]))
