"""Plans kept between runs: docs/wisdom-file.md.

The file is $THALWEG_WISDOM, else wisdom in the cache folder. It is read and written as a whole:
under a lock, merged with records that others have added since, to a temporary file that is then
renamed, so that several processes may use it at once. If it can't be read or written, a note on
standard error says so, and planning continues.
"""

import contextlib
import functools
import hashlib
import json
import os
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import thalweg._core
from thalweg import console, paths, planner
from thalweg.algorithms import Problem
from thalweg.collective import Kind
from thalweg.errors import UserError
from thalweg.files import locked, write_whole
from thalweg.operations import Operation
from thalweg.planner import Table
from thalweg.plans import Plan, Setting

MAGIC = b"THWGWISD"
VERSION = 1
LARGEST = 64 << 20
"""Most bytes of plans that are kept; the oldest are dropped first."""

USUAL_SECONDS_PER_RANK = 0.1
"""How long thorough plans for all collectives take (bench/results/scaling.md), before any have been
made for as many ranks; on uneven networks up to four times as long."""

BEGINNING = 4096
BUILD_ID_SIZE = 20
BUILD_ID = struct.pack("<III4s", 4, BUILD_ID_SIZE, 3, b"GNU\0")
"""What precedes an ELF file's build ID, and where it is looked for: among the first bytes."""

Planned = TypeVar("Planned")
Records = Mapping[str, bytes]
"""What is kept, by key."""


def location() -> Path:
    """Returns the file's path: $THALWEG_WISDOM, else wisdom in the cache folder."""
    return Path(os.environ.get("THALWEG_WISDOM") or paths.cache() / "wisdom")


def table(setting: Setting, kinds: Sequence[Kind] = tuple(Kind)) -> Table:
    """Returns setting.table(), or its earlier result. Keeps how long whole tables took."""
    return _recall(
        _key_of_table(setting, kinds),
        planner.table_from_bytes,
        planner.table_to_bytes,
        lambda: setting.table(kinds),
        _key_of_time(setting) if kinds == tuple(Kind) else "",
    )


def seconds_of_table(setting: Setting) -> float:
    """Returns how long table() will take for all collectives: nothing if its result is kept, else
    as long as the last one for as many ranks on as many hosts, or about what is usual."""
    if _key_of_table(setting, tuple(Kind)) in load(location()):
        return 0.0
    known = _seconds(_key_of_time(setting))
    if known is not None or setting.search.effort == "estimate":
        return known or 0.0  # quick plans take hardly any time
    return USUAL_SECONDS_PER_RANK * len(setting.placement)


def _key_of_time(setting: Setting) -> str:
    hosts = len(set(setting.placement))
    asked = [setting.library, setting.search.effort, len(setting.placement), hosts]
    return json.dumps({"planning": asked}, separators=(",", ":"))


def seconds_of_mapping(method: str, ranks: int, hosts: int, pairs: int) -> float:
    """Returns how long the last mapping of so many ranks to so many hosts took by this method, with
    about as many pairs of ranks that exchange messages; nothing if none is known."""
    return _seconds(_key_of_mapping(method, ranks, hosts, pairs)) or 0.0


def keep_seconds_of_mapping(
    method: str, ranks: int, hosts: int, pairs: int, seconds: float,
    found: Mapping[str, bytes] = {},
) -> None:  # fmt: skip
    """Keeps how long a mapping took, and what it found, by its key."""
    took = {_key_of_mapping(method, ranks, hosts, pairs): json.dumps(round(seconds, 3)).encode()}
    _add_all(location(), dict(found) | took)


def _key_of_mapping(method: str, ranks: int, hosts: int, pairs: int) -> str:
    asked = [method, ranks, hosts, pairs.bit_length()]
    return json.dumps({"mapping": asked}, separators=(",", ":"))


def _seconds(key: str) -> float | None:
    with contextlib.suppress(KeyError, ValueError, TypeError):
        return max(0.0, float(json.loads(load(location())[key])))
    return None


def keep_table(setting: Setting, kept: Table) -> None:
    """Makes table() return this one from now on. Raises UserError if it can't be written."""
    path = location()
    table = {_key_of_table(setting, tuple(Kind)): planner.table_to_bytes(kept)}
    try:
        is_kept = _merge(path, lambda records: table)
    except (OSError, ValueError) as error:
        raise UserError(_not_kept(path, error)) from None
    if not is_kept:
        raise UserError(_other(path))


def _key_of_table(setting: Setting, kinds: Sequence[Kind]) -> str:
    asked = {"kinds": sorted(kind.name for kind in kinds), "largest": planner.LARGEST}
    return _key(setting, asked)


def plan(setting: Setting, operation: Operation) -> Plan:
    """Returns setting.plan(), or its earlier result without candidates and critical path."""
    collective = operation.collective(len(setting.placement))
    asked = {
        "collective": collective.kind.name,
        "root": collective.root,
        "size": collective.size,
        "blocks": list(collective.block_sizes),
    }

    def read(data: bytes) -> Plan:
        found = planner.plan_from_bytes(data, collective.ranks)
        problem = Problem(collective, setting.network, setting.placement, setting.library)
        return Plan(problem, setting.options(), planner.Explanation(found))

    return _recall(
        _key(setting, asked),
        read,
        lambda made: planner.plan_to_bytes(made.explanation.plan),
        lambda: setting.plan(operation),
    )


