"""The host of each rank in the form that each launcher takes: options, environment, and a file.

Where the ranks of each host follow each other, an ordered list of hosts says it all, and the
launcher binds ranks to cores as it usually does. Else a file or a map names the host of each rank.
Where cores are chosen, too, the launcher is told to bind each rank to its own.
"""

import os
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg import launch_cores
from thalweg.errors import UserError
from thalweg.files import write_file
from thalweg.hosts import Host, spelled
from thalweg.launch_order import ANOTHER_ORDER, as_filled, in_slurms_order, starts_by_srun

if TYPE_CHECKING:
    from thalweg.binding import Core

LONGEST = 100_000
"""Most bytes of a list in the command line; a longer one is in a file. Linux takes less than
131,072 bytes as one argument."""

_UNBOUND = (
    "Open MPI binds no rank to cores where ranks don't fill one host after the other, in its own "
    "order, which in 4.1 begins with this machine if it is listed; list hosts so, or let --bind "
    "choose a core for each rank"
)


@dataclass(frozen=True)
class Order:
    """How a launcher is told the host of each rank."""

    options: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that the launcher gets, not the program."""
    file: Path | None = None
    """Named by options or environment; write() writes it."""
    content: str = ""
    hosts_file: Path | None = None
    """A second file, of a list of hosts too long for the command line; write() writes it."""
    hosts_content: str = ""
    remark: str = ""
    """What the launcher can't do, as a sentence without its full stop; usually empty."""
    unbound: bool = False
    """Whether the launcher binds no rank to cores, as it usually does."""

    @property
    def remarks(self) -> list[str]:
        """All that the user should know, as sentences without their full stops."""
        return [text for text in (self.remark, _UNBOUND if self.unbound else "") if text]

    def write(self) -> None:
        """Writes the files, if there are any. Raises UserError naming the one at fault."""
        for file, content in ((self.file, self.content), (self.hosts_file, self.hosts_content)):
            if file:
                write_file(file, f"launch file {file}", content)


def order(
    form: str,
    hosts: Sequence[Host],
    placement: Sequence[str],
    file: Path,
    cores: "Sequence[Core]" = (),
) -> Order:
    """Returns how a launcher of this form (FORMS) starts each rank on its host.

    `hosts` are all that may be used, with their slots; slots that stay free are left to the
    program's own MPI_Comm_spawn where the form allows it. `file` is where the launcher is to find
    its file, if it needs one. `cores`: that of each rank, as thalweg.binding chooses them, `alike`
    unless the form is one of EACH_BY_ITSELF; none: the launcher binds ranks as it usually does.
    Hosts are called as in `hosts`, however `placement` spells them. Raises UserError for a host
    that isn't listed or has too few slots, or if the form can't say it.
    """
    placement = spelled(placement, [host.name for host in hosts])
    _check(hosts, placement)
    if cores and form in EACH_BY_ITSELF:
        return _rankfile(form, hosts, placement, file, cores)
    plain = FORMS[form](hosts, placement, file)
    if not cores:
        return plain
    if plain.remark:
        raise UserError(f"cores can't be chosen: {plain.remark}")
    return replace(plain, options=[*plain.options, *launch_cores.options(form, placement, cores)])


def command_line(form: str, order: Order, ranks: int) -> str:
    """Returns what to type in a shell, with the launcher's usual name and a program `./app`."""
    words = [f"{name}={shlex.quote(value)}" for name, value in order.environment.items()]
    words += [PROGRAMS[form], *map(shlex.quote, order.options)]
    return " ".join([*words, "-n", str(ranks), "./app"])


def _check(hosts: Sequence[Host], placement: Sequence[str]) -> None:
    slots = {host.name: host.slots for host in hosts}
    for name, ranks in Counter(placement).items():
        if name not in slots:
            raise UserError(
                f"the placement has ranks on {name}, which isn't among the hosts of the launch; "
                "list it with -H, or map anew"
            )
        if ranks > slots[name]:
            raise UserError(
                f"the placement has {ranks} ranks on {name}, which has {slots[name]} slots; "
                f"list {name}:{ranks} with -H, or map anew"
            )


def _runs(placement: Sequence[str]) -> list[Host]:
    """The hosts of the ranks in their order, each with how many ranks follow each other there."""
    return [Host(name, len(list(ranks))) for name, ranks in groupby(placement)]


def _in_blocks(hosts: Sequence[Host], placement: Sequence[str]) -> list[Host] | None:
    """Returns hosts and slots that a launcher fills one after the other, if that gives this
    placement. Slots that stay free come last."""
    runs = _runs(placement)
    used = {host.name for host in runs}
    if len(used) < len(runs):
        return None
    slots = {host.name: host.slots for host in hosts}
    last = Host(runs[-1].name, slots[runs[-1].name])
    return [*runs[:-1], last, *(host for host in hosts if host.name not in used)]


def _listed(hosts: Sequence[Host]) -> str:
    return ",".join(f"{host.name}:{host.slots}" for host in hosts)


def _lines(names: Sequence[str]) -> str:
    return "".join(f"{name}\n" for name in names)


