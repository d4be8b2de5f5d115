"""The weather as text, JSON and a picture: series, changes, the worst host by hour, forecasts."""

import datetime
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from rich.table import Table

from thalweg import units
from thalweg.drawing import escape, svg, text
from thalweg.weather import History, Pair, Quantity, Series

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 32
"""Characters of a sparkline."""
FLAT = 0.05
"""A series whose values differ by less is drawn flat."""
MOST_ROWS = 24
"""Most pairs of a table; those whose values varied most."""
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
    """A fraction of the value; None before the second observation."""
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
            error = expected.error if math.isfinite(expected.error) else None
            value = math.exp(expected.value)
            found.append(Line(quantity, pair, series, value, error, expected.predictor))
    return found


def _most_varied(found: Sequence[Line]) -> list[Line]:
    """Returns the MOST_ROWS that varied most; what runs observed, which varies with the program,
    comes after what was measured."""
    return sorted(found, key=lambda line: (line.quantity == "ratio", -line.spread))[:MOST_ROWS]


def value_text(quantity: Quantity, value: float) -> str:
    """Prints a value of a quantity."""
    if quantity == "latency":
        return units.time_to_text(value)
    return units.rate_to_text(value) if quantity == "bandwidth" else f"{value:.2g} times"


def sparkline(values: Sequence[float]) -> str:
    """Draws values as bars, the largest as the highest one; of many, the medians of groups."""
    if not values:
        return ""
    count = min(WIDTH, len(values))
    groups = [
        median(values[at * len(values) // count : (at + 1) * len(values) // count])
        for at in range(count)
    ]
    low, high = min(groups), max(groups)
    if high <= low * (1 + FLAT):
        return BARS[len(BARS) // 2] * count
    return "".join(BARS[round((value - low) / (high - low) * (len(BARS) - 1))] for value in groups)


# What changed, and who is worst ------------------------------------------------------------------


def changed(found: Sequence[Line]) -> list[tuple[float, Line, float, float]]:
    """Returns when which series' level changed from what to what, the latest first."""
    all_changes = [
        (change.at, line, math.exp(change.before), math.exp(change.after))
        for line in found
        for change in line.series.changes()
    ]
    return sorted(all_changes, key=lambda each: -each[0])


def worst_hosts(found: Sequence[Line]) -> dict[int, tuple[str, float]]:
    """Returns for each hour of the day (UTC) the worst host, and how many times worse it was.

    What counts is how much worse its pairs were in that hour than their own medians: slower, or
    with longer latencies. Hosts that are always far away aren't worse for it. What runs observed
    doesn't count, since it contains the program's own delays.
    """
    by_hour: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in found:
        if line.quantity == "ratio":
            continue
        usual = median(line.series.values)
        for at, value in zip(line.series.times, line.series.values, strict=True):
            worse = usual / value if line.quantity == "bandwidth" else value / usual
            for host in line.pair:
                by_hour[int(at % DAY // 3600)][host].append(worse)
    worst = {}
    for hour, hosts in sorted(by_hour.items()):
        host = max(hosts, key=lambda name: median(hosts[name]))
        if (factor := median(hosts[host])) > 1 + FLAT:
            worst[hour] = (host, factor)
    return worst


# Text --------------------------------------------------------------------------------------------


def parts(history: History, found: Sequence[Line]) -> list[Any]:
    """Returns what the command prints."""
    if not history.entries:
        return [f"{_hosts(history.hosts)}: nothing is known; `thalweg probe` or a run begins it"]
    count = defaultdict[str, int](int)
    for entry in history.entries:
        count[entry.source] += 1
    sources = ", ".join(f"{number} by {source}" for source, number in sorted(count.items()))
    first, last = history.entries[0].at, history.entries[-1].at
    result: list[Any] = [
        f"{_hosts(history.hosts)}: {len(history.entries)} entries ({sources}), "
        f"{time_text(first)} to {time_text(last)}",
        "",
    ]
    shown = _most_varied(found)
    table = Table("quantity", "from", "to", "", "seen", "forecast", "by", box=None, pad_edge=False)
    for line in sorted(shown, key=lambda line: found.index(line)):
        error = "" if line.error is None else f" ± {100 * line.error:.0f} %"
        table.add_row(
            line.quantity, *line.pair, sparkline(line.series.values), str(len(line.series.values)),
            value_text(line.quantity, line.forecast) + error, line.predictor,
        )  # fmt: skip
    result.append(table)
    if len(found) > len(shown):
        result.append(f"{len(found) - len(shown)} more that varied less: --json has all.")
    for at, line, before, after in changed(found)[:MOST_ROWS]:
        result.append(
            f"{time_text(at)}: {line.quantity} from {line.pair[0]} to {line.pair[1]} changed from "
            f"{value_text(line.quantity, before)} to {value_text(line.quantity, after)}"
        )
    for hour, (host, factor) in worst_hosts(found).items():
        result.append(f"{hour:02}:00 UTC: {host} is worst, {factor:.2g} times its usual")
    return result


def _hosts(names: Sequence[str]) -> str:
    return f"{len(names)} hosts ({', '.join(names[:4])}{', …' if len(names) > 4 else ''})"


def time_text(at: float) -> str:
    """Prints a time to the minute, UTC."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%d %H:%M")


def as_json(history: History, found: Sequence[Line]) -> dict[str, Any]:
    """Returns what --json prints."""
    return {
        "hosts": list(history.hosts),
        "entries": [{"at": entry.at, "source": entry.source} for entry in history.entries],
        "series": [
            {
                "quantity": line.quantity,
                "from": line.pair[0],
                "to": line.pair[1],
                "times": list(line.series.times),
                "values": list(line.series.values),
                "sources": list(line.series.sources),
                "forecast": line.forecast,
                "error": line.error,
                "predictor": line.predictor,
            }
            for line in found
        ],
        "changes": [
            {"at": at, "quantity": line.quantity, "from": line.pair[0], "to": line.pair[1],
             "before": before, "after": after}
            for at, line, before, after in changed(found)
        ],
        "worst": [
            {"hour": hour, "host": host, "factor": factor}
            for hour, (host, factor) in worst_hosts(found).items()
        ],
    }  # fmt: skip


# A picture ---------------------------------------------------------------------------------------

_LEFT, _WIDTH, _HEIGHT, _RIGHT = 190, 560, 26, 150


def picture(history: History, found: Sequence[Line]) -> str:
    """Draws the series that varied most over time, one below the other, with their changes."""
    shown = _most_varied(found)
    begin = min((line.series.times[0] for line in shown), default=0.0)
    end = max((line.series.times[-1] for line in shown), default=0.0)
    span = max(end - begin, 1.0)

    def x(at: float) -> float:
        return _LEFT + (at - begin) / span * _WIDTH

    title = f"Weather of {_hosts(history.hosts)}, {time_text(begin)} to {time_text(end)} UTC"
    drawn = [text(4, 14, title)]
    for number, line in enumerate(shown):
        drawn += _row(line, 26 + number * (_HEIGHT + 6), x)
    return svg(_LEFT + _WIDTH + _RIGHT, 34 + len(shown) * (_HEIGHT + 6), drawn)


def _row(line: Line, top: float, x: Callable[[float], float]) -> list[str]:
    logs = line.series.logs
    low, high = min(logs), max(logs)
    span = max(high - low, FLAT)
    points = " ".join(
        f"{x(at):.1f},{top + _HEIGHT * (1 - (value - low) / span):.1f}"
        for at, value in zip(line.series.times, logs, strict=True)
    )
    extent = " to ".join(
        value_text(line.quantity, value)
        for value in (min(line.series.values), max(line.series.values))
    )
    name = f"{line.quantity} {line.pair[0]} to {line.pair[1]}"
    marks = [
        f'<path d="M{x(change.at):.1f},{top} V{top + _HEIGHT}" stroke="#d55e00" '
        f'stroke-dasharray="2 2"><title>{escape(time_text(change.at))}</title></path>'
        for change in line.series.changes()
    ]
    return [
        text(_LEFT - 8, top + _HEIGHT - 8, name, "end"),
        f'<polyline points="{points}" fill="none" stroke="#0072b2"><title>'
        f"{escape(f'{name}: {extent}')}</title></polyline>",
        *marks,
        text(_LEFT + _WIDTH + 8, top + _HEIGHT - 8, extent),
    ]
