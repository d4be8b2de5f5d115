"""The page of the paper's figures on runs inside the collectives, from invented samples."""

import itertools
from typing import Any

import pytest

from bench import inside_figures, inside_runs, inside_statements, inside_tune
from bench.inside_runs import CLUSTERS, CONFIGURATIONS, Wanted
from bench.page import Part
from bench.report import Figure
from thalweg import trees
from thalweg.lab import scenario


@pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=list(CLUSTERS))
def test_configurations_are_trees_of_all_ranks_of_the_cluster(
    cluster: inside_runs.Cluster,
) -> None:
    assert len(scenario.find(cluster.scenario).hosts) == cluster.hosts
    for make in CONFIGURATIONS.values():
        children = make(cluster)
        assert sorted(itertools.chain(*children)) == list(range(1, cluster.ranks))
        trees.make(children)


def made_part(cluster: str, program: str, late: list[float], hosts: list[str]) -> Part:
    stages = {
        "arrival_wait": 5.0, "down": 1.0, "two_way": 2.0, "up": 1.0, "departure_wait": 0.0
    }  # fmt: skip
    facts = {
        "program": {"computation": 1.0, "total": 4.0}, "calls": 3, "mean": 9.0, "deviation": 1.0,
        "attributed": 0.97, "events_per_call": 10, "stages": stages, "crossing_two_way": 2.0,
        "departures": [0.1, 0.3, 0.5], "last_path": [0, 1], "last_counts": [2], "last_calls": 3,
        "stage_deviations": stages,
    }  # fmt: skip
    samples: list[dict[str, Any]] = [
        {"rank": rank, "host": host, "mean": 9.0, "late": own, "edges_between_hosts": 1, **stages,
         "times": [-5, 0, 4], "heights": [1.0, 0.0, 1.0]}
        for rank, (own, host) in enumerate(zip(late, hosts, strict=True))
    ]  # fmt: skip
    labels = Wanted(cluster, program, inside_runs.BASE).labels()
    return Part(labels, facts, samples, "", "")


def test_late_ranks_at_a_border_of_hosts_are_told_from_the_others() -> None:
    hosts = [f"h{rank // 4}" for rank in range(12)]
    late = [0.0, 0, 0, 3, 3, 0, 0, 3, 3, 0, 0, 0]
    part = made_part("4W", "sor", late, hosts)
    border, others, ranks = inside_runs.border_lateness(part.samples)
    assert (border, others, ranks) == (3.0, 0.0, [3, 4, 7, 8])
    rows = inside_statements.table([part]).rows
    found = next(row for row in rows if "SOR on 4W has" in row[1])
    assert found[3] == "yes" and "75 %" in found[2]
    even = made_part("4W", "sor", [0.0] * 6 + [3.0] * 2 + [0.0] * 4, hosts)
    assert (
        next(r for r in inside_statements.table([even]).rows if "SOR on 4W has" in r[1])[3] == "no"
    )


def test_the_page_has_what_its_parts_have() -> None:
    hosts = [f"h{rank // 2}" for rank in range(6)]
    sor, gsum = (made_part("NOW", name, [0.0] * 6, hosts) for name in ("sor", "gsum"))
    assert len(inside_figures.runs([sor, gsum]).rows) == 2
    assert len(inside_figures.imbalance([sor, gsum]).rows) == 2
    names = [figure.name for figure in inside_figures.figures([sor, gsum])]  # type: ignore[union-attr]
    assert names == ["inside-2a", "inside-2b"]
    assert [row[0] for row in inside_statements.table([]).rows] == ["section 4"]


def test_what_is_stated_below_256_bytes_is_judged_by_such_calls() -> None:
    long = made_part("NOW", "gsum", [0.0] * 2, ["h0", "h1"])
    long.facts["program"]["values"] = 32
    short = made_part("Blade", "gsum", [0.0] * 2, ["h0", "h1"])
    short.facts["program"]["values"] = 31
    rows = inside_statements.table([long, short]).rows
    (found,) = (row[1] for row in rows if "below 256" in row[1])
    assert "(Blade, 248 bytes)" in found


def test_rounds_of_tuning_are_held_against_the_first() -> None:
    rounds: list[dict[str, Any]] = [
        {"round": 0, "mean": 3.0, "deviation": 0.1, "predicted": None, "chance": None,
         "unchanged": [], "moves": 2},
        {"round": 1, "mean": 2.0, "deviation": 0.1, "predicted": 1.4, "chance": 1e-6,
         "unchanged": [{"node": 1, "stage": "up", "a": 1.0, "b": 1.5}], "moves": 0},
    ]  # fmt: skip
    labels = {"part": "tune", "cluster": "4W", "configuration": "scattered"}
    part = Part(labels, {}, rounds, "", "")
    rows = inside_tune.table([part]).rows
    assert [row[4] for row in rows] == ["1.00x", "1.50x"]
    assert [row[5] for row in rows] == ["0", "2"] and rows[-1][-1] == "yes"
    assert inside_tune.unchanged([part]) == (1, 1, 0.5)


def test_a_rank_that_is_last_in_most_calls_is_an_imbalance() -> None:
    part = made_part("Blade", "gsum", [0.0] * 2, ["h0", "h1"])

    def balanced() -> str:
        rows = inside_statements.table([part]).rows
        return next(row[3] for row in rows if "gsum on Blade" in row[1])

    assert balanced() == "no", "2 of 3 calls"
    part.facts["last_counts"] = [1]
    assert balanced() == "yes"


def test_departures_from_a_host_s_subtree_are_drawn_and_judged_by_their_slope() -> None:
    parts = [made_part("8W", "gsum", [0.0] * 2, ["h0", "h1"]) for _ in inside_runs.LEVELS]
    for part, name in zip(parts, inside_runs.LEVELS, strict=True):
        part.labels["configuration"] = name
    parts[1].facts["departures"] = [0.3, 0.35, 0.4, 0.45]
    (figure,) = inside_figures.figures(parts)
    assert isinstance(figure, Figure) and figure.name == "inside-3b"
    row = next(row for row in inside_statements.table(parts).rows if row[0] == "Figure 3b")
    assert "200 ms after each other, and 300 ms to 450 ms with two, 50.0 ms after" in row[2]
    assert row[3] == "yes"
