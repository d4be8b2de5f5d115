"""The page of what the runtime costs."""

from typing import Any

from bench import overhead
from bench.page import Part


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
