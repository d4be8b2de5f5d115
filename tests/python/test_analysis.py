"""What the analysis knows of calls: the tables of a run, stages of trees, and critical paths."""

import random
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from recorded import Recording, even, small_tree

from bench import faulty_runs
from thalweg import network
from thalweg.analysis import (
    findings,
    paths,
    stages,
    tables,
    waits,
)
from thalweg.analysis.tables import Names, Run
from thalweg.collective import Kind
from thalweg.errors import UserError

BOTH_WAYS = {"allreduce", "barrier"}


def nodes_of(run: Run) -> pl.DataFrame:
    return stages.nodes(run, stages.edges(run))


# Tables ----------------------------------------------------------------------------------------


def test_calls_of_which_a_record_is_missing_are_left_out() -> None:
    made = Recording(2)
    made.call(Kind.barrier, {0: (0, 5), 1: (1, 6)})
    made.call(Kind.barrier, {0: (10, 15)}, ranks=2)
    run = made.run()
    assert run.calls["call"].unique().to_list() == [0]
    assert run.left_out == 1


def test_calls_are_numbered_in_the_order_in_which_they_began() -> None:
    made = Recording(2)
    made.call(Kind.barrier, {0: (50, 55), 1: (51, 56)})
    made.call(Kind.bcast, {0: (0, 5), 1: (1, 6)}, root=1, planned=False)
    run = made.run()
    assert run.calls["kind"].to_list() == ["bcast", "bcast", "barrier", "barrier"]
    assert run.calls["root"].to_list() == [1, 1, -1, -1]
    assert run.calls["reason"].to_list() == ["off", "off", "", ""]
    assert run.calls["algorithm"].to_list() == ["", "", "drawn", "drawn"]


def test_calls_on_communicators_with_the_same_members_are_told_apart_by_their_order() -> None:
    recording = Recording(3)
    for begin in (0, 100, 200):
        times = {0: (begin, begin + 10), 1: (begin + 1, begin + 10)}
        recording.call(Kind.allreduce, times, planned=False, tag=-77, sequence=0)
    recording.call(Kind.bcast, {2: (0, 1)}, planned=False, tag=-1, sequence=0)
    run = recording.run()
    assert run.calls["call"].to_list() == [0, 0, 1, 1, 2, 2]
    assert run.calls["enter"].to_list() == [0, 1, 100, 101, 200, 201]
    assert run.calls["communicator"].unique().to_list() == [0]
    assert run.left_out == 0


def test_a_communicator_has_one_number_before_and_after_it_is_set_up() -> None:
    recording = Recording(3)
    times = {0: (0, 10), 2: (0, 10)}
    recording.call(Kind.barrier, dict.fromkeys(range(3), (0, 5)), tag=0)
    recording.call(Kind.allreduce, times, planned=False, tag=-77, sequence=0)
    for tag in (4, 6):
        recording.call(Kind.allreduce, times, tag=tag)
    calls = recording.run().calls.unique("call").sort("kind", "call")
    assert calls.select("kind", "communicator", "group").rows() == [
        ("allreduce", 1, 1), ("allreduce", 1, 1), ("allreduce", 2, 1), ("barrier", 0, 0),
    ]  # fmt: skip


def test_communicators_are_of_one_group_if_they_have_the_same_members_in_the_same_order() -> None:
    recording = Recording(3)
    for tag, members in ((0, (0, 2)), (1, (2, 0)), (2, (0, 2)), (3, (0, 1, 2))):
        times = dict.fromkeys(members, (10 * tag, 10 * tag + 5))
        recording.call(Kind.barrier, times, tag=tag, members=members)
    calls = recording.run().calls.unique("call").sort("call")
    assert calls.select("communicator", "group").rows() == [(0, 0), (1, 1), (2, 0), (3, 3)]


def test_calls_of_different_kinds_are_never_one() -> None:
    recording = Recording(2)
    recording.call(Kind.bcast, {0: (0, 1)}, ranks=2, planned=False, tag=-77, sequence=0)
    recording.call(Kind.reduce, {1: (0, 1)}, ranks=2, planned=False, tag=-77, sequence=0)
    run = recording.run()
    assert run.calls.is_empty()
    assert run.left_out == 1


