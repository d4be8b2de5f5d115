"""Reads the runtime's records of collectives: the files rank-<r>.events of THALWEG_TRACE and of run
records with events. What a killed rank left can be read, too.

Times are nanoseconds of CLOCK_MONOTONIC, sizes bytes; docs/events-file.md describes every field.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg import clocks, record_folder, shape
from thalweg.clocks import UNKNOWN as UNKNOWN_CLOCK
from thalweg.clocks import HostClock
from thalweg.collective import Kind, neighborhoods
from thalweg.errors import UserError
from thalweg.files import parse_json, read_text
from thalweg.shape import NUMBER, WHOLE

MAGIC = b"THWGEVT1"
VERSION = 2

HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("record_size", "<u4"),
        ("version", "<u4"),
        ("world_rank", "<i4"),
        ("world_size", "<i4"),
        ("clock_offset_ns", "<i8"),
        ("count", "<u8"),
        ("room", "<u8"),
        ("scale", clocks.SCALE),
        ("clock", clocks.FIT),
        ("run", "<u8"),
    ]
)

TRANSFER = np.dtype(
    [
        ("type", "u1"),
        ("direction", "u1"),
        ("collective", "u1"),
        ("how", "u1"),
        ("call", "<u4"),
        ("peer", "<i4"),
        ("step", "<i4"),
        ("segment", "<i4"),
        ("tag", "<i4"),
        ("size", "<i8"),
        ("posted_ns", "<i8"),
        ("done_ns", "<i8"),
        ("applied_ns", "<i8"),
        ("reserved", "V8"),
    ]
)

CALL = np.dtype(
    [
        ("type", "u1"),
        ("collective", "u1"),
        ("planned", "u1"),
        ("reason", "u1"),
        ("call", "<u4"),
        ("root", "<i4"),
        ("ranks", "<i4"),
        ("size", "<i8"),
        ("enter_ns", "<i8"),
        ("exit_ns", "<i8"),
        ("tag", "<i4"),
        ("leader", "<i4"),
        ("sequence", "<u4"),
        ("algorithm", "<u2"),
        ("off_core", "<u2"),
        ("window", "<i4"),
        ("member", "<i4"),
    ]
)

SEND, RECEIVE, LOCAL = 0, 1, 2
OFF_CORE_NS = 10_000
"""The unit of a call's off_core."""
_TRANSFER, _CALL = 1, 2
NONBLOCKING_CALL = 3
"""The type of calls in whose time the program may do other things."""
COLLECTIVES = (*(kind.name for kind in Kind), *neighborhoods)
"""Names of collectives, in the order of the records' numbers."""


@dataclass(frozen=True)
class RankEvents:
    """One rank's events, oldest first; clocks of all ranks are aligned as far as the file knows."""

    rank: int
    ranks: int
    dropped: int
    """Number of older events that were overwritten."""
    transfers: NDArray[np.void]
    calls: NDArray[np.void]
    clock: HostClock = UNKNOWN_CLOCK
    """The host's clock, by which the times were before they were aligned."""
    clock_error_ns: float = np.inf
    """The most that the aligned times of its calls may be wrong; infinite if that isn't known."""
    run: int = 0
    """The number of the run; 0: not known."""


