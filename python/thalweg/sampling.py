"""Short measurements of a few telling pairs of a network, by the probe's program."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import permutations
from math import gcd

from thalweg import host_names, paths, probe, weather, weather_file
from thalweg import network as networks
from thalweg.errors import user_errors
from thalweg.files import write_file, writing
from thalweg.hosts import Host
from thalweg.launcher import Launcher
from thalweg.network import Network, Trunk
from thalweg.weather import Entry, History

TELLING = 8
"""Most pairs of a check."""
BUDGET = 1.0
"""Seconds of the network's own time that a sample of TELLING pairs may take where they are near."""
LONGEST = 5.0
"""Likewise, however far they are: nobody waits longer for a start."""
ROUND_TRIPS = 12
"""About how many round trips the probe's stream between two hosts lasts."""
FEW = 128
"""Most hosts whose pairs are looked at one by one: of more, numpy is quicker, which a run of few
hosts doesn't wait for."""


@user_errors()
def telling_pairs(
    net: Network, most: int = TELLING, among: Collection[int] | None = None
) -> list[tuple[int, int]]:
    """Returns a few ordered pairs of hosts that tell most about a network.

    Each trunk is crossed and each two sites are joined by one, the scarcest first; then come the
    slowest and the fastest flow, and pairs that let every host send or receive once. Only hosts of
    `among` count, if it is given. O(pairs). Raises UserError if there are too many hosts for it.
    """
    count = len(net.hosts)
    allowed = set(range(count)) if among is None else set(among)
    if len(allowed) < 2:
        return []
    extremes = _slowest_and_fastest(net, allowed)
    chosen: list[tuple[int, int]] = []
    used = [0] * count

    def choose(pair: tuple[int, int]) -> None:
        if pair not in chosen:
            chosen.append(pair)
            for host in pair:
                used[host] += 1

    def take(froms: Iterable[int], tos: Iterable[int], most: int = most) -> None:
        """Chooses the least used sender and receiver, unless enough are chosen."""
        if len(chosen) >= most:
            return
        ends = [_least(allowed & set(hosts), used) for hosts in (froms, tos)]
        pairs = [(a, b) for a in ends[0] for b in ends[1] if a != b]
        if pairs:
            choose(min(pairs, key=lambda pair: (used[pair[0]] + used[pair[1]], pair)))

    for trunk in sorted(net.trunks, key=lambda trunk: trunk.capacity):
        take(trunk.from_, trunk.to)
    sites = [inside for site in net.sites if (inside := sorted(allowed & set(site)))]
    lanes = [(a, b) for a in sites for b in sites if a is not b]
    for a, b in sorted(lanes, key=lambda lane: net.bandwidth_between(lane[0][0], lane[1][0])):
        take(a, b, most // 2)
    for pair in extremes:
        if len(chosen) < most:
            choose(pair)
    for host in sorted(allowed):
        if len(chosen) >= most:
            break
        if not used[host]:
            take([host], allowed)
    return chosen


def around(
    net: Network, wrong: Collection[tuple[int, int]], among: Collection[int] | None = None
) -> list[tuple[int, int]]:
    """Returns pairs that tell whether wrong ones are so alone, or a host's port or a trunk is.

    For each wrong pair, another one from its sender and another one to its receiver, far ones and
    near ones in turn; at most TELLING in all. Only hosts of `among` count, if it is given.
    """
    chosen: dict[tuple[int, int], None] = {}
    everyone = range(len(net.hosts)) if among is None else sorted(among)
    for turn, (a, b) in enumerate(wrong):
        for pair in (
            *((a, x) for x in _others(everyone, (a, b), turn)),
            *((y, b) for y in _others(everyone, (a, b), turn + 1)),
        ):
            if pair not in wrong and len(chosen) < TELLING:
                chosen[pair] = None
    return list(chosen)


def _others(hosts: Sequence[int], pair: tuple[int, int], turn: int) -> list[int]:
    """Returns a host that isn't of the pair; another one each turn, until all had theirs."""
    left = [host for host in hosts if host not in pair]
    if not left:
        return []
    apart = next(step for step in range(5, 5 + len(left)) if gcd(step, len(left)) == 1)
    return [left[(turn * apart) % len(left)]]


def _slowest_and_fastest(net: Network, among: Collection[int]) -> list[tuple[int, int]]:
    """Returns the pairs with the slowest and with the fastest flow, the first ones of equals."""
    hosts = sorted(among)
    if len(hosts) <= FEW:
        pairs = list(permutations(hosts, 2))
        rates = [net.bandwidth_between(a, b) for a, b in pairs]
        return [pairs[rates.index(extreme)] for extreme in (min(rates), max(rates))]
    import numpy as np

    rate = net.bandwidth_among(hosts)
    np.fill_diagonal(rate, np.nan)
    ends = (divmod(int(at), len(hosts)) for at in (np.nanargmin(rate), np.nanargmax(rate)))
    return [(hosts[a], hosts[b]) for a, b in ends]


def _least(hosts: Iterable[int], used: Sequence[int]) -> list[int]:
    """Returns the two hosts that were used least, the first ones of equals."""
    return sorted(hosts, key=lambda host: (used[host], host))[:2]


def longest_ago(
    net: Network, pairs: Sequence[tuple[int, int]], history: History
) -> list[tuple[int, int]]:
    """Returns pairs in the order of when their bandwidth was known last: a sample of far hosts may
    have time for a few only, which shouldn't be the same ones each time."""
    last = {pair: entry.at for entry in history.entries for pair in entry.bandwidth}
    names = [host.name for host in net.hosts]
    return sorted(pairs, key=lambda pair: last.get((names[pair[0]], names[pair[1]]), 0.0))


def seconds_for(net: Network, pairs: Iterable[tuple[int, int]]) -> float:
    """Returns the seconds of the network's own time that a sample of these pairs may take: more
    where they are far from each other, at most LONGEST."""
    round_trips = sum(round_trip(net, *pair) for pair in pairs)
    return min(LONGEST, BUDGET + ROUND_TRIPS * round_trips)


def round_trip(net: Network, a: int, b: int) -> float:
    """Returns the seconds from host `a` to `b` and back."""
    return net.latency_between(a, b) + net.latency_between(b, a)


def sample(
    net: Network,
    pairs: Collection[tuple[int, int]],
    launcher: Launcher,
    *,
    budget: float | None = None,
    hosts: Sequence[str] | None = None,
    listed: Mapping[str, str] = {},
    measured_for: Callable[[float], None] | None = None,
) -> Entry:
    """Measures latency and bandwidth of a few pairs now, with ranks on their hosts only.

    `budget` is in seconds of the network's own time, usually seconds_for(). Pairs are measured in
    their order, and those for which no time is left have no bandwidth in the result. Adds what is
    found to the history of `hosts`: those of the network, unless given. `listed`: how the user
    calls hosts of the network; others are reached as by the latest probe. `measured_for` is told
    how many seconds of this machine's time the ranks measured, also if that fails. Raises UserError
    if they can't be measured.
    """
    involved = sorted({host for pair in pairs for host in pair})
    of_pairs = part(net, involved)
    place = {host: at for at, host in enumerate(involved)}
    folder = paths.cache() / "samples"
    names = [host.name for host in of_pairs.hosts]
    usual = host_names.reachable(names)
    reached = [Host(listed.get(name, last)) for name, last in zip(names, usual, strict=True)]
    with writing(f"sample {folder}", paths.ANOTHER_CACHE):
        folder.mkdir(parents=True, exist_ok=True)
    base = folder / f"{weather_file.location(names).stem}-{time.time_ns():x}.json"
    output = base.with_suffix(".out.json")
    try:
        text = networks.to_json(of_pairs)
        write_file(base, f"sample {base}", text, paths.ANOTHER_CACHE)
        probe.run(
            reached, output, launcher, budget=budget or seconds_for(net, pairs), base=base,
            pairs=[(place[a], place[b]) for a, b in pairs], hurried=True,
            measured_for=measured_for, remedy=paths.ANOTHER_CACHE,
        )  # fmt: skip
        found = networks.read(output)
        found.hosts = of_pairs.hosts  # which the probe calls as they call themselves
    finally:
        for path in (base, output):
            path.unlink(missing_ok=True)
    wanted = {(names[place[a]], names[place[b]]) for a, b in pairs}
    both_ways = wanted | {(b, a) for a, b in wanted}
    everything = weather.of_network(found, time.time(), "sample")
    entry = Entry(
        everything.at,
        "sample",
        {pair: value for pair, value in everything.latency.items() if pair in both_ways},
        {pair: value for pair, value in everything.bandwidth.items() if pair in wanted},
    )
    weather_file.add(hosts or [host.name for host in net.hosts], entry)
    return entry


@user_errors()
def part(net: Network, hosts: Sequence[int]) -> Network:
    """Returns the network of some hosts only: what is known of their pairs, ports, trunks, sites
    and message costs.

    Raises UserError if there are too many for a network of all pairs.
    """
    everyone = net.hosts
    result = networks.even_network(len(hosts), 1e-3, 1e6)
    result.hosts = [everyone[host] for host in hosts]
    result.latency[:] = net.latency_among(hosts)
    result.bandwidth[:] = net.bandwidth_among(hosts)
    result.message_costs = net.message_costs
    place = {host: at for at, host in enumerate(hosts)}

    def those(group: Iterable[int]) -> list[int]:
        return [place[host] for host in group if host in place]

    result.sites = [inside for site in net.sites if (inside := those(site))]
    result.trunks = [
        Trunk(trunk.name, froms, tos, trunk.capacity, trunk.senders)
        for trunk in net.trunks
        if (froms := those(trunk.from_)) and (tos := those(trunk.to))
    ]
    return result
