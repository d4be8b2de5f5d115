"""Hosts of a program in the form that launchers take: `-H a,b:2,node[0-3]` or a hostfile."""

import contextlib
import re
import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, islice
from pathlib import Path

from thalweg.errors import UserError
from thalweg.files import is_file, read_text
from thalweg.printable import short

MOST_RANKS = 32_768
"""Most ranks, and most hosts listed, that are planned for: most_ranks of
src/algorithms/algorithm.hpp."""
MOST_LONE_RANKS = 131_072
"""Most ranks on a network of as many hosts."""
MOST_ENTRIES = 1 << 20
"""Most entries of a list, of which several may name one host."""
_NAME = r"[A-Za-z0-9_.\-]{1,255}(?:@[A-Za-z0-9_.\-]{1,255})?|\[[0-9A-Fa-f:.%]{1,255}\]"
_COUNT = r"[0-9]{1,10}"
_ENTRY = re.compile(rf"({_NAME})(?::({_COUNT}))?")
MOST_RANGES = 8
"""Most ranges in brackets of one name."""
_RANGE = re.compile(r"([^\[\],]*)\[([0-9,\-]+)\](.*)")
_IPV4 = re.compile(r"[0-9]+(?:\.[0-9]+){3}")
_COMMENT = re.compile(r"(?:#|//).*")
_IGNORED = ("binding", "ifname")
"""Hydra's keys of a hostfile's line that say nothing about slots."""


@dataclass(frozen=True)
class Host:
    """A host and its number of ranks."""

    name: str
    slots: int = 1


def folded(name: str) -> str:
    """Returns a host's name as it is compared: DNS takes capitals for small letters."""
    user, at, host = name.rpartition("@")
    return user + at + host.lower()


