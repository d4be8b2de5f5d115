"""Runs commands in the lab's hosts, in an environment where launchers find the other hosts."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from thalweg import paths
from thalweg.errors import UserError
from thalweg.lab.state import Lab

TEMPORARY = "/var/tmp"  # of the host's own


def agent() -> str:
    """Returns the program that launchers call in place of ssh."""
    return str(paths.binary("thalweg-lab-agent"))


def _finalizer() -> str:
    return str(paths.package() / "lib" / "libthalweg-lab-mpich.so")


def write_host_files(folder: Path, names: Sequence[str], slots: int = 1) -> None:
    """Writes the lists of hosts: plain, and in each launcher's form, for so many ranks each."""
    (folder / "host-names").write_text("".join(f"{name}\n" for name in names))
    (folder / "hosts.openmpi").write_text("".join(f"{name} slots={slots}\n" for name in names))
    (folder / "hosts.hydra").write_text("".join(f"{name}:{slots}\n" for name in names))


def environment(lab: Lab) -> dict[str, str]:
    """Returns what a command in the lab has in addition to its caller's environment.

    It doesn't tell an MPI library which network to use: the library finds separate machines with
    one interface each.
    """
    folder = lab.folder
    return {
        "THALWEG_LAB": lab.name,
        "THALWEG_LAB_STATE": str(folder),
        "THALWEG_LAB_SCENARIO": lab.fingerprint,
        "THALWEG_LAB_DILATION": f"{lab.dilation:g}",
        "THALWEG_LAB_HOSTS": str(folder / "host-names"),
        "TMPDIR": TEMPORARY,
        # Open MPI 4 (OMPI_MCA_) and 5 (PRTE_MCA_): the agent, the hosts, no binding to cores.
        "OMPI_MCA_plm_rsh_agent": agent(),
        "OMPI_MCA_orte_default_hostfile": str(folder / "hosts.openmpi"),
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "PRTE_MCA_plm_ssh_agent": agent(),
        "PRTE_MCA_prte_default_hostfile": str(folder / "hosts.openmpi"),
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_ALLOW_RUN_AS_ROOT": "1",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        # All ranks share a core: a waiting rank must let the others run.
        "OMPI_MCA_mpi_yield_when_idle": "1",
        # MPICH's Hydra.
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": agent(),
        "HYDRA_HOST_FILE": str(folder / "hosts.hydra"),
        # MPICH 4.0 would not end (src/lab/mpich_finalize.c).
        "LD_PRELOAD": ":".join(filter(None, [os.environ.get("LD_PRELOAD"), _finalizer()])),
    }


def command(lab: Lab, host: str, arguments: Sequence[str]) -> list[str]:
    """Returns the command line that runs `arguments` on a host. Raises UserError if unknown."""
    if host not in lab.hosts:
        raise UserError(f"the lab {lab.name} has no host {host!r}: it has {', '.join(lab.hosts)}")
    return [agent(), "--run", host, *arguments]


def replace_process(lab: Lab, host: str, arguments: Sequence[str]) -> None:
    """Replaces this process by a command on a host: streams, signals and status are its own."""
    line = command(lab, host, arguments)
    os.execve(line[0], line, {**os.environ, **environment(lab)})


def run(
    lab: Lab,
    host: str,
    arguments: Sequence[str],
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command on a host and returns its output."""
    variables = {"THALWEG_LAB_STATE": str(lab.folder), "TMPDIR": TEMPORARY}
    return subprocess.run(
        command(lab, host, arguments),
        env={**os.environ, **variables, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
