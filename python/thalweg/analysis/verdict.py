"""Names what is wrong: the program, a host, a link, a trunk, or nothing.

Each kind of fault has a measure of its own that others hardly touch: a rank's time between two
collectives, its steps inside them, the time between its sends, and what messages take against what
the network lets expect and all of them have in common. A suspect differs from the others by more
than chance explains (SURE standard errors, from the data's own spread), and costs a share of the
collectives' time that is worth a sentence (WORTH). What one fault does to the others' measures is
left out of these: a rank that is held up sees messages late, and comes late.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from thalweg.analysis import links, outliers, pairs, paths
from thalweg.analysis.faults import Fault
from thalweg.analysis.pairs import FEWEST, Pairs
from thalweg.analysis.robust import SURE, spread_of, spread_of_column, unusual
from thalweg.analysis.tables import SHAPE, Run
from thalweg.analysis.waits import with_lateness

WORTH = 0.01
"""Least share of the collectives' time that a suspect costs."""
OFTEN = 0.15
"""Least share of the calls to which somebody comes late, if lateness is a fault."""
LITTLE = 0.03
"""Share of a call's time that is nothing unusual."""
SERIAL = 0.02
"""Least share of its calls that a slow host or a serialising node spends on its own steps."""
HELD_UP = 0.03
"""Least share of its time in calls for which a busy core's rank is held up."""
MOST_BY_CHANCE = 3
"""How many of a rank's longest delays may be chance."""
TWICE = 2.0
"""Times as long as any other's must be what a busy core's rank is held up for."""


@dataclass(frozen=True)
class Suspect:
    """Something that is wrong."""

    fault: Fault
    culprit: str
    """A rank, a host, a link as "a -> b", or a trunk's name; "" if it is nobody in particular."""
    cost_ns: float
    """What it adds to the time of all ranks in planned collectives."""
    share: float
    """The part of the time of planned collectives that it adds."""
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Verdict:
    suspects: tuple[Suspect, ...]
    """The costliest first; none: nothing is wrong."""
    total_ns: float
    """Time of all ranks together in planned collectives."""
    shares: dict[str, float]
    """The parts of that time, by cause."""
    network_known: bool
    """Whether links could be compared with what they should do."""


def judge(run: Run, hops: pl.DataFrame | None = None) -> Verdict:
    """Finds what is wrong in a run. Needs planned calls; says nothing about native ones.

    `hops`: paths.paths_of_ranks(run), if it is there already.
    """
    hops = paths.paths_of_ranks(run) if hops is None else hops
    causes = {name: float(hops[name].sum()) for name in paths.CAUSES}
    total = sum(causes.values())
    if total <= 0:
        return Verdict((), 0.0, dict.fromkeys(paths.CAUSES, 0.0), run.network is not None)
    least = WORTH * total
    worth = [
        replace(each, share=each.cost_ns / total)
        for each in _suspects(run, hops, least) if each.cost_ns >= least
    ]  # fmt: skip
    worth.sort(key=lambda each: -each.cost_ns)
    shares = {name: value / total for name, value in causes.items()}
    return Verdict(tuple(worth), total, shares, run.network is not None)


def _suspects(run: Run, hops: pl.DataFrame, least_ns: float) -> list[Suspect]:
    """`least_ns`: what a suspect costs that is worth a sentence."""
    steps = own_times(run)
    entries = _entries(run)
    always = _always_late(entries)
    between = pairs.of_run(run)
    serialising = _serialising(run, steps, hops, between)
    hosts = [each for each in _slow_hosts(run, steps, hops)
             if not any(set(each.ranks) <= set(other.ranks) for other in serialising)]  # fmt: skip
    serial = {rank for each in serialising for rank in each.ranks}
    network = _network(run, hops, between, {run.hosts[rank] for rank in serial})
    known = always.union(serial, *(each.ranks for each in hosts))
    busy = _busy_cores(run, steps, hops, entries, known)
    # What is slow in all of its messages delays others now and then.
    if _cost(network) >= max(least_ns, _cost(busy)):
        busy = []
    held_up = serial.union(*(each.ranks for each in busy))
    slow = {each.culprit for each in network if each.fault == Fault.slow_host}
    # What a slow host's ranks do besides is no fault of its own.
    own = [each for each in (*hosts, *serialising, *busy)
           if not slow & {run.hosts[rank] for rank in each.ranks}]  # fmt: skip
    late = always | outliers.late_again_and_again(run)
    return [*_program(entries, hops, late, held_up), *own, *network]


