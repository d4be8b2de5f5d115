"""Whole programs, recompiled for SimGrid's SMPI with the runtime linked in, beside other selectors.

Thalweg's runs have the real runtime inside, and plans that were made beforehand. What ranks compute
takes no simulated time, so the times are those of MPI alone, from MPI_Init to MPI_Finalize.

SMPI's selectors have levels by hosts, and set them up in each communicator by a message from each
rank to each other, which no library needs. So there is a rival with MPICH's own rules: its
algorithms are named, and its levels are those of `bench/levels.c`. What Thalweg leaves native goes
by the same algorithms and levels.

The model is that of `script/bench smpi-lab`, which holds it against the lab, but for headers: plans
are made for the rates that are simulated, and data get all of these. So do message costs count in
both: plans are made with them, and SMPI has them.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import families, networks, report, smpi_model, sources
from bench.page import Page, Part
from bench.report import Subject, console, seconds, times
from bench.settings import Settings
from bench.smpi_programs import Program, build, most_with_long, programs, smallest
from bench.smpi_run import (
    Inputs,
    cloud,
    eager_limit,
    longest,
    most_planned,
    rules,
    selectors,
    simulate,
    thalweg,
)
from thalweg import inputs, plans
from thalweg.network import Network

subject = Subject(
    "smpi",
    "Whole programs, simulated by SMPI",
    (
        *sources.planned, "src/runtime", "examples", "bench/families.py", "bench/smpi.py",
        "bench/smpi_model.py", "bench/smpi_programs.py", "bench/smpi_run.py", "bench/levels.c",
        "bench/nas.py",
    ),
    ("network", "ranks", "program", "variant"),
    made="Simulated",
)  # fmt: skip
variants = (*selectors, rules, thalweg)
even = 0.99  # times as fast as a rival, at least: not slower
most_memory = 8e9  # bytes that a simulation should need at most
most_selected = 64  # ranks for which SMPI's selectors choose
usable = 1.0  # the part of rates that data get: all, as plans take it


@dataclass(frozen=True)
class Case:
    """Where programs run: 64 hosts of a drawn network, or a scenario of the lab.

    Latencies are short: in SMPI each message is a flow, and none waits for those before it.
    """

    network: str
    ranks: int


cases = tuple([Case("cloud", 16)] + [Case("cloud-64", ranks) for ranks in (64, 256, 1024, 4096)])


@dataclass(frozen=True)
class Run:
    """`simulated` is None if the simulation didn't end in time; wall seconds and peak bytes."""

    program: str
    variant: str
    simulated: float | None
    wall: float
    memory: int


def run(settings: Settings) -> None:
    """Simulates every program in every case, variants one after the other."""
    page = Page(settings, subject, contents)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = {program.name: build(program, folder) for program in programs}
        for case in cases:
            labels = asdict(case)
            if page.has(labels) or case.ranks > (settings.hosts or case.ranks):
                continue
            setting = Setting(case, folder)
            runs = [
                setting.simulate(program, variant, built[program.name])
                for program, variant in itertools.product(programs, variants_of(case))
                if case.ranks <= program.most_ranks
            ]
            page.add(labels, {"planning": setting.planning}, [asdict(each) for each in runs])
    page.finish()


def variants_of(case: Case) -> list[str]:
    """Returns the variants that are compared in a case."""
    return [*(selectors if case.ranks <= most_selected else ()), rules, thalweg]