def _too_long(argument: str) -> bool:
    return len(argument.encode()) > LONGEST


def _told_to_open_mpi(hosts: Sequence[Host], file: Path) -> Order:
    if not _too_long(text := _listed(hosts)):
        return Order(["-H", text])
    content = _lines([f"{host.name} slots={host.slots}" for host in hosts])
    return Order(["--hostfile", str(file)], file=file, content=content)


def _told_to_hydra(hosts: Sequence[Host], file: Path) -> Order:
    if not _too_long(text := _listed(hosts)):
        return Order(["-hosts", text])
    return _hydra_file(hosts, file)


def _hydra_file(hosts: Sequence[Host], file: Path) -> Order:
    content = _lines([f"{host.name}:{host.slots}" for host in hosts])
    return Order(["-f", str(file)], file=file, content=content)


def beside(file: Path) -> Path:
    """Where a launcher that has a file already finds a list of hosts."""
    return file.with_name(f"{file.name}.hosts")


_OPEN_MPI_POLICY = "PRTE_MCA_rmaps_default_mapping_policy"
_OPEN_MPI_4_POLICY = "OMPI_MCA_rmaps_base_mapping_policy"


def _by_slots(policy: str, blocks: Sequence[Host], file: Path) -> Order:
    """Hosts whose slots are filled one after the other, whatever mapper the user's policy has."""
    mapper, _, rest = policy.partition(":")
    words = rest.split(":")[2 if mapper.lower() == "ppr" else 0 :]  # ppr:N:RESOURCE is a mapper
    qualifiers = "".join(f":{word}" for word in words if word)
    listed = _told_to_open_mpi(blocks, file)
    remark = (
        f"Open MPI's mapping policy '{policy}' isn't followed: ranks fill one host after the other"
        if mapper not in ("", "slot")
        else ""
    )
    options = ["--map-by", f"slot{qualifiers}", *listed.options]
    return replace(listed, options=options, remark=remark)


def _open_mpi(hosts: Sequence[Host], placement: Sequence[str], file: Path) -> Order:
    """5.0: filling slots must be asked for: by itself it goes on with the next host where cores run
    out. The mapper "seq" takes a line per rank; where it is to bind, or chooses to, it fails on
    hosts with more ranks than cores, so nothing is bound unless the user has set a policy. What
    the user's own policy says besides its mapper, such as the cores of a rank, stays in force.
    """
    if blocks := _in_blocks(hosts, placement):
        return _by_slots(os.environ.get(_OPEN_MPI_POLICY, ""), blocks, file)
    binding = [] if "PRTE_MCA_hwloc_default_binding_policy" in os.environ else ["--bind-to", "none"]
    return Order(
        ["--map-by", "seq", *binding, "--hostfile", str(file)],
        file=file,
        content=_lines(placement),
        unbound=bool(binding),
    )


def _open_mpi_4(hosts: Sequence[Host], placement: Sequence[str], file: Path) -> Order:
    """4.1: the mapper "seq" binds no rank; a rankfile would bind each to a single core, where the
    usual binding gives a rank's threads a socket. This machine, if listed, always comes first; in a
    batch job the others come in the order of the job, whatever that of `-H` is. Slots are filled by
    default, and asked for only where the user has a policy, since that changes how ranks are bound.
    """
    if blocks := _in_filled_blocks("openmpi-4", hosts, placement):
        policy = os.environ.get(_OPEN_MPI_4_POLICY)
        return _by_slots(policy, blocks, file) if policy else _told_to_open_mpi(blocks, file)
    return Order(
        ["--mca", "rmaps", "seq", "--hostfile", str(file)],
        file=file,
        content=_lines(placement),
        unbound=True,
    )


def _in_filled_blocks(
    form: str, hosts: Sequence[Host], placement: Sequence[str]
) -> list[Host] | None:
    """Returns what _in_blocks() does if the launcher fills hosts in that order; without the hosts
    that stay free if they alone make another order."""
    if not (blocks := _in_blocks(hosts, placement)):
        return None
    used = blocks[: len(set(placement))]
    return next((told for told in (blocks, used) if told == as_filled(form, told)), None)


def _mpich(hosts: Sequence[Host], placement: Sequence[str], file: Path) -> Order:
    """Newer than 4.0: a map of node numbers; (node,1,ranks) stands for ranks in sequence."""
    if blocks := _in_filled_blocks("mpich", hosts, placement):
        return _told_to_hydra(blocks, file)
    names = set(placement)
    used = as_filled("mpich", [host for host in hosts if host.name in names])
    number = {host.name: at for at, host in enumerate(used)}
    runs = [
        f"({number[run.name]},1,{run.slots})" if run.slots > 1 else str(number[run.name])
        for run in _runs(placement)
    ]
    text = ",".join(runs)
    if _too_long(text):
        raise UserError(
            f"the map of {len(placement)} ranks that MPICH needs (-rankmap) takes {len(text)} "
            f"bytes of the command line, which are more than {LONGEST}: keep ranks of a host "
            "together, by `thalweg run --no-placement` or `thalweg place --method block`"
        )
    listed = _hydra_file(used, file)
    return replace(listed, options=[*listed.options, "-rankmap", text])


