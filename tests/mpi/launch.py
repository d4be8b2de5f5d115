"""Runs an MPI program with the runtime preloaded into its ranks.

launch.py FLAVOUR --preload LIBRARY... --ranks N [--set NAME=VALUE]... -- PROGRAM...

THALWEG_TEST_MPI names the build of the MPI library (bench/builds.py): openmpi-5.0, mpich-5.0 or
intel-2021; Debian's if it isn't set. All ranks are on this host; unless THALWEG_ASSUME_HOSTS is set
otherwise they pretend to be on three, so that their calls are planned.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from bench.builds import Build, select

DEFAULTS = {
    "THALWEG_ASSUME_HOSTS": "a,b,c",
    "THALWEG_FORCE": "bcast=binomial;reduce=binomial;allreduce=ring;gather=binomial;"
    "scatter=binomial;allgather=ring;alltoall=pairwise;reduce_scatter=ring;scan=linear-scan;"
    "exscan=linear-scan;barrier=dissemination",
}


def build() -> Build | None:
    """Returns the build that THALWEG_TEST_MPI names, or None if it isn't set."""
    name = os.environ.get("THALWEG_TEST_MPI")
    return select([name])[0] if name else None


def command(
    flavour: str, groups: Sequence[tuple[int, Mapping[str, str], Sequence[str]]]
) -> list[str]:
    """The launcher's command line for groups of ranks: how many, their environment and program."""
    chosen = build()
    debian = "mpirun.openmpi" if flavour == "openmpi" else "mpiexec.mpich"
    launcher = [str(chosen.launcher) if chosen else debian]
    if flavour == "openmpi":
        launcher += ["--allow-run-as-root", "--oversubscribe"]
    line = list(launcher)
    for ranks, environment, program in groups:
        if len(line) > len(launcher):
            line.append(":")
        settings = [f"{name}={value}" for name, value in environment.items()]
        line += ["-n", str(ranks), "env", *settings, *program]
    return line


def environment(preload: Sequence[str], settings: Mapping[str, str]) -> dict[str, str]:
    """What the ranks get: DEFAULTS, then `settings`, then LD_PRELOAD."""
    return {**DEFAULTS, **settings, "LD_PRELOAD": ":".join(preload)}


def run(line: Sequence[str], capture: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs a command() where ranks may outnumber the cores."""
    # Open MPI yields the core when it has nothing to do; for MPICH see yield.c.
    chosen = build()
    launcher_environment = {
        **os.environ,
        "OMPI_MCA_mpi_yield_when_idle": "1",
        # Intel MPI 2021.19's collectives for one host mix up derived datatypes; this avoids them.
        "I_MPI_CBWR": "1",
        **(chosen.environment if chosen else {}),
    }
    return subprocess.run(
        line, env=launcher_environment, check=False, text=True, capture_output=capture
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flavour", choices=["openmpi", "mpich"])
    parser.add_argument("--preload", action="append", default=[])
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("program", nargs="+")
    arguments = parser.parse_args()
    settings = dict(setting.split("=", 1) for setting in arguments.set)
    own = environment(arguments.preload, settings)
    return run(command(arguments.flavour, [(arguments.ranks, own, arguments.program)])).returncode


if __name__ == "__main__":
    sys.exit(main())
