"""The subcommands of script/bench, each with what it takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench import (
    adapt,
    breakdown,
    calm,
    cells,
    choice,
    cloudmap,
    cmpi,
    cmpi_smpi,
    days,
    days_lab,
    distance,
    flapping,
    forecast,
    grid,
    headline,
    inside,
    inside_figures,
    inside_lab,
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
    placement_smpi,
    planner,
    prediction,
    probe,
    regret,
    report,
    scaling,
    sequences,
    settings,
    simgrid,
    smpi,
    smpi_lab,
    startup,
    stress,
    timeline,
    trees,
    trunks,
    wan,
)
from bench.settings import Settings
from thalweg.errors import UserError

simulated = frozenset({"quick", "draft"})
common = simulated | {"build", "scenario", "repetitions", "dilation"}


@dataclass(frozen=True)
class Command:
    """Declares a subcommand; `options` are its options besides the common ones."""

    run: Callable[[Settings], None]
    scenarios: Sequence[str] = settings.scenario_names
    repetitions: int = 7
    options: frozenset[str] = frozenset()
    on_lab: bool = True
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Settings that it has whatever was requested."""

    @property
    def description(self) -> str | None:
        return sys.modules[self.run.__module__].__doc__

    @property
    def taken(self) -> frozenset[str]:
        """All of its options, as parameters of Python."""
        return self.options | (common if self.on_lab else simulated)

    def run_with(self, wanted: Settings, repetitions: int) -> None:
        """Restricts to the requested scenarios that it has; all if none was requested."""
        scenarios = [name for name in wanted.scenarios if name in self.scenarios]
        if wanted.scenarios and not scenarios:
            return
        if not wanted.save:
            repetitions = min(repetitions, 3)
        own = {"scenarios": scenarios or self.scenarios, "repetitions": repetitions, **self.fixed}
        self.run(replace(wanted, **own))


