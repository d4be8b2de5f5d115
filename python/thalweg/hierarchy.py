"""Nested groups of hosts by closeness, and the kinds of links between sites.

A Hierarchy's `levels` go from one group per host to a single group of all; each has the `groups`
(lists of host numbers) and their `boundary`: the worst level of a link inside them.
`distance(a, b)` is the level of the lowest group that two hosts share.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from thalweg._core import network as _core
from thalweg._core.network import Grouping, Hierarchy
from thalweg.errors import user_errors
from thalweg.network import Network

__all__ = ["Grouping", "Hierarchy", "Link", "asymmetry", "build", "links"]

BASE = 4.0
"""k: the factor between two levels."""


@user_errors()
def build(
    net: Network,
    size: int = 1_000_000,
    base: float = BASE,
    most_span: int = 1,
    adjust: Literal["close", "printed"] = "close",
) -> Hierarchy:
    """Returns the hierarchy for messages of `size` bytes (CMPI paper, section 4.2).

    `base` is the paper's k, `most_span` its T_span: how many hosts groups of a level may differ by.
    Groups that the network declares are kept whole. O(hosts² levels). Raises UserError if the
    base isn't at least 1.01 or the span is negative.
    """
    return Hierarchy(net, size, base, most_span, adjust)


@user_errors()
def asymmetry(net: Network, base: float = BASE) -> tuple[float, float]:
    """Returns the shares of pairs whose directions differ in level, for latency and bandwidth.

    Two values that lie on both sides of a level's edge differ, however close: the share depends on
    the base.
    """
    return _core.asymmetric_share(net, base)


@dataclass(frozen=True)
class Link:
    """The kind of the links from one site to another (Matsuda et al., section 1)."""

    from_: int
    """Index of the site."""
    to: int
    long: bool
    """An algorithm of log2(hosts) steps in the larger site takes less than one latency."""
    fast: bool
    """The links together carry more than one host can send."""
    capacity: float
    """The capacity of all flows together: a trunk's, else that of the hosts."""


def links(net: Network) -> list[Link]:
    """Returns the links between all sites, by direction; none if sites aren't known."""
    return [_link(net, a, b) for a, b in itertools.permutations(range(len(net.sites)), 2)]


def _link(net: Network, site: int, other: int) -> Link:
    """Judges the links of two sites by their medians."""
    a, b = net.sites[site], net.sites[other]
    larger = a if len(a) >= len(b) else b
    inside = net.latency[np.ix_(larger, larger)][~np.eye(len(larger), dtype=bool)]
    steps = math.log2(len(larger)) if len(larger) > 1 else 0.0
    across = float(np.median(net.latency[np.ix_(a, b)]))
    node = max(net.hosts[host].egress for host in a)
    if not math.isfinite(node):  # not measured: estimated by one flow's rate
        node = float(np.max(net.bandwidth[np.ix_(a, b)]))
    together = _capacity(net, a, b)
    return Link(
        site,
        other,
        long=across > (float(np.median(inside)) if inside.size else 0.0) * steps,
        fast=together > node,
        capacity=together,
    )


def _capacity(net: Network, a: Sequence[int], b: Sequence[int]) -> float:
    trunks = [t.capacity for t in net.trunks if {*a} <= {*t.from_} and {*b} <= {*t.to}]
    sent = sum(net.hosts[host].egress for host in a)
    taken = sum(net.hosts[host].ingress for host in b)
    flows = float(np.sum(net.bandwidth[np.ix_(a, b)]))
    return min([*trunks, sent, taken, flows])
