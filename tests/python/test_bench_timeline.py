"""The page of runs during which the network changes."""

from dataclasses import replace
from typing import Any

from bench import timeline
from bench.page import Part


def change(**other: Any) -> dict[str, Any]:
    usual = {"outcome": "adopted", "improvement": False, "recovery": False}
    return usual | {"call": 120, "epoch": 12, "adopted": 130} | other


def part(collective: str, *changes: dict[str, Any], following: float = 25.0) -> Part:
    labels = {"scenario": "s", "build": "b", "collective": collective, "bytes": 1, "fault": "port"}
    facts = {"calls": 100, "part": "lab1", "simulated": [1.0, 4.0, 2.0]}
    phases = {
        "stay": [10.0, 40.0, 11.0],
        "told": [3.0, 20.0, 0.1],
        "adapt": [10.0, following, 12.0],
    }
    samples = [
        {"variant": variant, "phases": each, "invalid": [], "changes": list(changes)}
        for variant, each in phases.items()
    ]
    return Part(labels, facts, samples, "2026-11-25", "abc")


def test_plans_that_knew_count_only_while_the_network_is_worse() -> None:
    found = row(part("bcast", change()))
    assert found["old plans"] == "61.0 s"
    assert found["knowing"] == "41.0 s"
    assert found["following"] == "47.0 s"
    assert found["met"] == "yes"


def row(made: Part) -> dict[str, Any]:
    (table,) = timeline.contents([made])
    return dict(zip(table.columns, table.rows[0], strict=True))


def test_epochs_count_from_the_change_to_the_plans_that_answer_it() -> None:
    before = change(improvement=True, call=15, adopted=20)
    in_vain = change(outcome="taken back", adopted=115)
    late = change(recovery=True, call=220, adopted=250)

    def replaced(*changes: dict[str, Any], collective: str = "bcast") -> str:
        return str(row(part(collective, *changes))["replaced after"])

    assert replaced(before, in_vain, change(), late) == "30 calls, 3 epochs"
    assert replaced(change(adopted=240), collective="nbody") == "40 calls, 2 epochs"
    assert replaced(change(adopted=110)) == "10 calls, 1 epoch"
    assert replaced(before, in_vain, late) == "not: taken back"
    assert replaced(change(outcome="nothing better", adopted=0)) == "not: nothing better"
    # What comes after the recovery is no answer to the change.
    assert replaced(before, change(call=210, adopted=230), late) == "not noticed"


def test_met_names_what_is_missed() -> None:
    soon, late = change(adopted=134), change(adopted=136)
    assert row(part("bcast", soon))["met"] == "yes"
    assert row(part("bcast", late))["met"] == "MISSED: 4 epochs"
    assert row(part("bcast", soon, following=30.0))["met"] == "MISSED: 1.27x"
    assert row(part("bcast", late, following=30.0))["met"] == "MISSED: 1.27x, 4 epochs"


def test_plans_that_stayed_miss_what_those_that_knew_gain() -> None:
    assert row(part("bcast"))["met"] == "MISSED: not noticed"
    assert row(part("bcast", following=20.0))["met"] == "nothing to gain"  # as fast as those
    vain = change(outcome="taken back", adopted=115)
    assert row(part("bcast", vain, following=30.0))["met"] == "MISSED: 1.27x, taken back"
    near = part("bcast", following=40.0)
    near.samples[1]["phases"][1] = 39.0  # of "told"
    assert row(near)["met"] == "nothing to gain"


def test_a_row_says_how_many_runs_it_is_of() -> None:
    made = part("bcast", change())
    samples = [
        *made.samples,
        *made.samples,
        made.samples[0],
        {**made.samples[2], "invalid": ["late"]},
    ]
    assert row(replace(made, samples=samples))["runs"] == "2"
