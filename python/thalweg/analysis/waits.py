"""Wait states, by the names that Scalasca gives them, of planned and native calls alike.

They follow from entries and exits only, so between hosts they are as good as the clocks are
aligned.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from thalweg.analysis.tables import Run
from thalweg.collective_names import ALL_TO_ALL, ALL_TO_ONE, ONE_TO_ALL

LATE_BROADCAST, EARLY_REDUCE, EARLY_SCAN = "Late Broadcast", "Early Reduce", "Early Scan"
WAIT_AT_NXN, NXN_COMPLETION = "Wait at N x N", "N x N Completion"
WAIT_AT_BARRIER, BARRIER_COMPLETION = "Wait at Barrier", "Barrier Completion"
PREFIX = ("scan", "exscan")


def wait_states(run: Run) -> pl.DataFrame:
    """Returns each rank's wait in each call that has one.

    call, rank, kind, planned, state: the name; wait: nanoseconds; culprit: the rank that was waited
    for, null in completions, where all ranks have entered; computed and came_late: nanoseconds by
    which that rank was later than the median of the others because it spent more time since its
    last collective, and because it left that one later.
    """
    call = "call"
    enter, leave, rank = pl.col("enter"), pl.col("exit"), pl.col("rank")
    calls = with_lateness(run).with_columns(
        enter.max().over(call).alias("last_enter"),
        rank.sort_by("enter").last().over(call).alias("last_rank"),
        leave.min().over(call).alias("first_exit"),
        leave.filter(rank == pl.col("root")).first().over(call).alias("root_exit"),
        enter.filter(rank == pl.col("root")).first().over(call).alias("root_enter"),
        enter.filter(rank != pl.col("root")).min().over(call).alias("first_sender"),
        rank.filter(rank != pl.col("root")).sort_by(enter.filter(rank != pl.col("root"))).first()
        .over(call).alias("first_sender_rank"),
        enter.cum_max().over(call, order_by="member").alias("prefix_enter"),
    ).with_columns(
        pl.when(enter == pl.col("prefix_enter")).then(rank).forward_fill()
        .over(call, order_by="member").alias("prefix_rank"),
    )  # fmt: skip
    at_root = rank == pl.col("root")
    last, root, nobody = pl.col("last_rank"), pl.col("root"), pl.lit(None)
    states = [
        _state(calls, LATE_BROADCAST, ONE_TO_ALL, ~at_root, pl.col("root_enter") - enter, root),
        _state(calls, EARLY_REDUCE, ALL_TO_ONE, at_root, pl.col("first_sender") - enter,
               pl.col("first_sender_rank")),
        _state(calls, EARLY_SCAN, PREFIX, True, pl.col("prefix_enter") - enter,
               pl.col("prefix_rank")),
        _state(calls, WAIT_AT_NXN, ALL_TO_ALL, True, pl.col("last_enter") - enter, last),
        _state(calls, NXN_COMPLETION, ALL_TO_ALL, True, leave - pl.col("first_exit"), nobody),
        _state(calls, WAIT_AT_BARRIER, ("barrier",), True, pl.col("last_enter") - enter, last),
        _state(calls, BARRIER_COMPLETION, ("barrier",), True, leave - pl.col("first_exit"), nobody),
    ]  # fmt: skip
    found = pl.concat(states)
    late = with_lateness(run).select("call", "computed", "came_late", culprit="rank")
    return found.join(late, on=["call", "culprit"], how="left").sort("call", "rank", "state")


def why_late(row: Mapping[str, Any]) -> str:
    """Returns why a row's culprit came late; empty if it is nobody, or by chance."""
    computed, came_late = row["computed"] or 0, row["came_late"] or 0
    if max(computed, came_late) <= 0:
        return ""
    return "computed longer" if computed >= came_late else "left its last collective later"


def _state(
    calls: pl.DataFrame, name: str, kinds: tuple[str, ...], who: pl.Expr | bool, wait: pl.Expr,
    culprit: pl.Expr,
) -> pl.DataFrame:  # fmt: skip
    """Returns the waits of a state; nobody waits longer than it is in the call, nor alone."""
    waited = pl.min_horizontal(wait, pl.col("exit") - pl.col("enter"))
    return (
        calls.filter(pl.col("kind").is_in(kinds) & who & wait.is_not_null())
        .select("call", "rank", "kind", "planned", state=pl.lit(name), wait=waited,
                culprit=culprit.cast(pl.Int64))
        .filter(pl.col("wait") > 0)
    )  # fmt: skip


def with_lateness(run: Run) -> pl.DataFrame:
    """Adds to the calls why a rank entered later than the median of all ranks of the call.

    late: nanoseconds; computed: by which its time since its last exit exceeds the others';
    came_late: by which it left its last call later. They add up to late, but for the medians.
    """
    calls = run.calls.with_columns(pl.col("rank").cast(pl.Int64))
    before = calls.sort("rank", "enter").with_columns(
        pl.col("exit").shift().over("rank").alias("left_at")
    )
    spent = pl.col("enter") - pl.col("left_at")
    return before.with_columns(
        (pl.col("enter") - pl.col("enter").median().over("call")).alias("late"),
        (spent - spent.median().over("call")).fill_null(0).alias("computed"),
        (pl.col("left_at") - pl.col("left_at").median().over("call"))
        .fill_null(0)
        .alias("came_late"),
    ).sort("call", "rank")
