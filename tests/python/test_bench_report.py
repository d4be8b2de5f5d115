import json

import pytest

from bench import report
from bench.report import Table


def test_markdown_of_a_table() -> None:
    table = Table("Times", ["a", "b"], notes=["in seconds"])
    table.add("x|y", 2)
    assert table.markdown() == (
        "## Times\n\n| a | b |\n| --- | --- |\n| x\\|y | 2 |\n\n- in seconds\n"
    )


def test_a_row_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="2 cells for 1 columns"):
        Table("t", ["a"]).add(1, 2)


def test_raw_results_have_one_sample_per_line() -> None:
    document = {"name": "x", "samples": [{"time": 1.0}, {"time": 2.0}]}
    text = report._one_per_line(document, "samples", "cells")
    assert json.loads(text) == document
    assert sum('"time"' in line for line in text.splitlines()) == 2


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.00 s"), (0.8123, "812 ms"), (0.0431, "43.1 ms"), (12e-6, "12.0 us")],
)
def test_seconds(value: float, text: str) -> None:
    assert report.seconds(value) == text
