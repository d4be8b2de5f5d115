"""The page of CMPI against MPICH2: where ranks are, what the rival does, and what is said of it."""

import dataclasses
import random
import re
from dataclasses import asdict

import pytest

from bench import cmpi, cmpi_collectives, cmpi_gains, cmpi_page, networks
from bench.cmpi import Setup
from bench.cmpi_collectives import Cmpi, Costs, Shape
from bench.cmpi_gains import Times
from bench.cmpi_page import Cloud, Spread
from bench.page import Part
from thalweg import network, planner
from thalweg.algorithms import Problem, Skeleton, find
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
    phases = planner.native_algorithms(problem, cmpi_collectives.rival)[0].phases
    assert len(phases) == 2
    single = [
        networks.simulated(part, find(p.algorithm).build(part, p.parameters), Fidelity.fluid)
        for p in phases
        for part in [cmpi.asked(problem.network, p.placement, p.collective)]
    ]
    assert cmpi.by_hosts(problem) == pytest.approx(sum(single))


@pytest.mark.parametrize("kind", [Kind.bcast, Kind.reduce])
def test_groups_form_a_tree_that_the_root_leads(kind: Kind) -> None:
    setup = Setup("ranks", hosts=12, ranks=40, kinds=(kind,))
    for _, problem in cmpi.problems(setup, 1):
        levels = cmpi_collectives.levels(problem, setup.shape())
        groups = [group for level in levels for group in level]
        assert sum(len(group) - 1 for group in groups) == setup.ranks - 1
        led = [rank for group in groups for rank in group[1:]]
        assert sorted(led) == [r for r in range(setup.ranks) if r != problem.collective.root]
        assert len(levels[-1]) == 1
        assert levels[-1][0][0] == problem.collective.root


def test_a_leader_is_chosen_in_the_direction_of_the_data() -> None:
    # Towards hosts 1 and 2 host 0 is the fastest, from them host 2 (decision 0012).
    net = network.even_network(3, 0, 1e9)
    net.latency[0, 1] = net.latency[0, 2] = net.latency[1, 2] = net.latency[2, 1] = 1e-3
    net.latency[1, 0] = net.latency[2, 0] = 5e-3
    out, back = (Costs.of(net, kind, 1000, Shape(base=1.01)) for kind in (Kind.bcast, Kind.reduce))
    assert out.times.sum(axis=1).argmin() == 0
    assert back.times.sum(axis=1).argmin() != 0
    assert (out.levels >= 0).all()
    assert out.levels[0, 0] == 0


def test_short_vectors_take_the_same_trees_in_groups() -> None:
    """MPICH2's choice is binomial there: as hierarchical, but that levels wait for each other."""
    setup = Setup("bytes", hosts=8, ranks=8, size=1000, kinds=(Kind.bcast,))
    _, problem = next(cmpi.problems(setup, 1))
    joined = cmpi.joined(problem, setup.shape())
    assert joined
    apart = Cmpi(problem, setup.shape()).seconds(problem, cmpi.exits)
    assert apart >= joined * (1 - 1e-9)


def test_a_group_waits_for_its_own_ranks_alone() -> None:
    levels = [[[0, 1], [2, 3], [4]], [[0, 2, 4]]]
    taken = {(0, 1): [1.0, 2.0], (2, 3): [5.0, 6.0], (4,): [0.0], (0, 2, 4): [3.0, 10.0, 20.0]}

    def followed(*, outwards: bool) -> list[float]:
        return cmpi_collectives.followed(
            levels, 5, lambda group: taken[tuple(group)], outwards=outwards
        )

    assert followed(outwards=True) == [4.0, 5.0, 15.0, 16.0, 20.0]
    assert followed(outwards=False) == [8.0, 2.0, 15.0, 6.0, 25.0]


@pytest.mark.parametrize(
    ("kind", "size", "wanted"),
    [
        (Kind.bcast, 1000, {"binomial"}),
        (Kind.bcast, 1_000_000, {"scatter-allgather"}),
        (Kind.reduce, 1_000_000, {"rabenseifner"}),
    ],
)
def test_groups_call_what_mpich_chooses_for_them(kind: Kind, size: int, wanted: set[str]) -> None:
    """Algorithm 3 calls MPI_Bcast or MPI_Reduce among the leaders of each level."""
    setup = Setup("bytes", hosts=4, ranks=64, size=size, kinds=(kind,))
    _, problem = next(cmpi.problems(setup, 1))
    called: list[tuple[int, str]] = []

    def judge(part: Problem, skeleton: Skeleton) -> list[float]:
        called.append((part.collective.ranks, skeleton.algorithm))
        return [1.0] * part.collective.ranks

    shape = setup.shape()
    taken = Cmpi(problem, shape).seconds(problem, judge)
    groups = cmpi_collectives.levels(problem, shape)
    assert 1 <= taken <= len(groups)  # the groups of a level at once
    assert sorted(ranks for ranks, _ in called) == sorted(
        len(group) for level in groups for group in level if len(group) > 1
    )
    assert {algorithm for ranks, algorithm in called if ranks == 16} == wanted


