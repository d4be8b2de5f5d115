"""The scenarios that come with Thalweg, made from parameters and seeds.

`thalweg lab show NAME` writes one as a file to start one's own from (docs/scenario-file.md).
"""

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

Document = dict[str, Any]
Matrix = list[list[float]]
Trunk = tuple[str, Sequence[str], Sequence[str], str]

MS = 1e-3
MBPS = 1e6 / 8  # a megabit per second, in bytes per second

# Shares of the pairs whose two directions differ on 128 medium instances (section 3.2).
ASYMMETRIC_LATENCY = 0.582
ASYMMETRIC_BANDWIDTH = 0.182


def two_sites(hosts: int = 8) -> Document:
    """Two sites joined by a long link that is ten times as fast as any host's own."""
    west, east = ([f"{site}{n}" for n in range(hosts)] for site in ("west", "east"))
    names = west + east
    return {
        "schema": 1,
        "name": "two-sites",
        "description": f"2 x {hosts} hosts at 100 Mbit/s; between the sites 10 ms and 1 Gbit/s",
        "dilation": 4,
        "network": _network(
            names,
            latency=[[10 * MS if a[:4] != b[:4] else 0.1 * MS for b in names] for a in names],
            bandwidth=[[100 * MBPS] * len(names) for _ in names],
            capacity=["100Mbps"] * len(names),
            trunks=[("west-to-east", west, east, "1Gbps"), ("east-to-west", east, west, "1Gbps")],
            sites=[west, east],
        ),
        "queues": {"trunk": "2.5MB", "ingress": "512KB"},
    }


def even(hosts: int = 16) -> Document:
    """All hosts alike, one switch: what a cluster bought in one piece looks like."""
    names = [f"node{n}" for n in range(hosts)]
    return {
        "schema": 1,
        "name": "even",
        "description": f"{hosts} hosts, all alike: 100 Mbit/s and 0.1 ms",
        "dilation": 4,
        "network": _network(
            names,
            latency=[[0.1 * MS] * hosts for _ in names],
            bandwidth=[[100 * MBPS] * hosts for _ in names],
            capacity=["100Mbps"] * hosts,
        ),
        "queues": {"ingress": "512KB"},
    }


def cloud(hosts: int = 16, racks: int = 4, seed: int = 7) -> Document:
    """Virtual machines of a public cloud, on racks that nobody was told.

    As Gong, He and Zhong found on Amazon EC2 (section 3): latency and bandwidth are spread over the
    pairs, stable for each, and differ between the two directions of 58 % (latency) and 18 %
    (bandwidth) of the pairs, as if routed differently; a few hosts are slow with everybody. A
    rack's uplink carries half of what its hosts could send.
    """
    draw = random.Random(seed)
    names = [f"vm{n}" for n in range(hosts)]
    rack = [n % racks for n in range(hosts)]
    draw.shuffle(rack)
    nic = [draw.choice([100, 160, 200, 200]) for _ in names]
    for slow in draw.sample(range(hosts), hosts // 8):
        nic[slow] = 60
    latency: Matrix = [[0.05 * MS] * hosts for _ in names]
    bandwidth: Matrix = [[nic[n] * MBPS] * hosts for n in range(hosts)]

    def route_latency(near: bool) -> float:
        base = 0.15 if near else draw.choice([0.4, 0.6, 0.9])
        return round(base * draw.lognormvariate(0, 0.25), 3) * MS

    def route_bandwidth(near: bool, limit: float) -> float:
        share = draw.uniform(0.8, 1.0) if near else draw.uniform(0.35, 0.9)
        return round(share * limit, 1) * MBPS

    for a, b in itertools.combinations(range(hosts), 2):
        near, limit = rack[a] == rack[b], min(nic[a], nic[b])
        latency[a][b] = latency[b][a] = route_latency(near)
        bandwidth[a][b] = bandwidth[b][a] = route_bandwidth(near, limit)
        if draw.random() < ASYMMETRIC_LATENCY:
            latency[b][a] = route_latency(near)
        if draw.random() < ASYMMETRIC_BANDWIDTH:
            bandwidth[b][a] = route_bandwidth(near, limit)
    return {
        "schema": 1,
        "name": "cloud",
        "description": f"{hosts} virtual machines in {racks} hidden racks: uneven, asymmetric",
        "dilation": 4,
        "network": _network(
            names,
            latency,
            bandwidth,
            capacity=[f"{rate}Mbps" for rate in nic],
            trunks=[uplink for each in range(racks) for uplink in _uplinks(names, rack, nic, each)],
        ),
        "queues": {"trunk": "2.5MB", "ingress": "512KB", "pair": "512KB"},
    }


def _uplinks(
    names: Sequence[str], rack: Sequence[int], nic: Sequence[int], which: int
) -> list[Trunk]:
    inside = [name for name, each in zip(names, rack, strict=True) if each == which]
    outside = [name for name in names if name not in inside]
    capacity = sum(rate for rate, each in zip(nic, rack, strict=True) if each == which) // 2
    return [
        (f"rack{which}-up", inside, outside, f"{capacity}Mbps"),
        (f"rack{which}-down", outside, inside, f"{capacity}Mbps"),
    ]


BUILT_IN: dict[str, Callable[[], Document]] = {"two-sites": two_sites, "cloud": cloud, "even": even}


def _network(
    names: Sequence[str],
    latency: Matrix,
    bandwidth: Matrix,
    capacity: Sequence[str],
    trunks: Sequence[Trunk] = (),
    sites: Sequence[Sequence[str]] = (),
) -> Document:
    """A network file (docs/network-file.md); latency in seconds, bandwidth in bytes per second."""
    network: Document = {
        "schema": 1,
        "measured": {"with": "scenario", "clock": "shared"},
        "hosts": [
            {"name": name, "egress": rate, "ingress": rate}
            for name, rate in zip(names, capacity, strict=True)
        ],
        "latency": {"unit": "ms", "matrix": _scaled(latency, MS)},
        "bandwidth": {"unit": "Mbps", "matrix": _scaled(bandwidth, MBPS)},
    }
    if trunks:
        network["trunks"] = [
            {"name": name, "from": list(source), "to": list(target), "capacity": rate}
            for name, source, target, rate in trunks
        ]
    if sites:
        network["sites"] = [list(site) for site in sites]
    return network


def _scaled(matrix: Matrix, unit: float) -> Matrix:
    return [[round(value / unit, 6) for value in row] for row in matrix]
