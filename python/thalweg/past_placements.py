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
from typing import Any

import numpy as np

from thalweg import (
    console,
    host_names,
    kept_mapping,
    mapping,
    matrices,
    past_runs,
    placement,
    programs,
    wisdom,
)
from thalweg.hosts import Host
from thalweg.kept_mapping import MappingProblem
from thalweg.matrices import Program
from thalweg.network import Network, host_numbers
from thalweg.record import Run
from thalweg.run_placement import PlacementChoice, PredictedPlacement
from thalweg.units import time_to_text

MOST = 16
"""Runs of a program that are kept, the latest."""
SAME_COST = 0.2
"""How far, relatively, a placement's cost may be from that at its run."""
LEAST_SAVED = 0.1
"""The share by which a new placement's estimated cost must be less than of those that were tried:
such costs differ from times by a tenth."""
LEAST_FASTER = 0.03
"""The share of the time that runs in a placement must save of those in the launcher's order, where
the cost is for that order."""


@dataclass(frozen=True)
class ComparableRuns:
    """What runs have in common whose times can be compared."""

    program: Sequence[str]
    """The program and its arguments."""
    ranks: int
    launcher: str
    """The form in which the launcher is told a placement: thalweg.launch_files."""
    bound: bool = False
    """Whether ranks are bound to cores by their messages."""


@dataclass(frozen=True)
class Timed:
    """A run that went well."""

    hosts: tuple[str, ...]
    """By rank, as the network has them."""
    seconds: float
    """Un-dilated, from the launcher's start to its end."""
    cost: float
    """Estimated, on the network that the run had, whose hosts all count."""


@dataclass(frozen=True)
class Tried:
    """A placement in which the program has run."""

    hosts: tuple[str, ...]
    seconds: float
    """The median of its runs."""
    cost: float
    """Estimated, on the network as it is now, with the slots of the listed hosts."""


def keep(comparable: ComparableRuns, run: Run, net: Network) -> None:
    """Adds a run that went well, on the network that it had, unless that has other hosts."""
    seconds, hosts = run.seconds, _in_network(net, run.host_of_rank)
    if seconds is None or hosts is None:
        return
    now = Timed(hosts, seconds, _cost(net, matrices.of_run(run), hosts))

    def with_now(before: bytes | None) -> bytes:
        kept = [*_read(before, comparable), now][-MOST:]
        return json.dumps([_as_json(each) for each in kept], separators=(",", ":")).encode()

    wisdom.change(wisdom.location(), _key(comparable), with_now)


def load(comparable: ComparableRuns) -> list[Timed]:
    """Returns the runs that are known, the latest last; none if they can't be read."""
    return _read(wisdom.load(wisdom.location()).get(_key(comparable)), comparable)


def _read(kept: bytes | None, comparable: ComparableRuns) -> list[Timed]:
    try:
        return [_timed(each, comparable.ranks) for each in json.loads(kept or b"[]")]
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


def _key(comparable: ComparableRuns) -> str:
    asked = dataclasses.asdict(comparable) | {"program": programs.identity(comparable.program)}
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]
    return json.dumps({"placements": digest}, separators=(",", ":"))


