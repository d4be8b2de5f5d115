"""The figures and statements of Bongo, Anshus and Bjørndalen beside those of our runs on the lab.

Gsum and SOR along declared trees on the clusters of the paper, and what `thalweg tune` makes of bad
trees (docs/papers.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bench import builds, inside_runs, inside_statements, inside_tune, sources
from bench.inside_runs import BASE, LEVELS, bytes_of, departures, find
from bench.page import Page, Part
from bench.plot import Line, LinePanel, line_chart
from bench.report import Content, Figure, Subject, Table, seconds
from bench.settings import Settings
from thalweg import timemap_picture
from thalweg.analysis.stages import STAGES
from thalweg.analysis.timemaps import Curve
from thalweg.timemap_picture import Configuration

subject = Subject(
    "inside-figures",
    "Inside the collectives: the paper's figures",
    (*sources.run_on_lab, "examples", "python/thalweg/analysis", "bench/inside_runs.py"),
    ("part", "cluster", "program", "configuration", "values"),
)


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    build = builds.select(["openmpi-4.1"])[0]
    wanted = inside_runs.WANTED if settings.save else inside_runs.WANTED[:1]
    inside_runs.add_runs(page, build, wanted)
    if settings.save:
        inside_tune.add_runs(page, build)
    page.finish()


def contents(parts: Sequence[Part]) -> list[Content]:
    return [
        inside_statements.table(parts),
        *figures(parts),
        runs(parts),
        imbalance(parts),
        inside_tune.table(parts),
    ]


# Figures ---------------------------------------------------------------------------------------


def figures(parts: Sequence[Part]) -> list[Content]:
    found: list[Content] = []
    for title, name, wanted in (
        ("Figure 2a: SOR on NOW, with arrival wait", "inside-2a",
         [("SOR", find(parts, "NOW", "sor"))]),
        ("Figure 2b: Gsum on NOW, without arrival wait", "inside-2b",
         [("Gsum", find(parts, "NOW", "gsum"))]),
        ("Figure 3a: Gsum on 4W, 8 and 256 bytes, the slowest rank, without arrival wait",
         "inside-3a", [
            (f"{configuration}, {8 * values} bytes",
             find(parts, "4W", "gsum", configuration, values))
            for values in (1, 32) for configuration in (BASE, "leaders in a binary tree")
        ]),
    ):  # fmt: skip
        there = [(label, part) for label, part in wanted if part is not None]
        if len(there) < len(wanted):
            continue
        lone = name == "inside-3a"
        drawn = [Configuration(label, _curves(part, lone)) for label, part in there]
        picture = timemap_picture.timemap(title, drawn)
        found.append(Figure(title, name, picture, ["Mean times, of runs on the lab."]))
    return [*found, *_serialisation_drawn(parts)]


def _serialisation_drawn(parts: Sequence[Part]) -> Iterator[Figure]:
    """Draws the paper's Figure 3b."""
    delays = [departures(parts, name) for name in LEVELS]
    if not all(delays):
        return
    lines = [
        Line(name, [(at, 1e6 * delay) for at, delay in enumerate(each, 1)], colour)
        for (name, colour), each in zip(LEVELS.items(), delays, strict=True)
    ]
    ticks = [(float(at), str(at)) for at in range(1, 1 + max(map(len, delays)))]
    panel = LinePanel(
        "8W, a host's subtree", "order of departure", "up and departure wait (us)", ticks, lines,
        logarithmic=False,
    )  # fmt: skip
    yield Figure(
        "Figure 3b: Gsum on 8W, one and two levels in a host", "inside-3b", line_chart([panel]),
        ["Means over the calls and over the hosts below the root's, of runs on the lab."],
    )  # fmt: skip


def _curves(part: Part, only_slowest: bool) -> list[Curve]:
    samples = list(part.samples)
    if only_slowest:
        samples = [max(samples, key=lambda sample: sample["times"][-1] - sample["times"][0])]
    return [_curve(sample) for sample in samples]


def _curve(sample: dict[str, Any]) -> Curve:
    return Curve(
        sample["rank"],
        tuple(sample["times"]),
        tuple(sample["heights"]),
        ("",) * len(sample["times"]),
    )


def runs(parts: Sequence[Part]) -> Table:
    """Tables every run's stages."""
    found = Table(
        "Stages of the trees",
        ["cluster", "program", "tree", "bytes", "calls", "mean call", "deviation",
         *(name.replace("_", " ") for name in STAGES), "attributed"],
        notes=[
            "On the lab. Means over calls and ranks of what a rank's data passes on its way to the "
            "root and back; they add up to the mean call. Deviation: of a rank's time in a call.",
            "Attributed: the part of the time that named causes explain.",
        ],
    )  # fmt: skip
    for part in parts:
        if part.labels["part"] == "run":
            it, facts = part.labels, part.facts
            found.add(
                it["cluster"], it["program"], it["configuration"], bytes_of(part), facts["calls"],
                seconds(facts["mean"]), seconds(facts["deviation"]),
                *(seconds(facts["stages"][name]) for name in STAGES),
                f"{100 * facts['attributed']:.1f} %",
            )  # fmt: skip
    return found


def imbalance(parts: Sequence[Part]) -> Table:
    """Tables who is waited for in SOR and Gsum."""
    found = Table(
        "Last arrivals",
        ["cluster", "program", "from the root to who is waited for", "last there, of all calls",
         "lateness of the ranks, least to most"],
        notes=["On the lab. The longest path of the weighted graph of last arrivals, section 3."],
    )  # fmt: skip
    for part in parts:
        if part.labels["part"] == "run" and part.labels["configuration"] == BASE:
            if part.labels["values"]:
                continue
            late = sorted(sample["late"] for sample in part.samples)
            facts = part.facts
            found.add(
                part.labels["cluster"], part.labels["program"],
                " <- ".join(map(str, facts["last_path"])),
                ", ".join(f"{each} of {facts['last_calls']}" for each in facts["last_counts"]),
                f"{seconds(abs(late[0]))} early to {seconds(max(late[-1], 0))} late",
            )  # fmt: skip
    return found
