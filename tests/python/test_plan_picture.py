"""Drawings of plans."""

import random
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thalweg
from thalweg import network, operations, plan_picture, schedule, wisdom
from thalweg.cli import main
from thalweg.collective import Kind
from thalweg.errors import UserError
from thalweg.network import Network, Trunk
from thalweg.plans import Plan
from thalweg.schedule import How, Range, Schedule, Transfer

SVG = "{http://www.w3.org/2000/svg}"


def two_sites(each: int = 4) -> Network:
    net = network.even_network(2 * each, 1e-4, 1e7)
    west, east = list(range(each)), list(range(each, 2 * each))
    for a in west:
        for b in east:
            net.latency[a, b] = net.latency[b, a] = 1e-2
    net.sites = [west, east]
    net.trunks = [Trunk("out", west, east, 1e8)]
    return net


def drawn(plan: Plan) -> ET.Element:
    return ET.fromstring(plan_picture.svg(plan))


def titles(root: ET.Element, tag: str) -> list[str]:
    found = [part.find(f"{SVG}title") for part in root.iter(f"{SVG}{tag}")]
    return [title.text or "" for title in found if title is not None]


def words(root: ET.Element) -> list[str]:
    return [part.text or "" for part in root.iter(f"{SVG}text")]


@settings(deadline=None)
@given(st.integers(2, 30), st.randoms())
def test_a_tree_is_recognised_in_any_direction(ranks: int, chance: random.Random) -> None:
    parents = {rank: chance.randrange(rank) for rank in range(1, ranks)}
    names = chance.sample(range(ranks), ranks)
    pairs = {(names[child], names[parent]) for child, parent in parents.items()}
    pairs = {pair if chance.random() < 0.5 else pair[::-1] for pair in pairs}
    both = pairs | {pair[::-1] for pair in pairs if chance.random() < 0.3}
    expected = {(names[child], names[parent]) for child, parent in parents.items()}
    assert set(plan_picture.span(both, ranks, names[0])) == expected
    assert plan_picture.span(list(pairs)[1:], ranks, names[0]) == []
    if ranks > 2:
        more = {(a, b) for a in range(ranks) for b in range(ranks) if a != b}
        more -= pairs | {pair[::-1] for pair in pairs}
        assert plan_picture.span(pairs | {min(more)}, ranks, 0) == []


@pytest.mark.parametrize("name", ["bcast", "reduce", "allreduce"])
def test_a_tree_has_an_edge_and_a_time_per_link(name: str) -> None:
    operation = operations.make(name, "1KB", root=3)
    plan = thalweg.plan(two_sites(), operation, algorithm="binomial")
    root = drawn(plan)
    edges = titles(root, "path")
    assert len(edges) == 7
    both = 2 if name == "allreduce" else 1
    assert all(title.count("1KB in 1 message of") == both for title in edges)
    across = 1e-2 + 1000 / 1e7
    assert sum("of 10.1ms" in title for title in edges) == words(root).count("10.1ms") >= 1
    assert across == pytest.approx(10.1e-3)
    assert titles(root, "circle") == [f"rank {rank}" for rank in range(8)]
    assert plan.title in words(root)


def test_a_pipeline_says_so() -> None:
    plan = thalweg.plan(two_sites(), thalweg.Bcast(nbytes="8MB"), algorithm="pipelined-chain")
    segments = plan.schedule.segments
    assert any(line.startswith(f"A pipeline of {segments} seg") for line in words(drawn(plan)))
    assert all(f"8MB in {segments} messages" in each for each in titles(drawn(plan), "path"))


def test_a_ring_is_arcs_between_hosts() -> None:
    plan = thalweg.plan(two_sites(), thalweg.Allreduce("8MB"), ranks=16, algorithm="ring")
    arcs = titles(drawn(plan), "path")
    assert len(arcs) == 8  # two ranks on each of 8 hosts: the ring enters each host once
    assert all("15MB in 30 messages" in each for each in arcs if plan.schedule.segments == 1)


