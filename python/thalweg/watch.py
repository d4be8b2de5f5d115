"""Says while a program runs what its collectives do: reads its run record again and again.

Only the ranks on this machine are seen (docs/record.md).
"""

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thalweg import console, record, units
from thalweg.errors import UserError
from thalweg.printable import plural
from thalweg.record import Run

INTERVAL = 2.0
"""Seconds between two lines."""
PAUSE = 20
"""Least pause before a record is read again, as a multiple of the time that reading it took: it
takes less than a twentieth of the time, however many ranks there are."""
MOST_PLANS = 3
"""Most plans that a line names."""

Key = tuple[str, int, str]
"""A collective, its class of sizes, and its algorithm, or why it is native."""


@dataclass(frozen=True)
class Seen:
    """The sums of a record at one moment."""

    ranks: int
    calls: Mapping[Key, tuple[int, float]]
    """Calls and seconds, those of a lab dilated, of all ranks together."""
    planned: int
    links: Mapping[tuple[str, str], tuple[float, float]]
    """Observed and predicted seconds by pair of hosts, where both are known."""


def see(run: Run) -> Seen:
    """Returns the sums of a record."""
    calls: dict[Key, tuple[int, float]] = {}
    for each in run.calls:
        if each["planned"]:
            plan = run.name_of("algorithms", each["algorithm"])
        else:
            plan = f"native ({run.name_of('reasons', each['reason'])})"
        key = (run.name_of("collectives", each["collective"]), int(each["size_class"]), plan)
        count, seconds = calls.get(key, (0, 0.0))
        # Times of nonblocking calls overlap with others and with the program's own work.
        spent = 0.0 if each["nonblocking"] else float(each["seconds"]) * run.dilation
        calls[key] = (count + int(each["calls"]), seconds + spent)
    links = {
        (run.hosts[each["from"]], run.hosts[each["to"]]): (
            float(each["observed"]), float(each["predicted"])
        )
        for each in run.links if each["predicted"] > 0
    }  # fmt: skip
    of_planned = run.calls["calls"][run.calls["planned"] == 1]
    return Seen(len(run.parts), calls, int(of_planned.sum()), links)


def describe(before: Seen | None, now: Seen, seconds: float) -> str:
    """Returns a line about the seconds between two moments, and about the calls so far."""
    made = sum(count for count, _ in now.calls.values())
    text = f"{plural(_of_a_rank(made, now), 'collective call')} so far, "
    text += f"{_of_a_rank(now.planned, now)} planned"
    recent = {
        key: (count - old[0], took - old[1])
        for key, (count, took) in now.calls.items()
        if count > (old := (before.calls.get(key, (0, 0.0)) if before else (0, 0.0)))[0]
    }
    if not recent:
        return text + "; none since the last line"
    share = sum(took for _, took in recent.values()) / (seconds * now.ranks)
    text += f"; {min(share, 1):.0%} of the time is in collectives"
    costly = sorted(recent, key=lambda key: -recent[key][1])[:MOST_PLANS]
    text += "; " + ", ".join(f"{kind}{_size(size)}: {plan}" for kind, size, plan in costly)
    return text + _slowest(before, now)


def _of_a_rank(calls: int, seen: Seen) -> int:
    return round(calls / max(seen.ranks, 1))


def _size(size_class: int) -> str:
    """The sizes of a class of calls: those with as many bits."""
    return f" below {units.size_to_text(2**size_class)}" if size_class else ""


def _slowest(before: Seen | None, now: Seen) -> str:
    """The link whose transfers took longest against what the network lets expect."""
    ratios = {}
    for pair, (observed, predicted) in now.links.items():
        old = before.links.get(pair, (0.0, 0.0)) if before else (0.0, 0.0)
        if predicted > old[1]:
            ratios[pair] = (observed - old[0]) / (predicted - old[1])
    if not ratios:
        return ""
    slowest = max(ratios, key=lambda pair: ratios[pair])
    usual = float(np.median(list(ratios.values())))
    return (
        f"; slowest link {slowest[0]} -> {slowest[1]}, {ratios[slowest]:.1f} times what is "
        f"expected (the usual one {usual:.1f})"
    )


@contextlib.contextmanager
def watching(folder: Path, interval: float = INTERVAL) -> Iterator[None]:
    """Prints a line on standard error every two seconds while the block runs."""
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(folder, interval, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _watch(folder: Path, interval: float, ended: threading.Event) -> None:
    before, since, wait = None, time.monotonic(), interval
    while not ended.wait(wait):
        begin = time.monotonic()
        now = look(folder)
        wait = max(interval, PAUSE * (time.monotonic() - begin))
        if now is None:
            continue
        console.note(describe(before, now, begin - since))
        before, since = now, begin


def look(folder: Path) -> Seen | None:
    """Returns the sums of a record; None before MPI_Init, and while its files are made one."""
    try:
        return see(record.read(folder))
    except (UserError, OSError):
        return None
