"""The tables of a run: its collective calls, and the messages that planned ones are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thalweg import events
from thalweg.analysis import alignment
from thalweg.collective_names import ROOTED
from thalweg.errors import UserError
from thalweg.events import RankEvents
from thalweg.network import Network

ENDS = ["call", "sender", "receiver", "step", "segment"]
"""What tells a message of a run from the others, but for several of a pair in one step."""


@dataclass(frozen=True)
class Run:
    """What happened in a run, as far as all ranks of a call recorded it."""

    calls: pl.DataFrame
    """A row for each rank of each collective call, by `call` and `rank`:

    call: number of the collective call, in the order in which they began;
    rank: of the world; communicator: a number, whose members() are known; group: the least number
    of a communicator with the same members in the same order; kind, planned, algorithm, reason:
    names, reason is "" if it was planned; root: of the world, -1 where there is none; ranks: how
    many take part; member: the rank's number in the communicator; size: bytes; enter, exit:
    nanoseconds; off_core: nanoseconds for which the system had put the rank aside; nonblocking:
    whether the program may have done other things between enter and exit.
    """
    messages: pl.DataFrame
    """A row for each message of a planned call, both its ends together.

    call, sender, receiver, step, segment, size; how: 0 copied, else combined; send_posted,
    send_done, receive_posted, receive_done, applied: nanoseconds.
    """
    ranks: int
    hosts: tuple[str, ...]
    """Each rank's host by name."""
    network: Network | None = None
    """What the plans were made for; None: not known."""
    placement: tuple[int, ...] = ()
    """Each rank's host in the network; empty without one."""
    library: str = ""
    """The MPI library, as the network names it."""
    clock_error_ns: float = 0.0
    """The most that the clocks of two hosts may differ."""
    left_out: int = 0
    """Calls that not all of their ranks have a record of."""
    sites: tuple[str, ...] = field(default=())
    """Each rank's site; empty if there are none."""
    nonblocking: int = 0
    """The most nonblocking calls that a rank has records of, if they are left out of `calls`."""
    background: pl.DataFrame = field(
        default_factory=lambda: pl.DataFrame(schema=dict.fromkeys(MESSAGE_COLUMNS, pl.Int64))
    )
    """The messages of nonblocking calls that are left out: they use links, too."""

    def shapes(self) -> pl.DataFrame:
        """Returns each call's number with what calls have in common that ought to be alike."""
        return self.calls.group_by("call", maintain_order=True).agg(
            pl.col("group", "kind", "planned", "algorithm", "reason", "root", "ranks").first(),
            pl.col("size").max(),
            pl.col("enter").max().alias("last_enter"),
            pl.col("enter").min().alias("begin"),
            pl.col("exit").max().alias("end"),
        )

    def all_messages(self) -> pl.DataFrame:
        """Returns the messages, and after them those in the background."""
        return pl.concat([self.messages, self.background])

    def members(self) -> pl.DataFrame:
        """Returns the members of communicators by number: communicator, rank, member.

        Of communicators with the same members, which have the same order, the number of the one
        that was set up first is least.
        """
        members = self.calls.select("communicator", "rank", "member")
        return members.unique(["communicator", "rank"], keep="first").sort("communicator", "member")


SHAPE = ["group", "kind", "planned", "algorithm", "root", "ranks", "size"]
"""Calls that are equal in these are compared with each other.

Their communicators may differ: a program may make one for every few calls.
"""


@dataclass(frozen=True)
class Names:
    """What the numbers in call records mean."""

    algorithms: Sequence[str] = ()
    reasons: Sequence[str] = ()