def _cost(suspects: Sequence[Suspect]) -> float:
    return sum(each.cost_ns for each in suspects)


# The program -----------------------------------------------------------------------------------


def _entries(run: Run) -> pl.DataFrame:
    """Returns SHAPE, call and rank of each entry of a planned call; `excess`: nanoseconds that the
    rank spent before it beyond the median of all, and `deviations`: by how many of what ranks
    usually spend that is. What is little against the call itself is no deviation."""
    calls = with_lateness(run).filter(pl.col("planned"))
    own, lasted = pl.col("computed"), pl.col("exit") - pl.col("enter")
    spread = spread_of_column(own).over(SHAPE)
    least = (LITTLE * lasted.median().over(SHAPE)).clip(1)
    return calls.select(
        *SHAPE, "call", "rank", excess=own, deviations=own / pl.max_horizontal(spread, least)
    )


def _always_late(entries: pl.DataFrame) -> set[int]:
    """Returns the ranks that usually spend longer before calls of some shape than the others."""
    by_rank = entries.group_by(*SHAPE, "rank").agg(
        pl.col("deviations").median(), (1.25 / pl.len().sqrt()).alias("error"),
        pl.len().alias("calls"),
    ).filter(pl.col("calls") >= FEWEST).sort(*SHAPE, "rank")  # fmt: skip
    found: set[int] = set()
    for _, shape in by_rank.group_by(SHAPE, maintain_order=True):
        late = unusual(shape["deviations"].to_numpy(), shape["error"].to_numpy(), 1.0)
        found.update(shape["rank"].to_numpy()[late].tolist())
    return found


def _program(
    entries: pl.DataFrame, hops: pl.DataFrame, known: Collection[int], held_up: Collection[int]
) -> list[Suspect]:
    """Accuses late ranks, those that are known and others, and those of which often one comes late.
    If half of the late entries are one rank's, it is a late rank. Ranks that are held up inside of
    calls, too, aren't their program's fault."""
    late = entries.filter(
        (pl.col("deviations") > SURE) & ~pl.col("rank").is_in(sorted(held_up))
    )  # fmt: skip
    found = set(known) - set(held_up)
    often = entries.group_by(SHAPE).agg((OFTEN * pl.col("call").n_unique()).alias("often"))
    for _, shape in late.join(often, on=SHAPE).group_by(SHAPE):
        rank, times = shape["rank"].value_counts(sort=True).row(0)
        if times >= max(FEWEST, shape["often"][0]) and 2 * times > len(shape):
            found.add(rank)
    costs = dict(hops.group_by("late_rank").agg(pl.col("program late").sum()).iter_rows())
    suspects = [Suspect(Fault.late_rank, f"rank {rank}", costs.get(rank, 0.0), 0, (rank,))
                for rank in sorted(found)]  # fmt: skip
    others = late.filter(~pl.col("rank").is_in(sorted(found))).join(often, on=SHAPE)
    calls = others.group_by(SHAPE).agg(
        pl.col("call").n_unique().alias("calls"), pl.col("rank").n_unique().alias("late_ranks"),
        pl.col("often").first(),
    ).filter(
        (pl.col("late_ranks") > 2) & (pl.col("calls") >= pl.max_horizontal("often", FEWEST))
    )  # fmt: skip
    if len(calls):
        ranks = tuple(sorted(others.join(calls, on=SHAPE, how="semi")["rank"].unique()))
        cost = sum(costs.get(rank, 0.0) for rank in ranks)
        suspects.append(Suspect(Fault.rotating_straggler, "", cost, 0, ranks))
    return suspects


# Hosts -----------------------------------------------------------------------------------------


