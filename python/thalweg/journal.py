"""Keeps the results of an interrupted probe beside the network file, so that it can be resumed."""

import contextlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from thalweg.errors import UserError
from thalweg.files import write_whole, writing


class Journal:
    """Stores the steps of a probe as they come. The file's first line says what is being probed."""

    def __init__(self, output: Path, subject: Mapping[str, Any], remedy: str = "") -> None:
        """`output` is the future network file; probes of another `subject` can't be resumed.
        `remedy`: the end of errors of writing, where the usual one doesn't help."""
        self.path = output.with_name(f"{output.name}.part")
        self._subject = json.dumps(subject)
        self._remedy = remedy
        self._steps: list[str] = []
        self._file: TextIO | None = None

    def resume(self) -> None:
        """Reads the steps that an interrupted probe wrote; new ones will follow them.

        Raises UserError if there are none, or they are of another subject.
        """
        try:
            lines = self.path.read_text().splitlines(keepends=True)
            # The last one may be cut off.
            subject, *steps = [line.strip() for line in lines if line.endswith("\n")]
        except OSError:
            raise UserError(
                f"{self.path}: no interrupted probe to resume; probe without --resume"
            ) from None
        except ValueError:
            raise UserError(f"{self.path} is empty or damaged; probe without --resume") from None
        if subject != self._subject:
            raise UserError(
                f"{self.path} is of a probe of other hosts, or by another MPI library; "
                "probe without --resume"
            )
        self._steps = steps

    def resume_recent(self, seconds: float) -> bool:
        """Does what resume() does if such a probe was interrupted less than so many seconds ago.
        Returns whether one was."""
        with contextlib.suppress(OSError, UserError):
            if seconds and time.time() - self.path.stat().st_mtime < seconds:
                self.resume()
                return True
        return False

    def add(self, step: str, number: int | None = None) -> None:
        """Keeps one more step. Raises UserError naming the file if it can't be written.

        `number`: of the steps before it. What an interrupted probe wrote beyond these is dropped,
        since this probe didn't go by it.
        """
        with writing(str(self.path), self._remedy):
            if self._file is None:
                if number is not None:
                    del self._steps[number:]
                self._file = self._open()
            self._file.write(f"{step.strip()}\n")
            self._file.flush()

    def close(self, *, complete: bool) -> bool:
        """Ends the journal, and removes it if the probe is complete. Returns whether it stays."""
        if self._file:
            with contextlib.suppress(OSError):  # which add() has said
                self._file.close()
        if complete:
            self.path.unlink(missing_ok=True)
        return self.path.exists()

    def _open(self) -> TextIO:
        lines = (f"{line}\n" for line in (self._subject, *self._steps))
        write_whole(self.path, "".join(lines))
        return self.path.open("a")
