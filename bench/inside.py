"""Verdicts on replayed runs with known faults: how often the culprit is named.

Each run is drawn anew: hosts, sites, latencies, rates, ranks, collective, algorithm, size, noise,
and the fault's place and strength (bench/faulty_runs.py). With --lab also the same on the lab
(inside-lab), and the paper's figures and statements from our own runs (inside-figures).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass

from bench import faulty_runs, papers
from bench.page import Page, Part
from bench.papers import Maker
from bench.report import Content, Subject, Table
from bench.settings import Settings
from thalweg.analysis import verdict
from thalweg.analysis.tables import Run

subject = Subject(
    "inside",
    "Verdicts on runs with known faults",
    ("python/thalweg/analysis", "bench/faulty_runs.py", "bench/faulty_replay.py"),
    ("fault",),
    made="Simulated",
)
usual_runs, quick_runs = 100, 10
bar = 0.95
"""Least share of the runs whose culprit must be named; of clean ones, of which nothing is said."""
attributed_bar = 0.95
"""Least share of planned calls' time that named causes must explain, in each run."""


@dataclass(frozen=True)
class Case:
    seed: int
    ranks: int
    collective: str
    culprit: str
    named: str
    """Fault and culprit of the first suspect; "" if nothing is wrong."""
    right: bool
    among: bool
    """Whether the culprit is among the suspects."""
    share: float
    """What the first suspect costs, as a share of the time."""
    attributed: float = 0.0
    """Share of the time of planned calls that has a named cause."""


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    seeds = settings.seeds(usual_runs if settings.save else quick_runs)
    with ProcessPoolExecutor() as pool:
        for fault in faulty_runs.FAULTS:
            if page.has({"fault": fault}):
                continue
            cases = pool.map(judge, [fault] * len(seeds), seeds)
            page.add({"fault": fault}, {}, [asdict(case) for case in cases])
    page.finish()
    if settings.lab:
        for name in ("inside-lab", "inside-figures"):
            papers.make(Maker(name, name, on_lab=True), settings)


def judge(fault: str, seed: int) -> Case:
    """Draws a run with the fault and compares the verdict with the truth."""
    drawn = faulty_runs.simulate(fault, seed)
    return compare(fault, seed, drawn.fault.culprit, drawn.run)


def compare(fault: str, seed: int, culprit: str, run: Run) -> Case:
    """Compares the verdict on a run with the truth."""
    found = verdict.judge(run)
    suspects = found.suspects
    named = [(each.fault, each.culprit) for each in suspects]
    truth = (fault, culprit)
    first = f"{suspects[0].fault} {suspects[0].culprit}".strip() if suspects else ""
    right = not suspects if fault == "clean" else named[:1] == [truth]
    return Case(
        seed, run.ranks, str(run.calls["kind"][0]), culprit, first, right, truth in named,
        suspects[0].share if suspects else 0.0,
        1 - found.shares["unexplained"],
    )  # fmt: skip


def contents(parts: Sequence[Part]) -> list[Content]:
    return [summary(parts), misses(parts)]


def summary(parts: Sequence[Part], bar: float = bar) -> Table:
    rows = Table(
        "Culprits named",
        [
            "fault",
            "runs",
            "named first",
            "among the suspects",
            "bar",
            "met",
            "of the time attributed",
        ],
        notes=[
            "A rotating straggler is nobody in particular: named is the kind of fault. Of clean "
            "runs those count of which the verdict says that nothing is wrong.",
            "Attributed: what named causes explain, in the run with least; the bar is "
            f"{100 * attributed_bar:.0f} %.",
        ],
    )
    for part in parts:
        cases = cases_of(part)
        rows.add(
            part.labels["fault"], len(cases), sum(case.right for case in cases),
            "-" if part.labels["fault"] == "clean" else sum(case.among for case in cases),
            f"{100 * bar:.0f} %",
            "yes" if sum(case.right for case in cases) >= bar * len(cases) else "MISSED",
            f"{100 * min((case.attributed for case in cases), default=0):.1f} %",
        )  # fmt: skip
    return rows


def misses(parts: Sequence[Part]) -> Table:
    rows = Table(
        "Where something else was named",
        ["fault", "seed", "ranks", "collective", "culprit", "named", "share of the time"],
    )
    for part in parts:
        for case in cases_of(part):
            if not case.right:
                rows.add(
                    part.labels["fault"], case.seed, case.ranks, case.collective,
                    case.culprit or "-", case.named or "nothing", f"{100 * case.share:.0f} %",
                )  # fmt: skip
    return rows


def cases_of(part: Part) -> list[Case]:
    return [Case(**sample) for sample in part.samples]
