"""Binds ranks to cores of their hosts by what they send each other: placement, one level down."""

import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from thalweg import mapping
from thalweg._core import mapping as _core
from thalweg._core.mapping import Core
from thalweg.errors import UserError, user_errors
from thalweg.files import is_file
from thalweg.mapping import Communication

__all__ = ["Core", "bind", "has_hwloc"]


def has_hwloc() -> bool:
    """Whether this build has hwloc, which knows the inside of hosts."""
    return _core.has_hwloc()


@user_errors()
def bind(
    matrix: Communication, hosts: Sequence[str], topology: str, *, alike: bool
) -> Sequence[Core]:
    """Returns a core for each rank, whose host is given; all hosts are alike inside.

    The ranks of a host are spread over its cores evenly; which of them has which core is decided
    as their hosts are (src/mapping/topology.hpp). topology: "this", a file of lstopo's, or hwloc's
    synthetic description. alike: the n-th rank of every host has the same core, for launchers that
    take one list for all hosts.
    Raises UserError for a topology that can't be read.
    """
    if topology.endswith(".xml") and not is_file(Path(topology)):
        raise UserError(f"topology {topology}: no such file; make it with `lstopo {topology}`")
    members: dict[str, list[int]] = {}
    for rank, host in enumerate(hosts):
        members.setdefault(host, []).append(rank)
    number = np.zeros(len(hosts), np.int64)  # among the ranks of its host
    place = np.zeros(len(hosts), np.int64)  # that of its host in members
    for at, ranks in enumerate(members.values()):
        number[ranks], place[ranks] = np.arange(len(ranks)), at
    sender, receiver = matrix.sender, matrix.receiver
    near = np.flatnonzero(place[sender] == place[receiver])
    if alike:
        groups, pairs = [list(members.values())], [near]
    else:
        groups = [[ranks] for ranks in members.values()]
        near = near[np.argsort(place[sender[near]], kind="stable")]
        pairs = np.split(near, np.searchsorted(place[sender[near]], np.arange(1, len(groups))))
    cores: list[Core | None] = [None] * len(hosts)
    of_count = functools.cache(lambda count: _core.inside(topology, count))  # reads the topology
    for group, own in zip(groups, pairs, strict=True):
        count = max(map(len, group))
        inside = of_count(count)
        found = mapping.place(
            inside.network,
            mapping.communication(
                count, number[sender[own]], number[receiver[own]],
                matrix.messages[own], matrix.nbytes[own], matrix.phase[own],
            ),
            [1] * count,
        )  # fmt: skip
        for ranks in group:
            for rank, core in zip(ranks, found.placement, strict=False):
                cores[rank] = inside.cores[core]
    return [core for core in cores if core is not None]