def own_times(run: Run) -> pl.DataFrame:
    """Returns ranks' own time before each of their posts of a send.

    call, rank, own: nanoseconds since the last completion or the entry, or since the post before if
    that is later (`again`); `relative`: its logarithm less the median of steps of its kind.
    """
    messages = run.messages.with_columns(pl.int_range(pl.len()).alias("number"))
    posts = messages.select(
        "call", pl.col("sender").alias("rank"), time="send_posted", kind=pl.lit(2)
    )
    done = [
        messages.select("call", pl.col("receiver").alias("rank"), time="applied", kind=pl.lit(1)),
        run.calls.filter("planned").select(
            "call", pl.col("rank").cast(pl.Int64), time="enter", kind=pl.lit(0)
        ),
    ]
    order = ["call", "rank", "time", "kind"]
    both = pl.concat([posts, *(each.select(posts.columns) for each in done)]).sort(order)
    group = ["call", "rank"]
    return (
        both.with_columns(
            (pl.col("time") - pl.col("time").shift().over(group)).alias("own"),
            pl.col("kind").shift().over(group).alias("after"),
        )
        .filter((pl.col("kind") == 2) & pl.col("own").is_not_null())
        .select(*group, "after", pl.col("own").cast(pl.Float64).clip(1), again=pl.col("after") == 2)
        .with_columns(relative=pl.col("own").log() - pl.col("own").log().median().over("after"))
    )


def _slow_hosts(run: Run, steps: pl.DataFrame, hops: pl.DataFrame) -> list[Suspect]:
    """Accuses hosts whose ranks take longer in most of their steps, and cores if not all ranks of a
    host do."""
    first = steps.filter(~pl.col("again"))
    by_rank = first.group_by("rank").agg(
        pl.col("relative").quantile(0.25), pl.len().alias("steps"),
        spread_of_column(pl.col("relative")).alias("deviation"), pl.col("own").median(),
    ).with_columns(
        (1.36 * pl.col("deviation") / pl.col("steps").sqrt()).alias("error")
    ).filter(pl.col("steps") >= FEWEST).sort("rank")  # fmt: skip
    if by_rank.is_empty():
        return []
    spread = float(np.median(by_rank["deviation"].to_numpy()))
    slow = unusual(by_rank["relative"].to_numpy(), by_rank["error"].to_numpy(), spread)
    costs, in_calls = _own_costs(hops), _in_calls(run)
    found, of_slow = [], dict[str, list[int]]()
    for rank, own, count in by_rank.filter(pl.Series(slow)).select("rank", "own", "steps").rows():
        if own * count < SERIAL * in_calls.get(rank, 0):
            continue
        of_slow.setdefault(run.hosts[rank], []).append(rank)
    seen = set(by_rank["rank"].to_list())
    for host, ranks in of_slow.items():
        spent = sum(costs.get(rank, 0.0) for rank in ranks)
        if set(ranks) == {rank for rank in seen if run.hosts[rank] == host}:
            found.append(Suspect(Fault.slow_host, host, spent, 0, tuple(ranks)))
        else:
            found += [Suspect(Fault.busy_core, f"rank {rank}", costs.get(rank, 0.0), 0, (rank,))
                      for rank in ranks]  # fmt: skip
    return found


def _in_calls(run: Run) -> dict[int, int]:
    """Returns by rank its nanoseconds in planned calls."""
    spent = (pl.col("exit") - pl.col("enter")).sum()
    by_rank = run.calls.filter("planned").group_by(pl.col("rank").cast(pl.Int64)).agg(spent)
    return dict(by_rank.iter_rows())


def _own_costs(hops: pl.DataFrame) -> dict[int, float]:
    """Returns by rank what others waited for its steps and its combining."""
    cost = pl.sum_horizontal(pl.col("host busy", "combine").sum())
    return dict(hops.group_by("late_rank").agg(cost).iter_rows())


