"""Reads what a run leaves in its folder: the run record. docs/record.md describes every field."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg import clocks, record_file, record_rules, recording
from thalweg.clocks import HostClock
from thalweg.errors import UserError
from thalweg.record_file import RATIOS, SIZE_CLASSES, EntryKind, RankRecord, parts_of

__all__ = [
    "CALLS",
    "DATATYPES",
    "LINKS",
    "RATIOS",
    "SIZE_CLASSES",
    "CommunicationMatrix",
    "OneSided",
    "Run",
]

DATATYPES = ("unknown", "predefined", "contiguous", "gaps", "several")


CALLS = np.dtype(
    [("rank", "<i4")]
    + [(name, record_file.CALLS[name]) for name in record_file.CALL_KEY]
    + [("nonblocking", "?"), ("calls", "<i8"), ("bytes", "<i8")]
    + [(name, "<f8") for name in ("seconds", "least", "most", "native", "bound")]
)
"""Calls of a rank that have their key in common; the last five are in seconds: of all calls, the
shortest, the longest, and the sums of the predicted native time and the bound, where known."""

LINKS = np.dtype(
    [
        ("from", "<i4"),
        ("to", "<i4"),
        ("transfers", "<i8"),
        ("bytes", "<i8"),
        ("observed", "<f8"),
        ("predicted", "<f8"),
        ("ratios", "<i8", len(RATIOS)),
        ("one_way", "<f8"),
        ("one_way_error", "<f8"),
    ]
)
"""Planned transfers from a host to another one. In seconds are: the receivers' times from posting
to completion, summed up; what the network lets expect of the same; the mean time from a message's
posting at its sender to its completion at its receiver, and how far the clocks may falsify it (NaN
if one end's record is missing)."""


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
    phase: NDArray[np.int64]
    """The number of other ranks to which the sender had sent before it first sent to this one."""
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


@dataclass(frozen=True)
class OneSided:
    """What ranks did with other ranks' memory, by ordered pair of world ranks; sparse.

    The arrays have a row for each pair, ordered by rank and target. Where `target` is `ranks`, the
    memory was that of processes outside MPI_COMM_WORLD. Counts are by pair and size class.
    """

    ranks: int
    rank: NDArray[np.int64]
    """The rank that made the accesses."""
    target: NDArray[np.int64]
    writes: NDArray[np.uint64]
    written: NDArray[np.uint64]
    """Bytes."""
    reads: NDArray[np.uint64]
    read: NDArray[np.uint64]
    """Bytes."""


@dataclass(frozen=True)
class Run:
    """A run record. What a killed rank or an aborted run left is there, too."""

    folder: Path
    description: Mapping[str, Any]
    """run.json: docs/record.md."""
    parts: Sequence[RankRecord]
    """The records of the ranks that left one, by rank."""

    @property
    def number(self) -> int:
        """The number of the run, which all of its files have."""
        return int(self.description["run"], 16)

    @property
    def dilation(self) -> float:
        """The dilation of the lab that it ran on; 1 elsewhere. `calls`, `links`, `wall`
        and `seconds` are divided by it."""
        return dilation_of(self.description)

    @property
    def ranks(self) -> int:
        return int(self.description["ranks"])

    @cached_property
    def hosts(self) -> Sequence[str]:
        """The names of the hosts, by number."""
        return list(self.description["hosts"])

    @cached_property
    def placement(self) -> Sequence[int]:
        """The number of each rank's host."""
        return list(self.description["placement"])

    @cached_property
    def host_of_rank(self) -> Sequence[str]:
        """The name of each rank's host, as it calls itself."""
        return [self.hosts[host] for host in self.placement]

    @property
    def launch(self) -> Mapping[str, Any]:
        """What the launcher knew of the run; empty if it didn't start it, or never saw its end."""
        return recording.launch_of(self.description)

    @property
    def status(self) -> int | None:
        """The launcher's exit status; None if it isn't known."""
        status = self.launch.get("status")
        return status if isinstance(status, int) else None

    @property
    def start(self) -> str:
        """When the launcher started it, in words."""
        return str(self.launch.get("start", "an unknown time"))

    @property
    def seconds(self) -> float | None:
        """How long it took, its start by the launcher included; None if it isn't known."""
        found = self.launch.get("seconds")
        return found / self.dilation if isinstance(found, int | float) and found > 0 else None

    @cached_property
    def missing(self) -> Sequence[int]:
        """Ranks that left nothing."""
        return sorted(set(range(self.ranks)) - {part.rank for part in self.parts})

    @cached_property
    def unfinished(self) -> Sequence[int]:
        """Ranks that left something, but didn't come to MPI_Finalize."""
        return [part.rank for part in self.parts if not part.header["finished"]]

    @cached_property
    def clocks(self) -> Sequence[HostClock]:
        """The clock of each host."""
        return [
            HostClock(**{name: tuple(values) for name, values in clock.items()})
            for clock in self.description["clocks"]
        ]

    @cached_property
    def matrix(self) -> CommunicationMatrix:
        """Messages point to point."""
        return self._sent(EntryKind.messages)

    @cached_property
    def neighbor_blocks(self) -> CommunicationMatrix:
        """Blocks of collectives of neighbourhoods."""
        return self._sent(EntryKind.neighbor_blocks)

    def _sent(self, kind: EntryKind) -> CommunicationMatrix:
        sender, entries = self._table(kind)
        phase = contacts(sender, entries["to"])
        order = np.lexsort((entries["to"], sender))
        return CommunicationMatrix(
            self.ranks,
            sender[order],
            entries["to"][order].astype(np.int64),
            entries["messages"][order],
            entries["bytes"][order],
            phase[order],
            self.missing,
        )

    @cached_property
    def one_sided(self) -> OneSided:
        rank, entries = self._table(EntryKind.one_sided)
        order = np.lexsort((entries["to"], rank))
        counts = (entries[name][order] for name in ("writes", "written", "reads", "read"))
        return OneSided(self.ranks, rank[order], entries["to"][order].astype(np.int64), *counts)

    @cached_property
    def calls(self) -> NDArray[np.void]:
        """Collective calls, by rank and key: CALLS."""
        rank, entries = self._table(EntryKind.calls)
        used = entries["calls"] > 0
        rank, entries = rank[used], entries[used]
        found = np.zeros(len(entries), CALLS)
        found["rank"] = rank
        for name in (*record_file.CALL_KEY, "calls", "bytes"):
            found[name] = entries[name]
        found["nonblocking"] = entries["flags"] & record_file.IS_NONBLOCKING
        tick = np.zeros(self.ranks)
        for part in self.parts:
            tick[part.rank] = 1e-9 * part.header["scale"]["ns_per_tick"] / self.dilation
        in_ticks = {"seconds": "time_ticks", "least": "least_ticks", "most": "most_ticks"}
        for name, source in in_ticks.items():
            found[name] = entries[source] * tick[rank]
        found["native"] = entries["native_ns"] * 1e-9
        found["bound"] = entries["bound_ns"] * 1e-9
        return found

    @property
    def blocking_calls(self) -> NDArray[np.void]:
        """The calls that aren't nonblocking: a rank does nothing else in their times."""
        found: NDArray[np.void] = self.calls[self.calls["nonblocking"] == 0]
        return found

    @property
    def seconds_in_collectives(self) -> float:
        """What a rank spent in blocking collectives, on average."""
        return float(self.blocking_calls["seconds"].sum()) / self.ranks

    @cached_property
    def communicators(self) -> Mapping[int, Sequence[int]]:
        """World ranks of the members by rank, by what calls have as `communicator`; -1: not known,
        since that rank left nothing."""
        world_rank, entries = self._table(EntryKind.communicator)
        found: dict[int, list[int]] = {}
        for rank, entry in zip(world_rank, entries, strict=True):
            members = found.setdefault(int(entry["members"]), [-1] * int(entry["ranks"]))
            if 0 <= entry["rank"] < len(members):
                members[entry["rank"]] = int(rank)
        return found

    @cached_property
    def links(self) -> NDArray[np.void]:
        """Planned transfers by ordered pair of hosts: LINKS."""
        pairs: dict[tuple[int, int], _Link] = {}
        for part in self.parts:
            here = int(part.header["host"])
            for entry in part.entries[EntryKind.link]:
                there = int(entry["host"])
                pairs.setdefault((there, here), _Link()).receive(part.header, entry)
                pairs.setdefault((here, there), _Link()).send(part.header, entry)
        rows = [link.row(pair) for pair, link in sorted(pairs.items()) if link.transfers]
        found = np.array(rows, LINKS)
        for name in ("observed", "one_way", "one_way_error"):
            found[name] /= self.dilation
        return found

    @property
    def wall(self) -> float:
        """Seconds from MPI_Init to MPI_Finalize; 0: not known."""
        if self.description.get("end", "") is None:
            return 0.0
        spans = [clock.at_ns[-1] - clock.at_ns[0] for clock in self.clocks if len(clock.at_ns) > 1]
        return max(spans, default=0) * 1e-9 / self.dilation

    def name_of(self, table: str, number: int) -> str:
        """Returns the name behind a number of a call: of "collectives", "reasons" or, counted from
        1, "algorithms"."""
        names = self.description.get(table, [])
        at = int(number) - (1 if table == "algorithms" else 0)
        return str(names[at]) if 0 <= at < len(names) else "native"

    def _table(self, kind: EntryKind) -> tuple[NDArray[np.int64], NDArray[np.void]]:
        """Returns all entries of a kind, and the ranks that they are of."""
        tables = [part.entries[kind] for part in self.parts]
        ranks = [
            np.full(len(table), part.rank, np.int64)
            for part, table in zip(self.parts, tables, strict=True)
        ]
        if not tables:
            return np.zeros(0, np.int64), np.zeros(0, record_file.KINDS[kind])
        return np.concatenate(ranks), np.concatenate(tables)


class _Link:
    """Sums over the transfers of an ordered pair of hosts, in nanoseconds of rank 0's clock."""

    def __init__(self) -> None:
        self.sends = self.transfers = self.nbytes = 0
        self.posted = self.done = 0.0  # of all, less _BASE each
        self.observed = self.predicted = 0.0
        self.ratios = np.zeros(len(RATIOS), np.int64)
        self.error = 0.0
        self._base: float | None = None

    def receive(self, header: Any, entry: Any) -> None:
        count = int(entry["receives"])
        if not count:
            return
        self.transfers += count
        self.nbytes += int(entry["received_bytes"])
        self.done += self._sum(header, entry["done"], count)
        self.observed += float(entry["observed_ticks"]) * float(header["scale"]["ns_per_tick"])
        self.predicted += float(entry["predicted_ns"])
        self.ratios += entry["ratios"].astype(np.int64)

    def send(self, header: Any, entry: Any) -> None:
        count = int(entry["sends"])
        if count:
            self.sends += count
            self.posted += self._sum(header, entry["posted"], count)

    def _sum(self, header: Any, wide: Any, count: int) -> float:
        """Returns a sum of times by rank 0's clock, and keeps the largest error of a clock."""
        scale = header["scale"]
        ticks = int(wide[0]) + (int(wide[1]) << 64)
        mean = (ticks - count * int(scale["ticks"])) * float(scale["ns_per_tick"]) / count
        at = int(scale["ns"]) + mean
        clock = clocks.of_fit(header["clock"])
        self.error = max(self.error, float(clock.error(at)))
        if self._base is None:
            self._base = at
        return count * (at - self._base + float(clock.offset(at)))

    def row(self, pair: tuple[int, int]) -> tuple[Any, ...]:
        known = self.sends == self.transfers
        one_way = (self.done - self.posted) / self.transfers * 1e-9 if known else np.nan
        error = self.error * 1e-9 if known else np.nan
        return (
            *pair, self.transfers, self.nbytes, self.observed * 1e-9, self.predicted * 1e-9,
            self.ratios, one_way, error,
        )  # fmt: skip


def read(folder: Path) -> Run:
    """Reads a run record, also that of a run that was killed.

    Raises UserError if there is none, or a file is foreign, cut off, damaged or of another run.
    """
    description = record_rules.read_description(folder)
    parts = [part for path in recording.files(folder) for part in parts_of(path)]
    if not parts:
        raise UserError(
            f"{folder}: no rank left a record here; look on the machine of world rank 0, or at "
            "what the run said of THALWEG_RECORD"
        )
    parts.sort(key=lambda part: part.rank)
    record_rules.check_one_run(folder, description, parts)
    return Run(folder, description, parts)


def contacts(sender: NDArray[np.int64], receiver: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns to how many other ranks each row's sender sends in rows before it."""
    order = np.argsort(sender, kind="stable")
    ordered = sender[order]
    is_other = (sender != receiver)[order]
    before = np.cumsum(is_other) - is_other
    found = np.empty(len(sender), np.int64)
    found[order] = before - before[np.searchsorted(ordered, ordered)] if len(sender) else 0
    return found


def dilation_of(description: Mapping[str, Any]) -> float:
    """Returns how many times slower a lab was than its network, from run.json or summary.json."""
    found = description.get("dilation", 1)
    usable = isinstance(found, int | float) and 1 <= found < math.inf
    return float(found) if usable else 1.0
