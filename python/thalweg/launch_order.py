"""The order in which launchers fill hosts with ranks: the one that they are told, or their own.

A launcher is known by its form, one of thalweg.launch_files.FORMS.
"""

import contextlib
import os
import re
from collections.abc import Sequence

from thalweg import batch_job
from thalweg.errors import UserError
from thalweg.hosts import Host, folded, is_this_machine

ANOTHER_ORDER = {
    "mpich-4": "a newer MPICH (-rankmap) can be told another order",
    "intel": "with I_MPI_HYDRA_BOOTSTRAP=ssh it can be told another order",
}
"""The remedy, by form, where a launcher can be told no other order of the hosts than Slurm's."""


def as_filled(form: str, hosts: Sequence[Host]) -> list[Host]:
    """Returns hosts in the order in which a launcher of this form fills them, whatever order it is
    told."""
    if form == "openmpi-4":
        job: list[Host] = []
        with contextlib.suppress(UserError):  # a list that can't be read is the launcher's matter
            job = batch_job.listed(os.environ)
        place = {folded(host.name): at for at, host in enumerate(job)}
        in_job = sorted(hosts, key=lambda host: place.get(folded(host.name), len(place)))
        return sorted(in_job, key=lambda host: not is_this_machine(host.name))
    if starts_by_srun(form):
        return sorted(hosts, key=lambda host: in_slurms_order(host.name))
    return list(hosts)


def takes_any_order(form: str) -> bool:
    """Whether a launcher of this form can be told any order of the hosts, here and now."""
    return form not in ANOTHER_ORDER or not starts_by_srun(form)


def starts_by_srun(form: str) -> bool:
    """Whether Hydra starts its proxies by srun, which numbers hosts in Slurm's order: in a job,
    MPICH's unless it is told otherwise, Intel MPI's if it is told so."""
    if not os.environ.get("SLURM_JOB_ID"):
        return False
    if form == "intel":
        return os.environ.get("I_MPI_HYDRA_BOOTSTRAP") == "slurm"
    chosen = os.environ.get("HYDRA_LAUNCHER") or os.environ.get("HYDRA_BOOTSTRAP") or "slurm"
    return form in ("mpich", "mpich-4") and chosen == "slurm"


def in_slurms_order(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts hosts as Slurm does, unless a topology plugin ranks them: numbers in a name
    by their value, before them those with leading zeros, digit by digit."""
    return [
        (ord(part[0]), 0, "") if not part.isdecimal()
        else (ord("0"), 0, part) if part[0] == "0"
        else (ord("1"), len(part), part)
        for part in re.findall(r"[0-9]+|[^0-9]", name)
    ]  # fmt: skip
