"""Clouds, programs and placements of the page of CloudMap's figures, and what they cost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from bench import drift
from bench.networks import megabit
from bench.placement_cases import matrix, patterns, shuffled, uneven
from thalweg import mapping
from thalweg.mapping import Communication
from thalweg.network import Host, Network

baseline = "interleave"
"""The paper's: it deals ranks out in turn."""
methods = (baseline, "block", "random", "scotch", "thalweg")
versions = {"scotch, bandwidth": "bandwidth", "scotch, latency": "latency"}
"""CloudMap's two versions (its section V-C), and what a message costs in them: Scotch gets bytes
and rates, or numbers of messages and latencies. The method "scotch" gets all of that at once."""
larger = (162 / 102) ** 2
"""By how much faces grow from input B to input C, whose grids have 102 and 162 points a side."""
usual_rate = 2000 * megabit  # of the hosts of `uneven`
days, recorded, by_smpi = "12", "4", "4, SMPI"
"""Figures whose parts don't have costs in one setting; the last one's programs run under SMPI."""


@dataclass(frozen=True)
class Instances:
    """A figure's setting."""

    figure: str
    name: str
    hosts: int
    slots: int
    rate: float = usual_rate
    bytes: float = 1.0  # of each message, in those of input B

    @property
    def ranks(self) -> int:
        return self.hosts * self.slots


settings_of_paper = tuple(
    Instances(figure, f"{name}, input {'C' if size > 1 else 'B'}", hosts, slots, rate, size)
    for figure, name, hosts, slots, rate, size in (
        ("6", "8 A7", 8, 8, usual_rate, 1.0),
        ("7", "8 A7", 8, 8, usual_rate, larger),
        ("8", "32 A7", 32, 8, usual_rate, 1.0),
        ("9", "32 A7", 32, 8, usual_rate, larger),
        ("10a", "32 A8", 32, 8, 5 * usual_rate, 1.0),
        ("10b", "32 A8", 32, 8, 5 * usual_rate, larger),
        ("11a", "8 G5", 8, 32, 4 * usual_rate, 1.0),
        ("11b", "8 G5", 8, 32, 4 * usual_rate, larger),
    )
)
two_days = Instances(days, "32 A8, input C", 32, 8, 5 * usual_rate, larger)


@dataclass(frozen=True)
class Case:
    """Costs in seconds by method, on one network; `hour`: of the two days."""

    pattern: str
    seed: int
    hour: float
    costs: dict[str, float]


def network(of: Instances, draw: random.Random) -> Network:
    """An uneven cloud whose hosts are as fast as asked, listed in no order."""
    net = uneven(draw, of.hosts)
    factor = of.rate / usual_rate
    net.hosts = [Host(h.name, h.egress * factor, h.ingress * factor) for h in net.hosts]
    net.bandwidth = net.bandwidth * factor
    return shuffled(net, draw)


def program(of: Instances, pattern: str, seed: int) -> Communication:
    drawn = matrix(pattern, of.ranks, seed)
    nbytes = [each * of.bytes for each in drawn.nbytes]
    return mapping.communication(of.ranks, drawn.sender, drawn.receiver, drawn.messages, nbytes)


def case_of(of: Instances, pattern: str, seed: int) -> Case:
    net = network(of, random.Random(f"{of.hosts} {pattern} {seed}"))
    return Case(pattern, seed, 0.0, costs(net, program(of, pattern, seed), of))


def costs(net: Network, sent: Communication, of: Instances) -> dict[str, float]:
    """Returns what the placements of all methods cost, those of CloudMap's versions included."""
    found = {method: placed(net, sent, of, method).cost.total for method in methods}
    for version, metric in versions.items():
        placement = placed(net, sent, of, "scotch", metric).placement
        found[version] = mapping.cost_of(net, sent, placement).total
    return found


def placed(
    net: Network, sent: Communication, of: Instances, method: str, metric: str = "both"
) -> mapping.Mapping:
    return mapping.place(net, sent, [of.slots] * of.hosts, method=method, cost=metric)


def over_two_days() -> Iterator[Case]:
    """Each hour with the placement of the first hour, and with one for the hour."""
    for pattern in patterns:
        draw = random.Random(f"days {pattern}")
        first, sent = network(two_days, draw), program(two_days, pattern, 0)
        kept = {
            f"{method}, kept": placed(first, sent, two_days, method).placement
            for method in ("thalweg", "scotch")
        }
        for hour, net in drift.jumps.networks(first, seed=1):
            found = costs(net, sent, two_days)
            found |= {
                name: mapping.cost_of(net, sent, placement).total
                for name, placement in kept.items()
            }
            yield Case(pattern, 0, hour, found)
