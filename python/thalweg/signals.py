"""What signals do to a command: they end its work cleanly, or are passed on to what it started."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any, NoReturn

Handler = Callable[[int, FrameType | None], Any]

_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Lets SIGTERM and SIGHUP end the work as Ctrl-C does: files and processes are cleaned up.

    Where that holds already, nothing changes: what ends the work is ignored until all of it is
    cleaned up.
    """
    with _handled((signal.SIGTERM, signal.SIGHUP), _end):
        yield


def _end(number: int, _: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


@contextlib.contextmanager
def _handled(numbers: Iterable[int], handler: Handler) -> Iterator[None]:
    """Handles signals. One that is ignored, as SIGHUP under `nohup`, stays so; and only the main
    thread can handle any."""
    before = {
        number: signal.signal(number, handler)
        for number in numbers
        if threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) not in (signal.SIG_IGN, handler)
    }
    try:
        yield
    finally:
        for number, its in before.items():
            signal.signal(number, its)


class PassedOn:
    """Passes signals on to a process, those that come before it has started, too.

    Where the terminal sends Ctrl-C to the process itself, that isn't passed on: launchers take a
    second one for haste. Nor is another process's SIGINT there, from which Python can't tell it.
    Batch systems send SIGUSR1 or SIGUSR2 to ask a program for a checkpoint.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._handled = _handled(_PASSED_ON, self._receive)

    def __enter__(self) -> "PassedOn":
        self._handled.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._handled.__exit__(*error)

    def to(self, process: "subprocess.Popen[bytes]") -> None:
        """Names the process, which has started."""
        self._process = process
        for number in self._early:
            self._send(number)

    def _receive(self, number: int, _: FrameType | None) -> None:
        if self._process is None:
            self._early.append(number)
        elif number != signal.SIGINT or not _is_in_foreground():
            self._send(number)

    def _send(self, number: int) -> None:
        if self._process:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)


def _is_in_foreground() -> bool:
    """Whether a terminal sends Ctrl-C to this process, and to those that it started."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
