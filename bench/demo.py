"""The computations and the output of script/demo."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import nbody, program
from bench.report import Table, percent, seconds, times
from bench.samples import native, thalweg
from bench.session import physical_limit
from thalweg.lab import scenario

libraries = {"openmpi": "Open MPI", "mpich": "MPICH"}


def table(folder: Path, bound: float) -> Table:
    """Compares native with Thalweg from the runs in `folder`; `bound` is the broadcast's."""
    overhead = _read(folder / "microseconds.json")
    result = Table(
        "N-body, 16 hosts on two sites",
        ["MPI", "", "total", "ratio", "compute", "gather", "bcast", "other", "of limit"],
        notes=[
            "Times are the emulated network's own. Of limit: the shortest time that the network "
            "allows a broadcast, over the time taken. With Thalweg, both gather and broadcast are "
            "planned.",
            f"Probing took {seconds(overhead['probe'] / 1e6)} and planning "
            f"{seconds(overhead['plan'] / 1e6)} of this machine's time; both are done once for a "
            "network and kept.",
        ],
    )  # fmt: skip
    for flavour, name in libraries.items():
        runs = {v: _read(folder / f"{flavour}-{v}.json") for v in (native, thalweg)}
        for variant, run in runs.items():
            parts = (run[part] for part in ("computation", "gather", "bcast", "other"))
            result.add(
                name, variant, seconds(run["total"]), times(runs[native]["total"] / run["total"]),
                *(seconds(max(part, 0)) for part in parts),
                percent(bound * run["steps"] / run["bcast"]),
            )  # fmt: skip
    return result


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def main(command: str, argument: str) -> None:
    path = Path(argument)
    if command == "compute-time":
        print(f"{program.compute_time(_read(path), nbody.example):.4f}")
        return
    message = _read(path / f"openmpi-{native}.json")["message"]
    bound = physical_limit(scenario.find("two-sites"), "bcast", message)
    assert bound is not None
    results = table(path, bound)
    results.print()
    (path / "results.json").write_text(json.dumps([asdict(results)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
