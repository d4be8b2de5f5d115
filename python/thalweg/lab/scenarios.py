"""The scenarios that come with Thalweg, made from parameters and seeds.

`thalweg lab show NAME` writes one as a file, as a starting point (docs/scenario-file.md).
"""

import itertools
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

Document = dict[str, Any]
Matrix = list[list[float]]
Trunk = tuple[str, Sequence[str], Sequence[str], str]

MS = 1e-3
MBPS = 1e6 / 8  # a megabit per second, in bytes per second

# Shares of the pairs whose two directions differ. Gong et al. have these numbers on 128 medium
# instances (section 3.2), but after levels, of which fewer pairs differ than of what is drawn here.
ASYMMETRIC_LATENCY = 0.582
ASYMMETRIC_BANDWIDTH = 0.182


def two_sites(hosts: int = 8) -> Document:
    """Two sites joined by a long link that is ten times as fast as any host's own."""
    return _between_sites(
        "two-sites",
        f"2 x {hosts} hosts at 100 Mbit/s; between the sites 10 ms and 1 Gbit/s",
        {"west": hosts, "east": hosts},
        latency={("west", "east"): 10, ("east", "west"): 10},
        trunks={("west", "east"): "1Gbps", ("east", "west"): "1Gbps"},
    )


def wan(hosts: int = 16) -> Document:
    """Two sites whose hosts together can send 1.6 times the capacity of the long link between them.

    Figures 5 and 6 of Matsuda et al., at a tenth of their rates.
    """
    return _between_sites(
        f"wan-2x{hosts}",
        f"2 x {hosts} hosts at 100 Mbit/s; 10 ms and {hosts * 100 / 1.6:.0f} Mbit/s between sites",
        {"west": hosts, "east": hosts},
        latency={("west", "east"): 10, ("east", "west"): 10},
        trunks=dict.fromkeys(_both("west", "east"), f"{hosts * 100 / 1.6:.0f}Mbps"),
    )


def switches(hosts: int = 16) -> Document:
    """The same without the delay: two switches in one room. Figure 7 of Matsuda et al."""
    return _between_sites(
        f"switches-2x{hosts}",
        f"2 x {hosts} hosts at 100 Mbit/s on two switches; {hosts * 100 / 1.6:.0f} Mbit/s between",
        {"left": hosts, "right": hosts},
        latency=dict.fromkeys(_both("left", "right"), 0.15),
        trunks=dict.fromkeys(_both("left", "right"), f"{hosts * 100 / 1.6:.0f}Mbps"),
        trunk_queue="512KB",
    )


def three_sites() -> Document:
    """Sites of 3, 5 and 8 hosts; every link between two has its own latency and trunk."""
    links = {
        ("lab", "hall"): (4, "200Mbps"),
        ("hall", "lab"): (5, "150Mbps"),
        ("lab", "centre"): (12, "250Mbps"),
        ("centre", "lab"): (12, "120Mbps"),
        ("hall", "centre"): (20, "300Mbps"),
        ("centre", "hall"): (17, "400Mbps"),
    }
    return _between_sites(
        "three-sites",
        "3, 5 and 8 hosts at 100 Mbit/s; unequal, asymmetric links between the sites",
        {"lab": 3, "hall": 5, "centre": 8},
        latency={link: latency for link, (latency, _) in links.items()},
        trunks={link: rate for link, (_, rate) in links.items()},
    )


def grid(seed: int = 5) -> Document:
    """Eight small clusters in four organisations, joined by the open internet.

    After the testbed of Park et al. (section 4): two clusters of an organisation are a few
    milliseconds apart; between organisations latencies are high and uneven, and the direct path
    isn't always the shortest. A cluster's uplink carries less than its hosts could send.
    """
    draw = random.Random(seed)
    organisations = ["ajou", "kisti", "kut", "yonsei"]
    clusters = [f"{name}{letter}" for name in organisations for letter in "ab"]
    latency: dict[tuple[str, str], float] = {}
    for a, b in itertools.combinations(clusters, 2):
        near = a[:-1] == b[:-1]
        latency[a, b] = round(draw.uniform(1, 3) if near else 6 * draw.lognormvariate(0, 0.7), 2)
        latency[b, a] = round(latency[a, b] * draw.uniform(0.9, 1.3), 2)
    return _between_sites(
        "grid",
        "8 clusters of 2 hosts at 100 Mbit/s in 4 organisations; uneven latencies of 1 to 30 ms",
        dict.fromkeys(clusters, 2),
        latency=latency,
        uplinks=dict.fromkeys(clusters, "150Mbps"),
    )


