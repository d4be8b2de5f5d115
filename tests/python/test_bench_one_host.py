"""The page of whole programs on one host."""

from bench import one_host
from bench.page import Part


def test_ratios_are_of_pairs_and_starts_are_differences() -> None:
    samples = [
        {"alone": 1.0, "preloaded": 1.1},
        {"alone": 2.0, "preloaded": 2.0},
        {"alone": 4.0, "preloaded": 3.0},
    ]
    part = Part({"build": "b", "program": "p"}, {}, samples, "2026-11-23", "abc")
    (table,) = one_host.contents([part])
    assert table.rows == [["b", "p", "2.00 s", "2.00 s", "+0.0%", "-25.0% to +10.0%"]]
    starts = [{"alone": 1.0, "command": 1.5}, {"alone": 2.0, "command": 2.25}]
    labels = {"build": "b", "program": one_host.by_command}
    _, table = one_host.contents([part, Part(labels, {}, starts, "2026-11-23", "abc")])
    assert table.rows == [
        ["b", one_host.by_command, "1.50 s", "1.88 s", "+375 ms", "+250 ms to +500 ms"]
    ]
