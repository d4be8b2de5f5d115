"""Draws what a placement changes: the communication matrix by hosts, and the traffic over the
hierarchy, before and after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thalweg import communication, communication_picture
from thalweg.communication import Quantity
from thalweg.communication_picture import Panel
from thalweg.drawing import svg, text
from thalweg.mapping import Communication
from thalweg.network import Network
from thalweg.report import bins

BEFORE, AFTER = "#0072b2", "#d55e00"
"""Blue and vermilion after Okabe and Ito."""
WIDTH, BAR, ROW = 360, 11, 34
LEFT = 150
PLACES = ("inside hosts", "between hosts of a site", "between sites")


@dataclass(frozen=True)
class NamedPlacement:
    """A placement with the name that the picture gives it."""

    name: str
    hosts: Sequence[str]
    """The host of each rank."""


def sites(net: Network) -> dict[str, str]:
    """Returns each host's site, by names; nothing if sites aren't known."""
    names = [host.name for host in net.hosts]
    return {names[host]: f"site {at}" for at, site in enumerate(net.sites) for host in site}


def known(site_of: Mapping[str, str], *placed: NamedPlacement) -> Mapping[str, str]:
    """Returns the sites if those of all hosts are known, else none."""
    return site_of if all(site_of.keys() >= set(each.hosts) for each in placed) else {}


def traffic(
    matrix: Communication, quantity: Quantity, hosts: Sequence[str], site_of: Mapping[str, str]
) -> dict[str, float]:
    """Returns how much stays inside hosts, goes between hosts of a site, and between sites.

    Where `site_of` is empty the second is all between hosts.
    """
    values = communication.values(matrix, quantity)
    across = _differ(hosts, matrix)
    far = _differ([site_of[host] for host in hosts], matrix) if site_of else np.zeros_like(across)
    inside, between = float(values[~across].sum()), float(values[across & ~far].sum())
    if not site_of:
        return {PLACES[0]: inside, "between hosts": between}
    return dict(zip(PLACES, (inside, between, float(values[far].sum())), strict=True))


def _differ(
    names: Sequence[str], matrix: Communication
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Returns which pairs are in different places."""
    numbers = np.unique(names, return_inverse=True)[1]
    differ: np.ndarray[tuple[int], np.dtype[np.bool_]] = (
        numbers[matrix.sender] != numbers[matrix.receiver]
    )
    return differ


def placement(
    matrix: Communication,
    before: NamedPlacement,
    after: NamedPlacement,
    site_of: Mapping[str, str] = {},
    most: int = communication_picture.MOST_CELLS,
) -> str:
    """Draws both matrices, their ranks by host in at most `most` rows, and below them the traffic.

    Hosts have the order of `before` in both.
    """
    quantity = communication.usual(matrix)
    site_of = known(site_of, before, after)
    order = list(dict.fromkeys(before.hosts))
    found = [_panel(matrix, quantity, each, site_of, order, most) for each in (before, after)]
    width, height, parts = communication_picture.layout(found, quantity)
    own_width, own_height, bars = _bars(matrix, quantity, (before, after), site_of)
    parts.append(f'<g transform="translate(0,{height + 10:g})">{"".join(bars)}</g>')
    return svg(max(width, own_width), height + 10 + own_height, parts)


def _panel(
    matrix: Communication,
    quantity: Quantity,
    placed: NamedPlacement,
    site_of: Mapping[str, str],
    order: Sequence[str],
    most: int,
) -> Panel:
    of_ranks = [site_of[host] for host in placed.hosts] if site_of else ()
    rows = bins.of_ranks(placed.hosts, of_ranks, most, order)
    return communication_picture.panel(placed.name, matrix, quantity, rows)


def _bars(
    matrix: Communication,
    quantity: Quantity,
    placed: Sequence[NamedPlacement],
    site_of: Mapping[str, str],
) -> tuple[float, float, list[str]]:
    """Returns width, height and parts."""
    to_text = communication.to_text(quantity)
    sums = [traffic(matrix, quantity, each.hosts, site_of) for each in placed]
    total = sum(sums[0].values()) or 1.0
    parts = [text(4, 14, f"{quantity} that go")]
    for number, (each, colour) in enumerate(zip(placed, (BEFORE, AFTER), strict=True)):
        top = 22 + 15 * number
        parts.append(f'<rect x="{LEFT}" y="{top}" width="10" height="10" fill="{colour}"/>')
        parts.append(text(LEFT + 16, top + 9, each.name))
    for row, place in enumerate(sums[0]):
        top = 60 + ROW * row
        parts.append(text(LEFT - 8, top + BAR + 3, place, "end"))
        for number, (own, colour) in enumerate(zip(sums, (BEFORE, AFTER), strict=True)):
            y, long = top + BAR * number, WIDTH * own[place] / total
            parts.append(
                f'<rect x="{LEFT}" y="{y}" width="{long:.1f}" height="{BAR - 1}" fill="{colour}"/>'
            )
            words = f"{to_text(own[place])} ({own[place] / total:.0%})"
            parts.append(text(LEFT + long + 5, y + 9, words))
    return LEFT + WIDTH + 110, 60 + ROW * len(sums[0]), parts
