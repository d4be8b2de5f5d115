"""A network in the format of another program."""

import math
from collections.abc import Iterator
from itertools import permutations
from xml.sax import saxutils

from thalweg import network
from thalweg.network import Host, Network
from thalweg.printable import printable

UNLIMITED = 1e15
"""Bytes per second for an unlimited rate: SimGrid needs a number."""


def simgrid(net: Network, *, of_messages: bool = False) -> Iterator[str]:
    """Yields the lines of a SimGrid platform file, version 4.1.

    A flow from one host to another goes through the sender's egress, the link between the two (its
    latency and the rate of a single flow), the trunks that it crosses and the receiver's ingress.
    All but the links between two hosts are shared by the flows through them. With `of_messages` a
    flow is a single message, as in SMPI: all that go from one host to another share its rate, too.

    Raises UserError if the network isn't valid.
    """
    network.validate(net)
    yield '<?xml version="1.0"?>'
    yield '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
    yield '<platform version="4.1"><zone id="network" routing="Full">'
    hosts = net.hosts
    for host in hosts:
        yield f'<host id={quoteattr(host.name)} speed="1Gf"/>'
    for host in hosts:
        yield from _shared(f"{host.name} egress", host.egress)
        yield from _shared(f"{host.name} ingress", host.ingress)
    for index, trunk in enumerate(net.trunks):
        yield from _shared(f"trunk {index} {trunk.name}", trunk.capacity)
    crossed = _crossed(net)
    policy = "SHARED" if of_messages else "FATPIPE"
    pairs = list(permutations(range(len(hosts)), 2))
    for a, b in pairs:
        rate = min(net.bandwidth_between(a, b), UNLIMITED)
        yield _link(_pair(hosts[a], hosts[b]), rate, net.latency_between(a, b), policy)
    for a, b in pairs:
        links = [f"{hosts[a].name} egress"] * math.isfinite(hosts[a].egress)
        links += [_pair(hosts[a], hosts[b]), *crossed.get((a, b), [])]
        links += [f"{hosts[b].name} ingress"] * math.isfinite(hosts[b].ingress)
        ends = f"src={quoteattr(hosts[a].name)} dst={quoteattr(hosts[b].name)}"
        parts = "".join(f"<link_ctn id={quoteattr(link)}/>" for link in links)
        yield f'<route {ends} symmetrical="NO">{parts}</route>'
    yield "</zone></platform>"


def quoteattr(name: str) -> str:
    """Returns a name as an attribute; XML has no control characters."""
    return saxutils.quoteattr(printable(name))


def _crossed(net: Network) -> dict[tuple[int, int], list[str]]:
    """Returns the trunks that each flow goes through."""
    found: dict[tuple[int, int], list[str]] = {}
    for index, trunk in enumerate(net.trunks):
        if math.isfinite(trunk.capacity):
            for a in trunk.from_:
                for b in trunk.to:
                    found.setdefault((a, b), []).append(f"trunk {index} {trunk.name}")
    return found


def _pair(a: Host, b: Host) -> str:
    return f"{a.name} to {b.name}"


def _shared(name: str, rate: float) -> Iterator[str]:
    if math.isfinite(rate):
        yield _link(name, rate, 0, "SHARED")


def _link(name: str, rate: float, latency: float, policy: str) -> str:
    return (
        f'<link id={quoteattr(name)} bandwidth="{rate!r}Bps" latency="{latency!r}s" '
        f'sharing_policy="{policy}"/>'
    )
