"""Reads the counters of the lab's switch and of this machine's kernel.

    before = counters.read()
    ...                                  # the measurement
    delta = counters.read().since(before)

Works outside the lab and in its hosts. One reading takes about a millisecond of the switch's time,
in which no frame moves: read before and after a measurement, not during it.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from thalweg.errors import UserError
from thalweg.lab import state
from thalweg.lab.control import Control


@dataclass(frozen=True)
class Counters:
    """Counts since the lab was brought up, or between two readings; seconds are not un-dilated."""

    dilation: float
    hosts: tuple[str, ...]
    elapsed: float
    busy: float
    """Seconds that the switch did not wait; divided by `elapsed`, the load of its core."""
    frames: int
    pair_bytes: tuple[tuple[int, ...], ...]
    """Bytes of frames delivered, [from][to]."""
    drops: Mapping[str, int]
    """Frames dropped by a queue: pair, trunk, ingress; lost by the scenario; refused by a host."""
    late: int
    """Frames that left later than planned by over 5 % of the latency imposed on them."""
    lateness: tuple[int, ...]
    """The late frames by how late they were: lateness[n] up to lateness_edges[n] seconds."""
    lateness_edges: tuple[float, ...]
    host_drops: tuple[int, ...]
    """Frames that hosts dropped on their own interface, by host."""
    retransmits: tuple[int, ...]
    """Retransmitted TCP segments, by host."""
    steal: float
    """Seconds that the hypervisor took from this machine's processors."""
    run_queue_delay: float
    """Seconds that runnable tasks waited for a processor, all tasks together."""

    @property
    def bytes(self) -> int:
        """Bytes of frames delivered, of all pairs."""
        return sum(map(sum, self.pair_bytes))

    @property
    def busy_fraction(self) -> float:
        """The load of the switch's core, 0 to 1."""
        return self.busy / self.elapsed if self.elapsed > 0 else 0.0

    def late_beyond(self, limit: float) -> int:
        """Returns how many frames were late by over 5 % of their latency and over `limit` seconds.

        `limit` is rounded up to a bucket of the histogram, a factor of at most 2^(1/4); the last
        bucket, of 0.7 s and more, is beyond any.
        """
        edges = self.lateness_edges
        first = next((n for n, edge in enumerate(edges) if edge >= limit), len(edges))
        return sum(self.lateness[min(first + 1, len(edges) - 1) :])

    @property
    def latest(self) -> float:
        """Upper limit of the latest frame's lateness in seconds; 0 if none was late."""
        used = [n for n, count in enumerate(self.lateness) if count]
        return self.lateness_edges[used[-1]] if used else 0.0

    def since(self, before: Self) -> "Counters":
        """Returns the counts between an earlier reading and this one."""
        return delta(before, self)

    def to_json(self) -> dict[str, Any]:
        """Returns the counts for result files."""
        return {**asdict(self), "bytes": self.bytes, "busy_fraction": self.busy_fraction}


def read(lab: state.Lab | None = None) -> Counters:
    """Reads the running lab's counters.

    Raises UserError if no lab is up, or its switch doesn't answer.
    """
    return parse(answer(lab or state.require()))


def answer(lab: state.Lab) -> dict[str, Any]:
    """Returns what a lab's switch says of its counters. Raises UserError if it doesn't answer."""
    try:
        with Control(lab.folder) as control:
            return control.ask("counters")
    except OSError as error:
        raise UserError(f"the switch of the lab {lab.name} does not answer: {error}") from error


def delta(before: Counters, after: Counters) -> Counters:
    """Returns the counts between two readings of the same lab."""
    return Counters(
        dilation=after.dilation,
        hosts=after.hosts,
        elapsed=after.elapsed - before.elapsed,
        busy=after.busy - before.busy,
        frames=after.frames - before.frames,
        pair_bytes=tuple(map(_minus, after.pair_bytes, before.pair_bytes)),
        drops={name: count - before.drops[name] for name, count in after.drops.items()},
        late=after.late - before.late,
        lateness=_minus(after.lateness, before.lateness),
        lateness_edges=after.lateness_edges,
        host_drops=_minus(after.host_drops, before.host_drops),
        retransmits=_minus(after.retransmits, before.retransmits),
        steal=after.steal - before.steal,
        run_queue_delay=after.run_queue_delay - before.run_queue_delay,
    )


def _minus(after: Sequence[int], before: Sequence[int]) -> tuple[int, ...]:
    return tuple(a - b for a, b in zip(after, before, strict=True))


def parse(answer: Mapping[str, Any]) -> Counters:
    """Makes counters from the switch's answer, with the current steal and run-queue delay."""
    drops = {name: count for name, count in answer["drops"].items() if name != "trunks"}
    return Counters(
        dilation=answer["dilation"],
        hosts=tuple(answer["hosts"]),
        elapsed=answer["elapsed"],
        busy=answer["busy"],
        frames=answer["frames"],
        pair_bytes=tuple(map(tuple, answer["pair_bytes"])),
        drops=drops,
        late=answer["late"],
        lateness=tuple(answer["lateness"]["counts"]),
        lateness_edges=tuple(answer["lateness"]["edges"]),
        host_drops=tuple(answer["host_drops"]),
        retransmits=tuple(answer["retransmits"]),
        steal=_steal(),
        run_queue_delay=_run_queue_delay(),
    )


def _steal() -> float:
    ticks = int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])
    return ticks / os.sysconf("SC_CLK_TCK")


def _run_queue_delay() -> float:
    try:
        lines = Path("/proc/schedstat").read_text().splitlines()
    except OSError:  # a kernel without schedstats
        return 0.0
    return sum(int(line.split()[8]) for line in lines if line.startswith("cpu")) * 1e-9
