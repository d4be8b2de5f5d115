"""Compares a measured network with its scenario.

Quantities are compared as they can be measured: a pair's bandwidth is the rate of one flow alone, a
host's capacity at most the sum of its flows.

Two descriptions of a trunk are equal if they limit the same flows, that is the same pairs of hosts,
whatever their names. A trunk limits no flow if its hosts can't exceed its capacity; such a trunk
can't be found, and one that is reported does no harm, so neither counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.errors import UserError
from thalweg.lab.scenario import Scenario
from thalweg.network import Network

Floats = NDArray[np.float64]
Flows = frozenset[tuple[int, int]]

TOLERANCE = 0.10
"""The largest relative error of a correct measurement."""
FULL = 0.95
"""The share of its capacity from which a trunk counts as full."""


@dataclass(frozen=True)
class Trunk:
    """A trunk by the flows it carries; hosts by position, capacity in bytes per second."""

    name: str
    flows: Flows
    capacity: float
    senders: int | None
    """Hosts that must send to fill it; None if not known."""


@dataclass(frozen=True)
class Found:
    """A trunk of the scenario, and the measured one that is equal to it."""

    truth: Trunk
    measured: Trunk

    @property
    def error(self) -> float:
        """Relative error of the capacity."""
        return self.measured.capacity / self.truth.capacity - 1


@dataclass(frozen=True)
class Comparison:
    """Relative errors by directed pair or by host, trunks, and sites."""

    latency: Floats
    bandwidth: Floats
    egress: Floats
    ingress: Floats
    found: tuple[Found, ...]
    missed: tuple[Trunk, ...]
    """Trunks of the scenario that weren't measured."""
    false: tuple[Trunk, ...]
    """Measured trunks that aren't in the scenario."""
    sites_exact: bool | None
    """Whether the sites are the scenario's; None if it names none."""

    def to_json(self) -> dict[str, Any]:
        """Returns the comparison for result files."""
        return {
            "latency": within(self.latency),
            "bandwidth": within(self.bandwidth),
            "egress": within(self.egress),
            "ingress": within(self.ingress),
            "found": [
                {
                    "name": each.truth.name,
                    "capacity": each.truth.capacity,
                    "measured": each.measured.capacity,
                    "senders": each.truth.senders,
                    "measured_senders": each.measured.senders,
                }
                for each in self.found
            ],
            "missed": [trunk.name for trunk in self.missed],
            "false": [trunk.name for trunk in self.false],
            "sites_exact": self.sites_exact,
        }


def within(errors: Floats, tolerance: float = TOLERANCE) -> float:
    """Returns the share of errors of at most `tolerance`; unmeasured values exceed it."""
    return float(np.mean(np.abs(errors) <= tolerance)) if errors.size else 1.0


def compare(measured: Network, truth: Scenario) -> Comparison:
    """Compares. Raises UserError if the network has other hosts than the scenario."""
    ours, theirs = _measured(measured, truth), _imposed(truth)
    pairs = ~np.eye(len(truth.hosts), dtype=bool)
    found, missed, false = _match(ours, theirs)
    return Comparison(
        latency=_errors(ours.latency[pairs], theirs.latency[pairs]),
        bandwidth=_errors(ours.rate[pairs], theirs.rate[pairs]),
        egress=_errors(ours.egress, np.minimum(theirs.egress, theirs.rate.sum(axis=1))),
        ingress=_errors(ours.ingress, np.minimum(theirs.ingress, theirs.rate.sum(axis=0))),
        found=found,
        missed=missed,
        false=false,
        sites_exact=ours.sites == theirs.sites if truth.plain["sites"] else None,
    )


def trunks(truth: Scenario) -> tuple[Trunk, ...]:
    """Returns the scenario's trunks, with the senders that fill them."""
    return _imposed(truth).trunks


def filling(capacity: float, flows: Flows, rate: Floats) -> int:
    """Returns how many hosts must send, one flow each, to fill a trunk: the fastest first.

    If all of them don't fill it, returns their number.
    """
    best: dict[int, float] = {}
    for source, target in flows:
        best[source] = max(best.get(source, 0.0), float(rate[source, target]))
    most = min(len(best), len({target for _, target in flows}))
    reached = np.cumsum(sorted(best.values(), reverse=True)[:most])
    return min(int(np.searchsorted(reached, FULL * capacity)) + 1, most)


