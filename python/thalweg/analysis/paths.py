"""What each rank's call waited for, back in time from its exit: the critical path and its causes.

The path goes from an exit to the last completed message before it, from there to the end of that
message that posted last, and so on, until the call's begin. Where it comes to a rank that entered
late, that rank's program is the cause as far as it spent longer than the median of the ranks since
its last collective; for the rest the path goes on in that collective, which the rank left late. The
stretches have causes, which add up to the whole without gaps. All calls are walked at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thalweg.analysis import links, stages, waits
from thalweg.analysis.links import LEAST_SPREAD, SPREADS, Expected
from thalweg.analysis.robust import spread_of
from thalweg.analysis.tables import Run

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

CAUSES = (
    "program late", "latency", "data on the link", "link busy", "link below its rate",
    "host busy", "combine", "library overhead", "unexplained",
)  # fmt: skip
"""program late: a rank had not entered yet; latency: of the link; data on the link: the message's
own bytes at the link's rate; link busy: other messages held a capacity it needs; link below its
rate: what the messages of this link usually take beyond; host busy: what a rank took longer than
usual between what it waited for and its next post, or its exit, and what a message took while the
system had put a rank aside; combine: a rank combined data; library overhead: what such a step
usually takes; unexplained: what one message took beyond all of these."""
_LATE, _LATENCY, _WIRE, _BUSY, _BELOW, _HOST, _COMBINE, _LIBRARY, _UNEXPLAINED = range(len(CAUSES))

MOST_ROWS = 200_000
"""Most ranks' calls whose paths are kept hop by hop."""


@dataclass(frozen=True)
class _Steps:
    """What happened last on each path: completions of messages, then exits of calls.

    `begin` .. `ready` is the rank's own time, `ready` .. `end` the message's.
    """

    end: Floats
    ready: Floats
    begin: Floats
    before: Numbers
    """The step in which the rank's own time began; -1: its entry."""
    late_rank: Numbers
    """The rank whose own time it is."""
    late_row: Numbers
    """That rank's row of the calls."""
    sender: Numbers
    receiver: Numbers
    causes: Floats
    """Times by step and cause, without lateness; they add up to end - begin."""


def causes(run: Run) -> pl.DataFrame:
    """Returns a row for each rank of each planned call: nanoseconds by cause.

    They add up to the time from the rank's entry to its exit.
    """
    walk = _Walk(run)
    rows = walk.rows
    found = walk.sums(rows["enter"].to_numpy().astype(float), np.arange(len(rows)))
    return rows.select("call", "rank").with_columns(
        pl.Series(name, found[:, at]) for at, name in enumerate(CAUSES)
    )


def critical_paths(run: Run) -> pl.DataFrame:
    """Returns the critical path of each planned call, from its first entry to its last exit.

    A row for each hop, last first: call, rank (that left last), hop, late_rank (whose own time it
    begins with), sender, receiver (of its message; equal at the exit), begin and end, and
    nanoseconds by cause. `resource` names what was busy, if anything was; holder_call,
    holder_sender and holder_receiver: the message that held it before; -1: none.
    """
    walk = _Walk(run)
    rows = walk.rows.with_columns(
        pl.int_range(pl.len()).alias("row"), pl.col("enter").min().over("call").alias("floor")
    )
    last = rows.filter(pl.col("exit") == pl.col("exit").max().over("call")).unique(
        "call", keep="first", maintain_order=True
    )
    return walk.hops(
        last["floor"].to_numpy().astype(float), last["row"].to_numpy().astype(np.int64)
    )


def paths_of_ranks(run: Run, most_rows: int = MOST_ROWS) -> pl.DataFrame:
    """Returns the path of each rank of each planned call from its exit back to its entry.

    As critical_paths(), with `rank`: whose exit it leads to. If there are very many calls, the
    same share of each shape's is taken, and nanoseconds by cause are multiplied so that they add up
    to those of all.
    """
    walk = _Walk(run)
    enter, every = walk.rows["enter"].to_numpy(), 1 + len(walk.rows) // most_rows
    if every == 1:
        return walk.hops(enter.astype(float), np.arange(len(walk.rows)))
    # Programs repeat themselves: of the calls in their order, every other one may be of one kind.
    by_shape = stages.shape_of_calls(run).sort("shape", pl.col("call").hash())
    calls = by_shape.join(walk.rows, on="call", how="semi", maintain_order="left")["call"]
    chosen = calls.gather_every(every)
    rows = np.flatnonzero(walk.rows["call"].is_in(chosen.implode()).to_numpy())
    spent = (walk.rows["exit"] - walk.rows["enter"]).to_numpy()
    stand_for = float(spent.sum()) / max(float(spent[rows].sum()), 1.0)
    hops = walk.hops(enter[rows].astype(float), rows)
    return hops.with_columns(pl.col(CAUSES) * stand_for)


