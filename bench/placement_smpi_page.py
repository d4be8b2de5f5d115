"""The page of programs in several placements, simulated."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from bench.page import Part
from bench.placement_gains import (
    bar,
    block_planned,
    fastest_rival,
    least_ratio,
    planned,
    speedup_of,
)
from bench.placement_programs import compared
from bench.report import Table, percent, seconds, times
from bench.smpi_run import eager_limit


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns one table of simulated times."""
    table = Table(
        "Simulated times",
        ["hosts", "ranks", "cloud", "time", "program", "size", *compared, planned, block_planned,
         "gain", "promised"],
        notes=[
            "Between MPI_Init and MPI_Finalize; what ranks compute takes no simulated time. The "
            "networks are those of the lab's scenarios, and networks of 32 hosts that are drawn "
            "alike. Planned: in the mapping's placement with plans for it; block, planned: in the "
            f"launcher's order with plans. Gain: {fastest_rival}, over planned where "
            "that was run, else over thalweg. Promised: the same of the placements' costs, in "
            "which plans don't count.",
            "Collectives go by SMPI's imitation of Open MPI's rules. Messages up to MPICH's eager "
            f"limit, {eager_limit} bytes, don't wait for their receives. A message costs its ends "
            "nothing, and none waits for a handshake, neither here nor in the plans: this isn't "
            "the model that [smpi-lab.md](smpi-lab.md) holds against the lab.",
            "Without lu, whose ranks send many short messages one after the other: in SMPI those "
            "from one host to another that are in transit at once share the pair's rate, and all "
            "arrive when the last one does, so that its stages take several times too long.",
        ],
    )  # fmt: skip
    found = [
        (part, {each["variant"]: each["simulated"] for each in part.samples}) for part in parts
    ]
    found.sort(key=lambda each: (each[0].labels["hosts"] * each[0].labels["slots"],
                                 each[0].labels["hosts"]))  # fmt: skip
    for part, taken in found:
        labels = part.labels
        table.add(
            labels["hosts"], labels["hosts"] * labels["slots"], labels["scenario"], labels["time"],
            labels["program"], labels["size"],
            *(seconds(taken[each]) if each in taken else "-"
              for each in (*compared, planned, block_planned)),
            times(speedup_of(taken)), times(speedup_of(part.facts["cost"])),
        )  # fmt: skip
    table.notes += _verdicts(found)
    return [table]


def _verdicts(found: Sequence[tuple[Part, Mapping[str, float]]]) -> list[str]:
    said = []
    for hosts, ranks in dict.fromkeys(_instances(part) for part, _ in found):
        of = [each for each in found if _instances(each[0]) == (hosts, ranks)]
        gains = [speedup_of(taken) for _, taken in of]
        over_block = [taken["block"] / taken["thalweg"] for _, taken in of]
        said.append(
            f"{ranks} ranks on {hosts} hosts, geometric means: gain "
            f"{times(statistics.geometric_mean(gains))}, over block, both without plans, "
            f"{times(statistics.geometric_mean(over_block))}. "
            f"{sum(each >= bar for each in gains)} of {len(gains)} programs gain {bar}x or more."
            + _apart(of)
        )
        said += _over_baseline(hosts, ranks, [taken for _, taken in of])
    worse = [
        f"{part.labels['program']} {part.labels['size']} on {part.labels['scenario']} in the "
        f"{part.labels['time']}, {part.labels['hosts']} hosts, {times(faster)}"
        for part, taken in found
        if (faster := speedup_of(taken)) < least_ratio
    ]
    share = percent(1 - least_ratio)
    said.append(
        f"More than {share} slower than {fastest_rival}, in {len(worse)} of {len(found)} rows: "
        f"{'; '.join(worse) or 'none'}."
    )
    return said


def _apart(of: Sequence[tuple[Part, Mapping[str, float]]]) -> str:
    """Says what placements gain and what plans do, where some programs run with plans."""
    by_plans = [taken for _, taken in of if planned in taken]
    by_placement = [taken for _, taken in of if planned not in taken]
    if not by_plans or not by_placement:
        return ""
    gains = [statistics.geometric_mean(map(speedup_of, each)) for each in (by_placement, by_plans)]
    alone = statistics.geometric_mean(taken["block"] / taken["thalweg"] for taken in by_plans)
    return (
        f" The {len(by_placement)} without plans gain {times(gains[0])} by their placements; the "
        f"{len(by_plans)} with plans {times(gains[1])}, by the placement alone {times(alone)}."
    )


def _over_baseline(hosts: int, ranks: int, runs: Sequence[Mapping[str, float]]) -> Iterator[str]:
    """Says what CloudMap compares: Scotch's placements, with which it places, and its baseline."""
    known = [taken for taken in runs if {"interleave", "scotch"} <= taken.keys()]
    if known:
        scotch, thalweg = (
            times(statistics.geometric_mean(taken["interleave"] / taken[each] for taken in known))
            for each in ("scotch", "thalweg")
        )
        yield (
            f"{ranks} ranks on {hosts} hosts, over CloudMap's baseline (interleave), geometric "
            f"means of {len(known)} programs that send messages: Scotch's placements, with which "
            f"it places, {scotch}, Thalweg's {thalweg}."
        )


def _instances(part: Part) -> tuple[int, int]:
    return part.labels["hosts"], part.labels["hosts"] * part.labels["slots"]
