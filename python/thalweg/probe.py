"""`thalweg probe`: runs thalweg-probe on the hosts; nothing hangs, or fails without a reason."""

import contextlib
import json
import math
import os
import queue
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from thalweg import console, host_names, launch_files, paths, weather, weather_file
from thalweg import network as networks
from thalweg._core import probe as _core
from thalweg._core.probe import Phase
from thalweg.errors import UserError, user_errors
from thalweg.files import temporary_folder, write_file
from thalweg.hosts import Host, short_name
from thalweg.journal import Journal
from thalweg.launch_output import Launch
from thalweg.launcher import Launcher
from thalweg.network import Network, from_json
from thalweg.reachable import PATIENCE, check_reachable
from thalweg.signals import ended_by_signals

__all__ = [
    "OtherHostsError",
    "Phase",
    "check_reachable",
    "in_order_of",
    "outline",
    "run",
    "unheard",
]

LONGEST = 60.0
"""Seconds of the network's own time that its measurement may take, unless set."""
STARTUP = 60.0
"""Additional seconds that the launcher may take to start all ranks, and STARTUP_OF_HOST for each
host."""
STARTUP_OF_HOST = 0.05
"""Seconds. src/probe/main.cpp has the same."""


class OtherHostsError(UserError):
    """The hosts aren't those of the network that was to be completed: what they call themselves
    now is kept (thalweg.host_names)."""


class _LauncherEndedError(UserError):
    """The launcher ended before the probe did."""

    def __init__(self, what: str, said: Sequence[str]) -> None:
        super().__init__(what + (f": {' / '.join(said)}" if said else ""))
        self.what = what
        """The same without what the launcher said last."""


@ended_by_signals()
def run(
    hosts: Sequence[Host],
    output: Path,
    launcher: Launcher,
    *,
    budget: float | None = None,
    patience: float = PATIENCE,
    base: Path | None = None,
    dilation: float | None = None,
    resume: bool = False,
    resume_within: float = 0,
    pairs: Sequence[tuple[int, int]] = (),
    hurried: bool = False,
    measured_for: Callable[[float], None] | None = None,
    remedy: str = "",
) -> None:
    """Measures the network between the hosts, and writes the network file.

    `budget` is in seconds of the network's own time: a lab dilated 4 times takes 4 times as long.
    Without it the network gets as long as it needs, up to `LONGEST`, and the MPI library's
    collectives what is left of 10 s (16 hosts) to 20 s (128 hosts).
    With `base` and `pairs` of hosts, by their numbers in that network file, only measures these;
    then the hosts must be those of the file, in its order. With `base` alone, only adds the
    launcher's MPI library to that network file's content. Results are kept in a journal beside the
    output until the end; with `resume`, continues from there, and so does a probe within
    `resume_within` seconds by itself.
    With `hurried`, whether the hosts can be reached is looked at only after it has failed, and what
    has been found by then isn't kept.
    `measured_for` is told for how many seconds of this machine's time the ranks measured, also if
    the probe fails.
    `remedy`: what helps where the output, which the user didn't name, can't be written.
    Raises UserError naming the host at fault, and OtherHostsError if `base` is of others.
    """
    if dilation is None:
        dilation = lab_dilation()
    if base and not pairs:
        hosts = in_order_of(base, hosts)
    if not hurried:
        check_reachable(launcher, hosts, patience)
    names = [host.name for host in hosts]
    program = [str(paths.binary(f"thalweg-probe-{launcher.flavour}")), "--events"]
    program += _arguments(names, base, pairs, budget=budget, patience=patience, dilation=dilation)
    journal = Journal(
        output,
        {"hosts": names, "library": launcher.flavour, "dilation": dilation, "base": str(base)},
        remedy,
    )
    if resume:
        journal.resume()
    if resume or journal.resume_recent(resume_within):
        program += ["--resume", str(journal.path.absolute())]
    longest = 3 * (LONGEST if budget is None else budget) * dilation + 5 * patience
    complete = False
    try:
        text = _measure(names, launcher, program, longest, journal, measured_for)
        found = _write(text, output, remedy)
        complete = True
        if found is not None:
            with contextlib.suppress(UserError):  # the network is in its file all the same
                _keep(found, names, is_new=not base)
    except UserError as error:
        if hurried and not isinstance(error, OtherHostsError):  # all of which have answered
            _name_unreachable(error, launcher, hosts, patience)
        raise
    finally:
        if journal.close(complete=complete or hurried or bool(pairs)):
            soon = f"such a run within {resume_within / 60:.0f} min"
            who = soon if resume_within else "--resume"
            console.note(f"the results so far are in {journal.path}: {who} continues from there")


