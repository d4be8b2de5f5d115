"""Ends processes that were started, and what they have started."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

GRACE = 5.0
"""Seconds that the launcher gets to clean up."""


def end_tree(process: "subprocess.Popen[str]") -> None:
    """Ends a process and all its descendants: first by SIGTERM, then by SIGKILL."""
    family = _descendants(process.pid)
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    for pid, began in family.items():
        if (now := _stat(pid)) and now[1] == began:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    if process.poll() is None:
        process.kill()
        process.wait()


def _descendants(pid: int) -> dict[int, int]:
    """Returns process ids with start times, which distinguish later processes of the same id."""
    processes = {
        int(entry.name): stat
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and (stat := _stat(int(entry.name)))
    }
    found, frontier = dict[int, int](), {pid}
    while frontier:
        frontier = {child for child, (parent, _) in processes.items() if parent in frontier}
        found.update({child: processes[child][1] for child in frontier})
    return found


def _stat(pid: int) -> tuple[int, int] | None:
    """Returns parent and start time of a process; None if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), int(fields[19])
