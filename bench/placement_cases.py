"""Communication matrices of usual patterns, and networks to place them on, drawn from seeds."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

import numpy as np

from bench import families
from bench.networks import Draw, megabit
from thalweg import mapping
from thalweg.mapping import Communication
from thalweg.network import Network, Trunk, even_network

# Matrices --------------------------------------------------------------------------------------

Pairs = Iterator[tuple[int, int, float, float]]
"""Sender, receiver, messages, bytes."""


def grid(ranks: int, dimensions: int) -> list[int]:
    """Returns the sides of a grid, as equal as the ranks allow."""
    sides: list[int] = []
    for left in range(dimensions, 0, -1):
        side = round(ranks ** (1 / left))
        while ranks % side:
            side -= 1
        sides.append(side)
        ranks //= side
    return sides


def stencil(ranks: int, draw: Draw, dimensions: int) -> Pairs:
    """Each rank with its neighbours in a grid; more bytes in some dimensions than in others."""
    at = np.arange(ranks).reshape(grid(ranks, dimensions))
    for axis in range(dimensions):
        nbytes = 100 * draw.choice([8e3, 32e3, 128e3])
        low = np.take(at, range(at.shape[axis] - 1), axis).ravel()
        high = np.take(at, range(1, at.shape[axis]), axis).ravel()
        for a, b in zip(low.tolist(), high.tolist(), strict=True):
            yield a, b, 100, nbytes
            yield b, a, 100, nbytes


def wavefront(ranks: int, draw: Draw) -> Pairs:
    """Sweeps over a grid in one direction, as LU's, of many small messages."""
    for a, b, _, nbytes in stencil(ranks, draw, 2):
        if a < b:
            yield a, b, 2000, nbytes / 4


def butterfly(ranks: int, draw: Draw) -> Pairs:
    """Partners that differ in one bit, with more bytes the nearer they are."""
    growth = draw.choice([1, 2])
    for rank, bit in itertools.product(range(ranks), range((ranks - 1).bit_length())):
        if rank ^ 1 << bit < ranks:
            yield rank, rank ^ 1 << bit, 50, 5e6 / growth**bit


def transpose(ranks: int, draw: Draw) -> Pairs:
    """A grid's rows and columns, of at most 32 ranks, exchange everything, as a 2-D FFT's do."""
    rows, columns = grid(ranks, 2)
    block = min(columns, draw.choice([8, 16, 32]))
    for rank in range(ranks):
        row, column = divmod(rank, columns)
        first = row * columns + column // block * block
        for other in range(first, min(first + block, (row + 1) * columns)):
            if other != rank:
                yield rank, other, 20, 1e6
        if column < rows and row < columns:
            yield rank, column * columns + row, 20, 4e6


def random_sparse(ranks: int, draw: Draw) -> Pairs:
    """Six receivers of each rank, anywhere."""
    for rank, _ in itertools.product(range(ranks), range(6)):
        yield rank, draw.randrange(ranks), draw.randint(1, 100), 1e3 * draw.randint(1, 5000)


def power_law(ranks: int, draw: Draw) -> Pairs:
    """Few ranks have many partners, as in graphs of the web; partners of new ranks are old ones."""
    ends = [0]
    for rank in range(1, ranks):
        for _ in range(4):
            other = draw.choice(ends)
            yield rank, other, 100, 1e3 * draw.randint(1, 2000)
            yield other, rank, 100, 1e3 * draw.randint(1, 2000)
            ends.append(other)
        ends.append(rank)


patterns: dict[str, Callable[[int, Draw], Pairs]] = {
    "stencil-2d": lambda ranks, draw: stencil(ranks, draw, 2),
    "stencil-3d": lambda ranks, draw: stencil(ranks, draw, 3),
    "wavefront": wavefront,
    "butterfly": butterfly,
    "transpose": transpose,
    "random": random_sparse,
    "power-law": power_law,
}


def matrix(pattern: str, ranks: int, seed: int) -> Communication:
    """Draws the matrix of a pattern."""
    draw = random.Random(f"{pattern} {ranks} {seed}")
    columns = list(zip(*patterns[pattern](ranks, draw), strict=True))
    return mapping.communication(ranks, *columns)


# Networks --------------------------------------------------------------------------------------


def uneven(draw: Draw, hosts: int) -> Network:
    """Virtual machines of which each pair is different, and each direction, as in CloudMap's
    Figure 2; no site is known."""
    net = even_network(hosts, 150e-6, 2000 * megabit)
    spread = draw.uniform(0.2, 0.6)
    noise = np.random.default_rng(draw.randrange(1 << 30))
    net.latency *= noise.lognormal(0, spread, (hosts, hosts))
    net.bandwidth *= np.minimum(1, noise.lognormal(-spread, spread, (hosts, hosts)))
    net.sites = []
    return net


def racks(draw: Draw, hosts: int) -> Network:
    """Four sites of four racks, with uneven directions: latencies 2 ms, 120 us and 40 us."""
    net = even_network(hosts, 40e-6, 10000 * megabit)
    at = np.arange(hosts)
    rack, site = at * 16 // hosts, at * 4 // hosts
    far, near = site[:, None] != site, rack[:, None] == rack
    noise = np.random.default_rng(draw.randrange(1 << 30)).lognormal(0, 0.3, (hosts, hosts))
    net.latency = np.where(far, 2e-3, np.where(near, 40e-6, 120e-6)) * noise * (1 - np.eye(hosts))
    net.bandwidth = np.where(far, 1000, np.where(near, 10000, 4000)) * megabit / noise
    net.sites = [np.flatnonzero(site == each).tolist() for each in sorted(set(site.tolist()))]
    return net


drawn_from = {
    "uneven": uneven,
    "cloud": families.cloud,
    "racks": racks,
    "nested": families.nested,
    "star": families.star,
    "slow-direction": families.slow_direction,
    "fat-tree": families.fat_tree,
    "slow-port": families.slow_port,
}


def network(seed: int, hosts: int) -> tuple[str, Network]:
    """Draws a network; seeds take the families in turn. Hosts are in no order."""
    name = list(drawn_from)[seed % len(drawn_from)]
    draw = random.Random(f"{name} {hosts} {seed}")
    return f"{name}-{hosts}-{seed}", shuffled(drawn_from[name](draw, hosts), draw)


def shuffled(net: Network, draw: Draw) -> Network:
    """Lists the hosts in another order."""
    order = draw.sample(range(len(net.hosts)), len(net.hosts))
    place = {host: at for at, host in enumerate(order)}
    hosts = net.hosts
    other = Network(
        [hosts[host] for host in order],
        net.latency[order][:, order],
        net.bandwidth[order][:, order],
    )
    other.trunks = [
        Trunk(t.name, [place[h] for h in t.from_], [place[h] for h in t.to], t.capacity, t.senders)
        for t in net.trunks
    ]
    other.sites = [[place[host] for host in site] for site in net.sites]
    return other