def _arguments(
    names: Sequence[str],
    base: Path | None,
    pairs: Sequence[tuple[int, int]],
    *,
    budget: float | None,
    patience: float,
    dilation: float,
) -> list[str]:
    """Returns the probe's options, but for what resumes an earlier one."""
    arguments = {
        "--patience": f"{patience}s",
        "--dilation": str(dilation),
        "--hosts": _fitting(names),
    }
    if budget is not None:
        arguments["--budget"] = f"{budget}s"
    if pairs:
        arguments["--pairs"] = ",".join(f"{a}-{b}" for a, b in pairs)
    if base:
        arguments["--base"] = str(base.absolute())
    return [word for argument in arguments.items() for word in argument]


def _fitting(names: Sequence[str]) -> str:
    """Lists the first names, as many as one argument may have: errors call the others by rank.

    Further arguments would not help: Open MPI joins them all in one variable, OMPI_ARGV.
    """
    text = ",".join(names)
    if len(text) <= launch_files.LONGEST:
        return text
    return text[: text.rindex(",", 0, launch_files.LONGEST + 1)]


def _measure(
    names: Sequence[str],
    launcher: Launcher,
    program: Sequence[str],
    longest: float,
    journal: Journal,
    measured_for: Callable[[float], None] | None,
) -> str:
    """Runs the probe, a rank on each host, for at most `longest` seconds after all have started.
    Returns the network file's text. Raises UserError."""
    with temporary_folder() as folder:
        order = launch_files.order(
            launcher.form, [Host(name) for name in names], names, folder / "hosts"
        )
        order.write()
        variables = {"THALWEG": "off", **launcher.libraries()}
        command = launcher.command(len(names), order, variables, program)
        with Launch(command) as launch:
            # What is done with the result needs it; now it takes time in which ranks start.
            import numpy  # noqa: F401

            conversation = _Conversation(launch, names, longest, journal)
            try:
                return conversation.network()
            finally:
                if measured_for:
                    measured_for(conversation.measured_for)


def _write(text: str, output: Path, remedy: str) -> Network | None:
    """Writes the network file. Returns the network; None if the text of a file isn't one, of which
    whoever reads the file says what is wrong. Raises UserError."""
    if output.suffix == ".cbor":
        found = from_json(text, str(output))
        networks.write(found, output)
        return found
    write_file(output, str(output), text, remedy)
    with contextlib.suppress(UserError):
        return from_json(text, str(output))
    return None


def _keep(found: Network, listed: Sequence[str], *, is_new: bool) -> None:
    """Keeps what the listed hosts, in the order of ranks, call themselves, and new weather."""
    own = [host.name for host in found.hosts]
    if len(own) == len(listed):
        host_names.remember(listed, own)
    if is_new:
        weather_file.add(own, weather.of_network(found, time.time()))


@user_errors()
def outline(network: Network, budget: float) -> list[Phase]:
    """Predicts the phases of a probe of this network within `budget` seconds.

    Raises UserError if the network isn't valid or the budget is negative.
    """
    return _core.outline(network, budget)


def in_order_of(network: Path, hosts: Sequence[Host]) -> list[Host]:
    """Returns the hosts in the order of a network file, by any names; unknown ones come last.

    Raises UserError if it can't be read.
    """
    try:
        names = [host.name for host in networks.read(network).hosts]
    except UserError as error:
        raise UserError(f"{error}; or probe without --base") from None
    places = host_names.matches([host.name for host in hosts], names, ask=True)
    place = dict(zip(hosts, places, strict=True))
    return sorted(hosts, key=lambda host: len(names) if (at := place[host]) is None else at)


def _name_unreachable(
    error: UserError, launcher: Launcher, hosts: Sequence[Host], patience: float
) -> None:
    """Raises an error that begins with the hosts that can't be reached, if there are any.

    They explain the launcher's end, so what the launcher said of it is left out.
    """
    try:
        check_reachable(launcher, hosts, patience)
    except UserError as unreachable:
        then = error.what if isinstance(error, _LauncherEndedError) else error
        raise UserError(f"{unreachable}; {then}") from None


