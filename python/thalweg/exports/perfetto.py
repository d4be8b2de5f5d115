"""A run as a trace for Perfetto (ui.perfetto.dev): hosts, their ranks, and arrows for messages.

The file is a stream of protocol buffers. Apart from the names and tracks, its millions of packets
have the same fields, so they are laid out as rows of one array, with numbers padded to a fixed
width, which protocol buffers allow. perfetto_trace.proto of https://github.com/google/perfetto
names the fields.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from thalweg import units
from thalweg.analysis.tables import Run
from thalweg.exports.lanes import lanes
from thalweg.files import write_file

Numbers = NDArray[np.int64]

BEGIN, END, INSTANT = 1, 2, 3
_CALLS, _SENDS, _RECEIVES = range(3)
"""Groups of a rank's tracks."""
_AT_A_TIME = 1 << 16
"""Events that are laid out together: little enough for a processor's cache."""
_SEQUENCE, _CLEARED, _NEEDS_NAMES = 1, 1, 2
# Tags: field number * 8 + wire type (0 varint, 1 eight bytes, 2 bytes with their length).
_PACKET, _TIMESTAMP, _SEQUENCE_ID, _TRACK_EVENT, _INTERNED, _FLAGS = (
    0x0A,
    0x40,
    0x50,
    0x5A,
    0x62,
    0x68,
)
_FLOW, _FLOW_END, _UNUSED = 47 * 8 + 1, 48 * 8 + 1, 2000 * 8 + 1
_EVENT = np.dtype(
    [
        ("packet", "u1"), ("length", "u1"),
        ("timestamp_tag", "u1"), ("timestamp", "u1", 9),
        ("sequence_tag", "u1"), ("sequence", "u1"),
        ("flags_tag", "u1"), ("flags", "u1"),
        ("event_tag", "u1"), ("event_length", "u1"),
        ("type_tag", "u1"), ("type", "u1"),
        ("track_tag", "u1"), ("track", "u1", 5),
        ("name_tag", "u1"), ("name", "u1", 5),
        ("flow_tag", "u1", 2), ("flow", "<u8"),
    ]
)  # fmt: skip


def write(run: Run, path: Path) -> None:
    """Writes the trace. Cost: about 4 s for 10⁶ transfers. Raises UserError."""
    write_file(path, f"export {path}", b"".join(packets(run)))


def packets(run: Run) -> Iterator[bytes]:
    """Yields the packets: names, tracks, then all events in the order of time."""
    slices = _slices(run)
    names = slices["name"].unique(maintain_order=True)
    yield _names(names.to_list())
    numbered = slices.join(
        pl.DataFrame({"name": names, "name_id": np.arange(1, len(names) + 1)}), on="name"
    )
    numbered = _on_lanes(numbered)
    yield from _tracks(run, numbered)
    yield from _events(numbered)


def _slices(run: Run) -> pl.DataFrame:
    """Returns what is drawn: rank, group, begin, end, name, flow."""
    native = pl.when("planned").then(pl.lit(" ")).otherwise(pl.lit(" (native) "))
    calls = run.calls.select(
        pl.col("rank").cast(pl.Int64), group=pl.lit(_CALLS), begin="enter", end="exit",
        name=_with_size(pl.col("kind") + native, run.calls), flow=pl.lit(0, pl.Int64),
    )  # fmt: skip
    messages = run.messages.with_columns(pl.int_range(1, pl.len() + 1).alias("flow"))
    step = ", step " + pl.col("step").cast(pl.String)
    sends = messages.select(
        rank="sender", group=pl.lit(_SENDS), begin="send_posted", end="send_done",
        name=_with_size("to " + pl.col("receiver").cast(pl.String) + step + ", ", messages),
        flow="flow",
    )  # fmt: skip
    receives = messages.select(
        rank="receiver", group=pl.lit(_RECEIVES), begin="receive_posted", end="receive_done",
        name=_with_size("from " + pl.col("sender").cast(pl.String) + step + ", ", messages),
        flow="flow",
    )  # fmt: skip
    both = pl.concat([calls, sends, receives])
    # A slice without length would end before it begins.
    return both.with_columns(pl.max_horizontal("end", pl.col("begin") + 1).alias("end"))


def _with_size(text: pl.Expr, table: pl.DataFrame) -> pl.Expr:
    sizes = table["size"].unique()
    words = [units.size_to_text(size) for size in sizes]
    return text + pl.col("size").replace_strict(sizes, words, default="", return_dtype=pl.String)


def _on_lanes(slices: pl.DataFrame) -> pl.DataFrame:
    """Adds to the slices their track: slices of a track mustn't overlap."""
    ordered = slices.sort("rank", "group", "begin", "end")
    found = np.empty(len(ordered), np.int64)
    at = 0
    for _, own in ordered.group_by("rank", "group", maintain_order=True):
        found[at : at + len(own)] = lanes(own["begin"].to_list(), own["end"].to_list())
        at += len(own)
    with_lane = ordered.with_columns(pl.Series("lane", found))
    return with_lane.with_columns(
        pl.struct("rank", "group", "lane").rank("dense").cast(pl.Int64).alias("track")
    )