def times(placement: str, collective: str, slower: float, sweep: str = "bytes") -> Times:
    """CMPI takes `slower` times as long as MPICH2, and half as long as it without SMP."""
    mine = slower * 2.0
    return Times(
        sweep, "1MB", placement, collective, 1, 2 * mine, 2.0, mine, mine, None, 1.0, "flat"
    )


def test_losses_are_named() -> None:
    found = [times("block", "bcast", 1.5), times("block", "reduce", 0.5)]
    table = cmpi_gains.losses(found)
    assert ["block", "bcast", "1 of 1", "1.50x", "1.50x", "bytes 1MB"] in table.rows
    assert ["block", "reduce", "0 of 1", "", "", ""] in table.rows
    assert any(
        "CMPI takes 13 % less time" in note and "bcast (50 % more)" in note for note in table.notes
    )


def test_what_is_gained_with_one_rank_per_host_is_said() -> None:
    found = [
        dataclasses.replace(times(placement, "bcast", cmpi, sweep="ranks per host"), varied="1")
        for placement, cmpi in (("block", 1.5), ("random", 0.75))
    ]
    few = dataclasses.replace(times("block", "bcast", 0.9, sweep="hosts"), varied="128")
    said = cmpi_gains.one_per_host([*found, few])
    assert "takes 50 % more time in blocks, 25 % less time at random than MPICH2" in said
    assert "loses in 1 of 2 cells" in said
    assert said.endswith("128 hosts it takes 10 % less time in blocks than MPICH2.")
    assert cmpi_gains.one_per_host([few]) == ""


def test_gains_are_held_against_the_papers_course_over_sizes() -> None:
    def said(**slower: list[float]) -> str:
        found = [
            dataclasses.replace(times(placement.replace("_", " "), "bcast", each), varied=size)
            for placement, course in slower.items()
            for size, each in zip(("1KB", "10KB", "100KB"), course, strict=True)
        ]
        return cmpi_gains.together(found).notes[-1]

    mixed = said(block=[0.5, 0.6, 0.7], round_robin=[0.8, 0.5, 0.9], random=[0.9, 0.8, 0.7])
    assert "in blocks it falls with the size (50, 40, 30 %)" in mixed
    assert "in turn it is the most at 10KB (20, 50, 10 %)" in mixed
    assert "at random it grows with the size (10, 20, 30 %): this does not hold." in mixed
    assert said(block=[0.9, 0.8, 0.7]).endswith("this holds.")
    other_sweep = [times("block", "bcast", 0.5, sweep="k")]
    assert "5.2" not in cmpi_gains.together(other_sweep).notes[-1]


def test_each_collective_is_held_against_its_average_gain() -> None:
    gained, lost = times("block", "bcast", 0.5), times("block", "reduce", 1.5)
    both = cmpi_gains.on_average([gained, lost, times("random", "reduce", 0.9)])
    assert both.endswith("here all do but reduce in blocks: holds in part.")
    assert cmpi_gains.on_average([lost]).endswith("reduce in blocks: does not hold.")
    assert cmpi_gains.on_average([gained]).endswith("here all do but none: holds.")
    assert both in cmpi_gains.beside_paper([gained, lost, times("random", "reduce", 0.9)]).notes


def test_distributions_are_held_against_figures_7_and_8() -> None:
    def clouds(*ours: float) -> list[Times]:
        return [
            dataclasses.replace(times("block", "bcast", 1.0), mpich=theirs, cmpi=each)
            for theirs, each in zip((1.0, 2.0, 3.0), ours, strict=True)
        ]

    wanted = "faster on most networks for {}; the middle 80 % of its times lie closer together for "
    one, none = "bcast in blocks", "none"
    faster_and_steadier = cmpi_page.over_networks(clouds(0.5, 0.6, 0.7))
    assert wanted.format(one) + f"{one}: holds." in faster_and_steadier
    assert wanted.format(one) + f"{none}: holds in part" in cmpi_page.over_networks(
        clouds(0, 1, 2.9)
    )
    assert wanted.format(none) + f"{one}: does not" in cmpi_page.over_networks(clouds(4, 4, 4))

    def ranks(*widths: float) -> list[Spread]:
        theirs = {"10": 1.0, "90": 2.0}
        return [
            Spread(placement, 1, theirs, {"10": 0.0, "90": width})
            for placement, width in zip(("block", "round robin", "random"), widths, strict=True)
        ]

    said = cmpi_page.over_ranks(ranks(0.9, 1.1, 1.1))
    assert said.endswith("with ranks in blocks: does not hold.")
    assert cmpi_page.over_ranks(ranks(0.9, 0.8, 0.7)).endswith("at random: holds.")


