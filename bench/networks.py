"""Networks drawn from seeds, on which plans are judged in simulation."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from thalweg import simulator
from thalweg.algorithms import Problem, Skeleton
from thalweg.network import Host, MessageCost, Network, Trunk, even_network
from thalweg.simulator import Fidelity

library = "mpich"
"""The library whose message costs the networks have."""

only_algorithms = ["native"]
"""Passes to disable where plans meet the libraries' algorithms one by one."""

Draw = random.Random
megabit = 1e6 / 8  # per second, in bytes
usual_sizes = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
cost = MessageCost(send=5e-6, receive=5e-6, per_byte=1e-10, combine_per_byte=3e-10)


@dataclass(frozen=True)
class Drawn:
    """A network and its name."""

    seed: int
    family: str
    network: Network

    @property
    def hosts(self) -> int:
        return len(self.network.hosts)

    @property
    def name(self) -> str:
        return f"{self.family}-{self.hosts}-{self.seed}"

    @property
    def is_multi_site(self) -> bool:
        return len(self.network.sites) > 1


def drawn(seed: int, most_hosts: int = 256) -> Drawn:
    """Draws the network of a seed; seeds take the families in turn."""
    names = list(families)
    family = names[seed % len(names)]
    draw = Draw(seed)
    hosts = draw.choice([size for size in usual_sizes if size <= most_hosts])
    return Drawn(seed, family, families[family](draw, hosts))


def even(draw: Draw, hosts: int) -> Network:
    """Equal hosts on one switch."""
    rate = draw.choice([1000, 10000]) * megabit
    return _finish(_of(hosts, draw.uniform(20e-6, 60e-6), [rate] * hosts))


