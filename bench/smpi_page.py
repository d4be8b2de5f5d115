"""The page of whole programs that SMPI simulates: their times, and what the simulations cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench import smpi_model
from bench.page import Part
from bench.report import Table, seconds, times
from bench.smpi_programs import most_with_long, programs, smallest
from bench.smpi_run import (
    eager_limit,
    longest,
    most_planned,
    most_selected,
    rules,
    selectors,
    thalweg,
)
from bench.summary import speedup

variants = (*selectors, rules, thalweg)
even = 0.99  # times as fast as a rival, at least: not slower
most_memory = 8e9  # bytes that a simulation should need at most


@dataclass(frozen=True)
class Run:
    """`simulated` is None if the simulation didn't end in time; wall seconds and peak bytes."""

    program: str
    variant: str
    simulated: float | None
    wall: float
    memory: int


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns one table of simulated times, and one of what the simulations cost."""
    by_size = sorted(parts, key=lambda part: (part.labels["ranks"], part.labels["network"]))
    return [simulated_times(by_size), costs(by_size)]


def simulated_times(parts: Sequence[Part]) -> Table:
    """Tables each program's times by all variants, and what Thalweg gains over the rivals."""
    table = Table(
        "Simulated times",
        ["network", "ranks", "program", *(f"{each} selector" for each in selectors), rules,
         thalweg, "faster than the rivals run"],
        notes=[
            "From MPI_Init to MPI_Finalize; plans were made beforehand, and each rank reads the "
            "file, which takes no simulated time. Nor does what ranks compute. What ranks agree on "
            "in Thalweg's MPI_Init does.",
            f"Plans for more than {most_planned} ranks have the effort `estimate`.",
            "The selectors are SMPI's imitations of MPICH and Open MPI. SMPI sets up their levels "
            "by hosts by a message from each rank to each other, which libraries don't need, and "
            f"which is too much above {most_selected} ranks.",
            "MPICH's rules: SMPI's algorithms, as MPICH 4.0 selects them. Where hosts have several "
            f"ranks (above {most_selected}), broadcasts, reductions and barriers go between the "
            "hosts' leaders and within the hosts, as MPICH's do by default; their communicators "
            "cost a broadcast each. What Thalweg leaves native, and its MPI_Init, go by the same "
            "algorithms and levels.",
            f"{smpi_model.in_words(smpi_model.whole_rate)} Plans are made with these costs and "
            "rates. [smpi-lab.md](smpi-lab.md) holds this model against the lab, at 16 and 32 "
            f"ranks, where {smpi_model.payload_in_words(smpi_model.payload)}.",
            "All messages from one host to another share the rate of a single flow, also those of "
            "different ranks, which have flows of their own otherwise and in the model that plans "
            "are made by; and a message within a host costs its ends as much as one between hosts, "
            "where plans take it to cost them nothing. Both count where hosts have several ranks, "
            "above 64.",
            f"Messages up to MPICH's eager limit, {eager_limit} bytes, don't wait for their "
            "receives.",
            "IS is a program of others: the NAS Parallel Benchmarks' in C, as Debian's source of "
            "SimGrid has it, of class A with 8,388,608 keys, and up to 64 ranks of class S, its "
            "smallest one, with 65,536 keys. CG has 1,024 unknowns; N-body's broadcasts have 1 MB, "
            f"above {most_with_long} ranks 131 KB.",
            f"Each program is simulated up to so many ranks: {most_ranks(parts)}; IS refuses more "
            "than 1,024.",
        ],
    )  # fmt: skip
    speedups: list[tuple[str, float]] = []
    for part in parts:
        runs = runs_of(part)
        for program in dict.fromkeys(run.program for run in runs):
            of = {run.variant: run for run in runs if run.program == program}
            found = over_best_rival(of)
            speedups += [(program, found)] if found else []
            table.add(
                *place(part), program, *(shown(of.get(variant)) for variant in variants),
                times(found) if found else "-",
            )  # fmt: skip
    if any(run.simulated is None for part in parts for run in runs_of(part)):
        table.notes.append(
            'A program is "too long" whose simulation was ended, and then has no gain.'
        )
    if without := [each for name, each in speedups if name != smallest]:
        table.notes.append(
            f"Without IS of class S, Thalweg is at most {times(max(without))} as fast as the best "
            "rival."
        )
    table.notes.append(
        f"Thalweg is slower than a rival in {sum(each < even for _, each in speedups)} of "
        f"{len(speedups)} rows (more than 1 %)."
    )
    return table


def costs(parts: Sequence[Part]) -> Table:
    """Tables what each simulation needed."""
    table = Table(
        "What the simulations cost",
        ["network", "ranks", "program", "variant", "wall", "memory", "planning"],
        notes=[
            f"Simulations were ended after {longest} s. One thread; other work ran beside. Memory "
            "is that of the simulation, or of the script that starts it if that needs more.",
        ],
    )
    used = []
    for part in parts:
        for run in runs_of(part):
            table.add(
                *place(part), run.program, run.variant, seconds(run.wall),
                f"{run.memory / 1e9:.2f} GB", seconds(part.facts["planning"]),
            )  # fmt: skip
            if run.simulated is not None:  # of the others only the script's memory is known
                used.append(run.memory)
    table.notes.append(
        f"{sum(each > most_memory for each in used)} of the {len(used)} simulations that came to "
        f"their end need more than {most_memory / 1e9:g} GB."
    )
    return table


def most_ranks(parts: Sequence[Part]) -> str:
    """Says with how many ranks each program was tried at most, whether that ended or not."""
    tried = [(run.program, part.labels["ranks"]) for part in parts for run in runs_of(part)]
    most = {
        each.name: max((ranks for name, ranks in tried if name == each.name), default=0)
        for each in programs
    }
    return ", ".join(f"{name} {ranks:,}" for name, ranks in most.items())


def over_best_rival(of: Mapping[str, Run]) -> float | None:
    """How many times as fast as its best rival Thalweg is, of a program's runs by their variants;
    None if its own simulation, or every rival's, was ended or not run."""
    found = [of[variant].simulated if variant in of else None for variant in variants]
    rivals = [each for each in found[:-1] if each is not None]
    return speedup(min(rivals), found[-1]) if found[-1] and rivals else None


def runs_of(part: Part) -> list[Run]:
    return [Run(**sample) for sample in part.samples]


def place(part: Part) -> tuple[str, str]:
    """The first cells of a row."""
    return part.labels["network"], str(part.labels["ranks"])


def shown(run: Run | None) -> str:
    if run is None:
        return "-"
    return seconds(run.simulated) if run.simulated else "too long"
