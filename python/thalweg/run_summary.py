"""World rank 0's summary of a run: the files where it may be, and what it says in a line."""

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from thalweg import switches
from thalweg.collective_names import ends_together
from thalweg.hosts import is_this_machine
from thalweg.printable import duration


class Expected:
    """The summary that a run will leave in some of these files, which may have earlier ones."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._before = {file: _version(file) for file in files}

    def read(self) -> dict[str, Any] | None:
        """Returns what the first file that was written since has; None if none was."""
        for file, before in self._before.items():
            with contextlib.suppress(OSError):  # NFS forgets that a file wasn't there before.
                list(file.parent.iterdir())
            if _version(file) != before:
                with contextlib.suppress(OSError, ValueError):
                    found: dict[str, Any] = json.loads(file.read_text())
                    return found
        return None


def _version(file: Path) -> tuple[int, int] | None:
    """Tells a file from what it is replaced by, whatever clock its machine has."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def is_missing(summary: dict[str, Any] | None, status: int, first_host: str) -> bool:
    """Whether there is no summary although a program with the runtime library that ended with this
    status, world rank 0 on this host, leaves one that can be seen from here."""
    return summary is None and status == 0 and is_this_machine(first_host)


def line(summary: dict[str, Any] | None, *, is_missing: bool = False) -> str:
    """Returns planned and native calls of each collective, with reasons, in one line.

    Times are in the network's own time, as predictions are. `is_missing`: as is_missing() has it.
    """
    if summary is None and switches.is_off("THALWEG"):
        return "everything was native: THALWEG is off"
    if summary is None and is_missing:
        return (
            "no summary: the program didn't load the runtime library (it is linked statically, or "
            "a wrapper removes LD_PRELOAD), made no MPI call, or didn't come to MPI_Finalize"
        )
    if summary is None:
        return "no summary: world rank 0 ended early, or its files can't be seen from here"
    if reason := summary.get("everything_native"):
        return f"everything was native: {reason}"
    from thalweg import changes, races, record

    dilation = record.dilation_of(summary)
    parts = [
        _counts(name, counts, _gain(name, counts.get("planned", {}), dilation))
        for name, counts in summary["collectives"].items()
    ]
    # Their times overlap, also with the program's own work: sums would say nothing.
    parts += [
        _counts(f"nonblocking {name}", counts)
        for name, counts in summary.get("nonblocking", {}).items()
    ]
    if raced := races.line(summary):
        parts.append(raced)
    if changed := changes.line(summary):
        parts.append(changed)
    return "; ".join(parts) or "no collectives that Thalweg plans were called"


def _counts(name: str, counts: dict[str, Any], gain: str = "") -> str:
    """Returns text such as "bcast: 12 planned (400 ms), 3 native (single-host)"."""
    parts = []
    if calls := counts.get("planned", {}).get("calls", 0):
        parts.append(f"{calls} planned{gain}")
    native = {reason: count["calls"] for reason, count in counts.get("native", {}).items()}
    if total := sum(native.values()):
        parts.append(f"{total} native ({', '.join(sorted(native, key=lambda r: -native[r]))})")
    return f"{name}: {', '.join(parts)}"


def _gain(name: str, planned: dict[str, Any], dilation: float) -> str:
    """Returns text such as " (1.2 s; native 2 s, saved 800 ms; 50 % of the limit)".

    The time is rank 0's. It is compared with predictions, which are of whole calls, only where no
    rank leaves a call before all have entered it.
    """
    if "seconds" not in planned:
        return ""
    spent = planned["seconds"] / dilation
    parts = [duration(spent)]
    compared = planned.get("compared")
    if compared and ends_together(name):
        taken, native, limit = compared["seconds"] / dilation, compared["native"], compared["limit"]
        part = f"for {duration(taken)} of it " if taken < 0.99 * spent else ""
        saved = f"saved {duration(native - taken)}"
        parts.append(
            f"{part}native {duration(native)}, {saved if taken <= native else 'waiting included'}"
        )
        if taken > 0 and limit is not None:
            parts.append(f"{100 * limit / taken:.0f} % of the limit")
    return f" ({'; '.join(parts)})"
