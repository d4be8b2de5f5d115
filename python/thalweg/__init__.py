"""Thalweg makes unmodified MPI programs faster on networks that nobody gave you a map of.

    plan = thalweg.plan("net.json", thalweg.Bcast(root=0, nbytes="8MB"), ranks=16)
    print(plan.algorithm, plan.predicted, plan.bound)

This module has `plan` and the collective operations; docs/guide.md describes the others.
"""

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.errors import UserError as UserError
    from thalweg.operations import Allgather as Allgather
    from thalweg.operations import Allreduce as Allreduce
    from thalweg.operations import Alltoall as Alltoall
    from thalweg.operations import Barrier as Barrier
    from thalweg.operations import Bcast as Bcast
    from thalweg.operations import Exscan as Exscan
    from thalweg.operations import Gather as Gather
    from thalweg.operations import Operation as Operation
    from thalweg.operations import Reduce as Reduce
    from thalweg.operations import ReduceScatter as ReduceScatter
    from thalweg.operations import Scan as Scan
    from thalweg.operations import Scatter as Scatter
    from thalweg.plans import Plan as Plan
    from thalweg.plans import plan as plan
    from thalweg.plans import save as save
    from thalweg.schedule import How as How
    from thalweg.schedule import Range as Range
    from thalweg.schedule import Schedule as Schedule
    from thalweg.schedule import Transfer as Transfer

__version__ = "0.1.0"

# Imported when asked for, so that `thalweg --help` doesn't wait for the compiled core.
_HOMES = {
    "errors": ["UserError"],
    "operations": [
        "Allgather", "Allreduce", "Alltoall", "Barrier", "Bcast", "Exscan", "Gather", "Operation",
        "Reduce", "ReduceScatter", "Scan", "Scatter",
    ],
    "plans": ["Plan", "plan", "save"],
    "schedule": ["How", "Range", "Schedule", "Transfer"],
}  # fmt: skip

_MODULES = (
    "algorithms", "analysis", "bounds", "clocks", "errors", "events", "mapping", "matrices",
    "network", "operations", "paths", "planner", "plans", "record", "schedule", "simulator",
    "units", "weather_file",
)  # fmt: skip
"""Those for users, which are imported when they are asked for, too."""

__all__ = ["__version__", *(name for names in _HOMES.values() for name in names)]


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})


# The compiled files of another build: `cmake --install BUILD --prefix DIR`, THALWEG_PREFIX=DIR.
if prefix := os.environ.get("THALWEG_PREFIX"):
    __path__.insert(0, str(Path(prefix) / "thalweg"))
del prefix
