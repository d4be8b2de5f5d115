"""What a history of the weather tells of the hours of the day: who is slow at which."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import Literal

from thalweg.weather import Quantity
from thalweg.weather_findings import DAY, FLAT, Line, changes_of

FEWEST_DAYS = 3
"""Fewest days on which an hour was measured that tell something about that hour."""


@dataclass(frozen=True)
class Slowest:
    """The host that is slowest at an hour of the day (UTC), against its own usual."""

    hour: int
    hosts: tuple[str, ...]
    """Several if they can't be told apart: they were measured with each other only."""
    quantity: Quantity
    factor: float
    """How many times worse than usual: a lower bandwidth, or a higher latency."""
    where: tuple[str, ...]
    """Each host by name, or its egress or ingress if its bandwidth is low at that end only."""

    @property
    def of_usual(self) -> float:
        """The value over the usual one."""
        return 1 / self.factor if self.quantity == "bandwidth" else self.factor


_End = Literal["egress", "ingress"]
_Ends = dict[_End, list[float]]
"""What was found of a host's outgoing and of its incoming pairs, a value for each day."""


def slowest_hosts(found: Sequence[Line]) -> list[Slowest]:
    """Returns for each hour and quantity the slowest host, if one is.

    What counts is how much worse its pairs were in that hour than their medians since their last
    lasting change: hosts that are always far away aren't slow for it, nor those that have become
    slow for good. A host must have been worse on most days, of FEWEST_DAYS at least. Outgoing and
    incoming pairs are judged apart, since one may change alone, and the worse of both counts; so
    are latency and bandwidth. What runs observed doesn't count, since it contains the program's own
    delays.
    """
    result = []
    for (hour, quantity), hosts in sorted(_worse_by_hour(found).items()):
        factors = {host: max(map(_middle, ends.values())) for host, ends in hosts.items()}
        most = max(factors.values(), default=(0.0, 0.0))
        if most[0] > 1 + FLAT:
            names = tuple(host for host, factor in factors.items() if factor == most)
            where = tuple(_slow_end(host, quantity, hosts[host]) for host in names)
            result.append(Slowest(hour, names, quantity, most[0], where))
    return result


def _worse_by_hour(found: Sequence[Line]) -> dict[tuple[int, Quantity], dict[str, _Ends]]:
    """Returns for each hour, quantity and host how many times worse than usual values were, each
    day in the median, if they are of enough days."""
    seen: dict[tuple[int, Quantity], dict[tuple[str, _End], dict[int, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for line in found:
        if line.quantity == "ratio":
            continue
        for at, value, usual in _with_usual(line):
            worse = usual / value if line.quantity == "bandwidth" else value / usual
            ends = seen[int(at % DAY // 3600), line.quantity]
            ends[line.pair[0], "egress"][int(at // DAY)].append(worse)
            ends[line.pair[1], "ingress"][int(at // DAY)].append(worse)
    result: dict[tuple[int, Quantity], dict[str, _Ends]] = {}
    for key, ends in seen.items():
        hosts = result.setdefault(key, defaultdict(dict))
        for (host, end), days in ends.items():
            if len(days) >= FEWEST_DAYS:
                hosts[host][end] = [median(values) for values in days.values()]
    return result


def _with_usual(line: Line) -> Iterator[tuple[float, float, float]]:
    """Yields times, values, and the median of the values between the same lasting changes."""
    times, values = line.series.times, line.series.values
    bounds = [bisect_left(times, change.at) for change in changes_of(line) if change.lasting]
    for begin, end in pairwise([0, *bounds, len(times)]):
        usual = median(values[begin:end]) if begin < end else 1.0
        for at, value in zip(times[begin:end], values[begin:end], strict=True):
            yield at, value, usual


def _middle(values: Sequence[float]) -> tuple[float, float]:
    """Returns the median, and the mean, which decides between equal medians."""
    return median(values), fmean(values)


def _slow_end(host: str, quantity: Quantity, ends: _Ends) -> str:
    """Returns the host's name, or that of its slower end if the other is less than half as slow."""
    factors = {end: _middle(values) for end, values in ends.items()}
    (least, _), (most, _) = min(factors.values()), max(factors.values())
    if quantity == "latency" or (len(ends) > 1 and least**2 > most):
        return host
    return f"the {max(ends, key=lambda end: factors[end])} of {host}"


def spans(found: Sequence[Slowest]) -> list[list[Slowest]]:
    """Joins hours that follow each other, also over midnight, at the same place, of a quantity."""
    by_place: dict[tuple[tuple[str, ...], Quantity], list[Slowest]] = defaultdict(list)
    for each in found:
        by_place[each.where, each.quantity].append(each)
    result: list[list[Slowest]] = []
    for hours in by_place.values():
        own: list[list[Slowest]] = []
        for each in hours:
            if own and own[-1][-1].hour + 1 == each.hour:
                own[-1].append(each)
            else:
                own.append([each])
        if len(own) > 1 and own[0][0].hour == 0 and own[-1][-1].hour == 23:
            own[0] = own.pop() + own[0]
        result += own
    return sorted(result, key=lambda span: (span[0].hour, span[0].quantity))
