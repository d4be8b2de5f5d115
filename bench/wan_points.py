"""The points of `script/bench wan`: what was measured or simulated of a collective and size."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.matsuda import Contest, contest, contests, in_segments, many, scenarios
from bench.measurement import Measurement
from bench.page import Part
from bench.samples import Cell, Sample
from bench.summary import summarise
from thalweg import units


@dataclass(frozen=True)
class Point:
    """The results for one collective and size."""

    part: Part
    measurement: Measurement

    @property
    def contest(self) -> Contest:
        return contest(self.part.labels["collective"])

    @property
    def size(self) -> int:
        return int(self.part.labels["size"])

    @property
    def series(self) -> tuple[str, str, str]:
        """Points of a series differ in size only."""
        labels = self.part.labels
        return labels["scenario"], labels["build"], labels["collective"]

    @property
    def label(self) -> list[str]:
        """The first cells of its rows: its series and size."""
        return [*self.series, units.size_to_text(self.size)]

    @property
    def place(self) -> tuple[int, str, int, int]:
        """Sorts in the paper's order: with delay and without, bcast and allreduce."""
        scenario, build, _ = self.series
        return scenarios.index(scenario), build, contests.index(self.contest), self.size

    @property
    def senders(self) -> list[int]:
        """Returns the numbers of senders that were tried."""
        names = self.part.facts["variants"]
        return [n for n in range(1, self.part.facts["ranks"]) if many(n) in names]

    @property
    def segmented(self) -> list[int]:
        """Returns the numbers of senders that were also tried in segments."""
        return [n for n in self.senders if in_segments(n) in self.part.facts["variants"]]

    def cell(self, name: str) -> Cell:
        return Cell(self.contest.collective, self.size, 0, self.part.facts["variants"][name])

    def time(self, name: str) -> float | None:
        """Returns median seconds; None if there is no valid result."""
        if name not in self.part.facts["variants"]:
            return None
        summary = self.measurement.summary(self.cell(name))
        return summary.median if summary else None

    def samples(self, name: str) -> list[Sample]:
        return self.measurement.valid.get(self.cell(name), [])

    def throughput(self, name: str) -> float | None:
        """Returns megabytes per second, as the paper's figures count them."""
        time, ranks = self.time(name), self.part.facts["ranks"]
        return None if time is None else self.contest.throughput(self.size, ranks, time) / 1e6

    def counted(self, name: str, what: str) -> float | None:
        """Returns the median count per operation: retransmits, trunk_drops."""
        if self.time(name) is None:
            return None
        counts = [s.raw["lab"][what] for s in self.samples(name) if s.raw["lab"]]
        return summarise(counts).median if counts else None

    def best(self) -> tuple[int, float] | None:
        """Returns the fastest number of senders and its time."""
        found = [(time, n) for n in self.senders if (time := self.time(many(n))) is not None]
        return (min(found)[1], min(found)[0]) if found else None


Series = Mapping[tuple[str, str, str], Sequence[Point]]


def in_series(parts: Sequence[Part]) -> tuple[list[Point], Series]:
    """Returns the points in the order of the paper, and the series that they form."""
    points = sorted(map(_point, parts), key=lambda point: point.place)
    return points, {k: list(group) for k, group in itertools.groupby(points, lambda p: p.series)}


def _point(part: Part) -> Point:
    collective, size = part.labels["collective"], part.labels["size"]
    cells = [Cell(collective, size, 0, each) for each in part.facts["variants"].values()]
    wanted = dict.fromkeys(cells, int(part.facts["repetitions"]))
    return Point(part, Measurement.restored(wanted, part.samples))
