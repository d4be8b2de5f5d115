"""A network in the format of another program."""

import math
from collections.abc import Iterator
from itertools import permutations
from xml.sax import saxutils

from thalweg import network
from thalweg.errors import UserError
from thalweg.network import Host, Network
from thalweg.printable import printable

UNLIMITED = 1e15
"""Bytes per second for an unlimited rate: SimGrid needs a number."""
MOST_HOSTS = 2048
"""A platform has at most so many, since it has a link and a route for each pair: about 1 GB."""


def simgrid(net: Network, *, of_messages: bool = False) -> Iterator[str]:
    """Yields the lines of a SimGrid platform file, version 4.1.

    A flow from one host to another goes through the sender's egress, the link between the two (its
    latency and the rate of a single flow), the trunks that it crosses and the receiver's ingress.
    All but the links between two hosts are shared by the flows through them. With `of_messages` a
    flow is a single message, as in SMPI: all that go from one host to another share its rate, too.

    Raises UserError if the network isn't valid or has more than MOST_HOSTS hosts.
    """
    network.validate(net)
    hosts = net.hosts
    if len(hosts) > MOST_HOSTS:
        raise UserError(
            f"a SimGrid platform has a route for each pair of hosts, and these are {len(hosts):,} "
            f"hosts: export a network of at most {MOST_HOSTS:,}"
        )
    yield '<?xml version="1.0"?>'
    yield '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
    yield '<platform version="4.1"><zone id="network" routing="Full">'
    for host in hosts:
        yield f'<host id={quoteattr(host.name)} speed="1Gf"/>'
    for host in hosts:
        yield from _shared(f"{host.name} egress", host.egress)
        yield from _shared(f"{host.name} ingress", host.ingress)
    for index, trunk in enumerate(net.trunks):
        yield from _shared(f"trunk {index} {trunk.name}", trunk.capacity)
    policy = "SHARED" if of_messages else "FATPIPE"
    for a, b in permutations(range(len(hosts)), 2):
        rate = min(net.bandwidth_between(a, b), UNLIMITED)
        yield _link(_pair(hosts[a], hosts[b]), rate, net.latency_between(a, b), policy)
    leaving = _leaving(net)
    for a, sender in enumerate(hosts):
        crossed = _crossed(leaving.get(a, []))
        for b, receiver in enumerate(hosts):
            if a != b:
                yield _route(sender, receiver, crossed.get(b, []))
    yield "</zone></platform>"


def quoteattr(name: str) -> str:
    """Returns a name as an attribute; XML has no control characters."""
    return saxutils.quoteattr(printable(name))


def _leaving(net: Network) -> dict[int, list[tuple[str, list[int]]]]:
    """Returns the trunks by their senders, each with its receivers."""
    found: dict[int, list[tuple[str, list[int]]]] = {}
    for index, trunk in enumerate(net.trunks):
        if math.isfinite(trunk.capacity):
            leaving = f"trunk {index} {trunk.name}", trunk.to
            for a in trunk.from_:
                found.setdefault(a, []).append(leaving)
    return found


def _crossed(leaving: list[tuple[str, list[int]]]) -> dict[int, list[str]]:
    """Returns the trunks that a sender's flow to each host goes through."""
    found: dict[int, list[str]] = {}
    for trunk, to in leaving:
        for b in to:
            found.setdefault(b, []).append(trunk)
    return found


def _route(sender: Host, receiver: Host, crossed: list[str]) -> str:
    links = [f"{sender.name} egress"] * math.isfinite(sender.egress)
    links += [_pair(sender, receiver), *crossed]
    links += [f"{receiver.name} ingress"] * math.isfinite(receiver.ingress)
    ends = f"src={quoteattr(sender.name)} dst={quoteattr(receiver.name)}"
    parts = "".join(f"<link_ctn id={quoteattr(link)}/>" for link in links)
    return f'<route {ends} symmetrical="NO">{parts}</route>'


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
