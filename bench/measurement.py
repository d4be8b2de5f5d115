"""Valid and invalid samples of a set of cells, and their statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from bench.builds import Build
from bench.compact import counted_alike
from bench.samples import Cell, Sample, restored
from bench.summary import Summary, summarise

most_entry_skew = 0.05  # of the time measured

Judge = Callable[[Sample], list[str]]
"""Reasons why a sample is invalid; empty if it is valid."""


def judge_by_itself(sample: Sample) -> list[str]:
    """Checks a sample by its own contents, without the lab's counters."""
    reasons = []
    if not sample.correct:
        reasons.append("the result was wrong")
    if sample.entry_skew > most_entry_skew * sample.time * sample.calls:
        reasons.append("ranks entered too far apart")
    return reasons


@dataclass
class Measurement:
    """Samples by cell. Warm-ups are kept as raw data but never counted."""

    wanted: dict[Cell, int] = field(default_factory=dict)  # valid repetitions
    valid: dict[Cell, list[Sample]] = field(default_factory=dict)
    invalid: dict[Cell, list[tuple[Sample, list[str]]]] = field(default_factory=dict)
    failed_launches: list[str] = field(default_factory=list)
    warm_ups: list[Sample] = field(default_factory=list)

    @classmethod
    def restored(cls, wanted: Mapping[Cell, int], records: Iterable[Mapping[str, Any]]) -> Self:
        """Reads the output of raw()."""
        measurement = cls(dict(wanted))
        for record in records:
            sample, reasons = restored(record), record["invalid"]
            if reasons is None:
                measurement.warm_ups.append(sample)
            elif reasons:
                measurement.invalid.setdefault(sample.cell, []).append((sample, reasons))
            else:
                measurement.valid.setdefault(sample.cell, []).append(sample)
        return measurement

    def add(self, samples: Iterable[Sample], judge: Judge) -> None:
        for sample in samples:
            if sample.repetition < 0:
                self.warm_ups.append(sample)
            elif reasons := judge(sample):
                self.invalid.setdefault(sample.cell, []).append((sample, reasons))
            else:
                self.valid.setdefault(sample.cell, []).append(sample)

    def merge(self, other: Measurement) -> None:
        """Adds another measurement, of other cells."""
        self.wanted |= other.wanted
        self.valid |= other.valid
        self.invalid |= other.invalid
        self.failed_launches += other.failed_launches
        self.warm_ups += other.warm_ups

    def times(self, cell: Cell) -> list[float]:
        """Returns the times of the valid repetitions, in seconds."""
        return [sample.time for sample in self.valid.get(cell, [])]

    def complete(self, cell: Cell) -> bool:
        return len(self.times(cell)) >= self.wanted[cell]

    def summary(self, cell: Cell) -> Summary | None:
        """Returns the result, or None if there are too few valid repetitions."""
        return summarise(self.times(cell)) if self.complete(cell) else None

    def reasons(self, cell: Cell) -> str:
        """Why repetitions were refused, most frequent first: "too late 3x, result was wrong 1x"."""
        refused = counted_alike(
            reason for _, reasons in self.invalid.get(cell, []) for reason in reasons
        )
        return ", ".join(f"{text} {count}x" for text, count in refused.items())

    def raw(self, **labels: Any) -> list[dict[str, Any]]:
        """Returns every sample as kept in a result file, with `labels` and its validity."""
        records = [{**labels, **sample.raw, "invalid": None} for sample in self.warm_ups]
        for cell in sorted({*self.valid, *self.invalid}):
            records += [{**labels, **s.raw, "invalid": []} for s in self.valid.get(cell, [])]
            records += [{**labels, **s.raw, "invalid": r} for s, r in self.invalid.get(cell, [])]
        return records


@dataclass(frozen=True)
class OnScenario:
    """What was measured with one build on one scenario."""

    scenario: str
    build: Build
    dilation: float
    measurement: Measurement

    def raw(self) -> list[dict[str, Any]]:
        """Returns every sample as kept in a result file."""
        return self.measurement.raw(
            scenario=self.scenario, build=self.build.name, dilation=self.dilation
        )
