"""`thalweg run`: an unmodified MPI program with the plans for its hosts.

Finds the launcher that belongs to the program's MPI library, prepares network and plan
(`thalweg.preparation`), and starts the launcher with the runtime library preloaded into the ranks
only.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from thalweg import console, follow_up, record_folder, run_summary, switches
from thalweg.caution import Caution, check_threshold
from thalweg.errors import UserError
from thalweg.files import make_output_folder, temporary_folder, write_error
from thalweg.hosts import file_of, is_this_machine
from thalweg.launcher import start_error
from thalweg.options import (
    Adapt,
    Bind,
    Events,
    Hostfile,
    Hosts,
    Json,
    KeepNetwork,
    Launcher,
    Live,
    Matrix,
    Mpi,
    NetworkFile,
    NoPlacement,
    NoRecord,
    PlanFile,
    Race,
    Ranks,
    Recalibrate,
    Record,
    StartMeasured,
    Trace,
    Variables,
    VerifyNetwork,
)
from thalweg.preparation import Preparation, Request, for_ranks, prepare
from thalweg.signals import PassedOn

if TYPE_CHECKING:
    from thalweg.recording import Recording

# Modules that bring numpy with them, or the planner, are imported where something is planned,
# recorded or watched: a program on one host starts without waiting for them.

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class _Wanted:
    """What is wanted of a run, by options that have been checked."""

    program: Sequence[str]
    request: Request
    record: Path | None
    """The folder that the user names for the run record."""
    no_record: bool
    events: str | None
    trace: Path | None
    watch: bool
    races: bool
    adapts: bool
    json: bool


@dataclass(frozen=True)
class _Ended:
    """What came of a launch."""

    words: Sequence[str]
    """The launcher's command line."""
    status: int
    summary: dict[str, Any] | None
    is_preloaded: bool
    """Whether the ranks were given the runtime library."""
    is_missing: bool
    """What run_summary.is_missing() says of the summary, if they were."""


@app.command(name="run", context_settings={"allow_interspersed_args": False})
def command(
    program: Annotated[list[str], typer.Argument(help="The program and its arguments, after --.")],
    ranks: Ranks = None,
    hosts: Hosts = None,
    hostfile: Hostfile = None,
    network: NetworkFile = None,
    plan: PlanFile = None,
    matrix: Matrix = None,
    no_placement: NoPlacement = False,
    bind: Bind = None,
    record: Record = None,
    no_record: NoRecord = False,
    events: Events = None,
    trace: Trace = None,
    watch: Live = False,
    race: Race = "on",
    adapt: Adapt = None,
    keep_network: KeepNetwork = None,
    verify: VerifyNetwork = "auto",
    recalibrate: Recalibrate = "20%",
    start: StartMeasured = "quick",
    launcher: Launcher = None,
    mpi: Mpi = None,
    variables: Variables = None,
    json: Json = False,
) -> int:
    """Run an MPI program with plans for the network between its hosts.

    Probes the network unless its file is given or cached, plans, and starts the program by the
    launcher of its own MPI library. Passes on the program's exit status. With --json, the
    program's output goes to standard error.

    Example: [bold]thalweg run -n 16 -H 'node[0-7]:2' -- ./app input[/bold]
    """
    if watch and no_record:
        raise UserError("--watch reads the run record: leave out --no-record")
    topology = Path(bind) if bind and bind.endswith(".xml") else None
    read = [hostfile, file_of(hosts or ""), matrix, topology]
    adapts = _adapts(adapt, race)
    if adapts or keep_network:
        from thalweg import kept_network

        kept_network.check_options(
            keep_network,
            adapts=adapts,
            races=race == "on",
            recorded=trace is not None or not no_record,
            network=network,
            has_plan=plan is not None,
            read=[*read, plan],
        )
    _check_events(events)
    folder = _wanted_folder(record, no_record, None if trace else events, read)
    if trace:
        from thalweg.recording import check_trace

        check_trace(trace, read)
    if ":" in program:
        raise UserError(
            "a run has one program: ':' joins several; start them by mpirun with what `thalweg "
            "env` prints before each"
        )
    _check_placement(matrix, no_placement, plan, program)
    caution = Caution(verify, check_threshold(recalibrate), start)
    place = not (no_placement or plan)
    request = Request(
        ranks, hosts, hostfile, launcher, mpi, network, plan, caution, place, matrix, bind,
        variables=for_ranks(variables or ()),
    )  # fmt: skip
    wanted = _Wanted(
        program, request, folder, no_record=no_record, events=events, trace=trace, watch=watch,
        races=race == "on", adapts=adapts, json=json,
    )  # fmt: skip
    prepared = prepare(request, program)
    recording = _begin_records(wanted, prepared)
    ended = _run(wanted, prepared, recording)
    came_of_it = follow_up.keep(
        prepared, recording, ended.words, ended.status, ended.summary,
        bound=bind is not None, is_missing=ended.is_missing,
    )  # fmt: skip
    if not json:
        _tell(wanted, recording, ended, came_of_it)
    if adapts:
        follow_up.follow_network(prepared, ended.summary, keep_network)
    if json:
        _print(prepared, recording, ended, came_of_it)
    return ended.status


