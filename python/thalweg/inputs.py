"""Reads and checks the arguments of the command line."""

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path

from thalweg import host_names, record_folder
from thalweg import hosts as host_lists
from thalweg import network as networks
from thalweg.errors import UserError
from thalweg.files import is_file, is_folder, parse_json, read_text
from thalweg.hosts import Host
from thalweg.network import Network

_MAKE_ONE = "; make one with `thalweg probe`"
_NO_NETWORK = "; `thalweg probe` writes one"


def network(path: Path) -> Network:
    """Reads a network file, or the network of a scenario: a file, or the name of one of the lab.

    Raises UserError.
    """
    if is_folder(path):
        raise UserError(f"network {path}: is a folder; name a network file{_own_network(path)}")
    if path.suffix == ".cbor":
        return networks.read(path)
    is_there = _exists(path)
    text = "" if is_there else _scenario(str(path))
    if not text:
        text = read_text(path, f"network {path}", _NO_NETWORK if is_there else _MAKE_ONE)
    content = text.removeprefix("\ufeff").lstrip()
    if not content:
        raise UserError(f"network {path}: is empty{_MAKE_ONE}")
    if not content.startswith(("{", "[")):
        raise UserError(f"network {path}: isn't a network file{_NO_NETWORK}")
    where = str(path)
    if '"network"' in text:  # without, the core reads it alone
        # If this fails, or the text is no scenario, from_json() names the error.
        with contextlib.suppress(UserError):
            document = parse_json(text, where)
            if isinstance(document, dict) and isinstance(document.get("network"), dict):
                text, where = json.dumps(document["network"]), f"{path}: network"
    return networks.from_json(text, where)


def _own_network(folder: Path) -> str:
    """Says where a run record has the network that it was planned for, if it has one."""
    own = folder / record_folder.NETWORK
    return f", such as {own}" if is_file(own) else ""


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


def ranks_on(net: Network, ranks: int | None, listed: str | None, where: str = "-H") -> list[int]:
    """Returns the placement of `ranks` ranks on the listed hosts, or on all hosts.

    One rank per slot if no number is given. Raises UserError, which says `where` hosts are listed.
    """
    if ranks is not None:
        host_lists.check_ranks(ranks, len(net.hosts))
    if listed is not None:
        chosen = host_lists.parse(listed, where)
    else:
        slots = -(-(ranks or 1) // len(net.hosts))
        chosen = [Host(host.name, slots) for host in net.hosts]
    count = host_lists.check_ranks(ranks or sum(host.slots for host in chosen), len(net.hosts))
    return placement(net, host_lists.placement(chosen, count))
