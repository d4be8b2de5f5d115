"""The weather: the history of what was measured and observed between hosts, and its forecast.

Every probe, every run record, every sample and every run whose plans followed a change is an entry
of the history of its hosts, which thalweg.weather_file keeps.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from thalweg import forecast
from thalweg.forecast import Change, Forecast
from thalweg.network import Network

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from thalweg.record import Run

# numpy, and records, which need it, are imported where they are used: a run whose network was
# measured lately starts without waiting for them.

MOST_PAIRS = 4096
"""Most pairs of a quantity in an entry; of more, as many evenly chosen ones."""
FEWEST = 20
"""Fewest transfers of a pair in a run record that tell something."""
USUAL_SHARE = 0.1
"""The share of a pair's transfers that are quicker than what counts as its ratio."""

Source = Literal["probe", "record", "sample", "run"]
Quantity = Literal["latency", "bandwidth", "ratio"]
Pair = tuple[str, str]


@dataclass(frozen=True)
class PairValues:
    """Values of pairs, by the hosts' names: what was measured, or is forecast."""

    latency: Mapping[Pair, float] = field(default_factory=dict)
    """Seconds."""
    bandwidth: Mapping[Pair, float] = field(default_factory=dict)
    """Bytes per second of a single flow."""


@dataclass(frozen=True)
class Entry:
    """What was found at one time; pairs and ports by the hosts' names."""

    at: float
    """Seconds since 1970, UTC."""
    source: Source
    latency: Mapping[Pair, float] = field(default_factory=dict)
    """Seconds."""
    bandwidth: Mapping[Pair, float] = field(default_factory=dict)
    """Bytes per second of a single flow."""
    ratio: Mapping[Pair, float] = field(default_factory=dict)
    """What planned transfers took over what the network lets expect, with little waiting."""
    ports: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Egress and ingress in bytes per second; infinite: no limit known."""
    trunks: Mapping[str, float] = field(default_factory=dict)

    @property
    def values(self) -> PairValues:
        return PairValues(self.latency, self.bandwidth)


@dataclass(frozen=True)
class Series:
    """A quantity of a pair over time, in the order of time."""

    times: Sequence[float]
    values: Sequence[float]
    sources: Sequence[Source]

    @property
    def logs(self) -> list[float]:
        return [math.log(value) for value in self.values]

    def forecast(self, at: float) -> Forecast:
        """Returns the forecast of the value's logarithm; its error is a fraction of the value."""
        return forecast.forecast(self.times, self.logs, at)

    def changes(self) -> list[Change]:
        """Returns the lasting changes, of the value's logarithm."""
        return forecast.changes(self.times, self.logs)


@dataclass(frozen=True)
class History:
    """All that is known of some hosts' weather."""

    hosts: Sequence[str]
    entries: Sequence[Entry]
    """In the order of time."""

    @cached_property
    def _series(self) -> Mapping[tuple[Quantity, Pair], Series]:
        found: dict[tuple[Quantity, Pair], Series] = {}
        for entry in self.entries:
            for quantity in get_args(Quantity):
                values: Mapping[Pair, float] = getattr(entry, quantity)
                for pair, value in values.items():
                    series = found.setdefault((quantity, pair), Series([], [], []))
                    assert isinstance(series.times, list)
                    assert isinstance(series.values, list)
                    assert isinstance(series.sources, list)
                    series.times.append(entry.at)
                    series.values.append(value)
                    series.sources.append(entry.source)
        return found

    def series(self, quantity: Quantity, pair: Pair) -> Series:
        return self._series.get((quantity, pair), Series([], [], []))

    def pairs(self, quantity: Quantity) -> list[Pair]:
        """Returns the pairs of which something is known, in the order of the hosts."""
        place = {host: at for at, host in enumerate(self.hosts)}
        found = [pair for known, pair in self._series if known == quantity]
        return sorted(found, key=lambda pair: (place[pair[0]], place[pair[1]]))

    def since(self, at: float) -> "History":
        """Returns the part that is from `at` on."""
        return History(self.hosts, [entry for entry in self.entries if entry.at >= at])


# What is found -----------------------------------------------------------------------------------


