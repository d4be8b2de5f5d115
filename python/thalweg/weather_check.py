"""Whether a network file still tells the truth: telling pairs, short samples, and what changed.

After CMPI (Gong, He and Zhong, section 5.1): what is known of a network is used until it differs
from what is found by more than a threshold, 20 % unless set, and is then calibrated anew. Here only
what doesn't fit is: a pair, a host's port or a trunk.
"""

import math
import statistics
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thalweg import network as networks
from thalweg import paths, probe, weather
from thalweg.errors import UserError
from thalweg.files import writing
from thalweg.hosts import Host
from thalweg.launcher import Launcher
from thalweg.network import Network
from thalweg.weather import Entry, History, Pair

THRESHOLD = 0.2
"""The difference from which on a network is calibrated anew: CMPI's."""
FRESH = 3600.0
"""Seconds for which what was found of a network counts as known."""
TELLING = 8
"""Most pairs of a check."""
BUDGET = 1.0
"""Seconds of the network's own time that a sample of TELLING pairs may take."""
QUICKEST = 1e-4
"""Seconds: differences of latency smaller than this don't count, since plans don't depend on it."""


def telling_pairs(net: Network, most: int = TELLING) -> list[tuple[int, int]]:
    """Returns a few ordered pairs of hosts that tell most about a network.

    Each trunk is crossed and each two sites are joined by one, the scarcest first; then come the
    slowest and the fastest flow, and pairs that let every host send or receive once. O(pairs).
    """
    count = len(net.hosts)
    if count < 2:
        return []
    rate = np.array(net.bandwidth, dtype=float)
    np.fill_diagonal(rate, np.nan)
    chosen: list[tuple[int, int]] = []
    used = np.zeros(count, int)

    def take(froms: Sequence[int], tos: Sequence[int]) -> None:
        """Chooses the least used sender and receiver."""
        pairs = [(a, b) for a in _least(froms, used) for b in _least(tos, used) if a != b]
        if pairs and len(chosen) < most:
            best = min(pairs, key=lambda pair: (used[pair[0]] + used[pair[1]], pair))
            if best not in chosen:
                chosen.append(best)
                used[list(best)] += 1

    for trunk in sorted(net.trunks, key=lambda trunk: trunk.capacity):
        take(trunk.from_, trunk.to)
    site_of = [site for site in net.sites if site]
    lanes = [(a, b) for a in site_of for b in site_of if a is not b]
    for a, b in sorted(lanes, key=lambda lane: float(rate[lane[0][0], lane[1][0]]))[: 2 * most]:
        if len(chosen) < most // 2:
            take(a, b)
    for flat in (int(np.nanargmin(rate)), int(np.nanargmax(rate))):
        if len(chosen) < most and (pair := divmod(flat, count)) not in chosen:
            chosen.append((int(pair[0]), int(pair[1])))
            used[list(pair)] += 1
    for host in range(count):
        if not used[host]:
            take([host], range(count))
    return chosen


def _least(hosts: Iterable[int], used: "np.ndarray[tuple[int], np.dtype[np.int_]]") -> list[int]:
    """Returns the two hosts that were used least, the first ones of equals."""
    return sorted(hosts, key=lambda host: (used[host], host))[:2]


def sample(
    net: Network, pairs: Collection[tuple[int, int]], launcher: Launcher, budget: float = BUDGET
) -> Entry:
    """Measures latency and bandwidth of a few pairs now, with ranks on their hosts only.

    `budget` is in seconds of the network's own time. Adds what is found to the history of all hosts
    of the network. Raises UserError if they can't be measured.
    """
    hosts = sorted({host for pair in pairs for host in pair})
    part = _part(net, hosts)
    place = {host: at for at, host in enumerate(hosts)}
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
            pairs=[(place[a], place[b]) for a, b in pairs],
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
    weather.add([host.name for host in net.hosts], entry)
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


