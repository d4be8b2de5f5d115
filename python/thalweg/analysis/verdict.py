"""Names what is wrong: the program, a host, a link, a trunk, or nothing.

Each kind of fault has a measure of its own that others hardly touch: a rank's time between two
collectives, its steps inside them, the time between its sends, and what messages take against what
the network lets expect. A suspect differs from the others by more than chance explains (SURE
standard errors, from the data's own spread), and costs a share of the collectives' time that is
worth a sentence (WORTH).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thalweg.analysis import links, paths
from thalweg.analysis.links import TO_SIGMA
from thalweg.analysis.tables import SHAPE, Run
from thalweg.analysis.waits import with_lateness

Floats = NDArray[np.float64]

SURE = 5.0
"""Standard errors between a suspect and the others."""
WORTH = 0.01
"""Least share of the collectives' time that a suspect costs."""
LEAST_OF_HOST = 0.2
"""A slow host adds at least this share of what it adds most to each of its messages."""
FEWEST = 8
"""Fewest observations that say something about a rank or a link."""


@dataclass(frozen=True)
class Suspect:
    """Something that is wrong."""

    fault: str
    """late rank, rotating straggler, slow host, busy core, serialising node, slow link, or
    saturated trunk."""
    culprit: str
    """A rank, a host, a link as "a -> b", or a trunk's name; "" if it is nobody in particular."""
    cost_ns: float
    """What it adds to the time of all ranks in planned collectives."""
    share: float
    """Its part of the time of planned collectives."""
    ranks: tuple[int, ...] = ()

    @property
    def fault_of(self) -> str:
        """Program, host or network."""
        if self.fault in ("late rank", "rotating straggler"):
            return "program"
        return "network" if self.fault in ("slow link", "saturated trunk") else "host"


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
    steps = own_times(run)
    network = _links(run, hops)
    slow = {each.culprit for each in network if each.fault == "slow host"}
    serialising = _serialising(steps, hops)
    hosts = [each for each in _hosts(run, steps, hops)
             if not any(set(each.ranks) <= set(other.ranks) for other in serialising)]  # fmt: skip
    # What a slow host's ranks do besides is no fault of its own.
    own = [each for each in (*hosts, *serialising)
           if not slow & {run.hosts[rank] for rank in each.ranks}]  # fmt: skip
    found = [*_program(run, hops), *own, *network]
    worth = [
        Suspect(each.fault, each.culprit, each.cost_ns, each.cost_ns / total, each.ranks)
        for each in found if each.cost_ns >= WORTH * total
    ]  # fmt: skip
    worth.sort(key=lambda each: -each.cost_ns)
    shares = {name: value / total for name, value in causes.items()}
    return Verdict(tuple(worth), total, shares, run.network is not None)


def _unusual(values: Floats, errors: Floats, deviation: float) -> NDArray[np.bool_]:
    """Returns which values are above the others, by more than chance and more than a single
    observation deviates.

    At most three quarters of them may be: their base is the lower quartile, their spread that of
    the values below the median.
    """
    if len(values) < 3:
        return np.zeros(len(values), bool)
    base, middle = np.quantile(values, [0.25, 0.5])
    low = values[values <= middle]
    spread = TO_SIGMA * float(np.median(np.abs(low - np.median(low))))
    above = values - base
    found: NDArray[np.bool_] = (above > SURE * np.sqrt(errors**2 + spread**2)) & (above > deviation)
    return found


# The program -----------------------------------------------------------------------------------


def _program(run: Run, hops: pl.DataFrame) -> list[Suspect]:
    """A rank is a straggler in a call if it spent longer before it than the others by more than
    SURE deviations of what ranks spend before calls of this shape. If half of these are one rank's,
    it is a late rank."""
    calls = with_lateness(run).filter(pl.col("planned"))
    own = pl.col("computed")
    deviation = TO_SIGMA * (own - own.median()).abs().median().over(SHAPE)
    calls = calls.with_columns((own / pl.max_horizontal(deviation, 1.0)).alias("deviations"))
    by_rank = calls.group_by(*SHAPE, "rank").agg(
        pl.col("deviations").median(), (1.25 / pl.len().sqrt()).alias("error"),
        pl.len().alias("calls"),
    ).filter(pl.col("calls") >= FEWEST).sort(*SHAPE, "rank")  # fmt: skip
    always: set[int] = set()
    for _, shape in by_rank.group_by(SHAPE, maintain_order=True):
        late = _unusual(shape["deviations"].to_numpy(), shape["error"].to_numpy(), 1.0)
        always.update(shape["rank"].to_numpy()[late].tolist())
    stragglers = calls.filter(pl.col("deviations") > SURE).group_by("rank").agg(
        pl.len().alias("times")
    ).sort("times", "rank", descending=True)  # fmt: skip
    most = int(stragglers["times"][0]) if len(stragglers) else 0
    if most >= FEWEST and 2 * most > stragglers["times"].sum():
        always.add(int(stragglers["rank"][0]))
    costs = dict(hops.group_by("late_rank").agg(pl.col("program late").sum()).iter_rows())
    found = [Suspect("late rank", f"rank {rank}", costs.get(rank, 0.0), 0, (rank,))
             for rank in sorted(always)]  # fmt: skip
    others = stragglers.filter(~pl.col("rank").is_in(sorted(always)))
    if len(others) > 2 and others["times"].sum() >= FEWEST:
        ranks = tuple(sorted(others["rank"]))
        cost = sum(costs.get(rank, 0.0) for rank in ranks)
        found.append(Suspect("rotating straggler", "", cost, 0, ranks))
    return found


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