def racks(draw: Draw, hosts: int) -> Network:
    """Racks whose uplinks carry a part of what their hosts could send."""
    rate = 10000 * megabit
    net = _of(hosts, 20e-6, [rate] * hosts)
    groups = _groups(draw, hosts, draw.randint(2, max(2, hosts // 8)))
    _set_between(net, groups, lambda _a, _b: (60e-6, 1.0))
    share = draw.choice([0.25, 0.5, 1.0])
    net.trunks = _uplinks(net, groups, lambda _group: share)
    return _finish(net)


def cloud(draw: Draw, hosts: int) -> Network:
    """Virtual machines: uneven pairs, some asymmetric, hidden racks, a few slow hosts."""
    rates = [draw.choice([1000, 1600, 2000, 2000]) * megabit for _ in range(hosts)]
    for slow in draw.sample(range(hosts), max(1, hosts // 16)):
        rates[slow] = 500 * megabit
    net = _of(hosts, 150e-6, rates)
    groups = _groups(draw, hosts, max(2, hosts // 8))
    where = {host: at for at, group in enumerate(groups) for host in group}
    for a, b in itertools.permutations(range(hosts), 2):
        near = where[a] == where[b]
        base = 150e-6 if near else draw.choice([400e-6, 600e-6, 900e-6])
        net.latency[a, b] = base * draw.lognormvariate(0, 0.25)
        share = draw.uniform(0.8, 1.0) if near else draw.uniform(0.35, 0.9)
        net.bandwidth[a, b] = share * min(rates[a], rates[b])
    net.trunks = _uplinks(net, groups, lambda _group: 0.5)
    return _finish(net)


def sites(draw: Draw, hosts: int) -> Network:
    """Two to eight equal sites joined by trunks, all alike."""
    count = draw.choice([n for n in (2, 3, 4, 6, 8) if 2 * n <= hosts])
    groups = [list(range(at, hosts, count)) for at in range(count)]
    latency = _log_uniform(draw, 2e-3, 40e-3)
    share = draw.choice([0.2, 0.5, 1.0])
    return _multi_site(draw, hosts, groups, lambda _a, _b: (latency, share))


def unequal_sites(draw: Draw, hosts: int) -> Network:
    """Sites of different sizes; every link between two has its own latency and capacity."""
    count = draw.choice([n for n in (2, 3, 4, 5, 8) if 2 * n <= hosts])
    groups = _groups(draw, hosts, count)
    return _multi_site(
        draw,
        hosts,
        groups,
        lambda _a, _b: (_log_uniform(draw, 1e-3, 60e-3), draw.choice([0.1, 0.3, 0.6, 1.0])),
    )


def slow_host(draw: Draw, hosts: int) -> Network:
    """Equal sites or one switch, except for a host that is slow to all."""
    net = draw.choice([even, sites])(draw, hosts)
    slow = draw.randrange(hosts)
    parts = list(net.hosts)
    rate = parts[slow].egress / draw.choice([4, 10])
    parts[slow] = Host(parts[slow].name, rate, rate)
    net.hosts = parts
    net.bandwidth[slow, :] = rate
    net.bandwidth[:, slow] = rate
    return net


def slow_link(draw: Draw, hosts: int) -> Network:
    """One switch or sites, except for one slow directed link."""
    net = draw.choice([even, sites])(draw, hosts)
    a, b = draw.sample(range(hosts), 2)
    net.bandwidth[a, b] /= 20
    net.latency[a, b] *= 10
    return net


def of_clusters(draw: Draw, count: int) -> Network:
    """Small clusters of several organisations; latencies between them are high and uneven."""
    members = [draw.randint(4, 12) for _ in range(count)]
    ends = list(itertools.accumulate(members))
    groups = [list(range(end - size, end)) for size, end in zip(members, ends, strict=True)]
    return _multi_site(
        draw, ends[-1], groups, lambda _a, _b: (_log_uniform(draw, 1e-3, 60e-3), 0.5)
    )


def simulated(problem: Problem, skeleton: Skeleton, fidelity: Fidelity, messages: int = 0) -> float:
    """Seconds on one of these networks; 0 messages: all of a long pipeline are simulated."""
    return _predicted(problem, skeleton, fidelity, messages).time


def exits(
    problem: Problem, skeleton: Skeleton, fidelity: Fidelity, messages: int = 0
) -> list[float]:
    """Seconds after which each rank is done, likewise."""
    return _predicted(problem, skeleton, fidelity, messages).exits


def _predicted(
    problem: Problem, skeleton: Skeleton, fidelity: Fidelity, messages: int
) -> simulator.Prediction:
    options = simulator.Options(fidelity=fidelity, max_messages=messages)
    return simulator.simulate(problem, skeleton, options)


families: dict[str, Callable[[Draw, int], Network]] = {
    "even": even,
    "racks": racks,
    "cloud": cloud,
    "sites": sites,
    "unequal-sites": unequal_sites,
    "slow-host": slow_host,
    "slow-link": slow_link,
}


def _of(hosts: int, latency: float, rates: Sequence[float]) -> Network:
    net = even_network(hosts, latency, max(rates))
    net.hosts = [Host(f"host{n}", rate, rate) for n, rate in enumerate(rates)]
    for a, b in itertools.permutations(range(hosts), 2):
        net.bandwidth[a, b] = min(rates[a], rates[b])
    net.sites = []
    return net


def _finish(net: Network) -> Network:
    net.message_costs = {library: cost}
    return net


def _groups(draw: Draw, hosts: int, count: int) -> list[list[int]]:
    """Groups of at least two hosts, with random numbers."""
    numbers = list(range(hosts))
    draw.shuffle(numbers)
    groups = [[numbers.pop(), numbers.pop()] for _ in range(count)]
    weights = [draw.uniform(0.3, 3) for _ in groups]
    for host in numbers:
        draw.choices(groups, weights)[0].append(host)
    return [sorted(group) for group in groups]


def _multi_site(
    draw: Draw,
    hosts: int,
    groups: list[list[int]],
    link: Callable[[int, int], tuple[float, float]],
) -> Network:
    """`link`: latency between two sites, and the trunk's share of what the smaller can send."""
    rate = draw.choice([100, 1000]) * megabit
    net = _of(hosts, 100e-6, [rate] * hosts)
    trunks = []
    links = {(a, b): link(a, b) for a, b in itertools.permutations(range(len(groups)), 2)}
    _set_between(net, groups, lambda a, b: (links[a, b][0], 1.0))
    for (a, b), (_, share) in links.items():
        capacity = max(0.5, share * min(len(groups[a]), len(groups[b]))) * rate
        senders = math.ceil(capacity / rate)
        trunks.append(Trunk(f"{a}-to-{b}", groups[a], groups[b], capacity, senders))
    net.trunks = trunks
    net.sites = groups
    return _finish(net)


def _set_between(
    net: Network, groups: Sequence[Sequence[int]], link: Callable[[int, int], tuple[float, float]]
) -> None:
    """Sets latency, and the remaining share of bandwidth, between two groups."""
    for a, b in itertools.permutations(range(len(groups)), 2):
        latency, share = link(a, b)
        for x, y in itertools.product(groups[a], groups[b]):
            net.latency[x, y] = latency
            net.bandwidth[x, y] *= share


def _uplinks(
    net: Network, groups: Sequence[Sequence[int]], share: Callable[[Sequence[int]], float]
) -> list[Trunk]:
    """Each group's link to and from all others, of a share of what its hosts can send."""
    trunks = []
    for at, group in enumerate(groups):
        others = [host for host in range(len(net.hosts)) if host not in group]
        capacity = share(group) * sum(net.hosts[host].egress for host in group)
        trunks.append(Trunk(f"rack{at}-up", list(group), others, capacity))
        trunks.append(Trunk(f"rack{at}-down", others, list(group), capacity))
    return trunks


def _log_uniform(draw: Draw, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))
