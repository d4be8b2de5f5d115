"""A launcher while it runs: what it prints, as it comes, and the end of all that it started."""

import contextlib
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Sequence

from thalweg import processes
from thalweg.launcher import start_error


class Launch:
    """A running launcher whose lines are read as they come; leaving it ends the whole tree."""

    def __init__(self, command: Sequence[str]) -> None:
        """Starts the launcher. Raises UserError if it can't be started."""
        self.lines: queue.Queue[str | None] = queue.Queue()
        """What it printed on standard output; None: the end."""
        self.complaints: deque[str] = deque(maxlen=20)
        """The last lines on standard error."""
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, errors="replace", start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise start_error(command, error) from None
        self._readers = [
            threading.Thread(target=self._read_output, daemon=True),
            threading.Thread(target=self._read_complaints, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> "Launch":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(processes.GRACE)
        processes.end_tree(self.process)
        for reader in self._readers:
            reader.join(1)

    def _read_output(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _read_complaints(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            if line.strip():
                self.complaints.append(line.strip())