def of_network(net: Network, at: float, source: Source = "probe") -> Entry:
    """Returns what a probe measured of a network: pairs whose values aren't inferred."""
    names = [host.name for host in net.hosts]
    return Entry(
        at,
        source,
        _measured(names, net.latency, net.latency_error),
        _measured(names, net.bandwidth, net.bandwidth_error),
        ports={host.name: (host.egress, host.ingress) for host in net.hosts},
        trunks={trunk.name: trunk.capacity for trunk in net.trunks},
    )


def of_change(before: Network, after: Network, at: float) -> Entry:
    """Returns what a run found to have changed in a network, as it was when the run ended."""
    import numpy as np

    names = [host.name for host in after.hosts]
    both = [*zip(before.hosts, after.hosts, strict=True)]
    trunks = [*zip(before.trunks, after.trunks, strict=True)]

    def changed(values: Any, known: Any) -> dict[Pair, float]:
        return _measured(names, np.where(values == known, np.nan, values), None)

    return Entry(
        at,
        "run",
        changed(after.latency, before.latency),
        changed(after.bandwidth, before.bandwidth),
        ports={
            now.name: (now.egress, now.ingress)
            for was, now in both
            if (now.egress, now.ingress) != (was.egress, was.ingress)
        },
        trunks={now.name: now.capacity for was, now in trunks if now.capacity != was.capacity},
    )


def _measured(names: Sequence[str], values: Any, errors: Any) -> dict[Pair, float]:
    import numpy as np

    known = np.isfinite(values) & (values > 0)
    if errors is not None and np.shape(errors) == np.shape(values):
        known &= np.isfinite(errors)
    np.fill_diagonal(known, val=False)
    senders, receivers = np.nonzero(known)
    chosen = _evenly(senders, receivers, len(names))
    return {
        (names[a], names[b]): float(values[a, b])
        for a, b in zip(senders[chosen], receivers[chosen], strict=True)
    }


def _evenly(
    senders: "NDArray[np.intp]", receivers: "NDArray[np.intp]", hosts: int
) -> "NDArray[np.intp]":
    """Returns the places of at most MOST_PAIRS pairs, in which hosts occur about equally often.

    The pairs whose numbers differ by the same amount, modulo the hosts, have each host once at
    either end. Whole such sets are taken, of amounts that are spread (van der Corput's sequence).
    """
    import numpy as np

    if len(senders) <= MOST_PAIRS:
        return np.arange(len(senders))
    order = np.empty(hosts, np.intp)
    digits = hosts.bit_length()
    order[sorted(range(hosts), key=lambda amount: f"{amount:0{digits}b}"[::-1])] = np.arange(hosts)
    found = np.lexsort((senders, order[(receivers - senders) % hosts]))[:MOST_PAIRS]
    return np.sort(found)


def of_record(run: "Run", at: float) -> Entry:
    """Returns the link observations of a run as ratios of observed to predicted time.

    A transfer's time includes waiting for a sender that is late, so that the quick ones tell about
    the network: the ratio that a tenth of a pair's transfers stays below. Pairs with few transfers
    are left out, and those whose messages came before they were asked for.
    """
    import numpy as np

    from thalweg.record import RATIOS

    counts = np.cumsum(run.links["ratios"], axis=1)
    class_ = np.sum(counts <= USUAL_SHARE * counts[:, -1:], axis=1)
    known = (counts[:, -1] >= FEWEST) & (run.links["predicted"] > 0)
    (tell,) = np.nonzero(known & (class_ > 0) & (class_ < len(RATIOS) - 1))
    links = run.links[tell]
    chosen = _evenly(links["from"].astype(np.intp), links["to"].astype(np.intp), len(run.hosts))
    ratios = {
        (run.hosts[link["from"]], run.hosts[link["to"]]): (
            math.sqrt(RATIOS[at_class] * RATIOS[at_class + 1]) / run.dilation
        )
        for link, at_class in zip(links[chosen], class_[tell][chosen], strict=True)
    }
    return Entry(at, "record", ratio=ratios)


def seconds(at: str, otherwise: Callable[[], float] = time.time) -> float:
    """Returns a network file's `measured_at`, which is in UTC, in seconds since 1970; if there is
    none, now."""
    import datetime

    try:
        found = datetime.datetime.fromisoformat(at)
    except ValueError:
        return otherwise()
    return (found if found.tzinfo else found.replace(tzinfo=datetime.UTC)).timestamp()
