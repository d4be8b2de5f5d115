"""Compares a table of plans with that of another build, judged by whole simulations.

    python -m bench.tables BEFORE [SEEDS]

plans all collectives and roots on networks of `bench.families` with the package that is imported
and with the one in the folder BEFORE, and prints the processor time of both, and how much longer
the plans of this one take: the geometric mean over collectives, sizes and roots, and the worst.
"""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
import time
from pathlib import Path
from statistics import geometric_mean

from bench import families
from thalweg import planner, simulator
from thalweg.algorithms import Problem
from thalweg.collective import Collective, Kind, is_rooted

most_hosts = 16
largest = 1 << 27  # bytes
usual_seeds = range(12)


def planned(seed: int) -> tuple[float, bytes]:
    """Returns the processor time of a seed's table in seconds, and its plan file."""
    drawn = families.drawn(seed, most_hosts)
    begin = time.process_time()
    options = planner.Options(library=drawn.library, threads=1)
    table = planner.make_table(drawn.network, drawn.placement, list(Kind), options)
    seconds = time.process_time() - begin
    return seconds, planner.to_bytes(planner.PlanFile(drawn.network, drawn.library, [table]))


def planned_by(package: Path, seed: int) -> tuple[float, bytes]:
    """Returns the same, planned by the package in a folder."""
    code = (
        "import pickle, sys; from bench import tables;"
        f"sys.stdout.buffer.write(pickle.dumps(tables.planned({seed})))"
    )
    path = f"{package}:{Path(__file__).parents[1]}"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        check=True,
    )
    seconds, table = pickle.loads(found.stdout)
    return seconds, table


def ratios(after: bytes, before: bytes, seed: int) -> dict[str, float]:
    """Returns how many times as long plans take that differ, of a size in each octave.

    Where only one of two plans is native, they aren't compared.
    """
    files = [planner.from_bytes(table) for table in (after, before)]
    tables = [file.tables[0] for file in files]
    network, placement, library = files[0].network, tables[0].placement, files[0].library
    draw = random.Random(seed)
    found: dict[str, float] = {}
    for kind in Kind:
        for octave in range(0 if kind is Kind.barrier else largest.bit_length()):
            size = int(2 ** draw.uniform(octave, octave + 1))
            root = draw.randrange(len(placement)) if is_rooted(kind) else 0
            rows = [table.find(kind, root, size) for table in tables]
            plans = [row.skeleton if row and not row.native else None for row in rows]
            problem = Problem(
                Collective(kind, len(placement), root, size), network, placement, library
            )
            if (plans[0] is None) == (plans[1] is None):
                times = [simulator.simulate(problem, plan).time if plan else 1.0 for plan in plans]
                found[f"{kind.name} of {size} bytes from {root}"] = times[0] / times[1]
    return found


def main(before: str, seeds: str = "") -> None:
    every: list[float] = []
    for seed in [int(each) for each in seeds.split(",")] if seeds else usual_seeds:
        own, own_table = planned(seed)
        other, other_table = planned_by(Path(before), seed)
        found = ratios(own_table, other_table, seed)
        worst = max(found, key=lambda each: found[each])
        every += found.values()
        print(
            f"{families.drawn(seed, most_hosts).name}: {other:.2f} s -> {own:.2f} s; plans take "
            f"{geometric_mean(found.values()):.4f} times as long, at worst {found[worst]:.3f} "
            f"({worst})",
            flush=True,
        )
    print(f"all: {geometric_mean(every):.4f} times as long")


if __name__ == "__main__":
    main(*sys.argv[1:])