def _hosts(run: Run, steps: pl.DataFrame, hops: pl.DataFrame) -> list[Suspect]:
    """A slow host's ranks take longer in most steps, a busy core's in some."""
    first = steps.filter(~pl.col("again")).with_columns(pl.col("relative").alias("log"))
    if first.is_empty():
        return []
    _, limit = paths.usual_step(first["relative"].exp().to_numpy())
    by_rank = first.group_by("rank").agg(
        pl.col("log").quantile(0.25), pl.len().alias("steps"),
        (pl.col("relative").exp() > 2 * limit).sum().alias("long"),
        (TO_SIGMA * (pl.col("log") - pl.col("log").median()).abs().median()).alias("deviation"),
    ).with_columns(
        (1.36 * pl.col("deviation") / pl.col("steps").sqrt()).alias("error")
    ).filter(pl.col("steps") >= FEWEST).sort("rank")  # fmt: skip
    deviation = float(np.median(by_rank["deviation"].to_numpy())) if len(by_rank) else 0.0
    slow = _unusual(by_rank["log"].to_numpy(), by_rank["error"].to_numpy(), deviation)
    cost = hops.group_by("late_rank").agg(
        pl.sum_horizontal(pl.col("host busy", "combine").sum()).alias("cost")
    )
    costs = dict(cost.iter_rows())
    found, of_slow = [], dict[str, list[int]]()
    for rank in by_rank["rank"].to_numpy()[slow]:
        of_slow.setdefault(run.hosts[rank], []).append(int(rank))
    seen = set(by_rank["rank"].to_list())
    for host, ranks in of_slow.items():
        spent = sum(costs.get(rank, 0.0) for rank in ranks)
        if set(ranks) == {rank for rank in seen if run.hosts[rank] == host}:
            found.append(Suspect("slow host", host, spent, 0, tuple(ranks)))
        else:
            found += [Suspect("busy core", f"rank {rank}", costs.get(rank, 0.0), 0, (rank,))
                      for rank in ranks]  # fmt: skip
    # By chance, a rank's long steps would be its share of all long steps; so with messages that it
    # saw late.
    seen_late = links.unusual(run).group_by(pl.col("receiver").alias("rank")).agg(
        pl.len().alias("received"), pl.col("unusual").sum().alias("late")
    )  # fmt: skip
    by_rank = by_rank.join(seen_late, on="rank", how="left", maintain_order="left").fill_null(0)
    long = (by_rank["long"] + by_rank["late"]).to_numpy().astype(float)
    count = (by_rank["steps"] + by_rank["received"]).to_numpy().astype(float)
    others = (long.sum() - long) / np.maximum(count.sum() - count, 1)
    unusual = long - count * others > SURE * np.sqrt(np.maximum(count * others, 1))
    late = dict(hops.group_by("receiver").agg(pl.col("unexplained").sum()).iter_rows())
    for rank in by_rank["rank"].to_numpy()[unusual & ~slow]:
        spent = costs.get(int(rank), 0.0) + late.get(int(rank), 0.0)
        found.append(Suspect("busy core", f"rank {rank}", spent, 0, (int(rank),)))
    return found


def _serialising(steps: pl.DataFrame, hops: pl.DataFrame) -> list[Suspect]:
    """A node that serialises takes longer between its sends than others, but not before the
    first."""
    again = steps.filter(pl.col("again"))
    first = steps.filter(~pl.col("again"))
    if again.is_empty() or first.is_empty():
        return []
    by_rank = again.group_by("rank").agg(
        pl.col("own").log().median().alias("log"), pl.len().alias("steps"), pl.col("own").median()
    ).filter(pl.col("steps") >= FEWEST).sort("rank")  # fmt: skip
    # Where few nodes have several children, their first steps stand for the others.
    usual = np.log(first["own"].to_numpy())
    base = float(np.median(usual))
    sigma = TO_SIGMA * float(np.median(np.abs(usual - base)))
    before = dict(first.group_by("rank").agg(pl.col("own").log().median()).iter_rows())
    found = []
    for rank, log, _, own in by_rank.iter_rows():
        alone = before.get(rank, base)
        if log - max(base, alone) > max(SURE * sigma / 2, math.log(2)):
            busy = hops.filter(pl.col("late_rank") == rank)["host busy"].sum()
            if own > 0:
                found.append(Suspect("serialising node", f"rank {rank}", float(busy), 0, (rank,)))
    return found


