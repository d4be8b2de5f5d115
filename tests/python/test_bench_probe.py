"""The table of what a probe found."""

import copy
from typing import Any

from bench import compare, probe
from bench.page import Part
from thalweg.lab import scenario

TRUTH = scenario.find("three-sites")


def good() -> dict[str, Any]:
    """A probe that measured everything as it is, numbers of senders too."""
    comparison = compare.compare(TRUTH.network, TRUTH).to_json()
    for trunk in comparison["found"]:
        trunk["measured_senders"] = trunk["senders"]
    return comparison


def part(comparison: dict[str, Any], busy: float = 0.5) -> Part:
    sample = {"seconds": 12.0, "busy": busy, "comparison": comparison}
    labels = {"scenario": "three-sites", "build": "mpich-4.0"}
    return Part(labels, {"hosts": 16, "budget": 30.0}, [sample], "", "")


def test_nothing_is_wrong_with_a_good_probe() -> None:
    assert probe.faults(good()) == []
    table, trunks = probe.contents([part(good())])
    assert table.rows[0][-1] == "yes"
    assert table.rows[0][3:7] == ["100 %"] * 4
    assert [row[-2:] for row in trunks.rows][:2] == [["2", "2"], ["2", "2"]]


def test_each_fault_is_named() -> None:
    wrong = good()
    wrong |= {"latency": 0.94, "ingress": 0.9, "sites_exact": False, "false": ["ghost"]}
    wrong["found"][0]["measured"] *= 1.11
    wrong["found"][1]["measured_senders"] += 1
    assert probe.faults(wrong) == ["latency", "ingress", "capacities", "trunks", "n", "sites"]
    table, trunks = probe.contents([part(wrong)])
    assert table.rows[0][-1].startswith("no: latency")
    assert table.rows[0][table.columns.index("worst capacity")] == "+11.0 %"
    assert table.rows[0][table.columns.index("n right")] == "5 of 6"
    assert trunks.rows[-1][2:4] == ["ghost", "false"]


def test_missing_numbers_of_senders_are_not_wrong() -> None:
    unknown = copy.deepcopy(good())
    for trunk in unknown["found"]:
        trunk["measured_senders"] = None
    assert probe.faults(unknown) == []
    assert probe.senders_right(unknown) == (0, 0)


def test_a_probe_takes_longer_than_cloudmap_s_profile() -> None:
    (said,) = probe.beside_cloudmap([part(good())])
    assert "of 16 to 16 hosts takes 12.0 s to 12.0 s" in said
    assert said.endswith("690 ms for 8 and 1.67 s for 32: does not hold.")
    short = part(good())
    short.samples[0]["seconds"] = 1.6
    assert probe.beside_cloudmap([short])[0].endswith(": holds.")


def test_a_probe_that_failed_is_shown() -> None:
    labels = {"scenario": "drawn-3", "build": "mpich-4.0"}
    failed = Part(labels, {"hosts": 9, "budget": 30.0}, [{"failed": "status 2"}], "", "")
    table, _ = probe.contents([failed, part(good(), busy=0.95)])
    assert table.rows[0][0] == "three-sites"
    assert "invalid" in table.rows[0][-2]
    assert table.rows[1][-2:] == ["failed: status 2", "no"]
    assert table.notes[-1] == "All right in 1 of 2 probings."
