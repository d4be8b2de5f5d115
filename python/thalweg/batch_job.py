"""The hosts of a batch job, with the slots that its batch system gives on each."""

import re
from collections.abc import Mapping

from thalweg import hosts
from thalweg.errors import UserError
from thalweg.files import read_text
from thalweg.hosts import Host
from thalweg.printable import short

_FILES = ("PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "OAR_NODEFILE", "COBALT_NODEFILE")
"""Variables that name a file with a line for each slot: those of PBS, LSF and OAR; of Cobalt for
each host."""
_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
"""Variables with the number of a job."""
_SLURM_NODES = "SLURM_JOB_NODELIST"
_GRID_ENGINE = "PE_HOSTFILE"
"""Grid Engine's variable with a file whose lines begin with a host and its slots."""
_SLURM_COUNTS = ("SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE")
"""Variables with the slots of Slurm's hosts, such as "4(x2),2"; the first that is right counts."""
FLUX_HOSTS = (
    '-H "$(flux getattr hostlist)" lists its hosts, with a rank each, and the launcher reaches '
    "them by ssh"
)
"""How a program is started on the hosts of a Flux instance, of which Thalweg knows nothing."""
_COUNT = re.compile(r"([0-9]{1,5})(?:\(x([0-9]{1,5})\))?")


def is_inside(environment: Mapping[str, str]) -> bool:
    """Whether this is a batch job, on whose hosts launchers start programs without ssh."""
    return any(map(environment.get, (*_JOBS, *_FILES, _GRID_ENGINE, _SLURM_NODES)))


def is_unlisted(environment: Mapping[str, str]) -> bool:
    """Whether this is a Flux instance, whose hosts listed() doesn't know."""
    return bool(environment.get("FLUX_URI")) and not is_inside(environment)


def listed(environment: Mapping[str, str]) -> list[Host]:
    """Returns the hosts of the batch job; none outside.

    A host has one slot where the batch system says nothing of slots that fits its hosts.
    Raises UserError for a list of hosts that can't be read, or is empty.
    """
    for variable in _FILES:
        if file := environment.get(variable):
            where = f"{variable} {file}"
            found = hosts.added_up(Host(name) for name in read_text(file, where).split())
            if not found:
                raise UserError(f"{where}: no hosts are listed; name them with --hosts")
            return found
    if file := environment.get(_GRID_ENGINE):
        return _of_grid_engine(file)
    if nodes := environment.get(_SLURM_NODES):
        found = hosts.expanded(nodes, f"{_SLURM_NODES} {short(nodes)}")
        return _with_slots(found, environment)
    return []


def _of_grid_engine(file: str) -> list[Host]:
    where = f"{_GRID_ENGINE} {file}"
    lines = [line.split() for line in read_text(file, where).splitlines() if line.strip()]
    if not lines or not all(len(words) > 1 and _COUNT.fullmatch(words[1]) for words in lines):
        raise UserError(f"{where}: no hosts with their slots; name them with --hosts")
    return hosts.added_up(Host(name, int(slots)) for name, slots, *_ in lines)


def _with_slots(found: list[Host], environment: Mapping[str, str]) -> list[Host]:
    for variable in _SLURM_COUNTS:
        if counts := _expanded(environment.get(variable, ""), len(found)):
            return [Host(host.name, slots) for host, slots in zip(found, counts, strict=True)]
    return found


def _expanded(text: str, number: int) -> list[int]:
    """Expands "4(x2),2" to 4, 4, 2; to nothing if it isn't of this number of hosts, or has a 0."""
    counts: list[int] = []
    for part in text.split(","):
        entry = _COUNT.fullmatch(part.strip())
        if not entry or not int(entry[1]) or len(counts) > number:
            return []
        counts += [int(entry[1])] * int(entry[2] or 1)
    return counts if len(counts) == number else []
