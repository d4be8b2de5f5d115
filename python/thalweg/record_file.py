"""The ranks' files of a run record: docs/record.md describes every field."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg import clocks, record_folder
from thalweg.errors import UserError

SIZE_CLASSES = (0, 1 << 6, 1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26, None)
"""The largest size of each class of messages, in bytes; None: no limit."""

RATIOS = tuple(2.0 ** (at // 2) * (1.5 if at % 2 else 1.0) / 8 for at in range(24))
"""The smallest ratio, of observed to predicted time, of each class of transfers; the first class
has all that are smaller."""

_MAGIC, _VERSION = b"THWGREC1", 1
HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("header_size", "<u4"),
        ("world_rank", "<i4"),
        ("world_size", "<i4"),
        ("run", "<u8"),
        ("size", "<u8"),
        ("scale", clocks.SCALE),
        ("clock", clocks.FIT),
        ("finished", "<u4"),
        ("host", "<i4"),
        ("reserved", "V8"),
    ]
)
HEAD = [("kind", "<u4"), ("entry_size", "<u4")]
MESSAGES = np.dtype(
    [
        *HEAD,
        ("to", "<i4"),
        ("reserved", "V4"),
        ("messages", "<u8", len(SIZE_CLASSES)),
        ("bytes", "<u8", len(SIZE_CLASSES)),
    ]
)
ONE_SIDED = np.dtype(
    [
        *HEAD,
        ("to", "<i4"),
        ("reserved", "V4"),
        ("writes", "<u8", len(SIZE_CLASSES)),
        ("written", "<u8", len(SIZE_CLASSES)),
        ("reads", "<u8", len(SIZE_CLASSES)),
        ("read", "<u8", len(SIZE_CLASSES)),
    ]
)
CALLS = np.dtype(
    [
        *HEAD,
        ("communicator", "<u8"),
        ("ranks", "<i4"),
        ("root", "<i4"),
        ("algorithm", "<u2"),
        ("collective", "u1"),
        ("size_class", "u1"),
        ("datatype", "u1"),
        ("planned", "u1"),
        ("reason", "u1"),
        ("flags", "u1"),
        ("calls", "<u8"),
        ("bytes", "<u8"),
        ("time_ticks", "<i8"),
        ("least_ticks", "<i8"),
        ("most_ticks", "<i8"),
        ("native_ns", "<i8"),
        ("bound_ns", "<i8"),
    ]
)
LINK = np.dtype(
    [
        *HEAD,
        ("host", "<i4"),
        ("reserved", "V4"),
        ("sends", "<u8"),
        ("sent_bytes", "<u8"),
        ("posted", "<u8", 2),
        ("receives", "<u8"),
        ("received_bytes", "<u8"),
        ("done", "<u8", 2),
        ("observed_ticks", "<i8"),
        ("predicted_ns", "<f8"),
        ("ratios", "<u8", len(RATIOS)),
    ]
)
COMMUNICATOR = np.dtype(
    [
        *HEAD,
        ("members", "<u8"),
        ("rank", "<i4"),
        ("ranks", "<i4"),
        ("leader", "<i4"),
        ("reserved", "V4"),
    ]
)
CALL_KEY = (
    "communicator", "ranks", "root", "algorithm", "collective", "size_class", "datatype", "planned",
    "reason", "flags",
)  # fmt: skip
IS_NONBLOCKING = 1
"""The bit of a call's flags."""


class EntryKind(IntEnum):
    """What an entry has, as src/runtime/observe/record_file.hpp numbers it."""

    messages = 1
    calls = 2
    link = 3
    communicator = 4
    one_sided = 5
    neighbor_blocks = 6


KINDS = {
    EntryKind.messages: MESSAGES,
    EntryKind.calls: CALLS,
    EntryKind.link: LINK,
    EntryKind.communicator: COMMUNICATOR,
    EntryKind.one_sided: ONE_SIDED,
    EntryKind.neighbor_blocks: MESSAGES,
}
"""The form of entries of each kind."""


@dataclass(frozen=True)
class RankRecord:
    """One rank's part, as it is in a file."""

    header: Any
    entries: Mapping[EntryKind, NDArray[np.void]]
    """Entries by their kind."""

    @property
    def rank(self) -> int:
        return int(self.header["world_rank"])


def parts_of(path: Path) -> Iterator[RankRecord]:
    """Yields the records of the ranks in a file: each a header and entries, one after the other."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    cut_off = UserError(f"{path}: cut off or damaged; record the run again")
    at = 0
    while at < len(content):
        if content[at : at + 8] == bytes(8):
            raise UserError(
                f"{path}: half written: its rank ended before it recorded anything; remove it"
            )
        if content[at : at + 8] != _MAGIC:
            raise cut_off if at else UserError(f"{path}: not a rank's record; remove it")
        if len(content) - at < HEADER.itemsize:
            raise cut_off
        header = np.frombuffer(content, HEADER, count=1, offset=at)[0]
        if header["version"] != _VERSION or header["header_size"] != HEADER.itemsize:
            raise UserError(
                f"{path}: written by another version of Thalweg ({header['version']}, this one "
                f"reads {_VERSION}); record the run again"
            )
        end = at + int(header["size"])
        if not at + HEADER.itemsize <= end <= len(content):
            raise cut_off
        yield RankRecord(header, _entries(content, at + HEADER.itemsize, end, cut_off))
        is_last = path.name != record_folder.MERGED  # a rank's own file has room left
        at = len(content) if is_last else end


def _entries(
    content: bytes, at: int, end: int, cut_off: UserError
) -> dict[EntryKind, NDArray[np.void]]:
    """Returns the entries of a rank, by kind. Those of unknown kinds are left out."""
    found: dict[EntryKind, list[int]] = {kind: [] for kind in EntryKind}
    known = {kind.value: kind for kind in EntryKind}
    while at < end:
        number, size = (
            int.from_bytes(content[at + part : at + part + 4], "little") for part in (0, 4)
        )
        kind = known.get(number)
        if size < 8 or at + size > end or (kind and size != KINDS[kind].itemsize):
            raise cut_off
        if kind:
            found[kind].append(at)
        at += size
    return {
        kind: np.frombuffer(
            b"".join(content[place : place + dtype.itemsize] for place in found[kind]), dtype
        )
        for kind, dtype in KINDS.items()
    }
