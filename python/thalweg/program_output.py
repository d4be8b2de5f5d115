"""What programs print, such as launchers of their versions: kept answers save asking again."""

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from thalweg.cache_folder import cache
from thalweg.errors import UserError
from thalweg.files import write_whole

_ANSWERS = "launchers.json"
"""The file in the cache with what launchers answered."""
MOST_ANSWERS = 32
"""Most answers that are kept, the latest."""
PATIENCE = 30.0
"""Seconds that a program gets."""


def printed(command: Sequence[str]) -> str:
    """Returns a command's output; empty if it can't be run or takes longer than PATIENCE."""
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, errors="surrogateescape", timeout=PATIENCE,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout


def answer(path: str, option: str, mark: Callable[[str], object]) -> str:
    """Returns what a launcher prints for an option, from the cache if this very file was asked
    before, which saves its start. `mark`: true of an answer that may be kept.

    A script is asked each time, since what it starts may become another.
    """
    key = _key(path, option)
    kept = _answers() if key else {}
    if key in kept:
        return kept[key]
    said = printed([path, option])
    if key and mark(said):
        latest = list((kept | {key: said}).items())[-MOST_ANSWERS:]
        with contextlib.suppress(OSError, UserError):  # The next run asks again.
            file = cache() / _ANSWERS
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, json.dumps(dict(latest), indent=0) + "\n")
    return said


def _key(path: str, option: str) -> str:
    """What an answer is kept by: the file with its time and size; empty if it is no binary."""
    try:
        with Path(path).open("rb") as file:
            if file.read(4) != b"\x7fELF":
                return ""
            found = os.fstat(file.fileno())
    except OSError:  # it may be executed only
        return ""
    return f"{path} {option} {found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns}"


def _answers() -> dict[str, str]:
    """Returns what launchers answered, by _key(); nothing if the file can't be read."""
    with contextlib.suppress(OSError, ValueError, AttributeError, RecursionError, UserError):
        found = json.loads((cache() / _ANSWERS).read_text()).items()
        return {key: said for key, said in found if isinstance(said, str)}
    return {}
