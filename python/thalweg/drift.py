"""What of a network file doesn't fit what was found: the pairs, and the causes that explain them.

After CMPI (Gong, He and Zhong, section 5.1): what is known of a network is used until it differs
from what is found by more than a threshold, 20 % unless set, and is then calibrated anew. Here only
what doesn't fit is: a pair, a host's port or a trunk.
"""

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg import network as networks
from thalweg.caution import THRESHOLD
from thalweg.network import Network, host_numbers
from thalweg.units import ratio_to_text
from thalweg.weather import History, Pair, PairValues, Quantity

if TYPE_CHECKING:
    import numpy as np

# numpy is imported where something is calibrated: a run whose network fits starts without it.

QUICKEST = 1e-4
"""Seconds: differences of latency smaller than this don't count, since plans don't depend on it."""


@dataclass(frozen=True)
class Misfit:
    """A value that a network has for a pair, and what was found."""

    pair: Pair
    quantity: Quantity
    expected: float
    found: float

    @property
    def factor(self) -> float:
        """How many times better (above 1) or worse (below 1) than expected."""
        better = self.found / self.expected
        return 1 / better if self.quantity == "latency" else better


def misfits(net: Network, found: PairValues, threshold: float = THRESHOLD) -> list[Misfit]:
    """Returns what was found to be more than `threshold` better or worse, the worst first."""
    place = host_numbers(net)
    result = []
    quantities: Sequence[Quantity] = ("latency", "bandwidth")
    for quantity in quantities:
        values: Mapping[Pair, float] = getattr(found, quantity)
        between = getattr(net, f"{quantity}_between")
        for (a, b), value in values.items():
            if a not in place or b not in place:
                continue
            expected = between(place[a], place[b])
            if not (math.isfinite(expected) and expected > 0):
                continue
            if quantity == "latency" and abs(value - expected) < QUICKEST:
                continue
            if abs(math.log(value / expected)) > math.log1p(threshold):
                result.append(Misfit((a, b), quantity, expected, value))
    return sorted(result, key=lambda misfit: -abs(math.log(misfit.factor)))


def known(
    history: History, since: float, least: int = 1, pairs: Set[Pair] | None = None
) -> PairValues:
    """Returns the forecast, as of now, of all pairs with at least `least` values since a time.

    `pairs`: those that are wanted; None: all. Cost: mostly that of their forecasts.
    """
    now = time.time()

    def values(quantity: Quantity) -> dict[Pair, float]:
        series = {
            pair: history.series(quantity, pair)
            for pair in history.pairs(quantity)
            if pairs is None or pair in pairs
        }
        return {
            pair: math.exp(own.forecast(now).value)
            for pair, own in series.items()
            if sum(at >= since for at in own.times) >= least
        }

    return PairValues(values("latency"), values("bandwidth"))


def latest(history: History) -> PairValues:
    """Returns the last value that is known of each pair."""

    def values(quantity: Quantity) -> dict[Pair, float]:
        return {pair: history.series(quantity, pair).values[-1] for pair in history.pairs(quantity)}

    return PairValues(values("latency"), values("bandwidth"))


@dataclass(frozen=True)
class Cause:
    """What misfits come from: a host's port, a trunk, or a pair alone."""

    name: str
    senders: Collection[int]
    receivers: Collection[int]
    """It holds for what these hosts, by number, receive from the senders."""
    factor: float = 1.0
    """How many times better or worse than known."""

    def __contains__(self, pair: tuple[int, int]) -> bool:
        return pair[0] in self.senders and pair[1] in self.receivers


def causes(net: Network, found: PairValues, quantity: Quantity, threshold: float) -> list[Cause]:
    """Returns the smallest set of causes, found greedily, that explains what doesn't fit.

    A port or a trunk is one if at least two pairs through it were measured, none of them fits, and
    all are off alike. What explains most is taken first; what remains are pairs.
    """
    import numpy as np

    place = host_numbers(net)
    values: Mapping[Pair, float] = getattr(found, quantity)
    measured = {(place[a], place[b]) for a, b in values if a in place and b in place}
    wrong = {
        (place[misfit.pair[0]], place[misfit.pair[1]]): misfit.factor
        for misfit in misfits(net, found, threshold)
        if misfit.quantity == quantity
    }
    named = []
    through = _through(_shared(net, wrong), measured)
    explained = {
        cause: factors for cause in through if (factors := _explained(through[cause], wrong))
    }
    while explained:
        best, factors = max(explained.items(), key=lambda each: len(each[1]))
        named.append(replace(best, factor=float(np.median(factors))))
        taken = set(through[best])
        wrong = {pair: factor for pair, factor in wrong.items() if pair not in taken}
        for cause, pairs in through.items():
            if not taken.isdisjoint(pairs):
                through[cause] = [pair for pair in pairs if pair not in taken]
                explained[cause] = _explained(through[cause], wrong)
        explained = {cause: factors for cause, factors in explained.items() if factors}
    hosts = net.hosts
    return named + [
        Cause(f"{hosts[a].name} to {hosts[b].name}", (a,), (b,), factor)
        for (a, b), factor in wrong.items()
    ]


