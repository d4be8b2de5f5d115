"""CG and N-body split as in Figure 11 of the CMPI paper, run by the runtime and simulated by SMPI.

Rounds repeat, so only the first few are simulated: what one more takes is the difference between
two runs. What ranks compute takes no simulated time; it is added.
"""

from __future__ import annotations

import json
import math
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import (
    breakdown_figure,
    breakdown_smpi_page,
    cmpi,
    cmpi_collectives,
    machine,
    networks,
    smpi_model,
    smpi_programs,
    smpi_run,
    sources,
)
from bench.breakdown_figure import steps
from bench.breakdown_smpi_page import Sample, cg, nbody
from bench.cmpi_collectives import Shape
from bench.page import Page, Record
from bench.report import Subject, console, seconds
from bench.samples import native, thalweg
from bench.settings import Settings
from bench.smpi_run import Inputs
from thalweg import probe
from thalweg.algorithms import Problem, find
from thalweg.collective import Collective, Kind
from thalweg.planner import Entry

subject = Subject(
    "breakdown-simulated",
    "CG and N-body, end to end, simulated",
    (
        *sources.planned, "src/probe", "src/runtime", "examples", *sources.of_cmpi,
        *sources.of_smpi, "bench/breakdown_figure.py", "bench/breakdown_smpi.py",
        "bench/program.py", "bench/simulated_clock.c",
    ),
    ("network", "ranks", "program", "bytes", "variant"),
    made="Simulated",
    command="breakdown --simulate",
)  # fmt: skip
hosts = 64
usual_networks = 3
all_ranks = (64, 200)
"""One rank per host, and the paper's usual number."""
few, more = 1, 2
"""Rounds of the two runs."""
longest = 600  # seconds of a simulation
numbers = tuple(100 * 2**each for each in range(10))
messages = tuple(2 ** (11 + each) for each in range(10))
"""What CG's vectors and N-body's messages have: 100 to 51,200 numbers, 2 KiB to 1 MiB."""
each_simulated = slice(None, None, 3)
"""Which of these are: the least and the greatest, and two between them."""
body = 32  # bytes that N-body's bodies have at least


class Timed(smpi_programs.Program):
    """An example whose clock is the simulated one."""

    def sources(self) -> list[Path]:
        return [*super().sources(), machine.repository / "bench" / "simulated_clock.c"]


