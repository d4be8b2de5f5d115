"""Whether hosts can be reached as a launcher reaches them."""

import subprocess
import threading
from collections.abc import Sequence

from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.launcher import Launcher
from thalweg.printable import plural
from thalweg.processes import end_tree
from thalweg.threads import for_each

PATIENCE = 20.0
"""Seconds that a host may stay silent."""
AT_ONCE = 64
"""Most hosts that are tried at a time: each takes a process, mostly an ssh that exchanges keys, and
a thread of this machine."""


def check_reachable(launcher: Launcher, hosts: Sequence[Host], patience: float = PATIENCE) -> None:
    """Tries to reach all hosts, AT_ONCE of them at a time, as the launcher will.

    Takes as long as hosts / AT_ONCE answers one after the other. Nothing can start once one has
    failed, so that then no other than the first AT_ONCE are tried: silent hosts, however many, take
    twice `patience` seconds at most. Raises UserError naming those that can't be reached, or don't
    answer within `patience` seconds, and saying how many weren't tried.
    """
    attempts = _Attempts(launcher, patience)
    try:
        problems = for_each([host.name for host in hosts], attempts.problem, at_once=AT_ONCE)
    except BaseException:
        attempts.end()
        raise
    if found := list(filter(None, problems.values())):
        untried = list(problems.values()).count(None)
        found += [f"{plural(untried, 'other host')} not tried"] * bool(untried)
        raise UserError("; ".join(found))


class _Attempts:
    """Attempts to reach hosts, which can be ended together."""

    def __init__(self, launcher: Launcher, patience: float) -> None:
        self._launcher = launcher
        self._patience = patience
        self._running: list[subprocess.Popen[str]] = []
        self._begun = 0
        self._has_failed = False
        self._ended = False
        self._starting = threading.Lock()

    def problem(self, host: str) -> str | None:
        """Says why a host can't be reached; empty if it can, None if it isn't tried any more."""
        found = self._problem(host)
        self._has_failed = self._has_failed or bool(found)
        return found

    def _problem(self, host: str) -> str | None:
        command = self._launcher.reach(host, max(1, int(self._patience)))
        if not command:
            return ""
        try:
            process = self._start(command)
        except OSError as error:
            return f"host {host} can't be reached: {command[0]}: {error.strerror}"
        if process is None:
            return None
        try:
            _, said = process.communicate(timeout=self._patience + 1)
        except subprocess.TimeoutExpired:
            end_tree(process)
            return f"host {host} did not answer {command[0]} within {self._patience:g} s"
        if process.returncode == 0:
            return ""
        reason = (said.strip().splitlines() or [f"{command[0]} failed"])[-1]
        return f"host {host} can't be reached: {reason}"

    def _start(self, command: Sequence[str]) -> subprocess.Popen[str] | None:
        """Starts a process that end() knows of; none after that nor, once a host has failed, after
        the first AT_ONCE. Raises OSError."""
        with self._starting:
            if self._ended or (self._has_failed and self._begun >= AT_ONCE):
                return None
            self._begun += 1
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
            )  # fmt: skip
            self._running.append(process)
            return process

    def end(self) -> None:
        """Ends those that run, also one that is being started; no other one begins."""
        with self._starting:
            self._ended = True
        for process in list(self._running):
            if process.poll() is None:
                end_tree(process)
