"""The page of N-body from invented samples."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import pytest

from bench import nbody, program
from bench.builds import Build
from bench.page import Part
from bench.program import Result
from bench.report import Table
from bench.settings import Settings

BUILDS = ("openmpi-4.1", "mpich-4.0")


def run(total: float) -> dict[str, float]:
    times = {"computation": 1.0, "gather": 0.5, "bcast": 0.5, "other": 0.0, "steps": 2}
    return {"total": total, **times}


def part(overhead: float, **more: bool) -> Part:
    samples = [
        {"variant": variant, **run(total)}
        for variant, total in (("native", 10.0), ("thalweg", 6.0))
        for _ in range(3)
    ]
    facts = {"bound": 0.1, "overhead": overhead, **more}
    return Part(nbody.labels("cloud", "mpich-4.0"), facts, samples, "2026-11-26", "abc")


def test_overheads_may_cost_more_than_a_run_gains() -> None:
    def row(overhead: float) -> dict[str, str]:
        totals, _ = nbody.contents([part(overhead)])
        return dict(zip(totals.columns, totals.rows[0], strict=True))

    cheap, dear = row(2.0), row(24.0)
    assert cheap["faster"] == dear["faster"] == "1.67x"
    assert (cheap["saved, with overheads"], dear["saved, with overheads"]) == ("20 %", "-200 %")
    assert dear["probing pays after"] == "36 steps"  # of 4 / 6 s


def test_the_page_says_where_a_probe_only_added_to_another_one_s() -> None:
    shared, own = nbody.contents([part(2.0)]), nbody.contents([part(2.0, own_probe=True)])
    assert "only added" in shared[0].notes[-1]
    assert not any("only added" in note for note in own[0].notes)
    assert shared[0].rows == own[0].rows


class PlannedOnce:
    """In place of a session on the lab; refuses to plan for a second library."""

    def __init__(self, name: str, dilation: float | None) -> None:
        self.name, self.dilation, self.planned = name, dilation, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def plan(self, _build: Build) -> None:
        assert not self.planned
        self.planned = True


def test_each_library_is_probed_for_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[tuple[str, str]] = []

    def measure(session: PlannedOnce, build: Build, *_rest: object) -> Result:
        assert session.planned
        measured.append((session.name, build.name))
        runs = {each: [run(9.0)] for each in nbody.variants}
        return Result(session.name, build.name, 0.1, 3.0, runs)

    def contents(parts: Sequence[Part]) -> list[Table]:
        assert all(part.facts["own_probe"] for part in parts)
        return []

    monkeypatch.setattr(nbody, "Session", PlannedOnce)
    monkeypatch.setattr(program, "measure", measure)
    monkeypatch.setattr(nbody, "contents", contents)
    builds = [Build(name, name.split("-")[0], Path("mpiexec")) for name in BUILDS]
    nbody.run(Settings(builds, nbody.scenarios, save=False, anew=True))
    assert measured == [(name, build) for name in nbody.scenarios for build in BUILDS]