def _adapts(adapt: str | None, race: str) -> bool:
    """Whether plans follow the network: as the option says, else as the environment does, unless
    plans don't race."""
    if adapt:
        return adapt == "on"
    races = race == "on" and not switches.is_off("THALWEG_RACE")
    return races and switches.is_on("THALWEG_ADAPT")


def _own_summary(folder: Path, others: Sequence[Path], first_host: str) -> Path | None:
    """Returns the summary's file: the user's own, else one in a temporary folder. None if it will
    be in others, and world rank 0 is on another machine, where it can't write into ours."""
    if named := os.environ.get("THALWEG_SUMMARY"):
        return Path(named)
    is_needed = not others or is_this_machine(first_host)
    return folder / record_folder.SUMMARY if is_needed else None


def _check_placement(
    matrix: Path | None, no_placement: bool, plan: Path | None, program: Sequence[str]
) -> None:
    """Checks the options of placement. Raises UserError for those that contradict each other."""
    if not matrix:
        return
    from thalweg import run_placement

    if no_placement:
        raise UserError("--matrix and --no-placement are given; leave out one")
    if plan:
        raise UserError("--matrix places the ranks, and --plan is for one placement: leave out one")
    if remark := run_placement.another_program(matrix, program):
        console.note(remark)


def _watching(recording: "Recording | None") -> contextlib.AbstractContextManager[None]:
    """Says what the collectives of a recorded run do while it runs, if there is one to watch."""
    if not recording:
        return contextlib.nullcontext()
    from thalweg.watch import watching

    return watching(recording.folder)


def _as_json(prepared: Preparation) -> dict[str, Any] | None:
    """Returns the choice of a placement, if there was one to make."""
    if not prepared.choice:
        return None
    from thalweg import run_placement_text

    return run_placement_text.as_json(prepared.choice)


def _check_events(events: str | None) -> None:
    """Raises UserError for an amount of events that the runtime would not take."""
    if events is None or events == "all":
        return
    from thalweg.units import parse_size

    if parse_size(events) == 0:
        raise UserError(f"--events {events}: a rank needs room for events; leave it out for 4MiB")


def _wanted_folder(
    record: Path | None, no_record: bool, events: str | None, read: Sequence[Path | None]
) -> Path | None:
    """Checks the options of recording. Raises UserError for those that contradict each other, and
    for a folder that has what is `read`."""
    if no_record and (record or events):
        raise UserError(
            "--no-record is given, and --record or, without --trace, --events; leave out one"
        )
    if not record:
        return None
    from thalweg import recording

    return recording.named(record, read)


def _begin_records(wanted: _Wanted, prepared: Preparation) -> "Recording | None":
    """Begins the trace and the run record, as far as they are wanted. Raises UserError for a folder
    that can't be written, or that has what is read."""
    if wanted.trace:
        make_output_folder(wanted.trace, f"trace folder {wanted.trace}", record_folder.SUMMARY)
    network = wanted.request.network
    if wanted.record and network != prepared.network:  # else it gets a copy of the user's file
        from thalweg.recording import check_record

        check_record(wanted.record, [network])
    recording = _begin_recording(wanted, prepared)
    if wanted.trace and not prepared.is_off:
        from thalweg.recording import empty_trace

        empty_trace(wanted.trace)
    return recording


