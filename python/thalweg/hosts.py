"""Hosts of a program in the form that launchers take: `-H a,b:2,node[0-3]` or a hostfile."""

import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from thalweg.errors import UserError
from thalweg.files import read_text
from thalweg.printable import short

MOST_RANKS = 32_768
"""Most ranks, and most hosts listed, that are planned for: most_ranks of
src/algorithms/algorithm.hpp."""
MOST_LONE_RANKS = 131_072
"""Most ranks on a network of as many hosts."""
_NAME = r"[A-Za-z0-9_.\-]{1,255}(?:@[A-Za-z0-9_.\-]{1,255})?|\[[0-9A-Fa-f:.%]{1,255}\]"
_COUNT = r"[0-9]{1,10}"
_ENTRY = re.compile(rf"({_NAME})(?::({_COUNT}))?")
MOST_RANGES = 8
"""Most ranges in brackets of one name."""
_RANGE = re.compile(r"([^\[\],]*)\[([0-9,\-]+)\](.*)")


@dataclass(frozen=True)
class Host:
    """A host and its number of ranks."""

    name: str
    slots: int = 1


def short_name(name: str) -> str:
    """Returns a host's name without user and domain, as the host may or may not call itself."""
    return name.rpartition("@")[2].partition(".")[0]


def parse(text: str) -> list[Host]:
    """Reads "a,b:2,node[0-3,7]", or the hostfile of this path.

    Raises UserError if it is no list of hosts, or names a host twice.
    """
    if "/" in text or _is_file(text):
        return read(Path(text))
    return _distinct((host for entry in _split(text) for host in _expand(entry, "-H")), "-H")


def read(path: Path) -> list[Host]:
    """Reads a hostfile: "a", "a slots=2" (Open MPI) or "a:2" (MPICH) a line, and # comments.

    Raises UserError if it can't be read, or names a host twice.
    """
    lines = read_text(path, f"hostfile {path}").splitlines()
    listed = (
        host
        for number, line in enumerate(lines, 1)
        if (words := line.split("#")[0].split())
        for host in _line(words, f"{path}, line {number}")
    )
    return _distinct(listed, str(path))


def check_ranks(ranks: int, hosts: int = 0) -> int:
    """Returns the number of ranks. `hosts` are those of the network.

    Raises UserError if nothing can be planned for so many.
    """
    most = max(MOST_RANKS, min(hosts, MOST_LONE_RANKS))
    if ranks > most:
        raise UserError(
            f"{short(str(ranks))} ranks are too many: plans are for at most {most}; say "
            "fewer with -n, or name fewer hosts or slots"
        )
    return ranks


def placement(hosts: Sequence[Host], ranks: int) -> list[str]:
    """Returns the host of each rank: launchers fill the slots of one host after the other.

    Raises UserError if there are fewer slots than ranks.
    """
    slots = sum(host.slots for host in hosts)
    if slots < ranks:
        raise UserError(
            f"{ranks} ranks need {ranks} slots, but the hosts give {slots}; "
            "name more hosts, or more slots, such as "
            f"{hosts[0].name}:{hosts[0].slots + ranks - slots}"
        )
    return list(islice((host.name for host in hosts for _ in range(host.slots)), ranks))


def is_this_machine(name: str) -> bool:
    """Whether a host's name is one that this machine has by itself."""
    return name in ("localhost", "127.0.0.1", socket.gethostname(), socket.getfqdn())


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long a name, or one that no file can have
        return False


def _split(text: str) -> Iterator[str]:
    """Splits at commas outside brackets."""
    depth, start = 0, 0
    for at, letter in enumerate(text):
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    yield text[start:].strip()


def _line(words: list[str], where: str) -> list[Host]:
    hosts = list(islice(_expand(words[0], where), MOST_RANKS + 1))
    for word in words[1:]:
        key, _, value = word.partition("=")
        known = key in ("slots", "max_slots", "max-slots") and re.fullmatch(_COUNT, value)
        if not known or (key == "slots" and int(value) == 0):
            raise UserError(
                f"{where}: '{short(word)}' is not understood; write 'name', 'name:2' or "
                "'name slots=2', with at least one slot"
            )
        if key == "slots":
            hosts = [Host(host.name, int(value)) for host in hosts]
    return hosts


def _expand(entry: str, where: str) -> Iterator[Host]:
    """Returns the hosts of one entry: several if it has a range."""
    if entry.count("[") > MOST_RANGES:
        raise UserError(f"{where}: '{short(entry)}' has more than {MOST_RANGES} ranges; list fewer")
    if (found := _RANGE.fullmatch(entry)) and found[1]:
        for part in found[2].split(","):
            for number in _numbers(part, where):
                yield from _expand(found[1] + number + found[3], where)
        return
    plain = _ENTRY.fullmatch(entry)
    slots = int(plain[2] or 1) if plain else 0
    if not plain or not slots:
        raise UserError(
            f"{where}: '{short(entry)}' is no host; write 'name' or 'name:2' for two ranks"
        )
    yield Host(plain[1], slots)


def _numbers(part: str, where: str) -> Iterator[str]:
    """Expands "08-10" to 08, 09, 10."""
    first, dash, last = part.partition("-")
    if not re.fullmatch(_COUNT, first) or (dash and not re.fullmatch(_COUNT, last)):
        raise UserError(
            f"{where}: '[{short(part)}]' is no range of numbers; write it as [0-3] or [1,4]"
        )
    numbers = range(int(first), int(last or first) + 1)
    if not numbers:
        raise UserError(f"{where}: the range [{part}] is empty; write the smaller number first")
    return (str(number).zfill(len(first)) for number in numbers)


def _distinct(listed: Iterator[Host], where: str) -> list[Host]:
    """Returns the hosts. Raises UserError if there are none, too many, or one twice."""
    hosts = list(islice(listed, MOST_RANKS + 1))
    if len(hosts) > MOST_RANKS:
        raise UserError(f"{where}: more than {MOST_RANKS} hosts are listed; list fewer")
    seen: set[str] = set()
    for host in hosts:
        if host.name in seen:
            raise UserError(
                f"{where}: host {host.name} is listed twice; "
                f"write {host.name}:2 for two ranks on it"
            )
        seen.add(host.name)
    if not hosts:
        raise UserError(f"{where}: no hosts are listed; name at least one")
    return hosts
