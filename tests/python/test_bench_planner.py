"""Networks drawn from seeds, and the page about plans on them."""

import math
from dataclasses import asdict, replace

import pytest

from bench import networks, planner
from bench.page import Part
from bench.planner import Case
from thalweg.algorithms import Parameters, Problem, Skeleton, all_algorithms, find
from thalweg.collective import Kind
from thalweg.network import to_json

LARGE = planner.large
CASE = Case(
    "sites-16-1", 16, True, "bcast", LARGE, 0, "packed-trees", 2.0, "binomial", 3.0, 1.8, "a trunk"
)


@pytest.mark.parametrize("seed", range(2 * len(networks.families)))
def test_a_seed_draws_one_network(seed: int) -> None:
    drawn, again = networks.drawn(seed, 32), networks.drawn(seed, 32)
    assert to_json(drawn.network) == to_json(again.network)
    assert drawn.name == f"{drawn.family}-{drawn.hosts}-{seed}"
    assert 8 <= drawn.hosts <= 32


@pytest.mark.parametrize("seed", range(2 * len(networks.families)))
def test_every_host_is_on_one_site_and_trunks_join_two_groups(seed: int) -> None:
    net = networks.drawn(seed, 32).network
    if net.sites:
        assert sorted(host for site in net.sites for host in site) == list(range(len(net.hosts)))
    for trunk in net.trunks:
        assert not set(trunk.from_) & set(trunk.to)
        assert trunk.capacity > 0


def test_the_slow_host_is_slow_in_both_directions() -> None:
    seed = list(networks.families).index("slow-host")
    net = networks.drawn(seed, 16).network
    slow = min(range(len(net.hosts)), key=lambda host: net.hosts[host].egress)
    usual = max(host.egress for host in net.hosts)
    assert net.hosts[slow].egress <= usual / 4
    assert all(
        net.bandwidth[slow, other] == net.bandwidth[other, slow] == net.hosts[slow].egress
        for other in range(len(net.hosts))
        if other != slow
    )


def test_blocks_make_up_the_size_together() -> None:
    drawn = networks.drawn(0, 8)
    assert planner.problem_of(drawn, Kind.bcast, 3, 8000).collective.size == 8000
    assert planner.problem_of(drawn, Kind.allgather, 0, 8000).collective.size == 1000
    assert planner.problem_of(drawn, Kind.alltoall, 0, 6400).collective.size == 100
    assert planner.problem_of(drawn, Kind.barrier, 0, 6400).collective.size == 0


def test_every_algorithm_is_ours_or_a_papers_or_a_librarys() -> None:
    given = ["listed", "tree"]  # by the user: they have no candidates
    names = [*planner.own, *planner.papers, *planner.libraries, *given]
    assert sorted(names) == sorted(algorithm.name for algorithm in all_algorithms())


def test_no_case_is_better_than_its_bound() -> None:
    cases = planner.judge_network((1000,), ("bcast", "allreduce"), 8, 3)
    assert {case.collective for case in cases} == {"bcast", "allreduce"}
    assert all(case.time >= case.bound > 0 for case in cases)
    assert all(case.rival not in planner.own for case in cases)


def test_gain_is_a_geometric_mean() -> None:
    twice = replace(CASE, time=1.0, rival_time=2.0)
    half = replace(CASE, time=2.0, rival_time=1.0)
    assert planner.gain([twice, half]) == pytest.approx(0)
    assert planner.gain([twice, twice]) == pytest.approx(1)


def test_the_page_says_which_bars_are_met() -> None:
    slower = replace(CASE, collective="reduce", time=1.0, rival_time=0.9)
    far = replace(CASE, collective="gather", bound=0.5)
    samples = [asdict(case) for case in (CASE, slower, far)]
    rivals, distance, worst = planner.contents([Part({}, {}, samples, "", "")])
    assert [(row[0], row[-1]) for row in rivals.rows] == [
        ("bcast", "met"), ("reduce", "missed"), ("gather", "met"),
    ]  # fmt: skip
    assert [(row[0], row[-1]) for row in distance.rows] == [
        ("bcast", "yes"), ("reduce", "yes"), ("gather", "no"),
    ]  # fmt: skip
    assert worst.rows[0][1] == "gather"


def test_a_gain_below_a_quarter_misses_the_bar_on_several_sites() -> None:
    small = replace(CASE, time=1.0, rival_time=1.2)
    (rivals, *_) = planner.contents([Part({}, {}, [asdict(small)], "", "")])
    assert rivals.rows[0][-1] == "missed"
    (rivals, *_) = planner.contents(
        [Part({}, {}, [asdict(replace(small, multi_site=False))], "", "")]
    )
    assert rivals.rows[0][-1] == "met"


def test_a_case_without_a_bound_has_no_distance() -> None:
    assert math.isnan(replace(CASE, bound=0.0).distance)


def test_rivals_keep_all_parameters_of_their_candidates() -> None:
    """A split that stops early is a variant of its own, and so is what is done inside sites."""

    class Recorded:
        """An algorithm that builds nothing new, and notes what it was asked for."""

        name = "site-scatter-allgather"

        def __init__(self) -> None:
            self.asked: list[Parameters] = []

        def candidates(self, _problem: Problem) -> list[Parameters]:
            return [
                Parameters(split=split, inside=inside, segment_size=65_536)
                for split in ("whole", "early")
                for inside in ("ring", "recursive")
            ]

        def build(self, problem: Problem, parameters: Parameters) -> Skeleton:
            self.asked.append(parameters)
            return find(self.name).build(problem, parameters)

    drawn = networks.drawn(3, 24)
    assert drawn.is_multi_site
    recorded = Recorded()
    problem = planner.problem_of(drawn, Kind.bcast, 0, 1_000_000)
    list(planner._built(recorded, problem))  # type: ignore[arg-type]
    kept = {(each.split, each.inside, each.segment_size) for each in recorded.asked}
    wanted = {(each.split, each.inside, each.segment_size) for each in recorded.candidates(problem)}
    assert kept == wanted
