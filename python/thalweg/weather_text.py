"""The weather as text, JSON and a picture: series, changes, the slowest host by hour, forecasts."""

import datetime
from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from thalweg import console, units
from thalweg.drawing import LETTER, escape, svg, text
from thalweg.errors import UserError
from thalweg.network import Network
from thalweg.printable import plural
from thalweg.weather import History, Quantity
from thalweg.weather_findings import FLAT, JointChange, Line, changed, joint, repeated
from thalweg.weather_hours import Slowest, slowest_hosts, spans

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 32
"""Characters of a sparkline."""
MOST_ROWS = 24
"""Most pairs of a table; those whose values varied most. Also most lines of each further kind."""
LARGE_ERROR = 0.3
"""The error beyond which above and below the value aren't about the same distance from it."""


def _most_varied(found: Sequence[Line]) -> list[Line]:
    """Returns the MOST_ROWS that varied most; what runs observed, which varies with the program,
    comes after what was measured."""
    return sorted(found, key=lambda line: (line.quantity == "ratio", -line.spread))[:MOST_ROWS]


def value_text(quantity: Quantity, value: float) -> str:
    """Prints a value of a quantity."""
    if quantity == "latency":
        return units.time_to_text(value)
    return (
        units.rate_to_text(value)
        if quantity == "bandwidth"
        else f"{units.factor_to_text(value)} times"
    )


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


# Text --------------------------------------------------------------------------------------------


def parts(history: History, found: Sequence[Line], net: Network | None = None) -> list[Any]:
    """Returns what the command prints. `net` declares trunks and sites, if it is given."""
    if not history.entries:
        advice = _how_it_begins(history.hosts)
        return [f"{hosts_text(history.hosts)}: nothing is known; {advice}"]
    count = defaultdict[str, int](int)
    for entry in history.entries:
        count[entry.source] += 1
    sources = ", ".join(f"{number} by {source}" for source, number in sorted(count.items()))
    first, last = history.entries[0].at, history.entries[-1].at
    result: list[Any] = [
        f"{hosts_text(history.hosts)}: {len(history.entries)} entries ({sources}), "
        f"{time_text(first)} to {time_text(last)}",
        "",
    ]
    shown = _most_varied(found)
    table = console.table("quantity", "from", "to", "", "seen", "forecast", "by")
    for line in sorted(shown, key=lambda line: found.index(line)):
        table.add_row(
            line.quantity, *line.pair, sparkline(line.series.values), str(len(line.series.values)),
            value_text(line.quantity, line.forecast) + _error_text(line.error), line.predictor,
        )  # fmt: skip
    result.append(table)
    if len(found) > len(shown):
        result.append(f"{len(found) - len(shown)} more that varied less: --json has all.")
    result += _change_lines(joint(changed(found), found, net))
    slowest = spans(slowest_hosts(found))
    result += map(_slowest_line, slowest[:MOST_ROWS])
    if len(slowest) > MOST_ROWS:
        result.append(f"{len(slowest) - MOST_ROWS} more such hours: --json has all.")
    return result


def _error_text(error: float | None) -> str:
    """Prints an error as a fraction, and as a factor in either direction if it is large."""
    if error is None:
        return ""
    if error < LARGE_ERROR:
        return f" ± {100 * error:.0f} %"
    return f", {units.factor_to_text(1 + error)} times more or less"


def _change_lines(changes: Sequence[JointChange]) -> list[str]:
    """Returns a line for each change that lasts, then for those that pass, and for what is left."""
    groups = repeated(changes, MOST_ROWS)
    result = [_change_line(group) for group in groups]
    if left := len(changes) - sum(map(len, groups)):
        noun = "change" if left == 1 else "changes"
        result.append(f"{left} more {noun} of less weight: --json has all.")
    return result


def _change_line(group: Sequence[JointChange]) -> str:
    change = group[0]
    parts = change.changes
    before, after = (
        value_text(change.quantity, median(values))
        for values in ([part.before for part in parts], [part.after for part in parts])
    )
    said = f"{time_text(change.at)}: {change.quantity} {change.where}"
    if len(parts) == 1:
        said += f" changed from {before} to {after}"
    else:
        said += (
            f" changed to {_range(change.factors)} times, in the median from {before} to {after}"
        )
    if change.lasting:
        return said
    if len(group) == 1:
        return f"{said}, within a day of the opposite change"
    return f"{said}; the last of {len(group)} times since {time_text(group[-1].at)}"


