"""What the history of a network lets suspect of it, and what it tells surely."""

import math
import time
from collections.abc import Mapping, Set

from thalweg import drift, forecast
from thalweg.network import Network, host_numbers
from thalweg.weather import Entry, History, Pair, PairValues, Quantity, Series

SLOW = 2.0
"""A pair is suspicious whose transfers take this many times as long as in earlier runs."""
FEWEST_RUNS = 4
"""Fewest run records that tell what is usual."""
BEYOND = 3.0
"""How many mean errors a forecast is off before it counts against a value."""
ENOUGH = 10
"""Fewest values of a pair whose forecast is sure enough to stand for a sample."""


def suspicious(net: Network, later: History, threshold: float) -> list[tuple[int, int]]:
    """Returns pairs of which forecast and last value differ from the network, the worst first.

    What run records tell contains the lateness of senders, which may be many times what the
    network takes. So they are compared with earlier ones, and count only if no sample came since.
    """
    place = host_numbers(net)
    pairs = [misfit.pair for misfit in _contradictions(net, later, threshold)]
    for pair in later.pairs("ratio"):
        ratio = later.series("ratio", pair)
        seen = later.series("bandwidth", pair).times
        if not (seen and seen[-1] >= ratio.times[-1]) and _is_unusual(ratio):
            pairs.append(pair)
    return [(place[a], place[b]) for a, b in dict.fromkeys(pairs) if a in place and b in place]


def _contradictions(net: Network, later: History, threshold: float) -> list[drift.Misfit]:
    """Returns how forecasts differ from the network, of pairs whose last value does, too."""
    off = {misfit.pair for misfit in drift.misfits(net, drift.latest(later), threshold)}
    return drift.misfits(net, drift.known(later, 0, pairs=off), threshold)


def _is_unusual(ratio: Series) -> bool:
    """Whether the last value is much larger than the earlier ones let expect."""
    *earlier, last = ratio.logs
    if len(earlier) + 1 < FEWEST_RUNS:
        return False
    usual = forecast.forecast(ratio.times[:-1], earlier, ratio.times[-1])
    return last - usual.value > max(math.log(SLOW), BEYOND * usual.error)


def is_measured(entry: Entry) -> bool:
    """Whether it tells that a network was looked at: a run has only what it found to differ."""
    return entry.source != "run"


def of_runs(
    net: Network, later: History, threshold: float
) -> tuple[History, list[tuple[int, int]]]:
    """Returns a history without what runs found and a later measurement refutes; and the pairs that
    only what a run found lets suspect, and nothing that was measured since, the worst first.

    A run has values for all pairs that its causes cover. So a measurement of some of those that
    differ from the network tells about all: they are refuted if it fits the network.
    """
    kept: list[Entry] = []
    unsettled: set[float] = set()
    for at, entry in enumerate(later.entries):
        verdicts = [] if is_measured(entry) else _verdicts(net, later, at, threshold)
        if not any(verdicts):
            kept.append(entry)
        if not is_measured(entry) and not verdicts:
            unsettled.add(entry.at)
    known = History(later.hosts, kept)
    if not unsettled:
        return known, []

    def is_unsettled(misfit: drift.Misfit) -> bool:
        series = known.series(misfit.quantity, misfit.pair)
        return series.sources[-1] == "run" and series.times[-1] in unsettled

    place = host_numbers(net)
    off = [each.pair for each in _contradictions(net, known, threshold) if is_unsettled(each)]
    return known, [(place[a], place[b]) for a, b in dict.fromkeys(off)]


def _verdicts(net: Network, later: History, at: int, threshold: float) -> list[bool]:
    """Returns whether the network fits each measurement that came after an entry and has values
    that differ from the network in the entry; only these count."""
    off = drift.misfits(net, later.entries[at].values, threshold)
    latency = {misfit.pair for misfit in off if misfit.quantity == "latency"}
    bandwidth = {misfit.pair for misfit in off if misfit.quantity == "bandwidth"}
    measured = (
        PairValues(_only(each.latency, latency), _only(each.bandwidth, bandwidth))
        for each in later.entries[at + 1 :]
        if off and is_measured(each)
    )
    return [
        not drift.misfits(net, each, threshold)
        for each in measured
        if each.latency or each.bandwidth
    ]


def _only(values: Mapping[Pair, float], pairs: Set[Pair]) -> dict[Pair, float]:
    return {pair: values[pair] for pair in values.keys() & pairs}


def sure(net: Network, later: History, threshold: float) -> PairValues:
    """Returns forecasts that rest on enough values, without those that differ by hardly more from
    the network than forecasts of that pair were wrong before."""
    expected = drift.known(later, 0, least=ENOUGH)
    now = time.time()

    def is_sure(misfit: drift.Misfit) -> bool:
        error = later.series(misfit.quantity, misfit.pair).forecast(now).error
        return abs(math.log(misfit.factor)) > BEYOND * error

    off = drift.misfits(net, expected, threshold)
    unsure = {(misfit.quantity, misfit.pair) for misfit in off if not is_sure(misfit)}

    def only_sure(quantity: Quantity, values: Mapping[Pair, float]) -> dict[Pair, float]:
        return {pair: value for pair, value in values.items() if (quantity, pair) not in unsure}

    return PairValues(
        only_sure("latency", expected.latency), only_sure("bandwidth", expected.bandwidth)
    )
