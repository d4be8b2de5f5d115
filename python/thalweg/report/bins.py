"""Puts many ranks or hosts into few rows; hosts stay whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thalweg import description
from thalweg.report.elements import Axis

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

MOST = 192
"""Most rows and columns of a heatmap: more couldn't be told apart, nor pointed at."""


@dataclass(frozen=True)
class Bins:
    """Rows of a heatmap."""

    labels: Sequence[str]
    of: Numbers
    """The row of each item."""
    groups: Sequence[tuple[str, int]] = ()
    """Neighbours that belong together: the ranks of a host, or the hosts of a site."""
    sites: Sequence[tuple[str, int]] = ()
    """Rows of ranks by site, if there are several."""

    @property
    def count(self) -> int:
        return len(self.labels)

    def axis(self, title: str) -> Axis:
        return Axis(title, self.labels, self.groups)

    @property
    def single(self) -> bool:
        """Whether each item has a row of its own."""
        return self.count == len(self.of)


def of_ranks(
    hosts: Sequence[str], sites: Sequence[str] = (), most: int = MOST, order: Sequence[str] = ()
) -> Bins:
    """Rows for ranks by site and host: a rank each, several ranks of a host, or several hosts.

    `hosts` and `sites` are each rank's; no sites: one. Hosts have the order in which `order` names
    them, then that of their first ranks.
    """
    at = {host: number for number, host in enumerate(dict.fromkeys([*order, *hosts]))}
    places = list(zip(sites or [""] * len(hosts), hosts, strict=True))
    site_at: dict[str, int] = {}
    for site, host in places:
        site_at[site] = min(at[host], site_at.get(site, at[host]))
    ranks = sorted(
        range(len(hosts)), key=lambda rank: (site_at[places[rank][0]], at[places[rank][1]], rank)
    )
    members: dict[tuple[str, str], list[int]] = {}
    for rank in ranks:
        members.setdefault(places[rank], []).append(rank)
    if len(hosts) <= most or 2 * len(members) <= most:
        each = 1 if len(hosts) <= most else -(-len(hosts) // (most - len(members)))
        return _within_hosts(members, each)
    of = np.zeros(len(hosts), np.int64)
    rows = _even(len(members), most)
    for row, inside in zip(rows, members.values(), strict=True):
        of[inside] = row
    groups = _groups([site for site, _ in members], rows)
    several = groups if len(groups) > 1 else []
    return Bins(_names([host for _, host in members], rows), of, several, several)


def _within_hosts(members: Mapping[tuple[str, str], Sequence[int]], each: int) -> Bins:
    """Rows of at most `each` ranks of a host."""
    of = np.zeros(sum(map(len, members.values())), np.int64)
    labels: list[str] = []
    hosts, sites = [], []
    for (site, host), ranks in members.items():
        for first in range(0, len(ranks), each):
            own = ranks[first : first + each]
            of[own] = len(labels)
            labels.append(f"rank {description.span([str(rank) for rank in own])}")
            hosts.append(host)
            sites.append(site)
    by_site = _runs(sites)
    return Bins(labels, of, _runs(hosts), by_site if len(by_site) > 1 else [])


def in_order(ranks: int, most: int = MOST) -> Bins:
    """Rows for ranks in their order: a rank each, or several."""
    of = _even(ranks, min(ranks, most))
    ends = [np.flatnonzero(np.diff(of, prepend=-1)), np.flatnonzero(np.diff(of, append=ranks))]
    return Bins([str(a) if a == b else f"{a}-{b}" for a, b in zip(*ends, strict=True)], of)


def of_hosts(names: Sequence[str], order: Sequence[int], most: int = MOST) -> Bins:
    """Rows for hosts in an order: a host each, or several."""
    rows = _even(len(order), most)
    of = np.zeros(len(names), np.int64)
    of[list(order)] = rows
    return Bins(_names([names[host] for host in order], rows), of)


def _even(count: int, most: int) -> Numbers:
    """The row of each of `count` items."""
    rows = np.arange(count, dtype=np.int64)
    return rows if count <= most else rows * most // count


def _names(names: Sequence[str], rows: Numbers) -> list[str]:
    members: list[list[str]] = [[] for _ in range(int(rows.max(initial=-1)) + 1)]
    for name, row in zip(names, rows, strict=True):
        members[row].append(name)
    return [description.span(each) for each in members]


def _runs(names: Sequence[str]) -> list[tuple[str, int]]:
    runs: list[tuple[str, int]] = []
    for name in names:
        if runs and runs[-1][0] == name:
            runs[-1] = (name, runs[-1][1] + 1)
        else:
            runs.append((name, 1))
    return runs


def _groups(names: Sequence[str], rows: Numbers) -> list[tuple[str, int]]:
    """Returns the runs of rows of which the last item has the same name."""
    name_of = {int(row): name for name, row in zip(names, rows, strict=True)}
    return _runs([name_of[row] for row in sorted(name_of)])


def total(bins: Bins, rows: Numbers, columns: Numbers, values: Floats) -> Floats:
    """Adds up the values of pairs of items; NaN where there are none."""
    found = np.zeros((bins.count, bins.count))
    np.add.at(found, (bins.of[rows], bins.of[columns]), values)
    return np.where(found > 0, found, np.nan)


def mean(bins: Bins, matrix: Floats) -> Floats:
    """Returns each cell's mean over its pairs of different items, without infinities."""
    known = np.isfinite(matrix) & ~np.eye(len(matrix), dtype=bool)
    sums = _blocks(bins, np.where(known, matrix, 0.0))
    counts = _blocks(bins, known.astype(float))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _blocks(bins: Bins, matrix: Floats) -> Floats:
    order = np.argsort(bins.of, kind="stable")
    starts = np.searchsorted(bins.of[order], np.arange(bins.count))
    rows: Floats = np.add.reduceat(matrix[order], starts, axis=0)
    found: Floats = np.add.reduceat(rows[:, order], starts, axis=1)
    return found
