"""Finds what a collective's last exit waited for, from the runtime's events.

The path goes back in time from the last transfer that the last rank completed. Each stretch of
time on it has one cause, so the causes add up to the whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Cause = Literal["wire", "latency", "below the link's rate", "rank"]
"""wire: size / rate of the link; latency: of the link; below the link's rate: what a transfer took
beyond both (other flows, TCP, handshakes, messages not polled for); rank: between what a rank had
to wait for and its next post, or its exit."""
causes: tuple[Cause, ...] = ("wire", "latency", "below the link's rate", "rank")


@dataclass(frozen=True)
class Transfer:
    """One end of a message, times in seconds of a clock that all ranks share."""

    rank: int
    peer: int
    is_send: bool
    step: int
    segment: int
    size: int
    posted: float
    done: float


@dataclass(frozen=True)
class Link:
    """The network between two ranks."""

    latency: float  # seconds
    rate: float  # bytes per second


@dataclass(frozen=True)
class Stretch:
    """A part of the critical path. Both ends are the rank itself if the cause is "rank"."""

    sender: int
    receiver: int
    cause: Cause
    begin: float
    end: float

    @property
    def length(self) -> float:
        return self.end - self.begin


Links = Callable[[int, int], Link]


def critical_path(
    transfers: Sequence[Transfer], begin: float, last_rank: int, last_exit: float, links: Links
) -> list[Stretch]:
    """The path from `begin` to `last_rank`'s exit, latest stretch first; no gaps, no overlaps."""
    return _Walk(transfers, begin, links).back_from(last_rank, last_exit)


class _Walk:
    def __init__(self, transfers: Sequence[Transfer], begin: float, links: Links) -> None:
        self.begin = begin
        self.links = links
        self.by_rank: dict[int, list[Transfer]] = defaultdict(list)
        self.by_key: dict[tuple[bool, int, int, int, int], Transfer] = {}
        for transfer in transfers:
            self.by_rank[transfer.rank].append(transfer)
            self.by_key[_key(transfer)] = transfer
        for own in self.by_rank.values():
            own.sort(key=lambda transfer: transfer.done)

    def back_from(self, rank: int, time: float) -> list[Stretch]:
        path: list[Stretch] = []
        while time > self.begin:
            last = self._take_last_done(rank, time)
            start = last.done if last else self.begin
            path.append(Stretch(rank, rank, "rank", start, time))
            if last is None:
                break
            rank, time = self._cross(last, path)
        return [stretch for stretch in path if stretch.length > 0]

    def _cross(self, last: Transfer, path: list[Stretch]) -> tuple[int, float]:
        """Adds the stretches of a transfer; returns the rank and time at which it could begin."""
        while True:
            ready, rank = self._ready(last)
            before = self._before_on_link(last)
            if before is None or before.done <= ready:
                ready = max(ready, self.begin)
                self._add(path, last, ready, alone=True)
                return rank, ready
            self._add(path, last, before.done, alone=False)
            last = before

    def _ready(self, transfer: Transfer) -> tuple[float, int]:
        """Returns when both ends had posted, and the rank that posted last."""
        other = self.by_key.get(_other_key(transfer))
        if other is None or other.posted <= transfer.posted:
            return transfer.posted, transfer.rank
        return other.posted, other.rank

    def _before_on_link(self, transfer: Transfer) -> Transfer | None:
        """Returns the transfer before it over the same link, in the same direction."""
        earlier = [
            t
            for t in self.by_rank[transfer.rank]
            if t.peer == transfer.peer and t.is_send == transfer.is_send and t.done < transfer.done
        ]
        return earlier[-1] if earlier else None

    def _take_last_done(self, rank: int, time: float) -> Transfer | None:
        """Takes what a rank completed last, and all later, so that every step goes back."""
        own = self.by_rank[rank]
        while own and own[-1].done > time:
            own.pop()
        return own.pop() if own and own[-1].done > self.begin else None

    def _add(self, path: list[Stretch], transfer: Transfer, begin: float, alone: bool) -> None:
        """Splits a transfer's time: its wire time, its latency if it came alone, the rest."""
        sender, receiver = transfer.peer, transfer.rank
        if transfer.is_send:
            sender, receiver = receiver, sender
        link = self.links(sender, receiver)
        parts: list[tuple[Cause, float]] = [("wire", transfer.size / link.rate)]
        if alone:
            parts.append(("latency", link.latency))
        left = transfer.done - begin
        at = transfer.done
        for cause, length in parts:
            length = min(length, left)
            path.append(Stretch(sender, receiver, cause, at - length, at))
            at, left = at - length, left - length
        path.append(Stretch(sender, receiver, "below the link's rate", begin, at))


def _key(t: Transfer) -> tuple[bool, int, int, int, int]:
    return (t.is_send, t.rank, t.peer, t.step, t.segment)


def _other_key(t: Transfer) -> tuple[bool, int, int, int, int]:
    return (not t.is_send, t.peer, t.rank, t.step, t.segment)


def by_hop(path: Sequence[Stretch]) -> dict[tuple[int, int], dict[Cause, float]]:
    """Returns seconds per cause for each (sender, receiver), in the order of time."""
    hops: dict[tuple[int, int], dict[Cause, float]] = {}
    for stretch in reversed(path):
        hop = hops.setdefault((stretch.sender, stretch.receiver), dict.fromkeys(causes, 0.0))
        hop[stretch.cause] += stretch.length
    return hops
