"""What the history of a network lets suspect of it, and what it tells surely."""

import math
from collections.abc import Mapping

from thalweg import drift, forecast
from thalweg.network import Network
from thalweg.weather import Entry, History, Pair, Quantity, Series

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
    place = {host.name: at for at, host in enumerate(net.hosts)}
    off = {misfit.pair for misfit in drift.misfits(net, drift.latest(later), threshold)}
    expected = drift.misfits(net, drift.known(later, 0), threshold) if off else []
    pairs = [misfit.pair for misfit in expected if misfit.pair in off]
    for pair in later.pairs("ratio"):
        ratio = later.series("ratio", pair)
        seen = later.series("bandwidth", pair).times
        if not (seen and seen[-1] >= ratio.times[-1]) and _is_unusual(ratio):
            pairs.append(pair)
    return [(place[a], place[b]) for a, b in dict.fromkeys(pairs) if a in place and b in place]


def _is_unusual(ratio: Series) -> bool:
    """Whether the last value is much larger than the earlier ones let expect."""
    *earlier, last = ratio.logs
    if len(earlier) + 1 < FEWEST_RUNS:
        return False
    usual = forecast.forecast(ratio.times[:-1], earlier, ratio.times[-1])
    return last - usual.value > max(math.log(SLOW), BEYOND * usual.error)


def sure(net: Network, later: History, threshold: float) -> Entry:
    """Returns forecasts that rest on enough values, without those that differ by hardly more from
    the network than forecasts of that pair were wrong before."""
    expected = drift.known(later, 0, least=ENOUGH)

    def is_sure(misfit: drift.Misfit) -> bool:
        error = later.series(misfit.quantity, misfit.pair).forecast(expected.at).error
        return abs(math.log(misfit.factor)) > BEYOND * error

    off = drift.misfits(net, expected, threshold)
    unsure = {(misfit.quantity, misfit.pair) for misfit in off if not is_sure(misfit)}

    def only_sure(quantity: Quantity, values: Mapping[Pair, float]) -> dict[Pair, float]:
        return {pair: value for pair, value in values.items() if (quantity, pair) not in unsure}

    return Entry(
        expected.at, "sample",
        only_sure("latency", expected.latency), only_sure("bandwidth", expected.bandwidth),
    )  # fmt: skip