# The network -----------------------------------------------------------------------------------


def _links(run: Run, hops: pl.DataFrame) -> list[Suspect]:
    """Accuses the link, port of a host, or trunk that explains best which pairs are slow."""
    if run.network is None:
        return []
    pairs = links.ratios(run).filter(pl.col("clean_messages") >= FEWEST)
    if len(pairs) < 3:
        return []
    ratio, error = pairs["log_ratio"].to_numpy(), pairs["error"].to_numpy()
    deviation = float(np.median(error * np.sqrt(pairs["clean_messages"].to_numpy()))) / 1.25
    if not _unusual(ratio, error, deviation).any():
        return []
    ends = list(zip(pairs["from_host"], pairs["to_host"], strict=True))
    above = ratio - np.quantile(ratio, 0.25)
    expected = np.maximum(pairs["expected"].to_numpy(), 1.0)
    fault, culprit, members = _best_explanation(run, ends, above, expected)
    slow = {ends[at] for at in np.flatnonzero(members)}
    names = pl.Series("hosts", run.hosts)
    with_hosts = hops.with_columns(
        names.gather(hops["sender"]).alias("a"), names.gather(hops["receiver"]).alias("b")
    )
    chosen = pl.DataFrame(sorted(slow), schema=["a", "b"], orient="row")
    cost = with_hosts.join(chosen, on=["a", "b"], how="semi")["link below its rate"].sum()
    return [Suspect(fault, culprit, float(cost), 0)]


def _best_explanation(
    run: Run, ends: Sequence[tuple[str, str]], above: Floats, expected: Floats
) -> tuple[str, str, NDArray[np.bool_]]:
    """Returns the candidate after which least of the pairs' slowness is left unexplained.

    A link, a port or a trunk multiplies the time of its messages, a host adds the same
    time to each that it sends, and to each that it receives, whatever the link's latency. Of equals
    the smaller set of pairs, and of those a link rather than what it is part of.
    """
    net = run.network
    assert net is not None
    names = [host.name for host in net.hosts]
    candidates: list[tuple[str, str, NDArray[np.bool_]]] = []
    for at, (a, b) in enumerate(ends):
        candidates.append(("slow link", f"{a} -> {b}", np.arange(len(ends)) == at))
    for trunk in net.trunks:
        origin = {names[host] for host in trunk.from_}
        target = {names[host] for host in trunk.to}
        inside = np.array([a in origin and b in target for a, b in ends])
        candidates.append(("saturated trunk", trunk.name, inside))
    for host in dict.fromkeys(name for pair in ends for name in pair):
        candidates.append(
            ("slow link", f"egress of {host}", np.array([a == host for a, _ in ends]))
        )
        candidates.append(
            ("slow link", f"ingress of {host}", np.array([b == host for _, b in ends]))
        )
        candidates.append(("slow host", host, np.array([host in pair for pair in ends])))

    added = expected * np.expm1(above)

    sent = {name: np.array([a == name for a, _ in ends]) for pair in ends for name in pair}

    def left(fault: str, culprit: str, members: NDArray[np.bool_]) -> float:
        alone = np.full(len(ends), above[members].mean())
        if fault == "slow host":
            for part in _directions(members, sent[culprit]):
                time = max(float(np.median(added[part])), 0)
                alone[part] = np.log1p(time / expected[part])
        return float(((above - np.where(members, alone, 0)) ** 2).sum())

    def alike(fault: str, culprit: str, members: NDArray[np.bool_]) -> bool:
        if fault == "slow host":
            parts = [added[part] for part in _directions(members, sent[culprit])]
            least = added[members].max() * LEAST_OF_HOST
            if len(parts) < 2 or min(part.min() for part in parts) < least:
                return False
        else:
            parts = [above[members]]
        return all(bool((inside >= inside.max() / 2).all()) for inside in parts)

    # At a slow port all are slow; what only queues there behind one slow message is less so.
    usable = [
        (fault, culprit, members) for fault, culprit, members in candidates
        if members.any() and (fault == "saturated trunk" or alike(fault, culprit, members))
    ]  # fmt: skip
    return min(usable, key=lambda each: (round(left(*each), 9), int(each[2].sum())))


def _directions(members: NDArray[np.bool_], sent: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """Returns the pairs to which a host sends, and those from which it receives, where there are
    any."""
    return [part for part in (members & sent, members & ~sent) if part.any()]
