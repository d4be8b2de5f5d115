"""The page on the planner's choice, and what is measured for it."""

from typing import Any

import pytest

from bench import choice
from bench.page import Part
from bench.samples import Cell
from bench.session import least_traffic
from thalweg.collective import Kind
from thalweg.lab import scenario


def part(times: dict[str, float], repetitions: int = 1) -> Part:
    """A bcast of 1 MB, with a valid sample for each variant that has a time."""
    samples: list[dict[str, Any]] = [
        {
            "collective": "bcast", "size": 1000, "root": 0, "variant": name, "repetition": 0,
            "time": time, "entry_skew": 0.0, "correct": True, "lab": None, "invalid": [],
        }
        for name, time in times.items()
        if time
    ]  # fmt: skip
    labels = {"scenario": "cloud", "build": "openmpi-4.1", "collective": "bcast", "size": 1000}
    facts = {
        "variants": list(times), "block": 1000, "repetitions": repetitions, "failed_launches": [],
    }  # fmt: skip
    return Part(labels, facts, samples, "", "")


@pytest.mark.parametrize(("time", "slower", "verdict"), [(1.0, "0 %", "yes"), (1.5, "50 %", "no")])
def test_the_choice_is_held_against_the_best(time: float, slower: str, verdict: str) -> None:
    (table,) = choice.contents([part({"ring": time, "flat": 1.0, "binomial": 2.0})])
    assert table.rows[0][-3:] == [slower, "3 of 3", verdict]


def test_the_bar_is_a_share_of_the_cells() -> None:
    good, bad = part({"ring": 1.0, "flat": 1.0}), part({"ring": 2.0, "flat": 1.0})
    (table,) = choice.contents([good] * 9 + [bad])
    assert "9 of 10 cells" in table.notes[0]
    assert "is met" in table.notes[0]
    (table,) = choice.contents([good] * 8 + [bad] * 2)
    assert "is missed" in table.notes[0]


def test_a_choice_without_valid_samples_counts_for_nothing() -> None:
    (table,) = choice.contents([part({"ring": 0.0, "flat": 1.0})])
    assert table.rows[0][5] == "invalid"
    assert table.rows[0][-2:] == ["1 of 2", "not decided"]
    assert not any("bar" in note for note in table.notes)


def test_rivals_without_valid_samples_are_not_beaten() -> None:
    unknown = part({"ring": 1.0, "flat": 0.0, "binomial": 1.0})
    beaten = part({"ring": 2.0, "flat": 0.0, "binomial": 1.0})
    (table,) = choice.contents([part({"ring": 1.0}), unknown, beaten])
    assert [row[-2:] for row in table.rows] == [
        ["1 of 1", "yes"], ["2 of 3", "not decided"], ["2 of 3", "no"],
    ]  # fmt: skip
    assert "in 1 of 2 cells" in table.notes[0] and "1 of 3 cells are left out" in table.notes[0]


def test_the_choice_comes_first_of_at_most_five() -> None:
    net = scenario.find("two-sites").network
    found = choice.chosen(net, "bcast", 1_000_000, "")
    assert 2 <= len(found) <= choice.candidates
    assert len(set(found)) == len(found)


def test_every_collective_says_what_must_cross_the_network() -> None:
    found = {kind.name: least_traffic(Cell(kind.name, 100, 0, "native"), 4) for kind in Kind}
    blocks = dict.fromkeys(("allgather", "alltoall", "reduce_scatter"), 1200)
    assert found == dict.fromkeys(found, 300) | blocks | {"allreduce": 600, "barrier": 0}
