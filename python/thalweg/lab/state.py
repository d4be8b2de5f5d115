"""The state of the running lab, from its files under /run."""

import fcntl
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.errors import UserError
from thalweg.lab import scenario
from thalweg.lab.scenario import Scenario

ROOT = Path("/run/thalweg/lab")


@dataclass(frozen=True)
class Lab:
    """A lab that is up."""

    name: str
    folder: Path

    @property
    def scenario(self) -> Scenario:
        return scenario.read(self.folder / "scenario.json")

    @property
    def fingerprint(self) -> str:
        """Changes with the scenario, whose name may stay."""
        return hashlib.sha256((self.folder / "scenario.json").read_bytes()).hexdigest()[:16]

    @property
    def record(self) -> dict[str, Any]:
        """Settings and findings of `up`; empty while it is still at work."""
        path = self.folder / "state.json"
        return json.loads(path.read_text()) if path.is_file() else {}

    @property
    def dilation(self) -> float:
        return float(self.record["dilation"])

    @property
    def hosts(self) -> list[str]:
        return (self.folder / "host-names").read_text().split()


def running() -> Lab | None:
    """Returns the lab that is up. The switch holds a lock while it lives."""
    lock = ROOT / "lock"
    if not lock.is_file():
        return None
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            name = (file.read().split() or ["?"])[0]
            return Lab(name, ROOT / name)
    return None


@contextmanager
def marked_as_running(name: str) -> Iterator[int]:
    """Lets a lab count as running; yields a descriptor for its switch to inherit.

    It counts as running from now on, until every process that has the descriptor has ended: so
    there is nothing of a lab, not even a switch that begins, of which nothing is known. Requires
    that none is running.
    """
    with (ROOT / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Who only looks holds it for a moment.
        lock.truncate(0)
        lock.write(f"{name} ")  # The switch adds its process.
        lock.flush()
        yield lock.fileno()


def switch_process() -> int | None:
    """Returns the process of the running lab's switch, if it has told."""
    if running() is None:
        return None
    words = (ROOT / "lock").read_text().split()
    return int(words[1]) if len(words) > 1 else None


def require() -> Lab:
    """Returns the running lab, ready for use. Raises UserError if there is none."""
    lab = running()
    if lab is None:
        raise UserError("no lab is running: `thalweg lab up two-sites` starts one")
    if not lab.record:
        raise UserError(
            f"the lab {lab.name} is still being brought up: try again in a moment; if its "
            "`thalweg lab up` was killed, `thalweg lab down` removes it"
        )
    return lab