def read(path: Path, clock: HostClock | None = None) -> RankEvents:
    """Reads one rank's file.

    `clock`: by which its times are aligned, if not by the file's own header. Raises UserError if it
    isn't an events file of this version, or isn't there.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    if not content.startswith(MAGIC):
        raise UserError(f"{path}: not an events file; the runtime writes them to THALWEG_TRACE")
    if len(content) < HEADER.itemsize:
        raise UserError(f"{path}: cut off in its header; was it copied whole?")
    header = np.frombuffer(content, HEADER, count=1)[0]
    if header["version"] != VERSION or header["record_size"] != TRANSFER.itemsize:
        raise UserError(
            f"{path}: events of version {header['version']}, but this Thalweg reads {VERSION}"
        )
    count, room = int(header["count"]), int(header["room"])
    if room <= 0 or HEADER.itemsize + room * TRANSFER.itemsize > len(content):
        raise UserError(f"{path}: cut off, or damaged; was it copied whole?")
    ring = np.frombuffer(content, TRANSFER, count=room, offset=HEADER.itemsize)
    kept = min(count, room)
    records = np.roll(ring, -(count % room)) if count > room else ring[:kept]
    used = clocks.of_fit(header["clock"]) if clock is None else clock

    def own_times(ticks: NDArray[np.int64]) -> NDArray[np.int64]:
        return clocks.to_ns(ticks, header["scale"])

    def align(ticks: NDArray[np.int64]) -> NDArray[np.int64]:
        own = own_times(ticks)
        return own + np.rint(used.offset(own)).astype(np.int64)

    # A clock's error is a function of its own times: other hosts' may have begun years apart.
    error_ns = used.error(own_times(_calls_of(records)["exit_ns"]))
    return RankEvents(
        int(header["world_rank"]),
        int(header["world_size"]),
        count - kept,
        *_tables(records, align),
        used,
        float(error_ns.max(initial=0)),
        int(header["run"]),
    )


def _calls_of(records: NDArray[np.void]) -> NDArray[np.void]:
    is_call = np.isin(records["type"], [_CALL, NONBLOCKING_CALL])
    calls: NDArray[np.void] = records.view(CALL)[is_call]
    return calls


def _tables(
    records: NDArray[np.void], align: Callable[[NDArray[np.int64]], NDArray[np.int64]]
) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """Returns transfers and calls among the records, with their times aligned.

    A record that a killed process didn't complete has another type.
    """
    transfers = records[records["type"] == _TRANSFER].copy()
    calls = _calls_of(records).copy()
    for events, names in (
        (transfers, ("posted_ns", "done_ns", "applied_ns")),
        (calls, ("enter_ns", "exit_ns")),
    ):
        for name in names:
            events[name] = align(events[name])
    return transfers, calls


def read_all(folder: Path, clocks_of_ranks: Sequence[HostClock] = ()) -> list[RankEvents]:
    """Reads all ranks' files in a folder, by rank.

    `clocks_of_ranks`: what the run record has, which may be more than the first and last comparison
    in the files. Clocks that are one are not aligned. Raises UserError if a file is missing,
    invalid or of another run.
    """
    paths = sorted(folder.glob(record_folder.EVENTS))
    used = [_clock_of(path, clocks_of_ranks) for path in paths]
    if clocks.are_one(used):
        used = [clocks.RANK_0S] * len(paths)
    found = sorted(map(read, paths, used), key=lambda it: it.rank)
    if not found:
        raise UserError(
            f"{folder}: no events; run with `thalweg run --trace {folder}`, or keep some in a"
            " record by `--events 64MB`"
        )
    for each in found:
        if np.any(each.transfers["size"] < 0):
            raise UserError(
                f"{folder}: the events of rank {each.rank} are damaged: a message has less than 0 "
                "bytes; record the run again"
            )
    if len({each.run for each in found}) > 1:
        raise UserError(
            f"{folder}: holds events of different runs; give each run a folder of its own"
        )
    missing = sorted(set(range(found[0].ranks)) - {events.rank for events in found})
    if missing:
        raise UserError(f"{folder}: the events of rank {missing[0]} are missing")
    return found


def _clock_of(path: Path, clocks_of_ranks: Sequence[HostClock]) -> HostClock:
    """Returns the clock of a file's rank: of its own header, or the given one if that was compared
    more often. The clock of what is no such file is unknown."""
    try:
        with path.open("rb") as file:
            content = file.read(HEADER.itemsize)
    except OSError:
        return UNKNOWN_CLOCK
    if len(content) < HEADER.itemsize or not content.startswith(MAGIC):
        return UNKNOWN_CLOCK
    header = np.frombuffer(content, HEADER, count=1)[0]
    rank = int(header["world_rank"])
    given = clocks_of_ranks[rank] if 0 <= rank < len(clocks_of_ranks) else UNKNOWN_CLOCK
    return max(clocks.of_fit(header["clock"]), given, key=lambda clock: len(clock.at_ns))


def read_summary(folder: Path) -> dict[str, Any]:
    """Returns rank 0's counts: summary.json.

    Raises UserError if it isn't there, or isn't what the runtime writes.
    """
    path = folder / record_folder.SUMMARY
    advice = f"; run with `thalweg run --trace {folder}`"
    content = parse_json(read_text(path, str(path), advice), str(path))
    if found := shape.fault(content, _SUMMARY) or next(_contradictions(content), None):
        raise UserError(f"{path}: {found}, as the summary of a run has it{advice}")
    return dict(content)


def _contradictions(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yields what is missing in a summary, each of whose values has its shape, though other values
    call for it."""
    for at, race in enumerate(summary.get("races", [])):
        name = f'"races"[{at}]'
        if "plan" in race["seconds"] and "plan" not in race["predicted"]:
            yield f'{name}."predicted" lacks "plan"'
        verdicts = ((f'{name}."verdicts"[{i}]', each) for i, each in enumerate(race["verdicts"]))
        for where, each in ((name, race), *verdicts):
            if each["winner"] not in _CANDIDATES or each["winner"] not in each["seconds"]:
                yield f'{where} lacks the "seconds" of its "winner"'
    for at, change in enumerate(summary.get("changes", [])):
        needed = "excess" if change["quantity"] == "latency" else "factor"
        for number, cause in enumerate(change["causes"]):
            where = f'"changes"[{at}]."causes"[{number}]'
            if needed not in cause:
                yield f'{where} lacks "{needed}"'
            elif needed == "factor" and cause["factor"] <= 0:
                yield f'{where}."factor" must be more than 0'


_SECONDS = {"plan?": NUMBER, "native": NUMBER, "second?": NUMBER}
_CANDIDATES = [key.removesuffix("?") for key in _SECONDS]
_RACE = {
    "collective": str, "size": WHOLE, "band?": WHOLE, "root": WHOLE, "ranks": WHOLE,
    "leader": WHOLE, "largest?": WHOLE, "began?": str, "winner": str, "calls": WHOLE,
    "races": WHOLE, "lost": NUMBER,
    "predicted": _SECONDS, "seconds": _SECONDS,
    "algorithms?": {"plan?": str, "native?": str, "second?": str},
    "verdicts": [{"call": WHOLE, "winner": str, "seconds": _SECONDS}],
}  # fmt: skip
_CHANGE = {
    "collective": str, "size": WHOLE, "largest?": WHOLE, "root": WHOLE, "ranks": WHOLE,
    "call": WHOLE,
    "quantity": str, "adopted": WHOLE, "outcome": str,
    "seconds": {"usual": NUMBER, "noticed": NUMBER, "after": NUMBER},
    "causes": [
        {"what": str, "name": str, "from": [str], "to": [str], "factor?": NUMBER, "excess?": NUMBER}
    ],
    "plans": [
        {"collective": str, "size": WHOLE, "largest?": WHOLE, "before": str, "after": str,
         "predicted": {"before": NUMBER, "after": NUMBER}}
    ],
}  # fmt: skip
_SUMMARY = {
    "library?": str, "algorithms?": [str], "reasons?": [str], "races?": [_RACE],
    "more_races?": {"plan": WHOLE, "native": WHOLE, "second": WHOLE}, "changes?": [_CHANGE],
}  # fmt: skip
"""What `thalweg explain` and the analysis read of a summary; docs/events-file.md has all."""
