"""Verdicts on runs with known faults on the lab: how often the culprit is named.

bench/lab_faults.py draws each run, and makes a rank, a host or a link faulty; bench/inside.py says
what is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from bench import faulty_runs, inside, lab_faults, sources
from bench.page import Page, Part
from bench.report import Content, Subject, console
from bench.session import LaunchFailedError
from bench.settings import Settings

subject = Subject(
    "inside-lab",
    "Verdicts on runs with known faults on the lab",
    (
        *sources.lab, "src/runtime", "python/thalweg/analysis", "bench/lab_faults.py",
        "bench/faulty.cpp", "bench/disturbance.c",
    ),
    ("fault",),
)  # fmt: skip
bar = 0.9


def run(settings: Settings) -> None:
    """Makes so many runs of each fault, those of one network after the other."""
    page = Page(settings, subject, contents)
    build = settings.the_build("openmpi-4.1")
    seeds = range(settings.seed, settings.seed + settings.repetitions)
    in_network_last = sorted(faulty_runs.FAULTS, key=lab_faults.NETWORK_FAULTS.__contains__)
    with lab_faults.labs(build) as labs:
        for fault in in_network_last:
            if page.has({"fault": fault}):
                continue
            cases = []
            for seed in seeds:
                setting, wrong = lab_faults.draw(fault, seed)
                try:
                    case = inside.compare(fault, seed, wrong.culprit, labs.run(setting, wrong))
                except LaunchFailedError as failure:
                    console.print(f"[yellow]{fault}, seed {seed}: {failure}[/yellow]")
                    continue
                console.print(f"{fault}: {case.culprit or 'nobody'} -> {case.named or 'nothing'}")
                cases.append(asdict(case))
            page.add({"fault": fault}, {"dilation": lab_faults.DILATION}, cases)
    page.finish()


def contents(parts: Sequence[Part]) -> list[Content]:
    return [inside.summary(parts, bar), inside.misses(parts)]
