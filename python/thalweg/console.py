"""The output that all commands share: tables, progress, JSON."""

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

# Output to a pipe, a file or CI isn't cut to 80 columns.
PIPE_WIDTH = 160


def _console(*, stderr: bool) -> Console:
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(stderr=stderr, width=None if terminal else PIPE_WIDTH, highlight=False)


def show(*renderables: Any) -> None:
    """Prints text or rich renderables to standard output, each on lines of its own."""
    _console(stderr=False).print(*renderables, sep="\n")


def note(message: str) -> None:
    """Prints a line on standard error about the current work."""
    _console(stderr=True).print(f"[dim]thalweg: {message}[/dim]")


def show_json(data: Any) -> None:
    """Prints data as JSON. Infinite and undefined numbers must have been replaced by None."""
    print(json.dumps(data, indent=2, allow_nan=False))


@contextlib.contextmanager
def progress(description: str, total: float | None = None) -> Iterator["Meter"]:
    """Shows a bar on standard error while the block runs; only lines where it is no terminal."""
    console = _console(stderr=True)
    if not console.is_terminal:
        note(description)
        yield Meter(None)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        bars.add_task(description, total=total)
        yield Meter(bars)


class Meter:
    """Moves the bar of progress()."""

    def __init__(self, bars: Progress | None) -> None:
        self._bars = bars

    def update(self, done: float, total: float | None = None, text: str | None = None) -> None:
        """Shows `done` of `total`; `text` describes the current work."""
        if self._bars:
            task = self._bars.tasks[0]
            self._bars.update(
                task.id,
                completed=done,
                total=task.total if total is None else total,
                description=text or task.description,
            )