def _recall(
    key: str,
    read: Callable[[bytes], Planned],
    write: Callable[[Planned], bytes],
    make: Callable[[], Planned],
    key_of_time: str = "",
) -> Planned:
    """Returns what is kept by the key, or makes it, and keeps also how long that took if there is a
    key for it."""
    path = location()
    known = load(path).get(key)
    if known is not None:
        with contextlib.suppress(ValueError):
            return read(known)
    began = time.monotonic()
    made = make()
    took = json.dumps(round(time.monotonic() - began, 3)).encode()
    _add_all(path, {key: write(made)} | ({key_of_time: took} if key_of_time else {}))
    return made


def _key(setting: Setting, asked: dict[str, object]) -> str:
    search = setting.search
    settings: dict[str, object] = {"library": setting.library, "effort": search.effort}
    if search.effort == "patient":
        settings |= {"seed": search.seed, "budget": search.budget}
    return json.dumps(
        {"core": core_digest(), "network": f"{setting.network.fingerprint():016x}"}
        | {"placement": _runs(setting.placement)}
        | settings
        | asked,
        separators=(",", ":"),
    )


@functools.cache
def core_digest() -> str:
    """Returns a digest of the compiled core, which makes the plans."""
    return digest(Path(str(thalweg._core.__file__)))


def digest(library: Path) -> str:
    """Returns 16 digits that tell a library from others.

    They are its build ID, if the linker left one: to hash all of the core takes 25 ms.
    """
    with library.open("rb") as file:
        _, has_one, rest = file.read(BEGINNING).partition(BUILD_ID)
        if has_one and len(rest) >= BUILD_ID_SIZE:
            return rest[:BUILD_ID_SIZE].hex()[:16]
        file.seek(0)
        return hashlib.sha256(file.read()).hexdigest()[:16]


def _runs(placement: Sequence[int]) -> list[list[int]]:
    """Returns a placement as runs [first, count] of ascending hosts."""
    runs: list[list[int]] = []
    for host in placement:
        if runs and runs[-1][0] + runs[-1][1] == host:
            runs[-1][1] += 1
        else:
            runs.append([host, 1])
    return runs


# The file --------------------------------------------------------------------------------------


def load(path: Path) -> dict[str, bytes]:
    """Returns the records by key, the oldest first; none, with a note, if it can't be read.

    A file that stays the same is read once: forget() frees what that takes.
    """
    try:
        status = path.stat()
        return dict(_unchanged(path, status.st_ino, status.st_mtime_ns, status.st_size))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        console.note_once(f"wisdom {path} is ignored: {error}" if _is_ours(path) else _other(path))
    except OSError as error:
        console.note_once(f"wisdom {path} is ignored: {error.strerror}")
    return {}


@functools.lru_cache(maxsize=1)
def _unchanged(path: Path, *_: int) -> dict[str, bytes]:
    """Returns _read(path), of this file, time and size."""
    return _read(path)


def forget() -> None:
    """Frees the memory that load() keeps, up to LARGEST: a program that is started may need it."""
    _unchanged.cache_clear()


def _read(path: Path) -> dict[str, bytes]:
    try:
        return dict(planner.wisdom_from_bytes(path.read_bytes()))
    except FileNotFoundError:
        return {}


def change(path: Path, key: str, changed: Callable[[bytes | None], bytes | None]) -> None:
    """Replaces a record of the file by what `changed` makes of it, or of None if there is none.

    The record stays as it is if that is None. No other process changes the file meanwhile. A file
    of another format, or of a newer version, is left unchanged.
    """

    def added(records: Records) -> Records:
        after = changed(records.get(key))
        return {} if after is None or after == records.get(key) else {key: after}

    _merge_or_note(path, added)


def _add_all(path: Path, added: Records) -> None:
    _merge_or_note(path, lambda records: added)


def _merge_or_note(path: Path, added: Callable[[Records], Records]) -> None:
    try:
        _merge(path, added)
    except (OSError, ValueError) as error:
        console.note_once(_not_kept(path, error))


def _merge(path: Path, added: Callable[[Records], Records]) -> bool:
    """Adds what `added` returns for the file's records to them. Returns whether the file may be
    written; raises OSError or ValueError if it can't be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path):
        if not _is_ours(path):
            return False
        records: dict[str, bytes] = {}
        with contextlib.suppress(ValueError):  # reported when it was read
            records = _read(path)
        if new := added(records):
            _write(path, {k: v for k, v in records.items() if k not in new} | dict(new))
    return True


def _not_kept(path: Path, error: OSError | ValueError) -> str:
    why = error.strerror if isinstance(error, OSError) else error
    return f"wisdom {path} isn't kept: {why}; THALWEG_WISDOM names another file"


def _other(path: Path) -> str:
    return (
        f"wisdom {path} is ignored and stays as it is: it is another kind of file, or a newer "
        "version's; delete it, or name another file by THALWEG_WISDOM"
    )


def _is_ours(path: Path) -> bool:
    """Whether the file may be written: it is missing, empty, or wisdom that this version
    understands."""
    try:
        with path.open("rb") as file:
            head = file.read(len(MAGIC) + 4)
    except FileNotFoundError:
        return True
    version = int.from_bytes(head[len(MAGIC) :], "little")
    return not head or (head[: len(MAGIC)] == MAGIC and version <= VERSION)


def _write(path: Path, records: dict[str, bytes]) -> None:
    left = LARGEST
    kept: list[tuple[str, bytes]] = []
    for key, value in reversed(records.items()):
        left -= len(key) + len(value)
        if left >= 0 or not kept:
            kept.append((key, value))
    write_whole(path, planner.wisdom_to_bytes(list(reversed(kept))))
