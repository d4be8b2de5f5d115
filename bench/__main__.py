"""The command line of script/bench."""

from __future__ import annotations

import inspect
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from bench import (
    breakdown_figure,
    builds,
    machine,
    never_slower,
    papers,
    placement_programs,
    settings,
    smpi_model,
    timeline_runs,
)
from bench.commands import Command, commands, everything, papers_command, run_all
from bench.settings import Settings
from thalweg import units
from thalweg.collective import Kind
from thalweg.errors import UserError

app = typer.Typer(
    help="Measures on the lab, or simulates; docs/benchmarks.md says how.",
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)

Build = Annotated[list[str] | None, typer.Option(help="Only this MPI build; may be repeated.")]
Scenario = Annotated[list[str] | None, typer.Option(help="Only this scenario; may be repeated.")]
Size = Annotated[
    list[str] | None,
    typer.Option(help="Only messages of this size, such as 64KB; may be repeated."),
]
Repetitions = Annotated[
    int | None,
    typer.Option(min=1, help="Valid repetitions of each cell, instead of the usual number."),
]
Seed = Annotated[int, typer.Option(help="Seed of what is drawn: networks, cells or their order.")]
Dilation = Annotated[
    float | None, typer.Option(min=1, help="The lab's dilation, instead of the scenario's.")
]
Quick = Annotated[bool, typer.Option(help="At most three repetitions; writes no results.")]
Draft = Annotated[
    bool, typer.Option(help="Write to .cache/bench/drafts, also from a tree with changes.")
]
Anew = Annotated[bool, typer.Option(help="Forget the last run of this command.")]
Resume = Annotated[bool, typer.Option(help="Leave out the parts that today's sources have made.")]
Render = Annotated[
    bool, typer.Option(help="Measure nothing: write the page again from its samples.")
]
Budget = Annotated[
    str | None, typer.Option(help="Un-dilated time of a probe, instead of the usual.")
]
Program = Annotated[
    list[str] | None,
    typer.Option(help="Only this program; may be repeated. A wrong name lists all."),
]
Senders = Annotated[
    list[int] | None, typer.Option(min=1, help="Only this number per site; may be repeated.")
]
Plans = Annotated[
    list[str] | None, typer.Option(help="Only these: thorough or quick; may be repeated.")
]
Trees = Annotated[int | None, typer.Option(min=1, help="Number drawn at random.")]
Networks = Annotated[int | None, typer.Option(min=1, help="Number drawn, from the seed on.")]
Calls = Annotated[int | None, typer.Option(min=1, help="Calls of each build.")]
Hosts = Annotated[int | None, typer.Option(min=8, help="Most hosts of a network.")]
OfCollective = Annotated[
    list[str] | None, typer.Option("--collective", help="Only this one; may be repeated.")
]
Paper = Annotated[list[str] | None, typer.Option(help="Only this paper; may be repeated.")]
Lab = Annotated[bool, typer.Option("--lab", help="Also make what needs the lab.")]
Simulate = Annotated[bool, typer.Option(help="Simulate instead of measuring.")]


def _add(name: str, chosen: Mapping[str, Command], description: str | None) -> None:
    def command(
        build: Build = None,
        scenario: Scenario = None,
        size: Size = None,
        repetitions: Repetitions = None,
        seed: Seed = 1,
        dilation: Dilation = None,
        budget: Budget = None,
        program: Program = None,
        simulate: Simulate = False,
        senders: Senders = None,
        plans: Plans = None,
        trees: Trees = None,
        networks: Networks = None,
        hosts: Hosts = None,
        calls: Calls = None,
        collective: OfCollective = None,
        quick: Quick = False,
        draft: Draft = False,
        anew: Anew = False,
        resume: Resume = False,
        render: Render = False,
        paper: Paper = None,
        lab: Lab = False,
    ) -> None:
        wanted = Settings(
            builds=builds.select(build or []),
            builds_are_set=bool(build),
            scenarios=scenario or [],
            scenarios_are_set=bool(scenario),
            sizes=[units.parse_size(text) for text in size or []],
            seed=seed,
            dilation=dilation,
            save=not quick,
            draft=draft,
            anew=anew,
            resume=resume,
            render=render,
            budget=units.parse_time(budget) if budget else settings.budget,
            budget_is_set=budget is not None,
            programs=_known(
                program or [],
                [
                    *breakdown_figure.sizes,
                    *placement_programs.programs,
                    *timeline_runs.programs,
                    *smpi_model.programs,
                ],
                "program",
            ),
            simulate=simulate,
            plans=_known(plans or [], never_slower.kinds_of_plans, "plans"),
            senders=senders or [],
            trees=trees,
            networks=networks,
            hosts=hosts,
            calls=calls,
            collectives=_known(collective or [], [kind.name for kind in Kind], "collective"),
            papers=_known(paper or [], list(papers.pages_of), "paper"),
            lab=lab,
        )
        _known(
            wanted.scenarios, [s for each in chosen.values() for s in each.scenarios], "scenario"
        )
        if wanted.save and not wanted.draft:
            machine.require_commit()
        run_all(chosen, wanted, repetitions)

    # typer sees only parameters that one of the commands takes.
    signature = inspect.signature(command)
    taken = frozenset().union(*(each.taken for each in chosen.values()))
    if all("resume" in each.options for each in chosen.values()):
        taken |= {"render"}
    parameters = [p for p in signature.parameters.values() if p.name in taken]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    app.command(name, help=description)(command)


def _known(names: Sequence[str], known: Sequence[str], what: str) -> Sequence[str]:
    for name in names:
        if name not in known:
            choice = ", ".join(dict.fromkeys(known))
            raise UserError(f"no {what} {name} here; choose one of {choice}")
    return names


def _end(*_: object) -> None:
    """Leaves through all clean-up: the lab must not stay behind, also if asked to end twice."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


def main() -> int:
    """Runs a subcommand; returns 2 for an error of the user."""
    signal.signal(signal.SIGTERM, _end)
    for name, command in commands.items():
        _add(name, {name: command}, command.description)
    _add("papers", {"papers": papers_command}, papers_command.description)
    _add("all", everything, "All commands, one after the other.")
    try:
        app(standalone_mode=False)
    except UserError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except typer.TyperException as error:
        print(f"bench: {error.format_message()}", file=sys.stderr)
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        print("bench: interrupted", file=sys.stderr)
        return 130
    return 0


sys.exit(main())
