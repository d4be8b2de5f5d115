"""The page of trunks that simulated probes find."""

from typing import Any

import pytest

from bench import trunks
from bench.page import Part


def network(right: int, *, shared: bool, least: float = 1.0, search: float = 2.0) -> dict[str, Any]:
    return {
        "network": "chain4 #0", "hosts": 16, "sites": 4, "round_trip": 0.03, "cuts": 50,
        "right": right, "least": least, "most": 1.2, "end": 12.0, "shared": shared,
        "spent": {"looking for trunks": search, "measuring bandwidth": 4.0},
    }  # fmt: skip


def row_of(samples: list[dict[str, Any]]) -> dict[str, str]:
    rows = trunks.by_budget([Part({"budget": 60.0}, {}, samples, "", "")])
    return dict(zip(rows.columns, map(str, rows.rows[0]), strict=True))


def test_a_budget_has_its_shares_and_its_bar() -> None:
    row = row_of([network(50, shared=False), network(46, shared=True, search=4.0)])
    assert (row["right"], row["without"], row["with shared trunks"]) == (
        "96.0 %", "100.0 %", "92.0 %",
    )  # fmt: skip
    assert row["bar"] == "met"
    assert row["search"] == "20 %, 50 %"  # 2 s beside 10, 4 s beside 8


@pytest.mark.parametrize(("right", "least"), [(44, 0.9), (50, 0.4)])
def test_the_bar_is_missed_by_wrong_cuts_and_by_halved_ones(right: int, least: float) -> None:
    row = row_of([network(50, shared=False), network(right, shared=True, least=least)])
    assert row["bar"] == "MISSED"


def test_networks_with_wrong_cuts_are_listed_the_worst_first() -> None:
    samples = [network(50, shared=False), network(48, shared=True), network(40, shared=True)]
    rows = trunks.worst([Part({"budget": 60.0}, {}, samples, "", "")]).rows
    assert [str(row[6]) for row in rows] == ["40", "48"]


def test_a_network_is_probed_alike_each_time() -> None:
    first, second = (trunks.probe(600.0, 7) for _ in range(2))
    assert first == second
    assert first["right"] == first["cuts"] > 0
    assert not first["shared"]
