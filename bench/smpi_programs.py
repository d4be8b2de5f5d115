"""The programs that SMPI simulates, and how they are built: without the runtime and with it."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import machine, nas
from thalweg import paths
from thalweg.errors import UserError

packages = "SimGrid (libsimgrid-dev)"
unknowns = 1024  # of CG
most_with_long = 16  # ranks; each holds a whole message
smallest = "IS (NAS, class S)"
levels = machine.repository / "bench" / "levels.c"
leveled = ("Allreduce", "Barrier", "Bcast", "Reduce", "Scatter")
"""What that file defines."""


@dataclass(frozen=True)
class Program:
    """A program and its arguments, in which {ranks}, {bodies} and others depend on the ranks."""

    name: str
    example: str  # its source in examples/; "": IS of the NAS Parallel Benchmarks
    arguments: str
    most_ranks: int  # that the program can have
    bcast: str  # bytes of its broadcasts
    reduce: str = "8"  # bytes of its reductions

    def sources(self) -> list[Path]:
        if not self.example:
            return nas.sources(["is.c", "nas_common.c"])
        return [machine.repository / "examples" / f"{self.example}.cpp"]

    def words(self, ranks: int) -> list[str]:
        """Returns the arguments for a number of ranks."""
        return self.filled(self.arguments, ranks).split()

    def filled(self, text: str, ranks: int) -> str:
        """Returns a text with what depends on the number of ranks filled in.

        Many ranks have shorter messages: each rank holds all of it, and cuts it less.
        """
        message = 1_000_000 if ranks <= most_with_long else 131_072
        # The vector is cut into parts that are as long on all ranks.
        vector = 8 * ranks * math.ceil(unknowns / ranks)
        # More rows than the ranks need take so many iterations that change must end them sooner.
        rows, change = (64, 1e-3) if ranks <= 64 else (ranks, 1e-2)
        return text.format(
            ranks=ranks, bodies=max(1024, ranks), message=message, vector=vector, rows=rows,
            change=change,
        )  # fmt: skip


programs = (
    Program("CG", "cg", f"--size {unknowns}", 4096, "{vector}"),
    Program(
        "N-body", "nbody", "--steps 2 --bodies {bodies} --message {message}", 4096, "{message}"
    ),
    Program("SOR", "sor", "--size {rows} --tolerance {change}", 4096, "0"),
    Program("3-D stencil", "patterns", "mg", 4096, "0"),
    Program("IS (NAS)", "", "{ranks} A", 1024, "0"),  # it refuses more
    Program(smallest, "", "{ranks} S", 64, "0"),  # and of class S more than 128
)


@dataclass(frozen=True)
class Compilers:
    """An MPI library's compilers of C and C++, with their options."""

    c: Sequence[str | Path]
    cpp: Sequence[str | Path]

    def objects(self, sources: Sequence[Path], folder: Path, packages: str) -> list[Path]:
        """Compiles each source to an object file in a folder. Raises UserError, which names the
        packages if a compiler isn't there."""
        found = []
        for path in sources:
            found.append(folder / f"{path.stem}.o")
            compiler = self.cpp if path.suffix == ".cpp" else self.c
            call([*compiler, "-O2", "-c", path, "-o", found[-1]], packages)
        return found


compilers = Compilers(["smpicc", "-w"], ["smpicxx", "-std=c++20"])
"""SMPI's."""


def build(program: Program, folder: Path) -> dict[bool, Path]:
    """Compiles a program without the runtime and with it; what is native in either has levels."""
    objects = compilers.objects([*program.sources(), levels], folder, packages)
    found = {}
    for planned in (False, True):
        found[planned] = folder / f"{objects[0].stem}-{'thalweg' if planned else 'plain'}"
        linked = [*objects[:-1], *_runtime_over(objects[-1], folder)] if planned else objects
        call(["smpicxx", "-s", *linked, "-o", found[planned]], packages)
    return found


def _runtime_over(natives: Path, folder: Path) -> list[Path]:
    """Returns the runtime, linked with natives of this object file in place of SMPI's own."""
    runtime, *libraries = paths.simulated_runtime()
    return [
        _renamed(runtime, "PMPI_", folder),  # what it calls
        _renamed(natives, "MPI_", folder),  # what they are
        *libraries,
    ]


def _renamed(objects: Path, prefix: str, folder: Path) -> Path:
    """Copies an object file; its names of what has levels begin with NATIVE_ instead."""
    copy = folder / f"native-{objects.name}"
    words = [f"--redefine-sym={prefix}{name}=NATIVE_{name}" for name in leveled]
    call(["objcopy", *words, objects, copy], "binutils")
    return copy


def call(command: Sequence[str | Path], packages: str) -> None:
    """Runs a compiler or linker. Raises UserError, which names the packages if it isn't there."""
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise UserError(f"no {command[0]}: install {packages}") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr[-2000:]
        raise UserError(f"{' '.join(map(str, command))} failed: {said}") from None
