"""Tells which names are of the same host: those that a user lists and those that hosts call
themselves.

A network, a run record and a plan have the names that hosts call themselves. With `-H` a user may
list others: addresses, names with a user or another domain, and aliases of ssh's configuration.
What only a launch can tell is kept from every probe, which starts a rank on each listed host.
"""

import contextlib
import hashlib
import json
import os
import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from thalweg import console
from thalweg.cache_folder import ANOTHER_CACHE, cache, surroundings
from thalweg.errors import UserError
from thalweg.files import locked, write_error, write_whole
from thalweg.hosts import is_address
from thalweg.printable import short
from thalweg.threads import for_each

MOST_NAMED = 8
"""Most hosts of a network that an error names."""
PATIENCE = 3.0
"""Seconds that the resolver of names gets."""
MOST_ASKED = 256
"""Most hosts of a network, and most names, that the resolver is asked for."""
AT_ONCE = 32
"""Most names that it is asked for at once."""

_answers: dict[str, frozenset[str]] = {}
"""What the resolver said of a name: addresses, and for some also names."""


def places(names: Sequence[str], hosts: Sequence[str]) -> list[int]:
    """Returns for each name which of the network's hosts it is. Names may stand several times.

    The resolver is asked, for seconds at most, for names that nothing else tells. Raises UserError
    if a name is none of the hosts or may be several, or if two names are the same host.
    """
    found = _find(list(dict.fromkeys(names)), hosts, ask=True)
    known: dict[str, int] = {}
    name_of: dict[int, str] = {}
    for name, fitting in found.items():
        if not fitting:
            raise UserError(
                f"host {name} is not in the network of {_named(hosts)}; probe it together "
                "with the others, or name one of them"
            )
        if len(fitting) > 1:
            first, second = (hosts[host] for host in fitting[:2])
            raise UserError(
                f"host {name} may be {first} or {second} of the network; write the one that it is"
            )
        if (other := name_of.setdefault(fitting[0], name)) != name:
            raise UserError(
                f"{other} and {name} are the same host, {hosts[fitting[0]]} of the network; write "
                "it in one form"
            )
        known[name] = fitting[0]
    return [known[name] for name in names]


def matches(
    names: Sequence[str], hosts: Sequence[str], *, ask: bool = False, domains: bool = False
) -> list[int | None]:
    """Returns which of the hosts each name is; None if it is none, or may be several, or if other
    names may be the same host.

    With `ask` the resolver is asked as by places(). With `domains` names with different domains are
    different hosts.
    """
    found = _find(list(dict.fromkeys(names)), hosts, ask=ask, domains=domains)
    times = Counter(fitting[0] for fitting in found.values() if len(fitting) == 1)

    def only(name: str) -> int | None:
        fitting = found[name]
        if len(fitting) != 1 or (times[fitting[0]] > 1 and hosts[fitting[0]] != name):
            return None
        return fitting[0]

    return [only(name) for name in names]


def as_in(names: Sequence[str], hosts: Sequence[str], *, domains: bool = False) -> list[str]:
    """Returns the names as `hosts` has them; those that matches() doesn't find stay."""
    found = matches(names, hosts, domains=domains)
    return [name if host is None else hosts[host] for name, host in zip(names, found, strict=True)]


def _find(
    names: Sequence[str], hosts: Sequence[str], *, ask: bool = False, domains: bool = False
) -> dict[str, list[int]]:
    """Returns the hosts that each name fits."""
    known = _Hosts(hosts, domains=domains)
    if all(name in known.exact for name in names):
        return {name: [known.exact[name]] for name in names}
    remembered = recall()
    found = {name: known.fitting(name, remembered.get(name)) for name in names}
    if ask and (unsure := [name for name, fitting in found.items() if len(fitting) != 1]):
        found |= known.ask(unsure, found)
    return found


