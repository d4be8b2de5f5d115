"""Programs in several placements, simulated by SMPI: launchers' orders, Scotch's, the mapping's.

The clouds of `script/bench placement-lab`, and larger ones, without the lab's two cores that all
ranks share. Each program is recorded once, by Open MPI on this machine, and the mapping gets its
record and the network as it is. Collectives go by Open MPI's rules, as SMPI imitates them; where a
program's time is in collectives, further runs have plans for the launcher's order and for the
mapping's.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import sources, uneven
from bench.builds import Build
from bench.page import Page
from bench.placement_gains import block_planned, planned, timed
from bench.placement_programs import Kernel, compared, costs, nbody, placements, solver
from bench.placement_programs import kernels as of_lab
from bench.placement_smpi_page import contents
from bench.recording import Records, native
from bench.report import Subject, console, seconds
from bench.settings import Settings
from bench.smpi_model import Built, build, seconds_of
from bench.smpi_model import native as unplanned
from bench.smpi_model import thalweg as with_runtime
from bench.smpi_programs import Program
from bench.smpi_run import Inputs, options
from thalweg import mapping
from thalweg.errors import UserError
from thalweg.matrices import Program as Recorded
from thalweg.network import Network

subject = Subject(
    "placement-smpi",
    "Programs in several placements, simulated",
    (
        *sources.planned, "src/mapping", "src/runtime", "examples", *sources.of_smpi,
        "bench/placement_programs.py", "bench/placement_smpi.py", "bench/recording.py",
        "bench/span.c", "bench/uneven.py",
    ),
    ("scenario", "time", "hosts", "slots", "program", "size"),
    made="Simulated",
)  # fmt: skip
selector = "ompi"
usual = ("bt", "mg", "cg", nbody, solver)
"""Not lu: in SMPI its bursts of short messages share a pair's rate, so that all arrive when the
last one does, and each stage takes as long as a burst."""
larger = (Kernel("bt", 96, 1), Kernel("mg", 4, 1), Kernel("cg", 256, 1))
"""For 256 ranks, of which each simulation takes a quarter of a minute."""


@dataclass(frozen=True)
class Instances:
    """How many hosts a cloud has, each with so many slots, and what runs on them."""

    hosts: int
    slots: int
    kernels: Sequence[Kernel]
    methods: Sequence[str] = timed
    times: Sequence[str] = uneven.times_of_day[:1]

    @property
    def ranks(self) -> int:
        return self.hosts * self.slots


instances = (
    Instances(
        uneven.HOSTS, 8, [each for each in of_lab if each.name in usual],
        compared, uneven.times_of_day,
    ),
    Instances(32, 8, larger),
    Instances(8, 32, larger),
)  # fmt: skip
"""CloudMap's section 5 has these: 8 hosts of 8 ranks, more hosts, larger hosts."""


def run(settings: Settings) -> None:
    """Simulates each program on each cloud, in the morning and in the evening."""
    if not mapping.has_scotch():
        raise UserError("this build has no Scotch to compare with: install libscotch-dev")
    page = Page(settings, subject, contents)
    made_for = settings.the_build(native)
    with tempfile.TemporaryDirectory() as name:
        programs = Programs(made_for, Path(name))
        parts = [(each, kernel) for each in instances for kernel in each.kernels]
        for each, kernel in parts:
            if kernel.name not in (settings.programs or [kernel.name]):
                continue
            for cloud, time in itertools.product(uneven.spreads, each.times):
                labels = {
                    "scenario": cloud, "time": time, "hosts": each.hosts, "slots": each.slots,
                    "program": kernel.name, "size": kernel.size,
                }  # fmt: skip
                if page.has(labels):
                    continue
                net = uneven.network(cloud, time, each.hosts)
                case = Case(net, each.slots, each.methods, *programs.built(kernel), Path(name))
                page.add(labels, *case.simulate(kernel, programs.recorded(kernel, each.ranks)))
    page.finish()


class Programs:
    """Builds and records each program once, in a folder."""

    def __init__(self, made_for: Build, folder: Path) -> None:
        self._made_for, self._folder = made_for, folder
        self._built: dict[str, Built] = {}
        self._records = Records(made_for, folder / "record")

    def built(self, kernel: Kernel) -> tuple[Program, Built]:
        """Returns a kernel as a program that SMPI simulates, and its files."""
        program = _program(kernel, self._made_for)
        if program.example not in self._built:
            self._built[program.example] = build(program, self._folder)
        return program, self._built[program.example]

    def recorded(self, kernel: Kernel, ranks: int) -> Recorded:
        """Returns what a run of so many ranks sent. Raises UserError."""
        return self._records.of(kernel, ranks)


def _program(kernel: Kernel, made_for: Build) -> Program:
    """Returns a kernel as a program that SMPI simulates."""
    file, *arguments = kernel.command(made_for)
    example = Path(file).name.removesuffix(f"-{made_for.flavour}")
    return Program(f"{kernel.name} {kernel.size}", example, " ".join(arguments), 4096, "0")


@dataclass(frozen=True)
class Case:
    """A program on a network."""

    net: Network
    slots: int
    methods: Sequence[str]
    program: Program
    built: Built
    folder: Path

    def simulate(
        self, kernel: Kernel, recorded: Recorded
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Returns the facts and the samples of a part."""
        library = "" if kernel.calls_collectives else native
        placed = placements(self.net, recorded, self._free, library, self.methods)
        runs = {method: (tuple(each.placement), False) for method, each in placed.items()}
        if kernel.calls_collectives:
            runs |= {
                planned: (tuple(placed["thalweg"].placement), True),
                block_planned: (tuple(placed["block"].placement), True),
            }
        # The mapping may leave the launcher's order as it is, and SMPI finds the same each time.
        seconds_of_run = {each: self._run(*each) for each in dict.fromkeys(runs.values())}
        taken = {variant: seconds_of_run[each] for variant, each in runs.items()}
        name = f"{self.program.name}, {len(runs['block'][0])} ranks"
        console.print(f"{name}:", *(f"{each} {seconds(time)}" for each, time in taken.items()))
        facts = {"cost": costs(self.net, recorded, placed, library)}
        return facts, [{"variant": each, "simulated": time} for each, time in taken.items()]

    @property
    def _free(self) -> list[int]:
        return [self.slots] * len(self.net.hosts)

    def _run(self, placement: Sequence[int], with_plan: bool) -> float:
        """Returns the simulated seconds of the program in a placement. Raises UserError."""
        inputs = Inputs(self.net, placement, self.folder)
        if with_plan:
            inputs.make_plan("")
        built = self.built[with_runtime if with_plan else unplanned]
        environment = {"THALWEG_PLAN": str(inputs.plan)} if with_plan else {}
        # What is native goes by Open MPI's rules with a plan, too.
        found = inputs.simulate(self.program, selector, built, options, environment=environment)
        if found.seconds is None:
            raise UserError(f"{self.program.name}: the simulation took too long")
        return seconds_of(found.said, self.program.name)
