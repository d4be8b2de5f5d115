"""The files of the weather: the histories of sets of hosts, each in one that grows.

docs/weather-file.md describes the file. Nothing is ever changed in it, and if it can't be read or
written, a note on standard error says so and the work goes on.
"""

import fcntl
import hashlib
import json
import math
import operator
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, get_args

from thalweg import console, paths
from thalweg.errors import UserError
from thalweg.files import parse_json, write_error, write_whole
from thalweg.weather import Entry, History, Pair, Quantity, Source

VERSION = 1
LARGEST = 32 << 20
"""Bytes of a file beyond which its older half is dropped."""
RECENT = 4 << 20
"""Most bytes that are read from a file's end where the latest entries suffice."""
AHEAD = 60.0
"""Seconds by which an entry may be later than this machine's clock, which was set back if it is
more: what is known then isn't known to be old."""
LATEST = 253_402_300_800.0
"""The first time whose year has five digits, in seconds since 1970: no calendar has it."""
LEAST, MOST = 1e-30, 1e30
"""The least and the greatest value that is taken for one: others' ratios would overflow."""
_noted: set[Path] = set()
"""The files with which something is wrong, as was said."""


def location(hosts: Iterable[str], environment: Mapping[str, str] = os.environ) -> Path:
    """Returns the file of a set of hosts, of this lab or cluster if we are in one."""
    key = json.dumps([sorted(set(hosts)), paths.surroundings(environment)])
    name = hashlib.sha256(key.encode()).hexdigest()[:16]
    return paths.cache() / "weather" / f"{name}.jsonl"


def load(hosts: Iterable[str], *, recent: bool = False) -> History:
    """Returns the history of a set of hosts: all of it, or what the last RECENT bytes hold.

    Lines that are cut off or damaged are skipped, and those of the future. A note says if the file
    can't be read, or is something else; then nothing is known.
    """
    names = sorted(set(hosts))
    path = location(names)
    paths.mark_used(path)
    try:
        with path.open("rb") as file:
            head = file.readline(RECENT)
            if recent:
                end = os.fstat(file.fileno()).st_size
                if file.tell() < end - RECENT:
                    file.seek(end - RECENT)
                    file.readline()
            lines = file.read().splitlines()
        if _is_cut_off(head, names):
            return History(names, [])
        _check_head(head, names, path)
    except FileNotFoundError:
        return History(names, [])
    except (OSError, UserError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        _note_once(path, f"weather {path} is ignored: {why}")
        return History(names, [])
    found = [entry for line in lines if (entry := _entry(line, names))]
    now = time.time() + AHEAD
    return History(names, sorted((e for e in found if e.at <= now), key=lambda entry: entry.at))


def _note_once(path: Path, line: str) -> None:
    """Says what is wrong with a history once, however often it is read and written."""
    if path not in _noted:
        _noted.add(path)
        console.note(line)


def _head(names: Sequence[str]) -> str:
    return json.dumps({"weather": VERSION, "hosts": names}) + "\n"


def _is_cut_off(line: bytes, names: Sequence[str]) -> bool:
    """Whether it is a part of the head, whose writer goes on, was killed or had no space."""
    return not line.endswith(b"\n") and _head(names).encode().startswith(line)


def _check_head(line: bytes, names: Sequence[str], path: Path) -> None:
    try:
        head = parse_json(line.decode(), str(path))
    except (UserError, ValueError):
        head = None
    if not isinstance(head, dict) or head.get("weather") != VERSION:
        raise UserError("not a history that this Thalweg can read; remove it")
    if head.get("hosts") != list(names):
        raise UserError("of other hosts; remove it")


def add(hosts: Iterable[str], entry: Entry) -> None:
    """Adds an entry to the history of its hosts. A note says why if that isn't possible.

    Processes may add at the same time: each line is written at once, under a lock.
    """
    names = sorted(set(hosts))
    path = location(names)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(0)
            head = file.readline(RECENT)
            if is_new := _is_cut_off(head, names):
                file.truncate(0)
                text = _head(names)
            else:
                _check_head(head, names, path)
                file.seek(size - 1)
                # A writer that was killed may have left half a line.
                torn = file.read(1) != b"\n"
                text = "\n" * torn
            text += _line(entry, names) + "\n"
            file.write(text.encode())
            file.flush()
            if is_new:
                paths.drop_unused(path.parent)
            if size > LARGEST:
                _drop_half(path)
    except (OSError, UserError) as error:
        if isinstance(error, OSError):
            _note_once(path, write_error(f"weather {path}", error, paths.ANOTHER_CACHE))
        else:
            _note_once(path, f"weather {path} isn't kept: {error}")


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """Opens the file, under a lock; once more if another process has just replaced it."""
    while True:
        with path.open("ab+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_at(path, file):
                yield file
                return


def _is_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _drop_half(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    write_whole(path, b"".join([lines[0], *lines[len(lines) // 2 :]]))


def _line(entry: Entry, names: Sequence[str]) -> str:
    number = {name: at for at, name in enumerate(names)}

    def rows(values: Mapping[Pair, float]) -> list[list[float]]:
        return [[number[a], number[b], _short(value)] for (a, b), value in values.items()]

    def limits(values: Iterable[float]) -> list[float | None]:
        return [_short(value) if math.isfinite(value) else None for value in values]

    content: dict[str, Any] = {"at": round(entry.at, 3), "source": entry.source}
    for quantity in get_args(Quantity):
        if values := getattr(entry, quantity):
            content[quantity] = rows(values)
    if entry.ports:
        content["ports"] = [[number[name], *limits(pair)] for name, pair in entry.ports.items()]
    if entry.trunks:
        content["trunks"] = [[name, *limits([rate])] for name, rate in entry.trunks.items()]
    return json.dumps(content, separators=(",", ":"))


def _short(value: float) -> float:
    """Returns four significant digits: more are not known."""
    return float(f"{value:.4g}")


def _entry(line: bytes, names: Sequence[str]) -> Entry | None:
    """Reads a line; None if it isn't an entry of a kind that is known."""
    try:
        found = json.loads(line)
        at, source = float(found["at"]), found["source"]
        if source not in get_args(Source) or not 0 <= at < LATEST:
            return None
        quantities = {
            quantity: {
                (_host(names, a), _host(names, b)): _positive(value)
                for a, b, value in found.get(quantity, [])
            }
            for quantity in get_args(Quantity)
        }
        ports = {
            _host(names, host): (_limit(out), _limit(into))
            for host, out, into in found.get("ports", [])
        }
        trunks = {str(name): _limit(rate) for name, rate in found.get("trunks", [])}
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError):
        return None
    return Entry(at, source, **quantities, ports=ports, trunks=trunks)


def _host(names: Sequence[str], value: Any) -> str:
    number = operator.index(value)
    if number < 0:
        raise IndexError("not a host")
    return names[number]


def _positive(value: Any) -> float:
    number = float(value)
    if not LEAST <= number <= MOST:
        raise ValueError("not a quantity")
    return number


def _limit(value: Any) -> float:
    return math.inf if value is None else _positive(value)
