"""Verdicts on runs with known faults: how often the culprit is named, replayed and on the lab."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass

from bench import faulty_runs, lab_faults
from bench.builds import Build
from bench.page import Page, Part
from bench.report import Table, console
from bench.session import LaunchFailedError
from thalweg.analysis import paths, verdict
from thalweg.analysis.tables import Run

SIMULATED, LAB = "simulated", "lab"
BARS = {SIMULATED: 0.95, LAB: 0.9}
"""Least share of the runs whose culprit must be named; of clean ones, of which nothing is said."""
ATTRIBUTED = 0.95
"""Least share of the time of planned calls that named causes must explain."""


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
    attributed: float
    """Share of the time of planned calls that has a named cause."""


def simulate(page: Page, seeds: Sequence[int], *, anew: bool = False) -> None:
    """Adds the replayed runs that are missing."""
    there = [] if anew else [(part.labels, len(part.samples)) for part in page.parts]
    with ProcessPoolExecutor() as pool:
        for fault in faulty_runs.FAULTS:
            labels = {"part": "verdicts", "where": SIMULATED, "fault": fault}
            if (labels, len(seeds)) in there:
                continue
            cases = pool.map(judge, [fault] * len(seeds), seeds)
            page.add(labels, {}, [asdict(case) for case in cases])


def measure(page: Page, build: Build, seeds: Sequence[int], *, anew: bool = False) -> None:
    """Adds the runs on the lab that are missing, one after the other."""
    with lab_faults.labs(build) as labs:
        for fault in sorted(faulty_runs.FAULTS, key=lambda name: name in lab_faults.NETWORK_FAULTS):
            labels = {"part": "verdicts", "where": LAB, "fault": fault}
            part = next((each for each in page.parts if each.labels == labels), None)
            cases = [] if part is None or anew else list(part.samples)
            for seed in seeds:
                if any(case["seed"] == seed for case in cases):
                    continue
                setting, wrong = lab_faults.draw(fault, seed)
                try:
                    run = labs.run(setting, wrong)
                except LaunchFailedError as failure:
                    console.print(f"[yellow]{fault}, seed {seed}: {failure}[/yellow]")
                    continue
                case = compare(fault, seed, wrong.culprit, run)
                console.print(f"{fault}, seed {seed}: {case.culprit} -> {case.named or 'nothing'}")
                cases.append(asdict(case))
                page.add(labels, {}, cases)


def judge(fault: str, seed: int) -> Case:
    """Draws a run with the fault and compares the verdict with the truth."""
    drawn = faulty_runs.simulate(fault, seed)
    return compare(fault, seed, drawn.fault.culprit, drawn.run)


def compare(fault: str, seed: int, culprit: str, run: Run) -> Case:
    """Compares the verdict with the truth."""
    found = verdict.judge(run)
    suspects = found.suspects
    named = [(each.fault, each.culprit) for each in suspects]
    truth = (fault, culprit)
    first = f"{suspects[0].fault} {suspects[0].culprit}".strip() if suspects else ""
    right = not suspects if fault == "clean" else named[:1] == [truth]
    kinds = run.calls["kind"]
    return Case(
        seed, run.ranks, str(kinds[0]), culprit, first, right, truth in named,
        suspects[0].share if suspects else 0.0, 1 - found.shares[paths.CAUSES[-1]],
    )  # fmt: skip


def summary(parts: Sequence[Part]) -> Table:
    rows = Table(
        "Culprits named",
        ["fault", "runs", "where", "named first", "among the suspects", "bar", "met",
         "of the time attributed, least"],
        notes=[
            "A rotating straggler is nobody in particular: named is the kind of fault. Of clean "
            "runs those count of which the verdict says that nothing is wrong.",
            f"Attributed: what causes explain by name; the bar is {100 * ATTRIBUTED:.0f} %, and "
            "the rest is said to be unexplained.",
        ],
    )  # fmt: skip
    for part in _verdicts(parts):
        cases, where, fault = cases_of(part), part.labels["where"], part.labels["fault"]
        right = sum(case.right for case in cases)
        rows.add(
            fault, len(cases), where, right,
            "-" if fault == "clean" else sum(case.among for case in cases),
            f"{100 * BARS[where]:.0f} %",
            "yes" if right >= BARS[where] * len(cases) else "MISSED",
            f"{100 * min((case.attributed for case in cases), default=0):.1f} %",
        )  # fmt: skip
    return rows


def misses(parts: Sequence[Part]) -> Table:
    rows = Table(
        "Where something else was named",
        ["fault", "where", "seed", "ranks", "collective", "culprit", "named", "share of the time"],
    )
    for part in _verdicts(parts):
        for case in cases_of(part):
            if not case.right:
                rows.add(
                    part.labels["fault"], part.labels["where"], case.seed, case.ranks,
                    case.collective, case.culprit or "-", case.named or "nothing",
                    f"{100 * case.share:.0f} %",
                )  # fmt: skip
    return rows


def _verdicts(parts: Sequence[Part]) -> list[Part]:
    return [part for part in parts if part.labels["part"] == "verdicts"]


def cases_of(part: Part) -> list[Case]:
    return [Case(**sample) for sample in part.samples]
