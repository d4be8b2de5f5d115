"""Puts many ranks or hosts into few rows; hosts stay whole."""

from collections.abc import Sequence
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

    @property
    def count(self) -> int:
        return len(self.labels)

    def axis(self, title: str) -> Axis:
        return Axis(title, self.labels, self.groups)

    @property
    def single(self) -> bool:
        """Whether each item has a row of its own."""
        return self.count == len(self.of)


def of_ranks(hosts: Sequence[str], sites: Sequence[str] = (), most: int = MOST) -> Bins:
    """Rows for ranks, ordered by site and host: a rank each, a host each, or several hosts each.

    `hosts` and `sites` are each rank's; no sites: one.
    """
    first: dict[tuple[str, str], int] = {}
    places = list(zip(sites or [""] * len(hosts), hosts, strict=True))
    site_first: dict[str, int] = {}
    for rank, place in enumerate(places):
        first.setdefault(place, rank)
        site_first.setdefault(place[0], rank)
    order = sorted(
        range(len(hosts)), key=lambda rank: (site_first[places[rank][0]], first[places[rank]], rank)
    )
    of = np.zeros(len(hosts), np.int64)
    if len(hosts) <= most:
        of[order] = np.arange(len(hosts))
        by_host = [places[rank] for rank in order]
        return Bins([f"rank {rank}" for rank in order], of, _runs([host for _, host in by_host]))
    number = {place: at for at, place in enumerate(dict.fromkeys(places[rank] for rank in order))}
    rows = _even(len(number), most)
    of[:] = [rows[number[place]] for place in places]
    names = _names([host for _, host in number], rows)
    return Bins(names, of, _site_groups(list(number), rows))


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


def _site_groups(places: Sequence[tuple[str, str]], rows: Numbers) -> list[tuple[str, int]]:
    site_of = {int(row): site for (site, _), row in zip(places, rows, strict=True)}
    runs = _runs([site_of[row] for row in sorted(site_of)])
    return runs if len(runs) > 1 else []


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
