"""The output of thalweg-bench: one launch, its cells and its repetitions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.lab import counters
from thalweg.lab.counters import Counters

native = "native"
thalweg = "thalweg"  # what the plan table says


@dataclass(frozen=True, order=True)
class Cell:
    """A cell to measure; `variant` is native, thalweg, or an algorithm with its parameters."""

    collective: str
    size: int  # bytes
    root: int
    variant: str

    def argument(self) -> str:
        """Returns the argument of thalweg-bench's --cell."""
        return f"{self.collective},{self.size},{self.root},{self.variant}"


@dataclass(frozen=True)
class Sample:
    """One repetition; times in seconds, un-dilated."""

    cell: Cell
    repetition: int  # below 0: a warm-up
    time: float
    entry_skew: float
    correct: bool
    counted: Counters | None  # by the lab's switch; None outside a lab
    raw: dict[str, Any]  # the line as written, with the counters in short
    calls: int = 1  # in a row, of which `time` is one's


@dataclass(frozen=True)
class Launch:
    """The whole output of one launch of thalweg-bench."""

    library: str
    ranks: int
    samples: list[Sample]


def read(path: Path) -> Launch:
    """Reads the lines of one launch; a last line that was cut off is left out."""
    lines = [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    if not lines:
        raise ValueError(f"{path} is empty: the launch failed before its first measurement")
    head, *samples = (json.loads(line) for line in lines)
    return Launch(head["library"], head["ranks"], [_sample(line) for line in samples])


def _sample(line: dict[str, Any]) -> Sample:
    cell = Cell(line["collective"], line["size"], line["root"], line["variant"])
    begin, end = line.pop("begin"), line.pop("end")
    counted = counters.parse(end).since(counters.parse(begin)) if end else None
    raw = {**line, "lab": _in_short(counted) if counted else None}
    return Sample(
        cell, line["repetition"], line["time"], line["entry_skew"], line["correct"], counted, raw,
        line.get("calls", 1),
    )  # fmt: skip


def restored(record: Mapping[str, Any]) -> Sample:
    """Reads a sample from its line in a raw file."""
    cell = Cell(record["collective"], record["size"], record["root"], record["variant"])
    return Sample(
        cell, record["repetition"], record["time"], record["entry_skew"], record["correct"],
        None, dict(record), record.get("calls", 1),
    )  # fmt: skip


def _in_short(counted: Counters) -> dict[str, Any]:
    return {
        "bytes": counted.bytes,
        "frames": counted.frames,
        "late": counted.late,
        "latest": counted.latest,
        "busy": round(counted.busy_fraction, 4),
        "drops": sum(counted.drops.values()),
        "trunk_drops": counted.drops.get("trunk", 0),
        "host_drops": sum(counted.host_drops),
        "retransmits": sum(counted.retransmits),
    }
