"""Communicates with the switch of the running lab."""

import json
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from thalweg.errors import UserError


class Control:
    """A connection to the switch's control socket (docs/scenario-file.md)."""

    def __init__(self, folder: Path, timeout: float = 10) -> None:
        """Connects. Raises OSError if no switch listens, UserError if it is another user's."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(str(folder / "control"))
        except PermissionError:
            raise UserError("the lab is root's: use sudo") from None
        self._lines = self._socket.makefile("r")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def ask(self, command: str) -> dict[str, Any]:
        """Sends a command and returns the answer. Raises UserError if the switch has gone."""
        try:
            self._socket.sendall(json.dumps({"command": command}).encode() + b"\n")
            line = self._lines.readline()
        except OSError as error:
            raise UserError(f"the lab's switch does not answer: {error}") from error
        if not line:
            raise UserError("the lab's switch has gone: `thalweg lab up` starts it anew")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def advance(self) -> None:
        """Moves the timeline to its next change, and waits until all hosts have made it.

        Raises UserError if there is none.
        """
        answer = self.ask("advance")
        if "error" in answer:
            raise UserError(f"the lab's switch says: {answer['error']}")
        while not self.ask("settled")["settled"]:
            time.sleep(0.005)
