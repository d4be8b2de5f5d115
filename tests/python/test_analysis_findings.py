"""What the analysis finds: waits, imbalance, outliers, slow links, and who is at fault."""

import random

import numpy as np
import polars as pl
import pytest
from recorded import Recording, allreduces, even

from bench import faulty_runs
from thalweg import network
from thalweg.analysis import (
    alike,
    findings,
    imbalance,
    links,
    outliers,
    paths,
    robust,
    stages,
    verdict,
    waits,
    words,
)
from thalweg.analysis.faults import Fault
from thalweg.collective import Kind
from thalweg.network import Trunk

# Wait states -----------------------------------------------------------------------------------


def states(kind: Kind, times: dict[int, tuple[int, int]], root: int = 0) -> dict[object, int]:
    made = Recording(len(times))
    made.call(kind, times, root=root, planned=False)
    found = waits.wait_states(made.run())
    return {
        (rank, state): wait
        for rank, state, wait in found.select("rank", "state", "wait").iter_rows()
    }


def test_wait_states_have_scalascas_names() -> None:
    late_root = {0: (30, 40), 1: (0, 45), 2: (35, 50)}
    assert states(Kind.bcast, late_root) == {(1, "Late Broadcast"): 30}
    assert states(Kind.gather, {0: (0, 60), 1: (20, 30), 2: (40, 50)}) == {(0, "Early Reduce"): 20}
    assert states(Kind.scan, {0: (30, 40), 1: (0, 45), 2: (35, 50)}) == {(1, "Early Scan"): 30}
    assert states(Kind.allreduce, {0: (0, 50), 1: (30, 60)}) == {
        (0, "Wait at N x N"): 30, (1, "N x N Completion"): 10,
    }  # fmt: skip
    assert states(Kind.barrier, {0: (0, 50), 1: (30, 60)}) == {
        (0, "Wait at Barrier"): 30, (1, "Barrier Completion"): 10,
    }  # fmt: skip


@pytest.mark.parametrize("kind", [Kind.scan, Kind.exscan])
def test_a_prefix_waits_for_the_last_of_the_ranks_before(kind: Kind) -> None:
    made = Recording(5)
    enter = {0: 100, 1: 0, 2: 50, 3: 300, 4: 200}
    made.call(kind, {rank: (time, 400) for rank, time in enter.items()}, planned=False)
    found = waits.wait_states(made.run()).select("rank", "wait", "culprit")
    assert found.rows() == [(1, 100, 0), (2, 50, 0), (4, 100, 3)]


def test_a_wait_has_a_culprit_and_a_reason() -> None:
    made = Recording(3)
    made.call(Kind.barrier, {0: (0, 10), 1: (0, 10), 2: (0, 25)})
    made.call(Kind.barrier, {0: (20, 70), 1: (20, 70), 2: (65, 75)})
    found = waits.wait_states(made.run()).filter(
        (pl.col("call") == 1) & (pl.col("state") == "Wait at Barrier")
    )
    assert found["culprit"].unique().to_list() == [2]
    assert found["computed"].unique().to_list() == [40 - 10]
    assert found["came_late"].unique().to_list() == [15]
    assert waits.why_late(found.row(0, named=True)) == "computed longer"


def test_nobody_is_waited_for_where_all_have_entered() -> None:
    made = Recording(3)
    made.call(Kind.barrier, {0: (0, 10), 1: (0, 10), 2: (0, 25)})
    (found,) = waits.wait_states(made.run()).iter_rows(named=True)
    assert (found["state"], found["rank"], found["wait"]) == ("Barrier Completion", 2, 15)
    assert found["culprit"] is None and waits.why_late(found) == ""


# Imbalance, groups, outliers -------------------------------------------------------------------


