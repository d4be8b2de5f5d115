"""Native against Thalweg: measurements on a scenario, bars, and table rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.bars import Bar
from bench.builds import Build
from bench.measurement import Measurement
from bench.page import Record
from bench.report import percent, seconds, times
from bench.samples import Cell, native, thalweg
from bench.session import Planned, Session, with_thalweg
from bench.settings import Settings
from bench.summary import summarise

columns = (
    "scenario", "build", "collective", "bytes", "bound", "native", "Thalweg", "faster",
    "native of limit", "Thalweg of limit", "bar", "met",
)  # fmt: skip
notes = ('Medians. "Of limit" is bound / time: 100 % is the physical limit of the scenario.',)


@dataclass(frozen=True)
class Case:
    """Messages of one size on one scenario, and the bar for each collective."""

    scenario: str
    size: int
    bars: Mapping[str, Bar]
    fastest_native: bool = False  # compare with the fastest of the libraries' defaults
    dilation: float | None = None  # of the lab; None: the scenario's own

    def cells(self) -> list[Cell]:
        return [self.cell(c, variant) for c in self.bars for variant in (native, thalweg)]

    def cell(self, collective: str, variant: str) -> Cell:
        return Cell(collective, self.size, 0, variant)


@dataclass(frozen=True)
class Result:
    """One build in one case."""

    case: Case
    build: str
    dilation: float
    measurement: Measurement
    bounds: Mapping[str, float | None]  # by collective


def measure(
    session: Session, build: Build, case: Case, planned: Planned, settings: Settings
) -> Result:
    """Native and planned collectives of a case, interleaved in one launch."""
    environment = with_thalweg(build, planned.plan)
    measurement = session.measure(
        build, case.cells(), settings.repetitions, environment, settings.seed
    )
    bounds = {collective: session.bound(collective, case.size) for collective in case.bars}
    return Result(case, build.name, session.dilation, measurement, bounds)


def facts(result: Result) -> Record:
    """Returns what a page keeps of a result besides its labels and samples."""
    of = result.measurement
    return {
        "dilation": result.dilation,
        "repetitions": max(of.wanted.values()),
        "bounds": dict(result.bounds),
        "failed_launches": of.failed_launches,
    }


def restored(case: Case, build: str, facts: Record, samples: Sequence[Record]) -> Result:
    """Returns the result behind facts() and samples."""
    wanted = dict.fromkeys(case.cells(), int(facts["repetitions"]))
    measurement = Measurement.restored(wanted, samples)
    measurement.failed_launches = facts["failed_launches"]
    return Result(case, build, facts["dilation"], measurement, facts["bounds"])


def row(result: Result, collective: str, results: Sequence[Result]) -> list[str]:
    """A cell per column; `results` are all of the table, to find the fastest native one in."""
    case, bar, bound = result.case, result.case.bars[collective], result.bounds[collective]
    label = [case.scenario, result.build, collective, str(case.size)]
    limit = "-" if bound is None else seconds(bound)
    ours, theirs = (case.cell(collective, variant) for variant in (thalweg, native))
    of = result.measurement
    if not (of.complete(ours) and of.complete(theirs)):
        reasons = [of.reasons(ours), of.reasons(theirs), *of.failed_launches]
        return [*label, limit, *["invalid"] * 5, bar.text(), "; ".join(filter(None, reasons))]
    our_time, native_time = (summarise(of.times(cell)).median for cell in (ours, theirs))
    missed = bar.missed(of.times(ours), _reference(result, theirs, results), bound)
    shares = ["-", "-"] if bound is None else [percent(bound / t) for t in (native_time, our_time)]
    return [
        *label, limit, seconds(native_time), seconds(our_time), times(native_time / our_time),
        *shares, bar.text(), "MISSED: " + ", ".join(missed) if missed else "yes",
    ]  # fmt: skip


def _reference(result: Result, theirs: Cell, results: Sequence[Result]) -> list[float]:
    """The native samples that the bar compares with."""
    if not result.case.fastest_native:
        return result.measurement.times(theirs)
    candidates = [
        other.measurement.times(theirs)
        for other in results
        if other.case is result.case and other.measurement.complete(theirs)
    ]
    return min(candidates, key=lambda samples: summarise(samples).median)
