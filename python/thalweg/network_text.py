"""Shows a network: tables and heatmaps for people, JSON for programs."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from thalweg import console, description, hierarchy, picture, units
from thalweg.description import Floats
from thalweg.drawing import colour
from thalweg.errors import UserError
from thalweg.heatmap import cell, line, room
from thalweg.network import Network, validate
from thalweg.picture import MATRICES, Quantity, View
from thalweg.printable import plural, printable
from thalweg.report import bins
from thalweg.report.bins import Bins

MOST_HEATMAP = 64
"""Most hosts for which the matrices are shown by default."""
WIDEST_WITH_NUMBERS = 16
"""Most hosts for which a heatmap's cells show their values, in a terminal that is wide enough."""
UNLIMITED = 100_000
"""More columns than any table has."""
MOST_GROUPS = 8
"""Most groups of a level that are named."""
MOST_ROWS = 200
"""Most trunks, and most native times, that are shown."""
MOST_LINKS = 12
"""Most pairs of sites that are described one by one."""


@dataclass(frozen=True)
class Grouping:
    """The parameters of hierarchy.build()."""

    size: int = 1_000_000
    base: float = hierarchy.BASE
    most_span: int = 1
    adjust: hierarchy.Adjust = "close"
    scale: hierarchy.Scale = "linear"

    def build(self, net: Network) -> hierarchy.Hierarchy:
        return hierarchy.build(net, self.size, self.base, self.most_span, self.adjust, self.scale)


# For people ------------------------------------------------------------------------------------


def parts(
    net: Network, file: Path, views: Sequence[View], grouping: Grouping
) -> list[RenderableType]:
    """Shows the network of this file: the requested views, or all of it.

    Raises UserError if the network isn't valid, or is too large for a view that is requested.
    """
    validate(net)
    _check_views(net, views)
    found: list[RenderableType] = [] if views else summary(net, file, grouping)
    wanted = views or _usual_views(len(net.hosts))
    for view in wanted:
        found += [""] if found else []
        found.append(levels(net, grouping) if view == "hierarchy" else Heatmap(net, view))
    return found


def _check_views(net: Network, asked: Sequence[View]) -> None:
    """Raises UserError if a view is asked for that the network is too large for."""
    if asked and len(net.hosts) > hierarchy.MOST_HOSTS:
        raise UserError(
            f"the {asked[0]} of all hosts is shown for up to {hierarchy.MOST_HOSTS:,}, not for "
            f"{len(net.hosts):,}: leave out --matrix and --hierarchy, which shows all else"
        )


def _usual_views(hosts: int) -> list[View]:
    views: list[View] = ["hierarchy"] if hosts <= hierarchy.MOST_HOSTS else []
    return views + [m for m in MATRICES if hosts <= MOST_HEATMAP]


def summary(net: Network, path: Path, grouping: Grouping) -> list[RenderableType]:
    parts: list[RenderableType] = [
        console.styled(str(path), "bold").append(
            printable(
                f": {plural(len(net.hosts), 'host')}, "
                f"{plural(len(net.sites), 'site') if net.sites else 'sites not known'}; "
                f"{_origin(net)}; clock: {net.clock}"
            ),
            style="not bold",
        ),
        "",
        "Medians of a pair's latency and of one flow's bandwidth:",
        _sites(net),
        *_links(net),
        description.asymmetry_text(net, grouping.base, grouping.scale),
    ]
    if net.trunks:
        rows = description.trunk_rows(net)
        trunks = console.table(*description.TRUNK_COLUMNS, rows=rows[:MOST_ROWS])
        parts += ["", trunks, *_rest(rows)]
    if net.native_times:
        times = _native_times(net)
        heading = ("native", "collective", "size", "time")
        parts += ["", console.table(*heading, rows=times[:MOST_ROWS]), *_rest(times)]
    return parts


def _origin(net: Network) -> str:
    when = f" at {net.measured_at}" if net.measured_at else ""
    return f"from {net.measured_with}{when}" if net.measured_with else f"of unknown origin{when}"


def _sites(net: Network) -> Table:
    """Shows median latency and bandwidth per pair of sites, and capacities of a host per site."""
    names = description.site_names(net)
    latency, bandwidth = (description.between(net, quantity) for quantity in MATRICES)
    table = console.table(
        "site", "hosts", *(f"to {name}" for name in names), "host egress", "host ingress"
    )
    all_hosts = net.hosts
    for index, (name, site) in enumerate(zip(names, description.groups(net), strict=True)):
        cells = [
            f"{_text(latency[index, other], units.time_to_text)}, "
            f"{_text(bandwidth[index, other], units.rate_to_text)}"
            for other in range(len(names))
        ]
        hosts = [all_hosts[host] for host in site]
        egress, ingress = ([getattr(h, side) for h in hosts] for side in ("egress", "ingress"))
        table.add_row(name, str(len(site)), *cells, _range(egress), _range(ingress))
    return table


