"""`thalweg compare`: what differs between two runs, and whether it is noise."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg import console, runs
from thalweg.analysis import compare as comparison
from thalweg.analysis.compare import SIGNIFICANCE, Comparison, Difference, Match
from thalweg.analysis.words import name_of, verdict_on, verdict_on_stage
from thalweg.options import Json
from thalweg.units import ns_to_text

app = typer.Typer(add_completion=False)

MOST_PARTS = 10
"""Most nodes that are listed for a collective."""


@app.command(name="compare")
def command(
    a: Annotated[Path, typer.Argument(metavar="RUN_A", help="The folder of a run's events.")],
    b: Annotated[Path, typer.Argument(metavar="RUN_B", help="The folder to compare with.")],
    json: Json = False,
) -> int:
    """Compare the collectives of two runs, stage by stage.

    Says of each difference whether it is more than noise, and which subtrees changed although
    nothing was reconfigured there.

    Example: [bold]thalweg compare before after[/bold]
    """
    with console.progress(f"comparing {a} and {b}"):
        found = comparison.compare(runs.read(a), runs.read(b))
    if json:
        console.show_json(_document(found))
    else:
        console.show(*_text(found))
    return 0


def _text(found: Comparison) -> Iterator[Any]:
    if not found.matches:
        yield "The two runs have no calls in common."
        return
    table = console.table("collective", "calls", "plan", "A", "B", "difference", left=[0, 2])
    for match in found.matches:
        plans = match.algorithms
        table.add_row(
            name_of(match), f"{match.calls[0]}, {match.calls[1]}",
            plans[0] if plans[0] == plans[1] else f"{plans[0]} -> {plans[1]}",
            ns_to_text(match.whole.a_ns), ns_to_text(match.whole.b_ns), verdict_on(match.whole),
        )  # fmt: skip
    yield table
    for match in found.matches:
        yield from _stages(match)
    if any(found.only_in):
        yield ""
        yield f"Only in A: {found.only_in[0]} calls; only in B: {found.only_in[1]}."


def _stages(match: Match) -> Iterator[Any]:
    if not match.stages:
        return
    yield ""
    title = f"Stages of {name_of(match)}"
    table = console.table("stage", "A", "B", "difference", title=title, left=[0])
    for stage, each in match.stages.items():
        table.add_row(stage.replace("_", " "), ns_to_text(each.a_ns), ns_to_text(each.b_ns),
                      verdict_on_stage(each))  # fmt: skip
    yield table
    for part in match.parts[:MOST_PARTS]:
        times = f"{ns_to_text(part.difference.a_ns)} -> {ns_to_text(part.difference.b_ns)}"
        why = "" if part.reconfigured else ", although nothing was reconfigured there"
        yield f"{part.stage.replace('_', ' ')} at rank {part.node}: {times}{why}"
    if len(match.parts) > MOST_PARTS:
        yield f"and {len(match.parts) - MOST_PARTS} more (--json has them)"


def _document(found: Comparison) -> dict[str, Any]:
    return {
        "calls": [
            {"kind": match.kind, "size": match.size, "ranks": match.ranks,
             "algorithms": list(match.algorithms), "calls": list(match.calls),
             "whole": _difference(match.whole),
             "stages": {name: _difference(each) for name, each in match.stages.items()},
             "parts": [{"node": part.node, "stage": part.stage, "reconfigured": part.reconfigured}
                       | _difference(part.difference) for part in match.parts]}
            for match in found.matches
        ],
        "only_in_a": found.only_in[0], "only_in_b": found.only_in[1],
    }  # fmt: skip


def _difference(each: Difference) -> dict[str, Any]:
    return {
        "a": each.a_ns * 1e-9, "b": each.b_ns * 1e-9, "chance": each.p_value,
        "noise": each.p_value >= SIGNIFICANCE if each.has_enough_calls else None,
    }  # fmt: skip
