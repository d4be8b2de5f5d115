"""Short measurements of a few telling pairs of a network, by the probe's program."""

import math
import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import numpy as np

from thalweg import console, inputs, paths, probe, weather
from thalweg import network as networks
from thalweg.errors import UserError
from thalweg.files import writing
from thalweg.hosts import Host
from thalweg.launcher import Launcher
from thalweg.network import Network
from thalweg.weather import Entry

TELLING = 8
"""Most pairs of a check."""
BUDGET = 1.0
"""Seconds of the network's own time that a sample of TELLING pairs may take."""


def telling_pairs(
    net: Network, most: int = TELLING, among: Collection[int] | None = None
) -> list[tuple[int, int]]:
    """Returns a few ordered pairs of hosts that tell most about a network.

    Each trunk is crossed and each two sites are joined by one, the scarcest first; then come the
    slowest and the fastest flow, and pairs that let every host send or receive once. Only hosts of
    `among` count, if it is given. O(pairs).
    """
    count = len(net.hosts)
    allowed = set(range(count)) if among is None else set(among)
    if len(allowed) < 2:
        return []
    rate = np.array(net.bandwidth, dtype=float)
    np.fill_diagonal(rate, np.nan)
    for host in set(range(count)) - allowed:
        rate[host], rate[:, host] = np.nan, np.nan
    chosen: list[tuple[int, int]] = []
    used = np.zeros(count, int)

    def take(froms: Iterable[int], tos: Iterable[int]) -> None:
        """Chooses the least used sender and receiver."""
        ends = [_least(allowed & set(hosts), used) for hosts in (froms, tos)]
        pairs = [(a, b) for a in ends[0] for b in ends[1] if a != b]
        if pairs and len(chosen) < most:
            best = min(pairs, key=lambda pair: (used[pair[0]] + used[pair[1]], pair))
            if best not in chosen:
                chosen.append(best)
                used[list(best)] += 1

    for trunk in sorted(net.trunks, key=lambda trunk: trunk.capacity):
        take(trunk.from_, trunk.to)
    sites = [inside for site in net.sites if (inside := sorted(allowed & set(site)))]
    lanes = [(a, b) for a in sites for b in sites if a is not b]
    for a, b in sorted(lanes, key=lambda lane: float(rate[lane[0][0], lane[1][0]])):
        if len(chosen) < most // 2:
            take(a, b)
    for flat in (int(np.nanargmin(rate)), int(np.nanargmax(rate))):
        if len(chosen) < most and (pair := divmod(flat, count)) not in chosen:
            chosen.append((int(pair[0]), int(pair[1])))
            used[list(pair)] += 1
    for host in sorted(allowed):
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
    """Returns a host that isn't of the pair; another one each turn."""
    left = [host for host in hosts if host not in pair]
    return [left[(turn * 5) % len(left)]] if left else []


def _least(hosts: Iterable[int], used: "np.ndarray[tuple[int], np.dtype[np.int_]]") -> list[int]:
    """Returns the two hosts that were used least, the first ones of equals."""
    return sorted(hosts, key=lambda host: (used[host], host))[:2]


def sample(
    net: Network,
    pairs: Collection[tuple[int, int]],
    launcher: Launcher,
    *,
    budget: float = BUDGET,
    hosts: Sequence[str] | None = None,
) -> Entry:
    """Measures latency and bandwidth of a few pairs now, with ranks on their hosts only.

    `budget` is in seconds of the network's own time. Adds what is found to the history of `hosts`:
    those of the network, unless given. Raises UserError if they can't be measured.
    """
    involved = sorted({host for pair in pairs for host in pair})
    part = _part(net, involved)
    place = {host: at for at, host in enumerate(involved)}
    folder = paths.cache() / "samples"
    names = [host.name for host in part.hosts]
    with writing(f"sample {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    base = folder / f"{weather.location(names).stem}-{time.time_ns():x}.json"
    output = base.with_suffix(".out.json")
    try:
        networks.write(part, base)
        probe.run(
            [Host(name) for name in names], output, launcher, budget=budget, base=base,
            pairs=[(place[a], place[b]) for a, b in pairs], hurried=True,
        )  # fmt: skip
        found = networks.read(output)
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
    weather.add(hosts or [host.name for host in net.hosts], entry)
    return entry


def _part(net: Network, hosts: Sequence[int]) -> Network:
    """Returns the network of some hosts only, without what is shared with others."""
    part = networks.even_network(len(hosts), 1e-3, 1e6)
    part.hosts = [net.hosts[host] for host in hosts]
    part.latency[:] = net.latency[np.ix_(hosts, hosts)]
    part.bandwidth[:] = net.bandwidth[np.ix_(hosts, hosts)]
    part.message_costs = net.message_costs
    part.sites = []
    return part


# In the background -------------------------------------------------------------------------------


def parse_share(text: str) -> float:
    """Reads "0.1%". Raises UserError."""
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise UserError(f"--share {text}: must be a percentage above 0 and up to 100, such as 0.1%")
    return share


def watch(
    hosts: Sequence[str],
    file: Path | None,
    launcher: Launcher,
    *,
    every: float,
    share: float,
    times: int | None = None,
) -> None:
    """Samples telling pairs again and again, until it is interrupted or has done so `times` times.

    A sample starts every so many seconds. It takes as many pairs as stay below `share` of the rate
    of their hosts meanwhile, each in turn; where not even one does, it waits longer. The network is
    the file's, or the one in the cache. A sample that fails is noted, and the next one follows.
    Raises UserError if there is no network of the hosts.
    """
    if every <= 0:
        raise UserError("--watch 0: give a time between two samples, such as 10min")
    net = inputs.network(file or cached(hosts))
    pairs = telling_pairs(net, max(TELLING, 2 * len(net.hosts)))
    if not pairs:
        raise UserError("there is only one host: nothing to sample")
    done = position = 0
    while times is None or done < times:
        begin = time.monotonic()
        chosen, wait = _affordable(net, pairs, position, every * share)
        position = (position + len(chosen)) % len(pairs)
        try:
            entry = sample(net, chosen, launcher)
            console.note(f"pairs sampled: {len(entry.bandwidth)}")
        except UserError as error:
            console.note(f"no sample: {error}")
        done += 1
        if times is None or done < times:
            time.sleep(max(0.0, every * wait - (time.monotonic() - begin)))


def _affordable(
    net: Network, pairs: Sequence[tuple[int, int]], position: int, busy: float
) -> tuple[list[tuple[int, int]], float]:
    """Returns the next pairs whose hosts send and receive for at most `busy` seconds in all.

    At least one pair; then also by how much it exceeds that. A pair takes what the probe's streams
    last: about twelve round trips, and at least 50 ms.
    """
    spent: dict[int, float] = {}
    chosen: list[tuple[int, int]] = []
    for at in range(min(len(pairs), TELLING)):
        a, b = pairs[(position + at) % len(pairs)]
        round_trip = float(net.latency[a, b] + net.latency[b, a])
        each = max(0.05, 12 * round_trip)
        if chosen and max(spent.get(a, 0.0), spent.get(b, 0.0)) + each > busy:
            break
        chosen.append((a, b))
        for host in (a, b):
            spent[host] = spent.get(host, 0.0) + each
    return chosen, max(1.0, max(spent.values()) / busy)


def cached(hosts: Iterable[str]) -> Path:
    """Returns the file of the hosts' network in the cache. Raises UserError if there is none."""
    path = paths.network(hosts)
    if not path.is_file():
        raise UserError(
            f"the network of {', '.join(sorted(hosts)[:4])} isn't known; name its file, or run a "
            "program on these hosts first"
        )
    return path
