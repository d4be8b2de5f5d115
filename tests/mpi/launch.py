"""Runs an MPI program with the runtime preloaded into its ranks.

launch.py FLAVOUR --preload LIBRARY... --ranks N [--set NAME=VALUE]... [--compare] -- PROGRAM...

--compare also runs the program without the runtime, which is the first library: it has to print the
same on standard output, and with the runtime some of its collectives are planned.

THALWEG_TEST_MPI names the build of the MPI library (bench/builds.py): openmpi-5.0, mpich-5.0 or
intel-2021; Debian's if it isn't set. All ranks are on this host; unless THALWEG_ASSUME_HOSTS is set
otherwise they pretend to be on three, so that their calls are planned.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from bench import builds
from bench.builds import Build

DEFAULTS = {
    "THALWEG_ASSUME_HOSTS": "a,b,c",
    "THALWEG_FORCE": "bcast=binomial;reduce=binomial;allreduce=ring;gather=binomial;"
    "scatter=binomial;allgather=ring;alltoall=pairwise;reduce_scatter=ring;scan=linear-scan;"
    "exscan=linear-scan;barrier=dissemination",
}


def build(flavour: str) -> Build:
    """Returns the build that THALWEG_TEST_MPI names, or Debian's if it isn't set."""
    name = os.environ.get("THALWEG_TEST_MPI")
    if name:
        return builds.select([name])[0]
    return next(each for each in builds.available() if each.flavour == flavour)


def environment(preload: Sequence[str], settings: Mapping[str, str]) -> dict[str, str]:
    """What the ranks get: DEFAULTS, then `settings`, then LD_PRELOAD."""
    return {**DEFAULTS, **settings, "LD_PRELOAD": ":".join(preload)}


def launcher_environment(flavour: str) -> dict[str, str]:
    """What the launcher gets, where ranks may outnumber the cores; for MPICH see yield.c, too."""
    return build(flavour).launcher_environment() | {
        # Intel MPI 2021.19's collectives for one host mix up derived datatypes; this avoids them.
        "I_MPI_CBWR": "1",
        # Useless on one host, and each rank of Open MPI 5.0 sleeps for a second as it is closed.
        "OMPI_MCA_btl": "^ofi",
    }


def environment_of_mpi4py(library: Build, folder: Path) -> dict[str, str]:
    """Returns what lets mpi4py load a build's library.

    Its wheel looks for the name that MPICH itself gives its library; Debian's differs, and gets a
    link in the folder.
    """
    settings = {**library.environment, "MPI4PY_MPIABI": library.flavour}
    if library.name == "mpich-4.0":
        known = subprocess.run(
            ["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True
        ).stdout
        if found := re.search(r"libmpich\.so\.12 .*=> (.*)", known):
            (folder / "libmpi.so.12").symlink_to(found[1])
        settings["LD_LIBRARY_PATH"] = str(folder)
    return settings


def run(
    flavour: str, *groups: builds.Group, capture: bool = False
) -> subprocess.CompletedProcess[str]:
    """Runs groups of ranks as one program."""
    return subprocess.run(
        build(flavour).command(*groups), env=launcher_environment(flavour), check=False, text=True,
        capture_output=capture,
    )  # fmt: skip


def rank_process(launcher: int, rank: int, program: str) -> int:
    """The process of a world rank among the launcher's descendants, which runs `program`."""
    family = {launcher}
    while True:
        grown = family | {
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and parent(entry) in family
        }
        if grown == family:
            break
        family = grown
    for pid in family:
        folder = Path("/proc") / str(pid)
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
            command = (folder / "cmdline").read_bytes().split(b"\0")[0].decode()
        except OSError:  # A process that the launcher needed as it started has ended.
            continue
        names = (b"OMPI_COMM_WORLD_RANK", b"PMI_RANK")
        if program in command and any(b"%s=%d" % (name, rank) in variables for name in names):
            return pid
    raise AssertionError(f"no process of rank {rank} among {family}")


def parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flavour", choices=["openmpi", "mpich"])
    parser.add_argument("--preload", action="append", default=[])
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("program", nargs="+")
    arguments = parser.parse_args()
    settings = dict(setting.split("=", 1) for setting in arguments.set)
    if arguments.compare:
        return compare(
            arguments.flavour, arguments.preload, settings, arguments.ranks, arguments.program
        )
    own = environment(arguments.preload, settings)
    return run(arguments.flavour, (arguments.ranks, own, arguments.program)).returncode


def compare(
    flavour: str,
    preload: Sequence[str],
    settings: Mapping[str, str],
    ranks: int,
    program: Sequence[str],
) -> int:
    """Runs without and with the runtime; returns 0 if both print the same."""
    with tempfile.TemporaryDirectory() as folder:
        traced = {**settings, "THALWEG_TRACE": folder}
        plain, planned = (
            run(flavour, (ranks, environment(libraries, traced), list(program)), capture=True)
            for libraries in (preload[1:], preload)
        )
        for done in (plain, planned):
            print(done.stdout, done.stderr)
        if failed := plain.returncode or planned.returncode:
            return failed
        assert sorted(plain.stdout.splitlines()) == sorted(planned.stdout.splitlines())
        summary = json.loads((Path(folder) / "summary.json").read_text())
    counts = {name: each["planned"]["calls"] for name, each in summary["collectives"].items()}
    assert sum(counts.values()) > 0, summary
    return 0


if __name__ == "__main__":
    sys.exit(main())