def prefer(
    choice: PlacementChoice, comparable: ComparableRuns, net: Network, listed: Sequence[Host]
) -> PlacementChoice:
    """Returns the choice by what earlier runs took: the placement of the runs that took least,
    unless the best placement found costs LEAST_SAVED less than all that were tried. Prints a line
    if a placement that was tried is taken.

    Where the launcher's order stays by the cost, another placement must have proved to be faster
    by LEAST_FASTER. If only the launcher's order was tried, the choice is returned unchanged.
    """
    usual = tuple(choice.usual.hosts)
    runs = _on(net, load(comparable))
    if all(run.hosts == usual for run in runs):
        return choice
    # World rank 0 stays where it is, as in run_placement.choose().
    runs = [run for run in runs if run.hosts[0] == usual[0]]
    tried = {each.hosts: each for each in _tried(runs, net, listed, choice.program)}
    placed = [each for hosts, each in tried.items() if hosts != usual]
    if not placed:
        return choice
    fastest = min(placed, key=lambda each: each.seconds)
    as_usual = tried[usual].seconds if usual in tried else None
    if choice.objection:
        if as_usual is None or fastest.seconds > (1 - LEAST_FASTER) * as_usual:
            return choice
        return _return_to(choice, comparable, net, listed, fastest)
    cheapest = min(each.cost for each in placed)
    if choice.best.mapping.cost.total <= (1 - LEAST_SAVED) * cheapest:
        return choice
    if as_usual is not None and as_usual <= fastest.seconds:
        why = (
            f"runs in it took {time_to_text(as_usual)}, in other placements "
            f"{time_to_text(fastest.seconds)}"
        )
        return dataclasses.replace(choice, objection=why, before=None)
    if fastest.hosts == tuple(choice.best.hosts):
        return choice
    return _return_to(choice, comparable, net, listed, fastest)


def _return_to(
    choice: PlacementChoice,
    comparable: ComparableRuns,
    net: Network,
    listed: Sequence[Host],
    tried: Tried,
) -> PlacementChoice:
    """Returns the choice of a placement that was tried, and says so."""
    before = choice.before
    if choice.objection:  # which leaves out the run to compare with
        before = past_runs.in_order(comparable.program, choice.usual.hosts)
    console.note(
        f"ranks are placed as in the fastest runs so far, which took {time_to_text(tried.seconds)}"
    )
    return dataclasses.replace(
        choice,
        best=_placed_on(net, listed, choice.program, tried.hosts),
        objection="",
        before=before,
    )


def _tried(
    runs: Sequence[Timed], net: Network, listed: Sequence[Host], known: Program
) -> list[Tried]:
    """Returns the placements that fit the listed hosts' slots, if they cost what they did."""
    free, _ = placement.slots_of(net, listed, known.matrix.ranks)
    slots = Counter({host.name: count for host, count in zip(net.hosts, free, strict=True)})
    taken: dict[tuple[str, ...], list[Timed]] = {}
    for run in runs:
        if Counter(run.hosts) <= slots:
            taken.setdefault(run.hosts, []).append(run)
    found = []
    for hosts, alike in taken.items():
        cost = _cost(net, known, hosts)
        if now := [run.seconds for run in alike if abs(cost - run.cost) <= SAME_COST * run.cost]:
            found.append(Tried(hosts, float(np.median(now)), _cost(net, known, hosts, free)))
    return found


def _in_network(net: Network, hosts: Sequence[str]) -> tuple[str, ...] | None:
    """Returns hosts as the network has them; None if it hasn't them all."""
    names = [host.name for host in net.hosts]
    found = host_names.as_in(hosts, names, domains=True)
    return tuple(found) if set(found) <= set(names) else None


def _on(net: Network, runs: Sequence[Timed]) -> list[Timed]:
    """Returns the runs on hosts of the network, with its names."""
    found = ((run, _in_network(net, run.hosts)) for run in runs)
    return [dataclasses.replace(run, hosts=hosts) for run, hosts in found if hosts]


def _where(net: Network, hosts: Sequence[str]) -> list[int]:
    number = host_numbers(net)
    return [number[host] for host in hosts]


def _cost(
    net: Network, known: Program, hosts: Sequence[str], slots: Sequence[int] | None = None
) -> float:
    where = _where(net, hosts)
    return mapping.cost_of(net, known.matrix, where, calls=known.calls, slots=slots).total


def _placed_on(
    net: Network, listed: Sequence[Host], known: Program, hosts: Sequence[str]
) -> PredictedPlacement:
    """Returns the placement of an earlier run with its cost now, collectives planned."""
    slots, order = placement.slots_of(net, listed, len(hosts))
    problem = MappingProblem(net, known, slots, order, _where(net, hosts), "block")
    found = kept_mapping.place(problem)
    assert found.usual
    return PredictedPlacement(list(hosts), found.usual)