def build(
    recorded: Sequence[RankEvents],
    names: Names,
    *,
    hosts: Sequence[str] | None = None,
    network: Network | None = None,
    placement: Sequence[int] | None = None,
    library: str = "",
    clock_errors_ns: Sequence[float] = (),
    dilation: float = 1.0,
    nonblocking: bool = False,
) -> Run:
    """Puts the records of all ranks together.

    `hosts`: the name of each rank's host; taken from the network's placement, or all ranks are
    taken to be on hosts of their own. `clock_errors_ns`: by rank, how wrong its host's clock may
    be; clocks are then aligned by the messages, too. `dilation`: of a lab, by which all times are
    divided, so that they compare with the network. Calls of which a rank's record is missing are
    left out and counted. So are nonblocking calls unless `nonblocking` is set: between their begin
    and their end the program may compute, so that nothing in them says who is waited for. Those
    that ranks may start in any order can't be put together, and are always left out. Raises
    UserError if a placement is given that isn't one of these ranks.
    """
    ranks = recorded[0].ranks if recorded else 0
    if placement is not None and len(placement) != ranks:
        raise UserError(
            f"the run has {ranks} ranks, but the placement {len(placement)}: give the run's own "
            "with -n and -H"
        )
    if placement is not None and network is not None:
        all_hosts = network.hosts
        hosts = [all_hosts[host].name for host in placement]
    calls, left_out = _calls(recorded, names)
    known = network if placement is not None else None
    tables = (
        _divided(calls, CALL_TIMES, dilation),
        _divided(_messages(recorded, calls), MESSAGE_TIMES, dilation),
    )
    names_of_hosts = tuple(hosts or (f"rank {rank}" for rank in range(ranks)))
    calls, messages, clock_error_ns = _aligned(
        *tables, names_of_hosts, known, placement or (), np.array(clock_errors_ns) / dilation
    )
    apart = [] if nonblocking else calls.filter("nonblocking")["call"].unique().to_list()
    is_apart = pl.col("call").is_in(apart)
    return Run(
        calls.filter(~is_apart),
        messages.filter(~is_apart),
        ranks,
        names_of_hosts,
        known,
        tuple(placement or ()),
        library,
        clock_error_ns,
        left_out,
        _sites(network, placement),
        0 if nonblocking else _most_nonblocking(recorded),
        messages.filter(is_apart),
    )


def _most_nonblocking(recorded: Sequence[RankEvents]) -> int:
    is_one = (each.calls["type"] == events.NONBLOCKING_CALL for each in recorded)
    return max((int(found.sum()) for found in is_one), default=0)


def _aligned(
    calls: pl.DataFrame, messages: pl.DataFrame, hosts: Sequence[str], network: Network | None,
    placement: Sequence[int], errors_ns: NDArray[np.float64],
) -> tuple[pl.DataFrame, pl.DataFrame, float]:  # fmt: skip
    """Aligns the hosts' clocks by the run's messages, if they have an error."""
    if not (np.isfinite(errors_ns) & (errors_ns > 0)).any():
        return calls, messages, 0.0
    numbers = {name: number for number, name in enumerate(dict.fromkeys(hosts))}
    host_of = np.array([numbers[name] for name in hosts])
    latency = None
    if network is not None:
        net_host = dict(zip(hosts, placement, strict=True))
        latency = 1e9 * network.latency_among([net_host[name] for name in numbers])
    errors = np.zeros(len(numbers))
    np.maximum.at(errors, host_of, errors_ns)
    added, left = alignment.offsets(messages, host_of, latency, errors)
    of_rank = pl.Series(added[host_of].round().astype(np.int64))

    def shifted(table: pl.DataFrame, rank: str, times: Sequence[str]) -> pl.DataFrame:
        more = of_rank.gather(table[rank])
        return table.with_columns(pl.col(name) + more for name in times)

    messages = shifted(messages, "sender", ["send_posted", "send_done"])
    messages = shifted(messages, "receiver", ["receive_posted", "receive_done", "applied"])
    largest = np.sort(left[np.isfinite(left)])[-2:]
    return shifted(calls, "rank", ["enter", "exit"]), messages, float(largest.sum())


def _divided(table: pl.DataFrame, times: Sequence[str], dilation: float) -> pl.DataFrame:
    if dilation == 1:
        return table
    return table.with_columns((pl.col(times) / dilation).round().cast(pl.Int64))


def _sites(network: Network | None, placement: Sequence[int] | None) -> tuple[str, ...]:
    if network is None or placement is None or len(network.sites) < 2:
        return ()
    site_of = {host: at for at, members in enumerate(network.sites) for host in members}
    return tuple(f"site {site_of[host]}" if host in site_of else "" for host in placement)


# Calls -----------------------------------------------------------------------------------------


