"""Reads and checks the arguments of the command line."""

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path

from thalweg import host_names
from thalweg import hosts as host_lists
from thalweg import network as networks
from thalweg.errors import UserError
from thalweg.files import parse_json, read_text
from thalweg.hosts import Host
from thalweg.network import Network


def network(path: Path) -> Network:
    """Reads a network file, or the network of a scenario: a file, or the name of one of the lab.

    Raises UserError.
    """
    if path.suffix == ".cbor":
        return networks.read(path)
    text = "" if _exists(path) else _scenario(str(path))
    if not text:
        text = read_text(path, f"network {path}", "; make one with `thalweg probe`")
    if not text.strip():
        raise UserError(f"network {path}: is empty; make one with `thalweg probe`")
    where = str(path)
    # If this fails, or the text is no scenario, from_json() names the error.
    with contextlib.suppress(UserError):
        document = parse_json(text, where)
        if isinstance(document, dict) and isinstance(document.get("network"), dict):
            text, where = json.dumps(document["network"]), f"{path}: network"
    return networks.from_json(text, where)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # read_text() says what is wrong with the name
        return True


def _scenario(name: str) -> str:
    """Returns the lab's scenario of this name as a file's content; "" if there is none."""
    from thalweg.lab import scenarios  # a program whose network is known doesn't wait for them

    document = scenarios.document(name)
    return json.dumps(document) if document else ""


def placement(net: Network, names: Sequence[str]) -> list[int]:
    """Returns each rank's host as an index, whatever its host is called (thalweg.host_names).

    Raises UserError for an unknown host.
    """
    return host_names.places(names, [host.name for host in net.hosts])


def own_names(net: Network, names: Sequence[str]) -> list[str]:
    """Returns what the hosts of these names are called in the network, which is what they call
    themselves. Raises UserError for an unknown host."""
    hosts = [host.name for host in net.hosts]
    return [hosts[host] for host in host_names.places(names, hosts)]


def ranks_on(net: Network, ranks: int | None, listed: str | None) -> list[int]:
    """Returns the placement of `ranks` ranks on the listed hosts, or on all hosts.

    One rank per slot if no number is given. Raises UserError.
    """
    if ranks is not None:
        host_lists.check_ranks(ranks, len(net.hosts))
    if listed is not None:
        chosen = host_lists.parse(listed)
    else:
        slots = -(-(ranks or 1) // len(net.hosts))
        chosen = [Host(host.name, slots) for host in net.hosts]
    count = host_lists.check_ranks(ranks or sum(host.slots for host in chosen), len(net.hosts))
    return placement(net, host_lists.placement(chosen, count))
