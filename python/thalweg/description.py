"""Descriptions of a network that several commands show: sites, names, asymmetry, trunks."""

import functools
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thalweg import hierarchy, units
from thalweg.hierarchy import Quantity
from thalweg.network import Network

Floats = NDArray[np.float64]

MOST_RUNS = 4
"""Groups of consecutive names that a list of hosts shows."""
TRUNK_COLUMNS = ("trunk", "from", "to", "capacity")
"""The columns of trunk_rows()."""


def groups(net: Network) -> list[list[int]]:
    """Returns the sites, or all hosts as one group if none are known."""
    return [list(site) for site in net.sites] or [list(range(len(net.hosts)))]


def between(net: Network, quantity: Quantity) -> Floats:
    """Returns the medians between sites, without a host's values with itself.

    The entry of a site of one host with itself is undefined (NaN).
    """
    sites = groups(net)
    return np.array(
        [[hierarchy.median(*hierarchy.counts(net, quantity, a, b)) for b in sites] for a in sites]
    )


def asymmetry(values: Floats) -> tuple[float, int, int]:
    """Returns the largest ratio of a pair's directions and that pair; (1, 0, 0) for one host.

    A pair of which both directions are unlimited has the ratio 1.
    """
    even = np.eye(len(values), dtype=bool) | (np.isinf(values) & np.isinf(values.T))
    values = np.where(even, 1, values)
    ratio = values / np.maximum(values.T, 1e-12)
    i, j = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    return float(ratio[i, j]), int(i), int(j)


def worst_asymmetry(net: Network, quantity: Quantity) -> tuple[float, int, int]:
    """asymmetry() of a network's latency or bandwidth."""
    some = net.representatives()
    among = net.latency_among if quantity == "latency" else net.bandwidth_among
    ratio, i, j = asymmetry(among(some))
    return ratio, some[i], some[j]


def site_names(net: Network) -> list[str]:
    """Names each site by its hosts' names: "west0..west7"."""
    hosts = net.hosts
    return [span([hosts[host].name for host in site]) for site in groups(net)]


def span(names: Sequence[str]) -> str:
    """Shortens a list of names: "west0..west7", "vm1, vm4..vm6", "a, b, c and 9 more"."""
    runs: list[list[str]] = []
    for name in names:
        if runs and _follows(runs[-1][-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    parts = [run[0] if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in runs]
    if len(parts) <= MOST_RUNS:
        return ", ".join(parts)
    shown = sum(len(run) for run in runs[: MOST_RUNS - 1])
    return f"{', '.join(parts[: MOST_RUNS - 1])} and {len(names) - shown} more"


def _follows(name: str, other: str) -> bool:
    """Whether "vm4" comes right after "vm3"."""
    parts = [re.fullmatch(r"(.*?)(\d+)", each) for each in (name, other)]
    first, second = parts
    if not first or not second or first[1] != second[1]:
        return False
    return int(second[2]) == int(first[2]) + 1


def trunk_rows(net: Network) -> list[list[str]]:
    """Returns a row per trunk, with the columns TRUNK_COLUMNS."""
    hosts = net.hosts

    @functools.cache  # many trunks have an end in common
    def end(group: tuple[int, ...]) -> str:
        return span([hosts[host].name for host in group])

    return [
        [
            trunk.name,
            *(end(tuple(group)) for group in (trunk.from_, trunk.to)),
            units.rate_to_text(trunk.capacity),
        ]
        for trunk in net.trunks
    ]


def asymmetry_text(
    net: Network, base: float = hierarchy.BASE, scale: hierarchy.Scale = "linear"
) -> str:
    """Says how many pairs differ in level (hierarchy.build()), and the worst one."""
    latency, bandwidth = hierarchy.asymmetry(net, base, scale)
    text = (
        f"Asymmetric pairs ({scale} levels at k = {base:g}): {latency:.1%} in latency, "
        f"{bandwidth:.1%} in bandwidth"
    )
    worst, i, j = worst_asymmetry(net, "latency")
    if worst > 1:
        hosts = net.hosts
        names = [hosts[host].name for host in (i, j)]
        times = units.factor_to_text(worst)
        text += f"; latency {' -> '.join(names)} is {times} times that of its reverse"
    return text + "."