class _Combining:
    """When ranks were combining data, and couldn't see that other messages had come. Data that
    waits for its turn isn't being combined: at most SPREADS times the usual counts."""

    def __init__(self, messages: pl.DataFrame) -> None:
        took = pl.col("applied") - pl.col("receive_done")
        most = SPREADS * took.median().over("size")
        own = messages.filter(pl.col("how") > 0).with_columns(
            begin=pl.col("applied") - pl.min_horizontal(took, most)
        )  # fmt: skip
        self._of: dict[int, tuple[Floats, Floats]] = {}
        for rank, part in own.sort("receiver", "begin").group_by("receiver", maintain_order=True):
            begin = part["begin"].to_numpy().astype(float)
            times = np.stack([begin, np.maximum(part["applied"].to_numpy(), begin)], axis=1).ravel()
            times = np.maximum.accumulate(times)
            spent = np.diff(times, prepend=times[0])
            spent[::2] = 0  # between one and the next
            self._of[int(rank[0])] = times, np.cumsum(spent)

    def between(self, rank: Numbers, begin: Floats, end: Floats) -> Floats:
        """Returns for each rank the nanoseconds of combining from `begin` to `end`."""
        found = np.zeros(len(rank))
        if not len(rank):
            return found
        order = np.argsort(rank, kind="stable")
        values, first = np.unique(rank[order], return_index=True)
        for value, rows in zip(values, np.split(order, first[1:]), strict=True):
            if int(value) in self._of:
                times, spent = self._of[int(value)]
                found[rows] = np.interp(end[rows], times, spent)
                found[rows] -= np.interp(begin[rows], times, spent)
        return np.maximum(found, 0)


