"""What each message should have taken on its link, and what else used it meanwhile."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thalweg.analysis.robust import TO_SIGMA, spread_of_column
from thalweg.analysis.tables import Run
from thalweg.network import Host, Network

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

SPREADS = 3.0
"""What differs by more than so many deviations is unusual."""
LEAST_SPREAD = 0.1
"""Least relative deviation that is taken for one."""
USUAL = 0.1
"""Quantile of a link's own times that stands for an undisturbed message where no network says."""


@dataclass(frozen=True)
class Expected:
    """What each message should take, in nanoseconds."""

    latency: Floats
    wire: Floats
    """The message's bytes at its link's rate."""
    busy: Floats
    """The time in which other messages held a capacity that the message needs."""
    resource: Numbers
    """The capacity that was held longest; -1: none."""
    resources: tuple[str, ...]
    holder: Numbers
    """The message that held it before this one, by index in Run.all_messages(); -1: none."""
    held_until: Floats
    """When the last message ended that held a capacity before this one; -inf: none did. It tells
    more than `busy` where that message was slow itself."""
    usual_excess: Floats
    """What the messages of its link usually take beyond the others."""
    most_excess: Floats
    """What they take beyond the others at most, as far as that is nothing unusual."""


def add_times(run: Run) -> pl.DataFrame:
    """Adds to the messages when both ends had posted (`ready`), `took` from then on, in
    nanoseconds, and their hosts' names."""
    hosts = pl.Series("hosts", run.hosts)
    found = run.messages.with_columns(
        pl.max_horizontal("send_posted", "receive_posted").alias("ready"),
    )
    if found.is_empty():
        return found.with_columns(
            pl.lit("").alias("from_host"), pl.lit("").alias("to_host"), pl.lit(0.0).alias("took")
        )
    return found.with_columns(
        hosts.gather(found["sender"]).alias("from_host"),
        hosts.gather(found["receiver"]).alias("to_host"),
        (pl.col("receive_done") - pl.col("ready")).clip(0).cast(pl.Float64).alias("took"),
    )


def expect(run: Run, messages: pl.DataFrame) -> Expected:
    """Returns the expectations of the run's messages, as add_times() returns them.

    Messages between hosts of a known network are expected to take its latency and rate. Others are
    expected to take what the fastest tenth of those of their link and size took.
    """
    latency, wire = _usual(messages)
    own, every = slice(len(messages)), run.all_messages()
    busy = np.zeros(len(every))
    resource = np.full(len(every), -1, np.int64)
    holder = resource.copy()
    held_until = np.full(len(every), -np.inf)
    if run.network is None or messages.is_empty():
        excess = _excess(run, messages, latency + wire)
        return Expected(
            latency, wire, busy[own], resource[own], (), holder[own], held_until[own], *excess
        )
    a, b = _host_pairs(run, every)
    net_latency, net_rate, pair = _of_network(run.network, a[own], b[own])
    between = a[own] != b[own]
    size = every["size"].to_numpy().astype(float)
    latency = np.where(between, 1e9 * net_latency[pair], latency)
    wire = np.where(between, 1e9 * size[own] / net_rate[pair], wire)
    resources = _resources(run.network, a, b)
    begin = every["send_posted"].to_numpy().astype(float)
    end = np.maximum(every["receive_done"].to_numpy().astype(float), begin + 1)
    names = []
    for number, (name, rate, users) in enumerate(resources):
        names.append(name)
        if not math.isfinite(rate) or len(users) < 2:
            continue
        others = _moved_by_others(begin[users], end[users], size[users])
        held = 1e9 * others / rate
        longer = held > busy[users]
        busy[users[longer]] = held[longer]
        resource[users[longer]] = number
        before = _before(begin[users], end[users], users)
        holder[users[longer]] = before[longer]
        until = np.where(before >= 0, end[before], -np.inf)
        held_until[users] = np.maximum(held_until[users], until)
    excess = _excess(run, messages, latency + wire + busy[own])
    return Expected(
        latency, wire, busy[own], resource[own], tuple(names), holder[own], held_until[own], *excess
    )


