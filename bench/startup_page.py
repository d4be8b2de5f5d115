"""The page of what `thalweg run` adds to a program's start."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.page import Part, invalid_runs, median_of, valid_runs
from bench.report import Table
from bench.split import Split, dilation_of, split_of
from bench.summary import median_interval

alone = "launcher alone"
unseen = "hosts never seen"
known = "known hosts"
recorded = "known hosts and program"
bars = {unseen: 3.0, known: 0.3, recorded: 0.3}
"""Seconds until the program's first statement, by what is known when it is started."""


@dataclass(frozen=True)
class Round:
    """A scenario's labs of two dilations with a build; the slower network comes second."""

    slow: Part
    slower: Part

    def added(self, variant: str, key: str) -> Split | None:
        """Returns what `thalweg run` takes more than the launcher alone; None if either failed."""

        def added(part: Part) -> float | None:
            own, other = (median_of(part, each, key) for each in (alone, variant))
            return None if own is None or other is None else other - own

        return split_of((self.slow, self.slower), added)


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns what counts, un-dilated, and the parts that it is made of, as they were."""
    groups = dict(_groups(parts))
    return [_added(groups), _steps(groups)]


Groups = Mapping[tuple[str, str], Sequence[Round]]
"""Rounds by scenario and build."""


def _groups(parts: Sequence[Part]) -> Iterator[tuple[tuple[str, str], list[Round]]]:
    rounds: dict[tuple[str, str], dict[int, list[Part]]] = {}
    for part in parts:
        key = part.labels["scenario"], part.labels["build"]
        rounds.setdefault(key, {}).setdefault(part.labels["round"], []).append(part)
    for key, by_round in sorted(rounds.items()):
        pairs = (sorted(each, key=dilation_of) for each in by_round.values() if len(each) > 1)
        if complete := [Round(pair[0], pair[-1]) for pair in pairs]:
            yield key, complete


def _added(groups: Groups) -> Table:
    rounds_of_all = itertools.chain.from_iterable(groups.values())
    parts = [part for each in rounds_of_all for part in (each.slow, each.slower)]
    table = Table(
        "Added to the start of a program of 16 ranks",
        ["scenario", "build", "started on", "rounds", "launcher alone", "thalweg run", "machine",
         "network", "added", "range", "bar", "met", "added until exit"],
        notes=[
            "Launcher alone, thalweg run: seconds of this machine, not un-dilated, from the "
            "command's start until the last rank has left MPI_Init, at the lower dilation.",
            "Added: the difference of the two in seconds of hosts whose network isn't dilated: "
            "medians of the rounds, with the order statistics that enclose them with 95 %, or of "
            "fewer than six rounds all. Met: whether the median is at most the bar.",
            "A lab's dilation makes its network slower, but neither Python's start, nor planning, "
            "nor launching: divided by it, these would look smaller than they are. So each round "
            "is made at the scenario's dilation and at twice that. What doubles with it is the "
            "network's, and is divided by it (network: the measurement, and what launcher and "
            "MPI_Init wait for messages); the rest is work of this machine, and counts as it is "
            "(machine). Noise may give either a few hundredths of a second of the other's, and of "
            "their sum about twice its own.",
            "All 16 hosts, the switch and `thalweg run` share this machine's two cores. Launching "
            "ranks, which the measurement of hosts never seen does once more, takes longer here "
            "than on 16 machines.",
            "Known hosts: the next run with the same cache folder, of another program. Known hosts "
            "and program: that program once more, whose ranks are placed by its record.",
            "Until exit: likewise, until the command has ended, with the collectives of the "
            "program and what is kept of the run.",
            f"Invalid runs, by the lab's own counters, are left out: {invalid_runs(parts)}.",
        ],
    )  # fmt: skip
    for (name, build), rounds in groups.items():
        for variant, bar in bars.items():
            until_start, until_exit = (
                [found for each in rounds if (found := each.added(variant, key))]
                for key in ("begun", "ended")
            )
            if not until_start or not until_exit:
                continue
            totals = [each.total for each in until_start]
            middle = statistics.median(totals)
            table.add(
                name, build, variant, len(totals),
                *(_raw(rounds, each, "begun") for each in (alone, variant)),
                in_seconds(statistics.median(each.machine for each in until_start)),
                in_seconds(statistics.median(each.network for each in until_start)),
                in_seconds(middle), " to ".join(map(in_seconds, median_interval(totals))),
                f"<= {bar:g} s", "yes" if middle <= bar else "MISSED",
                in_seconds(statistics.median(each.total for each in until_exit)),
            )  # fmt: skip
    return table


def _steps(groups: Groups) -> Table:
    table = Table(
        "Where it goes, seconds of this machine at the lower dilation",
        ["scenario", "build", "started on", "until the network", "network", "planning",
         "until the first statement", "after the program"],
        notes=[
            "Not un-dilated; medians of all valid runs. Until the network: from the start until "
            "`thalweg run` says that it measures or knows the network (Python, the launcher's "
            "name and version). Network: until it says of which run it knows the program's "
            "messages: the measurement, with the launch of its ranks, or the verification. "
            "Planning: as wisdom keeps it. The last two are what remains beyond what the launcher "
            "alone takes: until the last rank has left MPI_Init, and from its collectives' end "
            "until the exit.",
        ],
    )  # fmt: skip
    for (name, build), rounds in groups.items():
        slow = [each.slow for each in rounds]
        for variant in (unseen, known):
            found = [step for part in slow for step in _steps_of(part, variant)]
            if found:
                middle = (statistics.median(each) for each in zip(*found, strict=True))
                table.add(name, build, variant, *map(in_seconds, middle))
    return table


def _steps_of(part: Part, variant: str) -> Iterator[tuple[float, ...]]:
    """Yields the steps of each run that said when they began."""
    start, done, end = (median_of(part, alone, key) for key in ("begun", "done", "ended"))
    if start is None or done is None or end is None:
        return
    for run in valid_runs(part.samples, variant):
        if run["asked"] is None or run["answered"] is None:
            continue
        planning = run.get("planning") or 0.0
        yield (
            run["asked"], run["answered"] - run["asked"], planning,
            run["begun"] - run["answered"] - planning - start,
            run["ended"] - run["done"] - (end - done),
        )  # fmt: skip


def _raw(rounds: Sequence[Round], variant: str, key: str) -> str:
    found = [time for each in rounds if (time := median_of(each.slow, variant, key)) is not None]
    return in_seconds(statistics.median(found))


def in_seconds(value: float) -> str:
    """Prints seconds that may be below zero: "1.20 s", "-0.04 s"."""
    return f"{round(value, 2) + 0:.2f} s"  # -0.0 + 0 is 0.0