# What doesn't fit --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Misfit:
    """A value that a network has for a pair, and what was found."""

    pair: Pair
    quantity: str
    expected: float
    found: float

    @property
    def factor(self) -> float:
        """How many times better (above 1) or worse (below 1) than expected."""
        better = self.found / self.expected
        return 1 / better if self.quantity == "latency" else better


def misfits(net: Network, found: Entry, threshold: float = THRESHOLD) -> list[Misfit]:
    """Returns what was found to be more than `threshold` better or worse, the worst first."""
    place = {host.name: at for at, host in enumerate(net.hosts)}
    result = []
    for quantity, values in (("latency", found.latency), ("bandwidth", found.bandwidth)):
        matrix = getattr(net, quantity)
        for (a, b), value in values.items():
            if a not in place or b not in place:
                continue
            expected = float(matrix[place[a], place[b]])
            if not (math.isfinite(expected) and expected > 0):
                continue
            if quantity == "latency" and abs(value - expected) < QUICKEST:
                continue
            if abs(math.log(value / expected)) > math.log1p(threshold):
                result.append(Misfit((a, b), quantity, expected, value))
    return sorted(result, key=lambda misfit: -abs(math.log(misfit.factor)))


def known(history: History, since: float) -> Entry:
    """Returns the forecast, as of now, of all pairs that were measured since a time."""
    now = time.time()
    fresh = history.since(since)

    def values(quantity: weather.Quantity) -> dict[Pair, float]:
        return {
            pair: math.exp(history.series(quantity, pair).forecast(now).value)
            for pair in fresh.pairs(quantity)
        }

    return Entry(now, "sample", values("latency"), values("bandwidth"))


@dataclass(frozen=True)
class Cause:
    """What a misfit comes from: a pair, a host's port or a trunk."""

    name: str
    pairs: frozenset[tuple[int, int]]
    """Pairs of hosts, by number, that it holds for."""
    factor: float
    """How many times better or worse than known."""


def causes(
    net: Network, found: Entry, threshold: float = THRESHOLD
) -> Mapping[str, Sequence[Cause]]:
    """Returns the smallest set of causes that explains what doesn't fit, by quantity.

    A port or a trunk is one if at least two pairs through it were measured, and none fits. What
    explains most is taken first; what remains are pairs. O(pairs · (hosts + trunks)).
    """
    place = {host.name: at for at, host in enumerate(net.hosts)}
    everything = misfits(net, found, threshold)
    result: dict[str, list[Cause]] = {}
    for quantity, values in (("latency", found.latency), ("bandwidth", found.bandwidth)):
        measured = {(place[a], place[b]) for a, b in values if a in place and b in place}
        wrong = {
            (place[m.pair[0]], place[m.pair[1]]): m.factor
            for m in everything
            if m.quantity == quantity
        }
        shared = {name: pairs for name, pairs in _shared(net) if len(pairs & wrong.keys()) > 1}
        named = result[quantity] = []
        while wrong:
            name, pairs = max(
                ((n, p) for n, p in shared.items() if _explains(p, measured, wrong)),
                key=lambda item: len(item[1] & wrong.keys()),
                default=("", frozenset()),
            )
            if not pairs:
                break
            factor = statistics.median(wrong[pair] for pair in pairs & wrong.keys())
            named.append(Cause(name, pairs, factor))
            measured -= pairs
            wrong = {pair: f for pair, f in wrong.items() if pair not in pairs}
        for (a, b), factor in wrong.items():
            name = f"{net.hosts[a].name} to {net.hosts[b].name}"
            named.append(Cause(name, frozenset({(a, b)}), factor))
    return result