def test_blocks_are_weighed_by_their_bytes() -> None:
    """A gather of unequal blocks through rank 1."""
    links = [Transfer(r, 1, 0, How.copy, [Range(r)]) for r in (2, 3)]
    links += [Transfer(1, 0, 1, How.copy, [Range(1, 3)])]
    sizes = [5000, 1000, 20_000, 500]
    plan = thalweg.plan(
        two_sites(2), thalweg.Gather(nbytes=sizes), schedule=Schedule(4, links, segments=2)
    )
    edges = titles(drawn(plan), "path")
    assert any("rank 1 on host1 to rank 0 on host0: 21.5KB in 2 messages" in each for each in edges)
    assert "the runtime can't execute it" in plan.reason
    assert any("rank 2 on host2 to rank 1 on host1: 20KB in 2 messages" in each for each in edges)


def test_everybody_to_everybody_is_a_matrix() -> None:
    ranks = 8
    direct = [
        Transfer(a, b, 0, How.copy, [Range(a * ranks + b)])
        for a in range(ranks)
        for b in range(ranks)
        if a != b
    ]
    plan = thalweg.plan(
        two_sites(), thalweg.Alltoall("1MB"), schedule=Schedule(ranks * ranks, direct)
    )
    cells = titles(drawn(plan), "rect")
    assert len(cells) == ranks * (ranks - 1)
    assert any(each.startswith("host0 to host7: 1MB in 1 message of 110ms") for each in cells)


def test_only_hosts_with_ranks_are_drawn() -> None:
    plan = thalweg.plan(
        two_sites(), thalweg.Bcast(nbytes=10), hosts="host0,host5", algorithm="flat"
    )
    assert [name for name in words(drawn(plan)) if re.fullmatch(r"host\d", name)] == [
        "host0",
        "host5",
    ]


def test_a_barrier_can_be_drawn() -> None:
    """No bytes at all."""
    there = [Transfer(a, 1 - a, 0, How.combine_left, [Range(0)]) for a in (0, 1)]
    plan = thalweg.plan(two_sites(1), operations.make("barrier", ""), schedule=Schedule(1, there))
    schedule.verify(plan.collective, plan.schedule)
    assert len(titles(drawn(plan), "path")) == 1


def test_native_is_only_described(tmp_path: Path) -> None:
    plan = thalweg.plan(two_sites(), thalweg.Bcast(), hosts="host0:3")
    assert plan.is_native
    assert plan.reason in " ".join(words(drawn(plan)))
    plan.draw(tmp_path / "it.png")
    assert (tmp_path / "it.png").read_bytes().startswith(b"\x89PNG")


def test_too_many_ranks_are_refused() -> None:
    plan = thalweg.plan(two_sites(), thalweg.Bcast(nbytes=1), ranks=600, effort="estimate")
    assert plan.collective.kind is Kind.bcast
    with pytest.raises(UserError, match="600 ranks couldn't be read"):
        plan_picture.svg(plan)


@pytest.mark.usefixtures("own_cache")
def test_too_many_ranks_are_refused_before_they_are_planned_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wisdom, "plan", None)
    file = tmp_path / "net.json"
    network.write(two_sites(), file)
    words = ["plan", str(file), "bcast", "-n", "600", "-H", "host[0-7]:75"]
    assert main([*words, "--draw", str(tmp_path / "it.svg")]) == 2
    assert "600 ranks couldn't be read" in capsys.readouterr().err


def test_each_of_several_trees_shows_its_own_part() -> None:
    plan = thalweg.plan(
        two_sites(), thalweg.Reduce(nbytes="8MB"), algorithm="packed-trees", ranks=8
    )
    trees = len(plan.skeleton.parents)
    assert trees > 1
    edges = titles(drawn(plan), "path")
    assert len(edges) == trees * 7
    assert not any(";" in each for each in edges)  # each goes in one direction: up
    parts = [plan_picture.traffic(plan, tree) for tree in range(trees)]
    whole = plan_picture.traffic(plan)
    for pair, flow in whole.ranks.items():
        of_parts = sum(part.ranks[pair].size for part in parts if pair in part.ranks)
        assert of_parts == pytest.approx(flow.size, abs=trees)