@pytest.mark.parametrize(
    ("groups", "verdict"),
    [
        ([[1] * 64, [4, 4, 5], [2], [1]], "4 to 4 levels on 64 hosts, .* of 4 to 5, .*: holds"),
        ([[1] * 64, [4, 9], [2], [1]], "of 4 to 9, .*: does not hold"),
        ([[1] * 64, [64]], "2 to 2 levels .*: does not hold"),
    ],
)
def test_hierarchies_are_held_against_figure_5(groups: list[list[int]], verdict: str) -> None:
    cloud = Cloud("drawn", "linear", 64, 0.5, 0.2, groups, [1.0] * 21, [1.0] * 21)
    assert re.search(f"{verdict}\\.$", cmpi_page.hierarchies([cloud]))


def test_gains_are_over_the_rival_named() -> None:
    own = [times("random", "bcast", 0.8), times("random", "bcast", 0.8)]
    assert cmpi_gains.mean_saved(own) == pytest.approx(0.2)
    assert cmpi_gains.mean_saved(own, over="flat") == pytest.approx(0.5)
    assert cmpi_gains.mean_saved(own, "ours") == pytest.approx(0.5)
    assert cmpi_gains.placed(own) == ["-", "-", "20 %"]


def test_the_page_of_a_few_points_is_whole() -> None:
    setups = [
        Setup("bytes", hosts=4, ranks=8, size=1000, networks=1),
        Setup(cmpi_page.clusters, hosts=4, ranks=8, networks=2, kinds=(Kind.bcast,), planned=False),
        Setup(cmpi_page.processes, hosts=4, ranks=8, networks=1, kinds=(Kind.scatter,)),
        Setup(cmpi_page.clouds, hosts=8, networks=1),
    ]
    parts = [
        Part(s.labels, {}, [asdict(each) for each in cmpi.measure(s)], "2026-01-01", "c")
        for s in setups
    ]
    titles = [content.title for content in cmpi_page.contents(parts)]
    assert len(titles) == len(set(titles)) + 2  # two tables are drawn under their names
    assert "By bytes" in titles
    rows = cmpi_page.contents(parts[1:2])[-2]  # before its figure
    assert [row[2] for row in rows.rows] == ["2"] * 6  # type: ignore[union-attr]
    assert cmpi_page.contents([]) is not None


def test_a_page_without_a_sweep_has_no_figure_of_it() -> None:
    assert cmpi_page.virtual_clusters([]) == []
    assert cmpi_page.single_processes([]) == []


@pytest.mark.parametrize("kind", [Kind.gather, Kind.scatter])
def test_cmpi_s_tree_and_mpich_s_pass_one_message_at_a_time(kind: Kind) -> None:
    setup = Setup("bytes", hosts=8, ranks=8, kinds=(kind,))
    _, problem = next(cmpi.problems(setup, 1))
    tree = Cmpi(problem, setup.shape()).tree
    assert tree and tree.window == cmpi.selected(problem).window == 1
    (wider,) = {each.window for each in find("distance-tree").candidates(problem)} - {0}
    assert wider > 1, "which the planner weighs, too"


def bcast_of(varied: str, cmpi: float) -> Times:
    return Times("bytes", varied, "block", "bcast", 1, 1.0, 1.0, cmpi, 1.0, 1.0, None, "")


def test_bcasts_are_held_against_the_paper_s_huge_gap() -> None:
    def said(large: float) -> str:
        rows = [
            dataclasses.replace(bcast_of(varied, time), placement=placement)
            for varied, time in (("100KB", 0.5), ("1MB", large))
            for placement in cmpi.placements
        ]
        return cmpi_gains.gap_of_bcasts(rows)

    assert "they take 50 % less time and 60 % less time in blocks, " in said(0.4)
    assert said(0.4).endswith(": holds.")
    assert "50 % less time and 50 % more time in blocks" in said(1.5)
    assert said(1.5).endswith(": holds in part.")


def test_all_collectives_together_are_held_against_the_abstract() -> None:
    assert cmpi_gains.over_all([bcast_of("1MB", 0.7)]).endswith(
        "here 30 % less time to 30 % less time, by placement: holds."
    )
    assert cmpi_gains.over_all([bcast_of("1MB", 0.9)]).endswith(": holds in part.")