def run(settings: Settings) -> None:
    """Simulates both programs on each drawn cloud with each number of ranks."""
    page = Page(settings, subject, breakdown_smpi_page.contents)
    left = {
        (seed, ranks): [
            name
            for name in breakdown_figure.sizes
            if name in (settings.programs or [name]) and not page.has(labels(seed, ranks, name))
        ]
        for seed in settings.seeds(usual_networks)
        for ranks in all_ranks
        if ranks <= (settings.hosts or ranks)
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = {
            each: smpi_programs.build(timed(each, hosts, messages[0], few), folder)
            for each in dict.fromkeys(each for names in left.values() for each in names)
        }
        for (seed, ranks), names in left.items():
            if names:
                setting = Setting(seed, ranks, folder)
                for each in names:
                    samples = list(setting.samples(each, built[each]))
                    facts = setting.facts | setting.check(each, built[each])
                    page.add(labels(seed, ranks, each), facts, map(asdict, samples))
    page.finish()


def labels(seed: int, ranks: int, name: str) -> Record:
    return {"network": seed, "ranks": ranks, "program": name}


def timed(name: str, ranks: int, size: int, rounds: int) -> Timed:
    """A program with broadcasts of about so many bytes, for a number of rounds."""
    words = f"--size {size // 8} --iterations {rounds} --tolerance 0"
    if name == nbody:
        words = f"--bodies {ranks} --message {size} --steps {rounds}"
    sent = ranks * of_rank(name, ranks, size)
    return Timed(name, name, f"{words} --dilation 1", 4096, str(sent))


def of_rank(name: str, ranks: int, size: int) -> int:
    """Bytes that each rank gives to a broadcast: whole numbers of the vector, or a body."""
    return 8 * math.ceil(size / 8 / ranks) if name == cg else size // ranks


def sizes(name: str, ranks: int) -> list[int]:
    """Bytes of the broadcasts that are simulated, least first."""
    if name == cg:
        return [8 * each for each in numbers[each_simulated]]
    return [each for each in messages[each_simulated] if each >= body * ranks]


def rounds_of(name: str, size: int) -> int:
    return iterations(size // 8) if name == cg else steps


def iterations(unknowns: int, tolerance: float = 1e-5) -> int:
    """How many examples/cg.cpp takes until it converges."""
    width = math.ceil(math.sqrt(unknowns))
    is_first, is_last = (np.arange(unknowns) % width == each for each in (0, width - 1))

    def times_matrix(x: NDArray[np.float64]) -> NDArray[np.float64]:
        padded = np.concatenate([np.zeros(width), x, np.zeros(width)])
        left, right = (padded[width + by : width + by + unknowns] for by in (-1, 1))
        across = np.where(is_first, 0, left) + np.where(is_last, 0, right)
        return np.asarray(4 * x - across - padded[:unknowns] - padded[2 * width :])

    residual = times_matrix(np.ones(unknowns))
    direction, square = residual, residual @ residual
    enough, count = tolerance**2 * square, 0
    while square > enough:
        product = times_matrix(direction)
        residual = residual - square / (direction @ product) * product
        before, square = square, residual @ residual
        direction, count = residual + square / before * direction, count + 1
    return count


class Setting:
    """A number of ranks on a drawn cloud."""

    def __init__(self, seed: int, ranks: int, folder: Path) -> None:
        draw = random.Random(seed)
        self._net = smpi_run.cloud(draw, hosts)
        self._placement = cmpi.placements["block"](draw, ranks, hosts)
        self._ranks, self._folder = ranks, folder
        self._inputs = Inputs(self._net, self._placement, folder, cmpi_collectives.rival)
        took = sum(phase.time for phase in probe.outline(self._net, probe.LONGEST))
        self.facts = {"hosts": hosts, "probe": float(took)}

    def samples(self, name: str, built: dict[bool, Path]) -> Iterator[Sample]:
        """Simulates a program with each size, one variant after the other."""
        for size in sizes(name, self._ranks):
            problems = [self._problem(*each) for each in calls(name, self._ranks, size)]
            made = {
                native: 0.0,
                breakdown_figure.cmpi: _trees(problems),
                thalweg: self._plan(problems),
            }
            for variant in breakdown_figure.variants:
                first, last = (
                    self.total(timed(name, self._ranks, size, rounds), variant, built)
                    for rounds in (few, more)
                )
                if first is None or last is None:
                    continue
                each = (last - first) / (more - few)
                begin, rounds = first - few * each, rounds_of(name, size)
                console.print(
                    f"{name}, {self._ranks} ranks, {size} bytes, {variant}: {seconds(each)} a round"
                )
                yield Sample(variant, size, rounds, each, begin, made[variant])

    def check(self, name: str, built: dict[bool, Path]) -> Record:
        """All steps of N-body's shortest messages natively, to show what the few are worth."""
        if name != nbody or self._ranks > hosts:  # in MPICH2's rings of 200 ranks it takes long
            return {}
        size = sizes(name, self._ranks)[0]
        whole = self.total(timed(name, self._ranks, size, steps), native, built)
        return {"checked": size, "whole": whole}

    def total(self, program: Timed, variant: str, built: dict[bool, Path]) -> float | None:
        """Simulated seconds of the program's rounds; None if the simulation was ended."""
        how = smpi_run.rules if variant == native else smpi_run.thalweg
        is_cmpi = variant == breakdown_figure.cmpi
        file = self._folder / "run.json"
        file.unlink(missing_ok=True)
        found = self._inputs.simulate(
            program, how, built[variant != native], smpi_model.options(smpi_model.whole_rate),
            words=["--json", str(file)],
            environment={"THALWEG_FORCE": breakdown_figure.as_printed()} if is_cmpi else {},
            limit=longest,
        )  # fmt: skip
        if found.seconds is None:
            console.print(f"{program.name}, {variant}: ended after {longest} s")
            return None
        return float(json.loads(file.read_text())["total"])

    def _problem(self, kind: Kind, size: int) -> Problem:
        collective = Collective(kind, self._ranks, 0, size)
        return Problem(collective, self._net, self._placement, networks.library)

    def _plan(self, problems: Sequence[Problem]) -> float:
        """Writes Thalweg's plan of the program's collectives; returns the seconds it took."""
        begin = time.monotonic()
        entries = []
        for problem in problems:
            of, plan = problem.collective, cmpi.plan_of(problem)
            console.print(f"{of.kind.name} of {of.size} bytes: {plan.algorithm} {plan.parameters}")
            entries.append(Entry(of.kind, plan.skeleton, 1, of.size))
        self._inputs.write_plan(networks.library, entries)
        return time.monotonic() - begin


def calls(name: str, ranks: int, size: int) -> list[tuple[Kind, int]]:
    """The collectives of a round, each with its bytes; CG's two allreduces are alike."""
    own = of_rank(name, ranks, size)
    found = [(Kind.gather, own), (Kind.bcast, ranks * own)]
    return [*found, (Kind.allreduce, 8)] if name == cg else found


def _trees(problems: Sequence[Problem]) -> float:
    """Returns the seconds in which this machine makes CMPI's hierarchy and trees."""
    begin = time.monotonic()
    for problem in problems:
        if algorithm := cmpi_collectives.algorithms.get(problem.collective.kind):
            find(algorithm).build(problem, Shape().parameters())
    return time.monotonic() - begin
