"""Reads and checks the arguments of the command line."""

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thalweg import hosts as host_lists
from thalweg import network as networks
from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.lab import scenarios
from thalweg.network import Network


def network(path: Path) -> Network:
    """Reads a network file, or the network of a scenario: a file, or the name of one of the lab.

    Raises UserError.
    """
    if path.suffix == ".cbor":
        return networks.read(path)
    try:
        text = path.read_text() if path.exists() else _scenario(str(path)) or path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise UserError(f"network {path}: {reason}; make one with `thalweg probe`") from None
    where = str(path)
    # If this fails, or the text is no scenario, from_json() names the error.
    with contextlib.suppress(ValueError, RecursionError):
        document = json.loads(text, object_pairs_hook=_once)
        if isinstance(document, dict) and isinstance(document.get("network"), dict):
            text, where = json.dumps(document["network"]), f"{path}: network"
    return networks.from_json(text, where)


def _scenario(name: str) -> str:
    """Returns the lab's scenario of this name as a file's content; "" if there is none."""
    document = scenarios.document(name)
    return json.dumps(document) if document else ""


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Makes an object; refuses a duplicate key."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def placement(net: Network, names: Sequence[str]) -> list[int]:
    """Returns each rank's host as an index. Raises UserError for an unknown host."""
    indices = []
    for name in names:
        if (index := net.find(name)) is None:
            raise UserError(f"host {name} is not in the network; probe it together with the others")
        indices.append(index)
    return indices


def ranks_on(net: Network, ranks: int | None, listed: str | None) -> list[int]:
    """Returns the placement of `ranks` ranks on the listed hosts, or on all hosts.

    One rank per slot if no number is given. Raises UserError.
    """
    if listed:
        chosen = host_lists.parse(listed)
    else:
        slots = -(-(ranks or 1) // len(net.hosts))
        chosen = [Host(host.name, slots) for host in net.hosts]
    count = ranks or sum(host.slots for host in chosen)
    return placement(net, host_lists.placement(chosen, count))