def test_the_oldest_call_of_a_rank_that_lost_records_is_left_out() -> None:
    made = small_tree()
    made.call(Kind.barrier, dict.fromkeys(range(3), (100, 110)))
    recorded = made.events()
    recorded[1] = replace(recorded[1], dropped=3)
    run = tables.build(recorded, Names(["drawn"], []))
    assert run.calls["kind"].unique().to_list() == ["barrier"]
    assert run.left_out == 1


def test_nonblocking_calls_blame_nobody() -> None:
    made = Recording(2)
    made.call(Kind.barrier, {0: (0, 10), 1: (2, 10)}, planned=False)
    apart = made.call(Kind.bcast, {0: (20, 9000), 1: (8000, 9000)}, nonblocking=True)
    made.message(apart, 0, 1, (20, 21), (8000, 8900))
    made.call(Kind.bcast, {0: (30, 9000), 1: (8000, 9000)}, tag=-1, nonblocking=True)
    made.call(Kind.barrier, {0: (100, 110), 1: (102, 110)}, planned=False)
    run = made.run()
    assert run.calls["kind"].unique().to_list() == ["barrier"]
    assert (run.nonblocking, run.left_out) == (2, 0)
    assert run.messages.is_empty()
    assert run.background["call"].to_list() == run.all_messages()["call"].to_list() == [1]
    assert set(findings.find(run).waits["kind"]) == {"barrier"}
    late = waits.with_lateness(run).filter(pl.col("enter") > 50)
    assert late["computed"].to_list() == [-1, 1]


def test_nonblocking_calls_are_there_if_they_are_wanted() -> None:
    made = Recording(2)
    made.call(Kind.barrier, {0: (0, 10), 1: (2, 10)})
    apart = made.call(Kind.bcast, {0: (20, 9000), 1: (8000, 9000)}, nonblocking=True)
    made.message(apart, 0, 1, (20, 21), (8000, 8900))
    run = made.run(nonblocking=True)
    assert run.calls["nonblocking"].to_list() == [False, False, True, True]
    assert (run.nonblocking, len(run.messages), len(run.background)) == (0, 1, 0)


def test_a_placement_of_other_ranks_is_refused() -> None:
    with pytest.raises(UserError, match="3 ranks, but the placement 2"):
        small_tree().run(network=network.even_network(2, 1e-3, 1e6), placement=[0, 1])


# Stages ----------------------------------------------------------------------------------------


def test_stages_of_a_tree_by_hand() -> None:
    of_nodes = nodes_of(small_tree().run())
    root = of_nodes.filter(pl.col("node") == 0).sort("contributor")
    # Arrivals at 10 (its own program), 20 and 30; combined at 33; departures at 35, 37, and 60.
    assert root["arrival_wait"].to_list() == [20, 10, 0]
    assert root["arrival_order"].to_list() == [1, 2, 3]
    assert root["down"].unique().to_list() == [3]
    assert root["up"].unique().to_list() == [2]
    assert root["departure_wait"].to_list() == [25, 0, 2]
    assert root["departure_order"].to_list() == [3, 1, 2]
    leaf = of_nodes.filter((pl.col("node") == 1) & (pl.col("contributor") == 1)).row(0, named=True)
    # Rank 1 sent at 1 and had the result at 50; at the root it arrived at 20 and departed at 35.
    assert leaf["two_way"] == (50 - 1) - (35 - 20)
    assert (leaf["arrival_wait"], leaf["down"], leaf["up"]) == (0, 1, 2)


@pytest.mark.parametrize("offset", [0, 1_000_000])
def test_stages_along_a_path_are_the_time_of_the_call_whatever_the_clocks_say(offset: int) -> None:
    path = stages.along_paths(nodes_of(small_tree(offset).run()), ["call", "segment"])
    sums = path.group_by("rank").agg(pl.sum_horizontal(pl.col(stages.STAGES).sum()).alias("sum"))
    assert dict(sums.iter_rows()) == {0: 50, 1: 52, 2: 44}


