"""Declared trees: files, names of hosts, and their use on the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg import algorithms, network, planner, schedule, trees
from thalweg.algorithms import Problem
from thalweg.cli import main
from thalweg.collective import Collective, Kind
from thalweg.errors import UserError
from thalweg.network import Network

SAMPLE = {
    "schema": 1,
    "ranks": 8,
    "root": "host0",
    "segment_size": "64KiB",
    "children": {"host0": ["host1", "host2"], "host1": [7]},
    "levels": {"host0": 2},
}


def hosts(count: int) -> Network:
    return network.even_network(count, 1e-4, 1e8)


def parents(document: dict[str, Any], placement: list[int]) -> list[int]:
    net = hosts(max(placement) + 1)
    return trees.from_json(json.dumps(document), net, placement).tree.parents


def test_hosts_stand_for_their_ranks() -> None:
    net = hosts(3)
    # host0 has ranks 0, 1, 2 and 3, host1 4 and 5, host2 6 and 7.
    found = trees.from_json(json.dumps(SAMPLE), net, [0, 0, 0, 0, 1, 1, 2, 2])
    assert found.segment_size == 65536
    # Within host0: two levels below rank 0, of as few children each as suffice; 7 is named itself.
    assert found.tree.children == [[4, 6, 1, 2], [3], [], [], [7, 5], [], [], []]
    assert found.tree.parents == [-1, 0, 0, 1, 0, 4, 0, 4]


def test_levels_inside_a_host() -> None:
    one_host = [0] * 8

    def inside(levels: int) -> list[int]:
        document = {"schema": 1, "children": {"host0": []}, "levels": {"host0": levels}}
        return parents(document, one_host)

    assert inside(1) == [-1, 0, 0, 0, 0, 0, 0, 0]
    assert max(depths(inside(2))) == 2
    assert max(depths(inside(3))) <= 3
    assert inside(7) == [-1, 0, 1, 2, 3, 4, 5, 6]


def depths(found: list[int]) -> list[int]:
    def depth(rank: int) -> int:
        return 0 if found[rank] < 0 else 1 + depth(found[rank])

    return [depth(rank) for rank in range(len(found))]


@given(st.data())
def test_what_is_written_is_read_again(data: st.DataObject) -> None:
    ranks = data.draw(st.integers(1, 12))
    given_parents = [data.draw(st.integers(0, rank - 1)) for rank in range(1, ranks)]
    children: dict[str, list[int]] = {}
    for rank, parent in enumerate(given_parents, start=1):
        children.setdefault(str(parent), []).append(rank)
    net, placement = hosts(ranks), list(range(ranks))
    tree = trees.from_json(json.dumps({"schema": 1, "children": children}), net, placement)
    assert tree.tree.parents[1:] == given_parents
    problem = Problem(Collective(Kind.reduce, ranks, size=1000), net, placement)
    skeleton = algorithms.find("tree").build(problem, tree)
    schedule.verify(problem.collective, algorithms.expand(Kind.reduce, skeleton, 1000))
    again = trees.from_json(trees.to_json(skeleton), net, placement)
    assert again == tree


def numbered(*names: str) -> Network:
    """Hosts that have numbers for names."""
    net = hosts(len(names))
    net.hosts = [network.Host(name) for name in names]
    return net


@given(st.integers(1, 12).flatmap(lambda ranks: st.permutations(range(ranks))), st.data())
def test_a_written_tree_is_read_again_where_hosts_have_numbers_for_names(
    names: list[int], data: st.DataObject
) -> None:
    ranks = len(names)
    net = numbered(*map(str, names))
    placement = data.draw(st.lists(st.sampled_from(range(ranks)), min_size=ranks, max_size=ranks))
    children: list[list[int]] = [[] for _ in range(ranks)]
    for rank in range(1, ranks):
        children[data.draw(st.integers(0, rank - 1))].append(rank)
    tree = trees.make(children)
    problem = Problem(Collective(Kind.bcast, ranks, size=1000), net, placement)
    text = trees.to_json(algorithms.find("tree").build(problem, tree))
    assert trees.from_json(text, net, placement) == tree


def test_a_number_that_is_a_host_and_another_rank_is_refused_unless_said() -> None:
    # Rank 0 is on host "2", rank 1 on host "7", rank 2 on host "1", and rank 3 on host "3".
    net, placement = numbered("2", "7", "1", "3"), [0, 1, 2, 3]
    document: dict[str, Any] = {"schema": 1, "children": {"2": ["7", "3"], "3": [2]}}

    def read(**more: str) -> list[list[int]]:
        return trees.from_json(json.dumps(document | more), net, placement).tree.children

    with pytest.raises(UserError, match=r'"2" is a rank, and a host whose first rank is 0: add'):
        read()
    assert read(numbers="hosts") == [[1, 3], [], [], [2]]
    with pytest.raises(UserError, match="there is no rank 7 among 4"):
        read(numbers="ranks")
    document["children"] = {"0": [1, "3"], "3": [2]}  # No host is "0", and host "3" is rank 3.
    assert read() == [[1, 3], [], [], [2]]
    document["children"] = {"0": ["7", 2, 3]}  # There is no rank 7.
    assert read() == [[1, 2, 3], [], [], []]
    with pytest.raises(UserError, match=r'"0" is neither a rank nor a host'):
        read(numbers="hosts")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"schema": 2}, '"schema" must be 1'),
        ({"childs": {}}, 'the key "childs" is unknown'),
        ({"ranks": 9}, "it is for 9 ranks, but the hosts have 8: say -n 9"),
        ({"children": {"host0": ["host1", "host2", 99]}}, 'children of "host0": there is no rank'),
        ({"children": {"host0": ["host1", "west"]}}, '"west" is neither a rank nor a host'),
        ({"children": {"host0": ["host1", "host1"]}}, "rank 4 is a child of rank 0 already"),
        ({"children": {"host0": ["host1"]}}, "ranks 0 and 6 are nobody's children"),
        ({"children": {"host0": 1}}, 'children of "host0": must be a list'),
        ({"children": {"host0": ["host1", "host2"], "0": [5]}}, "rank 0 has two entries"),
        ({"children": []}, '"children" must be an object'),
        ({"root": "host1"}, '"root" is rank 4, but rank 0 is nobody'),
        ({"numbers": "both"}, '"numbers" must be "ranks" or "hosts"'),
        ({"numbers": ["ranks"]}, '"numbers" must be "ranks" or "hosts"'),
        ({"levels": {"host0": 0}}, "must be a whole number of at least 1"),
        ({"levels": {"host9": 2}}, "doesn't name this host"),
        ({"segment_size": "much"}, "much"),
        ({"segment_size": -1}, '"segment_size" must be a size'),
    ],
)
def test_a_bad_file_is_refused(change: dict[str, Any], error: str) -> None:
    with pytest.raises(UserError) as caught:
        trees.from_json(json.dumps(SAMPLE | change), hosts(3), [0, 0, 0, 0, 1, 1, 2, 2])
    assert error in str(caught.value)


def test_errors_name_the_file_and_the_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.tree"
    path.write_text("ranks 2\n0: 1 2\n")
    with pytest.raises(UserError, match=r"tree file .*mine.tree: line 2: there is no rank 2"):
        trees.read(path, hosts(2), [0, 1])
    path.write_text('{"schema": 1,\n "children": }')
    with pytest.raises(
        UserError, match=r"mine.tree: .*not JSON: line 2, column 14: Expecting value"
    ):
        trees.read(path, hosts(2), [0, 1])
    path.write_text("ranks 3\n0: 1 2\n")
    with pytest.raises(UserError, match="it is for 3 ranks, but the hosts have 2"):
        trees.read(path, hosts(2), [0, 1])
    with pytest.raises(UserError, match="tree file /no/such: No such file"):
        trees.read("/no/such", hosts(2), [0, 1])
    with pytest.raises(UserError, match="stands twice"):
        trees.from_json('{"schema": 1, "schema": 1, "children": {}}', hosts(1), [0])


def test_only_trees_are_written() -> None:
    net = hosts(4)
    problem = Problem(Collective(Kind.allreduce, 4, size=1000), net, [0, 1, 2, 3])
    ring = algorithms.find("ring").build(problem, algorithms.Parameters())
    with pytest.raises(UserError, match="ring isn't one tree"):
        trees.to_json(ring)


def test_plan_reads_and_writes_trees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net, found = tmp_path / "net.json", tmp_path / "found.json"
    network.write(hosts(6), net)
    assert main(["plan", str(net), "bcast", "64KB", "--write-tree", str(found), "--json"]) == 0
    best = json.loads(capsys.readouterr().out)
    mine = ["plan", str(net), "bcast", "64KB", "--tree", str(found)]
    assert main([*mine, "--write-tree", str(tmp_path / "found.tree"), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["algorithm"] == "tree"
    assert again["predicted"] == pytest.approx(best["predicted"], rel=0.2)
    text = trees.from_text((tmp_path / "found.tree").read_text(), 6)
    assert text == trees.read(found, hosts(6), list(range(6)))


def test_a_table_takes_a_tree_for_some_sizes(tmp_path: Path) -> None:
    net, mine, output = tmp_path / "net.json", tmp_path / "mine.tree", tmp_path / "plan.bin"
    network.write(hosts(3), net)
    mine.write_text("ranks 3\n0: 1\n1: 2\n")
    arguments = ["plan", str(net), "--collective", "bcast", "--tree", str(mine)]
    assert main([*arguments, "--sizes", "1KB-1MB", "-o", str(output)]) == 0
    (table,) = planner.from_bytes(output.read_bytes()).tables
    inside, above = table.find(Kind.bcast, 1, 1000), table.find(Kind.bcast, 1, 1_000_000)
    assert inside and inside.skeleton.algorithm == "tree"
    assert inside.skeleton.parents == [[1, -1, 1]]
    assert above and above.skeleton.algorithm != "tree"
    assert main([*arguments, "--sizes", "1KB", "-o", str(output)]) == 2
    assert main(["plan", str(net), "--sizes", "1KB-2KB"]) == 2
    assert main(["plan", str(net), "--tree", str(mine)]) == 2
