"""What programs send: each is run once on this machine, without the lab, with the run record."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from bench.builds import Build
from bench.placement_programs import Kernel
from thalweg import matrices, paths
from thalweg.errors import UserError
from thalweg.matrices import Program

native = "openmpi-4.1"
"""The library that programs are recorded with."""
sources = (
    "bench/recording.py", "bench/placement_programs.py", "examples/patterns.cpp",
    "examples/patterns.hpp", "examples/patterns_grids.hpp", "examples/patterns_kernels.hpp",
    "examples/patterns_sweeps.hpp", "examples/patterns_transposes.hpp",
)  # fmt: skip
"""What decides what the kernels of examples/patterns.cpp send. Without the runtime, which changes
often, and whose tests hold what a record has."""


class Records:
    """Records each program once, in a folder."""

    def __init__(self, made_for: Build, folder: Path) -> None:
        self._made_for, self._folder = made_for, folder
        self._found: dict[tuple[Kernel, int], Program] = {}

    def of(self, kernel: Kernel, ranks: int) -> Program:
        """Returns what a run of so many ranks sent. Raises UserError."""
        key = kernel, ranks
        if key not in self._found:
            self._found[key] = _record(kernel, self._made_for, ranks, self._folder)
        return self._found[key]


tries = 3
"""How often a program is run at most. Hundreds of ranks on few cores wait so long for Open MPI's
daemon when they end that it may take one for aborted, though the program is done."""


def _record(kernel: Kernel, made_for: Build, ranks: int, folder: Path) -> Program:
    told = {"LD_PRELOAD": str(paths.library(made_for.flavour)), "THALWEG_RECORD": str(folder)}
    command = made_for.command((ranks, told, kernel.command(made_for)))
    for _ in range(tries):
        shutil.rmtree(folder, ignore_errors=True)
        done = subprocess.run(
            command, env=made_for.launcher_environment(), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not done.returncode:
            return matrices.read(folder)
    raise UserError(f"{' '.join(command)} failed {tries} times:\n{done.stderr[-2000:]}")