@dataclass(frozen=True)
class _View:
    """A network in the order of the scenario's hosts; the diagonal of `rate` is 0."""

    latency: Floats
    rate: Floats
    egress: Floats
    ingress: Floats
    trunks: tuple[Trunk, ...]
    sites: frozenset[frozenset[int]]

    def binding(self) -> dict[Flows, Trunk]:
        """Returns the trunks that can be filled; of trunks with the same flows the narrowest."""
        by_flows: dict[Flows, Trunk] = {}
        for trunk in self.trunks:
            narrowest = by_flows.get(trunk.flows)
            if narrowest is None or trunk.capacity < narrowest.capacity:
                by_flows[trunk.flows] = trunk
        return {f: t for f, t in by_flows.items() if t.capacity < FULL * self._demand(t)}

    def _demand(self, trunk: Trunk) -> float:
        """Returns the rate that its hosts could send and receive if it carried everything."""
        carried = np.zeros_like(self.rate)
        for flow in trunk.flows:
            carried[flow] = self.rate[flow]
        sent = np.minimum(carried.sum(axis=1), self.egress).sum()
        taken = np.minimum(carried.sum(axis=0), self.ingress).sum()
        return float(min(sent, taken))


def _imposed(truth: Scenario) -> _View:
    hosts = range(len(truth.hosts))
    rate = np.array([[truth.pair_rate(a, b) if a != b else 0.0 for b in hosts] for a in hosts])
    trunks = []
    for each in truth.trunks:
        if each.capacity is not None:
            flows = _flows(each.sources, each.targets)
            senders = filling(each.capacity, flows, rate)
            trunks.append(Trunk(each.name, flows, each.capacity, senders))
    return _View(
        latency=np.array([[truth.latency(a, b) for b in hosts] for a in hosts]),
        rate=rate,
        egress=np.array([_unlimited(host.egress) for host in truth.hosts]),
        ingress=np.array([_unlimited(host.ingress) for host in truth.hosts]),
        trunks=tuple(trunks),
        sites=_sites(truth.plain["sites"], hosts, {host: host for host in hosts}),
    )


def _measured(network: Network, truth: Scenario) -> _View:
    order = [network.find(host.name) for host in truth.hosts]
    at = [host for host in order if host is not None]
    if len(at) != len(order) or len(network.hosts) != len(order):
        raise UserError(f"the network doesn't have the hosts of the scenario {truth.name}")
    place = {host: position for position, host in enumerate(at)}
    rate = network.bandwidth[np.ix_(at, at)]
    np.fill_diagonal(rate, 0)
    trunks = tuple(
        Trunk(
            trunk.name,
            _flows([place[host] for host in trunk.from_], [place[host] for host in trunk.to]),
            trunk.capacity,
            trunk.senders or None,
        )
        for trunk in network.trunks
    )
    return _View(
        latency=network.latency[np.ix_(at, at)],
        rate=rate,
        egress=np.array([network.hosts[host].egress for host in at]),
        ingress=np.array([network.hosts[host].ingress for host in at]),
        trunks=trunks,
        sites=_sites(network.sites, range(len(at)), place),
    )


def _match(
    ours: _View, theirs: _View
) -> tuple[tuple[Found, ...], tuple[Trunk, ...], tuple[Trunk, ...]]:
    """Returns found, missed and false trunks."""
    measured, imposed = ours.binding(), theirs.binding()
    return (
        tuple(Found(trunk, measured[f]) for f, trunk in imposed.items() if f in measured),
        tuple(trunk for flows, trunk in imposed.items() if flows not in measured),
        tuple(trunk for flows, trunk in measured.items() if flows not in imposed),
    )


def _flows(sources: Sequence[int], targets: Sequence[int]) -> Flows:
    return frozenset((a, b) for a in sources for b in targets)


def _sites(
    sites: Sequence[Sequence[int]], hosts: range, place: Mapping[int, int]
) -> frozenset[frozenset[int]]:
    """Returns the sites; all hosts are one if none is named."""
    return frozenset(frozenset(place[host] for host in site) for site in sites or [list(hosts)])


def _errors(measured: Floats, truth: Floats) -> Floats:
    """Returns relative errors; infinite where only one of the two is limited."""
    both = np.isinf(measured) & np.isinf(truth)
    with np.errstate(invalid="ignore"):
        errors: Floats = np.where(both, 0.0, measured / truth - 1)
    return np.where(np.isnan(errors), np.inf, errors)


def _unlimited(rate: float | None) -> float:
    return np.inf if rate is None else rate