def _calls(recorded: Sequence[RankEvents], names: Names) -> tuple[pl.DataFrame, int]:
    frames = [_frame(each.calls, CALL_FIELDS, each.rank) for each in recorded]
    found = pl.concat(frames) if frames else pl.DataFrame(schema=_CALL_SCHEMA)
    torn = [_torn(each) for each in recorded]
    # Below -1 a tag only tells who the members are: then calls are told apart by their order, which
    # is the same on all of these ranks. A rank that dropped records has the last ones; others have
    # the first ones, also in a run that was killed.
    key = ["tag", "leader", "sequence", "turn"]
    found = found.filter(pl.col("tag") != -1).with_columns(
        pl.when(pl.col("tag") < -1).then(-1).otherwise(pl.col("leader")).alias("leader")
    )
    dropped = pl.col("rank").is_in([each.rank for each in recorded if each.dropped])
    from_first, from_last = (pl.col("number").rank("ordinal", descending=d) for d in (False, True))
    turn = pl.when(dropped.any().over(*key[:-1])).then(from_last.over("rank", *key[:-1]))
    found = found.with_columns(
        turn.otherwise(from_first.over("rank", *key[:-1])).alias("turn"),
    )
    torn_frame = pl.DataFrame(
        [(rank, number) for rank, number in torn if number is not None],
        schema={"rank": pl.Int32, "number": pl.UInt32}, orient="row",
    )  # fmt: skip
    whole = found.join(torn_frame, on=["rank", "number"], how="anti")
    counted = pl.col("rank").len().over(key)
    members = pl.col("ranks").max().over(key)
    alike = pl.col("collective").n_unique().over(key) == 1
    complete = whole.filter(((counted == members) & alike) | (members == 0))
    left_out = found.select(key).n_unique() - complete.select(key).n_unique()
    if complete.is_empty():
        return pl.DataFrame(schema=_CALLS), left_out
    # Older files don't know the rank in the communicator: there the world's order is taken.
    known = (pl.col("member") > 0).all().over(key)
    complete = complete.with_columns(
        pl.when(known).then(pl.col("member")).otherwise(pl.col("rank")).alias("member")
    )
    complete = complete.join(_communicators(complete), on=["tag", "leader"])
    reasons, algorithms = list(names.reasons), ["", *names.algorithms]
    complete = complete.with_columns(
        _named("collective", list(events.COLLECTIVES)).alias("kind"),
        _named("algorithm", algorithms).alias("algorithm"),
        pl.when(pl.col("planned") == 1).then(pl.lit("")).otherwise(_named("reason", reasons))
        .alias("reason"),
        pl.col("planned").cast(pl.Boolean),
        pl.col("member").rank("ordinal").over(key).cast(pl.Int64).sub(1),
        (pl.col("off_core").cast(pl.Int64) * events.OFF_CORE_NS).alias("off_core"),
        (pl.col("type") == events.NONBLOCKING_CALL).alias("nonblocking"),
        pl.col("enter").min().over(key).alias("begin"),
    )  # fmt: skip
    rooted = pl.col("kind").is_in(ROOTED)
    # Joined, since a list of all members beside each row would take the square of their number.
    roots = complete.filter(pl.col("member") == pl.col("root")).select(*key, root_rank="rank")
    roots = roots.unique(key, keep="first")  # ranks of a torn record may have other roots
    complete = complete.join(roots, on=key, how="left").with_columns(
        pl.when(rooted).then("root_rank").cast(pl.Int64).fill_null(-1).alias("root"),
        pl.struct("begin", *key).rank("dense").cast(pl.Int64).sub(1).alias("call"),
    )
    return complete.select(*CALL_COLUMNS, "number").sort("call", "rank"), left_out


def _communicators(calls: pl.DataFrame) -> pl.DataFrame:
    """Returns tag, leader, and the numbers of the communicator, by tag, and of its group.

    Before it is set up, a communicator has no tag of its own. What has the same members then counts
    to the first of them that was set up.
    """
    ranks = calls.unique(["tag", "leader", "rank"]).sort("tag", "leader", "member")
    found = ranks.group_by("tag", "leader").agg(
        pl.col("rank").cast(pl.String).str.join(",").alias("members")
    )
    is_set_up = pl.col("tag") >= 0
    first = pl.when(is_set_up).then("tag").min().over("members")
    own = pl.when(is_set_up).then("tag").otherwise(first)
    numbered = found.with_columns(
        pl.struct(own.is_null(), own.fill_null(pl.col("tag")).alias("own"), "members")
        .rank("dense").cast(pl.Int64).sub(1).alias("communicator")
    )  # fmt: skip
    least = pl.col("communicator").min().over("members")
    return numbered.select("tag", "leader", "communicator", least.alias("group"))


def _named(column: str, names: Sequence[str]) -> pl.Expr:
    """Returns the names that a column of numbers stands for; a number without a name stays."""
    numbers = list(range(len(names)))
    return (
        pl.col(column)
        .cast(pl.Int64)
        .replace_strict(
            numbers, list(names), default=pl.col(column).cast(pl.String), return_dtype=pl.String
        )
    )


def _torn(rank: RankEvents) -> tuple[int, int | None]:
    """Returns the number of the rank's oldest call if some of its records may be overwritten."""
    if not rank.dropped:
        return rank.rank, None
    numbers = [int(each["call"].min()) for each in (rank.transfers, rank.calls) if len(each)]
    return rank.rank, min(numbers) if numbers else None


