"""What a history of the weather tells: forecasts, and what changed when.

Changes of several pairs that come at the same time are joined to one, if a host, a trunk or two
sites explain them. A change that is undone within a day counts less than one that lasts.
"""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from thalweg.forecast import Change
from thalweg.network import Network
from thalweg.weather import History, Pair, Quantity, Series

FLAT = 0.05
"""Values that differ by less count as equal."""
DAY = 86_400


@dataclass(frozen=True)
class Line:
    """A quantity of a pair: what was seen of it, and what is expected."""

    quantity: Quantity
    pair: Pair
    series: Series
    forecast: float
    """A value, as in the series."""
    error: float | None
    """By which fraction of the forecast values were above it, or it above them, in the mean of
    logarithms; None before the second observation."""
    predictor: str

    @property
    def spread(self) -> float:
        """The largest value over the smallest one."""
        return max(self.series.values) / min(self.series.values)


def lines(history: History, now: float) -> list[Line]:
    """Returns all series with their forecasts for a time, in the order of the hosts."""
    found = []
    quantities: Sequence[Quantity] = ("latency", "bandwidth", "ratio")
    for quantity in quantities:
        for pair in history.pairs(quantity):
            series = history.series(quantity, pair)
            expected = series.forecast(now)
            error = math.expm1(expected.error) if math.isfinite(expected.error) else None
            value = math.exp(expected.value)
            found.append(Line(quantity, pair, series, value, error, expected.predictor))
    return found


# Changes of pairs --------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairChange:
    """A lasting or passing change of a pair's level."""

    at: float
    line: Line
    before: float
    after: float
    since: float
    """The time of the observation before the change."""
    until: float
    """The time of the one after it; the change's own time isn't more exact than these."""
    lasting: bool
    """Whether it wasn't undone within a day."""


def changed(found: Sequence[Line]) -> list[PairChange]:
    """Returns when which series' level changed from what to what, the latest first."""
    every = [change for line in found for change in changes_of(line)]
    return sorted(every, key=lambda change: -change.at)


def changes_of(line: Line) -> Iterator[PairChange]:
    """Yields when the level of one series changed from what to what, in the order of time."""
    times = line.series.times
    changes = line.series.changes()
    passing = _passing(changes, times[-1])
    for number, change in enumerate(changes):
        place = bisect_left(times, change.at)
        yield PairChange(
            change.at, line, math.exp(change.before), math.exp(change.after),
            times[max(place - 1, 0)], times[min(place + 1, len(times) - 1)],
            number not in passing,
        )  # fmt: skip


def _passing(changes: Sequence[Change], end: float) -> set[int]:
    """Returns the numbers of the changes that are undone within a day, and of those that undo them.

    The latest change, if it isn't a day old, is also one if such ones had the same levels before.
    """
    found: set[int] = set()
    for number, (change, following) in enumerate(pairwise(changes)):
        soon = following.at - change.at <= DAY
        if number not in found and soon and _near(following.after, change.before, change):
            found |= {number, number + 1}
    last = len(changes) - 1
    if changes and last not in found and end - changes[last].at <= DAY:
        known = [changes[number] for number in found]
        if any(_alike(changes[last], other) for other in known):
            found.add(last)
    return found


def _near(value: float, level: float, change: Change) -> bool:
    return abs(value - level) < abs(change.after - change.before) / 2


def _alike(change: Change, other: Change) -> bool:
    return _near(change.before, other.before, other) and _near(change.after, other.after, other)


# Changes of hosts, trunks and sites --------------------------------------------------------------

_Kind = Literal["pair", "from", "to", "of", "trunk", "sites"]


@dataclass(frozen=True)
class _Cause:
    """What pairs have in common."""

    kind: _Kind
    name: str
    pairs: frozenset[Pair]
    """The pairs of which something is known."""


@dataclass(frozen=True)
class JointChange:
    """A change of one pair or of several at the same time."""

    quantity: Quantity
    where: str
    """What changed, such as "of the egress of n1", "of all pairs of n1" or "from n1 to n2"."""
    cause: str
    """A key that all changes of one host, trunk, sites or pair have in common."""
    changes: Sequence[PairChange]

    @property
    def at(self) -> float:
        """Returns when it was first seen."""
        return min(change.at for change in self.changes)

    @property
    def lasting(self) -> bool:
        return self.changes[0].lasting

    @property
    def factors(self) -> list[float]:
        """Returns the values after the change over those before, in ascending order."""
        return sorted(change.after / change.before for change in self.changes)

    @property
    def rises(self) -> bool:
        return self.factors[0] > 1

    @property
    def weight(self) -> float:
        return sum(abs(math.log(factor)) for factor in self.factors)


def joint(
    changes: Sequence[PairChange], found: Sequence[Line], net: Network | None = None
) -> list[JointChange]:
    """Joins changes that come at the same time and have a host, a trunk or two sites in common.

    Each pair's change counts to that which explains most. `net` declares trunks and sites, if it
    is given. The order is that of time, the latest first.
    """
    known: dict[Quantity, set[Pair]] = defaultdict(set)
    for line in found:
        known[line.quantity].add(line.pair)
    kinds: dict[tuple[Quantity, bool, bool], list[PairChange]] = defaultdict(list)
    for change in changes:
        rises = change.after > change.before
        kinds[change.line.quantity, rises, change.lasting].append(change)
    result: list[JointChange] = []
    for (quantity, *_), alike in kinds.items():
        causes = _causes(known[quantity], net)
        result += _joined(quantity, alike, causes)
    return sorted(result, key=lambda change: -change.at)


