"""Reads what a run leaves in its folder: the run record. docs/record.md describes every field."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thalweg.errors import UserError

SIZE_CLASSES = (0, 1 << 6, 1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26, None)
"""The largest size of each class of messages, in bytes; None: no limit."""

_MAGIC, _VERSION = b"THWGMTX1", 1
_HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("entry_size", "<u4"),
        ("world_rank", "<i4"),
        ("world_size", "<i4"),
        ("reserved", "V40"),
    ]
)
_ENTRY = np.dtype(
    [
        ("used", "<i4"),
        ("to", "<i4"),
        ("messages", "<u8", len(SIZE_CLASSES)),
        ("bytes", "<u8", len(SIZE_CLASSES)),
    ]
)


@dataclass(frozen=True)
class CommunicationMatrix:
    """The messages that a program sent point to point, by ordered pair of world ranks; sparse.

    The arrays have a row for each pair that exchanged messages, ordered by sender and receiver.
    Where `receiver` is `ranks`, they went to processes outside MPI_COMM_WORLD.
    """

    ranks: int
    sender: NDArray[np.int64]
    receiver: NDArray[np.int64]
    messages: NDArray[np.uint64]
    """By pair and size class (SIZE_CLASSES)."""
    nbytes: NDArray[np.uint64]
    """By pair and size class."""
    missing: Sequence[int]
    """Ranks that left no file."""

    def dense(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Returns messages and bytes as square matrices. O(ranks²) memory."""
        inside = self.receiver < self.ranks
        where = self.sender[inside], self.receiver[inside]
        result = []
        for counts in (self.messages, self.nbytes):
            matrix = np.zeros((self.ranks, self.ranks), np.uint64)
            matrix[where] = counts[inside].sum(axis=1)
            result.append(matrix)
        return result[0], result[1]


def read_matrix(folder: Path) -> CommunicationMatrix:
    """Reads the rows that the ranks of a run left in a folder, also where the run was killed.

    Raises UserError if there is none, or one is no such file, cut off, or of another run.
    """
    rows = [_read_row(path) for path in sorted(folder.glob("rank-*.matrix"))]
    if not rows:
        raise UserError(f"{folder}: no communication matrix; run with THALWEG_RECORD={folder}")
    sizes = sorted({size for _, size, _ in rows})
    if len(sizes) > 1:
        raise UserError(
            f"{folder}: holds files of runs with {sizes[0]} and with {sizes[1]} ranks; "
            "give each run a folder of its own"
        )
    rows.sort(key=lambda row: row[0])
    for (rank, *_), (other, *_) in pairwise(rows):
        if rank == other:
            raise UserError(f"{folder}: two files of rank {rank}; remove the wrong one")
    entries = np.concatenate([entries for _, _, entries in rows])
    sender = np.concatenate([np.full(len(entries), rank) for rank, _, entries in rows])
    order = np.lexsort((entries["to"], sender))
    return CommunicationMatrix(
        sizes[0],
        sender[order].astype(np.int64),
        entries["to"][order].astype(np.int64),
        entries["messages"][order],
        entries["bytes"][order],
        sorted(set(range(sizes[0])) - {rank for rank, _, _ in rows}),
    )


def _read_row(path: Path) -> tuple[int, int, NDArray[np.void]]:
    """Returns a rank, the number of ranks, and the entries in use."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    if len(content) < _HEADER.itemsize or not content.startswith(_MAGIC):
        raise UserError(f"{path}: not part of a communication matrix; remove it")
    header = np.frombuffer(content, _HEADER, count=1)[0]
    if header["version"] != _VERSION or header["entry_size"] != _ENTRY.itemsize:
        raise UserError(
            f"{path}: written by another version of Thalweg ({header['version']}, this one "
            f"reads {_VERSION}); record the run again"
        )
    rank, ranks = int(header["world_rank"]), int(header["world_size"])
    if (len(content) - _HEADER.itemsize) % _ENTRY.itemsize or not 0 <= rank < ranks:
        raise UserError(f"{path}: cut off or damaged; record the run again")
    entries = np.frombuffer(content, _ENTRY, offset=_HEADER.itemsize)
    entries = entries[entries["used"] == 1]
    if np.any((entries["to"] < 0) | (entries["to"] > ranks)):
        raise UserError(f"{path}: names ranks beyond {ranks}; record the run again")
    return rank, ranks, entries
