"""Changes of plans in a running program: what drifted, why, what replaced what, and what it won.

World rank 0's summary lists them (`docs/events-file.md`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thalweg import network as networks
from thalweg import record
from thalweg.errors import UserError
from thalweg.files import check_output, writing
from thalweg.network import Host, Network, Trunk
from thalweg.units import size_to_text, time_to_text

CHANGING = ("latency", "bandwidth", "hosts", "trunks")
"""What of a network an attempt may change."""
Change = Mapping[str, Any]
"""One attempt to let plans follow the network, as the summary has it."""


def of(summary: Mapping[str, Any] | None) -> list[Change]:
    """The attempts of a summary."""
    return list((summary or {}).get("changes", []))


def line(summary: Mapping[str, Any] | None) -> str:
    """One phrase on all attempts of a run; empty if no plans were changed."""
    adopted = [change for change in of(summary) if change["adopted"] > 0]
    if not summary or not adopted:
        return ""
    last = adopted[-1]
    won = _won(last, record.dilation_of(summary))
    times = f"{len(adopted)} times" if len(adopted) > 1 else "once"
    return f"plans changed {times} (last: {_explanation(last)}; {won})"


def causes(change: Change) -> str:
    """Text such as "bandwidth of the egress of a3: 8.2 times worse"."""
    quantity = change["quantity"]
    return ", ".join(f"{quantity} of {_cause(cause, quantity)}" for cause in change["causes"])


def story(change: Change, dilation: float = 1) -> list[str]:
    """What happened: when it was noticed, what explains it, and what came of it."""
    root = f" with root {change['root']}" if change["collective"] == "bcast" else ""
    usual, noticed = (change["seconds"][when] / dilation for when in ("usual", "noticed"))
    before = f"instead of {time_to_text(usual)}" if usual > 0 else "which wasn't predicted"
    if change.get("improvement"):
        before = "as usual: planned once more, for calls as they follow each other"
    elif change.get("recovery") and abs(noticed - usual) < usual / 5:
        before = "as before, but less with the plans before: the network may have recovered"
    lines = [
        f"{change['collective']} of {size_to_text(change['size'])}{root} and up to twice as much, "
        f"{change['ranks']} ranks: call {change['call']} took {time_to_text(noticed)}, {before}"
    ]
    lines.append(f"  {_explanation(change)}")
    if change["adopted"] == 0:
        lines.append(f"  the plans stayed: {change['outcome']}")
        return lines
    for plan in change["plans"]:
        predicted = (time_to_text(plan["predicted"][when]) for when in ("before", "after"))
        lines.append(
            f"  {plan['collective']} of {size_to_text(plan['size'])}: {plan['after']} replaces "
            f"{plan['before']}, predicted {' -> '.join(predicted)}"
        )
    lines.append(f"  from the communicator's call {change['adopted']} on: {_won(change, dilation)}")
    return lines


def _explanation(change: Change) -> str:
    if found := causes(change):
        return found
    if change.get("recovery") and change["adopted"] > 0:
        return "the network is as it was before the last change of plans"
    if change.get("improvement"):
        return "the network is as it was known"
    return "no change of the network explains it"


def changed_network(net: Network, found: list[Change]) -> list[str]:
    """Changes a network as the plans that were kept took it to have changed.

    Returns a line for each cause. After a recovery it is as it was before the change of plans
    that had avoided what became slower.
    """
    lines = []
    before = _copy(net)
    place = {host.name: at for at, host in enumerate(net.hosts)}
    for change in found:
        if change["adopted"] == 0 or change["outcome"] != "adopted":
            continue
        was = _copy(net)
        for cause in change["causes"]:
            _apply(net, cause, change["quantity"], place)
            lines.append(f"{change['quantity']} of {_cause(cause, change['quantity'])}")
        if change.get("recovery"):
            for name in CHANGING:
                setattr(net, name, getattr(before, name))
        before = was
    return lines


def _copy(net: Network) -> Network:
    return networks.from_json(networks.to_json(net), "the network before a change")


def keep_network(source: Path, summary: Mapping[str, Any] | None, output: Path) -> list[str]:
    """Writes the network that a run ended with; returns what changed. Raises UserError."""
    net = networks.read(source)
    lines = changed_network(net, of(summary))
    if lines:
        net.measured_with = f"{net.measured_with}; a run found: {', '.join(lines)}"
    with writing(f"network {output}", "name another file"):
        networks.write(net, output)
    return lines


def check_keep_network(output: Path | None, *, adapts: bool) -> None:
    """Raises UserError if no network can be kept there."""
    if output is None:
        return
    if not adapts:
        raise UserError("--keep-network: plans follow the network only with --adapt on")
    check_output(output, f"network {output}")


def _apply(net: Network, cause: Mapping[str, Any], quantity: str, place: dict[str, int]) -> None:
    starts, ends = ([place[name] for name in cause[side]] for side in ("from", "to"))
    matrix = getattr(net, quantity).copy()
    for a in starts:
        for b in ends:
            if a == b:
                continue
            if quantity == "bandwidth":
                matrix[a, b] /= cause["factor"]
            else:
                matrix[a, b] = max(matrix[a, b] / 100, matrix[a, b] + cause["excess"])
    setattr(net, quantity, matrix)
    if quantity != "bandwidth":
        return
    factor, what = cause["factor"], cause["what"]
    net.hosts = [
        Host(
            host.name,
            host.egress / (factor if what == "egress" and starts == [at] else 1),
            host.ingress / (factor if what == "ingress" and ends == [at] else 1),
        )
        for at, host in enumerate(net.hosts)
    ]
    net.trunks = [
        Trunk(
            trunk.name,
            trunk.from_,
            trunk.to,
            trunk.capacity / (factor if _is_through(cause, trunk, starts, ends) else 1),
            trunk.senders,
        )
        for trunk in net.trunks
    ]


def _is_through(cause: Mapping[str, Any], trunk: Trunk, starts: list[int], ends: list[int]) -> bool:
    if cause["what"] not in ("trunk", "sites"):
        return False
    return set(trunk.from_) <= set(starts) and set(trunk.to) <= set(ends)


def _cause(cause: Mapping[str, Any], quantity: str) -> str:
    if quantity == "latency":
        sign = "more" if cause["excess"] > 0 else "less"
        return f"{cause['name']}: {time_to_text(abs(cause['excess']))} {sign}"
    factor = cause["factor"]
    size, word = (factor, "worse") if factor > 1 else (1 / factor, "better")
    return f"{cause['name']}: {size:.2g} times {word}"


def _won(change: Change, dilation: float) -> str:
    noticed, after = (change["seconds"][when] / dilation for when in ("noticed", "after"))
    if change["outcome"] == "taken back":
        return (
            f"taken back, since calls took {time_to_text(after)} instead of {time_to_text(noticed)}"
        )
    if after <= 0:
        return "not yet compared when the run ended"
    return f"calls take {time_to_text(after)} instead of {time_to_text(noticed)}"
