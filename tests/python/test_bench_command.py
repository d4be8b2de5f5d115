"""What script/bench refuses before it measures anything."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench import machine
from bench.builds import Build
from bench.commands import Command, everything, run_all
from bench.settings import Settings
from thalweg.errors import UserError


def said(*arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, "-m", "bench", *arguments], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2, result.stderr
    return result.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["native", "--simulate"], "No such option: --simulate"),
        (["headline", "--size", "1MB"], "No such option: --size"),
        (["wan", "--scenario", "cloud"], "no scenario cloud here; choose one of wan-2x16, sw"),
        (["breakdown", "--program", "pi"], "no program pi here; choose one of cg, nbody"),
        (["never-slower", "--plans", "fast"], "no plans fast here; choose one of thorough, quick"),
        (["cells", "--build", "lam-7"], "no MPI build lam-7 here"),
        (["all", "--scenario", "nowhere"], "no scenario nowhere here"),
    ],
)
def test_what_a_command_cannot_do_is_refused(arguments: list[str], problem: str) -> None:
    assert problem in said(*arguments)


@pytest.mark.parametrize(
    ("command", "build"),
    [
        ("placement-lab", "openmpi-4.1"),
        ("inside-lab", "openmpi-4.1"),
        ("smpi-lab", "mpich-4.0"),
        ("days-lab", "mpich-4.0"),
        ("timeline", "openmpi-4.1"),
    ],
)
def test_a_command_says_which_build_it_needs(command: str, build: str) -> None:
    other = Settings([Build("mpich-5.0", "mpich", Path())], save=False, anew=True)
    with pytest.raises(UserError, match=f"needs the MPI build {build}: choose it by --build"):
        everything[command].run(other)


def test_a_tree_with_changes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "changes", lambda: ["src/a.cpp"])
    with pytest.raises(UserError, match=r"src/a\.cpp has changes .*commit first.*--draft"):
        machine.require_commit()


def test_all_goes_on_after_a_command_that_fails() -> None:
    def fails(_: Settings) -> None:
        raise UserError("no such network")

    made: list[Settings] = []
    last = Command(made.append, fixed={"simulate": True})
    chosen = {"first": Command(fails), "second": Command(fails), "last": last}
    with pytest.raises(UserError, match="script/bench first, second failed"):
        run_all(chosen, Settings([]), 4)
    assert [(each.simulate, each.repetitions) for each in made] == [(True, 4)]
    with pytest.raises(UserError, match=r"^no such network$"):
        run_all({"first": Command(fails)}, Settings([]), None)


def test_all_makes_each_page_that_is_there() -> None:
    pages = (machine.repository / "bench" / "results").glob("*.md")
    made = [re.findall(r"by `script/bench ([^`]*)`", page.read_text())[0] for page in pages]
    assert set(made) <= everything.keys()
