"""The network that plans followed to: what a run found of it, in a network file.

Also checks, before a run and after it, whether plans could follow at all.
"""

import os
import time
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from thalweg import changes, console, hierarchy, inputs, knowledge, switches, units, weather
from thalweg import network as networks
from thalweg.changes import Change
from thalweg.errors import UserError, user_errors
from thalweg.files import check_output, writing
from thalweg.network import Host, Network, Trunk, host_numbers


def check_options(
    keep: Path | None,
    *,
    adapts: bool,
    races: bool,
    recorded: bool,
    network: Path | None,
    has_plan: bool,
    read: Iterable[Path | None] = (),
) -> None:
    """Raises UserError if plans can't follow the network, or it can't be kept, as the user wants.

    `recorded`: or traced; a note says what isn't noticed without. `network`: the user's file, which
    may be renewed; without it one is found, unless the user has a plan. `read`: other files that
    the run reads.
    """
    if keep and not adapts:
        raise UserError("--keep-network: plans follow the network only with --adapt on")
    if adapts and not races:
        raise UserError("--adapt on: only plans that race follow the network; leave out --race off")
    for name in ("THALWEG_RACE", "THALWEG_ADAPT") if adapts else ():
        if name in os.environ and not switches.is_on(name):
            raise UserError(f"--adapt on: the environment has {name} off; unset {name}")
    if keep and has_plan and not network:
        raise UserError("--keep-network: name the network that --plan is for, by --network")
    if adapts and not recorded:
        console.note(
            "--adapt on with neither a record nor a trace: clocks aren't compared, so broadcasts "
            "and other rooted collectives don't show changes of the network"
        )
    if keep:
        check_output(keep, f"network {keep}", inputs=read)
    if keep and network:
        inputs.network(network)


def what_came_of_it(
    source: Path | None, summary: Mapping[str, Any] | None, keep: Path | None, *, planned: bool
) -> str | None:
    """Keeps the network that a run with --adapt on ended with, if it is wanted.

    Returns a sentence if nothing could follow it, or on what is kept.
    """
    if why_not := _why_not(summary, planned=planned, kept=keep is not None):
        return f"--adapt on: {why_not}" + (f"; {keep} isn't written" if keep else "")
    if keep is None or source is None:
        return None
    try:
        net, lines = _found(source, summary)
    except UserError as error:
        return f"{error}; {keep} isn't written"
    _write(net, keep)
    if not lines:
        return f"{keep} is the network as it was: no plans were kept that follow a change of it"
    return f"{keep} is the network with what the run found: {'; '.join(lines)}"


def _why_not(summary: Mapping[str, Any] | None, *, planned: bool, kept: bool) -> str:
    if not planned:
        return "nothing was planned, so no plans followed the network"
    if summary is None:
        return "the run left no summary here, so what changed isn't known" if kept else ""
    if reason := summary.get("everything_native"):
        return f"everything was native ({reason}), so no plans followed the network"
    return ""


def learn(
    source: Path | None, summary: Mapping[str, Any] | None, hosts: Iterable[str], at: float
) -> None:
    """Adds what a run found of the network to the weather of its hosts, as of the time `at`.

    A note says why if the network can't be read, or isn't the run's.
    """
    found = changes.of(summary)
    if source is None or not any(change["causes"] for change in found):
        return
    try:
        before = inputs.network(source)
        after = before.copy()
        if not changed_network(after, found):
            return
    except UserError as error:
        console.note(f"the weather doesn't learn what this run found of the network: {error}")
        return
    called = [host.name for host in before.hosts]
    knowledge.add(hosts, weather.of_change(before, after, at), called)


@user_errors()
def changed_network(net: Network, found: list[Change]) -> list[str]:
    """Changes a network as the plans that were kept took it to have changed.

    Returns a line for each cause and each recovery. Each communicator follows the network for
    itself, so what several found of the same thing holds once: as it was found last. Raises
    UserError for another network, and for changes of one with more hosts than hierarchy.MOST_HOSTS.
    """
    kept = [change for change in found if change["adopted"] > 0 and change["outcome"] == "adopted"]
    if kept and len(net.hosts) > hierarchy.MOST_HOSTS:
        raise UserError(
            f"the network has {len(net.hosts):,} hosts, and only one of up to "
            f"{hierarchy.MOST_HOSTS:,} takes on what a run found of it: give "
            "--network one of the run's own hosts"
        )
    before = net.copy()
    lines: list[str] = []
    for _, own in groupby(kept, key=lambda change: change.get("communicator")):
        after, followed = _followed(before, own)
        lines += followed
        _take_changes(net, before, after)
    return list(dict.fromkeys(lines))


def _followed(net: Network, found: Iterable[Change]) -> tuple[Network, list[str]]:
    """Returns a network after the causes that one communicator found, and a line for each.

    After a recovery it is as it was before the change of plans that had avoided what became slower.
    """
    lines: list[str] = []
    before = after = net
    place = host_numbers(net)
    for change in found:
        was = after
        if change.get("recovery"):
            after = before
            lines.append("as before the last change of plans")
        else:
            after = after.copy()
            for cause in change["causes"]:
                _apply(after, cause, change["quantity"], place)
                lines.append(changes.cause_text(cause, change["quantity"]))
        before = was
    return after, lines


def _take_changes(net: Network, before: Network, after: Network) -> None:
    """Gives a network what differs between two others with the same hosts and trunks."""
    for quantity in ("latency", "bandwidth"):
        was, now = getattr(before, quantity), getattr(after, quantity)
        matrix = getattr(net, quantity).copy()
        matrix[now != was] = now[now != was]
        setattr(net, quantity, matrix)

    def merged(own: Host | Trunk, was: Host | Trunk, now: Host | Trunk, name: str) -> float:
        values = [float(getattr(each, name)) for each in (own, was, now)]
        return values[2] if values[2] != values[1] else values[0]

    net.hosts = [
        Host(own.name, merged(own, was, now, "egress"), merged(own, was, now, "ingress"))
        for own, was, now in zip(net.hosts, before.hosts, after.hosts, strict=True)
    ]
    net.trunks = [
        Trunk(own.name, own.from_, own.to, merged(own, was, now, "capacity"), own.senders)
        for own, was, now in zip(net.trunks, before.trunks, after.trunks, strict=True)
    ]


def _found(source: Path, summary: Mapping[str, Any] | None) -> tuple[Network, list[str]]:
    """Returns the network that a run ended with, and what changed. Raises UserError.

    A network with changes counts as measured from the next full second on: what was measured before
    them doesn't tell whether it holds, nor does what the run itself has just added to the weather.
    """
    net = inputs.network(source)
    lines = changed_network(net, changes.of(summary))
    if lines:
        net.measured_at = units.timestamp(time.time() + 1)
        net.measured_with = f"{net.measured_with}; a run found: {', '.join(lines)}"
    return net, lines


def _write(net: Network, output: Path) -> None:
    with writing(f"network {output}", "name another file"):
        networks.write(net, output)


def _apply(net: Network, cause: Mapping[str, Any], quantity: str, place: dict[str, int]) -> None:
    if unknown := {*cause["from"], *cause["to"]} - place.keys():
        raise UserError(
            f"the run's plans were for a network with a host {min(unknown)}, which --network lacks"
        )
    starts, ends = ([place[name] for name in cause[side]] for side in ("from", "to"))
    net.change_part(
        cause["what"],
        quantity,
        starts,
        ends,
        factor=cause.get("factor", 1.0),
        excess=cause.get("excess", 0.0),
        trunk=cause["name"].removeprefix("trunk "),
    )
