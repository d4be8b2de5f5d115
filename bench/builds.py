"""The MPI libraries to measure and test: Debian's, and those in .cache/mpi (script/setup)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.machine import repository
from thalweg.errors import UserError

Group = tuple[int, Mapping[str, str], Sequence[str]]
"""How many ranks, their environment besides the launcher's, and their program with arguments."""


@dataclass(frozen=True)
class Build:
    """One MPI library. Programs of a flavour run with any of its versions (same ABI)."""

    name: str  # "openmpi-4.1"
    flavour: str  # "openmpi", or "mpich" for all with MPICH's ABI
    launcher: Path
    environment: dict[str, str] = field(default_factory=dict)

    def command(self, *groups: Group) -> list[str]:
        """Returns the command line that runs all groups as one program on this host alone."""
        options = ["--allow-run-as-root", "--oversubscribe"] if self.flavour == "openmpi" else []
        line = [str(self.launcher), *options]
        for at, (ranks, environment, program) in enumerate(groups):
            settings = [f"{name}={value}" for name, value in environment.items()]
            line += [*([":"] if at else []), "-n", str(ranks), "env", *settings, *program]
        return line

    def launcher_environment(self) -> dict[str, str]:
        """Returns the environment of a command() whose ranks may outnumber the cores.

        Open MPI then yields the core when it has nothing to do; MPICH has no such setting.
        """
        return {**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1", **self.environment}

    def run(self, *groups: Group) -> str:
        """Runs a command() whose ranks may outnumber the cores; returns what it prints.

        Raises UserError if it fails.
        """
        command = self.command(*groups)
        done = subprocess.run(
            command, env=self.launcher_environment(), check=False, text=True, capture_output=True
        )
        if done.returncode != 0:
            raise UserError(f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}")
        return done.stdout


def available() -> list[Build]:
    """Returns the builds found on this machine, in the order of the tables."""
    return [
        build
        for build in (
            _debian("openmpi-4.1", "openmpi", "mpirun.openmpi"),
            _cached("openmpi-5.0", "openmpi", "mpirun"),
            _debian("mpich-4.0", "mpich", "mpiexec.mpich"),
            _cached("mpich-5.0", "mpich", "mpiexec"),
            # Its package has no libfabric of its own; Debian's needs to be told what to use.
            _cached("intel-2021", "mpich", "mpiexec.hydra", {"FI_PROVIDER": "tcp"}),
        )
        if build is not None
    ]


def select(names: list[str]) -> list[Build]:
    """Returns the builds of these names, or all if there are none."""
    builds = {build.name: build for build in available()}
    for name in names:
        if name not in builds:
            raise UserError(f"no MPI build {name} here; choose one of {', '.join(builds)}")
    return [builds[name] for name in names or builds]


def _debian(name: str, flavour: str, launcher: str) -> Build | None:
    path = shutil.which(launcher)
    return Build(name, flavour, Path(path)) if path else None


def _cached(
    name: str, flavour: str, launcher: str, environment: Mapping[str, str] = {}
) -> Build | None:
    prefix = repository / ".cache" / "mpi" / name
    path = prefix / "bin" / launcher
    if not path.exists():
        return None
    if flavour == "mpich":
        _add_debian_names(prefix / "lib")
    return Build(name, flavour, path, {"LD_LIBRARY_PATH": str(prefix / "lib"), **environment})


def _add_debian_names(library_folder: Path) -> None:
    """Gives MPICH's libraries the names that programs built with Debian's MPICH ask for."""
    for debian, usual in [("libmpich", "libmpi"), ("libmpichfort", "libmpifort")]:
        link, library = (library_folder / f"{name}.so.12" for name in (debian, usual))
        if library.exists() and not link.exists():
            with suppress(FileExistsError):  # another process may add it at the same time
                link.symlink_to(library.name)
