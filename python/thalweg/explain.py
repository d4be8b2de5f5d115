"""`thalweg explain`: why a plan was chosen, and what limits it."""

from dataclasses import dataclass
from typing import Any

from rich.table import Table

from thalweg import console, units
from thalweg.plan_command import Question, Setting, parameters_json, plan_json
from thalweg.planner import Candidate, Explanation

MOST_LINKS = 8
"""Links of the critical path that are shown."""


@dataclass
class Link:
    """What the critical path spends between two ranks."""

    sender: int
    receiver: int
    messages: int = 0
    time: float = 0.0


def run(question: Question, collective: str, size: str, root: int, *, json: bool) -> int:
    setting = question.answerable()
    with console.progress(f"planning {collective} of {size}"):
        explanation = setting.explain(collective, size, root)
    if json:
        console.show_json(
            {"collective": collective, "size": units.parse_size(size), "root": root}
            | as_json(setting, explanation)
        )
        return 0
    plan = explanation.plan
    console.show(
        f"[bold]{collective} of {size} on {len(setting.placement)} ranks: {plan.algorithm}[/bold]",
        plan.reason,
        "",
        _candidates(explanation.candidates),
    )
    if links := critical_links(explanation):
        console.show("", _critical_path(setting, links, plan.predicted))
    passes = ", ".join(f"{p.pass_} {units.time_to_text(p.time)}" for p in explanation.passes)
    console.show("", f"[dim]passes: {passes}[/dim]")
    return 0


def critical_links(explanation: Explanation) -> list[Link]:
    """The links of the critical path, the one that it spends most time on first.

    A message's time on the path counts from when the message before it on the path ended.
    """
    links: dict[tuple[int, int], Link] = {}
    last = 0.0
    for event in explanation.critical_path:
        link = links.setdefault((event.from_, event.to), Link(event.from_, event.to))
        link.messages += 1
        link.time += max(0.0, event.end - last)
        last = max(last, event.end)
    return sorted(links.values(), key=lambda link: -link.time)


def _candidates(candidates: list[Candidate]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("candidate", "parameters", "fast", "fluid"):
        table.add_column(heading)
    for index, candidate in enumerate(candidates):
        table.add_row(
            candidate.algorithm,
            _parameters(candidate),
            _time(candidate.fast),
            _time(candidate.fluid) + (" (measured)" if _is_measured(candidate) else ""),
            style="bold" if index == 0 else "",
        )
    return table


def _is_measured(candidate: Candidate) -> bool:
    return candidate.algorithm == "native" and candidate.fluid is not None


def _parameters(candidate: Candidate) -> str:
    if candidate.algorithm == "native":
        return ""
    parameters = candidate.parameters
    size = parameters.segment_size
    parts = [f"segments {units.size_to_text(size)}"] if size else []
    parts += [f"degree {parameters.degree}"] if parameters.degree != 2 else []
    parts += [f"{parameters.senders} senders"] if parameters.senders else []
    parts += [f"{parameters.order.name} order"] if parameters.order.name != "closeness" else []
    parts += [f"window {candidate.window}"] if candidate.window else []
    return ", ".join(parts)


def _time(time: float | None) -> str:
    return "-" if time is None else units.time_to_text(time)


def _critical_path(setting: Setting, links: list[Link], total: float) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("critical path", "", "messages", "time", "share"):
        table.add_column(heading)
    for index, link in enumerate(links[:MOST_LINKS]):
        table.add_row(
            f"{setting.host(link.sender)} → {setting.host(link.receiver)}",
            "slowest" if index == 0 else "",
            str(link.messages),
            units.time_to_text(link.time),
            f"{link.time / total:.0%}" if total else "",
        )
    if len(links) > MOST_LINKS:
        table.add_row(f"and {len(links) - MOST_LINKS} more links")
    return table


def as_json(setting: Setting, explanation: Explanation) -> dict[str, Any]:
    links = [
        {
            "from": link.sender,
            "to": link.receiver,
            "from_host": setting.host(link.sender),
            "to_host": setting.host(link.receiver),
            "messages": link.messages,
            "time": link.time,
        }
        for link in critical_links(explanation)
    ]
    return {
        "ranks": len(setting.placement),
        "library": setting.library,
        "plan": plan_json(explanation.plan),
        "candidates": [
            {
                "algorithm": candidate.algorithm,
                "parameters": parameters_json(candidate.parameters)
                if candidate.algorithm != "native"
                else None,
                "window": candidate.window if candidate.algorithm != "native" else None,
                "fast": candidate.fast,
                "fluid": candidate.fluid,
            }
            for candidate in explanation.candidates
        ],
        "critical_path": links,
        "passes": {p.pass_: p.time for p in explanation.passes},
    }