class _Conversation:
    """Reads the probe's events until it delivers a network; tracks which hosts have started."""

    def __init__(
        self, launch: Launch, hosts: Sequence[str], longest: float, journal: Journal
    ) -> None:
        self._launch = launch
        self._journal = journal
        self._hosts = hosts
        self._startup = STARTUP + STARTUP_OF_HOST * len(hosts)
        self._end = time.monotonic() + self._startup + longest
        self._started: list[str] = []
        self._waited: list[str] = []
        self._measuring = False
        self._measuring_since = math.inf

    @property
    def measured_for(self) -> float:
        """The seconds since the ranks began to measure; before, 0."""
        return max(0.0, time.monotonic() - self._measuring_since)

    def network(self) -> str:
        """Returns the network file's text. Raises UserError if it doesn't come."""
        with console.progress(f"probing {len(self._hosts)} hosts") as meter:
            for event in self._events():
                match event.get("event"):
                    case "started":
                        self._started.append(event["host"])
                        meter.update(len(self._started), len(self._hosts), "starting")
                    case "waited":
                        self._waited.append(event["host"])
                    case "progress":
                        self._begin_to_measure()
                        meter.update(event["done"], event["total"], event["phase"])
                    case "step":
                        self._begin_to_measure()
                        self._journal.add(json.dumps(event), event.get("number"))
                    case "note":
                        console.note(event["text"])
                    case "error":
                        raise self._error(event)
                    case "network":
                        return str(event["text"])
        raise self._ended()

    def _error(self, event: Mapping[str, Any]) -> UserError:
        if "hosts" not in event:
            return UserError(event["text"])
        host_names.remember(self._hosts, event["hosts"])
        return OtherHostsError(event["text"])

    def _begin_to_measure(self) -> None:
        if not self._measuring:
            self._measuring, self._measuring_since = True, time.monotonic()

    def _events(self) -> Iterator[dict[str, Any]]:
        """Reads until the launcher ends. Other lines come from MPI and may explain an error."""
        startup = time.monotonic() + self._startup
        while True:
            all_there = len(self._started) >= len(self._hosts)
            deadline = self._end if self._measuring or all_there else min(self._end, startup)
            try:
                line = self._launch.lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise UserError(self._who_is_silent()) from None
            if line is None:
                return
            event = _as_event(line)
            if event is None:
                self._launch.complaints.append(line.strip())
            else:
                yield event

    def _who_is_silent(self) -> str:
        missing = unheard(self._hosts, self._started)
        if missing and not self._measuring:
            return f"{missing} did not start the probe within {self._startup:g} s"
        return "the probe did not finish: a host died or stopped answering while it was measured"

    def _ended(self) -> UserError:
        self._launch.process.wait()
        # The reader may not have handed over the last line yet.
        time.sleep(0.2)
        said = [line for line in self._launch.complaints if line.strip("-= ")]
        if self._waited and (silent := unheard(self._hosts, self._waited)):
            return UserError(
                f"{silent} died or stopped while the MPI library's collectives were timed"
            )
        missing = unheard(self._hosts, self._started)
        who = f"; {missing} did not start" if missing and not self._measuring else ""
        status = self._launch.process.returncode
        return _LauncherEndedError(f"the launcher ended with status {status}{who}", said[-4:])


def unheard(hosts: Sequence[str], started: Sequence[str]) -> str:
    """Names the hosts to which no name in `started` belongs.

    A host's own name may differ from the user's; then only the number of hosts is known. Of many
    hosts the first ones are named.
    """
    from thalweg.description import span  # needs numpy

    short = {short_name(name) for name in started}
    missing = [host for host in hosts if short_name(host) not in short]
    if len(hosts) - len(missing) == len(started):
        return span(missing)
    number = len(hosts) - len(started)
    return f"{number} of the hosts {span(hosts)}" if number > 0 else ""


def _as_event(line: str) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and "event" in event else None


def lab_dilation(environment: Mapping[str, str] = os.environ) -> float:
    """How many times slower than the network's own time a clock of this lab runs; 1 outside.

    Raises UserError if the environment doesn't say a number.
    """
    text = environment.get("THALWEG_LAB_DILATION", "1")
    try:
        return float(text)
    except ValueError:
        raise UserError(f"THALWEG_LAB_DILATION is '{text}', not a number") from None
