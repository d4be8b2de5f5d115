"""Places a program's ranks and compares with what launchers would do: text and JSON."""

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Mapping as Dictionary
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thalweg import console, inputs, mapping, units
from thalweg import hosts as host_lists
from thalweg.binding import Core
from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.mapping import Mapping
from thalweg.matrices import Program
from thalweg.network import Network
from thalweg.printable import ranges
from thalweg.record import Run

if TYPE_CHECKING:  # otherwise imported for a table: runs are placed without one
    from rich.console import RenderableType
    from rich.table import Table

COMPARED = ("block", "interleave")
"""What launchers do by themselves."""


@dataclass(frozen=True)
class ComparedPlacement:
    """The placement of a program, with those that it is compared with."""

    network: Network
    program: Program
    found: Mapping
    others: Dictionary[str, Mapping]
    """Other placements, by the method that found them."""
    cores: Sequence[Core] = ()
    """The core of each rank; empty if none is chosen."""

    @property
    def hosts(self) -> list[str]:
        """The name of each rank's host, as the network has it."""
        names = [host.name for host in self.network.hosts]
        return [names[host] for host in self.found.placement]


def slots_of(net: Network, hosts: Sequence[Host], ranks: int) -> tuple[list[int], Sequence[int]]:
    """Returns the slots of each of the network's hosts, at most one for each rank, and the hosts'
    numbers as they are listed.

    Raises UserError for an unknown host, or if there are fewer slots than ranks.
    """
    host_lists.placement(hosts, ranks)
    slots = [0] * len(net.hosts)
    indices = inputs.placement(net, [host.name for host in hosts])
    for index, host in zip(indices, hosts, strict=True):
        slots[index] = min(host.slots, ranks)
    return slots, indices


def usual_hosts(net: Network, program: Program) -> list[Host]:
    """Returns the hosts of a recorded run, with as many slots each as it had ranks there. For
    another matrix, or if the network hasn't them all, all hosts of the network, with as many slots
    each as the ranks need."""
    all_hosts = net.hosts
    if program.run:
        with contextlib.suppress(UserError):
            ranks_on = Counter(recorded(net, program.run))
            return [Host(all_hosts[host].name, ranks) for host, ranks in ranks_on.items()]
    slots = -(-program.matrix.ranks // len(all_hosts))
    return [Host(host.name, slots) for host in all_hosts]


def recorded(net: Network, run: Run) -> list[int]:
    """Returns where a recorded run had its ranks. Raises UserError if a host isn't in the
    network."""
    return inputs.placement(net, run.host_of_rank)


def place(
    net: Network,
    program: Program,
    slots: Sequence[int],
    order: Sequence[int],
    *,
    method: str = "thalweg",
    cost: str = "both",
    seed: int = 0,
    pinned: Dictionary[int, int] = {},
    previous: Sequence[int] | None = None,
    migration: float = 0.0,
    native: str = "",
) -> ComparedPlacement:
    """Places a program and compares with what launchers do, by what slots_of() returns.

    native: as for mapping.place(). Raises UserError if it doesn't fit the hosts.
    """
    matrix = program.matrix
    if (
        cost == "latency"
        and not program.calls
        and not matrix.messages.any()
        and matrix.nbytes.any()
    ):
        raise UserError(
            "the matrix has bytes, but no numbers of messages: leave out --cost latency"
        )
    found = {
        name: mapping.place(
            net, matrix, slots, calls=program.calls, method=name, cost=cost, seed=seed,
            pinned=pinned, previous=previous, migration=migration, order=order, native=native,
        )
        for name in dict.fromkeys((method, *COMPARED))
    }  # fmt: skip
    best = found[method]
    if best.usual:  # what is planned for once is known
        found["block"] = dataclasses.replace(best.usual, method="block")
    return ComparedPlacement(net, program, best, {k: m for k, m in found.items() if k != method})


# For people ------------------------------------------------------------------------------------


def parts(placed: ComparedPlacement) -> "list[RenderableType]":
    """Shows which ranks run where, and what it costs beside the others."""
    shown: list[RenderableType] = [_by_host(placed), "", _costs(placed)]
    if placed.program.calls:
        shown.append(
            "CommTime and the bytes beside it are of what was sent point to point, without "
            "collectives."
        )
    return shown


def _by_host(placed: ComparedPlacement) -> "Table":
    table = console.table("host", "ranks", *(["their cores"] if placed.cores else []))
    ranks_on: dict[str, list[int]] = {}
    for rank, host in enumerate(placed.hosts):
        ranks_on.setdefault(host, []).append(rank)
    for name in (host.name for host in placed.network.hosts):
        if name in ranks_on:
            cores = [str(placed.cores[rank].number) for rank in ranks_on[name] if placed.cores]
            table.add_row(name, ranges(ranks_on[name]), *([", ".join(cores)] if cores else []))
    return table


def _costs(placed: ComparedPlacement) -> "Table":
    all_of_them = (placed.found, *placed.others.values())
    has_sites = bool(placed.network.sites)
    has_plans = any(each.planned for each in all_of_them)
    table = console.table(
        "placement", "cost", "messages", "ports, trunks", "collectives",
        *(["planned"] if has_plans else []), "CommTime",
        "between hosts", "inside hosts", "between sites", "hosts",
    )  # fmt: skip
    for each in all_of_them:
        cost, traffic = each.cost, each.traffic
        times = [units.time_to_text(t) for t in (cost.total, cost.pairs, cost.load,
                                                 cost.collectives)]  # fmt: skip
        if has_plans:
            times.append(units.time_to_text(each.planned.collectives) if each.planned else "-")
        volumes = (traffic.inter_host, traffic.intra_host)
        table.add_row(
            each.method,
            *times,
            units.time_to_text(traffic.comm_time),
            *(units.size_to_text(round(volume)) for volume in volumes),
            units.size_to_text(round(traffic.inter_site)) if has_sites else "-",
            str(traffic.hosts),
        )
    return table


# For programs ----------------------------------------------------------------------------------


def as_json(placed: ComparedPlacement) -> dict[str, Any]:
    """Returns the placement by names of hosts, and costs in seconds."""
    has_sites = bool(placed.network.sites)
    return {
        "method": placed.found.method,
        "placement": placed.hosts,
        **({"cores": [core.number for core in placed.cores]} if placed.cores else {}),
        "costs": {
            each.method: _cost_json(each, has_sites=has_sites)
            for each in (placed.found, *placed.others.values())
        },
    }


def _cost_json(each: Mapping, *, has_sites: bool) -> dict[str, float | None]:
    cost, traffic = each.cost, each.traffic
    return {
        "total": cost.total,
        "pairs": cost.pairs,
        "load": cost.load,
        "collectives": cost.collectives,
        **({"planned": each.planned.collectives} if each.planned else {}),
        "migration": cost.migration,
        "comm_time": traffic.comm_time,
        "busiest": traffic.busiest,
        "inter_host": traffic.inter_host,
        "intra_host": traffic.intra_host,
        "inter_site": traffic.inter_site if has_sites else None,
        "hosts": traffic.hosts,
    }
