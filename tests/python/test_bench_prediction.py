"""What the page of predictions counts."""

from pathlib import Path
from typing import Any

from bench.page import Part, read_parts, write_parts
from bench.prediction import (
    Tally,
    by_repetitions,
    choice,
    contents,
    most_seconds,
    of_file,
    problem_of,
    small,
)
from bench.samples import native, thalweg
from thalweg import plans
from thalweg.algorithms import Parameters, find
from thalweg.collective import Collective, Kind
from thalweg.network import even_network
from thalweg.planner import Entry, Table


def test_the_count_names_the_sizes_that_it_is_of() -> None:
    tally = Tally(held=2, missed=["even openmpi-4.1 bcast"])
    tally.sizes.add(1_000_000)
    assert tally.text() == "2 of 3 predictions at 1MB within 20 %."
    tally.sizes.add(8_000_000)
    assert "at 1MB and 8MB" in tally.text()


def test_what_takes_long_is_repeated_less_often() -> None:
    predicted = {"chain": 0.1, "flat": most_seconds / 2, "binary": 2 * most_seconds}
    assert by_repetitions(predicted, None, 7) == {7: ["chain"], 2: ["flat"], 1: ["binary"]}
    assert by_repetitions(predicted, "chain", 7)[7] == ["chain", native, thalweg]


def part(size: int, predicted: dict[str, float], measured: dict[str, float], **more: Any) -> Part:
    samples: list[dict[str, Any]] = [
        {
            "collective": "allgather", "size": size // 16, "root": 0, "variant": name,
            "repetition": at, "time": time, "entry_skew": 0.0, "correct": True, "lab": None,
            "invalid": [],
        }
        for name, time in measured.items()
        for at in range(3)
    ]  # fmt: skip
    facts: dict[str, Any] = {
        "predicted": predicted, "chosen": None, "block": size // 16,
        "repetitions": dict.fromkeys([*predicted, *measured], 3), "failed_launches": [],
        "dilation": 16.0,
    }  # fmt: skip
    labels = {"scenario": "even", "build": "mpich-4.0", "collective": "allgather", "size": size}
    made = Part(labels, facts | more, samples, "2026-11-29", "abc", "here")
    (read,) = read_parts(write_parts([made]))
    return read


def test_predictions_at_the_small_size_are_counted_by_themselves() -> None:
    predicted = {"ring": 0.9, "chain": 1.3, "flat": 1.0}
    large = part(1_000_000, predicted, {"ring": 1.0, "chain": 1.0})
    few = part(small, {"ring": 0.5}, {"ring": 1.0})
    errors, regrets = contents([large, few])
    assert [row[-2:] for row in errors.rows] == [
        ["-10 %", "yes"], ["+30 %", "no"], ["", ""], ["-50 %", "no"],
    ]  # fmt: skip
    assert errors.rows[2][6] == "invalid"
    assert errors.notes[-2:] == [
        "1 of 2 predictions at 1MB within 20 %.",
        "0 of 1 predictions at 64KB within 20 %.",
    ]
    assert not regrets.rows


def test_the_choice_is_held_against_all_that_was_measured() -> None:
    measured = {"ring": 1.0, native: 2.0, thalweg: 1.25}
    _, regrets = contents([part(small, {"ring": 1.0}, measured, chosen="chain")])
    assert regrets.rows[0][3:] == ["chain", "1.25 s", "ring", "1.00 s", "25 %", "no"]
    assert regrets.notes[0] == "0 of 1 choices within 10 % of the best measured."
    assert "what the planner says of just this size" in regrets.notes[1]


def test_choices_are_counted_those_without_a_valid_run_as_not_held() -> None:
    good = {"ring": 1.0, native: 2.0, thalweg: 1.05}
    facts = {"chosen": "chain", of_file: True}
    parts = [part(small, {"ring": 1.0}, measured, **facts) for measured in (good, {"ring": 1.0})]
    _, regrets = contents(parts)
    assert regrets.notes == ["1 of 2 choices within 10 % of the best measured."]


def test_a_choice_is_not_held_against_rivals_that_are_invalid() -> None:
    facts = {"chosen": "chain", of_file: True}
    predicted = {"ring": 1.0, "flat": 1.0}
    _, regrets = contents(
        [part(small, predicted, {"ring": 1.0, native: 2.0, thalweg: 1.0}, **facts)]
    )
    assert regrets.rows[0][-1] == "not decided"
    assert regrets.notes == [
        "0 of 1 choices within 10 % of the best measured; 1 more, but a rival that might be better "
        "is invalid."
    ]


def test_the_choice_is_the_row_of_the_plan_file(tmp_path: Path) -> None:
    """The file has a chain from 1 byte on, and no plan for reduces."""
    net = even_network(4, 1e-3, 1e8)
    bcast = Collective(Kind.bcast, 4, 0, small)
    chain = find("pipelined-chain").build(
        problem_of("bcast", small, net, ""), Parameters(segment_size=4096)
    )
    file = tmp_path / "plan.bin"
    plans.write_table(file, net, "", Table(range(4), [Entry(Kind.bcast, chain, 1, small)]))
    assert choice(file, bcast).startswith("pipelined-chain:segment_size=4KiB")
    assert choice(file, Collective(Kind.reduce, 4, 0, small)) == native
