"""Clouds over two days: each pair of hosts keeps its latency and rate for hours, then has others.

The changes are steps, as those of a scenario's `timeline` (docs/scenario-file.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.network import Network

hours = 48
ticks = [(float(at), str(at)) for at in range(0, hours + 1, 12)]
"""The ticks of an axis of hours."""
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Drift:
    """How pairs change: levels are factors of what the pair has on the mean."""

    steady: float
    """Hours that a pair keeps a level, on the mean."""
    latency: float
    """Standard deviation of the logarithm of a latency's levels."""
    bandwidth: float
    """Standard deviation of the logarithm of a rate's levels."""
    directed: bool
    """Whether the two directions of a pair change apart from each other."""

    def networks(
        self, net: Network, seed: int, every: float = 1.0
    ) -> Iterator[tuple[float, Network]]:
        """Yields the network at the beginning, and after each `every` hours of the two days."""
        draw = np.random.default_rng(seed)
        latency, bandwidth = self._levels(draw, net), self._levels(draw, net)
        for step in range(round(hours / every)):
            if step:
                changes = draw.random(latency.shape) < 1 - np.exp(-every / self.steady)
                changes = self._alike(changes)
                latency = np.where(changes, self._levels(draw, net), latency)
                bandwidth = np.where(changes, self._levels(draw, net), bandwidth)
            yield step * every, self._network(net, latency, bandwidth)

    def _levels(self, draw: np.random.Generator, net: Network) -> Matrix:
        levels: Matrix = self._alike(draw.standard_normal((len(net.hosts), len(net.hosts))))
        return levels

    def _alike(self, matrix: Matrix) -> Matrix:
        return matrix if self.directed else np.triu(matrix) + np.triu(matrix, 1).T

    def _network(self, net: Network, latency: Matrix, bandwidth: Matrix) -> Network:
        """Returns the network at these levels; no pair gets faster than its hosts are."""
        ports = np.minimum.outer(
            [host.egress for host in net.hosts], [host.ingress for host in net.hosts]
        )
        found = Network(
            net.hosts,
            net.latency * np.exp(self.latency * latency),
            np.minimum(net.bandwidth * np.exp(self.bandwidth * bandwidth), ports),
        )
        found.trunks, found.sites, found.message_costs = net.trunks, net.sites, net.message_costs
        np.fill_diagonal(found.bandwidth, np.diag(net.bandwidth))
        return found


band = Drift(steady=6.0, latency=0.15, bandwidth=0.1, directed=True)
"""As CMPI describes Amazon EC2 (section 3.2): a pair stays within a band."""
jumps = Drift(steady=4.0, latency=0.5, bandwidth=0.2, directed=False)
"""As CloudMap's Figure 1 describes Azure: most latencies quadruple within a day, rates change less,
the two directions are alike, and all is steady for some hours."""


def step(at: str, content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the changes of a timeline at a time, after which all pairs are as in a network file.

    @param content: The network file's; it has all pairs.
    """
    names = [host["name"] for host in content["hosts"]]
    latency, bandwidth = content["latency"], content["bandwidth"]
    return [
        {
            "at": at, "from": [names[a]], "to": [names[b]],
            "latency": f"{latency['matrix'][a][b]}{latency['unit']}",
            "bandwidth": f"{bandwidth['matrix'][a][b]}{bandwidth['unit']}",
        }
        for a, b in permutations(range(len(names)), 2)
    ]  # fmt: skip
