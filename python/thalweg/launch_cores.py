"""Options by which launchers bind the ranks of all hosts alike, each to a core that was chosen."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.binding import Core


def options(form: str, placement: Sequence[str], cores: "Sequence[Core]") -> Sequence[str]:
    """Returns the options of a launcher of this form (thalweg.launch_files.FORMS), which isn't one
    that binds each rank by itself. `cores`: that of each rank, alike on all hosts."""
    return _OPTIONS[form](_by_number(placement, cores))


def _by_number(placement: Sequence[str], cores: "Sequence[Core]") -> "list[Core]":
    """The core of the n-th rank of a host, on all hosts."""
    found: list[Core] = []
    seen: Counter[str] = Counter()
    for host, core in zip(placement, cores, strict=True):
        if seen[host] == len(found):
            found.append(core)
        seen[host] += 1
    return found


def _hydra_cores(cores: "Sequence[Core]") -> Sequence[str]:
    """Processors of a core are joined by "+"."""
    return ["-bind-to", "user:" + ",".join("+".join(map(str, c.processors)) for c in cores)]


def _slurm_cores(cores: "Sequence[Core]") -> Sequence[str]:
    return ["--cpu-bind=map_cpu:" + ",".join(str(core.processors[0]) for core in cores)]


def _intel_cores(cores: "Sequence[Core]") -> Sequence[str]:
    first = ",".join(str(core.processors[0]) for core in cores)
    return ["-genv", "I_MPI_PIN_PROCESSOR_LIST", first]


_OPTIONS: "Mapping[str, Callable[[Sequence[Core]], Sequence[str]]]" = {
    "mpich": _hydra_cores,
    "mpich-4": _hydra_cores,
    "intel": _intel_cores,
    "slurm": _slurm_cores,
    "cray": _slurm_cores,
}
