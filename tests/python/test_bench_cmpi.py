"""The page of CMPI against MPICH2: where ranks are, what the rival does, and what is said of it."""

import random
from dataclasses import asdict

import pytest

from bench import cmpi, cmpi_page, networks
from bench.cmpi import Setup
from bench.cmpi_page import Times
from bench.page import Part
from thalweg import planner
from thalweg.algorithms import find
from thalweg.collective import Kind
from thalweg.simulator import Fidelity


@pytest.mark.parametrize("name", cmpi.placements)
@pytest.mark.parametrize(("ranks", "hosts"), [(1, 1), (3, 8), (8, 8), (200, 64)])
def test_placements_use_as_many_hosts_as_they_can(name: str, ranks: int, hosts: int) -> None:
    placement = cmpi.placements[name](random.Random(1), ranks, hosts)
    assert len(placement) == ranks
    assert set(placement) <= set(range(hosts))
    assert len(set(placement)) == min(ranks, hosts)


def test_launchers_placements() -> None:
    draw = random.Random(1)
    assert cmpi.in_blocks(draw, 7, 3) == [0, 0, 0, 1, 1, 2, 2]
    assert cmpi.in_turn(draw, 7, 3) == [0, 1, 2, 0, 1, 2, 0]


def test_the_rival_goes_by_hosts_where_mpich_does() -> None:
    def both(ranks: int, kind: Kind) -> tuple[float, float]:
        setup = Setup("ranks", hosts=8, ranks=ranks, size=1000, kinds=(kind,))
        _, problem = next(p for p in cmpi.problems(setup, 1) if p[0] == "round robin")
        return cmpi.by_hosts(problem), cmpi.simulated(problem, cmpi.selected(problem))

    alone, without = both(8, Kind.reduce)
    assert alone == without
    shared, without = both(32, Kind.reduce)
    assert shared < without  # ranks 0, 8, 16, .. share a host; a binomial tree of all goes across
    shared, without = both(32, Kind.gather)
    assert shared == without


def test_phases_follow_each_other() -> None:
    setup = Setup("ranks", hosts=4, ranks=8, size=1000, kinds=(Kind.reduce,))
    _, problem = next(p for p in cmpi.problems(setup, 1) if p[0] == "block")
    phases = planner.native_algorithms(problem, cmpi.rival)[0].phases
    assert len(phases) == 2
    single = [
        networks.simulated(part, find(p.algorithm).build(part, p.parameters), Fidelity.fluid)
        for p in phases
        for part in [cmpi.asked(problem.network, p.placement, p.collective)]
    ]
    assert cmpi.by_hosts(problem) == pytest.approx(sum(single))


def times(placement: str, collective: str, slower: float, sweep: str = "bytes") -> Times:
    """CMPI takes `slower` times as long as MPICH2, and half as long as it without SMP."""
    mine = slower * 2.0
    return Times(sweep, "1MB", placement, collective, 1, 2 * mine, 2.0, mine, mine, 1.0, "flat")


def test_losses_are_named() -> None:
    found = [times("block", "bcast", 1.5), times("block", "reduce", 0.5)]
    table = cmpi_page.losses(found)
    assert ["block", "bcast", "1 of 1", "1.50x", "1.50x", "bytes 1MB"] in table.rows
    assert ["block", "reduce", "0 of 1", "", "", ""] in table.rows
    assert any("CMPI gains 13 %" in note and "bcast 50 %" in note for note in table.notes)


def test_gains_are_over_the_rival_named() -> None:
    own = [times("random", "bcast", 0.8), times("random", "bcast", 0.8)]
    assert cmpi_page.gain(own) == pytest.approx(0.2)
    assert cmpi_page.gain(own, over="flat") == pytest.approx(0.5)
    assert cmpi_page.gain(own, "ours") == pytest.approx(0.5)
    assert cmpi_page.placed(own) == ["-", "-", "20 %"]


def test_the_page_of_a_few_points_is_whole() -> None:
    setups = [
        Setup("bytes", hosts=4, ranks=8, size=1000, networks=1),
        Setup(cmpi_page.clusters, hosts=4, ranks=8, networks=2, kinds=(Kind.bcast,), planned=False),
        Setup(cmpi_page.processes, hosts=4, ranks=8, networks=1, kinds=(Kind.scatter,)),
    ]
    parts = [
        Part(s.labels, {}, [asdict(each) for each in cmpi.measure(s)], "2026-01-01", "c")
        for s in setups
    ]
    titles = [content.title for content in cmpi_page.contents(parts)]
    assert len(titles) == len(set(titles)) + 1  # a table and a figure have the same
    assert "By bytes" in titles
    rows = cmpi_page.contents(parts[1:2])[-2]
    assert [row[2] for row in rows.rows] == ["2"] * 6  # type: ignore[union-attr]
    assert cmpi_page.contents([]) is not None


def test_a_page_without_a_sweep_has_no_figure_of_it() -> None:
    assert cmpi_page.virtual_clusters([]) == []
    assert cmpi_page.single_processes([]) == []
