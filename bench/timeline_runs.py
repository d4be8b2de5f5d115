"""Runs of programs that call collectives again and again, while the network changes or stays."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Any

import thalweg
from bench import adapt, sources
from bench.builds import Build
from bench.page import valid_runs
from bench.report import console
from bench.session import Planned, Session, with_thalweg
from bench.settings import Settings
from thalweg import network as networks
from thalweg import paths
from thalweg.lab import counters, validity
from thalweg.network import Network
from thalweg.plans import Plan

size = 65_536
"""Bytes that a step's collectives are of."""
LEAST_STEPS = 60
BUILD = "openmpi-4.1"
races: Mapping[str, str] = MappingProxyType({"THALWEG_RACE": "1"})
follows: Mapping[str, str] = MappingProxyType({**races, "THALWEG_ADAPT": "1"})
"""The environment of ranks whose plans race, and of those whose plans also follow the network."""
measures = (
    *sources.run_on_lab, "src/runtime/adapt", "bench/timeline.cpp", "bench/timeline_runs.py"
)  # fmt: skip
"""The sources of such runs."""


@dataclass(frozen=True)
class Program:
    """What is done again and again: collectives, and their sizes as a part of the whole's."""

    name: str
    parts: Mapping[str, int]
    """How many blocks each collective's size is one of; 0: as many as ranks."""
    computing: float = 0.0
    """How long a step computes, over what its collectives take on the network it is planned for."""

    def sizes(self, nbytes: int, ranks: int) -> dict[str, int]:
        return {name: nbytes // (blocks or ranks) for name, blocks in self.parts.items()}

    def plans(self, net: Network, nbytes: int) -> list[Plan]:
        """Returns plans for the collectives of a step."""
        return [
            thalweg.plan(net, getattr(thalweg, name.capitalize())(nbytes=its))
            for name, its in self.sizes(nbytes, len(net.hosts)).items()
        ]

    def arguments(self, nbytes: int, ranks: int, usual: float) -> list[str]:
        """Returns the arguments of the program that say what a step does.

        @param usual: Seconds that its collectives take.
        """
        sizes = self.sizes(nbytes, ranks)
        return [
            "--collectives", ",".join(sizes), "--sizes", ",".join(map(str, sizes.values())),
            "--compute", f"{self.computing * usual:.9f}",
        ]  # fmt: skip


programs = {
    each.name: each
    for each in (
        Program("bcast", {"bcast": 1}),
        Program("allreduce", {"allreduce": 1}),
        Program("allgather", {"allgather": 1}),
        Program("nbody", {"gather": 0, "bcast": 1}, computing=0.5),
    )
}
of_nbody = (
    "nbody: each step gathers the bodies at the root and broadcasts all of them, as the N-body "
    "example does, and computes half as long as that takes."
)


def build_and_size(settings: Settings) -> tuple[Build, int]:
    """Returns the one build that such runs are made with, and the bytes of a step.

    Raises UserError if the build is missing.
    """
    return settings.the_build(BUILD), (settings.sizes or [size])[0]


def plan(session: Session, build: Build, net: Network, name: str) -> Planned:
    """Plans for a network on which everything takes longer by the session's dilation.

    The runtime compares predictions with what it observes, on the lab's dilated network.
    """
    path = session.folder / f"{name}.json"
    slower = net.copy()
    adapt.slow_down(slower, session.dilation)
    networks.write(slower, path)
    return session.plan_for(build, path)


def sample(
    session: Session,
    build: Build,
    variant: str,
    planned: Planned,
    arguments: Sequence[str],
    phases: Sequence[int],
    environment: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """One run: the un-dilated seconds of its phases of so many steps, and what its plans did.

    It is recorded, as by `thalweg run`. The next changes of the lab's timeline come between the
    phases.
    """
    summary = session.folder / "summary.json"
    summary.unlink(missing_ok=True)
    record = session.folder / f"record-{len(list(session.folder.glob('record-*')))}"
    environment = {
        **environment, "THALWEG_SUMMARY": str(summary), "THALWEG_RECORD": str(record)
    }  # fmt: skip
    before = counters.read(session.lab)
    *changes, steps = accumulate(phases)
    words = ["--changes", ",".join(map(str, changes))] if changes else []
    completed, changed = run(session, build, planned, [*arguments, *words], steps, environment)
    counted = counters.read(session.lab).since(before)
    verdict = validity.judge(session.scenario, counted, completed[-1], 0, 0.0, steps)
    told_of = json.loads(summary.read_text())
    result = {
        "variant": variant,
        "phases": [end - begin for begin, end in pairwise([0.0, *changed, completed[-1]])],
        "invalid": list(verdict.reasons),
        "changes": told_of.get("changes", []), "races": told_of.get("races", []),
    }  # fmt: skip
    console.print(f"{variant}: {[round(each, 2) for each in result['phases']]}")
    return result


def steps_lasting(
    seconds: float, session: Session, build: Build, planned: Planned, arguments: Sequence[str]
) -> int:
    """Returns how many steps take so many seconds of this machine; LEAST_STEPS at least."""
    completed, _ = run(session, build, planned, arguments, LEAST_STEPS)
    pace = completed[-1] / LEAST_STEPS
    return max(LEAST_STEPS, round(seconds / (pace * session.dilation)))


def run(
    session: Session, build: Build, planned: Planned, arguments: Sequence[str], steps: int,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> tuple[list[float], list[float]]:  # fmt: skip
    """Runs the program; returns the un-dilated seconds at which steps ended and changes came."""
    file = session.folder / "timeline-times.json"
    command = [
        str(paths.binary(f"thalweg-bench-timeline-{build.flavour}")), *arguments,
        "--steps", str(steps), "--dilation", f"{session.dilation:g}", "--json", str(file),
    ]  # fmt: skip
    session.run(build, command, {**with_thalweg(build, planned.plan), **environment}, timeout=900)
    found = json.loads(file.read_text())
    return found["completed"], found["changed"]


def medians(samples: Sequence[Mapping[str, Any]], variant: str) -> list[float]:
    """Returns the seconds of each phase, medians of a variant's valid runs; none without one."""
    found = [run["phases"] for run in valid_runs(samples, variant)]
    return [statistics.median(each) for each in zip(*found, strict=True)]
