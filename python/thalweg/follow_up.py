"""What `thalweg run` keeps and says once the program has ended.

The program's status is the command's, whatever fails here: a note says what did.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg import console, record_folder, run_summary
from thalweg.errors import UserError
from thalweg.preparation import Preparation

if TYPE_CHECKING:
    from thalweg.record import Run
    from thalweg.recording import Recording

# Modules that bring numpy with them are imported where they are used: `thalweg run` imports this
# one before the program starts.


def keep(
    prepared: Preparation,
    recording: "Recording | None",
    words: Sequence[str],
    status: int,
    summary: dict[str, Any] | None,
    *,
    bound: bool,
    is_missing: bool,
) -> str | None:
    """Keeps what a run left that has ended: its record, its time and its races. Returns what came
    of its placement; None if the ranks were in the launcher's order, or nothing is recorded.

    `is_missing`: what run_summary.is_missing() returns, as for tell().
    """
    came_of_it = None
    if recording:
        with _status_stands():
            recording.finish(words, prepared.launcher.name, status)
            came_of_it = _follow_up(prepared, recording.folder, bound=bound, is_missing=is_missing)
    if prepared.plan:
        from thalweg import races

        with _status_stands():
            races.keep(prepared.plan, summary, prepared.ranks)
    return came_of_it


def tell(
    summary: dict[str, Any] | None, came_of_it: str | None, folder: Path | None, *, is_missing: bool
) -> None:
    """Says how a run went, what came of its placement, and in which folder its record is, if it
    is to be named. `is_missing`: what run_summary.is_missing() returns."""
    with _status_stands():
        console.note(run_summary.line(summary, is_missing=is_missing))
        if came_of_it:
            console.note(came_of_it)
        if folder:
            _say_where(folder)


def _say_where(folder: Path) -> None:
    """Names the folder of a run record, which other commands take, if ranks left it here."""
    from thalweg.recording import files

    if files(folder):
        console.note(f"the run record is in {folder}")


def follow_network(
    prepared: Preparation, summary: dict[str, Any] | None, file: Path | None
) -> None:
    """Adds what a run found of the network to the weather of its hosts; keeps the network that
    plans followed to in the file, if there is one, and says if none could."""
    from thalweg import host_names, kept_network

    planned = prepared.plan is not None
    with _status_stands():
        names = prepared.known or host_names.own(prepared.placement)
        if planned:
            kept_network.learn(prepared.network, summary, names, time.time())
        if said := kept_network.what_came_of_it(prepared.network, summary, file, planned=planned):
            console.note(said)


def _follow_up(prepared: Preparation, folder: Path, *, bound: bool, is_missing: bool) -> str | None:
    """Adds a run's record to the weather of its hosts and its time to those of its placement, and
    says what came of that.

    A note says why if the record can't be read. None if the ranks were in the launcher's order, or
    if none of them has described its run and tell() says why: the summary `is_missing`, too.
    """
    if not prepared.plan:
        return None
    from thalweg import host_names, knowledge, record, recording, run_placement_text

    choice = prepared.choice
    placed = choice is not None and not choice.objection
    try:
        run = record.read(folder)
    except UserError as error:
        if is_missing and not recording.is_described(folder):
            return None
        console.note(f"the weather learns nothing from this run: {error}")
        return str(error) if placed else None
    knowledge.learn(run, prepared.known or host_names.own(prepared.placement))
    if run.status == 0 and not run.missing and not run.unfinished and prepared.known:
        _keep_time(prepared, run, bound=bound)
    return run_placement_text.outcome(choice, run) if choice and placed else None


def _keep_time(prepared: Preparation, run: "Run", *, bound: bool) -> None:
    """Keeps what a run took that went well. A note says why if its network can't be read."""
    from thalweg import inputs, past_placements

    comparable = past_placements.ComparableRuns(
        run.launch["program"], run.ranks, prepared.launcher.form, bound
    )
    try:
        past_placements.keep(comparable, run, inputs.network(run.folder / record_folder.NETWORK))
    except UserError as error:
        console.note(f"the run's placement isn't remembered: {error}")


@contextlib.contextmanager
def _status_stands() -> Iterator[None]:
    """Says what failed after the program has ended, whose status is the command's all the same."""
    try:
        yield
    except (UserError, OSError) as error:
        with contextlib.suppress(OSError):  # Standard error may be a file on a full disk.
            console.note(str(error))