def _before(begin: Floats, end: Floats, users: Numbers) -> Numbers:
    """Returns for each of a capacity's users the one that ended last before it, if it was sent
    before that one's end: a port or a link passes one message after the other."""
    order = np.argsort(end, kind="stable")
    found = np.full(len(users), -1, np.int64)
    previous, this = order[:-1], order[1:]
    overlap = end[previous] > begin[this]
    found[this[overlap]] = users[previous[overlap]]
    return found


def _excess(run: Run, messages: pl.DataFrame, whole: Floats) -> tuple[Floats, Floats]:
    """Returns what messages of each pair of hosts usually take beyond `whole`, and at most."""
    pair = ["from_host", "to_host"]
    ratio = pl.col("ratio").filter(pl.col("clean"))
    found = _compared(run, messages, whole).select(
        middle=ratio.median().over(pair).fill_null(0),
        spread=spread_of_column(ratio).over(pair).fill_null(0),
    )
    middle = found["middle"].to_numpy()
    most = middle + SPREADS * np.maximum(found["spread"].to_numpy(), LEAST_SPREAD)
    return whole * np.expm1(np.maximum(middle, 0)), whole * np.expm1(np.maximum(most, 0))


def _usual(messages: pl.DataFrame) -> tuple[Floats, Floats]:
    """Returns latency and the rest of what is usual for a message of its link and size."""
    link = ["from_host", "to_host"]
    usual = messages.select(
        *link, "size",
        pl.col("took").quantile(USUAL).over(*link, "size").alias("usual"),
    ).with_columns(pl.col("usual").min().over(link).alias("latency"))  # fmt: skip
    latency = usual["latency"].to_numpy().astype(float)
    return latency, usual["usual"].to_numpy().astype(float) - latency


def _host_pairs(run: Run, messages: pl.DataFrame) -> tuple[Numbers, Numbers]:
    placement = np.asarray(run.placement, np.int64)
    return placement[messages["sender"].to_numpy()], placement[messages["receiver"].to_numpy()]


def _of_network(net: Network, a: Numbers, b: Numbers) -> tuple[Floats, Floats, Numbers]:
    """Returns latencies and rates of the pairs that occur, and each message's pair."""
    hosts = len(net.hosts)
    pairs, where = np.unique(a * hosts + b, return_inverse=True)
    ends = [divmod(int(pair), hosts) for pair in pairs]
    latencies = np.array([net.latency_between(*each) if each[0] != each[1] else 0 for each in ends])
    rates = np.array(
        [net.bandwidth_between(*each) if each[0] != each[1] else math.inf for each in ends]
    )
    return latencies, rates, where


def _resources(net: Network, a: Numbers, b: Numbers) -> list[tuple[str, float, Numbers]]:
    """Returns name, rate and users, as indices of messages, of every capacity that has users."""
    between = np.flatnonzero(a != b)
    found: list[tuple[str, float, Numbers]] = []
    if not len(between):
        return found
    hosts = net.hosts
    pair = a * len(hosts) + b
    for ids, label in ((pair, "link"), (a, "egress"), (b, "ingress")):
        order = between[np.argsort(ids[between], kind="stable")]
        values, first = np.unique(ids[order], return_index=True)
        for value, users in zip(values, np.split(order, first[1:]), strict=True):
            found.append((*_capacity(net, hosts, label, int(value)), users))
    for trunk in net.trunks:
        inside = np.isin(a, trunk.from_) & np.isin(b, trunk.to) & (a != b)
        if inside.any():
            found.append((f"trunk {trunk.name}", trunk.capacity, np.flatnonzero(inside)))
    return found


def _capacity(net: Network, hosts: Sequence[Host], label: str, value: int) -> tuple[str, float]:
    """Returns name and rate of a port or link by its number. `hosts`: the network's."""
    if label == "link":
        a, b = divmod(value, len(hosts))
        return f"link {hosts[a].name} -> {hosts[b].name}", net.bandwidth_between(a, b)
    host = hosts[value]
    return f"{label} of {host.name}", host.egress if label == "egress" else host.ingress