def _links(net: Network) -> list[str]:
    """Says which pairs of sites are long and fast in the sense of Matsuda et al."""
    if len(net.sites) * (len(net.sites) - 1) > MOST_LINKS:
        return []
    names = description.site_names(net)
    lines = []
    for link in hierarchy.links(net):
        words = f"{'' if link.long else 'not '}long, {'' if link.fast else 'not '}fast"
        capacity = _text(link.capacity, units.rate_to_text)
        lines.append(f"From {names[link.from_]} to {names[link.to]}: {words}; {capacity} together.")
    return lines


def levels(net: Network, grouping: Grouping) -> Table:
    """Shows the hierarchy, all hosts first."""
    built = grouping.build(net)
    classes = built.classes(net)
    hosts = net.hosts
    table = console.table(
        "level", "groups", "links inside", "network", "hosts of each group",
        title=f"Hierarchy for messages of {units.size_to_text(grouping.size)}: "
        f"k = {grouping.base:g}, {grouping.scale}, span {grouping.most_span}",
    )  # fmt: skip
    for index in reversed(range(1, len(built.levels))):
        level = built.levels[index]
        names = [description.span([hosts[host].name for host in group]) for group in level.groups]
        shown = names[:MOST_GROUPS] + [f"... {len(names) - MOST_GROUPS} more"] * (
            len(names) > MOST_GROUPS
        )
        table.add_row(
            str(index), str(len(names)), f"<= {level.boundary}", classes[index],
            " | ".join(shown),
        )  # fmt: skip
    return table


def _range(rates: Sequence[float]) -> str:
    low, high = min(rates), max(rates)
    text = _text(low, units.rate_to_text)
    return text if low == high else f"{text} to {_text(high, units.rate_to_text)}"


def _native_times(net: Network) -> list[list[str]]:
    return [
        [
            native.library,
            native.collective,
            units.size_to_text(native.size),
            units.time_to_text(native.time),
        ]
        for native in net.native_times
    ]


def _rest(rows: Sequence[object]) -> list[str]:
    """Says how many rows aren't shown."""
    more = len(rows) - MOST_ROWS
    return [f"and {more} more; --json shows all"] if more > 0 else []