def _shared(net: Network, wrong: Collection[tuple[int, int]]) -> list[Cause]:
    """Returns what wrong pairs may share, trunks first: they explain more with less."""
    if not wrong:
        return []
    hosts = net.hosts
    everyone = range(len(hosts))
    found = [
        Cause(f"trunk {trunk.name}", frozenset(trunk.from_), frozenset(trunk.to))
        for trunk in net.trunks
    ]
    for at in sorted({host for pair in wrong for host in pair}):
        name = hosts[at].name
        found.append(Cause(_egress(name), (at,), everyone))
        found.append(Cause(_ingress(name), everyone, (at,)))
    return found


def _egress(host: str) -> str:
    return f"{host}'s egress"


def _ingress(host: str) -> str:
    return f"{host}'s ingress"


def _through(
    shared: Sequence[Cause], measured: Iterable[tuple[int, int]]
) -> dict[Cause, list[tuple[int, int]]]:
    """Returns the measured pairs that each cause is about, in the order of the causes."""
    by_sender: dict[int, list[tuple[int, int]]] = {}
    by_receiver: dict[int, list[tuple[int, int]]] = {}
    for pair in measured:
        by_sender.setdefault(pair[0], []).append(pair)
        by_receiver.setdefault(pair[1], []).append(pair)

    def pairs(cause: Cause) -> list[tuple[int, int]]:
        if len(cause.receivers) < len(cause.senders):
            found = [pair for host in cause.receivers for pair in by_receiver.get(host, ())]
        else:
            found = [pair for host in cause.senders for pair in by_sender.get(host, ())]
        return [pair for pair in found if pair in cause]

    return {cause: pairs(cause) for cause in shared}


def _explained(
    through: Sequence[tuple[int, int]], wrong: Mapping[tuple[int, int], float]
) -> list[float]:
    """Returns the factors of the pairs that a cause explains; none if it isn't one.

    `through`: the measured pairs that it is about.
    """
    factors = [wrong[pair] for pair in through if pair in wrong]
    if len(factors) < max(len(through), 2):
        return []
    least, most = min(factors), max(factors)
    return factors if most < 2 * least and (most < 1 or least > 1) else []


def calibrated(
    net: Network, found: PairValues, threshold: float = THRESHOLD
) -> tuple[Network, list[str]]:
    """Returns the network with what didn't fit as it was found, and a line for each cause.

    Pairs that were measured get their own values; others of the same cause change as it did. A
    port's or trunk's capacity changes with its pairs, and is never less than a measured flow's.
    """
    result = net.copy()
    place = host_numbers(net)
    factors: dict[str, float] = {}
    lines = []
    quantities: Sequence[Quantity] = ("latency", "bandwidth")
    for quantity in quantities:
        found_causes = causes(net, found, quantity, threshold)
        getattr(result, quantity)[:] *= _scales(len(net.hosts), found_causes, quantity)
        for cause in found_causes:
            if quantity == "bandwidth":
                factors[cause.name] = cause.factor
            times = ratio_to_text(cause.factor, "better", "worse")
            lines.append(f"{quantity} of {cause.name}: {times}")
    for misfit in misfits(net, found, threshold):
        a, b = (place[name] for name in misfit.pair)
        getattr(result, misfit.quantity)[a, b] = misfit.found
    _set_capacities(result, net, factors)
    return result, lines


def _scales(hosts: int, of: Iterable[Cause], quantity: Quantity) -> "np.ndarray[Any, Any]":
    """Returns what each pair's value is to be multiplied by.

    A flow that passes two ports or trunks gets what the scarcer one leaves; latencies add up.
    """
    import numpy as np

    scales = np.ones((hosts, hosts))
    for cause in sorted(of, key=lambda cause: -cause.factor):  # worse ones last
        inside = np.ix_(list(cause.senders), list(cause.receivers))
        if quantity == "latency":
            scales[inside] /= cause.factor
        elif cause.factor < 1:
            scales[inside] = np.minimum(scales[inside], cause.factor)
        else:
            scales[inside] = np.maximum(scales[inside], cause.factor)
    np.fill_diagonal(scales, 1)
    return scales


def _set_capacities(result: Network, net: Network, factors: Mapping[str, float]) -> None:
    """Sets ports and trunks: as before times their factor, and at least a flow's rate."""
    import numpy as np

    rate = np.array(result.bandwidth, dtype=float)
    np.fill_diagonal(rate, 0)

    def at_least(capacity: float, name: str, flows: "np.ndarray[Any, Any]") -> float:
        rates = flows[np.isfinite(flows)]
        return max(capacity * factors.get(name, 1.0), float(rates.max(initial=0.0)))

    result.hosts = [
        networks.Host(
            host.name,
            at_least(host.egress, _egress(host.name), rate[at]),
            at_least(host.ingress, _ingress(host.name), rate[:, at]),
        )
        for at, host in enumerate(net.hosts)
    ]
    result.trunks = [
        networks.Trunk(
            trunk.name, trunk.from_, trunk.to,
            at_least(trunk.capacity, f"trunk {trunk.name}", rate[np.ix_(trunk.from_, trunk.to)]),
            trunk.senders,
        )
        for trunk in net.trunks
    ]  # fmt: skip


def in_words(found: Sequence[Misfit], path: Path) -> str:
    """Returns one line for the user about a file that doesn't fit."""
    worst = found[0]
    more = f", and {len(found) - 1} more values differ" if len(found) > 1 else ""
    return (
        f"network {path} doesn't fit: {worst.quantity} from {worst.pair[0]} to {worst.pair[1]} is "
        f"{ratio_to_text(worst.factor, 'better', 'worse')} than it says{more}"
    )
