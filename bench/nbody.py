"""The N-body example end to end, with the share of computation fixed."""

from __future__ import annotations

from collections.abc import Sequence

from bench import program, sources
from bench.page import Page, Part, Record, runs_that_failed
from bench.program import Result, runs_of
from bench.report import Subject, Table, percent, seconds, times
from bench.samples import native, thalweg
from bench.session import Session
from bench.settings import Settings
from bench.summary import ratio, saved, summarise

subject = Subject(
    "nbody",
    "N-body, end to end",
    (*sources.run_on_lab, "examples"),
    ("scenario", "build", "variant"),
)
variants = (native, thalweg)
message = 1_000_000  # bytes of all bodies
steps = 6
trial_steps = 4
times_faster = 1.3  # the bar
scenarios = ("two-sites", "cloud")
example = program.nbody(message, steps)


def run(settings: Settings) -> None:
    """Measures a part for each scenario and build."""
    page = Page(settings, subject, contents)
    trial = program.nbody(message, trial_steps)
    for scenario in settings.scenarios:
        for build in settings.debian_builds():
            if page.has(labels(scenario, build.name)):
                continue
            # A second library would only add to the first one's probe, whose time counts here.
            with Session(scenario, settings.dilation) as session:
                planned = session.plan(build)
                result = program.measure(
                    session, build, example, planned, settings.repetitions, trial
                )
                page.add(labels(scenario, build.name), facts(result), result.samples())
    page.finish()


def labels(scenario: str, build: str) -> Record:
    return {"scenario": scenario, "build": build}


def facts(result: Result) -> Record:
    return {"bound": result.bound, "overhead": result.overhead, "own_probe": True}


def result_of(part: Part) -> Result:
    """Restores the result behind labels(), facts() and its samples."""
    return Result(
        **part.labels, bound=part.facts["bound"], overhead=part.facts["overhead"],
        **runs_of(part.samples),
    )  # fmt: skip


def contents(parts: Sequence[Part]) -> list[Table]:
    results = [result_of(part) for part in parts]
    tables = [totals(results), breakdown(results)]
    tables[0].notes.append(runs_that_failed(each for result in results for each in result.failed))
    if not all(part.facts.get("own_probe") for part in parts):
        tables[0].notes.append(
            "On each scenario the second library's probe only added to the first one's, so that "
            "its overhead isn't that of a first run; the command probes for each now."
        )
    return tables


def totals(results: Sequence[Result]) -> Table:
    """End to end, against the bar."""
    table = Table(
        "N-body, end to end",
        ["scenario", "build", "native", "Thalweg", "faster", "95 % interval", "bar", "met",
         "bcast of limit, native", "bcast of limit, Thalweg", "saved, with overheads",
         "probing pays after"],
        notes=[
            f"{steps} steps, {message} bytes per broadcast; computation is fixed to "
            f"{percent(example.compute_share)} of the native total and the same with Thalweg.",
            "Saved, with overheads: how much less time a run takes with probing and planning in "
            "its total, as CMPI's paper counts; `thalweg run` keeps both for the next runs.",
            "\"Probing pays after\" is a number of steps; a probed network is kept between runs.",
        ],
    )  # fmt: skip
    for result in results:
        ours, theirs = ([r["total"] for r in result.runs[v]] for v in (thalweg, native))
        faster = ratio(theirs, ours)
        met = "yes" if faster.value >= times_faster else "MISSED"
        before, after = (summarise(each).median for each in (theirs, ours))
        of_step = (before - after) / steps
        table.add(
            result.scenario, result.build, seconds(before), seconds(after), times(faster.value),
            f"{faster.low:.2f} - {faster.high:.2f}", f">= {times_faster}x", met,
            *(_of_limit(result, variant) for variant in (native, thalweg)),
            percent(saved(before, after + result.overhead)),
            f"{result.overhead / of_step:.0f} steps" if of_step > 0 else "never",
        )  # fmt: skip
    return table


def _of_limit(result: Result, variant: str) -> str:
    if result.bound is None:
        return "-"
    bcast = summarise([r["bcast"] / r["steps"] for r in result.runs[variant]]).median
    return percent(result.bound / bcast)


def breakdown(results: Sequence[Result]) -> Table:
    """Computation, each collective and other overheads."""
    table = Table(
        "Where the time goes",
        ["scenario", "build", "variant", "computation", "gather", "bcast", "other in the program",
         "probing and planning"],
        notes=["Medians over runs; probing and planning are done once, before the first run."],
    )  # fmt: skip
    for result in results:
        for variant, runs in result.runs.items():
            parts = [
                seconds(summarise([max(r[part], 0) for r in runs]).median)
                for part in ("computation", "gather", "bcast", "other")
            ]
            table.add(
                result.scenario, result.build, variant, *parts,
                seconds(result.overhead) if variant == thalweg else "-",
            )  # fmt: skip
    return table
