"""Reads communication matrices in the Matrix Market format, of bytes by rows and columns."""

import re
from collections.abc import Iterable, Iterator

from thalweg.errors import UserError
from thalweg.mapping import Communication
from thalweg.matrix_entries import Entries, check_count, number_of, rank_of

_SIZE = re.compile("[0-9]{1,18}")


def read(text: str, where: str) -> Communication:
    """Reads bytes; a pattern's entries count as one message of one byte each.

    Raises UserError; `where` names the matrix in it.
    """
    lines = text.splitlines()
    head = lines[0].split()
    if len(head) != 5 or head[1].lower() != "matrix":
        raise UserError(f"{where}: its first line isn't that of a Matrix Market matrix")
    layout, numbers, symmetry = (word.lower() for word in head[2:])
    if (
        layout not in ("coordinate", "array")
        or numbers not in ("real", "integer", "pattern")
        or symmetry not in ("general", "symmetric")
    ):
        raise UserError(
            f"{where}: a {layout} matrix, {numbers} and {symmetry}: must be coordinate or array, "
            "real, integer or pattern, and general or symmetric"
        )
    body = (
        (number, line.split())
        for number, line in enumerate(lines[1:], 2)
        if line.strip() and not line.startswith("%")
    )
    _, sizes = next(body, (0, []))
    if len(sizes) < 2 or not all(map(_SIZE.fullmatch, sizes)):
        raise UserError(f"{where}: must say its size: how many rows and columns")
    ranks, columns = map(int, sizes[:2])
    if ranks != columns or ranks == 0:
        raise UserError(
            f"{where}: has {ranks} rows and {columns} columns; must have one of each for each rank"
        )
    check_count(ranks, where)
    found = (
        _coordinates(body, ranks, where, pattern=numbers == "pattern")
        if layout == "coordinate"
        else _array(body, ranks, symmetry, where)
    )
    entries = Entries(where)
    lines_read = 0
    for sender, receiver, value in found:
        lines_read += 1
        entries.add(sender, receiver, float(numbers == "pattern"), value)
        if symmetry == "symmetric" and sender != receiver:
            entries.add(receiver, sender, float(numbers == "pattern"), value)
    if layout == "coordinate" and (len(sizes) != 3 or lines_read != int(sizes[2])):
        raise UserError(f"{where}: is cut off, or says a wrong number of entries")
    return entries.matrix(ranks)


def _coordinates(
    body: Iterable[tuple[int, list[str]]], ranks: int, where: str, *, pattern: bool
) -> Iterator[tuple[int, int, float]]:
    for number, words in body:
        here = f"{where}, line {number}"
        if len(words) != (2 if pattern else 3):
            wanted = "row and column alone" if pattern else "row, column and value"
            raise UserError(f"{here}: must have {wanted}")
        row, column = (rank_of(word, here) for word in words[:2])
        if not (1 <= row <= ranks and 1 <= column <= ranks):
            raise UserError(
                f"{here}: row {row}, column {column}: both are numbered from 1 to {ranks}"
            )
        yield row - 1, column - 1, 1.0 if pattern else number_of(words[2], here)


def _array(
    body: Iterable[tuple[int, list[str]]], ranks: int, symmetry: str, where: str
) -> Iterator[tuple[int, int, float]]:
    """Entries column by column; of a symmetric matrix only the lower triangle."""
    values = [
        number_of(word, f"{where}, line {number}") for number, words in body for word in words
    ]
    count = ranks * (ranks + 1) // 2 if symmetry == "symmetric" else ranks * ranks
    if len(values) != count:
        raise UserError(f"{where}: has {len(values)} values, not {count}")
    places = (
        (row, column)
        for column in range(ranks)
        for row in range(column if symmetry == "symmetric" else 0, ranks)
    )
    for (row, column), value in zip(places, values, strict=True):
        if value:
            yield row, column, value
