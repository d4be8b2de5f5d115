"""CG and N-body end to end, split as Figure 11 of the CMPI paper (Gong, He, Zhong, section 5.4)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from bench import breakdown_smpi, campaign, program, sources
from bench.breakdown_figure import (
    as_printed,
    cmpi,
    colours,
    paper,
    saved_columns,
    saved_shares,
    share_text,
    sizes,
    steps,
    time_or_none,
    titles,
    variants,
)
from bench.builds import Build
from bench.campaign import Campaign
from bench.page import Page, Part, runs_that_failed
from bench.plot import BarPanel, Stack, bar_chart
from bench.program import Program, Result, Run, runs_of
from bench.report import Content, Figure, Subject, Table, console, judged, percent, seconds
from bench.samples import native, thalweg
from bench.session import LaunchFailedError, Planned, Session, physical_limit
from bench.settings import Settings
from bench.summary import saved, summarise
from thalweg import units
from thalweg.lab.scenario import Scenario

scenarios = ("cloud",)
few_steps = 4  # to find the computation's time, and of --quick
subject = Subject(
    "breakdown",
    "CG and N-body, end to end",
    (*sources.run_on_lab, "examples"),
    ("scenario", "build", "program", "bytes", "variant"),
)
round_times_bound = 6.0  # gather and broadcast, natively; as far as progress is concerned
all_times_native = 2.5  # a run of each variant; as far as progress is concerned


def run(settings: Settings) -> None:
    if settings.simulate:
        breakdown_smpi.run(settings)
        return
    page = Page(settings, subject, contents)
    campaign.run(settings, page, parts(settings, page))


def parts(settings: Settings, page: Page) -> Campaign[Program]:
    """A part for each program and size."""

    def duration(truth: Scenario, each: Program) -> float:
        return _seconds(each, truth, settings)

    def measure(session: Session, build: Build, planned: Planned, each: Program) -> None:
        _add(page, session, build, each, planned, settings)

    # Overheads count here, the probe's among them.
    return Campaign(list(programs(settings)), _what, labels, duration, measure, probes_anew=True)


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
        result = program.measure(
            session, build, each, planned, settings.repetitions, trial, {cmpi: as_printed()}
        )
    except LaunchFailedError as failure:
        console.print(f"[red]{failure}")
        return
    page.add(labels(session.name, build.name, each), facts(result, session), result.samples())


def labels(scenario: str, build: str, each: Program) -> dict[str, Any]:
    return {
        "scenario": scenario,
        "build": build,
        "program": each.name,
        "bytes": each.message,
    }


def facts(result: Result, session: Session) -> dict[str, Any]:
    return {
        "bound": result.bound, "overhead": result.overhead, "probe": result.probe,
        "dilation": session.dilation,
    }  # fmt: skip


def result_of(part: Part) -> Result:
    """Restores the result behind labels(), facts() and its samples."""
    return Result(
        part.labels["scenario"], part.labels["build"], part.facts["bound"],
        part.facts["overhead"], probe=part.facts.get("probe"), **runs_of(part.samples),
    )  # fmt: skip


def measured(result: Result) -> dict[str, str]:
    """Returns the variants that were run: CMPI may be missing."""
    return {variant: title for variant, title in variants.items() if variant in result.runs}


def split(result: Result, variant: str) -> dict[str, float]:
    """Returns the median seconds of a run by its parts, as the figure stacks them."""
    runs = result.runs[variant]
    computation = summarise([run["computation"] for run in runs]).median
    total = summarise([run["total"] for run in runs]).median
    probe = result.probe or 0.0
    before = {native: (0.0, 0.0), cmpi: (0.0, probe), thalweg: (result.overhead - probe, probe)}
    parts = (computation, total - computation, *before[variant])
    return dict(zip(colours, parts, strict=True))


def shares_saved(result: Result, variant: str) -> list[float]:
    """Returns the shares of the native time that a variant saves, for each of saved_columns."""
    return saved_shares(split(result, variant), sum(split(result, native).values()))


def contents(parts: Sequence[Part]) -> list[Content]:
    ordered = sorted(parts, key=lambda p: (p.labels["program"], p.labels["bytes"]))
    return [savings(ordered), *figures(ordered), table(ordered)]


def savings(parts: Sequence[Part]) -> Table:
    """Tables the saved share of the native time, beside the paper's figures."""
    rows = Table(
        "Time saved",
        ["program", "bytes", "scenario", "build", "runs", "native", "CMPI",
         *(f"CMPI {each}" for each in saved_columns), "Thalweg", *saved_columns, "CMPI paper"],
        notes=[
            "Saved: 1 - time / native. Overheads are those that the paper names, made once in a "
            "run: CMPI's hierarchy and trees, which take milliseconds "
            "([breakdown-simulated.md](breakdown-simulated.md)) and weren't measured here, and for "
            "Thalweg its plans. With a probe, too: a full one in each run. The paper measures its "
            'network "when the experiment starts" and doesn\'t name that among the overheads. '
            "Verdicts are with its overheads.",
            "The paper's are over MPICH2 on 64 instances of Amazon EC2 (section 5.4), which "
            "doesn't say at which sizes; natively over 90 % of CG's time is communication there.",
            "CMPI: `hierarchical` and `distance-tree`, k = 4, T_span = 1, with binomial trees in "
            "the groups, which is what MPICH calls among fewer than eight ranks.",
        ],
    )  # fmt: skip
    for part in parts:
        result = result_of(part)
        rows.add(
            titles[part.labels["program"]], units.size_to_text(part.labels["bytes"]),
            result.scenario, result.build, len(result.runs[native]),
            seconds(sum(split(result, native).values())), *_time_and_saved(result, cmpi),
            *_time_and_saved(result, thalweg), f"{100 * paper[part.labels['program']]:.1f} %",
        )  # fmt: skip
    rows.notes.append(runs_that_failed(sample for part in parts for sample in part.samples))
    rows.notes += map(verdict, parts)
    return rows


