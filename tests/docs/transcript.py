"""Runs what a Markdown document tells its reader to type.

Blocks fenced as ```console are transcripts: lines after `$ ` are commands (`\\` at the end
continues them), the others what they print. A word after `console` says where the block can run:
nothing: on any machine after script/setup; `lab`: where the lab works (root); `untested`: the
tests leave it out. The blocks of a document run in their order in one folder, as its reader would
type them.
"""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WHERE = ("", "lab", "untested")
TIMEOUT = 300


@dataclass
class Command:
    """A command and the lines that the document shows of its output; … stands for anything."""

    text: str
    line: int
    where: str
    shown: list[str] = field(default_factory=list)


def commands(text: str) -> list[Command]:
    """The commands of a document, in order."""
    found: list[Command] = []
    for block in BLOCK.finditer(text):
        where = block[1] or ""
        if where not in WHERE:
            raise ValueError(f"console {where}: expected one of {WHERE}")
        first = text[: block.start()].count("\n") + 2
        continued = False
        for number, line in enumerate(block[2].splitlines(), first):
            if continued:
                found[-1].text += "\n" + line
            elif line.startswith("$ "):
                found.append(Command(line[2:], number, where))
            elif line.strip():
                found[-1].shown.append(line)
            continued = line.endswith("\\") and (continued or line.startswith("$ "))
    return found


def run(command: Command, folder: Path) -> str:
    """Runs the command and returns all it printed.

    Raises AssertionError if it fails, or didn't print a line that the document shows.
    """
    environment = dict(os.environ)
    environment["PATH"] = f"{ROOT / '.venv/bin'}:{environment['PATH']}"
    environment["XDG_CACHE_HOME"] = str(folder / ".cache")
    result = subprocess.run(
        ["bash", "-c", command.text],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert result.returncode == 0, f"{command.text}: status {result.returncode}\n{result.stdout}"
    printed = [_plain(line) for line in result.stdout.splitlines()]
    for line in command.shown:
        pattern = ".*".join(re.escape(_plain(part)) for part in line.split("…"))
        assert any(re.search(pattern, candidate) for candidate in printed), (
            f"{command.text}: the document shows\n{line}\nbut it printed\n{result.stdout}"
        )
    return result.stdout


def _plain(line: str) -> str:
    return " ".join(line.split())