def _causes(known: Iterable[Pair], net: Network | None) -> dict[Pair, list[_Cause]]:
    """Returns for each pair what it may have in common with others, the most telling first."""
    groups: dict[tuple[_Kind, str], set[Pair]] = defaultdict(set)
    shared = _shared(net) if net else []
    for pair in known:
        for kind, name, senders, receivers in shared:
            if pair[0] in senders and pair[1] in receivers:
                groups[kind, name].add(pair)
        groups["from", pair[0]].add(pair)
        groups["to", pair[1]].add(pair)
        for host in pair:
            groups["of", host].add(pair)
    result: dict[Pair, list[_Cause]] = defaultdict(list)
    order: Sequence[_Kind] = ("trunk", "sites", "from", "to", "of")
    for (kind, name), pairs in sorted(groups.items(), key=lambda item: order.index(item[0][0])):
        cause = _Cause(kind, name, frozenset(pairs))
        for pair in pairs:
            result[pair].append(cause)
    return result


def _shared(net: Network) -> list[tuple[_Kind, str, set[str], set[str]]]:
    """Returns trunks, and each two sites, with the hosts that send and receive over them."""
    names = [host.name for host in net.hosts]
    result: list[tuple[_Kind, str, set[str], set[str]]] = [
        ("trunk", trunk.name, {names[at] for at in trunk.from_}, {names[at] for at in trunk.to})
        for trunk in net.trunks
    ]
    sites = [{names[at] for at in site} for site in net.sites]
    for a, first in enumerate(sites):
        for b, second in enumerate(sites):
            if a != b:
                name = f"from the site of {min(first)} to that of {min(second)}"
                result.append(("sites", name, first, second))
    return result


def _joined(
    quantity: Quantity, changes: Sequence[PairChange], causes: dict[Pair, list[_Cause]]
) -> Iterator[JointChange]:
    ordered = sorted(changes, key=lambda change: change.since)
    taken: set[int] = set()
    start = 0
    for number, change in enumerate(ordered):
        if number in taken:
            continue
        while ordered[start].until < change.since:
            start += 1
        near = {}
        for other in range(start, len(ordered)):
            if ordered[other].since > change.until:
                break
            if ordered[other].until >= change.since:
                near[other] = ordered[other].line.pair
        left = {other: pair for other, pair in near.items() if other not in taken}
        cause = _best(causes[change.line.pair], set(left.values()), change.line.pair)
        members = [other for other, pair in left.items() if pair in cause.pairs]
        taken.update(members)
        parts = [ordered[other] for other in members]
        where = _where(quantity, cause, len(cause.pairs & set(near.values())))
        yield JointChange(quantity, where, f"{cause.kind} {cause.name}", parts)


def _best(causes: Sequence[_Cause], pairs: set[Pair], pair: Pair) -> _Cause:
    """Returns what explains most of the pairs; of equals, what lets the fewest others expect."""
    best = max(causes, key=lambda cause: (len(cause.pairs & pairs), -len(cause.pairs)))
    if len(best.pairs & pairs) > 1:
        return best
    return _Cause("pair", f"{pair[0]} to {pair[1]}", frozenset([pair]))


def _where(quantity: Quantity, cause: _Cause, count: int) -> str:
    ends = {
        "pair": "", "from": "from ", "to": "to ", "of": "of ", "trunk": "over trunk ", "sites": "",
    }  # fmt: skip
    name = f"{ends[cause.kind]}{cause.name}"
    if cause.kind == "pair":
        return f"from {name}"
    if count < len(cause.pairs):
        return f"of {count} of the {len(cause.pairs)} pairs {name}"
    if quantity == "bandwidth" and cause.kind in ("from", "to"):
        return f"of the {'egress' if cause.kind == 'from' else 'ingress'} of {cause.name}"
    return f"of all pairs {name}"


def repeated(changes: Sequence[JointChange], most: int) -> list[list[JointChange]]:
    """Returns the changes of most weight: lasting ones each alone, then passing ones that recur.

    At most `most` lists; in each, and of both kinds, the latest comes first.
    """
    lasting = [[change] for change in changes if change.lasting]
    passing: dict[tuple[Quantity, str, bool], list[JointChange]] = defaultdict(list)
    for change in changes:
        if not change.lasting:
            passing[change.quantity, change.cause, change.rises].append(change)

    def rank(group: Sequence[JointChange]) -> tuple[bool, bool, float]:
        return (
            not group[0].lasting, group[0].quantity == "ratio",
            -sum(change.weight for change in group),
        )  # fmt: skip

    chosen = sorted([*lasting, *passing.values()], key=rank)[:most]
    return sorted(chosen, key=lambda group: (not group[0].lasting, -group[0].at))