def _time_and_saved(result: Result, variant: str) -> list[str]:
    """A variant's time, and what it saves."""
    if variant not in measured(result):
        return ["-"] * (1 + len(saved_columns))
    own = split(result, variant)
    time = own["computation"] + own["communication"]
    return [seconds(time), *map(share_text, shares_saved(result, variant))]


def verdict(part: Part) -> str:
    """One sentence: whether CMPI saves time with overheads counted, as the paper has it; not judged
    where CMPI isn't measured."""
    result, name = result_of(part), part.labels["program"]
    variant = cmpi if cmpi in measured(result) else thalweg
    _, with_them, with_probe = shares_saved(result, variant)
    less = ", with less of a gain" if 0 < with_them < paper[name] else ""
    verdict = "not judged, since CMPI itself isn't measured"
    if variant == cmpi:
        verdict = f"{judged(with_them > 0)}{less}"
    return (
        f"{titles[name]} with {units.size_to_text(part.labels['bytes'])}: {variants[variant]} "
        f"saves {share_text(with_them)} of the native time, with overheads, of which the paper "
        f"says that CMPI saves {100 * paper[name]:.1f} %, and {share_text(with_probe)} with a "
        f"probe in each run, too: {verdict}."
    )


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
        for variant, title in measured(result).items():
            own = split(result, variant)
            rounds = summarise([_rounds(name, run) for run in result.runs[variant]]).median
            rows.add(
                titles[name], units.size_to_text(part.labels["bytes"]), result.scenario,
                result.build, title, f"{rounds:.0f}", *map(time_or_none, own.values()),
                "-" if variant == native else share_text(saved(whole, own["communication"])),
            )  # fmt: skip
    return rows


def _rounds(name: str, run: Run) -> int:
    return (program.cg(8) if name == "cg" else program.nbody(8, 1)).rounds_of(run)


def figures(parts: Sequence[Part]) -> list[Figure]:
    """Draws, per program and scenario, a panel per size, with all variants of each build."""
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
        Stack(f"{title}\n{part.labels['build']}", split(result, variant))
        for part in parts
        for result in [result_of(part)]
        for variant, title in measured(result).items()
    ]
    return BarPanel(f"{units.size_to_text(size)} per broadcast", "seconds", stacks)


def _seconds(each: Program, truth: Scenario, settings: Settings) -> float:
    """Estimates un-dilated seconds; CG needs one more run to find the computation's time."""
    a_round = (physical_limit(truth, "bcast", each.message) or 0) * round_times_bound
    native_run = _rounds_expected(each) * a_round / (1 - each.compute_share)
    return native_run * (settings.repetitions * all_times_native + (each.name == "cg"))


def _rounds_expected(each: Program) -> float:
    """Returns the rounds; CG's grow with the side of the grid."""
    if each.name == "nbody":
        return float(each.arguments[-1])
    return 1.75 * math.sqrt(each.message / 8)


def _what(each: Program) -> str:
    return f"{titles[each.name]} with {units.size_to_text(each.message)}"