class Setting:
    """A case in which programs are simulated."""

    def __init__(self, case: Case, folder: Path) -> None:
        self._case, self._folder = case, folder
        net = network_of(case)
        hosts = len(net.hosts)
        placement = [rank * hosts // case.ranks for rank in range(case.ranks)]
        if case.ranks < hosts:
            placement = list(range(case.ranks))
        self._inputs = Inputs(net, placement, folder)
        self.planning = self._inputs.make_plan(plans.known_library(net, None, case.network))

    def simulate(self, program: Program, variant: str, built: dict[bool, Path]) -> Run:
        """Runs a program under smpirun."""
        chosen = [*smpi_model.options(usable), *self._inputs.native(program, variant)]
        command = self._inputs.command(program, built[variant == thalweg], chosen)
        environment = self._inputs.environment(program, variant)
        found = simulate(command, environment, self._folder)
        name = f"{program.name}, {self._case.ranks} ranks, {variant}"
        console.print(f"{name}: {found.seconds} ({found.wall:.0f} s)")
        return Run(program.name, variant, found.seconds, found.wall, found.memory)


def network_of(case: Case) -> Network:
    """The network of a case with message costs, and what ranks of a host have between them."""
    if case.network == "cloud-64":
        return cloud(networks.Draw(64), 64)
    net = inputs.network(Path(case.network))
    net.message_costs = {smpi_model.library: families.costs[smpi_model.library]}
    return net


def contents(parts: Sequence[Part]) -> list[report.Table]:
    """One table of simulated times, and one of what the simulations cost."""
    most = {
        each.name: max((p.labels["ranks"] for p in parts if simulated(p, each.name)), default=0)
        for each in programs
    }
    reached = ", ".join(f"{name} {ranks:,}" for name, ranks in most.items())
    table = report.Table(
        "Simulated times",
        ["network", "ranks", "program", *(f"{each} selector" for each in selectors), rules,
         thalweg, "faster than the rivals run"],
        notes=[
            "From MPI_Init to MPI_Finalize; plans were made beforehand, and each rank reads the "
            "file, which takes no simulated time. Nor does what ranks compute. What ranks agree on "
            "in Thalweg's MPI_Init does.",
            f"Plans for more than {most_planned} ranks have the effort `estimate`.",
            "The selectors are SMPI's imitations of MPICH and Open MPI. SMPI sets up their levels "
            "by hosts by a message from each rank to each other, which libraries don't need, and "
            f"which is too much above {most_selected} ranks.",
            "MPICH's rules: SMPI's algorithms, as MPICH 4.0 selects them. Where hosts have several "
            f"ranks (above {most_selected}), broadcasts, reductions and barriers go between the "
            "hosts' leaders and within the hosts, as MPICH's do by default; their communicators "
            "cost a broadcast each. What Thalweg leaves native, and its MPI_Init, go by the same "
            "algorithms and levels.",
            f"{smpi_model.in_words(usable)} Plans are made with these costs and rates. "
            "[smpi-lab.md](smpi-lab.md) holds this model against the lab, at 16 and 32 ranks, "
            f"where {smpi_model.payload_in_words(smpi_model.payload)}.",
            f"Messages up to MPICH's eager limit, {eager_limit} bytes, don't wait for their "
            "receives.",
            "IS is a program of others: the NAS Parallel Benchmarks' in C, as Debian's source of "
            "SimGrid has it, of class A with 8,388,608 keys, and up to 64 ranks of class S, its "
            "smallest one, with 65,536 keys. CG has 1,024 unknowns; N-body's broadcasts have 1 MB, "
            f"above {most_with_long} ranks 131 KB.",
            f"Each program is simulated up to so many ranks: {reached}; IS refuses more than "
            "1,024.",
        ],
    )  # fmt: skip
    costs = report.Table(
        "What the simulations cost",
        ["network", "ranks", "program", "variant", "wall", "memory", "planning"],
        notes=[
            f"Simulations were ended after {longest} s. One thread; other work ran beside. Memory "
            "is that of the simulation, or of the script that starts it if that needs more.",
        ],
    )
    used = [
        sample["memory"]
        for part in parts
        for sample in part.samples
        if sample["simulated"] is not None  # of the others only the script's memory is known
    ]
    costs.notes.append(
        f"{sum(each > most_memory for each in used)} of the {len(used)} simulations that came to "
        f"their end need more than {most_memory / 1e9:g} GB."
    )
    ratios: list[tuple[str, float]] = []
    for part in sorted(parts, key=lambda part: (part.labels["ranks"], part.labels["network"])):
        place = [part.labels["network"], str(part.labels["ranks"])]
        runs = [Run(**sample) for sample in part.samples]
        for program in dict.fromkeys(run.program for run in runs):
            of = {run.variant: run for run in runs if run.program == program}
            found = [of[variant].simulated if variant in of else None for variant in variants]
            rivals = [each for each in found[:-1] if each is not None]
            ratio = min(rivals) / found[-1] if found[-1] and rivals else None
            ratios += [(program, ratio)] if ratio else []
            gain = times(ratio) if ratio else "-"
            table.add(*place, program, *(shown(of.get(variant)) for variant in variants), gain)
        for each in runs:
            costs.add(
                *place, each.program, each.variant, seconds(each.wall),
                f"{each.memory / 1e9:.2f} GB", seconds(part.facts["planning"]),
            )  # fmt: skip
    if any(sample["simulated"] is None for part in parts for sample in part.samples):
        table.notes.append(
            'A program is "too long" whose simulation was ended, and then has no gain.'
        )
    slower = sum(ratio < even for _, ratio in ratios)
    if without := [each for name, each in ratios if name != smallest]:
        table.notes.append(
            f"Without IS of class S, Thalweg is at most {times(max(without))} as fast as the best "
            "rival."
        )
    table.notes.append(
        f"Thalweg is slower than a rival in {slower} of {len(ratios)} rows (more than 1 %)."
    )
    return [table, costs]


def simulated(part: Part, program: str) -> bool:
    """Whether a simulation of the program was tried, whether it ended or not."""
    return any(sample["program"] == program for sample in part.samples)


def shown(run: Run | None) -> str:
    if run is None:
        return "-"
    return seconds(run.simulated) if run.simulated else "too long"
