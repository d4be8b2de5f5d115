"""A network's lists are copies: who reads one of them per host takes time by the square."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import Recording

from thalweg import (
    drift,
    export,
    inputs,
    mapping,
    network_text,
    placement,
    record,
    trees,
    verification,
)
from thalweg.analysis import links
from thalweg.collective import Kind
from thalweg.matrices import Program
from thalweg.network import Host, Network, Trunk
from thalweg.plans import Setting
from thalweg.weather import PairValues


class Counting(Network):
    """Counts the copies of its list of hosts."""

    copies = 0

    def __getattribute__(self, name: str) -> Any:
        if name == "hosts":
            self.copies += 1
        return super().__getattribute__(name)


def own_names(net: Network, hosts: int) -> None:
    inputs.own_names(net, [f"n{host}" for host in range(hosts)])


def simgrid(net: Network, _: int) -> None:
    list(export.simgrid(net))


def as_json(net: Network, _: int) -> None:
    network_text.as_json(net)


def hosts_of_ranks(net: Network, hosts: int) -> None:
    setting = Setting(net, list(range(hosts)))
    assert [setting.host(rank) for rank in range(hosts)] == [f"n{host}" for host in range(hosts)]


def tree(net: Network, hosts: int) -> None:
    document = {"schema": trees.SCHEMA, "children": {"n0": ["n1"]}}
    trees._Reader(document, net, list(range(hosts)))


def ring(hosts: int) -> list[tuple[int, int]]:
    return [(host, (host + 1) % hosts) for host in range(hosts)]


def usual_hosts(net: Network, hosts: int) -> None:
    names = [f"n{host}" for host in range(hosts)]
    run = record.Run(Path(), {"hosts": names, "placement": [*range(hosts)]}, [])
    sent = mapping.communication(hosts, [0], [1], [1], [8])
    found = placement.usual_hosts(net, Program(sent, run=run))
    assert [host.name for host in found] == names


def messages_of_a_run(net: Network, hosts: int) -> None:
    made = Recording(hosts)
    call = made.call(Kind.allreduce, dict.fromkeys(range(hosts), (0, 9000)))
    for sender, receiver in ring(hosts):
        made.message(call, sender, receiver, (0, 10), (0, 1000))
    errors = [0.0, *[1e6] * (hosts - 1)]
    run = made.run(network=net, placement=[*range(hosts)], clock_errors_ns=errors)
    assert len(links.expect(run, links.add_times(run)).wire) == hosts


def names_of_pairs(net: Network, hosts: int) -> None:
    assert len(verification.names_of(net, ring(hosts))) == hosts


def causes(net: Network, hosts: int) -> None:
    slow = {(f"n{a}", f"n{b}"): 5e5 for a, b in ring(hosts)}
    assert drift.causes(net, PairValues({}, slow), "bandwidth", 0.2)


@pytest.mark.parametrize(
    "use",
    [
        own_names,
        simgrid,
        as_json,
        hosts_of_ranks,
        tree,
        usual_hosts,
        messages_of_a_run,
        names_of_pairs,
        causes,
    ],
)
def test_more_hosts_are_no_more_copies(use: Callable[[Network, int], None]) -> None:
    def copies(hosts: int) -> int:
        listed = [Host(f"n{host}", 1e6, 1e6) for host in range(hosts)]
        even = np.full((hosts, hosts), 1e-3)
        net = Counting(listed, even, even * 1e9)
        net.trunks = [Trunk("half", [*range(hosts // 2)], [*range(hosts // 2, hosts)], 1e6)]
        use(net, hosts)
        return net.copies

    assert copies(24) == copies(8)


def test_a_record_has_its_lists_once() -> None:
    run = record.Run(Path(), {"hosts": ["a", "b"], "placement": [1, 0]}, [])
    assert run.hosts is run.hosts
    assert run.placement is run.placement