class _Hosts:
    """Finds hosts by their names."""

    def __init__(self, names: Sequence[str], *, domains: bool) -> None:
        """`domains`: as of matches()."""
        self.names = names
        self._domains = domains
        self.exact = {name: host for host, name in enumerate(names)}

    @cached_property
    def _plain(self) -> Mapping[str, list[int]]:
        return _by((_plain(name), host) for host, name in enumerate(self.names))

    @cached_property
    def _beginning(self) -> Mapping[str, list[int]]:
        return _by((part, at) for at, name in enumerate(self.names) for part in _beginnings(name))

    @cached_property
    def _short(self) -> Mapping[str, list[int]]:
        pairs = ((_short(name), at) for at, name in enumerate(self.names))
        return _by((name, at) for name, at in pairs if name)

    def fitting(self, name: str, remembered: str | None) -> list[int]:
        """Returns the hosts that a name fits: of several rules the first that fits just one.

        `remembered`: what the host called itself in a probe.
        """
        if name in self.exact:
            return [self.exact[name]]
        found: list[int] = []
        for fits in self._rules(name, remembered):
            found = _narrowed(found, fits)
            if len(found) == 1:
                break
        return found

    def _rules(self, name: str, remembered: str | None) -> Iterator[list[int]]:
        if remembered:
            yield self._alike(remembered)
        yield self._plain.get(_plain(name), [])
        yield self._alike(name)
        if not self._domains:
            yield self._short.get(_short(name), [])

    def _alike(self, name: str) -> list[int]:
        """Returns the hosts of this name, else those whose name goes on where this one ends, or
        ends where it goes on: "n1" and "n1.example.org"."""
        if same := self._plain.get(_plain(name), []):
            return same
        longer = self._beginning.get(_plain(name), [])
        shorter = (host for part in _beginnings(name) for host in self._plain.get(part, []))
        return list(dict.fromkeys([*longer, *shorter]))

    def ask(self, names: Sequence[str], found: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
        """Returns the hosts that names fit by what the resolver says of them and of the hosts."""
        names = names[:MOST_ASKED]
        asked = self.names if len(self.names) <= MOST_ASKED else []
        _ask([_plain(name) for name in names], asked)
        by_answer = _by(
            (answer, host)
            for host, name in enumerate(asked)
            for answer in _answers[name]
            if not _is_loopback(answer)
        )

        def fits(answer: str) -> list[int]:
            if _is_loopback(answer):
                return self._alike(socket.gethostname())
            return by_answer.get(answer, []) or self._alike(answer)

        return {
            name: _narrowed(
                found[name],
                sorted({host for answer in _answers[_plain(name)] for host in fits(answer)}),
            )
            for name in names
        }


def _narrowed(found: Sequence[int], fitting: Sequence[int]) -> list[int]:
    """Returns those of the hosts found so far that fit as well, if any do."""
    return [host for host in fitting if host in found] or list(found or fitting)


def _by(pairs: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def _plain(name: str) -> str:
    """Returns a name without its user and the brackets of an address, in small letters."""
    return name.rpartition("@")[2].strip("[]").rstrip(".").lower()


def _short(name: str) -> str:
    """Returns a name without its domain; empty for an address."""
    plain = _plain(name)
    return "" if is_address(plain) else plain.partition(".")[0]


def _beginnings(name: str) -> Iterator[str]:
    """Yields "a", "a.b" and "a.b.c" of "a.b.c"; nothing of an address."""
    plain = _plain(name)
    if not is_address(plain):
        labels = plain.split(".")
        yield from (".".join(labels[: count + 1]) for count in range(len(labels)))


def _named(hosts: Sequence[str]) -> str:
    """Returns the first of a network's hosts as text, and how many more there are."""
    more = len(hosts) - MOST_NAMED
    named = short(", ".join(hosts[:MOST_NAMED]), MOST_NAMED * 16)
    return f"{named} and {more} more" if more > 0 else named


# What the resolver says --------------------------------------------------------------------------


def _is_localhost(name: str) -> bool:
    """Whether it is a name that every machine has for itself."""
    return name.lower() == "localhost" or _is_loopback(name)


def _is_loopback(answer: str) -> bool:
    return answer == "::1" or (answer.startswith("127.") and is_address(answer))


def _ask(names: Sequence[str], hosts: Sequence[str]) -> None:
    """Asks for the addresses of names and hosts, and for the names of the former's, unless that was
    asked before.

    What is not answered in time counts as unknown from then on.
    """
    asked = [each for each in dict.fromkeys([*names, *hosts]) if each not in _answers]
    with_names = set(names)

    def answer(name: str) -> frozenset[str]:
        found = _addresses(name)
        return frozenset(found | (_names(found) if name in with_names else set()))

    answered = for_each(asked, answer, at_once=AT_ONCE, patience=PATIENCE)
    _answers.update({name: answered.get(name, frozenset()) for name in asked})


def _addresses(name: str) -> set[str]:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, ValueError):  # UnicodeError: no name that a host can have
        return set()
    return {str(address[4][0]) for address in found}


def _names(addresses: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for address in addresses:
        with contextlib.suppress(OSError, ValueError):
            name, others, _ = socket.gethostbyaddr(address)
            found |= {name, *others}
    return found


# What probes saw ---------------------------------------------------------------------------------


def remember(listed: Sequence[str], own: Sequence[str]) -> None:
    """Keeps what the listed hosts call themselves. A note says why if that isn't possible."""
    if _with(recall(), listed, own) is None:
        return
    path = location()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path):  # Runs at the same time keep what each of them saw.
            if (known := _with(recall(), listed, own)) is not None:
                write_whole(path, json.dumps({"names": known}, indent=0) + "\n")
    except OSError as error:
        console.note(write_error(f"names of hosts {path}", error, ANOTHER_CACHE))


def _with(
    before: Mapping[str, str], listed: Sequence[str], own: Sequence[str]
) -> dict[str, str] | None:
    """Returns the known names with these; None if they say nothing new."""
    known = dict(before)
    for name, called in zip(listed, own, strict=True):
        known.pop(name, None)
        if name != called and not _is_localhost(name):
            known[name] = called
    return None if known == before else known


def recall() -> dict[str, str]:
    """Returns what listed hosts called themselves in probes, where that differs, the latest last.

    Nothing is known if the file can't be read.
    """
    try:
        found = json.loads(location().read_text())["names"]
        return {str(name): str(own) for name, own in found.items() if not _is_localhost(name)}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def own(names: Iterable[str]) -> list[str]:
    """Returns what hosts call themselves, as far as a probe saw it; else the names as they are.

    `localhost` is this machine, which may be another one than at the last probe.
    """
    known = recall()
    return [
        socket.gethostname() if _is_localhost(name) else known.get(name, name) for name in names
    ]


def reachable(hosts: Sequence[str]) -> list[str]:
    """Returns the names by which probes reached hosts last; else what they call themselves."""
    listed = {called: name for name, called in recall().items()}
    return [listed.get(host, host) for host in hosts]


def location(environment: Mapping[str, str] = os.environ) -> Path:
    """Returns the file, which is another one for each lab and cluster."""
    key = hashlib.sha256(json.dumps(surroundings(environment)).encode()).hexdigest()
    return cache() / "names" / f"{key[:16]}.json"
