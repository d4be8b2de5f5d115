"""CG and N-body end to end, split as Figure 11 of the CMPI paper (Gong, He, Zhong, section 5.4)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from bench import campaign, program, sources
from bench.builds import Build
from bench.campaign import Campaign
from bench.page import Page, Part
from bench.plot import BarPanel, Stack, bar_chart
from bench.program import Program, Result, Run
from bench.report import Content, Figure, Subject, Table, console, percent, seconds
from bench.samples import native, thalweg
from bench.session import LaunchFailedError, Planned, Session, physical_limit
from bench.settings import Settings
from bench.summary import summarise
from thalweg import units
from thalweg.lab.scenario import Scenario

scenarios = ("cloud",)
steps = 128  # of N-body, as in Figure 11c
few_steps = 4  # to find the computation's time, and of --quick
sizes = {"cg": (25_600, 102_400, 409_600), "nbody": (65_536, 262_144, 1_000_000)}
"""Bytes of a broadcast, up to the paper's largest: 51,200 numbers in CG, 1 MB in N-body."""
paper = {"cg": 0.416, "nbody": 0.143}
"""The time that CMPI saved over MPICH2, overheads included, on 64 instances of Amazon EC2.

Section 5.4; the abstract swaps the two.
"""
subject = Subject(
    "breakdown",
    "CG and N-body, end to end",
    (*sources.run_on_lab, "examples"),
    ("scenario", "build", "program", "bytes", "variant"),
)
titles = {"cg": "CG", "nbody": "N-body"}
variants = {native: "native", thalweg: "Thalweg"}
colours = {"computation": "#6baed6", "communication": "#fd8d3c", "other overheads": "#969696"}
round_times_bound = 6.0  # gather and broadcast, natively; as far as progress is concerned
both_times_native = 1.7


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    campaign.run(settings, page, parts(settings, page))


def parts(settings: Settings, page: Page) -> Campaign[Program]:
    """A part for each program and size."""

    def duration(truth: Scenario, each: Program) -> float:
        return _seconds(each, truth, settings)

    def measure(session: Session, build: Build, planned: Planned, each: Program) -> None:
        _add(page, session, build, each, planned, settings)

    return Campaign(list(programs(settings)), _what, labels, duration, measure)


def programs(settings: Settings) -> Iterator[Program]:
    for name in settings.programs or sizes:
        for size in settings.sizes or sizes[name]:
            if name == "cg":
                yield program.cg(size)
            else:
                yield program.nbody(size, steps if settings.save else few_steps)


def _add(
    page: Page,
    session: Session,
    build: Build,
    each: Program,
    planned: Planned,
    settings: Settings,
) -> None:
    trial = program.nbody(each.message, few_steps) if each.name == "nbody" else None
    try:
        result = program.measure(session, build, each, planned, settings.repetitions, trial)
    except LaunchFailedError as failure:
        console.print(f"[red]{failure}")
        return
    page.add(labels(session.name, build.name, each), facts(result, session), samples(result))


def labels(scenario: str, build: str, each: Program) -> dict[str, Any]:
    return {
        "scenario": scenario,
        "build": build,
        "program": each.name,
        "bytes": each.message,
    }


def facts(result: Result, session: Session) -> dict[str, Any]:
    return {"bound": result.bound, "overhead": result.overhead, "dilation": session.dilation}


def samples(result: Result) -> list[dict[str, Any]]:
    return [{"variant": name, **run} for name, runs in result.runs.items() for run in runs]


def result_of(part: Part) -> Result:
    """Restores the state behind labels(), facts() and samples()."""
    runs: dict[str, list[Run]] = {name: [] for name in variants}
    for sample in part.samples:
        runs[sample["variant"]].append(sample)
    return Result(
        part.labels["scenario"], part.labels["build"], part.facts["bound"],
        part.facts["overhead"], runs,
    )  # fmt: skip


def split(result: Result, variant: str) -> dict[str, float]:
    """Returns the median seconds of a run by its parts, as the figure stacks them."""
    runs = result.runs[variant]
    computation = summarise([run["computation"] for run in runs]).median
    total = summarise([run["total"] for run in runs]).median
    return {
        "computation": computation,
        "communication": total - computation,
        "other overheads": result.overhead if variant == thalweg else 0.0,
    }


def contents(parts: Sequence[Part]) -> list[Content]:
    ordered = sorted(parts, key=lambda p: (p.labels["program"], p.labels["bytes"]))
    return [gains(ordered), *figures(ordered), table(ordered)]