def _shared(net: Network) -> list[tuple[str, frozenset[tuple[int, int]]]]:
    """Returns what pairs share, trunks first: they explain more with less."""
    count = len(net.hosts)
    trunks = [
        (f"trunk {trunk.name}", frozenset((a, b) for a in trunk.from_ for b in trunk.to))
        for trunk in net.trunks
    ]
    ports = [
        (f"{net.hosts[host].name}'s {way}", frozenset(
            (host, other) if way == "egress" else (other, host)
            for other in range(count) if other != host
        ))
        for host in range(count) for way in ("egress", "ingress")
    ]  # fmt: skip
    return trunks + ports


def _explains(
    pairs: frozenset[tuple[int, int]],
    measured: Collection[tuple[int, int]],
    wrong: Mapping[tuple[int, int], float],
) -> bool:
    """Whether at least two pairs are wrong, alike, and none that was measured is right."""
    inside = [pair for pair in measured if pair in pairs]
    factors = [wrong[pair] for pair in inside if pair in wrong]
    return len(factors) == len(inside) >= 2 and max(factors) < 2 * min(factors)


def calibrated(
    net: Network, found: Entry, threshold: float = THRESHOLD
) -> tuple[Network, list[str]]:
    """Returns the network with what didn't fit as it was found, and a line for each cause.

    Pairs that were measured get their own values; others of the same cause change as it did. A
    host's or trunk's capacity changes with its pairs, and is never less than a measured flow's.
    """
    result = networks.from_json(networks.to_json(net), "network")
    place = {host.name: at for at, host in enumerate(net.hosts)}
    lines = []
    capacity = {("egress", h): host.egress for h, host in enumerate(net.hosts)}
    capacity |= {("ingress", h): host.ingress for h, host in enumerate(net.hosts)}
    trunks = [trunk.capacity for trunk in net.trunks]
    for quantity, named in causes(net, found, threshold).items():
        matrix = getattr(result, quantity)
        own = getattr(found, quantity)
        for cause in named:
            for a, b in cause.pairs:
                matrix[a, b] *= cause.factor if quantity == "bandwidth" else 1 / cause.factor
            lines.append(f"{quantity} of {cause.name}: {_times(cause.factor)}")
            if quantity == "latency":
                continue
            for key in capacity:
                if cause.name == f"{net.hosts[key[1]].name}'s {key[0]}":
                    capacity[key] *= cause.factor
            for at, trunk in enumerate(net.trunks):
                if cause.name == f"trunk {trunk.name}":
                    trunks[at] *= cause.factor
        off = {m.pair for m in misfits(net, found, threshold) if m.quantity == quantity}
        for a, b in off:
            matrix[place[a], place[b]] = own[a, b]
    for (a, b), rate in found.bandwidth.items():
        if a in place and b in place:
            for key in (("egress", place[a]), ("ingress", place[b])):
                capacity[key] = max(capacity[key], rate)
    result.hosts = [
        networks.Host(host.name, capacity["egress", h], capacity["ingress", h])
        for h, host in enumerate(net.hosts)
    ]
    result.trunks = [
        networks.Trunk(trunk.name, trunk.from_, trunk.to, rate, trunk.senders)
        for trunk, rate in zip(net.trunks, trunks, strict=True)
    ]
    return result, lines


def _times(factor: float) -> str:
    return f"{factor:.2g} times better" if factor > 1 else f"{1 / factor:.2g} times worse"


def in_words(found: Sequence[Misfit], path: Path) -> str:
    """Returns one line for the user about a file that doesn't fit."""
    worst = found[0]
    more = f", and {len(found) - 1} more values differ" if len(found) > 1 else ""
    return (
        f"network {path} doesn't fit: {worst.quantity} from {worst.pair[0]} to {worst.pair[1]} is "
        f"{_times(worst.factor)} than it says{more}; measure anew with `thalweg probe`"
    )


def check_threshold(percent: str) -> float:
    """Reads "20%". Raises UserError."""
    try:
        value = float(percent.removesuffix("%")) / 100
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise UserError(f"--recalibrate {percent}: must be a percentage above 0, such as 20%")
    return value
