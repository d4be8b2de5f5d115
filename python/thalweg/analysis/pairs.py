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
from thalweg.analysis.faults import Fault
from thalweg.analysis.robust import SURE, unusual
from thalweg.analysis.tables import Run
from thalweg.network import Network, host_numbers

Floats = NDArray[np.float64]
Chosen = NDArray[np.bool_]
Indices = NDArray[np.intp]

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


@dataclass(frozen=True)
class Candidate:
    """What some pairs have in common, which may be why they are slow."""

    fault: Fault
    culprit: str
    parts: Sequence[Indices]
    """The pairs that it holds for; a host's are those to which it sends, and those from which it
    receives."""

    @property
    def members(self) -> Indices:
        return np.concatenate(self.parts)


def explain(network: Network, pairs: Pairs, left_out: Chosen) -> Candidate:
    """Returns the candidate that explains most of the pairs' slowness.

    Of equals the smaller set of pairs, and of those a link rather than what it is part of.
    `left_out`: pairs that are slow for another reason. Cost: some passes over the pairs, and one
    for each trunk.
    """
    # At a slow port all are slow; what only queues there behind one slow message is less so.
    usable = [each for each in _candidates(network, pairs, ~left_out) if _is_alike(each, pairs)]
    return min(usable, key=lambda each: (-round(_explained(each, pairs), 9), len(each.members)))


def _explained(candidate: Candidate, pairs: Pairs) -> float:
    """Returns by how much the sum of squares of what is slow falls if the candidate is at fault."""
    found = 0.0
    usual = pairs.above[candidate.members].mean()
    for part in candidate.parts:
        above = pairs.above[part]
        alone = usual
        if candidate.fault == Fault.slow_host:
            time = max(float(np.median(pairs.added[part])), 0)
            alone = np.log1p(time / pairs.expected[part])
        found += float((above**2 - (above - alone) ** 2).sum())
    return found


def _is_alike(candidate: Candidate, pairs: Pairs) -> bool:
    """Whether all pairs of a link are as slow as one thing would make them, and a host's in both
    directions. A trunk's needn't be: those that use little of it may be faster."""
    members = candidate.members
    if candidate.fault == Fault.slow_host:
        added = pairs.added[members]
        return len(candidate.parts) == 2 and added.min() >= LEAST_OF_HOST * added.max()
    above = pairs.above[members]
    return candidate.fault == Fault.saturated_trunk or above.min() >= above.max() / 2


def _candidates(network: Network, pairs: Pairs, usable: Chosen) -> list[Candidate]:
    """Returns whatever some of the usable pairs have in common; of single pairs the slow ones."""
    number = host_numbers(network)
    sender, receiver = np.array([[number[name] for name in pair] for pair in pairs.ends]).T
    found = [
        Candidate(Fault.slow_link, " -> ".join(pairs.ends[at]), [np.array([at])])
        for at in np.flatnonzero(pairs.slow & usable).tolist()
    ]
    for trunk in network.trunks:
        inside = np.isin(sender, trunk.from_) & np.isin(receiver, trunk.to) & usable
        found.append(Candidate(Fault.saturated_trunk, trunk.name, [np.flatnonzero(inside)]))
    sent, received = (_by_host(end, usable, len(number)) for end in (sender, receiver))
    for host, out, into in zip(number, sent, received, strict=True):
        found.append(Candidate(Fault.slow_link, f"egress of {host}", [out]))
        found.append(Candidate(Fault.slow_link, f"ingress of {host}", [into]))
        both = [part for part in (out, into) if len(part)]
        found.append(Candidate(Fault.slow_host, host, both))
    return [each for each in found if any(map(len, each.parts))]


def _by_host(end: Indices, usable: Chosen, hosts: int) -> list[Indices]:
    """Returns by host the usable pairs at whose end it is."""
    order = np.argsort(end, kind="stable")
    order = order[usable[order]]
    return np.split(order, np.searchsorted(end[order], np.arange(1, hosts)))
