"""`thalweg tune`: moves of trees that runs used, and whether what they promise comes true."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from recorded import Recording

from thalweg import algorithms, network, operations, simulator, trees, tuning, wisdom
from thalweg.algorithms import Problem
from thalweg.cli import main
from thalweg.collective import Kind
from thalweg.errors import UserError
from thalweg.network import Host, NativeTime, Network
from thalweg.planner import Table
from thalweg.plans import Setting
from thalweg.tree_search import LEAST_GAIN, Tree
from thalweg.tuning import Advice

HOSTS = 12
ROUNDS = 3
# Sites are hosts 0 to 5 and 6 to 11; each hop crosses the long link.
TO_AND_FRO = Tree(tuple((rank + 1,) if rank + 1 < HOSTS else () for rank in range(HOSTS)))
PLACES = [host // 2 + 6 * (host % 2) for host in range(HOSTS)]


def two_sites() -> Network:
    latency = np.full((HOSTS, HOSTS), 1e-4)
    latency[:6, 6:] = latency[6:, :6] = 1e-2
    np.fill_diagonal(latency, 0)
    hosts = [Host(f"h{host}", 1e8, 1e8) for host in range(HOSTS)]
    return Network(hosts, latency, np.full((HOSTS, HOSTS), 1e8))


def simulated(
    net: Network, kind: str, size: str, tree: Tree, places: list[int], calls: int = 5
) -> Recording:
    """A run of calls that take what the simulator says."""
    operation = operations.make(kind, size, tree.parents.index(-1))
    collective = operation.collective(len(places))
    problem = Problem(collective, net, places)
    skeleton = algorithms.find(trees.NAME).build(problem, tree.parameters())
    found = simulator.simulate(problem, skeleton, simulator.Options(timeline=True))
    made = Recording(len(places))
    for number in range(calls):
        begin = 10**9 * number
        times = {rank: (begin, begin + ns(exit)) for rank, exit in enumerate(found.exits)}
        call = made.call(collective.kind, times, root=collective.root, size=collective.size)
        for each in found.timeline:
            start, end = begin + ns(each.start), begin + ns(each.end)
            made.message(
                call, each.from_, each.to, (start, start), (begin, end), step=each.step,
                size=each.size, segment=each.segment,
            )  # fmt: skip
    return made


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


def advice(
    net: Network, kind: str, size: str, tree: Tree, believed: Network | None = None
) -> Advice:
    recording = simulated(net, kind, size, tree, PLACES)
    (found,) = tuning.advise(recording.run(network=believed or net, placement=PLACES))
    return found


def same_tree(a: Tree, b: Tree) -> bool:
    return a.parents == b.parents


@pytest.mark.parametrize("kind", ["bcast", "reduce", "allreduce", "barrier"])
def test_a_run_tells_which_tree_it_used(kind: str) -> None:
    tree = Tree(((2, 1, 3), (4, 5), (), (6,), (), (7, 8), (), (), (9, 10, 11), (), (), ()))
    found = advice(two_sites(), kind, "8B", tree)
    assert same_tree(found.used, tree)
    assert found.calls == 5
    assert found.before == pytest.approx(found.observed, rel=1e-3)


def test_children_are_in_the_order_in_which_they_were_served() -> None:
    made = Recording(4)
    for number, kind in enumerate((Kind.bcast, Kind.reduce)):
        begin = 1000 * number
        call = made.call(kind, dict.fromkeys(range(4), (begin, begin + 90)))
        for child, post in ((2, 10), (3, 20), (1, 30)):
            sent, received = (begin + post, begin + post + 1), (begin, begin + post + 50)
            ends = (0, child) if kind is Kind.bcast else (child, 0)
            made.message(call, *ends, sent, received, how=int(kind is Kind.reduce))
    net = network.even_network(4, 1e-6, 1e9)
    found = tuning.advise(made.run(network=net, placement=range(4)))
    used = {each.kind: each.used for each in found}
    assert used[Kind.bcast].children[0] == (2, 3, 1)
    assert used[Kind.reduce].children[0] == (1, 3, 2), "the first to be combined is the last"


@pytest.mark.parametrize("kind", ["bcast", "reduce", "allreduce", "barrier"])
def test_what_moves_promise_comes_true_in_the_next_run(kind: str) -> None:
    net, tree = two_sites(), TO_AND_FRO
    times = []
    for _ in range(ROUNDS):
        found = advice(net, kind, "8B", tree)
        times.append(found.observed)
        if found.moves:
            assert found.moves[-1].after == pytest.approx(found.after)
            assert found.after <= found.before * (1 - LEAST_GAIN)
        tree = found.tuned
    again = advice(net, kind, "8B", tree)
    assert again.observed == pytest.approx(found.after, rel=1e-3)
    # It crosses the long link eleven times there and back; once is enough.
    assert times[0] / again.observed > 5


def test_moves_lead_from_the_used_tree_to_the_tuned_one() -> None:
    found = advice(two_sites(), "allreduce", "8B", TO_AND_FRO)
    assert found.moves[0].before == found.before
    for one, next_one in zip(found.moves, found.moves[1:], strict=False):
        assert next_one.before == one.after
    assert sorted(found.tuned.below(0)) == list(range(HOSTS))


def test_a_hosts_ranks_are_gathered_below_the_one_nearest_to_the_root() -> None:
    tree = Tree(((1, 2), (3, 4), (5,), (), (), ()))
    changed, leader = tree.gathered([2, 3, 5])
    assert leader == 2
    assert changed.children == ((1, 2), (4,), (5, 3), (), (), ())
    assert changed.below(0) == set(range(6))
    assert changed.gathered([2, 3, 5]) == (changed, 2)


def test_ranks_that_are_scattered_over_a_tree_are_moved_together() -> None:
    hosts, slots = 6, 4
    net = network.even_network(hosts, 1e-4, 1e9)
    places = [rank // slots for rank in range(hosts * slots)]
    order = [host * slots + slot for slot in range(slots) for host in range(hosts)]
    children: list[tuple[int, ...]] = [()] * len(order)
    for at, rank in enumerate(order):
        children[rank] = tuple(order[2 * at + 1 : 2 * at + 3])
    recording = simulated(net, "allreduce", "8B", Tree(tuple(children)), places)
    (found,) = tuning.advise(recording.run(network=net, placement=places))
    # Four edges from the root to the farthest rank, all of them between hosts; one is enough.
    assert found.before > 1.5 * found.after


def test_a_long_message_gets_segments() -> None:
    found = advice(two_sites(), "bcast", "8MB", TO_AND_FRO)
    assert found.tuned.segment_size > 0
    assert any("segments of" in move.what for move in found.moves)


def test_a_slow_link_that_the_network_file_does_not_know_is_avoided() -> None:
    believed, net = two_sites(), two_sites()
    latency = net.latency.copy()
    latency[0, 6] = latency[6, 0] = 0.1
    net.latency = latency
    tree = Tree(((6, *range(1, 6)), (), (), (), (), (), tuple(range(7, 12)), (), (), (), (), ()))
    recording = simulated(net, "allreduce", "8B", tree, list(range(HOSTS)))
    run = recording.run(network=believed, placement=range(HOSTS))
    (found,) = tuning.advise(run)
    assert {(link.from_host, link.to_host) for link in found.elsewhere} == {
        ("h0", "h6"),
        ("h6", "h0"),
    }
    assert found.before == pytest.approx(found.observed, rel=0.01)
    assert found.tuned.parents[6] != 0
    assert found.after < found.before / 4


def test_a_few_messages_correct_no_link() -> None:
    believed, net = two_sites(), two_sites()
    latency = net.latency.copy()
    latency[0, 6] = latency[6, 0] = 0.1
    net.latency = latency
    recording = simulated(net, "allreduce", "8B", TO_AND_FRO, list(range(HOSTS)), calls=3)
    _, found = tuning.corrected_network(recording.run(network=believed, placement=range(HOSTS)))
    assert found == []


def test_native_times_follow_what_all_links_have_in_common() -> None:
    believed, net = two_sites(), two_sites()
    believed.native_times = [NativeTime("mpich", "allreduce", 8, 1e-3)]
    net.latency = 4 * net.latency
    net.bandwidth = net.bandwidth / 4
    recording = simulated(net, "allreduce", "8B", TO_AND_FRO, list(range(HOSTS)))
    corrected, _ = tuning.corrected_network(recording.run(network=believed, placement=range(HOSTS)))
    (native,) = corrected.native_times
    assert native.time == pytest.approx(4e-3, rel=0.05)


def test_what_all_links_have_in_common_holds_for_unused_ones() -> None:
    believed, net = two_sites(), two_sites()
    net.latency = 4 * net.latency
    net.bandwidth = net.bandwidth / 4
    net.hosts = [Host(host.name, host.egress / 4, host.ingress / 4) for host in net.hosts]
    found = advice(net, "allreduce", "8B", TO_AND_FRO, believed)
    (common,) = found.elsewhere
    assert common.from_host == ""
    assert common.ratio == pytest.approx(4, rel=0.01)
    assert found.before == pytest.approx(found.observed, rel=0.01)


def test_a_tree_inside_one_host_is_tuned() -> None:
    alone = network.even_network(1, 1e-6, 1e9)
    alone.latency, alone.bandwidth = np.array([[1e-6]]), np.array([[1e10]])
    chain = Tree(((1,), (2,), (3,), ()))
    run = simulated(alone, "allreduce", "8B", chain, [0] * 4).run(network=alone, placement=[0] * 4)
    (found,) = tuning.advise(run)
    assert found.elsewhere == ()
    assert found.after < found.before / 2


def test_a_good_tree_is_left_alone() -> None:
    star = Tree((tuple(range(1, HOSTS)), *[()] * (HOSTS - 1)))
    found = advice(network.even_network(HOSTS, 1e-2, 1e9), "bcast", "8B", star)
    assert found.moves == ()
    assert found.tuned == found.used


def test_a_run_without_network_or_tree_is_refused() -> None:
    run = simulated(two_sites(), "bcast", "8B", TO_AND_FRO, PLACES).run()
    with pytest.raises(UserError, match="give --network"):
        tuning.advise(run)
    ring = Recording(2)
    call = ring.call(Kind.allgather, {0: (0, 9), 1: (0, 9)})
    ring.message(call, 0, 1, (1, 2), (1, 5))
    ring.message(call, 1, 0, (1, 2), (1, 5))
    even = network.even_network(2, 1e-6, 1e9)
    with pytest.raises(UserError, match="nothing to move"):
        tuning.advise(ring.run(network=even, placement=[0, 1]))


# The command -----------------------------------------------------------------------------------


@pytest.fixture
def traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Arguments that name a run and its network."""
    monkeypatch.setenv("THALWEG_WISDOM", str(tmp_path / "wisdom"))
    net = two_sites()
    network.write(net, tmp_path / "net.json")
    chain = simulated(net, "allreduce", "8B", TO_AND_FRO, PLACES)
    folder = chain.write(tmp_path / "run")
    hosts = ",".join(f"h{place}" for place in PLACES)
    return [str(folder), "--network", str(tmp_path / "net.json"), "-H", hosts]


