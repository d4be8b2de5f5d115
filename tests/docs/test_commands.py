"""Every documented command runs, and prints what the document shows."""

import os
import re
import shutil
from pathlib import Path

import pytest

from thalweg.commands import Commands
from transcript import ROOT, commands, run

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WITH_COMMANDS = [path for path in DOCUMENTS if commands(path.read_text())]
SCRIPT = re.compile(r"^```(?:sh|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IN_THE_TREE = ("examples", "script", ".venv")


@pytest.mark.parametrize("document", WITH_COMMANDS, ids=lambda path: path.name)
def test_the_documented_commands_run(document: Path, tmp_path: Path) -> None:
    for name in IN_THE_TREE:
        (tmp_path / name).symlink_to(ROOT / name)
    for command in commands(document.read_text()):
        if command.where == "" or (command.where == "lab" and os.geteuid() == 0):
            run(command, tmp_path)


def test_commands_are_in_transcripts() -> None:
    for document in DOCUMENTS:
        for script in SCRIPT.findall(document.read_text()):
            assert script.startswith("#!"), f"{document.name}: no test runs this: {script}"


def test_every_command_is_documented() -> None:
    text = (ROOT / "docs/guide.md").read_text()
    typed = [command.text for command in commands(text)]
    for name in Commands():
        assert any(f"thalweg {name}" in line for line in typed), f"no example of {name}"


def test_the_tests_that_the_runtime_is_documented_with_are_there() -> None:
    names = re.findall(r"`mpi-([\w-]+)`", (ROOT / "docs/runtime.md").read_text())
    declared = (ROOT / "tests/mpi/CMakeLists.txt").read_text().replace("${ranks}-", "")
    known = set(re.findall(r"[\w-]+", declared))
    assert len(names) > 17
    for name in names:
        # Tests of a list of cases are declared as what they have in common, and the cases.
        beginnings = (name[: at + 1] for at, letter in enumerate(name) if letter == "-")
        is_case = any({each, name.removeprefix(each)} <= known for each in beginnings)
        alone = {name, f"{name}-", name.rstrip("0123456789")} & known
        assert alone or is_case, f"no test mpi-{name}"


def test_transcripts_are_read_as_written() -> None:
    text = (
        "a\n```console\n$ echo one \\\n  two\none …\n\n$ true\n```\n```console lab\n$ false\n```\n"
    )
    found = commands(text)
    assert [(c.text, c.line, c.where, c.shown) for c in found] == [
        ("echo one \\\n  two", 3, "", ["one …"]),
        ("true", 7, "", []),
        ("false", 10, "lab", []),
    ]


def test_what_a_command_prints_is_compared(tmp_path: Path) -> None:
    assert shutil.which("bash")
    good, bad = commands("```console\n$ echo 'a   7 b'\na … b\n$ echo c\nd\n```\n")
    run(good, tmp_path)
    with pytest.raises(AssertionError, match="the document shows"):
        run(bad, tmp_path)
