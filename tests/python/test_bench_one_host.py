"""The page of whole programs on one host."""

from bench import one_host
from bench.page import Part


def test_ratios_are_of_pairs() -> None:
    samples = [
        {"alone": 1.0, "preloaded": 1.1},
        {"alone": 2.0, "preloaded": 2.0},
        {"alone": 4.0, "preloaded": 3.0},
    ]
    part = Part({"build": "b", "program": "p"}, {}, samples, "2026-11-23", "abc")
    (table,) = one_host.contents([part])
    assert table.rows == [["b", "p", "2.00 s", "2.00 s", "+0.0%", "-25.0%", "+10.0%"]]
