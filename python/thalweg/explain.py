"""Explains a plan: why it was chosen and what limits it, as text and as JSON."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from thalweg import console, units
from thalweg.algorithms import Parameters
from thalweg.collective import Kind
from thalweg.explained_plan import NATIVE, ExplainedPlan
from thalweg.planner import Candidate, Native

MOST_CANDIDATES = 24
"""The most candidates shown."""
MOST_LINKS = 8
"""The most links of the critical path shown."""
WITHOUT_LIBRARY = (
    "The network has no MPI library, and --mpi names none: native is predicted by whichever "
    "library's rules are fastest at each size."
)


@dataclass
class Link:
    """The messages of the critical path between two ranks, and their time."""

    sender: int
    receiver: int
    messages: int = 0
    time: float = 0.0


def text(plan: ExplainedPlan) -> str:
    """Returns what `thalweg explain` prints."""
    found = io.StringIO()
    console.plain(found).print(*parts(plan), sep="\n")
    return "\n".join(line.rstrip() for line in found.getvalue().splitlines()) + "\n"


def parts(plan: ExplainedPlan) -> list[RenderableType]:
    """Returns the content of text() for console.show()."""
    found: list[RenderableType] = [console.styled(plan.title, "bold"), plan.reason]
    if plan.native.algorithm:
        found.append(native_text(plan.native))
    found += remarks(plan.options.library, [plan.native.algorithm])
    if plan.bound_reason:
        found.append(f"bound: {units.time_to_text(plan.bound)}, set by {plan.bound_reason}")
    transport = plan.bound_with_slow_start
    if plan.bound_reason and transport.time > plan.bound:
        found.append(
            f"bound with TCP's slow start: {units.time_to_text(transport.time)}, "
            f"set by {transport.reason}"
        )
    found += ["", _candidates(plan.candidates, plan.collective.kind, plan.native)]
    if links := critical_links(plan):
        found += ["", _critical_path(plan, links)]
    passes = ", ".join(f"{p.pass_} {units.time_to_text(p.time)}" for p in plan.passes)
    return [*found, "", console.styled(f"passes: {passes}", "dim")]


def remarks(library: str, natives: Iterable[str]) -> list[str]:
    """Returns what is to be said of native times, by their algorithms, of this library or none."""
    return [] if library or not any(natives) else [WITHOUT_LIBRARY]


def critical_links(plan: ExplainedPlan) -> list[Link]:
    """Returns the links of the critical path, the one with the most time first.

    A message's time on the path counts from the end of the message before it on the path.
    """
    links: dict[tuple[int, int], Link] = {}
    last = 0.0
    for event in plan.critical_path:
        link = links.setdefault((event.from_, event.to), Link(event.from_, event.to))
        link.messages += 1
        link.time += max(0.0, event.end - last)
        last = max(last, event.end)
    return sorted(links.values(), key=lambda link: -link.time)


def native_text(native: Native) -> str:
    """ "native: 3.2 ms ± 4 % predicted (mpich: ring)"."""
    known = "measured" if native.measured else "predicted"
    time = f"{units.time_to_text(native.time)} ± {native.uncertainty:.0%}"
    return (
        f"native: {time} {known} ({native.algorithm}); a plan must be predicted to take "
        f"{units.time_to_text(native.to_beat)} at most"
    )


def _candidates(candidates: Sequence[Candidate], kind: Kind, native: Native) -> Table:
    """Returns the rows; a cell of the first column, after its heading, reproduces its row."""
    table = console.table(
        f"THALWEG_FORCE={kind.name}=", "", "estimate", "fast", "fluid", folded=[0]
    )
    shown = [
        (index, candidate)
        for index, candidate in enumerate(candidates)
        if index < MOST_CANDIDATES or candidate.algorithm == NATIVE
    ]
    for index, candidate in shown:
        table.add_row(
            candidate.force or f"{candidate.algorithm} {candidate.parameters}".rstrip(),
            native.algorithm if candidate.algorithm == NATIVE else _remarks(candidate),
            *(_time(time) for time in (candidate.estimate, candidate.fast, candidate.fluid)),
            style="bold" if index == 0 else "",
        )
    if len(shown) < len(candidates):
        table.add_row(f"and {len(candidates) - len(shown)} more")
    return table


def _remarks(candidate: Candidate) -> str:
    own_window = candidate.window != candidate.parameters.window
    parts = [f"window {candidate.window}"] if own_window else []
    parts += ["improved by search: in a plan file only"] if candidate.searched else []
    parts += ["given: in a plan file only"] if candidate.given else []
    return ", ".join(parts)


def _time(time: float | None) -> str:
    return "-" if time is None else units.time_to_text(time)


def _critical_path(plan: ExplainedPlan, links: Sequence[Link]) -> Table:
    table = console.table("critical path", "", "messages", "time", "share")
    for index, link in enumerate(links[:MOST_LINKS]):
        table.add_row(
            f"{plan.host(link.sender)} → {plan.host(link.receiver)}",
            "slowest" if index == 0 else "",
            str(link.messages),
            units.time_to_text(link.time),
            f"{link.time / plan.predicted:.0%}" if plan.predicted else "",
        )
    if len(links) > MOST_LINKS:
        table.add_row(f"and {len(links) - MOST_LINKS} more links")
    return table


# For programs ----------------------------------------------------------------------------------


def as_json(plan: ExplainedPlan) -> dict[str, Any]:
    links = [
        {
            "from": link.sender,
            "to": link.receiver,
            "from_host": plan.host(link.sender),
            "to_host": plan.host(link.receiver),
            "messages": link.messages,
            "time": link.time,
        }
        for link in critical_links(plan)
    ]
    return asked_json(plan) | {
        "plan": plan_json(plan),
        "candidates": [
            {
                "algorithm": candidate.algorithm,
                "parameters": parameters_json(candidate.parameters)
                if candidate.algorithm != NATIVE
                else None,
                "window": candidate.window if candidate.algorithm != NATIVE else None,
                "searched": candidate.searched,
                "force": f"{plan.collective.kind.name}={candidate.force}"
                if candidate.force
                else None,
                "estimate": candidate.estimate,
                "fast": candidate.fast,
                "fluid": candidate.fluid,
            }
            for candidate in plan.candidates
        ],
        "critical_path": links,
        "passes": {p.pass_: p.time for p in plan.passes},
    }


def asked_json(plan: ExplainedPlan) -> dict[str, Any]:
    """Returns the operation and its setting."""
    collective = plan.collective
    asked: dict[str, Any] = {
        "collective": collective.kind.name,
        "size": collective.size,
        "root": collective.root,
        "ranks": collective.ranks,
        "library": plan.options.library,
    }
    return asked | ({"block_sizes": collective.block_sizes} if collective.block_sizes else {})


def plan_json(plan: ExplainedPlan) -> dict[str, Any]:
    """Returns the choice."""
    return {
        "algorithm": plan.algorithm,
        "parameters": None if plan.is_native else parameters_json(plan.parameters),
        "window": None if plan.is_native else plan.skeleton.window,
        "predicted": plan.predicted or None,
        "native": native_json(plan.native),
        "bound": plan.bound,
        "bound_reason": plan.bound_reason,
        "bound_with_slow_start": plan.bound_with_slow_start.time,
        "bound_with_slow_start_reason": plan.bound_with_slow_start.reason,
        "reason": plan.reason,
    }


def native_json(native: Native) -> dict[str, Any] | None:
    """What native was predicted to take; None where nothing was predicted."""
    if not native.algorithm:
        return None
    return {
        "algorithm": native.algorithm,
        "time": native.time,
        "uncertainty": native.uncertainty,
        "measured": native.measured,
        "to_beat": native.to_beat,
    }


def parameters_json(parameters: Parameters) -> dict[str, Any]:
    """Returns the fields by name, without a tree: that is in the plan file."""
    return {name: value for name, value in parameters.as_dict().items() if name != "tree"}
