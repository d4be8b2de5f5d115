"""What script/bench refuses before it measures anything."""

import subprocess
import sys

import pytest

from bench import machine
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
        (["cells", "--build", "lam-7"], "no MPI build lam-7 here"),
        (["all", "--scenario", "nowhere"], "no scenario nowhere here"),
    ],
)
def test_what_a_command_cannot_do_is_refused(arguments: list[str], problem: str) -> None:
    assert problem in said(*arguments)


def test_a_tree_with_changes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "changes", lambda: ["src/a.cpp"])
    with pytest.raises(UserError, match=r"src/a\.cpp has changes .*commit first.*--draft"):
        machine.require_commit()
