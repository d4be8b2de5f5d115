"""The page of what planning costs."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench import report, scaling
from bench.page import Part
from bench.scaling import Case, Cost
from bench.settings import Settings
from thalweg.collective import Kind
from thalweg.errors import UserError


def part(case: Case, cost: Cost) -> Part:
    return Part(case.labels(), {}, [vars(cost)], "2026-11-24", "abc")


def test_times_are_compared_with_their_bars() -> None:
    small, middle, large, single, estimate = scaling.barred
    measured = [
        part(single, Cost(2.5, 2.0, 70_000_000, "binary")),
        part(small, Cost(2.0, 3.5, 50_000_000, "198")),
        part(large, Cost(None, 150.0, 300_000_000, "")),
        part(middle, Cost(32.0, 60.0, 80_000_000, "1531")),
        Part({"hosts": 16, "effort": "normal"}, {}, [{"other": 1}], "2026-11-21", "abc"),
    ]
    bars, growth = scaling.contents(measured)
    whole, bcast = ["normal", "table"], ["normal", "bcast"]
    assert bars.rows == [
        [*whole, "16", "2.00 s", "3.50 s", "50 MB", "198", "2 s", "yes"],
        [*whole, "64", "32.0 s", "60.0 s", "80 MB", "1531", "8 s", "MISSED"],
        [*whole, "256", "> 90 s", "150 s", "300 MB", "", "30 s", "MISSED"],
        [*bcast, "1024", "2.50 s", "2.00 s", "70 MB", "1", "2 s", "MISSED"],
    ]
    # 16 times as long for 4 times as many hosts.
    assert growth.rows == [
        [*whole, "16", "2.00 s", "", "50 MB", "198 plans"],
        [*whole, "64", "32.0 s", "2.0", "80 MB", "1531 plans"],
        [*whole, "256", "> 90 s", "", "300 MB", ""],
        [*bcast, "1024", "2.50 s", "", "70 MB", "binary"],
    ]
    assert estimate.what == scaling.table


def test_costs_are_of_another_process() -> None:
    single = Case("estimate", Kind.allgather.name, 16)
    cost = Cost(**scaling.measure(single))
    assert cost.time is not None
    assert cost.time > 0
    assert cost.memory > 1_000_000
    assert cost.plan == scaling.plan(single).plan


def test_a_case_is_given_up_at_its_limit() -> None:
    cost = Cost(**scaling.measure(Case("normal", scaling.table, 64, limit=0.01)))
    assert cost.time is None
    assert cost.processor > 0
    assert cost.memory > 1_000_000


def test_a_failure_names_the_command() -> None:
    with pytest.raises(UserError, match=r"bench.scaling estimate nonsense 16"):
        scaling.measure(replace(scaling.cases[0], effort="estimate", what="nonsense"))


def test_cases_are_distinct() -> None:
    labels = [tuple(case.labels().values()) for case in scaling.cases]
    assert len(set(labels)) == len(labels)


def test_a_run_writes_the_cases_up_to_a_number_of_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    single = [Case("estimate", Kind.bcast.name, hosts) for hosts in (16, 64)]
    monkeypatch.setattr(scaling, "cases", single)
    monkeypatch.setattr(report, "drafts", tmp_path / "results")
    scaling.run(Settings([], draft=True, hosts=16))
    page = (tmp_path / "results" / "scaling.md").read_text()
    assert "| estimate | bcast | 16 |" in page
    assert "| estimate | bcast | 64 |" not in page
