"""Which link, port, host or trunk explains best that messages between some pairs of hosts are slow.

A link, a port or a trunk multiplies the time of its messages; a host adds the same time to each
that it sends, and to each that it receives, whatever the link's latency. What all pairs have in
common, such as the time of system calls, is nobody's fault.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thalweg.analysis import links
from thalweg.analysis.robust import SURE, unusual
from thalweg.analysis.tables import Run
from thalweg.network import Network

Floats = NDArray[np.float64]
Chosen = NDArray[np.bool_]

FEWEST = 8
"""Fewest messages that say something about a pair."""
LEAST_OF_HOST = 0.1
"""A slow host adds at least this share of what it adds most to each of its messages."""
MATTERS = math.log(1.2)
"""Times by which a pair is slower than others, if that is a fault."""
CLEAR = math.log(2)
"""Times by which a pair is slower than others, if that is clear however much pairs differ."""
FEW = 0.1
"""Share of the pairs that may lack what all have in common."""


@dataclass(frozen=True)
class Pairs:
    """Directed pairs of hosts that exchanged enough messages; times in nanoseconds."""

    ends: Sequence[tuple[str, str]]
    expected: Floats
    """Expected times, with what the messages of all pairs have in common."""
    above: Floats
    """The logarithm of what they took over that, from the lower quartile of all pairs on: of their
    median or of their faster messages, whichever is less, for what is slow is so for all."""
    slow: Chosen
    """Whether they differ from the others."""

    @property
    def added(self) -> Floats:
        return self.expected * np.expm1(self.above)


def of_run(run: Run) -> Pairs | None:
    """Returns None where too few pairs exchanged messages, or the network isn't known."""
    if run.network is None:
        return None
    table = links.ratios(run).filter(pl.col("clean_messages") >= FEWEST)
    if len(table) < 3:
        return None
    expected = np.maximum(table["expected"].to_numpy(), 1.0)
    error = table["error"].to_numpy()
    above = np.full(len(table), np.inf)
    slow = np.full(len(table), True)
    for level in ("low_ratio", "log_ratio"):
        ratio = table[level].to_numpy()
        common = in_common(expected, expected * np.exp(ratio))
        ratio = ratio - np.log1p(common / expected)
        own = ratio - np.quantile(ratio, 0.25)
        above = np.minimum(above, own)
        clear = own > np.maximum(SURE * error, CLEAR)
        slow &= clear | unusual(ratio, error, MATTERS)
    ends = list(zip(table["from_host"], table["to_host"], strict=True))
    return Pairs(ends, expected + common, above, slow)


def in_common(expected: Floats, took: Floats) -> float:
    """Returns the time beyond what is expected that nearly all pairs have in common."""
    return max(float(np.quantile(took - expected, FEW)), 0.0)


def explain(network: Network, pairs: Pairs, left_out: Chosen) -> tuple[str, str, Chosen]:
    """Returns fault, culprit and pairs of the candidate after which least of the pairs' slowness is
    left unexplained.

    Of equals the smaller set of pairs, and of those a link rather than what it is part of.
    `left_out`: pairs that are slow for another reason.
    """
    ends, above, added = pairs.ends, pairs.above, pairs.added
    sent = {name: np.array([a == name for a, _ in ends]) for pair in ends for name in pair}

    def left(fault: str, culprit: str, members: Chosen) -> float:
        alone = np.full(len(ends), above[members].mean())
        if fault == "slow host":
            for part in _directions(members, sent[culprit]):
                time = max(float(np.median(added[part])), 0)
                alone[part] = np.log1p(time / pairs.expected[part])
        rest = above - np.where(members, alone, 0)
        return float((rest[~left_out] ** 2).sum())

    def alike(fault: str, culprit: str, members: Chosen) -> bool:
        if fault == "slow host":
            both = len(_directions(members, sent[culprit])) == 2
            return both and added[members].min() >= LEAST_OF_HOST * added[members].max()
        return bool((above[members] >= above[members].max() / 2).all())

    # At a slow port all are slow; what only queues there behind one slow message is less so.
    usable = [
        (fault, culprit, members & ~left_out)
        for fault, culprit, members in _candidates(network, ends)
        if (members & ~left_out).any()
        and (fault == "saturated trunk" or alike(fault, culprit, members & ~left_out))
    ]  # fmt: skip
    return min(usable, key=lambda each: (round(left(*each), 9), int(each[2].sum())))


def _candidates(network: Network, ends: Sequence[tuple[str, str]]) -> list[tuple[str, str, Chosen]]:
    names = [host.name for host in network.hosts]
    found: list[tuple[str, str, Chosen]] = []
    for at, (a, b) in enumerate(ends):
        found.append(("slow link", f"{a} -> {b}", np.arange(len(ends)) == at))
    for trunk in network.trunks:
        origin = {names[host] for host in trunk.from_}
        target = {names[host] for host in trunk.to}
        inside = np.array([a in origin and b in target for a, b in ends])
        found.append(("saturated trunk", trunk.name, inside))
    for host in dict.fromkeys(name for pair in ends for name in pair):
        found.append(("slow link", f"egress of {host}", np.array([a == host for a, _ in ends])))
        found.append(("slow link", f"ingress of {host}", np.array([b == host for _, b in ends])))
        found.append(("slow host", host, np.array([host in pair for pair in ends])))
    return found


def _directions(members: Chosen, sent: Chosen) -> list[Chosen]:
    """Returns the pairs to which a host sends, and those from which it receives, where there are
    any."""
    return [part for part in (members & sent, members & ~sent) if part.any()]