CALL_FIELDS: Mapping[str, str] = {
    "call": "number", "tag": "tag", "leader": "leader", "sequence": "sequence",
    "collective": "collective", "planned": "planned", "reason": "reason", "root": "root",
    "ranks": "ranks", "size": "size", "algorithm": "algorithm", "enter_ns": "enter",
    "exit_ns": "exit", "member": "member", "off_core": "off_core", "type": "type",
}  # fmt: skip
CALL_COLUMNS = [
    "call",
    "rank",
    "communicator",
    "group",
    "kind",
    "planned",
    "algorithm",
    "reason",
    "root",
    "ranks",
    "member",
    "size",
    "enter",
    "exit",
    "off_core",
    "nonblocking",
]
CALL_TIMES = ["enter", "exit", "off_core"]  # fmt: skip
_CALL_SCHEMA = {
    "rank": pl.Int32, "number": pl.UInt32, "tag": pl.Int32, "leader": pl.Int32,
    "sequence": pl.UInt32, "collective": pl.UInt8, "planned": pl.UInt8, "reason": pl.UInt8,
    "root": pl.Int32, "ranks": pl.Int32, "size": pl.Int64, "algorithm": pl.UInt16,
    "enter": pl.Int64, "exit": pl.Int64, "member": pl.Int32, "off_core": pl.UInt16,
    "type": pl.UInt8,
}  # fmt: skip


_CALLS = {
    "call": pl.Int64, "rank": pl.Int32, "communicator": pl.Int64, "group": pl.Int64,
    "kind": pl.String, "planned": pl.Boolean, "algorithm": pl.String, "reason": pl.String,
    "root": pl.Int64, "ranks": pl.Int32, "member": pl.Int64, "size": pl.Int64, "enter": pl.Int64,
    "exit": pl.Int64, "off_core": pl.Int64, "nonblocking": pl.Boolean, "number": pl.UInt32,
}  # fmt: skip


def _frame(records: np.ndarray, fields: Mapping[str, str], rank: int) -> pl.DataFrame:
    columns = {new: np.ascontiguousarray(records[old]) for old, new in fields.items()}
    return pl.DataFrame({"rank": np.full(len(records), rank, np.int32), **columns})


# Messages --------------------------------------------------------------------------------------

_TRANSFER_FIELDS = {
    "call": "number", "direction": "direction", "peer": "peer", "step": "step",
    "segment": "segment", "size": "size", "how": "how", "posted_ns": "posted", "done_ns": "done",
    "applied_ns": "applied",
}  # fmt: skip
MESSAGE_COLUMNS: list[str] = [
    *ENDS, "size", "how", "send_posted", "send_done", "receive_posted", "receive_done", "applied",
]  # fmt: skip
MESSAGE_TIMES = MESSAGE_COLUMNS[-5:]


def _messages(recorded: Sequence[RankEvents], calls: pl.DataFrame) -> pl.DataFrame:
    number_to_call = calls.select("rank", "number", "call")
    frames = [_frame(each.transfers, _TRANSFER_FIELDS, each.rank) for each in recorded]
    if not frames:
        return pl.DataFrame(schema=dict.fromkeys(MESSAGE_COLUMNS, pl.Int64))
    ends = pl.concat(frames).join(number_to_call, on=["rank", "number"])
    sends = _of_direction(ends, events.SEND, "rank", "peer", "send_")
    receives = _of_direction(ends, events.RECEIVE, "peer", "rank", "receive_")
    joined = sends.drop("send_applied", "how").join(receives.drop("size"), on=[*ENDS, "occurrence"])
    found = joined.rename({"receive_applied": "applied"}).select(MESSAGE_COLUMNS)
    return found.with_columns(pl.all().cast(pl.Int64)).sort(ENDS)


def _of_direction(
    ends: pl.DataFrame, direction: int, sender: str, receiver: str, prefix: str
) -> pl.DataFrame:
    own = ends.filter(pl.col("direction") == direction).select(
        "call", pl.col(sender).alias("sender"), pl.col(receiver).alias("receiver"),
        "step", "segment", "size", "how",
        *(pl.col(name).alias(prefix + name) for name in ("posted", "done", "applied")),
    )  # fmt: skip
    own = own.sort([*ENDS, f"{prefix}posted"])
    at = pl.int_range(pl.len())
    is_first = pl.any_horizontal(pl.col(name) != pl.col(name).shift() for name in ENDS)
    first = pl.when(is_first.fill_null(True)).then(at).forward_fill()
    return own.with_columns((at - first).alias("occurrence"))
