"""Twelve families of networks, drawn from seeds: mostly sites joined by a tree of links."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.networks import Draw, megabit
from thalweg.network import Host, MessageCost, Network, Trunk, even_network

costs = {
    "openmpi": MessageCost(5e-6, 5e-6, 1e-10, 3e-10, handshake=1e-5, eager_limit=62 * 1024),
    "mpich": MessageCost(4e-6, 4e-6, 1e-10, 3e-10, handshake=3e-5, eager_limit=19 * 1024),
}
"""Message costs by library; eager limits are those that probes find for Debian's packages."""
usual_hosts = (6, 8, 12, 16, 24)
gigabit = 1000 * megabit


@dataclass(frozen=True)
class Drawn:
    """A network with the host of each rank, and the library whose message costs count."""

    seed: int
    family: str
    network: Network
    placement: Sequence[int]
    library: str

    @property
    def ranks(self) -> int:
        return len(self.placement)

    @property
    def name(self) -> str:
        return f"{self.family}-{self.ranks}-{self.seed}"


def drawn(seed: int, most_hosts: int = max(usual_hosts)) -> Drawn:
    """Draws the network of a seed; seeds take the families in turn."""
    name = list(families)[seed % len(families)]
    draw = Draw(f"{name} {seed}")
    hosts = draw.choice([size for size in usual_hosts if size <= most_hosts])
    net = families[name](draw, hosts)
    net.message_costs = costs
    placement = list(range(len(net.hosts)))
    if name == "many-ranks":
        placement = [host for host in placement for _ in range(draw.choice([2, 3, 4, 8]))]
        placement = placement[: 2 * most_hosts]
        if draw.random() < 0.5:
            draw.shuffle(placement)
    return Drawn(seed, name, net, placement, draw.choice(list(costs)))