def _slowest_line(span: Sequence[Slowest]) -> str:
    first, last = span[0], span[-1]
    values = sorted(each.of_usual for each in span)
    return (
        f"{' or '.join(first.where)} is slowest at {first.hour} to {last.hour + 1} h (UTC): its "
        f"{first.quantity} is {_range(values)} times its usual"
    )


def _range(values: Sequence[float]) -> str:
    """Prints ascending numbers: their median, or the first and last if they differ much."""
    if values[-1] < (1 + 2 * FLAT) * values[0]:
        return units.factor_to_text(median(values))
    return " to ".join(units.factor_to_text(value) for value in (values[0], values[-1]))


def hosts_text(names: Sequence[str]) -> str:
    """Prints how many hosts there are, and the names of the first ones."""
    shown = f"{', '.join(names[:4])}{', …' if len(names) > 4 else ''}"
    return f"{plural(len(names), 'host')} ({shown})"


def _how_it_begins(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "one host alone has no network"
    return "`thalweg probe` or a run begins it"


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
            {
                "at": change.at,
                "quantity": change.line.quantity,
                "from": change.line.pair[0],
                "to": change.line.pair[1],
                "before": change.before,
                "after": change.after,
                "lasting": change.lasting,
            }
            for change in changed(found)
        ],
        "worst": [
            {
                "hour": each.hour,
                "host": host,
                "quantity": each.quantity,
                "factor": each.factor,
            }
            for each in slowest_hosts(found)
            for host in each.hosts
        ],
    }


# A picture ---------------------------------------------------------------------------------------

_WIDTH, _HEIGHT, _RIGHT = 560, 26, 150


def picture(history: History, found: Sequence[Line]) -> str:
    """Draws the series that varied most over time, one below the other, with their changes.

    Raises UserError if there are none.
    """
    if not found:
        advice = _how_it_begins(history.hosts)
        raise UserError(f"{hosts_text(history.hosts)}: there is no weather to draw yet; {advice}")
    shown = _most_varied(found)
    begin = min(line.series.times[0] for line in shown)
    end = max(line.series.times[-1] for line in shown)
    span = max(end - begin, 1.0)
    left = 16 + LETTER * max(len(_name(line)) for line in shown)

    def x(at: float) -> float:
        return left + (at - begin) / span * _WIDTH

    title = f"Weather of {hosts_text(history.hosts)}, {time_text(begin)} to {time_text(end)} UTC"
    drawn = [text(4, 14, title)]
    for number, line in enumerate(shown):
        drawn += _row(line, 26 + number * (_HEIGHT + 6), left, x)
    width = max(left + _WIDTH + _RIGHT, 8 + LETTER * len(title))
    return svg(width, 34 + len(shown) * (_HEIGHT + 6), drawn)


def _name(line: Line) -> str:
    return f"{line.quantity} {line.pair[0]} to {line.pair[1]}"


def _row(line: Line, top: float, left: float, x: Callable[[float], float]) -> list[str]:
    logs = line.series.logs
    low, high = min(logs), max(logs)
    span = max(high - low, FLAT)
    points = [
        f"{x(at):.1f},{top + _HEIGHT * (1 - (value - low) / span):.1f}"
        for at, value in zip(line.series.times, logs, strict=True)
    ]
    extent = " to ".join(
        value_text(line.quantity, value)
        for value in (min(line.series.values), max(line.series.values))
    )
    marks = [
        f'<path d="M{x(change.at):.1f},{top} V{top + _HEIGHT}" stroke="#d55e00" '
        f'stroke-dasharray="2 2"><title>{escape(time_text(change.at))}</title></path>'
        for change in line.series.changes()
    ]
    # A round end makes a series of one value visible, whose line has no length.
    return [
        text(left - 8, top + _HEIGHT - 8, _name(line), "end"),
        f'<path d="M{points[0]} L{" ".join(points)}" fill="none" stroke="#0072b2" '
        f'stroke-width="{1.5 if len(points) > 1 else 4}" stroke-linecap="round"><title>'
        f"{escape(f'{_name(line)}: {extent}')}</title></path>",
        *marks,
        text(left + _WIDTH + 8, top + _HEIGHT - 8, extent),
    ]