commands = {
    "adapt": Command(
        adapt.run, adapt.scenarios, 3, frozenset({"seed", "size", "anew", "resume", "budget"})
    ),
    "native": Command(native.run, options=frozenset({"seed", "size"})),
    "headline": Command(headline.run, options=frozenset({"seed", "anew", "resume", "budget"})),
    "cells": Command(
        cells.run, cells.scenarios, options=frozenset({"seed", "size", "anew", "resume", "budget"})
    ),
    "never-slower": Command(
        never_slower.run,
        never_slower.scenarios,
        options=frozenset({"seed", "anew", "resume", "budget", "plans"}),
    ),
    "prediction": Command(prediction.run, options=frozenset({"seed", "size", "anew", "resume"})),
    "native-prediction": Command(
        native_prediction.run, repetitions=3, options=frozenset({"seed", "size", "budget"})
    ),
    "wan": Command(
        wan.run,
        matsuda.scenarios,
        3,
        frozenset({"seed", "size", "anew", "resume", "budget", "simulate", "senders"}),
    ),
    "nbody": Command(nbody.run, nbody.scenarios, options=frozenset({"anew", "resume"})),
    "breakdown": Command(
        breakdown.run,
        breakdown.scenarios,
        3,
        frozenset(
            {"seed", "size", "anew", "resume", "budget", "program", "simulate", "hosts", "networks"}
        ),
    ),
    "distance": Command(distance.run, options=frozenset({"seed"})),
    "choice": Command(
        choice.run,
        choice.scenarios,
        3,
        frozenset({"seed", "size", "anew", "resume", "budget", "collective"}),
    ),
    "planner": Command(
        planner.run,
        options=frozenset({"seed", "size", "anew", "resume", "networks", "hosts", "collective"}),
        on_lab=False,
    ),
    "middle": Command(
        middle.run,
        options=frozenset({"seed", "size", "anew", "resume", "networks", "hosts", "collective"}),
        on_lab=False,
    ),
    "regret": Command(
        regret.run,
        options=frozenset({"seed", "anew", "resume", "networks", "hosts", "collective"}),
        on_lab=False,
    ),
    "forecast": Command(forecast.run, options=frozenset({"seed", "anew", "resume"}), on_lab=False),
    "neighborhoods": Command(
        neighborhoods.run, options=frozenset({"seed", "size", "anew", "networks"}), on_lab=False
    ),
    "optimum": Command(
        optimum.run,
        options=frozenset({"seed", "size", "anew", "resume", "networks", "collective"}),
        on_lab=False,
    ),
    "placement": Command(
        placement.run, options=frozenset({"seed", "networks", "anew", "resume"}), on_lab=False
    ),
    "timeline": Command(
        timeline.run,
        timeline.scenarios,
        1,
        frozenset({"size", "anew", "resume", "program"}),
    ),
    "calm": Command(
        calm.run,
        calm.scenarios,
        3,
        frozenset({"size", "anew", "resume", "program"}),
    ),
    "flapping": Command(
        flapping.run,
        flapping.scenarios,
        3,
        frozenset({"size", "anew", "resume", "program"}),
    ),
    "startup": Command(startup.run, startup.scenarios, 3, frozenset({"anew", "resume"})),
    "placement-lab": Command(
        placement_lab.run,
        placement_lab.scenarios,
        10,
        frozenset({"size", "anew", "resume", "budget", "program"}),
    ),
    "placement-smpi": Command(
        placement_smpi.run, options=frozenset({"build", "anew", "resume", "program"}), on_lab=False
    ),
    "inside": Command(
        inside.run, options=frozenset({"seed", "networks", "anew", "resume", "lab"}), on_lab=False
    ),
    "inside-lab": Command(
        inside_lab.run,
        repetitions=10,
        options=frozenset({"seed", "build", "repetitions", "anew", "resume"}),
        on_lab=False,
    ),
    "inside-figures": Command(inside_figures.run, options=frozenset({"anew", "resume"})),
    "simgrid": Command(
        simgrid.run,
        options=frozenset({"seed", "size", "anew", "networks", "hosts", "collective"}),
        on_lab=False,
    ),
    "smpi": Command(smpi.run, options=frozenset({"anew", "resume", "hosts"}), on_lab=False),
    "smpi-lab": Command(
        smpi_lab.run,
        smpi_lab.scenarios,
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
        stress.run, options=frozenset({"seed", "build", "calls", "anew", "resume"}), on_lab=False
    ),
    "cmpi": Command(cmpi.run, options=frozenset({"anew", "resume", "hosts"}), on_lab=False),
    "cmpi-smpi": Command(
        cmpi_smpi.run, options=frozenset({"anew", "resume", "hosts"}), on_lab=False
    ),
    "days": Command(days.run, options=frozenset({"anew", "resume"}), on_lab=False),
    "days-lab": Command(
        days_lab.run,
        days_lab.scenarios,
        2,
        frozenset({"seed", "anew", "resume", "collective"}),
    ),
    "cloudmap": Command(
        cloudmap.run, options=frozenset({"anew", "resume", "networks"}), on_lab=False
    ),
    "grid": Command(grid.run, options=frozenset({"seed", "anew", "resume"}), on_lab=False),
    "trees": Command(trees.run, options=frozenset({"anew", "resume", "trees"}), on_lab=False),
    "scaling": Command(scaling.run, options=frozenset({"anew", "resume", "hosts"}), on_lab=False),
    "probe": Command(probe.run, probe.scenarios, 1, frozenset({"anew", "resume", "budget"})),
    "sequences": Command(
        sequences.run, options=frozenset({"seed", "build", "anew", "resume"}), on_lab=False
    ),
    "trunks": Command(
        trunks.run, options=frozenset({"seed", "anew", "budget", "networks"}), on_lab=False
    ),
}
papers_command = Command(papers.run, options=frozenset({"anew", "paper", "lab"}), on_lab=False)
everything = commands | {
    **{
        f"{name} --simulate": replace(commands[name], fixed={"simulate": True})
        for name in ("wan", "breakdown")
    },
}
"""What `script/bench all` runs: also the commands that make a second page by an option."""


def run_all(chosen: Mapping[str, Command], wanted: Settings, repetitions: int | None) -> None:
    """Runs commands one after the other, also after one that fails. Raises UserError, which names
    those that failed."""
    failed = []
    for name, command in chosen.items():
        try:
            command.run_with(wanted, repetitions or command.repetitions)
        except UserError as error:
            if len(chosen) == 1:
                raise
            report.console.print(f"[red]script/bench {name}: {error}", markup=True)
            failed.append(name)
    if failed:
        raise UserError(
            f"script/bench {', '.join(failed)} failed, for the reasons above; the rest is made"
        )
