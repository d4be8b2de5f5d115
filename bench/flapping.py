"""Runs on a network one part of which becomes ten times worse and recovers every two seconds.

Plans for either state are the best ones half of the time; plans that follow the network should take
hardly longer than the better of both. Seconds are those of the runtime, which observes a network
whose time is dilated.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from bench import timeline, timeline_runs
from bench.builds import Build
from bench.page import Page, Part, valid_runs
from bench.progress import Progress
from bench.report import Subject, Table, seconds, times
from bench.session import Session
from bench.settings import Settings
from bench.timeline_runs import Program, programs
from thalweg.lab import scenario

subject = Subject(
    "flapping",
    "Runs on a network that flaps",
    (*timeline_runs.measures, "bench/timeline.py", "bench/flapping.py"),
    ("scenario", "build", "collective", "bytes"),
)
scenarios = ("three-sites",)
EVERY_SECONDS = 2.0
RUN_SECONDS = 80.0
LAB_SECONDS = 3600.0
"""How long the network goes on flapping."""
kind = "trunk"
"""What becomes worse: the one of this kind for which the plans differ most."""
bar = 1.05
calm, worse, racing, following = "calm", "worse", "racing", "following"
environments = {
    calm: {}, worse: {}, racing: timeline_runs.races, following: timeline_runs.follows
}  # fmt: skip
"""Plans for one of the states, those for the calm one that race, and that follow."""


def run(settings: Settings) -> None:
    """Measures each program, a lab for each."""
    page = Page(settings, subject, contents)
    build, nbytes = timeline_runs.build_and_size(settings)
    wanted = [
        (name, programs[program])
        for name in settings.scenarios
        for program in settings.programs or programs
    ]
    per_part = len(environments) * (RUN_SECONDS + 5)
    progress = Progress({_title(*each): per_part * settings.repetitions for each in wanted})
    for name, program in wanted:
        labels = {
            "scenario": name, "build": build.name, "collective": program.name, "bytes": nbytes
        }  # fmt: skip
        if page.has(labels):
            continue
        with progress.part(_title(name, program)):
            page.add(labels, *_measure(settings, build, name, program, nbytes))
    page.finish()


def _title(name: str, program: Program) -> str:
    return f"{name}, {program.name}"


def _measure(
    settings: Settings, build: Build, name: str, program: Program, nbytes: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    document = scenario.document(name)
    net = scenario.find(name).network
    chosen = next(
        each
        for each in timeline.choose(net, document["network"], program, nbytes)
        if each.fault.kind == kind
    )
    dilation = settings.dilation or scenario.find(name).dilation
    flaps = round(LAB_SECONDS / EVERY_SECONDS)
    document["timeline"] = chosen.fault.in_turn(flaps, EVERY_SECONDS / dilation)
    samples = []
    with Session(scenario.parse(document), dilation) as session:
        nets = {calm: net, worse: timeline.changed(net, chosen.fault.fall)}
        plans = {each: timeline_runs.plan(session, build, its, each) for each, its in nets.items()}
        words = program.arguments(nbytes, session.ranks, chosen.usual)
        steps = timeline_runs.steps_lasting(RUN_SECONDS, session, build, plans[calm], words)
        for _ in range(settings.repetitions):
            samples += [
                timeline_runs.sample(
                    session, build, variant, plans.get(variant, plans[calm]), words, [steps],
                    environment,
                )
                for variant, environment in environments.items()
            ]  # fmt: skip
    return {"dilation": dilation, "part": chosen.fault.part, "steps": steps}, samples


# The page ---------------------------------------------------------------------------------------


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns the table: a row for each program."""
    table = Table(
        "Whole runs, un-dilated seconds",
        ["scenario", "collective", "flaps", "calls", "plans for calm", "plans for worse", "racing",
         "following", "of calm's plans", "of the better plans", "runs' range", "met", "replaced"],
        notes=[
            f"A {kind} becomes ten times worse and recovers in turn, every {EVERY_SECONDS:g} s of "
            "the runtime, while runs in turn take about "
            f"{RUN_SECONDS:g} s of it. Medians. Racing: the plans for the calm network against "
            "native; following: `--adapt on` besides.",
            "Of calm's plans: following's time over that of the plans it begins with. Of the "
            "better plans: over the lesser of the two plans' medians; range: of its runs. Met: "
            f"at most {bar}x.",
            "Replaced: plans that came into force, in all runs.",
            timeline_runs.of_nbody,
            "Invalid runs, by the lab's own counters, are left out.",
        ],
    )  # fmt: skip
    for part in parts:
        took = {
            each: [sum(sample["phases"]) for sample in valid_runs(part.samples, each)]
            for each in environments
        }
        if not all(took.values()):
            continue
        medians = {each: statistics.median(its) for each, its in took.items()}
        best = min(medians[calm], medians[worse])
        ratios = [each / best for each in took[following]]
        replaced = sum(
            change["outcome"] == "adopted"
            for sample in part.samples
            if sample["variant"] == following
            for change in sample["changes"]
        )
        ratio = medians[following] / best
        table.add(
            part.labels["scenario"], part.labels["collective"], part.facts["part"],
            part.facts["steps"], *(seconds(medians[each]) for each in environments),
            times(medians[following] / medians[calm]), times(ratio),
            f"{min(ratios):.3f} - {max(ratios):.3f}", "yes" if ratio <= bar else "MISSED",
            replaced,
        )  # fmt: skip
    return [table]
