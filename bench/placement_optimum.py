"""The least cost of any placement, by trying all of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from thalweg.mapping import Communication
from thalweg.network import Network

at_a_time = 100_000  # placements
Placements = NDArray[np.int8]
"""A row for each placement: the host of each rank."""


def all_placements(ranks: int, hosts: int, slots: int) -> Iterator[Placements]:
    """Yields all placements that keep capacities, some at a time."""

    def grown(front: list[int], left: list[int]) -> Iterator[list[int]]:
        if len(front) == ranks:
            yield front
            return
        for host in range(hosts):
            if left[host]:
                left[host] -= 1
                yield from grown([*front, host], left)
                left[host] += 1

    every = grown([], [slots] * hosts)
    while some := list(itertools.islice(every, at_a_time)):
        yield np.array(some, np.int8)


def costs_of(net: Network, program: Communication, placements: Placements) -> NDArray[np.float64]:
    """Returns the costs by their definition, independently of src/mapping."""
    hosts = net.hosts
    ports = [(1 / host.egress, 1 / host.ingress) for host in hosts]
    waits = np.zeros((program.ranks, len(placements)))  # in the one phase that patterns have
    busy = np.zeros((2 * len(hosts) + len(net.trunks), len(placements)))
    behind = [(np.isin(range(len(hosts)), t.from_), np.isin(range(len(hosts)), t.to))
              for t in net.trunks]  # fmt: skip
    message = net.latency * (1 - np.eye(len(hosts)))
    byte = 1 / net.bandwidth * (1 - np.eye(len(hosts)))
    entries = zip(program.sender, program.receiver, waited(program), program.nbytes, strict=True)
    for sender, receiver, messages, nbytes in entries:
        a, b = placements[:, sender], placements[:, receiver]
        waits[receiver] += messages * message[a, b] + nbytes * byte[a, b]
        apart = nbytes * (a != b)
        for host, (out, into) in enumerate(ports):
            busy[2 * host] += apart * (a == host) * out
            busy[2 * host + 1] += apart * (b == host) * into
        for at, (from_, to) in enumerate(behind):
            busy[2 * len(hosts) + at] += apart * from_[a] * to[b] / net.trunks[at].capacity
    pairs: NDArray[np.float64] = np.sqrt((waits**2).mean(axis=0))
    load: NDArray[np.float64] = (busy**8).sum(axis=0) ** (1 / 8)
    return pairs + load


def waited(program: Communication) -> NDArray[np.float64]:
    """Returns the messages of each pair whose latency is waited for: one where nothing flows back,
    not even through others. Without collectives."""
    leads = np.eye(program.ranks, dtype=bool)
    leads[program.sender, program.receiver] = True
    for _ in range(program.ranks.bit_length()):
        leads = leads @ leads
    back = leads[program.receiver, program.sender]
    return np.where(back, program.messages, np.minimum(program.messages, 1))


def optimum(net: Network, program: Communication, slots: int) -> float:
    """Returns the least cost of any placement."""
    every = all_placements(program.ranks, len(net.hosts), slots)
    return min(float(costs_of(net, program, some).min()) for some in every)
