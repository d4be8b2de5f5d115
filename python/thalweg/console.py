"""The output that all commands share: tables, progress, JSON.

Text is printed as it is: no part of it is taken for rich's markup, and characters that a terminal
would act on are printed as escapes. styled() makes text bold or dim.
"""

import contextlib
import functools
import json
import os
import sys
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from thalweg.printable import printable

if TYPE_CHECKING:  # otherwise imported where it is needed: notes alone don't wait for it
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

# Output to a pipe, a file or CI isn't cut to 80 columns.
PIPE_WIDTH = 160
PATIENCE = 1.0
"""Seconds of work after which a line says what is being done, where there is no terminal."""
MOST_PAIRS = 1_000_000
"""Most pairs of hosts or ranks that are printed as JSON unasked."""


def plain(file: IO[str], width: int | None = PIPE_WIDTH) -> "Console":
    """Returns a console that writes to a file, without markup."""
    from rich.console import Console

    class Plain(Console):
        """Prints names as they are."""

        def on_broken_pipe(self) -> None:
            """Leaves it to who called, as print() does."""
            raise BrokenPipeError

        def render_str(self, text: str, **options: Any) -> "Text":
            return super().render_str(printable(text), **options)

    return Plain(file=file, width=width, highlight=False, markup=False, emoji=False)


def styled(text: str, style: str) -> "Text":
    """Returns text in a style such as "bold", for show() or a table's cell."""
    from rich.text import Text

    return Text(printable(text), style=style)


def table(
    *headings: str, rows: Iterable[Sequence[str]] = (), title: str | None = None,
    left: Container[int] | None = None, folded: Container[int] = (),
) -> "Table":  # fmt: skip
    """Returns a table without lines, for show().

    left: the columns aligned left, others right; None: all are. folded: the columns that a narrow
    terminal breaks within words rather than shortens.
    """
    from rich.table import Table

    found = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for at, heading in enumerate(headings):
        found.add_column(
            heading,
            justify="left" if left is None or at in left else "right",
            overflow="fold" if at in folded else "ellipsis",
        )
    for row in rows:
        found.add_row(*row)
    return found


def _console(*, stderr: bool) -> "Console":
    stream = sys.stderr if stderr else sys.stdout
    return plain(stream, width=None if stream.isatty() else PIPE_WIDTH)


def show(*renderables: Any) -> None:
    """Prints text or rich renderables to standard output, each on lines of its own."""
    _console(stderr=False).print(*renderables, sep="\n")


def show_line(text: str) -> None:
    """Prints text to standard output as one line, however long: a command that people copy."""
    _console(stderr=False).print(text, soft_wrap=True)


def note(message: str) -> None:
    """Prints a line on standard error about the current work."""
    text = printable(f"thalweg: {message}")
    dim = sys.stderr.isatty() and os.environ.get("TERM") not in (None, "dumb", "unknown")
    print(f"\x1b[2m{text}\x1b[0m" if dim else text, file=sys.stderr)


@functools.cache
def note_once(message: str) -> None:
    """Prints a note(), but only once however often the same is noticed."""
    note(message)


def show_json(data: Any) -> None:
    """Prints data as JSON, paths as text. Infinite and undefined numbers must have been replaced by
    None."""
    print(json.dumps(data, indent=2, allow_nan=False, default=os.fspath))


@contextlib.contextmanager
def progress(description: str, total: float | None = None) -> Iterator["Meter"]:
    """Shows a bar on standard error while the block runs; where that is no terminal, a line.

    The line comes after PATIENCE, so that what fails at once says nothing but why.
    """
    if not sys.stderr.isatty():
        with _later(PATIENCE, lambda: note(description)):
            yield Meter(None)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=_console(stderr=True), transient=True) as bars:
        bars.add_task(printable(description), total=total)
        yield Meter(bars)


@contextlib.contextmanager
def _later(seconds: float, action: Callable[[], None]) -> Iterator[None]:
    """Does something if the block still runs after some seconds."""
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Meter:
    """Moves the bar of progress()."""

    def __init__(self, bars: "Progress | None") -> None:
        self._bars = bars

    def update(self, done: float, total: float | None = None, text: str | None = None) -> None:
        """Shows `done` of `total`; `text` describes the current work."""
        if self._bars:
            task = self._bars.tasks[0]
            self._bars.update(
                task.id,
                completed=done,
                total=task.total if total is None else total,
                description=printable(text) if text else task.description,
            )
