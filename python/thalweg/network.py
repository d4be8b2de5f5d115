"""The network: hosts, latencies and bandwidths between them, and the capacities that flows share.

A Network's `latency` (seconds) and `bandwidth` (bytes per second, of a single flow) are numpy
arrays indexed [from, to]: views, so that writing to them changes the network, which keeps all pairs
from then on. A network of more than MOST_HOSTS has no such arrays: Network.from_classes() makes
one of classes of hosts that are alike; latency_between(), latency_among() and latency_counts() read
it. copy() returns another network with the same content, compact() one that keeps hosts that are
alike by classes. change_part() lets what goes through a trunk, between two sites, through a port or
between two hosts take another time, by the rules in src/network/change.hpp. A network's lists
(`hosts`, `trunks`, `sites`, `groups`, `native_times`) and its dictionary `message_costs` are
copies: assign a new one to change it. While one thread plans or simulates with a network, no other
may change it or take these arrays, which changes how pairs are kept. Hosts in trunks, sites and
groups are indices into `hosts`. An infinite rate is unlimited, or not measured.
"""

from os import PathLike, fspath

from thalweg._core import network as _core
from thalweg._core.network import DeclaredGroup, Host, MessageCost, NativeTime, Network, Trunk
from thalweg.errors import user_errors

__all__ = [
    "MOST_HOSTS",
    "DeclaredGroup",
    "Host",
    "MessageCost",
    "NativeTime",
    "Network",
    "Trunk",
    "even_network",
    "from_json",
    "host_numbers",
    "read",
    "to_json",
    "validate",
    "write",
]

MOST_HOSTS: int = _core.most_hosts_in_matrices
"""Most hosts of a network with matrices of all pairs, and with a hierarchy."""


@user_errors()
def read(path: str | PathLike[str]) -> Network:
    """Reads the network in a file (docs/network-file.md).

    Raises UserError naming the file, the place in it, the hosts at fault and the remedy.
    """
    return _core.read(fspath(path))


@user_errors()
def write(network: Network, path: str | PathLike[str]) -> None:
    """Replaces the file as a whole, so that readers never see half of it.

    Raises UserError if the network isn't valid or the file can't be written.
    """
    _core.write(network, fspath(path))


@user_errors()
def from_json(text: str, where: str) -> Network:
    """Reads the network in a text; `where` names the text in errors."""
    return _core.from_json(text, where)


@user_errors()
def validate(network: Network) -> None:
    """Checks a network that was made or changed in Python.

    Whatever computes from a network does so first. Raises UserError naming the host, pair of hosts
    or trunk at fault.
    """
    _core.validate(network)


@user_errors()
def to_json(network: Network) -> str:
    """Returns the text that write() writes."""
    return _core.to_json(network)


@user_errors()
def even_network(count: int, latency: float, bandwidth: float) -> Network:
    """Returns a network of equal hosts, "host0" and so on: no trunks, one site."""
    return _core.even_network(count, latency, bandwidth)


def host_numbers(network: Network) -> dict[str, int]:
    """Returns the index of each host by its name."""
    return {host.name: number for number, host in enumerate(network.hosts)}
