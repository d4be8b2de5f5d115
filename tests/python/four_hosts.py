"""A network of four hosts, as tests of the weather and of what is known of it use it."""

from thalweg import network as networks
from thalweg.network import Network, Trunk

NAMES = ["a", "b", "c", "d"]


def network() -> Network:
    """Two sites of two hosts: 10 MB/s inside, 5 MB/s through a trunk between them."""
    net = networks.even_network(4, 1e-3, 10e6)
    net.hosts = [networks.Host(name, 10e6, 10e6) for name in NAMES]
    net.bandwidth[:2, 2:] = net.bandwidth[2:, :2] = 5e6
    net.latency[:2, 2:] = net.latency[2:, :2] = 10e-3
    net.trunks = [Trunk("west->east", [0, 1], [2, 3], 8e6)]
    net.sites = [[0, 1], [2, 3]]
    net.measured_at = "2026-01-31T12:00:00Z"
    return net
