"""KaHIP's process mapping, a rival of placements: for uniform trees of hosts, as its targets are.

Python package `kahip` (MIT) brings its library, whose Python module doesn't have this function.
Source: Schulz, Träff: Better Process Mapping and Sparse Quadratic Assignment.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thalweg.mapping import Communication
from thalweg.network import Network

STRONG, MULTISECTION = 2, 0
SUM_OF_WEIGHTS = 1e8  # it adds up products of weights and distances in 32 or 64 bits
FARTHEST = 20
"""The largest distance between hosts, in those of two ranks on one host."""


@cache
def library() -> ctypes.CDLL | None:
    """KaHIP's library; None if the package isn't installed."""
    try:
        files = importlib.metadata.files("kahip") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == "libkahip.so":
            return ctypes.CDLL(str(Path(str(file.locate()))))
    return None


def place(net: Network, program: Communication, placement: Sequence[int]) -> list[int] | None:
    """Places the ranks on the slots that another placement uses.

    None if KaHIP isn't installed, or if the hosts have unequal numbers of slots. Sites of unequal
    sizes are no sites to it: its trees are uniform.
    """
    kahip = library()
    used = Counter(placement)
    if kahip is None or len(set(used.values())) > 1:
        return None
    hosts, tree, distances = _tree(net, list(used), next(iter(used.values())))
    first, neighbours, weights = _graph(net, program)
    ranks = program.ranks
    part = np.zeros(ranks, np.int32)
    cut, cost = ctypes.c_int(0), ctypes.c_int(0)
    kahip.process_mapping(
        ctypes.byref(ctypes.c_int(ranks)), None, _pointer(first), _pointer(weights),
        _pointer(neighbours), _pointer(tree), _pointer(distances), len(tree), STRONG, MULTISECTION,
        ctypes.byref(ctypes.c_double(0.0)), ctypes.c_bool(True), 1, ctypes.byref(cut),
        ctypes.byref(cost), _pointer(part),
    )  # fmt: skip
    return _made_to_fit([hosts[number // tree[0]] for number in part.tolist()], used)


def _made_to_fit(placement: list[int], slots: Counter[int]) -> list[int]:
    """Moves ranks from hosts that have too many, as KaHIP's results now and then do."""
    left = Counter(slots)
    moved = []
    for rank, host in enumerate(placement):
        if left[host]:
            left[host] -= 1
        else:
            moved.append(rank)
    free = list(left.elements())
    for rank, host in zip(moved, free, strict=True):
        placement[rank] = host
    return placement


def _tree(
    net: Network, used: list[int], slots: int
) -> tuple[list[int], NDArray[np.int32], NDArray[np.int32]]:
    """The hosts, site by site, and the tree over their slots with a distance for each level."""
    by_site = [[host for host in site if host in used] for site in net.sites]
    sites = [site for site in by_site if site]
    latency = net.latency
    if len(sites) < 2 or len(set(map(len, sites))) > 1 or len(sites[0]) == 1:
        return used, _ints([slots, len(used)]), _ints([1, 10])
    inside = np.mean([latency[np.ix_(s, s)].sum() / (len(s) * (len(s) - 1)) for s in sites])
    between = np.mean([latency[np.ix_(a, b)].mean() for a in sites for b in sites if a is not b])
    farther = min(FARTHEST, max(2, round(float(between / inside))))
    hosts = [host for site in sites for host in site]
    return hosts, _ints([slots, len(sites[0]), len(sites)]), _ints([1, 10, 10 * farther])


def _graph(
    net: Network, program: Communication
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Pairs of ranks, each with what its messages take on a middling pair of hosts."""
    apart = ~np.eye(len(net.hosts), dtype=bool)
    latency, seconds = net.latency[apart].mean(), (1 / net.bandwidth[apart]).mean()
    both: dict[tuple[int, int], float] = {}
    pairs = zip(program.sender.tolist(), program.receiver.tolist(),
                program.messages.tolist(), program.nbytes.tolist(), strict=True)  # fmt: skip
    for sender, receiver, messages, nbytes in pairs:
        for pair in ((sender, receiver), (receiver, sender)):
            both[pair] = both.get(pair, 0.0) + messages * latency + nbytes * seconds
    scale = SUM_OF_WEIGHTS / sum(both.values())
    ordered = sorted(both)
    first = np.searchsorted([a for a, _ in ordered], range(program.ranks + 1))
    weights = [max(1, round(both[pair] * scale)) for pair in ordered]
    return _ints(first), _ints([b for _, b in ordered]), _ints(weights)


def _ints(values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int32]:
    return np.ascontiguousarray(values, np.int32)


def _pointer(values: NDArray[np.int32]) -> ctypes.c_void_p:
    return values.ctypes.data_as(ctypes.c_void_p)
