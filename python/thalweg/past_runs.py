"""Finds what was recorded of an earlier run like the one to come."""

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from thalweg import record, recording
from thalweg.errors import UserError
from thalweg.files import parse_json, read_text
from thalweg.record import Run

_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
)
"""A number by itself, with its sign, or digits in a word."""
_SCRIPTS = {".bash", ".jl", ".lua", ".m", ".pl", ".py", ".r", ".R", ".rb", ".sh", ".tcl"}


def pattern(arguments: Sequence[str]) -> list[str]:
    """Returns arguments without what differs between runs of a kind: numbers and paths.

    "--size=1000", "in/a.dat" and "step12" become "--size=0", "/" and "step0". The file of a program
    or a script stays, by its whole path: it is what a program such as `numactl` or `julia` runs.
    """
    return [_program(word) or _general(word) for word in arguments]


def _program(word: str) -> str:
    """Returns the path of a file that is a program or a script; "" if the word is something
    else."""
    found = shutil.which(word)
    if not found and Path(word).suffix in _SCRIPTS and Path(word).is_file():
        found = word
    return os.path.realpath(found) if found else ""


def _general(word: str) -> str:
    name, equals, value = word.rpartition("=")
    if "/" in value:
        return f"{_NUMBER.sub('0', name)}{equals}/"
    return _NUMBER.sub("0", word)


def find(program: Sequence[str], ranks: int) -> Run | None:
    """Returns the latest record in the cache of a run of the program that went well, on as many
    ranks: with the same arguments, else with arguments of the same pattern. None if there is none.

    The hosts and the order of the ranks on them may have been others. Records that can't be read
    are passed over.
    """
    for run in same(program, ranks):
        return run
    wanted = pattern(recording.arguments(program))
    alike = (folder for folder, words in _usable(program, ranks) if pattern(words) == wanted)
    return next(_read(alike), None)


def same(program: Sequence[str], ranks: int) -> Iterator[Run]:
    """Returns all such records of runs with the same arguments, the latest first."""
    wanted = recording.arguments(program)
    return _read(folder for folder, words in _usable(program, ranks) if words == wanted)


def is_like(run: Run, program: Sequence[str]) -> bool:
    """Whether a run, of any record, was one of the same program, by its name, with the same
    arguments."""
    words = run.description.get("launch", {}).get("program")
    if not words or not same_name(words, program):
        return False
    return recording.arguments(words) == recording.arguments(program)


def same_name(program: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two programs' files, of interpreters their scripts, have the same name in any
    folders."""
    first, second = (Path(recording.main_file(words)).name for words in (program, other))
    return first == second


def _read(folders: Iterable[Path]) -> Iterator[Run]:
    for folder in folders:
        with contextlib.suppress(UserError):
            run = record.read(folder)
            if not run.missing and not run.unfinished:
                yield run


def _usable(program: Sequence[str], ranks: int) -> Iterator[tuple[Path, list[str]]]:
    """Returns records of runs of so many ranks that went well, each with its arguments. Its program
    is the same file, however it was named."""
    for folder in recording.of_program(program):
        path = folder / "run.json"
        try:
            found = parse_json(read_text(path, str(path)), str(path))
        except UserError:
            continue
        launch: Any = found.get("launch") if isinstance(found, dict) else None
        if isinstance(launch, dict) and launch.get("status") == 0 and found.get("ranks") == ranks:
            words = launch.get("program")
            if isinstance(words, list) and words:
                yield folder, recording.arguments([str(word) for word in words])
