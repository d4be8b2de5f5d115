"""The machine and the sources of a measurement."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thalweg.errors import UserError

changed = "+changes"
repository = Path(__file__).resolve().parent.parent


def describe() -> dict[str, Any]:
    """CPU, kernel and source version, as kept with every result."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "commit": commit(),
    }


def in_words() -> str:
    """Cores, CPU and kernel, as pages say it."""
    return f"{os.cpu_count()} cores of {_cpu_model()}, kernel {platform.release()}"


@functools.cache
def commit() -> str:
    """What was checked out when this was first asked: a commit, followed by `changed` if the tree
    differed from it; "unknown" without git."""
    head = _git("rev-parse", "--short=12", "HEAD")
    return head + changed * bool(changes()) if head else "unknown"


def changes() -> list[str]:
    """Files that differ from the commit, results apart: they change while a run writes them."""
    listed = _git("status", "--porcelain", "--", ".", ":!bench/results", ":!bench/raw")
    return [line.split(maxsplit=1)[1] for line in listed.splitlines()]


def require_commit() -> None:
    """Refuses a changed tree; called before a run whose pages name their commit."""
    commit()  # of the whole run, whatever is committed meanwhile
    if found := changes():
        raise UserError(
            f"{found[0]} has changes that no commit has, so that a page couldn't name what it "
            "measures: commit first, or write elsewhere with --draft"
        )


def last_change(paths: Sequence[str]) -> str:
    """Returns the last commit that changed one of these files and folders; "" if none."""
    return _git("log", "-1", "--format=%h", "--abbrev=12", "--", *paths)


def includes(commit: str, other: str) -> bool:
    """Whether a commit is `other` or was made after it."""
    return _git("merge-base", other, commit) == _git("rev-parse", other) != ""


def is_current(commit: str, paths: Sequence[str]) -> bool:
    """Whether these files and folders are today as in what `commit()` said, in a clean tree."""
    last = last_change(paths)
    return not commit.endswith(changed) and (not last or includes(commit, last))


def _git(*arguments: str) -> str:
    try:
        return subprocess.run(
            ["git", "-C", str(repository), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