# Packets ---------------------------------------------------------------------------------------


def _events(slices: pl.DataFrame) -> Iterator[bytes]:
    column = {
        name: slices[name].to_numpy()
        for name in ("begin", "end", "track", "name_id", "flow", "group")
    }
    # An arrow ends where the message has arrived, not where its receive was posted.
    arrived = np.flatnonzero(column["group"] == _RECEIVES)
    every = np.arange(len(slices))
    parts = [
        (BEGIN, every, column["begin"]),
        (INSTANT, arrived, column["end"][arrived] - 1),
        (END, every, column["end"]),
    ]
    kind = np.repeat([kind for kind, _, _ in parts], [len(at) for _, at, _ in parts])
    at, time = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    order = np.argsort(time, kind="stable")
    for first in range(0, len(order), _AT_A_TIME):
        some = order[first : first + _AT_A_TIME]
        own = {name: values[at[some]] for name, values in column.items()}
        yield _rows(kind[some], time[some], own)


def _rows(kind: Numbers, time: Numbers, column: Mapping[str, Numbers]) -> bytes:
    rows = np.zeros(len(kind), _EVENT)
    inside = _EVENT.itemsize - _EVENT.fields["type_tag"][1]  # type: ignore[index]
    fixed = {
        "packet": _PACKET, "length": _EVENT.itemsize - 2, "timestamp_tag": _TIMESTAMP,
        "sequence_tag": _SEQUENCE_ID, "sequence": _SEQUENCE, "flags_tag": _FLAGS,
        "flags": _NEEDS_NAMES, "event_tag": _TRACK_EVENT, "event_length": inside,
        "type_tag": 0x48, "track_tag": 0x58, "name_tag": 0x50,
    }  # fmt: skip
    for name, value in fixed.items():
        rows[name] = value
    flow_tag = np.full(len(kind), _UNUSED)
    flow_tag[kind == INSTANT] = _FLOW_END
    flow_tag[(kind == BEGIN) & (column["group"] == _SENDS)] = _FLOW
    rows["type"] = kind
    rows["timestamp"] = _varint(time, 9)
    rows["track"] = _varint(column["track"] + _first_track, 5)
    rows["name"] = _varint(column["name_id"], 5)
    rows["flow_tag"] = _varint(flow_tag, 2)
    rows["flow"] = column["flow"]
    return rows.tobytes()


def _varint(numbers: Numbers, width: int) -> NDArray[np.uint8]:
    """Returns numbers of at most 7 * width bits as varints of this width."""
    shifts = 7 * np.arange(width, dtype=np.uint64)
    parts = (numbers.astype(np.uint64)[:, None] >> shifts) & np.uint64(0x7F)
    parts[:, :-1] |= np.uint64(0x80)
    return parts.astype(np.uint8)


_first_track = 1_000_000
"""Tracks of events have higher numbers than those of hosts and ranks."""


def _tracks(run: Run, slices: pl.DataFrame) -> Iterator[bytes]:
    track_of = {host: number for number, host in enumerate(dict.fromkeys(run.hosts), 1)}
    first_rank = len(track_of) + 1
    for host, number in track_of.items():
        process = _field(1, number) + _field(6, host.encode())
        yield _descriptor(_field(1, number) + _field(3, process))
    for rank, host in enumerate(run.hosts):
        parent = _field(5, track_of[host])
        yield _descriptor(
            _field(1, first_rank + rank) + parent + _field(2, f"rank {rank}".encode())
        )
    kinds = ("calls", "sends", "receives")
    for rank, group, lane, track in (
        slices.select("rank", "group", "lane", "track").unique().sort("track").iter_rows()
    ):
        lane_name = kinds[group] + (f" {lane + 1}" if lane else "")
        parent = _field(5, first_rank + rank)
        yield _descriptor(_field(1, track + _first_track) + parent + _field(2, lane_name.encode()))


def _names(names: Sequence[str]) -> bytes:
    """Returns the packet that says what the events' numbers of names mean."""
    interned = b"".join(
        _field(2, _field(1, number) + _field(2, name.encode()))
        for number, name in enumerate(names, 1)
    )
    return _field(1, _field(10, _SEQUENCE) + _field(13, _CLEARED) + _field(12, interned))


def _descriptor(content: bytes) -> bytes:
    return _field(1, _field(10, _SEQUENCE) + _field(60, content))


def _field(number: int, value: int | bytes) -> bytes:
    """Returns a field of a protocol buffer."""
    if isinstance(value, int):
        return _number(number * 8) + _number(value)
    return _number(number * 8 + 2) + _number(len(value)) + value


def _number(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