class Heatmap:
    """A matrix from (rows) to (columns), brighter for better, on a logarithmic scale.

    It shows the values of few hosts, if the terminal is wide enough, else a cell for each pair of
    hosts or, where these don't fit, for the mean of several pairs.
    """

    def __init__(self, net: Network, quantity: Quantity) -> None:
        self.names = [printable(host.name) for host in net.hosts]
        self.values: Floats = getattr(net, quantity)
        self.lower_is_better = quantity == "latency"
        self.to_text = units.time_to_text if self.lower_is_better else units.rate_to_text
        self.title = f"{quantity} from (row) to (column)"

    def __rich_console__(
        self, terminal: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        if len(self.names) <= WIDEST_WITH_NUMBERS:
            table = self._numbers()
            measured = terminal.measure(table, options=options.update(max_width=UNLIMITED))
            if measured.maximum <= options.max_width:
                yield table
                return
        yield from self._cells(options.max_width)

    def _numbers(self) -> Table:
        table = Table(box=None, padding=0, title=self.title, pad_edge=False)
        table.add_column("")
        for name in self.names:
            table.add_column(name, justify="right", min_width=2)
        scores = self._scores(self.values)
        for i, name in enumerate(self.names):
            cells = [
                _cell(f" {self.to_text(self.values[i, j])}", scores[i, j], diagonal=i == j)
                for j in range(len(self.names))
            ]
            table.add_row(f"{name} ", *cells)
        return table

    def _cells(self, width: int) -> Iterator[Text]:
        widest = max(3, width // 4)
        rows = self._rows(width, widest)
        values = self.values if rows.single else picture.means(rows, self.values)
        scores = self._scores(values)
        alone = np.bincount(rows.of) == 1
        each = -(-len(self.names) // rows.count)
        size = "" if each == 1 else f", up to {each} x {each} hosts a cell"
        yield line(f"{self.title}{size}")
        label = min(max(map(len, rows.labels)), widest)
        for i, name in enumerate(rows.labels):
            cut = name if len(name) <= label else f"{name[: label - 2]}.."
            cells = line(f"{cut:<{label}} ")
            for j in range(rows.count):
                cells.append(_cell("", float(scores[i, j]), diagonal=i == j and bool(alone[i])))
            yield cells
        others = values[~np.eye(len(values), dtype=bool)]
        if len(others):
            yield self._legend(others.min(), others.max())

    def _rows(self, width: int, widest: int) -> Bins:
        """A row for each host if there is room, else for several, which have longer labels."""
        most = room(width, min(max(map(len, self.names)), widest))
        if len(self.names) > most:
            most = room(width, widest)
        return bins.of_hosts(self.names, range(len(self.names)), most)

    def _scores(self, values: Floats) -> Floats:
        return picture.goodness(values, lower_is_better=self.lower_is_better)

    def _legend(self, least: float, most: float) -> Text:
        best, worst = (least, most) if self.lower_is_better else (most, least)
        texts = (f" {self.to_text(best)}  ", f" {self.to_text(worst)}")
        return line("").append(cell(1)).append(texts[0]).append(cell(0)).append(texts[1])


def _cell(text: str, score: float, *, diagonal: bool) -> Text:
    if diagonal:
        return Text(" " * max(len(text) - 1, 1) + "-", style="dim")
    if not text:
        return cell(score)
    return Text(text, style=f"{'black' if score > 0.5 else 'white'} on {colour(score)}")


def _text(value: float, to_text: Callable[[float], str]) -> str:
    return to_text(value) if math.isfinite(value) else "-"


# For programs ----------------------------------------------------------------------------------


def as_json(
    net: Network, grouping: Grouping | None = None, asked: Sequence[View] = ()
) -> dict[str, Any]:
    """Returns the network in seconds and bytes per second; None if unknown.

    Matrices of more than console.MOST_PAIRS pairs are left out (None) unless they are asked for,
    and the hierarchy of more hosts than hierarchy.MOST_HOSTS is. Raises UserError as parts() does.
    """
    validate(net)
    _check_views(net, asked)
    grouping = grouping or Grouping()
    names = [host.name for host in net.hosts]
    return {
        "hosts": [
            {"name": h.name, "egress": _number(h.egress), "ingress": _number(h.ingress)}
            for h in net.hosts
        ],
        "clock": str(net.clock),
        "measured_at": net.measured_at,
        "measured_with": net.measured_with,
        "sites": [[names[host] for host in site] for site in description.groups(net)],
        "between_sites": {
            quantity: _numbers(description.between(net, quantity)) for quantity in MATRICES
        },
        "asymmetry": {quantity: _asymmetry(net, quantity) for quantity in MATRICES},
        "asymmetric_pairs": dict(
            zip(
                ("latency", "bandwidth"),
                hierarchy.asymmetry(net, grouping.base, grouping.scale),
                strict=True,
            )
        )
        | {"base": grouping.base, "scale": grouping.scale},
        "links": [
            {
                "from": link.from_,
                "to": link.to,
                "long": link.long,
                "fast": link.fast,
                "capacity": _number(link.capacity),
            }
            for link in hierarchy.links(net)
        ],
        "hierarchy": _hierarchy(net, grouping) if len(names) <= hierarchy.MOST_HOSTS else None,
        "latency": _matrix(net.latency_among, len(names), asked="latency" in asked),
        "bandwidth": _matrix(net.bandwidth_among, len(names), asked="bandwidth" in asked),
        "trunks": [
            {
                "name": trunk.name,
                "from": [names[host] for host in trunk.from_],
                "to": [names[host] for host in trunk.to],
                "capacity": _number(trunk.capacity),
            }
            for trunk in net.trunks
        ],
        "native_times": [
            {
                "library": native.library,
                "collective": native.collective,
                "size": native.size,
                "time": native.time,
            }
            for native in net.native_times
        ],
    }


def _hierarchy(net: Network, grouping: Grouping) -> dict[str, Any]:
    built = grouping.build(net)
    names = [host.name for host in net.hosts]
    return {
        "size": grouping.size,
        "base": grouping.base,
        "most_span": grouping.most_span,
        "adjust": grouping.adjust,
        "scale": grouping.scale,
        "levels": [
            {
                "boundary": level.boundary,
                "network": network_class,
                "groups": [[names[host] for host in group] for group in level.groups],
            }
            for level, network_class in zip(built.levels, built.classes(net), strict=True)
        ],
    }


def _asymmetry(net: Network, quantity: Quantity) -> dict[str, Any]:
    ratio, i, j = description.worst_asymmetry(net, quantity)
    hosts = net.hosts
    return {"ratio": _number(ratio), "from": hosts[i].name, "to": hosts[j].name}


def _matrix(
    among: Callable[[Sequence[int]], Floats], hosts: int, *, asked: bool
) -> list[list[float | None]] | None:
    is_shown = asked or hosts**2 <= console.MOST_PAIRS
    return _numbers(among(range(hosts))) if is_shown else None


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _numbers(values: Floats) -> list[list[float | None]]:
    return [[_number(value) for value in row] for row in values]