def test_the_longest_path_of_last_arrivals_leads_to_who_is_waited_for() -> None:
    made = Recording(4)  # 3 below 1; 1 and 2 below 0
    for at in range(5):
        t = 1000 * at
        late = t + 500  # rank 3's program
        call = made.call(
            Kind.allreduce,
            {0: (t, t + 900), 1: (t, t + 910), 2: (t, t + 910), 3: (late, t + 930)},
        )
        made.message(call, 3, 1, (late + 1, late + 2), (t + 1, late + 100), step=0, how=1)
        made.message(call, 1, 0, (late + 101, late + 102), (t + 1, late + 200), step=1, how=1)
        made.message(call, 2, 0, (t + 1, t + 2), (t + 1, t + 90), step=1, how=1)
        made.message(call, 0, 1, (late + 201, late + 202), (t + 1, late + 300), step=2)
        made.message(call, 0, 2, (late + 203, late + 204), (t + 1, late + 300), step=2)
        made.message(call, 1, 3, (late + 301, late + 302), (late, late + 400), step=3)
    run = made.run()
    nodes = stages.nodes(run, stages.edges(run))
    graph = imbalance.last_arrivals(nodes, stages.shape_of_calls(run))
    assert imbalance.longest_paths(graph) == [imbalance.Imbalance(0, 5, (0, 1, 3), (5, 5, 5))]


def test_calls_of_one_algorithm_by_different_trees_have_no_common_path() -> None:
    """As where plans follow the network: chains 0-1-2, then 0-2-1, would be a circle together."""
    chains = [{1: 0, 2: 1}, {2: 0, 1: 2}]
    found = findings.find(allreduces([chains[0]] * 3 + [chains[1]] * 3).run())
    assert found.imbalance == []
    assert found.stages.is_empty()
    assert [each.path for each in findings.find(allreduces([chains[1]] * 3).run()).imbalance]


@pytest.mark.parametrize("segments", [1, 4])
def test_last_arrivals_are_counted_in_calls(segments: int) -> None:
    (found,) = findings.find(allreduces([{1: 0, 2: 0}] * 6, segments).run()).imbalance
    assert (found.calls, found.path, found.counts) == (6, (0, 2), (6, 6))


def test_ranks_are_alike_if_one_call_cannot_tell_them_apart() -> None:
    rng = np.random.default_rng(1)
    rows = [
        (rank, mean + rng.normal(0, 5), 10 + rng.normal(0, 1))
        for rank, mean in enumerate([100, 100, 200, 101, 200]) for _ in range(50)
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema=["rank", "a", "b"], orient="row")
    found = alike.groups(table, ["a", "b"])
    assert [group.ranks for group in found] == [(2, 4), (0, 1, 3)]
    assert all(group.representative in group.ranks for group in found)
    assert found[0].total == pytest.approx(210, abs=5)


@pytest.mark.parametrize("calls", [1, 5])
def test_groups_are_those_of_each_rank_compared_with_all_that_are_left(calls: int) -> None:
    rng = np.random.default_rng(calls)
    rows = [
        (rank, int(rng.integers(40, 44)), int(rng.integers(0, 4)))
        for rank in range(60) for _ in range(calls)
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema=["rank", "a", "b"], orient="row")
    each = table.group_by("rank", maintain_order=True).agg(pl.col("a", "b").mean())
    spread = table.group_by("rank").agg(pl.col("a", "b").std().fill_null(0))
    limits = spread.select((pl.col("a", "b") ** 2).mean().sqrt().clip(1)).row(0)
    left = sorted(each.iter_rows(), key=lambda row: -row[1] - row[2])
    expected = []
    while left:
        compared = [(row, zip(row[1:], left[0][1:], limits, strict=True)) for row in left]
        near = [row for row, by in compared if all(abs(x - y) <= most for x, y, most in by)]
        expected.append(tuple(sorted(row[0] for row in near)))
        left = [row for row in left if row not in near]
    assert [group.ranks for group in alike.groups(table, ["a", "b"])] == expected


def test_outliers_cost_what_they_took_beyond_the_usual() -> None:
    made = Recording(2)
    rng = random.Random(1)
    for at in range(60):
        took = 100 + rng.randrange(10) + (1000 if at % 20 == 7 else 0)
        made.call(Kind.barrier, dict.fromkeys(range(2), (10000 * at, 10000 * at + took)))
    found = outliers.outliers(made.run())
    assert len(found) == 3
    assert found["cost"].sum() == pytest.approx(3 * 1000, rel=0.02)


def test_a_spread_is_around_the_median_of_each_shape() -> None:
    times = {"small": [1.0, 2.0, 4.0, 5.0], "large": [101.0, 105.0, 117.0, 150.0]}
    rows = [(name, time) for each in zip(*times.values(), strict=True)
            for name, time in zip(times, each, strict=True)]  # fmt: skip
    table = pl.DataFrame(rows, schema=["shape", "time"], orient="row")
    expected = {name: robust.spread_of(np.array(own)) for name, own in times.items()}
    spread = robust.spread_of_column(pl.col("time"))
    assert dict(table.select("shape", spread.over("shape")).iter_rows()) == expected
    assert dict(table.group_by("shape").agg(spread).iter_rows()) == expected