# Trees of links --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """A switch or router, the link to its parent, and the number of hosts at it.

    Latencies are in seconds, rates in bytes per second; the first node has no parent.
    """

    parent: int
    hosts: int
    latency: float = 0.0
    up: float = 0.0
    down: float = 0.0


def tree_network(
    nodes: Sequence[Node], rate: float, host_latency: float = 25e-6, window: int = 0
) -> Network:
    """Joins hosts of a rate by a tree of links, each of which is a trunk in either direction.

    `window`: Network.initial_window, in bytes.
    """
    sites: list[list[int]] = []
    for node in nodes:
        begin = sum(len(site) for site in sites)
        sites.append(list(range(begin, begin + node.hosts)))
    count = sum(node.hosts for node in nodes)
    net = even_network(count, 2 * host_latency, rate)
    net.hosts = [Host(f"host{n}", rate, rate) for n in range(count)]
    routes = [_route(nodes, at) for at in range(len(nodes))]
    for a, b in itertools.permutations(range(len(nodes)), 2):
        up = [at for at in routes[a] if at not in routes[b]]
        down = [at for at in routes[b] if at not in routes[a]]
        latency = 2 * host_latency + sum(nodes[at].latency for at in up + down)
        flow = min([rate, *(nodes[at].up for at in up), *(nodes[at].down for at in down)])
        for x, y in itertools.product(sites[a], sites[b]):
            net.latency[x, y] = latency
            net.bandwidth[x, y] = flow
    trunks = []
    for at, node in enumerate(nodes[1:], start=1):
        below = [x for b, route in enumerate(routes) if at in route for x in sites[b]]
        rest = [x for x in range(count) if x not in below]
        if below and rest:
            trunks.append(Trunk(f"{at}-up", below, rest, node.up))
            trunks.append(Trunk(f"{at}-down", rest, below, node.down))
    net.trunks = trunks
    net.sites = [site for site in sites if site]
    net.initial_window = window
    return net


def _route(nodes: Sequence[Node], at: int) -> list[int]:
    """Returns the nodes from one to the first, without that."""
    route = []
    while at != 0:
        route.append(at)
        at = nodes[at].parent
    return route


def _unlinked(sizes: Sequence[int], rate: float) -> Network:
    """Returns sites whose links are still to be set."""
    return tree_network([Node(-1, 0), *(Node(0, size, 0, rate, rate) for size in sizes)], rate)


def _split(draw: Draw, hosts: int, parts: int) -> list[int]:
    """Splits hosts into groups of at least one."""
    sizes = [1] * parts
    for _ in range(hosts - parts):
        sizes[draw.randrange(parts)] += 1
    return sizes


def _choose_sites(draw: Draw, hosts: int, most: int = 6) -> list[int]:
    parts = draw.randint(3, max(3, min(most, hosts // 2)))
    return _split(draw, hosts, parts)


# Families --------------------------------------------------------------------------------------


def chain(draw: Draw, hosts: int) -> Network:
    """Sites in a chain."""
    rate = draw.choice([100, 1000]) * megabit
    nodes = []
    for at, size in enumerate(_choose_sites(draw, hosts)):
        capacity = draw.choice([0.5, 1, 2]) * rate
        nodes.append(Node(at - 1, size, draw.uniform(2e-3, 15e-3), capacity, capacity))
    return tree_network(nodes, rate)


def star(draw: Draw, hosts: int) -> Network:
    """Sites around a hub without hosts."""
    rate = draw.choice([100, 1000]) * megabit
    nodes = [Node(-1, 0)]
    for size in _choose_sites(draw, hosts):
        capacity = draw.choice([0.5, 1, 2]) * rate
        nodes.append(Node(0, size, draw.uniform(1e-3, 30e-3), capacity, capacity))
    return tree_network(nodes, rate)


def ring(draw: Draw, hosts: int) -> Network:
    """Sites in a ring: each has a link to either neighbour, which it uses for its own data.

    What a link carries for other sites isn't modelled.
    """
    rate = draw.choice([100, 1000]) * megabit
    sizes = _choose_sites(draw, hosts)
    count = len(sizes)
    net = _unlinked(sizes, rate)
    hops = [draw.uniform(2e-3, 12e-3) for _ in sizes]
    trunks = []
    for a, site in enumerate(net.sites):
        reached: dict[int, list[int]] = {1: [], -1: []}
        for b in range(count):
            if a == b:
                continue
            onwards = sum(hops[(a + k) % count] for k in range((b - a) % count))
            back = sum(hops) - onwards
            reached[1 if onwards <= back else -1] += net.sites[b]
            for x, y in itertools.product(site, net.sites[b]):
                net.latency[x, y] = 50e-6 + min(onwards, back)
                net.bandwidth[x, y] = rate
        for direction, others in reached.items():
            if others:
                capacity = draw.choice([0.5, 1, 2]) * rate
                trunks.append(Trunk(f"{a}{direction:+d}", site, others, capacity))
    net.trunks = trunks
    return net


def mesh(draw: Draw, hosts: int) -> Network:
    """Sites of which each pair has its own link; two short ones may beat a long one."""
    rate = draw.choice([100, 1000]) * megabit
    net = _unlinked(_choose_sites(draw, hosts), rate)
    trunks = []
    for (a, here), (b, there) in itertools.permutations(enumerate(net.sites), 2):
        capacity = draw.choice([0.2, 0.5, 1, 2]) * rate
        trunks.append(Trunk(f"{a}-{b}", here, there, capacity))
        # Both directions have the same latency.
        latency = draw.uniform(1e-3, 40e-3) if a < b else net.latency[there[0], here[0]]
        for x, y in itertools.product(here, there):
            net.latency[x, y] = latency
            net.bandwidth[x, y] = min(rate, capacity)
    net.trunks = trunks
    return net


def slow_direction(draw: Draw, hosts: int) -> Network:
    """Sites of which one sends much more slowly than it receives."""
    rate = draw.choice([100, 1000]) * megabit
    nodes = [Node(-1, 0)]
    sizes = _choose_sites(draw, hosts, most=4)
    slow = draw.randrange(len(sizes))
    for at, size in enumerate(sizes):
        up = rate / draw.choice([5, 10, 20]) if at == slow else rate
        nodes.append(Node(0, size, draw.uniform(1e-3, 20e-3), up, rate))
    return tree_network(nodes, rate)


def slow_port(draw: Draw, hosts: int) -> Network:
    """One switch, or two sites, with a host whose port is slow."""
    rate = draw.choice([1, 10]) * gigabit
    nodes = [Node(-1, hosts)]
    if draw.random() < 0.5:
        nodes = [Node(-1, hosts - hosts // 2)]
        nodes.append(Node(0, hosts // 2, draw.uniform(1e-3, 10e-3), 2 * rate, 2 * rate))
    net = tree_network(nodes, rate)
    slow, share = draw.randrange(hosts), 1 / draw.choice([5, 10, 20])
    net.hosts = [
        Host(host.name, share * rate, share * rate) if at == slow else host
        for at, host in enumerate(net.hosts)
    ]
    net.bandwidth[slow, :] *= share
    net.bandwidth[:, slow] *= share
    return net


def nested(draw: Draw, hosts: int) -> Network:
    """Racks in halls in regions: each level's links are longer, and carry less than those below."""
    rate = draw.choice([1, 10]) * gigabit
    nodes = [Node(-1, 0)]
    sizes = _split(draw, hosts, min(hosts, 6))
    for region in range(2):
        nodes.append(Node(0, 0, draw.uniform(3e-3, 20e-3), 0.5 * rate, 0.5 * rate))
        here = len(nodes) - 1
        for size in sizes[region::2]:
            share = draw.choice([0.5, 1.0]) * size * rate
            nodes.append(Node(here, size, draw.uniform(50e-6, 1e-3), share, share))
    return tree_network(nodes, rate)