def assert_stages_add_up(run: Run) -> int:
    """Returns the number of ranks' calls for which they do."""
    of_nodes = nodes_of(run)
    kinds = run.calls.select("call", "kind").unique()
    both = of_nodes.join(kinds.filter(pl.col("kind").is_in(BOTH_WAYS)), on="call")
    path = stages.along_paths(both, ["call", "segment"])
    sums = path.group_by("call", "segment", "rank").agg(
        pl.sum_horizontal(pl.col(stages.STAGES).sum()).alias("sum")
    )
    calls = run.calls.with_columns(pl.col("rank").cast(pl.Int64))
    wrong = sums.join(calls, on=["call", "rank"]).filter(
        pl.col("sum") != pl.col("exit") - pl.col("enter")
    )
    assert wrong.is_empty(), wrong
    return len(sums)


@pytest.mark.parametrize("seed", range(10))
def test_stages_and_causes_add_up_in_simulated_runs(seed: int) -> None:
    run = faulty_runs.simulate(random.Random(seed).choice(faulty_runs.FAULTS), seed, calls=5).run
    assert assert_stages_add_up(run) >= 5 * run.ranks  # each round ends with a tree
    by_rank = paths.causes(run).join(run.calls, on=["call", "rank"])
    total = by_rank.select(pl.sum_horizontal(paths.CAUSES)).to_series().to_numpy()
    spent = (by_rank["exit"] - by_rank["enter"]).to_numpy()
    np.testing.assert_allclose(total, spent, rtol=1e-9)
    assert by_rank["unexplained"].sum() <= 0.05 * total.sum()


def test_mean_stages_and_their_breakdown_by_hosts_add_up_too() -> None:
    run = small_tree().run(hosts=["a", "a", "b"])
    found = findings.find(run)
    mean = found.breakdown["mean"].sum()
    assert mean == pytest.approx((50 + 52 + 44) / 3)
    where = set(found.breakdown["where"])
    assert {"nodes of a", "edges inside hosts", "edges between hosts"} <= where
    order = ["shape", "mean", "where", "stage"]
    rows = list(found.breakdown.select(order).iter_rows())
    assert rows == sorted(rows, key=lambda row: (row[0], -row[1], *row[2:])), "ties have an order"


def test_bcast_and_reduce_are_trees_in_one_direction() -> None:
    made = Recording(3)
    down = made.call(Kind.bcast, {0: (0, 9), 1: (0, 20), 2: (0, 30)})
    made.message(down, 0, 1, (1, 2), (1, 18))
    made.message(down, 0, 2, (5, 6), (1, 28))
    up = made.call(Kind.reduce, {0: (100, 150), 1: (100, 110), 2: (100, 111)})
    made.message(up, 1, 0, (101, 102), (101, 130), how=1)
    made.message(up, 2, 0, (103, 104), (101, 140, 145), how=1)
    of_nodes = nodes_of(made.run())
    first = of_nodes.filter((pl.col("call") == 0) & (pl.col("node") == 0))
    assert first["departure_wait"].drop_nulls().sort().to_list() == [0, 4, 8]
    second = of_nodes.filter((pl.col("call") == 1) & (pl.col("node") == 0))
    assert second["arrival_wait"].drop_nulls().sort().to_list() == [0, 10, 40]
    assert second["down"].drop_nulls().unique().to_list() == [5]


def test_what_is_no_tree_has_no_stages() -> None:
    made = Recording(3)
    ring = made.call(Kind.allreduce, dict.fromkeys(range(3), (0, 10)))
    for rank in range(3):
        made.message(ring, rank, (rank + 1) % 3, (1, 2), (1, 5))
        made.message(ring, rank, (rank + 1) % 3, (5, 6), (5, 9), step=1)
    exchange = made.call(Kind.allreduce, {0: (20, 30), 1: (20, 30)})
    made.message(exchange, 0, 1, (21, 22), (21, 25))
    made.message(exchange, 1, 0, (21, 22), (21, 25))
    assert stages.edges(made.run()).is_empty()


