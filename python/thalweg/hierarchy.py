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
from numpy.typing import NDArray

from thalweg._core import network as _core
from thalweg._core.network import Grouping, Hierarchy
from thalweg.errors import user_errors
from thalweg.network import MOST_HOSTS, Network, validate

__all__ = [
    "MOST_HOSTS",
    "Adjust",
    "Grouping",
    "Hierarchy",
    "Link",
    "Quantity",
    "Scale",
    "asymmetry",
    "build",
    "counts",
    "links",
    "median",
]

BASE = 4.0
"""k of the levels, as in the CMPI paper."""
Scale = Literal["linear", "logarithmic"]
Adjust = Literal["close", "printed"]


@user_errors()
def build(
    net: Network,
    size: int = 1_000_000,
    base: float = BASE,
    most_span: int = 1,
    adjust: Adjust = "close",
    scale: Scale = "linear",
) -> Hierarchy:
    """Returns the hierarchy for messages of `size` bytes (CMPI paper, section 4.2).

    `base` is the paper's k, `most_span` its T_span: how many hosts groups of a level may differ by.
    `scale` says how the levels of M grow: linear as in the paper, level floor(x / (k least)), or
    logarithmic, floor(log_k(x / least)).
    `adjust` says how sizes of groups are made equal: keeping hosts close, or as the paper prints
    it. Groups that the network declares are kept whole. O(hosts² levels). Raises UserError if the
    base isn't at least 1.01 or the span is negative, or for more hosts than MOST_HOSTS.
    """
    return Hierarchy(net, size, base, most_span, adjust, scale)


@user_errors()
def asymmetry(net: Network, base: float = BASE, scale: Scale = "linear") -> tuple[float, float]:
    """Returns the shares of pairs whose directions differ in level, for latency and bandwidth.

    Two values that lie on both sides of a level's edge differ, however close: the share depends on
    the base.
    """
    return _core.asymmetric_share(net, base, scale)


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


Quantity = Literal["latency", "bandwidth"]


def counts(
    net: Network, quantity: Quantity, from_: Sequence[int], to: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Values from each host of a group to each other host of another, and how many have each."""
    return (net.latency_counts if quantity == "latency" else net.bandwidth_counts)(from_, to)


def median(values: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    """The median of values that occur several times each, as counts() returns them; NaN of none."""
    values, often = _merged(values, counts)
    total, ends = int(often.sum()), np.cumsum(often)
    if total == 0:
        return math.nan
    low, high = (
        values[np.searchsorted(ends, rank, "right")] for rank in ((total - 1) // 2, total // 2)
    )
    return float(np.mean([low, high]))


def _merged(
    values: NDArray[np.float64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns each value once, ascending, and how often it occurs: a count below 0 takes exceptions
    off what is usual."""
    different, at = np.unique(values, return_inverse=True)
    return different, np.bincount(at, counts, minlength=len(different)).astype(np.float64)


def links(net: Network) -> list[Link]:
    """Returns the links between all sites, by direction; none if sites aren't known.

    Raises UserError if the network isn't valid.
    """
    validate(net)
    view = _View(net)
    return [view.link(a, b) for a, b in itertools.permutations(range(len(net.sites)), 2)]


class _View:
    """A network's lists, which are copied at each access, and the trunks by sites."""

    def __init__(self, net: Network) -> None:
        self.net = net
        self.sites = net.sites
        self.egress = [sum(e) for e in self._by_site([host.egress for host in net.hosts])]
        self.most_egress = [max(e) for e in self._by_site([host.egress for host in net.hosts])]
        self.ingress = [sum(e) for e in self._by_site([host.ingress for host in net.hosts])]
        self.trunks = net.trunks
        self.out, self.into = ([set[int]() for _ in self.sites] for _ in range(2))
        for number, trunk in enumerate(self.trunks):
            for sites, hosts in ((self.out, trunk.from_), (self.into, trunk.to)):
                for site in self._within(set(hosts)):
                    sites[site].add(number)

    def _by_site(self, values: Sequence[float]) -> list[list[float]]:
        return [[values[host] for host in site] for site in self.sites]

    def _within(self, hosts: set[int]) -> list[int]:
        """Returns the sites that are wholly among these hosts."""
        return [
            number
            for number, site in enumerate(self.sites)
            if site[0] in hosts and hosts.issuperset(site)
        ]

    def link(self, site: int, other: int) -> Link:
        """Judges the links of two sites by their medians."""
        net, a, b = self.net, self.sites[site], self.sites[other]
        larger = a if len(a) >= len(b) else b
        inside = median(*counts(net, "latency", larger, larger))
        steps = math.log2(len(larger)) if len(larger) > 1 else 0.0
        across = median(*counts(net, "latency", a, b))
        rates, flows = counts(net, "bandwidth", a, b)
        node = self.most_egress[site]
        if not math.isfinite(node):  # not measured: estimated by one flow's rate
            different, often = _merged(rates, flows)
            node = float(np.max(different[often > 0]))
        crossed = [self.trunks[number].capacity for number in self.out[site] & self.into[other]]
        together = min([*crossed, self.egress[site], self.ingress[other], float(rates @ flows)])
        return Link(
            site,
            other,
            long=across > (0.0 if math.isnan(inside) else inside) * steps,
            fast=together > node,
            capacity=together,
        )
