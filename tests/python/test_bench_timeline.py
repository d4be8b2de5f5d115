"""The page of runs during which the network changes."""

from typing import Any

from bench import timeline
from bench.page import Part


def change(**other: Any) -> dict[str, Any]:
    usual = {"outcome": "adopted", "improvement": False, "recovery": False}
    return usual | {"call": 120, "epoch": 12, "adopted": 130} | other


def part(collective: str, *changes: dict[str, Any]) -> Part:
    labels = {"scenario": "s", "build": "b", "collective": collective, "bytes": 1, "fault": "port"}
    facts = {"calls": 100, "part": "lab1", "simulated": [1.0, 4.0, 2.0]}
    phases = {"stay": [10.0, 40.0, 11.0], "told": [3.0, 20.0, 0.1], "adapt": [10.0, 25.0, 12.0]}
    samples = [
        {"variant": variant, "phases": each, "invalid": [], "changes": list(changes)}
        for variant, each in phases.items()
    ]
    return Part(labels, facts, samples, "2026-11-25", "abc")


def test_plans_that_knew_count_only_while_the_network_is_worse() -> None:
    (table,) = timeline.contents([part("bcast", change())])
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert row["old plans"] == "61.0 s"
    assert row["knowing"] == "41.0 s"
    assert row["following"] == "47.0 s"
    assert row["met"] == "yes"


def test_epochs_count_from_the_change_to_the_plans_that_answer_it() -> None:
    before = change(improvement=True, adopted=20)
    in_vain = change(outcome="taken back", adopted=115)
    late = change(recovery=True, adopted=250)

    def replaced(*changes: dict[str, Any], collective: str = "bcast") -> str:
        (table,) = timeline.contents([part(collective, *changes)])
        return str(table.rows[0][-1])

    assert replaced(before, in_vain, change(), late) == "30 calls, 3 epochs"
    assert replaced(change(adopted=240), collective="nbody") == "40 calls, 2 epochs"
    assert replaced(before, in_vain, late) == "not"