def even(hosts: int = 16, name: str = "even", host: str = "node", ranks: int = 1) -> Document:
    """Equal hosts on one switch, as in a cluster bought in one piece; for `ranks` on each host."""
    names = [f"{host}{n}" for n in range(hosts)]
    intended = f", for {ranks} ranks each" if ranks > 1 else ""
    return {
        "schema": 1,
        "name": name,
        "description": f"{hosts} hosts, all alike: 100 Mbit/s and 0.1 ms{intended}",
        "dilation": 4 if hosts <= 16 else 8,
        "network": _network(
            names,
            latency=[[0.1 * MS] * hosts for _ in names],
            bandwidth=[[100 * MBPS] * hosts for _ in names],
            capacity=["100Mbps"] * hosts,
        ),
        "queues": {"ingress": "512KB"},
    }


def cloud(hosts: int = 16, racks: int = 4, seed: int = 7) -> Document:
    """Virtual machines of a public cloud, on hidden racks.

    As Gong, He and Zhong found on Amazon EC2 (section 3): latency and bandwidth are spread over the
    pairs, stable for each, and differ between the two directions of some pairs, as if routed
    differently; a few hosts are slow to all others. Of the pairs drawn here 58 % differ in latency
    and 18 % in bandwidth; in levels, as these authors count, 30 % and 5 %. A rack's uplink carries
    half of what its hosts could send.
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


def drawn(seed: int) -> Document:
    """Up to 16 hosts on one to four sites, with everything else drawn too: `drawn-SEED`.

    Its properties can be measured without doubt: sites are clearly apart, and a trunk either
    carries clearly less than its hosts could send, or doesn't exist.
    """
    draw = random.Random(seed)
    sizes = _drawn_sizes(draw)
    names = [f"{site}{n}" for site, size in sizes.items() for n in range(size)]
    where = [site for site, size in sizes.items() for _ in range(size)]
    usual = {site: draw.choice([50, 100, 100, 200]) for site in sizes}
    egress, ingress = ([_drawn_nic(draw, usual[site]) for site in where] for _ in range(2))
    latency, share = _drawn_links(draw, list(sizes))
    hosts = range(len(names))
    pairs = [[(where[a], where[b]) for b in hosts] for a in hosts]
    bandwidth = [
        [share[pairs[a][b]] * min(egress[a], ingress[b]) * MBPS for b in hosts] for a in hosts
    ]
    groups = {site: [n for n, each in enumerate(where) if each == site] for site in sizes}
    network = _network(
        names,
        [[latency[pair] * MS for pair in row] for row in pairs],
        bandwidth,
        capacity=[f"{rate}Mbps" for rate in egress],
        trunks=_drawn_trunks(draw, names, groups, egress, ingress, bandwidth),
        sites=[[names[n] for n in group] for group in groups.values()],
    )
    for host, rate in zip(network["hosts"], ingress, strict=True):
        host["ingress"] = f"{rate}Mbps"
    return {
        "schema": 1,
        "name": f"drawn-{seed}",
        "description": f"sites of {', '.join(map(str, sizes.values()))} hosts, drawn from a seed",
        "dilation": 4,
        "network": network,
        "queues": {"trunk": "2.5MB", "ingress": "512KB", "pair": "2.5MB"},
    }


def _drawn_sizes(draw: random.Random) -> dict[str, int]:
    """Draws the number of hosts by site: at least two each, at most 16 together."""
    sites = ["north", "east", "south", "west"][: draw.randint(1, 4)]
    extra = draw.randint(4, 16 - 2 * len(sites))
    sizes = dict.fromkeys(sites, 2)
    for site in draw.choices(sites, k=extra):
        sizes[site] += 1
    return sizes


def _drawn_nic(draw: random.Random, usual: int) -> int:
    """Draws a host's megabits per second; some have half of their site's usual rate."""
    return usual // 2 if draw.random() < 0.15 else usual


def _drawn_links(
    draw: random.Random, sites: Sequence[str]
) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
    """Draws, by two sites, latency in milliseconds and a flow's share of its hosts' rates."""
    latency = {(site, site): draw.uniform(0.1, 0.2) for site in sites}
    share = {(site, site): 1.0 for site in sites}
    for a, b in itertools.combinations(sites, 2):
        latency[a, b] = latency[b, a] = _between(draw, 3, 15)
        share[a, b] = share[b, a] = draw.choice([1.0, 1.0, draw.uniform(0.5, 0.9)])
        if draw.random() < ASYMMETRIC_LATENCY:
            latency[b, a] *= draw.uniform(0.7, 1.4)
        if draw.random() < ASYMMETRIC_BANDWIDTH:
            share[b, a] = draw.uniform(0.5, 0.9)
    return latency, share


def _between(draw: random.Random, low: float, high: float) -> float:
    """Draws evenly on a logarithmic scale."""
    return round(math.exp(draw.uniform(math.log(low), math.log(high))), 2)


def _drawn_trunks(
    draw: random.Random,
    names: Sequence[str],
    groups: Mapping[str, Sequence[int]],
    egress: Sequence[int],
    ingress: Sequence[int],
    bandwidth: Matrix,
) -> list[Trunk]:
    """Draws trunks on most links between sites, of 40 to 80 % of what their hosts could send."""
    trunks: list[Trunk] = []
    for a, b in itertools.permutations(groups, 2):
        sent = sum(
            min(egress[x], sum(bandwidth[x][y] for y in groups[b]) / MBPS) for x in groups[a]
        )
        taken = sum(
            min(ingress[y], sum(bandwidth[x][y] for x in groups[a]) / MBPS) for y in groups[b]
        )
        capacity = f"{draw.uniform(0.4, 0.8) * min(sent, taken):.0f}Mbps"
        source, target = ([names[n] for n in groups[site]] for site in (a, b))
        if draw.random() < 0.7:
            trunks.append((f"{a}-to-{b}", source, target, capacity))
    return trunks


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


BUILT_IN: dict[str, Callable[[], Document]] = {
    "two-sites": two_sites,
    "cloud": cloud,
    "even": even,
    "grid": grid,
    "three-sites": three_sites,
    "wan-2x16": wan,
    "switches-2x16": switches,
    # The clusters of Bongo et al., section 3: hosts x processors.
    "blade-10x1": partial(even, 10, "blade-10x1", "blade"),
    "now-30x2": partial(even, 30, "now-30x2", "now", ranks=2),
    "4w-8x4": partial(even, 8, "4w-8x4", "quad", ranks=4),
    "8w-4x8": partial(even, 4, "8w-4x8", "octo", ranks=8),
}


def document(name: str) -> Document | None:
    """Returns a scenario by its name, built in or drawn; None if there is none."""
    if match := re.fullmatch(r"drawn-([0-9]{1,18})", name):
        return drawn(int(match[1]))
    return BUILT_IN[name]() if name in BUILT_IN else None


def _both(a: str, b: str) -> list[tuple[str, str]]:
    return [(a, b), (b, a)]


def _between_sites(
    name: str,
    description: str,
    sizes: Mapping[str, int],
    latency: Mapping[tuple[str, str], float],
    trunks: Mapping[tuple[str, str], str] | None = None,
    uplinks: Mapping[str, str] | None = None,
    trunk_queue: str = "2.5MB",
) -> Document:
    """Sites of hosts at 100 Mbit/s, 0.1 ms apart; `latency` between sites in milliseconds.

    `trunks` are between two sites, `uplinks` between one and all others, symmetric.
    """
    inside = {site: [f"{site}{n}" for n in range(size)] for site, size in sizes.items()}
    where = {host: site for site, hosts in inside.items() for host in hosts}
    names = list(where)
    shared: list[Trunk] = [
        (f"{a}-to-{b}", inside[a], inside[b], rate) for (a, b), rate in (trunks or {}).items()
    ]
    for site, rate in (uplinks or {}).items():
        outside = [host for host in names if where[host] != site]
        shared += [
            (f"{site}-up", inside[site], outside, rate),
            (f"{site}-down", outside, inside[site], rate),
        ]

    def between(a: str, b: str) -> float:
        return 0.1 * MS if where[a] == where[b] else latency[where[a], where[b]] * MS

    return {
        "schema": 1,
        "name": name,
        "description": description,
        "dilation": 4 if len(names) <= 16 else 8,
        "network": _network(
            names,
            latency=[[between(a, b) for b in names] for a in names],
            bandwidth=[[100 * MBPS] * len(names) for _ in names],
            capacity=["100Mbps"] * len(names),
            trunks=shared,
            sites=list(inside.values()),
        ),
        "queues": {"trunk": trunk_queue, "ingress": "512KB"},
    }


def _network(
    names: Sequence[str],
    latency: Matrix,
    bandwidth: Matrix,
    capacity: Sequence[str],
    trunks: Sequence[Trunk] = (),
    sites: Sequence[Sequence[str]] = (),
) -> Document:
    """Returns a network file's content; latency in seconds, bandwidth in bytes per second."""
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
