"""The programs that are run in several placements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.builds import Build
from bench.session import LaunchFailedError
from thalweg import mapping, paths, run_placement
from thalweg.mapping import Mapping as RankMapping
from thalweg.matrices import Program
from thalweg.network import Network


@dataclass(frozen=True)
class Kernel:
    """A kernel of examples/patterns.cpp at a size, another example, or LAMMPS."""

    name: str
    size: int
    repeat: int

    @property
    def is_pattern(self) -> bool:
        """Whether it is a kernel of examples/patterns.cpp."""
        return self.name not in (lammps, nbody, solver, *stencils)

    @property
    def calls_collectives(self) -> bool:
        """Whether its time is in collectives that plans are for."""
        return self.name in (nbody, solver)

    def command(self, build: Build) -> list[str]:
        """Returns the program and its arguments."""
        if self.name == lammps:
            given = ["-in", str(melt), "-log", "none", "-var", "n", str(self.size)]
            return ["lmp", *given, "-var", "steps", str(self.repeat)]
        if self.name == nbody:
            given = ["--message", str(self.size), "--steps", str(self.repeat), "--dilation", "1"]
            return [str(paths.binary(f"nbody-{build.flavour}")), "--bodies", "256", *given]
        if self.name == solver:
            given = ["--size", str(self.size), "--iterations", str(self.repeat), "--dilation", "1"]
            given += ["--tolerance", "0"]  # all iterations
            return [str(paths.binary(f"cg-{build.flavour}")), *given]
        if self.name in stencils:
            program = str(paths.binary(f"{self.name}-{build.flavour}"))
            return [program, str(self.size), str(self.repeat)]
        program = str(paths.binary(f"patterns-{build.flavour}"))
        return [program, self.name, "--size", str(self.size), "--repeat", str(self.repeat)]

    def seconds(self, said: str) -> float:
        """Returns the time that a run printed. Raises LaunchFailedError if it isn't right."""
        form = r" took ([0-9.]+) s"
        if self.name == lammps:
            form = r"Loop time of ([0-9.e-]+) on"
        elif not self.is_pattern:
            form = r"total +([0-9.]+) s"
        took = re.search(form, said)
        if "WRONG" in said or not took:
            raise LaunchFailedError(f"{self.name} printed {said.strip()[-200:]}")
        return float(took[1])


lammps, nbody, solver = "lammps", "nbody", "solver"
stencils = ("stencil", "stencil_3d")
"""In Fortran, by the names of their sources in examples/."""
melt = Path(__file__).with_name("melt.lammps")
kernels = (
    Kernel("lu", 64, 4),
    Kernel("bt", 32, 2),
    Kernel(nbody, 100_000, 4),
    Kernel(solver, 6400, 6),
    Kernel(lammps, 10, 10),  # time steps
    Kernel("mg", 4, 1),
    Kernel("cg", 96, 1),
    Kernel("lu", 256, 2),
    Kernel("bt", 96, 2),
    Kernel(nbody, 1_000_000, 2),
    Kernel(lammps, 20, 10),
    Kernel("mg", 8, 1),
    Kernel("ft", 64, 1),
    Kernel("is", 2000, 1),
    Kernel("ep", 20_000, 1),
    Kernel("stencil", 1024, 50),  # points in each direction, steps
    Kernel("stencil", 4096, 20),
    Kernel("stencil_3d", 64, 20),
    Kernel("stencil_3d", 256, 10),
    Kernel("ft", 512, 1),
    Kernel("is", 20_000, 1),
    Kernel("ep", 2_000_000, 1),
)
"""The solver is examples/cg.cpp. Without LAMMPS where it isn't installed: Debian's package
`lammps`, built with Open MPI. The stencils are built where gfortran is."""
programs = tuple(dict.fromkeys(kernel.name for kernel in kernels))
compared = ("block", "interleave", "scotch", "thalweg", "random", "intra-only", "inter-only")


def placements(
    net: Network, program: Program, slots: Sequence[int], native: str,
    methods: Sequence[str] = compared,
) -> dict[str, RankMapping]:  # fmt: skip
    """Returns the placements that are compared, of a program that runs without plans with this
    library's own collectives, or with plans if it is empty. The launcher's order stays as in
    `thalweg run`; Scotch is left out where ranks exchange no messages, which it can't map."""
    silent = not program.matrix.nbytes.any()
    placed = {
        method: mapping.place(
            net, program.matrix, slots, calls=program.calls, method=method,
            native=native if method == "thalweg" else "",  # others know messages only
        )
        for method in methods
        if not (silent and method == "scotch")
    }  # fmt: skip
    found = placed["thalweg"]
    usual = found.usual or placed["block"]  # by the same measure: with collectives, if any
    if not run_placement.saves_enough(usual.total, found.total):
        placed["thalweg"] = placed["block"]
    return placed


def costs(
    net: Network, program: Program, placed: Mapping[str, RankMapping], native: str
) -> dict[str, float]:
    """Returns what placements cost, by the measure by which the mapping chose."""
    return {method: cost(net, program, each.placement, native) for method, each in placed.items()}


def cost(net: Network, program: Program, placement: Sequence[int], native: str) -> float:
    return mapping.cost_of(net, program.matrix, placement, calls=program.calls, native=native).total
