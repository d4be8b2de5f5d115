"""The page of what the runtime costs."""

from pathlib import Path
from typing import Any

import pytest

from bench import overhead
from bench.builds import Build, Group
from bench.page import Part
from thalweg import paths, planner


def part(build: str, case: str, samples: list[dict[str, Any]]) -> Part:
    return Part({"build": build, "case": case}, {}, samples, "2026-11-24", "abc")


def test_every_row_is_of_a_case_that_is_measured() -> None:
    assert {row.case for row in overhead.rows} == set(overhead.cases) - {overhead.temporary}


def test_differences_are_medians_of_pairs() -> None:
    calls = [
        {"native_ns": 100, "intercepted_ns": 110, "difference_ns": 9},
        {"native_ns": 200, "intercepted_ns": 190, "difference_ns": -10},
        {"native_ns": 400, "intercepted_ns": 440, "difference_ns": 44},
    ]
    starts = [
        {"alone_init_ns": 2e6, "with_init_ns": 3e6,
         "alone_resident_bytes": 2048, "with_resident_bytes": 4096}
    ]  # fmt: skip
    events = [{"off": 1000, "on": 1300}, {"off": 3000, "on": 3600}]
    parts = [part("b", "native call", calls), part("b", "start of 16", starts)]
    (table,) = overhead.contents([*parts, part("b", "events", events)])
    assert table.title == "Costs, b"
    assert [row[1:] for row in table.rows] == [
        ["200 ns", "190 ns", "9 ns (+9.0%)", "60 ns"],
        ["2 µs", "2.45 µs", "150 ns", "100 ns"],
        ["2 ms", "3 ms", "1 ms (+50.0%)", ""],
        ["2 KiB", "4 KiB", "2 KiB", ""],
    ]


def test_temporary_memory_spans_the_builds() -> None:
    parts = [
        part(build, overhead.temporary,
             [{"algorithm": "flat", "collective": "bcast", "bytes": size},
              {"algorithm": "ring", "collective": "allgather", "bytes": 0}])
        for build, size in [("one", 1024), ("other", 3072)]
    ]  # fmt: skip
    (table,) = overhead.contents(parts)
    assert table.rows == [
        ["flat", "1 KiB to 3 KiB", "-", "-", "-"],
        ["ring", "-", "-", "0 B", "-"],
    ]
    assert "one, other" in table.notes[0]


def test_communicators_are_measured_with_a_plan_and_not_with_forced_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorded: list[bool] = []

    def run(build: Build, *groups: Group) -> str:
        ((ranks, environment, program),) = groups
        (table,) = planner.from_bytes(Path(environment["THALWEG_PLAN"]).read_bytes()).tables
        assert (ranks, program[1:]) == (2, ["communicators"])
        assert (table.placement, table.entries) == ([0, 1], [])
        assert environment["THALWEG_FORCE"] == ""
        assert len(set(environment["THALWEG_ASSUME_HOSTS"].split(","))) == 2
        recorded.append("THALWEG_RECORD" in environment)
        return "difference_ns 1.5\n"

    monkeypatch.setattr(Build, "run", run)
    monkeypatch.setattr(paths, "binary", Path)
    monkeypatch.setattr(paths, "library", Path)
    build = Build("openmpi-4.1", "openmpi", Path("mpirun"))
    assert overhead.cases["used communicators"](build, 1) == [{"difference_ns": 1.5, "none": 0.0}]
    assert overhead.cases["recorded communicators"](build, 1) == [{"off": 1.5, "on": 1.5}] * 2
    assert recorded == [False, False, True, False, True]
