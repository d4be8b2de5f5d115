"""Hosts of a program in the form that launchers take: `-H a,b:2,node[0-3]` or a hostfile."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from thalweg.errors import UserError

_NAME = r"[A-Za-z0-9_.\-]+(?:@[A-Za-z0-9_.\-]+)?|\[[0-9A-Fa-f:.%]+\]"
_ENTRY = re.compile(rf"({_NAME})(?::(\d+))?")
_RANGE = re.compile(r"([^\[\],]*)\[([0-9,\-]+)\](.*)")


@dataclass(frozen=True)
class Host:
    """A host and its number of ranks."""

    name: str
    slots: int = 1


def parse(text: str) -> list[Host]:
    """Reads "a,b:2,node[0-3,7]", or the hostfile of this path.

    Raises UserError if it is no list of hosts, or names a host twice.
    """
    if "/" in text or Path(text).is_file():
        return read(Path(text))
    hosts = [host for entry in _split(text) for host in _expand(entry, "-H")]
    return _distinct(hosts, "-H")


def read(path: Path) -> list[Host]:
    """Reads a hostfile: "a", "a slots=2" (Open MPI) or "a:2" (MPICH) a line, and # comments.

    Raises UserError if it can't be read, or names a host twice.
    """
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise UserError(f"hostfile {path}: {reason}") from None
    hosts: list[Host] = []
    for number, line in enumerate(lines, 1):
        if words := line.split("#")[0].split():
            hosts.extend(_line(words, f"{path}, line {number}"))
    return _distinct(hosts, str(path))


def placement(hosts: Sequence[Host], ranks: int) -> list[str]:
    """Returns the host of each rank: launchers fill the slots of one host after the other.

    Raises UserError if there are fewer slots than ranks.
    """
    slots = [host.name for host in hosts for _ in range(host.slots)]
    if len(slots) < ranks:
        raise UserError(
            f"{ranks} ranks need {ranks} slots, but the hosts give {len(slots)}; "
            f"write {hosts[0].name}:2 for two ranks on {hosts[0].name}"
        )
    return slots[:ranks]


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
    hosts = list(_expand(words[0], where))
    for word in words[1:]:
        key, _, value = word.partition("=")
        if key in ("slots", "max_slots", "max-slots") and value.isdigit():
            if key == "slots":
                hosts = [Host(host.name, int(value)) for host in hosts]
        else:
            raise UserError(f"{where}: '{word}' is not understood; write 'name', 'name:2' "
                            "or 'name slots=2'")  # fmt: skip
    return hosts


def _expand(entry: str, where: str) -> Iterator[Host]:
    """Returns the hosts of one entry: several if it has a range."""
    if (found := _RANGE.fullmatch(entry)) and found[1]:
        for part in found[2].split(","):
            for number in _numbers(part, where):
                yield from _expand(found[1] + number + found[3], where)
        return
    plain = _ENTRY.fullmatch(entry)
    if not plain or plain[2] == "0":
        raise UserError(f"{where}: '{entry}' is no host; write 'name' or 'name:2' for two ranks")
    yield Host(plain[1], int(plain[2] or 1))


def _numbers(part: str, where: str) -> list[str]:
    """Expands "08-10" to 08, 09, 10."""
    first, dash, last = part.partition("-")
    if not first.isdigit() or (dash and not last.isdigit()):
        raise UserError(f"{where}: '[{part}]' is no range of numbers; write it as [0-3] or [1,4]")
    numbers = range(int(first), int(last or first) + 1)
    if not numbers:
        raise UserError(f"{where}: the range [{part}] is empty")
    return [str(number).zfill(len(first)) for number in numbers]


def _distinct(hosts: list[Host], where: str) -> list[Host]:
    seen: set[str] = set()
    for host in hosts:
        if host.name in seen:
            raise UserError(
                f"{where}: host {host.name} is listed twice; "
                f"write {host.name}:2 for two ranks on it"
            )
        seen.add(host.name)
    if not hosts:
        raise UserError(f"{where}: no hosts are listed")
    return hosts
