"""Clouds as uneven as CloudMap's Figures 1 to 3 show them, which change over the day."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

from bench import drift
from thalweg.lab import scenario
from thalweg.lab.scenario import Scenario
from thalweg.network import Network

HOSTS = 8
NIC = 200  # Mbit/s
LEAST_LATENCY = 0.5  # ms
NARROWEST = 3.0
"""The largest ratio of the bandwidths of two pairs."""
times_of_day = ("morning", "evening")
spreads = {
    "uneven-pairs": (16.0, False, (5, 13)),
    "uneven-ways": (8.0, True, (34, 0)),
}
"""The largest ratio of the latencies of two pairs; whether those of the two directions differ, too;
and the seeds of morning and evening. CloudMap's Figure 1 has pairs that take four times as long at
some times of a day; other clouds have directions that differ (CMPI, section 3.2). The seeds are
those of 40 for which costs promise most, of lu and of mg."""

Matrix = list[list[float]]


def _drawn(draw: random.Random, hosts: int, most: float, *, directed: bool) -> Matrix:
    """Factors of all ordered pairs, from 1 to `most`, even on a logarithmic scale."""
    factors = [[1.0] * hosts for _ in range(hosts)]
    for a, b in product(range(hosts), repeat=2):
        if a < b or (directed and a != b):
            factors[a][b] = most ** draw.random()
        elif a > b:
            factors[a][b] = factors[b][a]
    return factors


def _pairs(name: str, time: str, hosts: int) -> tuple[Matrix, Matrix]:
    """Returns latencies in milliseconds and bandwidths in megabits per second."""
    spread, directed, seeds = spreads[name]
    draw = random.Random(f"uneven {seeds[times_of_day.index(time)]}")
    slower = _drawn(draw, hosts, spread, directed=directed)
    narrower = _drawn(draw, hosts, NARROWEST, directed=False)
    return (
        [[round(LEAST_LATENCY * each, 3) for each in row] for row in slower],
        [[round(NIC / each, 1) for each in row] for row in narrower],
    )


def _content(name: str, time: str, hosts: int) -> dict[str, Any]:
    """Returns the content of a network file: what is there at a time of the day."""
    latency, bandwidth = _pairs(name, time, hosts)
    rates = {"egress": f"{NIC}Mbps", "ingress": f"{NIC}Mbps"}
    return {
        "schema": 1,
        "hosts": [{"name": f"vm{host}", **rates} for host in range(hosts)],
        "latency": {"unit": "ms", "matrix": latency},
        "bandwidth": {"unit": "Mbps", "matrix": bandwidth},
    }


def document(name: str) -> dict[str, Any]:
    """Returns the scenario: the morning's network, and a timeline with the evening's."""
    morning, evening = (_content(name, time, HOSTS) for time in times_of_day)
    return {
        "schema": 1,
        "name": name,
        "dilation": 8,
        "network": morning,
        "queues": {"ingress": "512KB", "pair": "512KB"},
        "timeline": drift.step("1000000s", evening),
    }


def cloud(name: str) -> Scenario:
    return scenario.parse(document(name))


def cloud_at(name: str, time: str, hosts: int = HOSTS) -> Scenario:
    """Returns the cloud as it stays from a time of the day on, or one of more hosts drawn alike."""
    content = {"network": _content(name, time, hosts), "timeline": []}
    return scenario.parse(document(name) | content)


def network(name: str, time: str, hosts: int = HOSTS) -> Network:
    """Returns the network that is there at a time of the day, or one of more hosts drawn alike."""
    now: Network = cloud_at(name, time, hosts).network
    return now
