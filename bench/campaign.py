"""Long measurements in parts: on each scenario with each build, once it is planned for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from bench.builds import Build
from bench.page import Page, Record
from bench.progress import Progress
from bench.session import Planned, Session, added_budget
from bench.settings import Settings
from thalweg.lab import scenario
from thalweg.lab.scenario import Scenario

planning = "probe and plan"
starting = 15.0  # seconds that a launch, a probe or planning takes besides, about
Item = TypeVar("Item")
"""What distinguishes a part from the others with the same scenario and build."""


@dataclass(frozen=True)
class Campaign(Generic[Item]):
    """The parts that each scenario and build has."""

    items: Sequence[Item]
    title: Callable[[Item], str]
    labels: Callable[[str, str, Item], Record]
    """A part's labels on the page, by the names of scenario and build."""
    seconds: Callable[[Scenario, Item], float]
    """Un-dilated seconds that a part takes on the network, about."""
    measure: Callable[[Session, Build, Planned, Item], None]
    """Measures a part and adds it to the page."""
    plan: Callable[[Session, Build, float], Planned] = Session.plan
    """Plans for a build, with a budget of the probe in un-dilated seconds."""
    probes_anew: bool = False
    """Whether each build has a lab of its own. In a common one the second build's probe only adds
    to the first one's."""


Left = Sequence[tuple[str, Sequence[tuple[Build, Sequence[Item]]]]]
"""What is left to measure, by scenario and build."""


def run(settings: Settings, page: Page, campaign: Campaign[Item]) -> None:
    """Brings up one lab after the other, where the page lacks a part; then prints the page."""
    left = what_is_left(settings, page.has, campaign)
    progress = Progress(estimates(settings, campaign, left))
    labs = [
        (name, group)
        for name, builds in left
        for group in ([[each] for each in builds] if campaign.probes_anew else [builds])
    ]
    for name, builds in labs:
        with Session(name, settings.dilation) as session:
            for build, items in builds:
                with progress.part(part_name(name, build, planning)):
                    planned = campaign.plan(session, build, settings.budget)
                for item in items:
                    with progress.part(part_name(name, build, campaign.title(item))):
                        campaign.measure(session, build, planned, item)
    page.finish()


def what_is_left(
    settings: Settings, has: Callable[[Record], bool], campaign: Campaign[Item]
) -> Left[Item]:
    """Leaves out the parts that `has` has, and labs and builds for which none is left."""
    found = []
    for name in settings.scenarios:
        builds = [
            (build, items)
            for build in settings.debian_builds()
            if (
                items := [
                    item
                    for item in campaign.items
                    if not has(campaign.labels(name, build.name, item))
                ]
            )
        ]
        if builds:
            found.append((name, builds))
    return found


def estimates(settings: Settings, campaign: Campaign[Item], left: Left[Item]) -> dict[str, float]:
    """Seconds by name, in the order of run()."""
    found = {}
    for name, builds in left:
        truth = scenario.find(name)
        dilation = settings.dilation or truth.dilation
        budget = settings.budget
        for build, items in builds:
            found[part_name(name, build, planning)] = budget * dilation + 2 * starting
            for item in items:
                seconds = campaign.seconds(truth, item) * dilation + starting
                found[part_name(name, build, campaign.title(item))] = seconds
            if not campaign.probes_anew:
                budget = added_budget  # the second build only adds to what the first has probed
    return found


def part_name(name: str, build: Build, what: str) -> str:
    return f"{name}, {build.name}, {what}"
