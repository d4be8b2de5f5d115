"""Schedules: transfers, each with a step, from a collective's precondition to its postcondition.

All transfers of a step read the state before that step. A Schedule can be iterated over: it yields
its transfers in ascending order of (step, from, to).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from thalweg._core import schedule as _core
from thalweg._core.collective import Collective
from thalweg._core.schedule import How, Layout, Range, Schedule, Transfer
from thalweg.collective import parse_kind
from thalweg.errors import UserError
from thalweg.files import parse_json, read_text, write_file
from thalweg.printable import short

__all__ = [
    "How",
    "Layout",
    "Range",
    "Schedule",
    "Transfer",
    "from_json",
    "in_order",
    "messages",
    "read",
    "sent",
    "to_json",
    "verify",
    "write",
]

SCHEMA = 1
"""Version of the schedule file."""
MOST_CHUNKS: int = _core.most_chunks
"""The most chunks of a schedule, and of all its transfers together, that can be read from a file:
what checks it would take minutes with more."""


def verify(collective: Collective, schedule: Schedule) -> None:
    """Replays the schedule and checks that it does what the collective asks for, once each.

    Raises ValueError naming the first transfer at fault, or the rank, the chunk and its defect.
    """
    _core.verify(collective, schedule)


def in_order(transfers: Iterable[Transfer]) -> list[Transfer]:
    """Sorts transfers as a schedule needs them: ascending by (step, from, to)."""
    return sorted(transfers, key=lambda each: (each.step, each.from_, each.to))


def sent(collective: Collective, schedule: Schedule) -> dict[tuple[int, int], int]:
    """Returns (from, to) -> bytes of all segments together, without pairs of 0 bytes."""
    found: dict[tuple[int, int], int] = {}
    for sender, receiver, size in messages(collective, schedule):
        found[sender, receiver] = found.get((sender, receiver), 0) + size
    return found


def messages(
    collective: Collective, schedule: Schedule, part: int | None = None
) -> Iterator[tuple[int, int, int]]:
    """Yields (from, to, bytes of all segments together) of each transfer that isn't local.

    With `part`, counts only the chunks that are this part of their block. A message without bytes
    isn't sent, unless the collective has no data at all.
    """
    # All segments of a chunk together equal the chunk without segments, except for rounding.
    whole = Schedule(schedule.chunks, [], weights=schedule.weights).layout(collective)
    parts = schedule.chunks // collective.blocks
    for transfer in schedule:
        if transfer.from_ == transfer.to:
            continue
        if part is None:
            size, counts = sum(_bytes(whole, each) for each in transfer.what), True
        else:
            chunks = [chunk for chunk in _chunks(transfer) if chunk % parts == part]
            size, counts = sum(_bytes(whole, Range(chunk)) for chunk in chunks), bool(chunks)
        if size or (counts and not collective.total):
            yield transfer.from_, transfer.to, size


def _chunks(transfer: Transfer) -> Iterator[int]:
    for each in transfer.what:
        yield from range(each.first, each.first + each.count * each.stride, each.stride)


def _bytes(layout: Layout, part: Range) -> int:
    if part.stride == 1:
        begin, end = layout.interval(0, part.first, part.count)
        return end - begin
    return sum(_bytes(layout, Range(part.first + i * part.stride)) for i in range(part.count))


# Files (docs/schedule-file.md) -----------------------------------------------------------------


def to_json(collective: Collective, schedule: Schedule) -> str:
    """Returns a schedule file's text: one transfer a line."""
    head: dict[str, Any] = {
        "schema": SCHEMA,
        "collective": _collective_json(collective),
        "chunks": schedule.chunks,
        "segments": schedule.segments,
        "period": schedule.period,
    }
    if schedule.window:
        head["window"] = schedule.window
    if schedule.weights:
        head["weights"] = schedule.weights
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    transfers = ",\n".join(f"    {json.dumps(_transfer_json(each))}" for each in schedule)
    return "\n".join(["{", *lines, '  "transfers": [', transfers, "  ]", "}\n"])


def _collective_json(collective: Collective) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": collective.kind.name,
        "ranks": collective.ranks,
        "root": collective.root,
        "size": collective.size,
    }
    if collective.block_sizes:
        found["block_sizes"] = collective.block_sizes
    if collective.in_place:
        found["in_place"] = True
    return found


def _transfer_json(transfer: Transfer) -> dict[str, Any]:
    found: dict[str, Any] = {"step": transfer.step, "from": transfer.from_, "to": transfer.to}
    found["how"] = transfer.how.name
    found["what"] = [[part.first, part.count, part.stride] for part in transfer.what]
    found |= {key: reg for key, reg in (("src", transfer.src), ("dst", transfer.dst)) if reg}
    return found