def _mpich_4(hosts: Sequence[Host], placement: Sequence[str], file: Path) -> Order:
    """Up to 4.0: a host that is listed twice is two nodes."""
    if blocks := _in_filled_blocks("mpich-4", hosts, placement):
        return _told_to_hydra(blocks, file)
    return replace(
        _hydra_file(_runs(placement), file),
        remark="this MPICH takes ranks of a host that don't follow each other for ranks of several "
        "hosts: their messages don't go through shared memory; a newer MPICH (-rankmap) knows "
        "better",
    )


def _intel(hosts: Sequence[Host], placement: Sequence[str], file: Path) -> Order:
    """Keeps the order of a machinefile and knows a host again, unless srun starts its proxies. From
    -hosts it drops the slots."""
    lines = [f"{run.name}:{run.slots}" for run in _runs(placement)]
    is_undone = starts_by_srun("intel") and not _in_filled_blocks("intel", hosts, placement)
    return Order(
        ["-machinefile", str(file)],
        file=file,
        content=_lines(lines),
        remark="Intel MPI that starts by srun fills hosts in Slurm's order, whatever it is told; "
        f"{ANOTHER_ORDER['intel']}"
        if is_undone
        else "",
    )


def _slurm(_hosts: Sequence[Host], placement: Sequence[str], file: Path) -> Order:
    return Order(
        ["-m", "arbitrary"], {"SLURM_HOSTFILE": str(file)}, file=file, content=_lines(placement)
    )


def _cray(_hosts: Sequence[Host], placement: Sequence[str], file: Path) -> Order:
    """Cray MPICH renumbers the ranks of a launch that fills hosts in turn: its file lists the new
    ranks in that order. srun sorts the hosts that it is given, and ignores how many ranks a host
    should have where not all have as many."""
    counts = Counter(placement)
    filled = sorted(counts, key=in_slurms_order)
    most, least = max(filled, key=counts.__getitem__), min(filled, key=counts.__getitem__)
    if counts[most] != counts[least]:
        raise UserError(
            f"Cray's reorder file needs the same number of ranks on every host, but {most} has "
            f"{counts[most]} and {least} {counts[least]}: use --write slurm, which takes any "
            "placement, or list hosts with equal slots, as many in all as there are ranks"
        )
    place = {name: at for at, name in enumerate(filled)}
    ranks = map(str, sorted(range(len(placement)), key=lambda rank: place[placement[rank]]))
    names = ",".join(filled)
    hosts_file = beside(file).absolute() if _too_long(names) else None
    return Order(
        ["-m", "block", f"--ntasks-per-node={counts[most]}", "-w", str(hosts_file or names)],
        {"MPICH_RANK_REORDER_METHOD": "3", "MPICH_RANK_REORDER_FILE": str(file)},
        file=file,
        content=",".join(ranks) + "\n",
        hosts_file=hosts_file,
        hosts_content=_lines(filled) if hosts_file else "",
    )


EACH_BY_ITSELF = ("openmpi", "openmpi-4")
"""Forms that bind each rank by itself; the others bind the ranks of all hosts alike."""


def _rankfile(
    form: str, hosts: Sequence[Host], placement: Sequence[str], file: Path, cores: "Sequence[Core]"
) -> Order:
    """Slots are hwloc's logical numbers of cores. A core of several ranks must be allowed.

    Raises UserError if Open MPI can't read a file of this name.
    """
    if form == "openmpi" and ":" in str(file):
        raise UserError(
            f"{file}: Open MPI takes what follows a colon for something else; choose another name"
        )
    lines = [
        f"rank {rank}={host} slot={core.number}"
        for rank, (host, core) in enumerate(zip(placement, cores, strict=True))
    ]
    told = ["--map-by", f"rankfile:file={file}"] if form == "openmpi" else ["--rankfile", str(file)]
    places = list(zip(placement, (core.number for core in cores), strict=True))
    shared = ["--bind-to", "core:overload-allowed"] if len(set(places)) < len(places) else []
    listed = _told_to_open_mpi(hosts, beside(file))
    return Order(
        [*told, *shared, *listed.options],
        file=file,
        content=_lines(lines),
        hosts_file=listed.file,
        hosts_content=listed.content,
    )


FORMS: Mapping[str, Callable[[Sequence[Host], Sequence[str], Path], Order]] = {
    "openmpi": _open_mpi,
    "openmpi-4": _open_mpi_4,
    "mpich": _mpich,
    "mpich-4": _mpich_4,
    "intel": _intel,
    "slurm": _slurm,
    "cray": _cray,
}
"""Launchers that take placements alike: Open MPI from 5.0 on and before, MPICH with and without
-rankmap, Intel MPI, Slurm's srun, and Cray MPICH under srun."""

PROGRAMS = {"openmpi": "mpirun", "openmpi-4": "mpirun", "mpich": "mpiexec", "mpich-4": "mpiexec",
            "intel": "mpiexec.hydra", "slurm": "srun", "cray": "srun"}  # fmt: skip
"""The launcher's usual name, by form."""
