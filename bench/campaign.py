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
    slower: float = 1.0
    """What the dilation, of the scenario or of the settings, is multiplied by."""

    def dilation(self, settings: Settings, name: str) -> float:
        """Returns the dilation of a scenario's lab."""
        return self.slower * (settings.dilation or scenario.find(name).dilation)

    def part_name(self, name: str, build: Build, what: str) -> str:
        """Returns what progress calls a part."""
        where = name if self.slower == 1 else f"{name} {self.slower:g} times as slow"
        return part_name(where, build, what)


Left = Sequence[tuple[str, Sequence[tuple[Build, Sequence[Item]]]]]
"""What is left to measure, by scenario and build."""


def run(settings: Settings, page: Page, *campaigns: Campaign[Item]) -> None:
    """Measures what the page lacks of each campaign, and prints the page."""
    lefts = [what_is_left(settings, page.has, each) for each in campaigns]
    expected: dict[str, float] = {}
    for campaign, left in zip(campaigns, lefts, strict=True):
        expected |= estimates(settings, campaign, left)
    progress = Progress(expected)
    for campaign, left in zip(campaigns, lefts, strict=True):
        _run(settings, campaign, left, progress)
    page.finish()


def _run(
    settings: Settings, campaign: Campaign[Item], left: Left[Item], progress: Progress
) -> None:
    """Brings up one lab after the other."""
    labs = [
        (name, group)
        for name, builds in left
        for group in ([[each] for each in builds] if campaign.probes_anew else [builds])
    ]
    for name, builds in labs:
        with Session(name, campaign.dilation(settings, name)) as session:
            for build, items in builds:
                with progress.part(campaign.part_name(name, build, planning)):
                    planned = campaign.plan(session, build, settings.budget)
                for item in items:
                    with progress.part(campaign.part_name(name, build, campaign.title(item))):
                        campaign.measure(session, build, planned, item)


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
        dilation = campaign.dilation(settings, name)
        budget = settings.budget
        for build, items in builds:
            found[campaign.part_name(name, build, planning)] = budget * dilation + 2 * starting
            for item in items:
                seconds = campaign.seconds(truth, item) * dilation + starting
                found[campaign.part_name(name, build, campaign.title(item))] = seconds
            if not campaign.probes_anew:
                budget = added_budget  # the second build only adds to what the first has probed
    return found


def part_name(where: str, build: Build, what: str) -> str:
    """Returns what progress calls what is done with a build."""
    return f"{where}, {build.name}, {what}"
