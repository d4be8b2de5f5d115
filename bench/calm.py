"""Runs in which the network doesn't change: with plans that follow it, and with races alone.

Runs of both kinds take turns, in rounds over all scenarios, so that more runs are added by more
rounds (`--repetitions` with `--resume`). Plans are made for the scenario's own network, with time
dilated as the lab's is.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from bench import timeline_runs
from bench.bars import undecided
from bench.page import Page, Part
from bench.progress import Progress
from bench.report import Subject, Table, seconds
from bench.session import Session
from bench.settings import Settings
from bench.summary import median_interval
from bench.timeline_runs import Program, programs
from thalweg.lab import scenario

subject = Subject(
    "calm",
    "Runs in which the network doesn't change",
    (*timeline_runs.measures, "bench/calm.py"),
    ("scenario", "build", "collective", "bytes", "round", "variant"),
)
scenarios = ("three-sites", "cloud", "two-sites", "grid")
RUN_SECONDS = 20.0
"""What a run takes, about: what is usual is settled after five seconds, and a change is believed
after three."""
bar = 1.005  # times the time of runs whose plans only race
runs_without_alarm = 100
"""One of so many runs may have an alarm."""
racing, following = "racing", "following"
variants = {racing: timeline_runs.races, following: timeline_runs.follows}


def run(settings: Settings) -> None:
    """Measures a pair of runs of each program on each scenario in each round, a lab for each."""
    page = Page(settings, subject, contents)
    build, nbytes = timeline_runs.build_and_size(settings)

    def labels(name: str, program: Program, at: int) -> dict[str, Any]:
        return {
            "scenario": name, "build": build.name, "collective": program.name, "bytes": nbytes,
            "round": at,
        }  # fmt: skip

    wanted = [programs[each] for each in settings.programs or programs]
    left = {
        (name, at): missing
        for at in range(settings.repetitions)
        for name in settings.scenarios
        if (missing := [each for each in wanted if not page.has(labels(name, each, at))])
    }
    per_program = 3 * RUN_SECONDS
    progress = Progress({_title(*key): per_program * len(each) for key, each in left.items()})
    for (name, at), missing in left.items():
        with progress.part(_title(name, at)), Session(name, settings.dilation) as session:
            net = scenario.find(name).network
            planned = timeline_runs.plan(session, build, net, name)
            for program in missing:
                usual = sum(plan.predicted for plan in program.plans(net, nbytes))
                words = program.arguments(nbytes, session.ranks, usual)
                steps = timeline_runs.steps_lasting(RUN_SECONDS, session, build, planned, words)
                samples = [
                    timeline_runs.sample(
                        session, build, variant, planned, words, [steps], variants[variant]
                    )
                    for variant in _order(at)
                ]
                facts = {"dilation": session.dilation, "steps": steps}
                page.add(labels(name, program, at), facts, samples)
    page.finish()


def _title(name: str, at: int) -> str:
    return f"{name}, round {at + 1}"


def _order(at: int) -> Sequence[str]:
    """Returns the variants in turn: neither comes first in all rounds."""
    return list(variants) if at % 2 == 0 else list(reversed(variants))


# The page ---------------------------------------------------------------------------------------


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns the table: a row for each program on each scenario."""
    table = Table(
        "Whole runs, un-dilated seconds",
        ["scenario", "collective", "pairs", "racing", "following", "of racing's", "pairs' range",
         "met", "alarms", "improved"],
        notes=[
            "Medians of runs in turn. Racing: plans against native, `thalweg run`'s default. "
            "Following: `--adapt on` besides. Of racing's: the median of the pairs' ratios, with "
            "the order statistics that enclose it with 95 %, or of fewer than six pairs all. Met: "
            f"all of that is at most {bar}x; missed: all lies above; between, these runs don't "
            "decide.",
            "Improved: runs in which plans for calls in a row were found better, and adopted. "
            "Alarms: runs in which a change of the network was noticed; a suspicion that isn't "
            "confirmed, of which nothing comes, is none.",
            timeline_runs.of_nbody,
            "Invalid runs, by the lab's own counters, are left out of the times.",
        ],
    )  # fmt: skip
    runs = alarms = 0
    ratios = []
    for (name, program), group in _groups(parts):
        own = [each["changes"] for part in group for each in part.samples if _follows(each)]
        of_group = sum(any(not change["improvement"] for change in run) for run in own)
        improved = sum(any(_is_improvement(change) for change in run) for run in own)
        runs, alarms = runs + len(own), alarms + of_group
        pairs = [pair for part in group if (pair := _pair(part))]
        if not pairs:
            continue
        found = [after / before for before, after in pairs]
        low, high = median_interval(found)
        ratios.append(statistics.median(found))
        table.add(
            name, program, str(len(pairs)),
            *(seconds(statistics.median(each)) for each in zip(*pairs, strict=True)),
            f"{ratios[-1]:.3f}x", f"{low:.3f} - {high:.3f}", _met(low, high),
            f"{of_group} of {len(own)}", f"{improved} of {len(own)}",
        )  # fmt: skip
    if ratios:
        table.notes.append(
            f"In all: {alarms} of {runs} runs with an alarm (wanted: at most 1 of "
            f"{runs_without_alarm}); following takes {statistics.geometric_mean(ratios):.3f}x in "
            "the geometric mean of the rows."
        )
    return [table]


def _met(low: float, high: float) -> str:
    return "yes" if high <= bar else "MISSED" if low > bar else undecided


def _groups(parts: Sequence[Part]) -> Iterator[tuple[tuple[str, str], list[Part]]]:
    """Yields the parts of all rounds by scenario and program, in the order of their names."""
    keys = sorted({(part.labels["scenario"], part.labels["collective"]) for part in parts})
    for key in keys:
        yield key, [p for p in parts if (p.labels["scenario"], p.labels["collective"]) == key]


def _pair(part: Part) -> tuple[float, float] | None:
    """Returns the seconds of a round's two runs; None if one is invalid."""
    own, other = (sum(timeline_runs.medians(part.samples, each)) for each in (racing, following))
    return (own, other) if own and other else None


def _follows(sample: dict[str, Any]) -> bool:
    return bool(sample["variant"] == following)


def _is_improvement(change: dict[str, Any]) -> bool:
    return bool(change["improvement"] and change["outcome"] == "adopted")