def test_outliers_are_told_from_calls_of_their_own_shape() -> None:
    made = Recording(2)
    rng = random.Random(1)
    for at in range(120):
        size = 8 if at % 2 else 1 << 20
        took = 100 * size + rng.randrange(10) + (1000 if at % 40 == 7 else 0)
        times = dict.fromkeys(range(2), (10**9 * at, 10**9 * at + took))
        made.call(Kind.allreduce, times, size=size)
    found = outliers.outliers(made.run())
    assert found["size"].to_list() == [8] * 3
    assert found["cost"].sum() == pytest.approx(3 * 1000, rel=0.02)


@pytest.mark.parametrize("seconds", [0.5, 7.0])
def test_periods_are_found_where_some_are_missed(seconds: float) -> None:
    rng = np.random.default_rng(2)
    times = np.array([at for at in range(40) if at % 7 != 3]) * seconds
    jitter = rng.normal(0, 0.02 * seconds, len(times))
    found = outliers.period((times + jitter) * 1e9, np.ones(len(times)))
    assert found is not None
    assert found.seconds == pytest.approx(seconds, rel=0.01)


def test_random_times_have_no_period() -> None:
    rng = np.random.default_rng(3)
    assert all(
        outliers.period(rng.uniform(0, 1e11, 30), rng.uniform(0, 1, 30)) is None for _ in range(20)
    )


def test_bursts_have_no_period() -> None:
    rng = np.random.default_rng(4)
    times = np.concatenate([at + rng.uniform(0, 2e9, 40) for at in (1e10, 2.3e10, 7e10)])
    assert outliers.period(times, np.ones(len(times))) is None


@pytest.mark.parametrize("inside", [False, True])
def test_a_disturbance_that_returns_has_a_period_wherever_it_strikes(inside: bool) -> None:
    """Rank 1 stands still for 20 ms each half second: before calls, or in them."""
    made, rng, t, stands_still_at = Recording(2), random.Random(1), 0, 200_000_000
    for _ in range(5000):
        t += 1_000_000 + rng.randrange(50_000)
        pause = 20_000_000 if t > stands_still_at else 0
        stands_still_at += 500_000_000 if pause else 0
        entry = t + (0 if inside else pause) + rng.randrange(5000)
        post = t + pause + 6000
        end = post + 50_000 + rng.randrange(2000)
        call = made.call(Kind.allreduce, {0: (t, end + 200), 1: (entry, end + 200)})
        made.message(call, 0, 1, (t + 100, t + 200), (post, max(post + 100, t + 50_000)), how=1)
        made.message(call, 1, 0, (post, post + 100), (t + 100, end), how=1)
        t = end + 200
    found = findings.find(made.run())
    assert found.period is not None
    assert found.period.seconds == pytest.approx(0.5, rel=0.01)
    costly = found.outliers.filter(pl.col("cost") > 10e6)
    assert costly["culprit"].to_list() == [None if inside else 1] * len(costly)
    assert len(costly) == t // 500_000_000
    (suspect,) = found.verdict.suspects
    assert suspect.culprit == "rank 1"
    assert suspect.fault == (Fault.busy_core if inside else Fault.late_rank)


# Links and verdicts ----------------------------------------------------------------------------


def test_links_are_compared_with_the_network() -> None:
    made = Recording(2)
    for at in range(9):
        t = 10_000 * at
        call = made.call(Kind.bcast, {0: (t, t + 10), 1: (t, t + 700)}, size=200)
        made.message(call, 0, 1, (t + 5, t + 6), (t + 5, t + 605), size=200)
    row = links.ratios(made.run(**even())).row(0, named=True)
    assert (row["messages"], row["expected"], row["took"]) == (9, 300, 600)
    assert np.exp(row["log_ratio"]) == pytest.approx(2)


