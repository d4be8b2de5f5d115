"""What is known of the running lab, from the files it keeps under /run."""

import fcntl
import json
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
    def record(self) -> dict[str, Any]:
        """What `up` pinned and found; empty while it is still at work."""
        path = self.folder / "state.json"
        return json.loads(path.read_text()) if path.is_file() else {}

    @property
    def dilation(self) -> float:
        return float(self.record["dilation"])

    @property
    def hosts(self) -> list[str]:
        return (self.folder / "host-names").read_text().split()


def running() -> Lab | None:
    """The lab that is up now. The switch holds a lock for as long as it lives."""
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


def switch_process() -> int | None:
    """The process of the running lab's switch."""
    if running() is None:
        return None
    words = (ROOT / "lock").read_text().split()
    return int(words[1]) if len(words) > 1 else None


def require() -> Lab:
    """The running lab, ready for use. Raises UserError if there is none."""
    lab = running()
    if lab is None:
        raise UserError("no lab is running: `thalweg lab up two-sites` starts one")
    if not lab.record:
        raise UserError(f"the lab {lab.name} is still being brought up: try again in a moment")
    return lab