def test_the_command_lists_moves_and_writes_a_tree_that_can_be_read(
    traced: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "tuned.tree"
    assert main(["tune", *traced, "--no-wisdom", "-o", str(output)]) == 0
    text = capsys.readouterr().out
    assert "allreduce of 8B: 5 calls took" in text
    assert "instead of below rank" in text
    assert f"THALWEG_FORCE=allreduce=tree:file={output} " in text.replace("\n", "")
    read = trees.read(output, two_sites(), PLACES)
    assert sorted(read.tree.order) == list(range(HOSTS))


def test_tuned_trees_are_what_the_next_table_has(
    traced: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", *traced, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (only,) = found["collectives"]
    assert only["tuned"] < only["predicted"]
    assert found["kept"] == (only["best"] == "tree")
    assert (tmp_path / "wisdom").is_file() == found["kept"]


def kept_rows(advice: list[Advice], monkeypatch: pytest.MonkeyPatch, folder: Path) -> Table:
    """The table that runs find once the advice has been kept."""
    monkeypatch.setenv("THALWEG_WISDOM", str(folder / "wisdom"))
    net = two_sites()
    run = simulated(net, "bcast", "8B", TO_AND_FRO, PLACES).run(network=net, placement=PLACES)
    tuning.keep(run, advice)
    return wisdom.table(Setting(net, PLACES, run.library))


def segments(table: Table, root: int, size: int) -> int | None:
    """The segment size of the tuned tree that a bcast has; None if another plan is there."""
    last = max(
        (row for row in table.entries
         if row.kind is Kind.bcast and row.root == root and row.min_size <= size),
        key=lambda row: row.min_size,
    )  # fmt: skip
    return last.skeleton.segment_size if last.skeleton.algorithm == trees.NAME else None


def tuned(size: int, segment_size: int, root: int = 0) -> Advice:
    tree = Tree(TO_AND_FRO.children, segment_size)
    return Advice(Kind.bcast, size, root, 1, 1.0, tree, tree, 1.0, (), math.inf, math.inf, "")


def test_a_tree_is_kept_for_its_root_and_for_sizes_like_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = kept_rows(
        [tuned(3_000_000, 700), tuned(4_000_000, 600), tuned(1 << 30, 900)], monkeypatch, tmp_path
    )
    assert segments(table, 0, 3_000_000) == 700, "the costliest collective's"
    assert segments(table, 0, 8_000_000) == 600
    assert segments(table, 0, 1 << 30) == 900
    for root, size in ((0, 1000), (0, 100_000_000), (0, 1 << 32), (1, 3_000_000), (1, 1 << 30)):
        assert segments(table, root, size) is None


def test_what_cannot_be_kept_is_an_error_after_the_tree_is_written(
    traced: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("THALWEG_WISDOM", str(tmp_path / "taken/wisdom"))
    monkeypatch.setattr(Advice, "best", "tree")
    output = tmp_path / "tuned.tree"
    assert main(["tune", *traced, "-o", str(output)]) == 2
    said = capsys.readouterr()
    assert "isn't kept" in said.err and "are kept" not in said.out
    assert output.is_file()


def test_a_chain_of_thousands_of_ranks_is_gathered() -> None:
    ranks = 5000
    chain = Tree(tuple((rank + 1,) if rank + 1 < ranks else () for rank in range(ranks)))
    changed, leader = chain.gathered([10, ranks - 1])
    assert (leader, changed.parents[ranks - 1]) == (10, 10)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [([], "give --network"), (["--budget", "soon"], '"soon"')],
)
def test_wrong_arguments_get_one_line(
    arguments: list[str], complaint: str, traced: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", traced[0], *arguments]) == 2
    assert complaint in capsys.readouterr().err.splitlines()[-1]