def _begin_recording(wanted: _Wanted, prepared: Preparation) -> "Recording | None":
    """Begins the run record, unless it isn't wanted: in the user's folder, or in the cache if
    something is planned, or would be after a longer run, or if events or --watch need it.

    None, with a note, if the cache has no place for it. Raises UserError if the folder hasn't.
    """
    folder, program = wanted.record, wanted.program
    usual_one = folder is None
    is_usual = prepared.plan or prepared.seems_short or wanted.events is not None or wanted.watch
    if wanted.no_record or prepared.is_off or (usual_one and not is_usual):
        return None
    from thalweg.programs import whole
    from thalweg.recording import Recording, usual

    if folder is None:
        folder = usual(program, [host.name for host in prepared.hosts])
    if folder is None:
        return None
    choice = prepared.choice
    order = choice.usual.hosts if choice and not choice.objection else None
    words = whole(program)  # now: the program may make files that its arguments name
    recording = Recording(folder, prepared.network, prepared.plan, words, order, prepared.known)
    try:
        recording.start()
    except OSError as error:
        remedy = "the run isn't recorded" if usual_one else ""
        sentence = write_error(f"run record {folder}", error, remedy)
        if not usual_one:
            raise UserError(sentence) from None
        console.note(sentence)
        return None
    return recording


def _run(wanted: _Wanted, prepared: Preparation, recording: "Recording | None") -> _Ended:
    """Runs the program to its end. Raises UserError if it can't start."""
    recorded = recording.folder if recording else None
    with temporary_folder() as folder:
        others = [each for each in (recorded, wanted.trace) if each]
        own_file = _own_summary(folder, others, prepared.placement[0])
        files = [own_file, *(each / record_folder.SUMMARY for each in others)]
        expected = run_summary.Expected(filter(None, files))
        own_variables = prepared.environment(
            trace=wanted.trace, summary=own_file, record=recorded, events=wanted.events,
            race=wanted.races, adapt=wanted.adapts,
        )  # fmt: skip
        order = prepared.order(folder / "hosts")
        order.write()
        for remark in order.remarks:
            console.note(remark)
        words = prepared.launcher.command(prepared.ranks, order, own_variables, wanted.program)
        if prepared.plan:
            from thalweg import wisdom

            wisdom.forget()
        with _watching(recording if wanted.watch else None):
            status = launch(words, output=sys.stderr if wanted.json else None)
        summary, first_host = expected.read(), prepared.placement[0]
        # Nothing is missing of a program that runs without the runtime library.
        is_preloaded = bool(own_variables)
        is_missing = is_preloaded and run_summary.is_missing(summary, status, first_host)
        return _Ended(words, status, summary, is_preloaded=is_preloaded, is_missing=is_missing)


def launch(command: Sequence[str], output: TextIO | None = None) -> int:
    """Runs the launcher in the foreground, and passes on signals and its exit status.

    Its output goes to standard output unless `output` is given. Raises UserError if it can't start.
    """
    with PassedOn() as signals:
        try:
            started = subprocess.Popen(command, stdout=output)
        except OSError as error:
            raise start_error(command, error) from None
        with started as process:
            signals.to(process)
            status = process.wait()
    return status if status >= 0 else 128 - status


def _tell(
    wanted: _Wanted, recording: "Recording | None", ended: _Ended, came_of_it: str | None
) -> None:
    """Says how the run went."""
    if not ended.is_preloaded:
        return
    unnamed = recording.folder if recording and wanted.record is None else None
    follow_up.tell(ended.summary, came_of_it, unnamed, is_missing=ended.is_missing)


def _print(
    prepared: Preparation, recording: "Recording | None", ended: _Ended, came_of_it: str | None
) -> None:
    """Prints the run as JSON: last, since nobody may read it."""
    console.show_json(
        {"command": ended.words, "status": ended.status, "plan": prepared.plan}
        | {"network": prepared.network, "summary": ended.summary}
        | {"record": recording.folder if recording else None, "placement": _as_json(prepared)}
        | {"outcome": came_of_it}
    )
