"""What a program's runs took in each placement, so that one that proved slower than another isn't
used again.

It is kept in wisdom: docs/wisdom-file.md. Only runs count on a network on which their placement
costs what it costs now.
"""

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from thalweg import console, mapping, matrices, placement, wisdom
from thalweg.hosts import Host, short_name
from thalweg.matrices import Program
from thalweg.network import Network
from thalweg.record import Run
from thalweg.run_placement import (
    LEAST_SHARE,
    Choice,
    Placed,
    hosts_of,
    known_program,
    seconds_of,
    short_names,
)
from thalweg.units import time_to_text

MOST = 16
"""Runs of a program that are kept, the latest."""
SAME_COST = 0.2
"""How far, relatively, a placement's cost may be from that at its run."""


@dataclass(frozen=True)
class Question:
    """The runs that can be compared."""

    program: Sequence[str]
    """With its arguments."""
    ranks: int
    launcher: str
    """The form in which the launcher is told a placement: thalweg.launch_files."""
    bound: bool = False
    """Whether ranks are bound to cores by their messages."""


@dataclass(frozen=True)
class Timed:
    """A run that went well."""

    hosts: tuple[str, ...]
    """By rank, without domains."""
    seconds: float
    """Un-dilated, from the launcher's start to its end."""
    cost: float
    """Estimated, on the network that the run had."""


@dataclass(frozen=True)
class Tried:
    """A placement in which the program has run."""

    hosts: tuple[str, ...]
    seconds: float
    """The median of its runs."""
    cost: float
    """Estimated, on the network as it is now."""


def keep(question: Question, run: Run, net: Network) -> None:
    """Adds a run that went well, on the network that it had, unless that has other hosts, or hosts
    that differ in their domains only."""
    seconds, hosts, numbers = seconds_of(run), tuple(hosts_of(run)), _numbers(net)
    if seconds is None or len(numbers) < len(net.hosts) or not set(hosts) <= set(numbers):
        return
    now = Timed(hosts, seconds, _cost(net, matrices.of_run(run), hosts))
    kept = [*load(question), now][-MOST:]
    value = json.dumps([_as_json(each) for each in kept], separators=(",", ":"))
    wisdom.add(wisdom.location(), _key(question), value.encode())


def load(question: Question) -> list[Timed]:
    """Returns the runs that are known, the latest last; none if they can't be read."""
    value = wisdom.load(wisdom.location()).get(_key(question), b"[]")
    try:
        return [_timed(each, question.ranks) for each in json.loads(value)]
    except (ValueError, TypeError, LookupError):
        return []


def _as_json(run: Timed) -> dict[str, Any]:
    number = {host: at for at, host in enumerate(dict.fromkeys(run.hosts))}
    placement = [number[host] for host in run.hosts]
    return {
        "hosts": list(number), "placement": placement, "seconds": run.seconds, "cost": run.cost,
    }  # fmt: skip


def _timed(found: Mapping[str, Any], ranks: int) -> Timed:
    hosts = tuple(str(found["hosts"][number]) for number in found["placement"])
    if len(hosts) != ranks:
        raise ValueError
    return Timed(hosts, float(found["seconds"]), float(found["cost"]))


def _key(question: Question) -> str:
    asked = dataclasses.asdict(question) | {"program": list(question.program)}
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]
    return json.dumps({"placements": digest}, separators=(",", ":"))


def prefer(
    choice: Choice, question: Question, net: Network, listed: Sequence[Host], matrix: Path | None
) -> Choice:
    """Returns the choice by what earlier runs took: the placement of those that took least, unless
    the best that was found costs LEAST_SHARE less than all that were tried. Says so where it isn't
    that one.

    Where the launcher's order stays by the cost, or is all that was tried, nothing changes.
    """
    usual = tuple(short_names(choice.usual.hosts))
    runs = load(question)
    if choice.objection or all(run.hosts == usual for run in runs):
        return choice
    if len(_numbers(net)) < len(net.hosts):
        return choice
    # World rank 0 stays where it is, as in run_placement.choose().
    runs = [run for run in runs if run.hosts[0] == usual[0]]
    if (known := known_program(question.program, question.ranks, matrix)) is None:
        return choice
    tried = _tried(runs, net, listed, known)
    placed = [each for each in tried if each.hosts != usual]
    if not placed:
        return choice
    best = tuple(short_names(choice.best.hosts))
    cheapest = min(each.cost for each in placed)
    if choice.best.mapping.cost.total <= (1 - LEAST_SHARE) * cheapest:
        return choice
    fastest = min(tried, key=lambda each: each.seconds)
    if fastest.hosts == usual:
        least = min(each.seconds for each in placed)
        why = (
            f"runs in it took {time_to_text(fastest.seconds)}, in other placements "
            f"{time_to_text(least)}"
        )
        return dataclasses.replace(choice, objection=why, before=None)
    if fastest.hosts == best:
        return choice
    console.note(
        f"ranks are placed as in the fastest runs so far, which took "
        f"{time_to_text(fastest.seconds)}"
    )
    return dataclasses.replace(choice, best=_as_before(net, listed, known, fastest.hosts))


def _tried(
    runs: Sequence[Timed], net: Network, listed: Sequence[Host], known: Program
) -> list[Tried]:
    """Returns the placements that fit the listed hosts' slots, if they cost what they did."""
    slots = Counter({short_name(host.name): host.slots for host in listed})
    taken: dict[tuple[str, ...], list[Timed]] = {}
    for run in runs:
        if Counter(run.hosts) <= slots:
            taken.setdefault(run.hosts, []).append(run)
    found = []
    for hosts, alike in taken.items():
        cost = _cost(net, known, hosts)
        if now := [run.seconds for run in alike if abs(cost - run.cost) <= SAME_COST * run.cost]:
            found.append(Tried(hosts, median(now), cost))
    return found


def _numbers(net: Network) -> dict[str, int]:
    """Returns each host's number, by its name without domain."""
    return {short_name(host.name): number for number, host in enumerate(net.hosts)}


def _where(net: Network, hosts: Sequence[str]) -> list[int]:
    numbers = _numbers(net)
    return [numbers[host] for host in hosts]


def _cost(net: Network, known: Program, hosts: Sequence[str]) -> float:
    return mapping.cost_of(net, known.matrix, _where(net, hosts), calls=known.calls).total


def _as_before(
    net: Network, listed: Sequence[Host], known: Program, hosts: Sequence[str]
) -> Placed:
    """Returns an earlier run's placement with its cost, collectives planned."""
    slots, order = placement.slots_of(net, listed, len(hosts))
    where = _where(net, hosts)
    found = mapping.place(
        net, known.matrix, slots, calls=known.calls, method="block", usual=where, order=order
    )
    assert found.usual
    return Placed([net.hosts[host].name for host in where], found.usual)