def from_json(text: str, where: str) -> tuple[Collective, Schedule]:
    """Reads the collective and the schedule in a schedule file's text; `where` names it in errors.

    The schedule isn't verified. Raises UserError naming the error.
    """
    document = _Object(parse_json(text, where), where)
    if (schema := document.number("schema")) != SCHEMA:
        raise UserError(f"{where}: schema {schema} is unknown; this Thalweg reads schema {SCHEMA}")
    collective = _collective(document.below("collective"))
    transfers = [_transfer(each) for each in document.objects("transfers")]
    try:
        schedule = Schedule(
            document.number("chunks", most=2**63),
            transfers,
            document.number("segments", 1),
            document.number("period", 1),
            document.numbers("weights"),
            document.number("window", 0),
        )
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None
    document.finish()
    return collective, schedule


def read(path: str | PathLike[str]) -> tuple[Collective, Schedule]:
    """Reads the collective and the schedule in a file. Raises UserError naming the file."""
    return from_json(read_text(path, f"schedule {path}"), f"schedule {path}")


def write(path: str | PathLike[str], collective: Collective, schedule: Schedule) -> None:
    """Writes a schedule file. Raises UserError if it can't be written, or couldn't be read."""
    moved = sum(part.count for transfer in schedule for part in transfer.what)
    if max(schedule.chunks, moved) > MOST_CHUNKS:
        raise UserError(
            f"schedule {path}: has {schedule.chunks} chunks, and {moved} in all its messages, but "
            f"a file has at most {MOST_CHUNKS} (docs/schedule-file.md): take fewer ranks"
        )
    write_file(Path(path), f"schedule {path}", to_json(collective, schedule))


class _Object:
    """An object of a schedule file, whose members are taken one by one; none may be left."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, Mapping):
            raise UserError(f"{where}: must be an object, in braces (docs/schedule-file.md)")
        self._left = dict(value)
        self.where = where

    def _take(self, key: str, default: object) -> object:
        if key not in self._left and default is None:
            raise UserError(f"{self.where}: lacks {key}: add it")
        return self._left.pop(key, default)

    def number(self, key: str, default: int | None = None, most: int = 2**31) -> int:
        return self._number(self._take(key, default), key, most)

    def _number(self, value: object, key: str, most: int = 2**31) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise UserError(f"{self.where}: {key} must be a whole number of at least 0")
        if value >= most:
            raise UserError(f"{self.where}: {key} is too large: must be below {most}")
        return value

    def numbers(self, key: str) -> list[int]:
        """Reads a list of weights, or of sizes."""
        most = 2**63 if key == "block_sizes" else 2**31
        return [self._number(each, key, most) for each in self._list(self._take(key, []), key)]

    def text(self, key: str, default: str | None = None) -> str:
        value = self._take(key, default)
        if not isinstance(value, str):
            raise UserError(f"{self.where}: {key} must be text in quotes")
        return value

    def flag(self, key: str) -> bool:
        value = self._take(key, False)
        if not isinstance(value, bool):
            raise UserError(f"{self.where}: {key} must be true or false")
        return value

    def below(self, key: str) -> "_Object":
        return _Object(self._take(key, None), f"{self.where}: {key}")

    def objects(self, key: str) -> "Iterable[_Object]":
        for index, each in enumerate(self._list(self._take(key, None), key)):
            yield _Object(each, f"{self.where}: {key}[{index}]")

    def ranges(self, key: str) -> list[Range]:
        """Reads a list of [first], [first, count] or [first, count, stride]."""
        found = []
        for each in self._list(self._take(key, None), key):
            numbers = [self._number(number, key) for number in self._list(each, key)]
            if not 1 <= len(numbers) <= 3:
                raise UserError(f"{self.where}: {key} needs ranges [first, count, stride]")
            found.append(Range(*numbers))
        if not found:
            raise UserError(f"{self.where}: {key} needs ranges [first, count, stride]")
        return found

    def _list(self, value: object, key: str) -> list[Any]:
        if not isinstance(value, list):
            raise UserError(f"{self.where}: {key} must be a list")
        return value

    def finish(self) -> None:
        if self._left:
            raise UserError(
                f"{self.where}: the key {short(next(iter(self._left)))} is unknown: leave it out"
            )


def _collective(found: _Object) -> Collective:
    name = found.text("kind")
    numbers = (
        found.number("ranks"), found.number("root", 0), found.number("size", 0, most=2**63),
        found.flag("in_place"), found.numbers("block_sizes"),
    )  # fmt: skip
    try:
        collective = Collective(parse_kind(name), *numbers)
    except (UserError, ValueError) as error:
        raise UserError(f"{found.where}: {error}") from None
    found.finish()
    return collective


def _transfer(found: _Object) -> Transfer:
    how = found.text("how", "copy")
    if how not in How.__members__:
        raise UserError(f"{found.where}: how must be one of {', '.join(How.__members__)}")
    transfer = Transfer(
        found.number("from"), found.number("to"), found.number("step"), How[how],
        found.ranges("what"), found.number("src", 0, most=2**8), found.number("dst", 0, most=2**8),
    )  # fmt: skip
    found.finish()
    return transfer
