"""Finds what was recorded of an earlier run like the one to come."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thalweg import record, recording
from thalweg.errors import UserError
from thalweg.files import parse_json, read_text
from thalweg.record import Run

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def pattern(arguments: Sequence[str]) -> list[str]:
    """Returns arguments without what differs between runs of a kind: numbers and paths.

    "--size=1000", "in/a.dat" and "step12" become "--size=0", "/" and "step0".
    """
    return [_general(word) for word in arguments]


def _general(word: str) -> str:
    name, equals, value = word.rpartition("=")
    if "/" in value:
        return f"{name}{equals}/"
    return _NUMBER.sub("0", word)


def find(program: Sequence[str], ranks: int) -> Run | None:
    """Returns the latest record in the cache of a run of the program that went well, on as many
    ranks: with the same arguments, else with arguments of the same pattern. None if there is none.

    The hosts and the order of the ranks on them may have been others. Records that can't be read
    are passed over.
    """
    alike = []
    for folder in recording.of_program(program):
        words = _usable(folder, ranks)
        if words == list(program):
            alike.append((0, folder))
        elif words and pattern(words[1:]) == pattern(program[1:]):
            alike.append((1, folder))
    for _, folder in sorted(alike, key=lambda each: each[0]):
        try:
            run = record.read(folder)
        except UserError:
            continue
        if not run.missing and not run.unfinished:
            return run
    return None


def _usable(folder: Path, ranks: int) -> list[str]:
    """Returns the program and arguments of a run of so many ranks that went well; else nothing."""
    path = folder / "run.json"
    try:
        found = parse_json(read_text(path, str(path)), str(path))
    except UserError:
        return []
    launch: Any = found.get("launch") if isinstance(found, dict) else None
    if not isinstance(launch, dict) or launch.get("status") != 0 or found.get("ranks") != ranks:
        return []
    words = launch.get("program")
    return [str(word) for word in words] if isinstance(words, list) else []
