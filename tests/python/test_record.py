"""The run record as a reader sees it: sums, and files that are none."""

import struct
from pathlib import Path

import numpy as np
import pytest

from thalweg import record
from thalweg.errors import UserError

CLASSES = len(record.SIZE_CLASSES)


def row(
    rank: int, ranks: int, entries: dict[int, list[tuple[int, int]]], version: int = 1
) -> bytes:
    """A rank's file: per receiver, messages and bytes by size class."""
    content = struct.pack("<8sIIii40x", b"THWGMTX1", version, 136, rank, ranks)
    for to, counts in entries.items():
        counts = counts + [(0, 0)] * (CLASSES - len(counts))
        content += struct.pack("<ii", 1, to)
        content += struct.pack(f"<{2 * CLASSES}Q", *(m for m, _ in counts), *(b for _, b in counts))
    return content + bytes(136)  # an entry that isn't in use


def write(folder: Path, *rows: bytes) -> Path:
    for number, content in enumerate(rows):
        (folder / f"rank-{number}.matrix").write_bytes(content)
    return folder


def test_rows_become_a_matrix(tmp_path: Path) -> None:
    first = row(0, 3, {2: [(1, 0), (2, 70)], 1: [(0, 0), (4, 40)], 3: [(5, 0)]})
    matrix = record.read_matrix(write(tmp_path, first, row(1, 3, {0: [(0, 0), (1, 8)]})))
    assert list(zip(matrix.sender, matrix.receiver, strict=True)) == [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 0),
    ]
    messages, nbytes = matrix.dense()
    assert np.array_equal(messages, [[0, 4, 3], [1, 0, 0], [0, 0, 0]])
    assert np.array_equal(nbytes, [[0, 40, 70], [8, 0, 0], [0, 0, 0]])
    assert matrix.missing == [2]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no communication matrix; run with THALWEG_RECORD="),
        ([b"nonsense"], "not part of a communication matrix"),
        ([b""], "not part of a communication matrix"),
        ([row(0, 2, {}, version=9)], r"another version of Thalweg \(9, this one reads 1\)"),
        ([row(0, 2, {1: [(1, 1)]})[:-1]], "cut off or damaged"),
        ([row(5, 2, {})], "cut off or damaged"),
        ([row(0, 2, {7: [(1, 1)]})], "names ranks beyond 2"),
        ([row(0, 2, {}), row(1, 4, {})], "runs with 2 and with 4 ranks"),
        ([row(0, 2, {}), row(0, 2, {})], "two files of rank 0"),
    ],
)
def test_what_is_no_matrix_is_refused_in_one_line(
    tmp_path: Path, rows: list[bytes], message: str
) -> None:
    with pytest.raises(UserError, match=message) as error:
        record.read_matrix(write(tmp_path, *rows))
    assert "\n" not in str(error.value)