def spelled(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Returns names as the known ones are spelled; unknown ones stay as they are.

    Capitals don't count, unless known names differ by them.
    """
    known = list(known)
    spelling = {folded(name): name for name in known} | {name: name for name in known}
    return [spelling.get(name) or spelling.get(folded(name), name) for name in names]


def short_name(name: str) -> str:
    """Returns a host's name without user and domain, as the host may or may not call itself, in
    small letters. An address stays whole."""
    host = folded(name).rpartition("@")[2]
    return host if is_address(host) else host.partition(".")[0]


def is_address(host: str) -> bool:
    """Whether what a host is called, without a user, is an IP address, with or without brackets."""
    return ":" in host or _IPV4.fullmatch(host) is not None


def parse(text: str, where: str = "-H") -> list[Host]:
    """Reads "a,b:2,node[0-3,7]", or the hostfile of this path.

    The slots of a host that is listed several times are added up. Raises UserError, which says
    `where` the list is, if it is none.
    """
    file = file_of(text)
    if file is None:
        return expanded(text, where)
    try:
        return read(file)
    except UserError as error:
        if "/" in text:
            raise
        raise UserError(f"{error}; if you mean the host {text}, write it as {text}:1") from None


def file_of(text: str) -> Path | None:
    """Returns the hostfile that parse() reads; None if the text is a list of hosts."""
    return Path(text) if "/" in text or is_file(Path(text)) else None


def expanded(text: str, where: str) -> list[Host]:
    """Reads a list as parse() does, which is never taken for a file's name."""
    return _checked(_entries(text, where), where)


def read(path: Path) -> list[Host]:
    """Reads a hostfile: "a", "a slots=2" (Open MPI) or "a:2" (MPICH) a line, and comments.

    The slots of a host on several lines are added up, to max_slots at most. Raises UserError if it
    can't be read, or a line isn't understood.
    """
    most: dict[str, int] = {}
    return [
        Host(host.name, min(host.slots, most.get(folded(host.name), host.slots)))
        for host in _checked(_entries_of_file(path, most), str(path))
    ]


def scattered(where: str | Path) -> set[str]:
    """Returns the hosts of a list, as expanded() reads it, or of a hostfile, that are listed again
    after others, as folded() has them.

    Raises UserError as these do.
    """
    entries = _entries_of_file(where, {}) if isinstance(where, Path) else _entries(where, "-H")
    listed = (folded(host.name) for host in islice(entries, MOST_ENTRIES))
    places = Counter(name for name, _ in groupby(listed))
    return {name for name, times in places.items() if times > 1}


def without_slots(path: Path) -> list[str]:
    """Returns the hosts of a hostfile whose lines don't say how many slots they have.

    Raises UserError if it can't be read.
    """
    lines = read_text(path, f"hostfile {path}").splitlines()
    listed = map(_words, lines)
    return [
        words[0]
        for words in listed
        if words
        and not any(word.startswith("slots=") for word in words)
        and not re.search(rf":{_COUNT}$", words[0])
    ]


def added_up(listed: Iterable[Host]) -> list[Host]:
    """Returns each host once, where it is listed first, with the slots of all its entries.

    Stops where there are more hosts than MOST_RANKS.
    """
    found: dict[str, Host] = {}
    for host in listed:
        name = folded(host.name)
        if known := found.get(name):
            host = Host(known.name, known.slots + host.slots)
        found[name] = host
        if len(found) > MOST_RANKS:
            break
    return list(found.values())


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
        each = -(-ranks // len(hosts))
        raise UserError(
            f"{ranks} ranks need {ranks} slots, but the hosts give {slots}; "
            f"name more hosts, or {each} slots for each, such as {hosts[0].name}:{each}"
        )
    return list(islice((host.name for host in hosts for _ in range(host.slots)), ranks))


def is_this_machine(name: str) -> bool:
    """Whether a host's name is one that this machine has by itself, with or without the domain, or
    one of its addresses; a user before it doesn't count."""
    host = folded(name).rpartition("@")[2].strip("[]")
    if is_address(host):
        return _is_own_address(host)
    own = _own_names()
    short, domain, _ = host.partition(".")
    alike = [each for each in own if each.partition(".")[0] == short]
    return host in own or bool(alike and not (domain and any("." in each for each in alike)))


def _is_own_address(address: str) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as own:
        own.bind((address, 0))  # which only an address of this machine allows
        return True
    return False


@cache
def _own_names() -> frozenset[str]:
    own = ("localhost", socket.gethostname(), socket.getfqdn())
    return frozenset(map(folded, own))


def _entries(text: str, where: str) -> Iterator[Host]:
    """Returns the hosts of a list as they are listed."""
    return (host for entry in _split(text) for host in _expand(entry, where))


def _entries_of_file(path: Path, most: dict[str, int]) -> Iterator[Host]:
    """Returns the hosts of a hostfile as they are listed; what max_slots allows goes into `most`
    meanwhile."""
    lines = read_text(path, f"hostfile {path}").splitlines()
    return (
        host
        for number, line in enumerate(lines, 1)
        if (words := _words(line))
        for host in _line(words, f"{path}, line {number}", most)
    )


def _split(text: str) -> Iterator[str]:
    """Splits at commas outside brackets."""
    depth, start = 0, 0
    for at, letter in enumerate(text):
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    yield text[start:].strip()


def _words(line: str) -> list[str]:
    """Returns the words of a hostfile's line, without comments and without spaces around "="."""
    return re.sub(r"\s*=\s*", "=", _COMMENT.sub("", line)).split()


def _line(words: list[str], where: str, most: dict[str, int]) -> list[Host]:
    """Returns the hosts of a hostfile's line. What its max_slots allows goes into `most`."""
    hosts = list(islice(_expand(words[0], where), MOST_RANKS + 1))
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if equals and key in _IGNORED:
            continue
        known = key in ("slots", "max_slots", "max-slots") and re.fullmatch(_COUNT, value)
        if not known or (key == "slots" and int(value) == 0):
            raise UserError(
                f"{where}: '{short(word)}' is not understood; write 'name', 'name:2' or "
                "'name slots=2', with at least one slot"
            )
        if key == "slots":
            hosts = [Host(host.name, int(value)) for host in hosts]
        elif int(value):  # Open MPI takes 0 for no limit
            most |= {folded(host.name): int(value) for host in hosts}
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


def _checked(listed: Iterator[Host], where: str) -> list[Host]:
    """Returns each host once. Raises UserError if there are none, or too many."""
    hosts = added_up(islice(listed, MOST_ENTRIES))
    if len(hosts) > MOST_RANKS or next(listed, None):
        raise UserError(f"{where}: more than {MOST_RANKS} hosts are listed; list fewer")
    if not hosts:
        raise UserError(f"{where}: no hosts are listed; name at least one")
    return hosts