class _Walk:
    def __init__(self, run: Run) -> None:
        self.run = run
        calls = waits.with_lateness(run).with_columns(
            pl.col("planned")
            .shift()
            .over("rank", order_by="enter")
            .fill_null(False)
            .alias("follows"),
        )
        self.rows = calls.filter("planned").select("call", "rank", "enter", "exit", "off_core")
        self.computed = calls.filter("planned")["computed"].to_numpy()
        numbered = calls.filter("planned").with_columns(pl.int_range(pl.len()).alias("row"))
        self.previous = numbered.select(
            pl.when("follows").then(pl.col("row").shift().over("rank", order_by="enter"))
            .otherwise(-1).fill_null(-1)
        ).to_series().to_numpy()  # fmt: skip
        messages = links.add_times(run)
        self.expected = links.expect(run, messages)
        every = run.all_messages()
        self.ends = {
            f"holder_{name}": every[name].to_numpy() for name in ("call", "sender", "receiver")
        }
        self.steps = self._make_steps(messages)

    def _row_of(self, call: Numbers, rank: Numbers) -> Numbers:
        """Returns the row of a rank of a call, which are sorted by both."""
        ranks = int(self.rows["rank"].max() or 0) + 1  # type: ignore[arg-type]
        keys = self.rows["call"].to_numpy() * ranks + self.rows["rank"].to_numpy()
        return np.searchsorted(keys, call * ranks + rank)

    def _make_steps(self, messages: pl.DataFrame) -> _Steps:
        column = {name: messages[name].to_numpy() for name in messages.columns}
        number = np.arange(len(messages))
        call, sender, receiver = column["call"], column["sender"], column["receiver"]
        sender_row, receiver_row = self._row_of(call, sender), self._row_of(call, receiver)
        # Completions: of receives, then of sends, but for those that wait for nobody: their time
        # is their rank's own.
        waits_for = np.flatnonzero(column["size"] > links.eager_limit(self.run))
        message = np.concatenate([number, waits_for])
        row = np.concatenate([receiver_row, sender_row[waits_for]])
        end, applied = (
            np.concatenate([column[name], column["send_done"][waits_for]]).astype(float)
            for name in ("receive_done", "applied")
        )
        combined = np.concatenate([column["how"] > 0, np.zeros(len(waits_for), bool)])
        posted_last = column["send_posted"] >= column["receive_posted"]
        late_row = np.where(posted_last, sender_row, receiver_row)[message]
        late_rank = np.where(posted_last, sender, receiver)[message]
        ready = np.minimum(column["ready"][message].astype(float), end)
        self.message = message
        # Exits: the rank's own time only.
        enter = self.rows["enter"].to_numpy().astype(float)
        leave = self.rows["exit"].to_numpy().astype(float)
        rank = self.rows["rank"].to_numpy().astype(np.int64)
        all_ready = np.concatenate([ready, leave])
        all_end = np.concatenate([end, leave])
        all_late = np.concatenate([late_row, np.arange(len(enter))])
        # Every step goes back in time, so that a path ends whatever the clocks say.
        latest = np.concatenate([np.minimum(ready, np.nextafter(end, -np.inf)), leave])
        before = _last_before(row, end, all_late, latest)
        begin = np.where(before >= 0, end[before] if len(end) else 0.0, enter[all_late])
        begin = np.minimum(begin, all_ready)
        parts = np.zeros((len(all_end), len(CAUSES)))
        put_aside = self.rows["off_core"].to_numpy().astype(float)
        self._split_messages(
            parts, message, end - ready, ready, receiver[message],
            np.maximum(put_aside[sender_row], put_aside[receiver_row])[message],
            _Combining(messages),
        )  # fmt: skip
        after_combine = np.where(
            (before >= 0) & (combined[before] if len(end) else False),
            applied[before] if len(end) else 0.0, begin,
        )  # fmt: skip
        _split_own_time(parts, begin, all_ready, after_combine)
        calls = self.rows["call"].to_numpy().astype(np.int64)
        self.step_calls = np.concatenate([call[message], calls])
        return _Steps(
            all_end, all_ready, begin, before,
            np.concatenate([late_rank, rank]).astype(np.int64), all_late,
            np.concatenate([sender[message], rank]).astype(np.int64),
            np.concatenate([receiver[message], rank]).astype(np.int64),
            parts,
        )  # fmt: skip

    def _split_messages(
        self, parts: Floats, message: Numbers, took: Floats, ready: Floats, receiver: Numbers,
        put_aside: Floats, combining: _Combining,
    ) -> None:  # fmt: skip
        """Splits the messages' time. A send that is complete before its data can have arrived was
        copied by the library. A message that holds a capacity may be slow itself, and does so
        for longer than its bytes tell."""
        own: Expected = self.expected
        rows = slice(0, len(message))
        wire, latency, busy = (each[message] for each in (own.wire, own.latency, own.busy))
        whole = latency + wire + busy
        is_send = np.arange(len(message)) >= len(own.wire)
        buffered = is_send & (took < latency + wire)
        parts[rows, _LIBRARY] += np.where(buffered, took, 0)
        left = np.where(buffered, 0, took)
        due = ready + np.minimum(whole, left)
        while_combining = combining.between(receiver, due, ready + left)
        beyond = np.maximum(left - whole - while_combining, 0)
        most, usual = own.most_excess[message], own.usual_excess[message]
        for cause, share in (
            (_WIRE, wire), (_LATENCY, latency), (_BUSY, busy), (_COMBINE, while_combining),
            (_BELOW, np.where(beyond <= most, most, usual)), (_HOST, put_aside),
        ):  # fmt: skip
            part = np.clip(share, 0, left)
            parts[rows, cause] += part
            left = left - part
        longer = np.clip(own.held_until[message] - ready - parts[rows, _BUSY], 0, left)
        parts[rows, _BUSY] += longer
        parts[rows, _UNEXPLAINED] += left - longer

    def sums(self, floor: Floats, rows: Numbers) -> Floats:
        """Returns the nanoseconds by cause from `floor` to the exit of each of the rows."""
        found = np.zeros((len(rows), len(CAUSES)))
        for active, step, share, late, _ in self._back(floor, rows):
            found[active] += self.steps.causes[step] * share[:, None]
            found[active, _LATE] += late
        return found

    def hops(self, floor: Floats, rows: Numbers) -> pl.DataFrame:
        tables = []
        for number, (active, step, share, late, begin) in enumerate(self._back(floor, rows)):
            steps = self.steps
            parts = steps.causes[step] * share[:, None]
            parts[:, _LATE] = late
            resource, holder = np.full((2, len(step)), -1, np.int64)
            is_message = step < len(self.message)
            own = self.message[step[is_message]]
            resource[is_message] = self.expected.resource[own]
            holder[is_message] = self.expected.holder[own]
            tables.append(
                pl.DataFrame(
                    {"call": self.rows["call"].to_numpy()[rows[active]],
                     "rank": self.rows["rank"].to_numpy()[rows[active]],
                     "hop": np.full(len(step), number), "late_rank": steps.late_rank[step],
                     "sender": steps.sender[step], "receiver": steps.receiver[step],
                     "begin": begin,
                     "end": steps.end[step], "resource": resource,
                     **{name: np.where(holder >= 0, of_all[holder] if len(of_all) else -1, -1)
                        for name, of_all in self.ends.items()}}
                ).with_columns(pl.Series(name, parts[:, at]) for at, name in enumerate(CAUSES))
            )  # fmt: skip
        names = dict(enumerate(self.expected.resources))
        whole = pl.concat(tables) if tables else pl.DataFrame(schema=_HOPS)
        return whole.with_columns(
            pl.col("resource").replace_strict(names, default="", return_dtype=pl.String)
        ).sort("call", "rank", "hop")

    def _back(self, floor: Floats, rows: Numbers):  # type: ignore[no-untyped-def]
        """Walks back from the rows' exits: yields the positions in `rows` that still walk, each
        one's step, which share of it counts, lateness before it, and where it begins."""
        steps = self.steps
        first_exit = len(steps.end) - len(self.rows)
        active, step, low = np.arange(len(rows)), first_exit + rows, floor.copy()
        while len(active):
            begin, end = steps.begin[step], steps.end[step]
            whole = end - begin
            inside = np.clip(end - np.maximum(begin, low), 0, whole)
            share = np.where(whole > 0, inside / np.where(whole > 0, whole, 1), 0)
            at_entry = steps.before[step] < 0
            waited = np.where(at_entry, np.maximum(begin - low, 0), 0)
            row = steps.late_row[step]
            before = self.previous[row]
            late = np.where(before >= 0, np.clip(self.computed[row], 0, waited), waited)
            yield active, step, share, late, np.maximum(begin, low)
            rest = waited - late
            following = np.where(at_entry, first_exit + before, steps.before[step])
            low = np.where(at_entry, steps.end[following] - rest, low)
            going = np.where(at_entry, rest > 0, begin > low)
            active, step, low = active[going], following[going], low[going]