def _busy_cores(
    run: Run, steps: pl.DataFrame, hops: pl.DataFrame, entries: pl.DataFrame, known: Collection[int]
) -> list[Suspect]:
    """Accuses a rank that is held up now and then in all that it does: in steps, in seeing that a
    message has come, and before calls, but not before them alone.

    `known`: ranks whose steps or entries have another reason to be late.
    """
    first = steps.filter(~pl.col("again"))
    if first.is_empty():
        return []
    _, limit = paths.usual_step(first["relative"].exp().to_numpy())
    times = pl.col("relative").exp()
    columns = [pl.col("rank").cast(pl.Int64), pl.col("excess").cast(pl.Float64), "inside"]
    delays = pl.concat(
        part.select(columns) for part in (
            first.filter(times > 2 * limit).with_columns(
                excess=pl.col("own") * (1 - 1 / times), inside=True
            ),
            links.held_up(run).rename({"receiver": "rank"}).with_columns(inside=True),
            entries.filter(pl.col("deviations") > SURE).with_columns(inside=False),
        )
    )  # fmt: skip
    excess = pl.col("excess")
    by_rank = delays.group_by("rank").agg(
        excess.sort(descending=True).slice(MOST_BY_CHANCE).sum().alias("trimmed"),
        pl.len().alias("delays"),
        (excess.filter("inside").sum() / excess.sum()).alias("inside"),
    ).filter(
        (pl.col("delays") >= FEWEST) & (pl.col("inside") > 0.5)
        & ~pl.col("rank").is_in(sorted(known))
    ).select("rank", excess="trimmed")  # fmt: skip
    most = by_rank.sort("excess", descending=True)["excess"].to_list()
    costs, in_calls = _own_costs(hops), _in_calls(run)
    for name, whose in (("unexplained", "receiver"), ("program late", "late_rank")):
        for rank, spent in hops.group_by(whose).agg(pl.col(name).sum()).iter_rows():
            costs[rank] = costs.get(rank, 0.0) + spent
    return [
        Suspect(Fault.busy_core, f"rank {rank}", costs.get(rank, 0.0), 0, (rank,))
        for rank, held in by_rank.iter_rows()
        if held >= max([HELD_UP * in_calls.get(rank, 0), *(TWICE * other for other in most[1:2])])
    ]  # fmt: skip


def _serialising(
    run: Run, steps: pl.DataFrame, hops: pl.DataFrame, between: Pairs | None
) -> list[Suspect]:
    """Returns nodes that serialise. Such a node takes longer between its sends than others, but not
    before the first; nor do its messages take longer, as those of a slow host do."""
    again = steps.filter(pl.col("again"))
    first = steps.filter(~pl.col("again"))
    if again.is_empty() or first.is_empty():
        return []
    by_rank = again.group_by("rank").agg(
        pl.col("own").log().median().alias("log"), pl.len().alias("steps"), pl.col("own").median()
    ).filter(pl.col("steps") >= FEWEST).sort("rank")  # fmt: skip
    # Where few nodes have several children, their first steps stand for the others.
    before = dict(first.group_by("rank").agg(pl.col("own").log().median()).iter_rows())
    usual = np.array(list(before.values()))
    base, sigma = float(np.median(usual)), spread_of(usual)
    in_calls = _in_calls(run)
    found = []
    for rank, log, count, own in by_rank.iter_rows():
        alone = before.get(rank, base)
        if log - max(base, alone) <= max(SURE * sigma / 2, math.log(2)):
            continue
        if own * count < SERIAL * in_calls.get(rank, 0):
            continue
        if _adds(between, run.hosts[rank]) > own / 4:
            continue
        busy = hops.filter(pl.col("late_rank") == rank)["host busy"].sum()
        found.append(Suspect(Fault.serialising_node, f"rank {rank}", float(busy), 0, (rank,)))
    return found


def _adds(between: Pairs | None, host: str) -> float:
    """Returns what a host usually adds to the messages that it sends."""
    if between is None:
        return 0.0
    sent = np.array([a == host for a, _ in between.ends])
    if not sent.any() or np.median(between.above[sent]) < pairs.MATTERS:
        return 0.0
    return float(np.median(between.added[sent]))


# The network -----------------------------------------------------------------------------------


def _network(
    run: Run, hops: pl.DataFrame, between: Pairs | None, held_up: Collection[str]
) -> list[Suspect]:
    """Accuses the link, port of a host, or trunk that explains best which pairs are slow, or a host
    that holds up all that it sends and receives.

    `held_up`: hosts whose ranks see late what has come.
    """
    if run.network is None or between is None:
        return []
    left_out = np.array([b in held_up for _, b in between.ends])
    if not (between.slow & ~left_out).any():
        return []
    best = pairs.explain(run.network, between, left_out)
    slow = {between.ends[at] for at in best.members.tolist()}
    names = pl.Series("hosts", run.hosts)
    with_hosts = hops.with_columns(
        names.gather(hops["sender"]).alias("a"), names.gather(hops["receiver"]).alias("b")
    )
    chosen = pl.DataFrame(sorted(slow), schema=["a", "b"], orient="row")
    cost = with_hosts.join(chosen, on=["a", "b"], how="semi")["link below its rate"].sum()
    return [Suspect(best.fault, best.culprit, float(cost), 0)]