def test_a_trunk_is_busy_with_the_messages_of_others() -> None:
    net = network.even_network(4, 100e-9, 1e9)
    net.trunks = [Trunk("both", [0, 1], [2, 3], 1e9)]
    made = Recording(4)
    call = made.call(Kind.alltoall, dict.fromkeys(range(4), (0, 600)), size=200)
    made.message(call, 0, 2, (0, 1), (0, 500), size=200)
    made.message(call, 1, 3, (0, 1), (0, 500), size=200)
    run = made.run(network=net, placement=[0, 1, 2, 3])
    messages = links.add_times(run)
    own = links.expect(run, messages)
    assert own.busy.tolist() == pytest.approx([200, 200])
    assert [own.resources[at] for at in own.resource] == ["trunk both"] * 2


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("kind", faulty_runs.FAULTS)
def test_verdicts_name_the_culprit(kind: str, seed: int) -> None:
    case = faulty_runs.simulate(kind, seed)
    found = verdict.judge(case.run)
    if kind == "clean":
        assert not found.suspects
        assert "Nothing is wrong" in " ".join(words.sentences(found))
        return
    first = found.suspects[0]
    assert (first.fault, first.culprit) == (kind, case.fault.culprit)
    assert first.culprit in " ".join(words.sentences(found))


def test_a_late_rank_is_found_on_communicators_that_come_and_go() -> None:
    """As in a loop that duplicates one for three allreduces each: rank 3 comes late to all."""
    made, rng, t = Recording(4), random.Random(1), 0
    for number in range(30):
        enter = {rank: t + rng.randrange(50) + (5000 if rank == 3 else 0) for rank in range(4)}
        ready = enter[3] + 105
        leave = ready + 200
        times = {rank: (enter[rank], leave) for rank in range(4)}
        call = made.call(Kind.allreduce, times, tag=number // 3)
        for rank in range(1, 4):
            up, down = enter[rank] + 5, ready + 10 * rank
            made.message(call, rank, 0, (up, up + 1), (enter[0] + 1, up + 100), how=1)
            made.message(call, 0, rank, (down, down + 1), (enter[rank] + 10, leave - 5), step=1)
        t = leave + 1000
    run = made.run()
    assert run.calls["communicator"].n_unique() == 10
    found = findings.find(run)
    assert found.shapes["calls"].to_list() == [30]
    first = found.verdict.suspects[0]
    assert (first.fault, first.culprit) == (Fault.late_rank, "rank 3")


def test_of_very_many_calls_some_stand_for_all() -> None:
    made = Recording(3)
    for at in range(60):
        t = 1000 * at
        call = made.call(Kind.allreduce, {0: (t, t + 60), 1: (t, t + 52), 2: (t, t + 49)})
        for rank in (1, 2):
            made.message(call, rank, 0, (t + 2, t + 3), (t + 1, t + 20 * rank), step=0, how=1)
            made.message(call, 0, rank, (t + 42, t + 43), (t + 4, t + 48), step=1)
    run = made.run()
    every = paths.paths_of_ranks(run).select(paths.CAUSES).sum().row(0)
    some = paths.paths_of_ranks(run, most_rows=40)
    assert some["call"].n_unique() < 60
    assert some.select(paths.CAUSES).sum().row(0) == pytest.approx(every)


def test_calls_that_alternate_stand_for_all_of_either_kind() -> None:
    """Collectives in a loop: every other call is of the same kind."""
    made = Recording(2)
    for at in range(200):
        t = 10_000 * at
        times = {0: (t, t + 900), 1: (t, t + 800)} if at % 2 else {0: (t, t + 9), 1: (t, t + 8)}
        made.call(Kind.allreduce if at % 2 else Kind.barrier, times)
    run = made.run()
    some = paths.paths_of_ranks(run, most_rows=300)
    kinds = some.join(run.calls.select("call", "kind").unique(), on="call").group_by("kind")
    calls = dict(kinds.agg(pl.col("call").n_unique()).iter_rows())
    assert calls == {"allreduce": 50, "barrier": 50}
    every = paths.paths_of_ranks(run).select(paths.CAUSES).sum().row(0)
    assert some.select(paths.CAUSES).sum().row(0) == pytest.approx(every, rel=0.05)


def test_without_planned_calls_there_is_nothing_to_see() -> None:
    made = Recording(2)
    made.call(Kind.barrier, {0: (0, 10), 1: (5, 11)}, planned=False)
    found = findings.find(made.run())
    assert "nothing to see" in words.sentences(found.verdict)[0]
    assert not found.waits.is_empty()