_HOPS = {
    "call": pl.Int64, "rank": pl.Int32, "hop": pl.Int64, "late_rank": pl.Int64, "sender": pl.Int64,
    "receiver": pl.Int64, "begin": pl.Float64, "end": pl.Float64, "resource": pl.Int64,
    **dict.fromkeys(("holder_call", "holder_sender", "holder_receiver"), pl.Int64),
    **dict.fromkeys(CAUSES, pl.Float64),
}  # fmt: skip


def _split_own_time(parts: Floats, begin: Floats, end: Floats, combined_until: Floats) -> None:
    """Splits a rank's own time into combining, what is usual, and what is beyond."""
    combining = np.clip(combined_until - begin, 0, end - begin)
    parts[:, _COMBINE] += combining
    rest = end - begin - combining
    usual, limit = usual_step(rest)
    excess = np.where(rest > limit, rest - usual, 0)
    parts[:, _HOST] += excess
    parts[:, _LIBRARY] += rest - excess


def usual_step(times: Floats) -> tuple[float, float]:
    """Returns the usual time of steps of which most are undisturbed, and above which time one is
    unusual."""
    if not len(times):
        return 0.0, 0.0
    middle = float(np.median(times))
    return middle, middle + SPREADS * max(spread_of(times), LEAST_SPREAD * middle)


def _last_before(groups: Numbers, times: Floats, asked: Numbers, until: Floats) -> Numbers:
    """Returns for each of `asked` the last of the events of its group whose time is at most
    `until`, as an index; -1: none."""
    group = np.concatenate([groups, asked])
    time = np.concatenate([times, until])
    is_query = np.arange(len(group)) >= len(groups)
    order = np.lexsort((is_query, time, group))
    position = np.where(is_query[order], -1, np.arange(len(order)))
    last = np.maximum.accumulate(position) if len(position) else position
    found = np.where(last >= 0, order[last], -1)
    found = np.where((found >= 0) & (group[found] == group[order]), found, -1)
    result = np.empty(len(group), np.int64)
    result[order] = found
    return result[len(groups) :]
