"""The networks of `script/bench grid`: scenario `grid`, its first clusters, and other draws."""

from __future__ import annotations

import itertools

import numpy as np

from thalweg.lab import scenario, scenarios
from thalweg.lab.scenario import Scenario
from thalweg.network import DeclaredGroup, Network

SPREAD = 0.3
"""The standard deviation of the logarithm of a path's latency from run to run."""
draws = 100  # of latencies, from as many seeds


def testbed(count: int, of: Scenario | None = None) -> Network:
    """Returns the scenario's first clusters, with clusters and organisations declared."""
    whole = (of or scenario.find("grid")).network
    kept = sorted(host for site in whole.sites[:count] for host in site)
    at = {host: index for index, host in enumerate(kept)}
    both = np.ix_(kept, kept)
    net = Network([whole.hosts[host] for host in kept], whole.latency[both], whole.bandwidth[both])
    net.message_costs = whole.message_costs
    sites = [sorted(at[host] for host in site) for site in whole.sites[:count]]
    net.sites = sites
    net.trunks = [
        type(trunk)(
            trunk.name,
            [at[host] for host in trunk.from_ if host in at],
            [at[host] for host in trunk.to if host in at],
            trunk.capacity,
        )
        for trunk in whole.trunks
        if set(trunk.from_) & at.keys() and set(trunk.to) & at.keys()
    ]
    names = [net.hosts[site[0]].name for site in sites]
    net.groups = [
        *(DeclaredGroup(names[i], site, "cluster") for i, site in enumerate(sites)),
        *(
            DeclaredGroup(names[i][:-2], sorted(sites[i] + sites[i + 1]), "LAN")
            for i in range(0, count - 1, 2)
        ),
        DeclaredGroup("grid", list(range(len(kept))), "heavy WAN"),
    ][: None if count > 2 else -1]
    return net


def varied(net: Network, random: np.random.Generator) -> Network:
    """Returns the network with the latencies between clusters as in one run."""
    site_of = np.zeros(len(net.hosts), dtype=int)
    for number, site in enumerate(net.sites):
        site_of[site] = number
    drawn = np.exp(SPREAD * random.standard_normal((len(net.sites),) * 2))
    factors = np.where(site_of[:, None] == site_of, 1, drawn[site_of[:, None], site_of])
    found = net.copy()
    found.latency = net.latency * factors
    return found


def drawn(seed: int) -> Network:
    """Returns all eight clusters, with latencies drawn from another seed than the scenario's."""
    return testbed(8, scenario.parse(scenarios.grid(seed)))


def by_organisations(net: Network) -> list[Network]:
    """Returns the network with one latency from an organisation to another.

    It is one of the four that their clusters have: there is a network for each choice.
    """
    pairs = [net.sites[at : at + 2] for at in range(0, len(net.sites), 2)]
    found = []
    for first, second in itertools.product((0, 1), repeat=2):
        latency = net.latency.copy()
        for a, b in itertools.permutations(pairs, 2):
            both = np.ix_(sorted(a[0] + a[1]), sorted(b[0] + b[1]))
            latency[both] = net.latency[a[first][0], b[second][0]]
        found.append(net.copy())
        found[-1].latency = latency
    return found