def test_a_slope_says_how_long_a_node_takes_for_each_child() -> None:
    made = Recording(4)
    call = made.call(Kind.bcast, {0: (0, 100), **dict.fromkeys((1, 2, 3), (0, 200))})
    up = made.call(Kind.allreduce, dict.fromkeys(range(4), (300, 500)))
    for child in (1, 2, 3):
        made.message(up, child, 0, (301, 302), (301, 310), how=1)
        made.message(up, 0, child, (310 + 7 * child, 335), (303, 400), step=1)
        made.message(call, 0, child, (1, 2), (1, 50))
    run = made.run()
    rows = stages.serialisation(nodes_of(run), run).filter(pl.col("shape") == 1)
    assert rows["delay"].to_list() == [7, 14, 21]
    assert rows["slope"].to_list() == pytest.approx([7, 7, 7])


def test_a_host_s_subtree_has_stages_as_if_it_were_one_node() -> None:
    made = Recording(4)
    call = made.call(Kind.allreduce, {0: (0, 120), 1: (3, 125), 2: (5, 140), 3: (10, 155)})
    made.message(call, 3, 2, (11, 12), (6, 20), how=1)
    made.message(call, 1, 0, (4, 5), (1, 9), how=1)
    made.message(call, 2, 0, (30, 31), (1, 60), how=1)
    made.message(call, 0, 1, (70, 71), (6, 110), step=1)
    made.message(call, 0, 2, (72, 73), (32, 100), step=1)
    made.message(call, 2, 3, (105, 106), (13, 150), step=1)
    run = made.run(hosts=["a", "a", "b", "b"])
    of_hosts = stages.subtrees(run, nodes_of(run))
    below = of_hosts.filter(pl.col("node") == 2)
    assert below["contributor"].to_list() == [2, 3]
    assert below["arrival_wait"].to_list() == [10 - 5, 0]
    assert below["down"].unique().to_list() == [30 - 10]
    assert below["up"].unique().to_list() == [140 - 100]
    assert below["departure_wait"].to_list() == [0, 155 - 140]
    # The root's host has its own ranks and the other host's leader, and sends to no parent.
    assert of_hosts.filter(pl.col("node") == 0)["contributor"].to_list() == [0, 1, 2]
    late = stages.departures(below, run)
    assert late["delay"].to_list() == [40, 55] and late["slope"].to_list() == [15, 15]
    # Ranks 2 and 3 send to another host each: theirs has no subtree.
    apart = made.run(hosts=["a", "a", "b", "c"])
    assert set(stages.subtrees(apart, nodes_of(apart))["node"]) == {0, 2, 3}
    crossed = made.run(hosts=["a", "b", "b", "a"])
    assert stages.subtrees(crossed, nodes_of(crossed))["node"].is_empty()


# Critical paths --------------------------------------------------------------------------------


def test_one_message_is_late_entry_own_time_latency_data_and_excess() -> None:
    made = Recording(2)
    call = made.call(Kind.bcast, {0: (50, 60), 1: (0, 400)}, size=200)
    made.message(call, 0, 1, (60, 61), (5, 390), size=200)
    found = paths.causes(made.run(**even())).filter(pl.col("rank") == 1).row(0, named=True)
    assert found["program late"] == 50
    assert found["latency"] == 100
    assert found["data on the link"] == 200
    assert found["link below its rate"] == 330 - 300
    assert found["library overhead"] + found["host busy"] == 10 + 10


def test_combining_is_told_from_what_else_a_rank_does() -> None:
    made = Recording(2)
    call = made.call(Kind.reduce, {0: (0, 150), 1: (0, 20)})
    made.message(call, 1, 0, (10, 11), (5, 120, 145), how=1)
    found = paths.causes(made.run(**even())).filter(pl.col("rank") == 0).row(0, named=True)
    assert found["combine"] == 25


