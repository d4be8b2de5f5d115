"""Launchers start each rank on the host that thalweg.launch_files tells them, and on the core.

placed.py FLAVOUR: several names of this machine are the hosts, each with a host name of its own.
"""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from launch import build, launcher_environment

from thalweg import binding, launch_files, launcher, mapping
from thalweg.hosts import Host
from thalweg.launch_files import Order
from thalweg.launcher import Launcher

# In place of ssh: OPTIONS HOST COMMAND. A user who isn't root is in a namespace of users.
AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do case $1 in -[olpiF]) shift;; esac; shift; done
host=$1; shift
[ "$(id -u)" = 0 ] || alone=--map-root-user
exec unshare $alone --uts sh -c 'hostname "$1"; shift; exec sh -c "$*"' sh "$host" "$@"
"""
AGENTS = ("OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent", "HYDRA_LAUNCHER_EXEC",
          "I_MPI_HYDRA_BOOTSTRAP_EXEC")  # fmt: skip
SAYS = (
    'echo "rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK} $(hostname) '
    "${OMPI_COMM_WORLD_LOCAL_RANK:-$MPI_LOCALRANKID} "
    '$(sed -n "s/^Cpus_allowed_list:.//p" /proc/self/status)."'
)
HOSTS = [Host("n0", 3), Host("n1", 2), Host("n2", 2)]
PLACEMENTS = {
    "in turn": ["n0", "n0", "n0", "n1", "n1", "n2"],
    "blocks": ["n2", "n2", "n0", "n1", "n1"],
    "mixed": ["n2", "n0", "n1", "n0", "n0", "n2"],
    "pairs": ["n1", "n1", "n0", "n2", "n2", "n0"],
    "one": ["n1"],
}


def local_ranks(placement: Sequence[str]) -> list[int]:
    return [list(placement[:rank]).count(host) for rank, host in enumerate(placement)]


TRIES = 3
"""How often a launcher is started at most: one in some hundred starts of Open MPI 5.0's never ends
where processors are busy, though the program, which has nothing of Thalweg or MPI, has."""


def run(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    def once() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=30, check=False,
        )  # fmt: skip

    for _ in range(TRIES - 1):
        with contextlib.suppress(subprocess.TimeoutExpired):
            return once()
    return once()


class Started(NamedTuple):
    """The host of each rank, its number among the ranks that the launcher sees there, and the
    processors that it may use."""

    hosts: list[str]
    local: list[int]
    processors: list[str]


def started(chosen: Launcher, order: Order, ranks: int, environment: Mapping[str, str]) -> Started:
    command = chosen.command(ranks, order, {}, ["sh", "-c", SAYS])
    done = run(command, {**os.environ, **environment})
    found = sorted(
        (int(rank), host, int(local), processors)
        for rank, host, local, processors in re.findall(
            r"rank=(\d+) (\S+) (\d+) (\S+)\.", done.stdout
        )
    )
    assert [rank for rank, *_ in found] == list(range(ranks)), (command, done)
    return Started(*map(list, zip(*(rest for _, *rest in found), strict=True)))


def check_cores(chosen: Launcher, environment: Mapping[str, str], folder: Path) -> None:
    """Ranks that are bound to cores of this machine may use just these."""
    placement = ["n0", "n0", "n1", "n1"] if chosen.form == "mpich-4" else ["n1", "n0", "n0", "n1"]
    ranks = len(placement)
    matrix = mapping.communication(ranks, [0, 1], [3, 2], [1, 1], [1000, 1000])
    alike = chosen.form not in launch_files.EACH_BY_ITSELF
    cores = binding.bind(matrix, placement, "this", alike=alike)
    order = launch_files.order(chosen.form, HOSTS, placement, folder / "cores", cores)
    order.write()
    found = started(chosen, order, ranks, environment)
    assert found.hosts == placement, (order, found)
    for core, said in zip(cores, found.processors, strict=True):
        own = core.processors[:1] if chosen.form == "intel" else core.processors
        assert said == ",".join(map(str, own)), (order, found)


def check_long_lists(chosen: Launcher, environment: Mapping[str, str], folder: Path) -> None:
    """Hosts keep their order where they are listed in a file, as if there were thousands."""
    longest, launch_files.LONGEST = launch_files.LONGEST, 0
    for title in ("in turn", "blocks", "one"):
        placement = PLACEMENTS[title]
        order = launch_files.order(chosen.form, HOSTS, placement, folder / "list")
        order.write()
        assert order.file
        found = started(chosen, order, len(placement), environment)
        assert found.hosts == placement, (title, order, found)
        assert found.local == local_ranks(placement), (title, order, found)
    launch_files.LONGEST = longest


def main() -> None:
    flavour = sys.argv[1]
    chosen = launcher.at(str(build(flavour).launcher))
    here = os.uname().nodename
    with tempfile.TemporaryDirectory() as name:
        agent = Path(name) / "agent"
        agent.write_text(AGENT)
        agent.chmod(0o755)
        environment = {**launcher_environment(flavour), **dict.fromkeys(AGENTS, str(agent))}
        # Open MPI 4.1 would begin with this machine, wherever it is listed.
        with_here = {"this machine amid": ["n1", "n1", here, "n0"]}
        for title, placement in {**PLACEMENTS, **with_here}.items():
            hosts = [*HOSTS, Host(here)]
            order = launch_files.order(chosen.form, hosts, placement, Path(name) / "hosts")
            order.write()
            found = started(chosen, order, len(placement), environment)
            assert found.hosts == placement, (title, order, found)
            # Whether ranks of a host are taken for neighbours.
            as_told = found.local == local_ranks(placement)
            assert as_told == (not order.remark), (title, order, found)
            if order.file:
                order.file.unlink()
        check_long_lists(chosen, environment, Path(name))
        if binding.has_hwloc():
            check_cores(chosen, environment, Path(name))


if __name__ == "__main__":
    main()
