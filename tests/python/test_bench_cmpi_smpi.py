"""CMPI's collectives, simulated by SMPI: single calls, and what the page says of them."""

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bench import cmpi, cmpi_smpi, cmpi_smpi_page
from bench.cmpi_collectives import algorithms, rival
from bench.cmpi_smpi import Case, single_call, size
from bench.cmpi_smpi_page import Times
from bench.page import Part
from bench.report import Table
from bench.settings import Settings
from bench.smpi_programs import build
from bench.smpi_run import Inputs, cloud, rules, thalweg
from thalweg.algorithms import Parameters, Problem, find
from thalweg.collective import Collective, Kind

HOSTS, RANKS = 4, 16
"""With as many ranks, a power of two, MPICH's bcasts of 100 KB go by hosts."""


def case(kind: Kind, built: dict[bool, Path], folder: Path) -> Case:
    """A collective of ranks at random on a small cloud."""
    draw = random.Random(3)
    net = cloud(draw, HOSTS)
    hosts = cmpi.placements["random"](draw, RANKS, HOSTS)
    problem = Problem(Collective(kind, RANKS, 0, size), net, hosts, "mpich")
    return Case(problem, single_call(kind), Inputs(net, hosts, folder, rival), built)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    if not shutil.which("smpirun"):
        pytest.skip("SimGrid isn't installed")
    return build(single_call(Kind.bcast), tmp_path_factory.mktemp("built"))


@pytest.mark.parametrize("kind", algorithms)
def test_both_simulators_have_like_times(
    built: dict[bool, Path], kind: Kind, tmp_path: Path
) -> None:
    """A wrong result would be an error; native algorithms in place of a plan would differ."""
    one = case(kind, built, tmp_path)
    assert one.simulated(rules) == pytest.approx(cmpi.by_hosts(one.problem), rel=0.35)
    flat = find("flat").build(one.problem, Parameters())
    assert one.planned(flat) == pytest.approx(cmpi.simulated(one.problem, flat), rel=0.3)


def test_mpichs_rules_are_those_of_its_second_release(tmp_path: Path) -> None:
    one = case(Kind.reduce, {}, tmp_path)
    assert "[bcast][reduce]" in one.inputs.environment(one.program, rules)["BY_HOSTS"]
    chosen = one.inputs.native(one.program, rules)
    assert "--cfg=smpi/reduce:scatter_gather" in chosen
    assert "--cfg=smpi/reduce:binomial" in one.inputs.native(one.program, thalweg)
    bcast = replace(one.program, bcast="12288")  # the first size that isn't short for 1.4 alone
    net = cloud(random.Random(3), RANKS)
    for release, name in {rival: "scatter_rdb_allgather", "mpich": "binomial_tree"}.items():
        inputs = Inputs(net, list(range(RANKS)), tmp_path, release)
        assert f"--cfg=smpi/bcast:{name}" in inputs.native(bcast, rules)


def test_many_ranks_share_fewer_hosts() -> None:
    found = {each.ranks: each.hosts for each in cmpi_smpi.setups(Settings([]))}
    assert list(found) == [32, 64, 128, 256, 512, 1024, 2048]
    assert max(found.values()) == cmpi_smpi.most_hosts
    assert list(cmpi_smpi.setups(Settings([], hosts=64))) == cmpi_smpi.setups(Settings([]))[:2]


def times(ranks: int, placement: str, cmpi_takes: float, own_cmpi_takes: float) -> Times:
    return Times(
        ranks, 10, placement, "bcast", 1, mpich=1.0, cmpi=cmpi_takes, thalweg=0.5,
        own_mpich=2.0, own_cmpi=2 * own_cmpi_takes, own_thalweg=1.0, plan="chain",
    )  # fmt: skip


def test_the_page_has_gains_by_both_simulators() -> None:
    samples = [
        times(64, "block", 0.9, 1.2),
        times(64, "random", 0.6, 0.7),
        times(32, "block", 1.1, 0.8),
        times(32, "random", 0.75, 0.75),
    ]
    parts = [
        Part({"ranks": n}, {}, [vars(s) for s in samples if s.ranks == n], "2026-11-29", "abc")
        for n in (64, 32)
    ]
    contents = cmpi_smpi_page.contents(parts)
    gains, collectives, both = (each for each in contents if isinstance(each, Table))
    assert [row[0] for row in gains.rows] == ["32", "64"]
    assert gains.rows[0][3:7] == ["-10 %", "20 %", "25 %", "25 %"]
    assert gains.rows[1][3:7] == ["10 %", "-20 %", "40 %", "30 %"]
    block, by_own, at_random, _ = gains.notes[-4:]
    assert "block, SMPI: CMPI takes -10 % to 10 % less time than MPICH2" in block
    assert "does not hold. It is slower than MPICH2 in bcast at 32 ranks." in block
    assert at_random.endswith(": holds in part. It is slower in no collective.")
    assert "bcast at 64 ranks." in by_own and "20 %" in by_own
    assert len(collectives.rows) == 4
    (row,) = [each for each in both.rows if each[1] == "CMPI"]
    assert row[-1] == "2 of 4"


def test_the_papers_least_gain_is_what_holds() -> None:
    def ends(takes: float) -> bool:
        samples = [vars(times(32, "block", takes, takes))]
        gains = cmpi_smpi_page.contents([Part({"ranks": 32}, {}, samples, "2026-11-29", "")])[0]
        return ": holds." in gains.notes[-1]

    assert [ends(takes) for takes in (0.74, 0.75)] == [True, False]  # the paper: 25.4 % at least


def test_a_simulation_that_was_ended_has_no_part_in_means() -> None:
    """They are over the same networks by both simulators."""
    ended = replace(times(32, "block", 0.5, 0.9), mpich=None)
    parts = [
        Part({"ranks": 32}, {}, [vars(ended), vars(times(32, "block", 0.9, 0.5))], "2026-11-29", "")
    ]
    gains, collectives, _ = (
        each for each in cmpi_smpi_page.contents(parts) if isinstance(each, Table)
    )
    assert gains.rows[0][3:5] == ["10 %", "50 %"]
    assert collectives.rows[0][3:5] == ["-", "700 ms"]


def test_many_ranks_have_no_plans() -> None:
    unplanned = replace(times(512, "block", 0.5, 0.5), thalweg=None, own_thalweg=None, plan="")
    part = Part({"ranks": 512}, {}, [vars(unplanned)], "2026-11-29", "")
    gains, collectives, _ = (
        each for each in cmpi_smpi_page.contents([part]) if isinstance(each, Table)
    )
    assert gains.rows[0][3:] == ["50 %", "50 %", "-", "-"]
    assert collectives.rows[0][5] == collectives.rows[0][-1] == "-"
