"""Long measurements in parts: on each scenario with each build, once it is planned for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench.builds import Build
from bench.progress import Progress
from bench.session import Planned, Session, added_budget
from bench.settings import Settings
from thalweg.lab import scenario
from thalweg.lab.scenario import Scenario

planning = "probe and plan"
starting = 15.0  # seconds that a launch, a probe or planning takes besides, about


def run(
    settings: Settings, progress: Progress, measure: Callable[[Session, Build, Planned], None]
) -> None:
    """Brings up one lab after the other; `measure` announces its own parts."""
    for name in settings.scenarios:
        with Session(name, settings.dilation) as session:
            for build in settings.debian_builds():
                with progress.part(part_name(name, build, planning)):
                    planned = session.plan(build, settings.budget)
                measure(session, build, planned)


def estimates(
    settings: Settings, parts: Callable[[Scenario], Mapping[str, float]]
) -> dict[str, float]:
    """Seconds by name, in the order of run(); `parts` says what follows the planning.

    What `parts` returns, by what is measured, are un-dilated seconds of the network.
    """
    found = {}
    for name in settings.scenarios:
        truth = scenario.find(name)
        dilation = settings.dilation or truth.dilation
        measured = parts(truth)
        budget = settings.budget
        for build in settings.debian_builds():
            found[part_name(name, build, planning)] = budget * dilation + 2 * starting
            for what, seconds in measured.items():
                found[part_name(name, build, what)] = seconds * dilation + starting
            budget = added_budget  # the second build only adds to what the first has probed
    return found


def part_name(name: str, build: Build, what: str) -> str:
    return f"{name}, {build.name}, {what}"
