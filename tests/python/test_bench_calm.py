"""The page of runs in which the network doesn't change."""

from typing import Any

import pytest

from bench import calm
from bench.page import Part


def part(at: int, *changes: dict[str, Any], took: float = 20.0, invalid: bool = False) -> Part:
    labels = {"scenario": "s", "build": "b", "collective": "bcast", "bytes": 1, "round": at}
    samples = [
        {"variant": variant, "phases": [seconds], "invalid": ["late"] * invalid, "changes": found}
        for variant, seconds, found in ((calm.racing, 20.0, []), (calm.following, took, changes))
    ]
    return Part(labels, {}, samples, "2026-11-26", "abc")


def suspected(**other: Any) -> dict[str, Any]:
    return {"improvement": False, "outcome": "no change"} | other


better = suspected(improvement=True, outcome="adopted")


def row(*parts: Part) -> dict[str, str]:
    (table,) = calm.contents(parts)
    (found,) = table.rows
    return dict(zip(table.columns, found, strict=True))


def test_pairs_are_compared_by_their_own_ratios() -> None:
    found = row(part(0), part(1, took=20.4), part(2, took=20.2))
    assert (found["pairs"], found["of racing's"], found["pairs' range"]) == (
        "3", "1.010x", "1.000 - 1.020",
    )  # fmt: skip
    assert found["met"] == "not decided"
    assert row(part(0, took=20.4), part(1, took=20.2))["met"] == "MISSED"
    assert row(part(0), part(1, took=20.08))["met"] == "yes"


def test_only_what_is_no_improvement_is_an_alarm() -> None:
    found = row(part(0, better), part(1, suspected(), suspected()), part(2))
    assert (found["alarms"], found["improved"]) == ("1 of 3", "1 of 3")


def test_alarms_of_invalid_runs_count_though_their_times_dont() -> None:
    found = row(part(0), part(1, suspected(), took=90.0, invalid=True))
    assert (found["pairs"], found["of racing's"], found["alarms"]) == ("1", "1.000x", "1 of 2")


@pytest.mark.parametrize("at", range(4))
def test_neither_comes_first_in_all_rounds(at: int) -> None:
    assert set(calm._order(at)) == set(calm.variants)
    assert calm._order(at) != calm._order(at + 1)