def _moved_by_others(begin: Floats, end: Floats, size: Floats) -> Floats:
    """Returns the bytes that the other messages moved between each one's begin and end.

    Each is taken to move at an even pace.
    """
    pace = size / (end - begin)
    times = np.concatenate([begin, end])
    order = np.argsort(times, kind="stable")
    times = times[order]
    slope = np.cumsum(np.concatenate([pace, -pace])[order])
    moved = np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(times))])
    between: Floats = np.interp(end, times, moved) - np.interp(begin, times, moved)
    return np.maximum(between - size, 0.0)


def held_up(run: Run) -> pl.DataFrame:
    """Returns call, sender and receiver of each message that took longer than is usual on its link,
    and `excess`: nanoseconds beyond that.

    The deviation is that of the messages below the median: those that were held up are all above.
    """
    messages = add_times(run)
    own = expect(run, messages)
    found = _compared(run, messages, own.latency + own.wire + own.busy).filter("clean")
    pair = ["from_host", "to_host"]
    middle = pl.col("ratio").median().over(pair)
    found = found.with_columns(middle.alias("middle"), (middle - pl.col("ratio")).alias("below"))
    spread = TO_SIGMA * pl.col("below").filter(pl.col("below") >= 0).median().over(pair)
    most = pl.col("middle") + SPREADS * pl.max_horizontal(spread, pl.lit(LEAST_SPREAD))
    usual = pl.col("expected") * pl.col("middle").exp()
    return found.filter(pl.col("ratio") > most).select(
        "call", "sender", "receiver", excess=pl.col("took") - usual
    )


def eager_limit(run: Run) -> int:
    """Returns the size up to which a message leaves when it is sent, also if nobody has posted its
    receive; -1 if it isn't known."""
    costs = run.network.message_costs if run.network is not None else {}
    return costs[run.library].eager_limit if run.library in costs else -1


def _compared(run: Run, messages: pl.DataFrame, whole: Floats) -> pl.DataFrame:
    """Adds to add_times(): expected, `ratio`: the logarithm of took / expected, and `clean`:
    whether it tells of the link. For a message that leaves without its receiver `took` begins
    when it was sent."""
    lag = pl.col("ready") - pl.col("send_posted")
    eager = pl.col("size") <= eager_limit(run)
    # What is there already takes the receiver some time, too.
    there = SPREADS * pl.col("took").filter(lag > 2 * pl.col("expected")).median().fill_null(0)
    waited = pl.col("took") > pl.max_horizontal(pl.col("expected") / 4, there)
    return (
        messages.with_columns(pl.Series("expected", whole))
        .with_columns(
            clean=waited | (lag <= pl.col("expected") / 2),
            took=pl.col("took") + pl.when(eager).then(lag).otherwise(0),
        )
        .with_columns(ratio=(pl.col("took").clip(1) / pl.col("expected").clip(1)).log())
    )


def ratios(run: Run) -> pl.DataFrame:
    """Returns how long the messages of each directed pair of hosts took, against what is expected.

    A row for each pair: from_host, to_host, messages; `clean_messages`: those that tell of the
    link, since the receiver posted before they can have arrived, or waited for them all the same;
    expected and took: their medians in nanoseconds; `log_ratio`: median of log(took / expected),
    `error`, its standard error, and `low_ratio`, its lower quartile. Without a network the
    expectation is the pair's own best, and the ratio says how even a link is, not whether it is
    slow.
    """
    messages = add_times(run)
    own = expect(run, messages)
    pair = ["from_host", "to_host"]
    found = _compared(run, messages, own.latency + own.wire + own.busy).filter(
        pl.col("from_host") != pl.col("to_host")
    )
    ratio = pl.col("ratio").filter(pl.col("clean"))
    return (
        found.group_by(pair)
        .agg(
            pl.len().alias("messages"), pl.col("clean").sum().alias("clean_messages"),
            pl.col("size").sum().alias("bytes"),
            pl.col("expected", "took").filter(pl.col("clean")).median(),
            ratio.median().alias("log_ratio"), ratio.quantile(0.25).alias("low_ratio"),
            # A median has 1.25 standard errors of a mean.
            (1.25 * spread_of_column(ratio) / pl.col("clean").sum().sqrt()).alias("error"),
        )
        .filter(pl.col("clean_messages") > 0)
        .sort(pair)
    )  # fmt: skip