def gains(parts: Sequence[Part]) -> Table:
    """Tables the saved share of the native time, beside the paper's figures."""
    rows = Table(
        "Time saved",
        ["program", "bytes", "scenario", "build", "runs", "native", "Thalweg", "saved",
         "saved, with overheads", "CMPI paper"],
        notes=[
            "Saved: 1 - Thalweg / native. Other overheads, probing and planning, are paid once "
            "for a network; the paper pays its in each run, and its figure includes them.",
            "The paper's are over MPICH2 on 64 instances of Amazon EC2 (section 5.4), for its "
            "largest sizes; natively over 90 % of CG's time is communication there.",
        ],
    )  # fmt: skip
    for part in parts:
        result, name = result_of(part), part.labels["program"]
        ours, theirs = (split(result, variant) for variant in (thalweg, native))
        once = sum(ours.values()) - ours["other overheads"]
        whole = sum(theirs.values())
        rows.add(
            titles[name], units.size_to_text(part.labels["bytes"]), result.scenario, result.build,
            len(result.runs[native]), seconds(whole), seconds(once), _saved(once, whole),
            _saved(sum(ours.values()), whole),
            f"{100 * paper[name]:.1f} %",
        )  # fmt: skip
    return rows


def _saved(ours: float, native_time: float) -> str:
    return f"{100 * (1 - ours / native_time):.1f} %"


def table(parts: Sequence[Part]) -> Table:
    """The bars in numbers."""
    rows = Table(
        "Breakdown",
        ["program", "bytes", "scenario", "build", "variant", "rounds", *colours,
         "communication saved"],
        notes=[
            "Medians over the runs, per run. A round is one gather and one broadcast; CG's end "
            "when it has converged. Communication is all but computation.",
            f"Computation is fixed, to {percent(program.cg(8).compute_share)} of CG's and "
            f"{percent(program.nbody(8, 1).compute_share)} of N-body's native total, and is the "
            "same with Thalweg.",
        ],
    )  # fmt: skip
    for part in parts:
        result, name = result_of(part), part.labels["program"]
        whole = split(result, native)["communication"]
        for variant, title in variants.items():
            own = split(result, variant)
            rounds = summarise([_rounds(name, run) for run in result.runs[variant]]).median
            rows.add(
                titles[name], units.size_to_text(part.labels["bytes"]), result.scenario,
                result.build, title, f"{rounds:.0f}", *(_or_none(value) for value in own.values()),
                _saved(own["communication"], whole) if variant == thalweg else "-",
            )  # fmt: skip
    return rows


def _or_none(value: float) -> str:
    return seconds(value) if value > 0 else "-"


def _rounds(name: str, run: Run) -> int:
    return (program.cg(8) if name == "cg" else program.nbody(8, 1)).rounds_of(run)


def figures(parts: Sequence[Part]) -> list[Figure]:
    """Draws, per program and scenario, a panel per size: native beside Thalweg for each build."""
    found = []
    key = _figure_key
    for (name, where), group in itertools.groupby(sorted(parts, key=key), key=key):
        by_size = itertools.groupby(group, key=lambda part: part.labels["bytes"])
        panels = [_panel(size, list(own)) for size, own in by_size]
        title = f"{titles[name]} on {where}"
        figure = Figure(title, f"breakdown-{name}-{where}", bar_chart(panels, colours))
        figure.notes.append("Each size has its own scale.")
        found.append(figure)
    return found


def _figure_key(part: Part) -> tuple[str, str]:
    return part.labels["program"], part.labels["scenario"]


def _panel(size: int, parts: Sequence[Part]) -> BarPanel:
    stacks = [
        Stack(f"{title}\n{part.labels['build']}", split(result_of(part), variant))
        for part in parts
        for variant, title in variants.items()
    ]
    return BarPanel(f"{units.size_to_text(size)} per broadcast", "seconds", stacks)


def _seconds(each: Program, truth: Scenario, settings: Settings) -> float:
    """Estimates un-dilated seconds; CG needs one more run to find the computation's time."""
    a_round = (physical_limit(truth, "bcast", each.message) or 0) * round_times_bound
    native_run = _rounds_expected(each) * a_round / (1 - each.compute_share)
    return native_run * (settings.repetitions * both_times_native + (each.name == "cg"))


def _rounds_expected(each: Program) -> float:
    """Returns the rounds; CG's grow with the side of the grid."""
    if each.name == "nbody":
        return float(each.arguments[-1])
    return 1.75 * math.sqrt(each.message / 8)


def _what(each: Program) -> str:
    return f"{titles[each.name]} with {units.size_to_text(each.message)}"