def fat_tree(draw: Draw, hosts: int) -> Network:
    """Racks under pods under a core, of low latency."""
    rate = draw.choice([1, 10]) * gigabit
    share = draw.choice([0.25, 0.5, 1.0])
    nodes = [Node(-1, 0)]
    racks = _split(draw, hosts, min(hosts, 4))
    for pod in range(2):
        capacity = share * share * sum(racks[pod::2]) * rate
        nodes.append(Node(0, 0, 20e-6, capacity, capacity))
        here = len(nodes) - 1
        for size in racks[pod::2]:
            nodes.append(Node(here, size, 10e-6, share * size * rate, share * size * rate))
    net = tree_network(nodes, rate, 10e-6)
    if draw.random() < 0.5:
        net.sites = []
    return net


def continents(draw: Draw, hosts: int) -> Network:
    """Continents of several regions: two levels of long links."""
    rate = 1 * gigabit
    nodes = [Node(-1, 0)]
    count = draw.choice([2, 3])
    sizes = _split(draw, hosts, min(hosts, 2 * count))
    for continent in range(count):
        capacity = draw.choice([0.2, 0.5, 1.0]) * rate
        nodes.append(Node(0, 0, draw.uniform(20e-3, 70e-3), capacity, capacity))
        here = len(nodes) - 1
        for size in sizes[continent::count]:
            nodes.append(Node(here, size, draw.uniform(2e-3, 12e-3), rate, rate))
    return tree_network(nodes, rate, window=draw.choice([0, 64 * 1024]))


def long_fat(draw: Draw, hosts: int) -> Network:
    """Two to four sites with links of 10 to 25 Gbit/s and up to 150 ms."""
    rate = draw.choice([10, 25]) * gigabit
    nodes = [Node(-1, 0)]
    for size in _split(draw, hosts, draw.choice([2, 3, 4])):
        nodes.append(Node(0, size, draw.uniform(5e-3, 75e-3), rate, rate))
    return tree_network(nodes, rate, window=draw.choice([0, 14600, 64 * 1024]))


def many_ranks(draw: Draw, hosts: int) -> Network:
    """Sites around a hub, for several ranks on each host."""
    net = star(draw, max(6, hosts // 3))
    for host in range(len(net.hosts)):
        net.latency[host, host] = 1e-6
        net.bandwidth[host, host] = 5e9
    return net


def cloud(draw: Draw, hosts: int) -> Network:
    """Virtual machines in zones: uneven latencies and rates of single flows."""
    rate = draw.choice([2, 10]) * gigabit
    sizes = _split(draw, hosts, draw.choice([2, 3]))
    capacity = rate * hosts / 4
    nodes = [Node(-1, 0), *(Node(0, size, 300e-6, capacity, capacity) for size in sizes)]
    net = tree_network(nodes, rate, 60e-6)
    for a, b in itertools.permutations(range(hosts), 2):
        net.latency[a, b] *= draw.lognormvariate(0, 0.25)
        net.bandwidth[a, b] *= draw.uniform(0.3, 1.0)
    if draw.random() < 0.5:
        net.sites = []
    return net


families: dict[str, Callable[[random.Random, int], Network]] = {
    "chain": chain,
    "ring": ring,
    "star": star,
    "mesh": mesh,
    "slow-direction": slow_direction,
    "slow-port": slow_port,
    "nested": nested,
    "fat-tree": fat_tree,
    "continents": continents,
    "long-fat": long_fat,
    "many-ranks": many_ranks,
    "cloud": cloud,
}