def test_what_a_rank_brings_from_its_last_call_is_not_its_programs_fault() -> None:
    made = Recording(2)
    first = made.call(Kind.bcast, {0: (0, 10), 1: (0, 1000)}, size=200)
    made.message(first, 0, 1, (5, 6), (5, 995), size=200)
    second = made.call(Kind.reduce, {0: (20, 1140), 1: (1010, 1025)})
    made.message(second, 1, 0, (1020, 1021), (25, 1130), how=1)
    found = paths.causes(made.run(**even())).filter(pl.col("call") == 1)
    root = found.filter(pl.col("rank") == 0).row(0, named=True)
    # Both computed for 10 ns. Rank 1 was late since its message had taken 990 ns instead of 300.
    assert root["program late"] == 0
    assert root["link below its rate"] == pytest.approx(690, abs=10)
    assert sum(root[name] for name in paths.CAUSES) == 1120


def test_a_link_is_busy_as_long_as_other_messages_need_it() -> None:
    made = Recording(2)
    call = made.call(Kind.bcast, {0: (0, 10), 1: (0, 520)}, size=400)
    made.message(call, 0, 1, (0, 1), (0, 300), size=200, segment=0)
    made.message(call, 0, 1, (0, 1), (0, 500), size=200, segment=1)
    found = paths.causes(made.run(**even())).filter(pl.col("rank") == 1).row(0, named=True)
    assert found["link busy"] == pytest.approx(200)
    assert found["link below its rate"] == pytest.approx(0)
    path = paths.critical_paths(made.run(**even()))
    first, second = (host.name for host in network.even_network(2, 1, 1).hosts)
    assert path["resource"].to_list() == ["", f"link {first} -> {second}"]


@pytest.mark.parametrize("start", [0, 1 << 57], ids=["", "up for years"])
def test_paths_end_whatever_the_clocks_say(start: int) -> None:
    rng = random.Random(3)
    made = Recording(4)
    for _ in range(20):
        ends = {rank: (start, start + rng.randrange(1, 100)) for rank in range(4)}
        call = made.call(Kind.alltoall, ends)
        for sender in range(4):
            for receiver in range(4):
                times = [start + rng.randrange(0, 100) for _ in range(4)]
                if sender != receiver:
                    made.message(call, sender, receiver, (times[0], times[1]), (times[2], times[3]))
    found = paths.causes(made.run())
    assert found.select(paths.CAUSES).min().min_horizontal().item() >= 0


def test_calls_of_a_run_that_was_killed_are_paired_from_the_first_one() -> None:
    """Rank 1 has not written its last call; communicators with the same members come and go."""
    made = Recording(2)
    for at in range(4):
        ranks = (0, 1) if at < 3 else (0,)
        made.call(
            Kind.bcast, dict.fromkeys(ranks, (1000 * at, 1000 * at + 10)), tag=-5, sequence=0,
            ranks=2,
        )  # fmt: skip
    run = made.run()
    assert run.left_out == 1
    lasted = run.calls.group_by("call").agg(pl.col("exit").max() - pl.col("enter").min())
    assert lasted["exit"].to_list() == [10] * 3


def test_nobody_waits_in_a_reduction_of_one_rank() -> None:
    made = Recording(2)
    for kind in (Kind.reduce, Kind.gather, Kind.bcast, Kind.scan, Kind.barrier):
        made.call(kind, {0: (0, 1000)}, ranks=1)
    assert waits.wait_states(made.run()).is_empty()


def test_a_deep_chain_is_a_tree_and_a_cycle_is_none() -> None:
    ranks = 300
    made = Recording(ranks)
    for parents in ({rank: rank - 1 for rank in range(1, ranks)}, {1: 2, 2: 3, 3: 1, 4: 0}):
        kind, members = Kind.bcast, 1 + len(parents)
        call = made.call(kind, dict.fromkeys(range(members), (0, 10_000)))
        for child, parent in parents.items():
            made.message(call, parent, child, (child, child + 1), (0, child + 2), step=child)
    found = stages.edges(made.run())
    assert found["call"].unique().to_list() == [0]
    assert len(found) == ranks - 1
