"""A network's lists are copies: who reads one of them per host takes time by the square."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from thalweg import export, inputs, network_text, trees
from thalweg.network import Host, Network, Trunk
from thalweg.plans import Setting


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


@pytest.mark.parametrize("use", [own_names, simgrid, as_json, hosts_of_ranks, tree])
def test_more_hosts_are_no_more_copies(use: Callable[[Network, int], None]) -> None:
    def copies(hosts: int) -> int:
        listed = [Host(f"n{host}", 1e6, 1e6) for host in range(hosts)]
        even = np.full((hosts, hosts), 1e-3)
        net = Counting(listed, even, even * 1e9)
        net.trunks = [Trunk("half", [*range(hosts // 2)], [*range(hosts // 2, hosts)], 1e6)]
        use(net, hosts)
        return net.copies

    assert copies(24) == copies(8)
