"""The command line of script/bench."""

from __future__ import annotations

import inspect
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from bench import (
    adapt,
    breakdown,
    builds,
    calm,
    cells,
    choice,
    cloudmap,
    cmpi,
    days,
    days_lab,
    distance,
    flapping,
    grid,
    headline,
    inside,
    inside_figures,
    inside_lab,
    machine,
    matsuda,
    middle,
    native,
    native_prediction,
    nbody,
    neighborhoods,
    never_slower,
    one_host,
    optimum,
    overhead,
    papers,
    placement,
    placement_lab,
    placement_programs,
    planner,
    prediction,
    probe,
    regret,
    scaling,
    sequences,
    settings,
    simgrid,
    smpi,
    smpi_lab,
    smpi_model,
    startup,
    stress,
    timeline,
    timeline_runs,
    trees,
    trunks,
    wan,
)
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
Seed = Annotated[int, typer.Option(help="Seed of the order in which cells are measured.")]
Dilation = Annotated[
    float | None, typer.Option(help="The lab's dilation, instead of the scenario's.")
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


@dataclass(frozen=True)
class Command:
    """Declares a subcommand; `options` are its options besides the common ones."""

    run: Callable[[Settings], None]
    scenarios: Sequence[str] = settings.scenario_names
    repetitions: int = 7
    options: frozenset[str] = frozenset()
    on_lab: bool = True

    @property
    def description(self) -> str | None:
        return sys.modules[self.run.__module__].__doc__

    def run_with(self, wanted: Settings, repetitions: int) -> None:
        """Restricts to the requested scenarios that it has; all if none was requested."""
        scenarios = [name for name in wanted.scenarios if name in self.scenarios]
        if wanted.scenarios and not scenarios:
            return
        if not wanted.save:
            repetitions = min(repetitions, 3)
        self.run(replace(wanted, scenarios=scenarios or self.scenarios, repetitions=repetitions))


simulated = frozenset({"seed", "quick", "draft"})
common = simulated | {"build", "scenario", "repetitions", "dilation"}
commands = {
    "adapt": Command(
        adapt.run, adapt.scenarios, 3, frozenset({"size", "anew", "resume", "budget"})
    ),
    "native": Command(native.run, options=frozenset({"size"})),
    "headline": Command(headline.run, options=frozenset({"anew", "resume", "budget"})),
    "cells": Command(
        cells.run, cells.scenarios, options=frozenset({"size", "anew", "resume", "budget"})
    ),
    "never-slower": Command(
        never_slower.run, never_slower.scenarios, options=frozenset({"anew", "resume", "budget"})
    ),
    "prediction": Command(prediction.run, options=frozenset({"size"})),
    "native-prediction": Command(
        native_prediction.run, repetitions=3, options=frozenset({"size", "budget"})
    ),
    "wan": Command(
        wan.run,
        matsuda.scenarios,
        3,
        frozenset({"size", "anew", "resume", "budget", "simulate", "senders"}),
    ),
    "nbody": Command(nbody.run),
    "breakdown": Command(
        breakdown.run,
        breakdown.scenarios,
        3,
        frozenset({"size", "anew", "resume", "budget", "program"}),
    ),
    "distance": Command(distance.run),
    "choice": Command(
        choice.run,
        choice.scenarios,
        3,
        frozenset({"size", "anew", "resume", "budget", "collective"}),
    ),
    "planner": Command(
        planner.run,
        options=frozenset({"size", "anew", "resume", "networks", "hosts", "collective"}),
        on_lab=False,
    ),
    "middle": Command(
        middle.run,
        options=frozenset({"size", "anew", "resume", "networks", "hosts", "collective"}),
        on_lab=False,
    ),
    "regret": Command(
        regret.run,
        options=frozenset({"anew", "resume", "networks", "hosts", "collective"}),
        on_lab=False,
    ),
    "neighborhoods": Command(
        neighborhoods.run, options=frozenset({"size", "anew", "networks"}), on_lab=False
    ),
    "optimum": Command(
        optimum.run,
        options=frozenset({"size", "anew", "resume", "networks", "collective"}),
        on_lab=False,
    ),
    "placement": Command(
        placement.run, options=frozenset({"networks", "anew", "resume"}), on_lab=False
    ),
    "timeline": Command(
        timeline.run,
        timeline.scenario_names,
        1,
        frozenset({"size", "anew", "resume", "program"}),
    ),
    "calm": Command(
        calm.run,
        calm.scenario_names,
        3,
        frozenset({"size", "anew", "resume", "program"}),
    ),
    "flapping": Command(
        flapping.run,
        flapping.scenario_names,
        3,
        frozenset({"size", "anew", "resume", "program"}),
    ),
    "startup": Command(startup.run, startup.scenario_names, 3, frozenset({"anew", "resume"})),
    "placement-lab": Command(
        placement_lab.run,
        placement_lab.names,
        10,
        frozenset({"size", "anew", "resume", "budget", "program"}),
    ),
    "inside": Command(
        inside.run, options=frozenset({"networks", "anew", "resume", "lab"}), on_lab=False
    ),
    "inside-lab": Command(
        inside_lab.run,
        repetitions=10,
        options=frozenset({"build", "repetitions", "anew", "resume"}),
        on_lab=False,
    ),
    "inside-figures": Command(
        inside_figures.run, options=frozenset({"anew", "resume", "quick", "draft"})
    ),
    "simgrid": Command(
        simgrid.run,
        options=frozenset({"size", "anew", "networks", "hosts", "collective"}),
        on_lab=False,
    ),
    "smpi": Command(smpi.run, options=frozenset({"anew", "resume", "hosts"}), on_lab=False),
    "smpi-lab": Command(
        smpi_lab.run,
        smpi_lab.scenario_names,
        5,
        frozenset({"anew", "resume", "program", "simulate"}),
    ),
    "overhead": Command(
        overhead.run,
        repetitions=3,
        options=frozenset({"build", "repetitions", "anew", "resume"}),
        on_lab=False,
    ),
    "one-host": Command(
        one_host.run,
        repetitions=20,
        options=frozenset({"build", "repetitions", "anew"}),
        on_lab=False,
    ),
    "stress": Command(
        stress.run, options=frozenset({"build", "calls", "anew", "resume"}), on_lab=False
    ),
    "cmpi": Command(cmpi.run, options=frozenset({"anew", "resume", "hosts"}), on_lab=False),
    "days": Command(days.run, options=frozenset({"anew", "resume"}), on_lab=False),
    "days-lab": Command(
        days_lab.run,
        days_lab.scenario_names,
        2,
        frozenset({"anew", "resume", "collective"}),
    ),
    "cloudmap": Command(
        cloudmap.run, options=frozenset({"anew", "resume", "networks"}), on_lab=False
    ),
    "grid": Command(grid.run, options=frozenset({"seed"}), on_lab=False),
    "trees": Command(trees.run, options=frozenset({"anew", "resume", "trees"}), on_lab=False),
    "scaling": Command(scaling.run, options=frozenset({"anew", "resume", "hosts"}), on_lab=False),
    "probe": Command(probe.run, probe.scenarios, 1, frozenset({"anew", "resume", "budget"})),
    "sequences": Command(
        sequences.run, options=frozenset({"build", "anew", "resume"}), on_lab=False
    ),
    "trunks": Command(trunks.run, options=frozenset({"anew", "budget", "networks"}), on_lab=False),
}


def _add(name: str, chosen: Sequence[Command], description: str | None) -> None:
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
            scenarios=scenario or [],
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
                    *breakdown.sizes,
                    *placement_programs.programs,
                    *timeline_runs.programs,
                    *smpi_model.programs,
                ],
                "program",
            ),
            simulate=simulate,
            senders=senders or [],
            trees=trees,
            networks=networks,
            hosts=hosts,
            calls=calls,
            collectives=_known(collective or [], [kind.name for kind in Kind], "collective"),
            papers=_known(paper or [], list(papers.pages_of), "paper"),
            lab=lab,
        )
        _known(wanted.scenarios, [s for each in chosen for s in each.scenarios], "scenario")
        if wanted.save and not wanted.draft:
            machine.require_commit()
        for each in chosen:
            each.run_with(wanted, repetitions or each.repetitions)

    # typer sees only parameters that one of the commands takes.
    signature = inspect.signature(command)
    taken = simulated.union(
        *(each.options | (common if each.on_lab else simulated) for each in chosen)
    )
    if all("resume" in each.options for each in chosen):
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
        _add(name, [command], command.description)
    of_papers = Command(papers.run, options=frozenset({"anew", "paper", "lab"}), on_lab=False)
    _add("papers", [of_papers], papers.__doc__)
    _add("all", list(commands.values()), "All commands, one after the other.")
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
