"""How much faster programs are in the mapping's placement than in others, and what decides it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import report, uneven
from bench.bars import undecided
from bench.page import Part, read_parts, valid_runs
from bench.summary import median_interval, speedup

slots = 8  # ranks of a host
timed = ("block", "interleave", "scotch", "thalweg")
planned, block_planned = "planned", "block, planned"
"""The mapping's placement with plans for it, and the launcher's order with plans."""
rivals = ("block", "interleave", "scotch")
"""Launchers' two usual orders and Scotch alone: a speedup is over the fastest of them."""
fastest_rival = "the fastest of block, interleave and Scotch"
bar, least_ratio = 1.5, 0.97
decisive = 6
"""Rounds of which order statistics enclose the median with 95 %; fewer decide nothing."""
missed, same = "MISSED", "same placement"
Speedups = Mapping[tuple[str, str, str, int], float]
"""By cloud, time of day, program and size."""


@dataclass(frozen=True)
class Rounds:
    """How many times as fast one placement is as another in the rounds that have both."""

    count: int
    ratio: float
    """The median of the rounds' ratios."""
    low: float
    high: float
    """What encloses that median: with 95 %, if the rounds suffice."""

    @property
    def at_most_slower(self) -> str:
        """What the bar says, by which a placement loses no more than 3 %."""
        if self.count < decisive or (self.ratio < least_ratio and self.high >= 1):
            return undecided
        return missed if self.ratio < least_ratio else "yes"

    @property
    def reaches_bar(self) -> bool:
        """Whether enough rounds say that it gains what is wanted."""
        return self.count >= decisive and self.low >= bar

    @property
    def may_reach_bar(self) -> bool:
        """Whether it gains that in the median, which the rounds don't suffice to decide."""
        return self.ratio >= bar and not self.reaches_bar


@dataclass(frozen=True)
class Cell:
    """What a part's samples say."""

    part: Part
    medians: Mapping[str, float]
    rival: str
    """The fastest one."""
    speedup: Rounds
    """Over that rival, with plans where these were run."""
    alone: Rounds
    """The same of the placement without plans."""
    repeated: Rounds | None
    """The mapping's placement over block where it is block: the same placement timed twice."""
    promised: float
    simulated: float | None
    """The speedup that SMPI finds on this cloud; None if it isn't simulated."""

    @property
    def name(self) -> str:
        labels = self.part.labels
        return f"{labels['program']} {labels['size']}"

    @property
    def has_plans(self) -> bool:
        """Whether the speedup is that of the placement with plans for it."""
        return planned in self.medians

    @property
    def at_most_slower(self) -> str:
        """What the bar says of the program as it was run."""
        return self.speedup.at_most_slower if self.has_plans else self.at_most_slower_alone

    @property
    def at_most_slower_alone(self) -> str:
        """What the bar says of the placement without plans."""
        if self.repeated and self.rival == "block":
            return same
        return self.alone.at_most_slower


def speedup_of(taken: Mapping[str, float]) -> float:
    """Returns the fastest rival's seconds over the mapping's, with plans where these were run; or
    the same of costs."""
    own = planned if planned in taken else "thalweg"
    return speedup(min(taken[each] for each in rivals if each in taken), taken[own])


def simulated_speedups() -> Speedups:
    """Returns the speedups with as many simulated ranks as the lab has; none without such a page.

    They are those of its samples, since a part may be older than the list of rivals.
    """
    document = report.read_raw(report.results, "placement-smpi")
    here = {"hosts": uneven.HOSTS, "slots": slots}
    return {
        _key(part.labels): speedup_of({each["variant"]: each["simulated"] for each in part.samples})
        for part in (read_parts(document) if document else [])
        if part.labels.items() >= here.items()
    }


def _key(labels: Mapping[str, Any]) -> tuple[str, str, str, int]:
    return labels["scenario"], labels["time"], labels["program"], labels["size"]


def lacking(part: Part) -> list[str]:
    """Returns what has no valid run in a part, without which it is no cell."""
    variants = dict.fromkeys([*(sample["variant"] for sample in part.samples), "thalweg"])
    found = [each for each in variants if not valid_runs(part.samples, each)]
    return found if any(each in variants for each in rivals) else [*found, "any rival"]


def cell_of(part: Part, simulated: Speedups) -> Cell | None:
    """Returns what a part's samples say; None if it lacks something."""
    if lacking(part):
        return None
    variants = dict.fromkeys(sample["variant"] for sample in part.samples)
    medians = {each: statistics.median(_by_round(part, each).values()) for each in variants}
    known = [each for each in rivals if each in medians]
    rival = min(known, key=lambda each: medians[each])
    cost = part.facts["cost"]
    is_block = "block" in medians and cost["block"] == cost["thalweg"]
    return Cell(
        part,
        medians,
        rival,
        speedup=_rounds(part, rival, planned if planned in medians else "thalweg"),
        alone=_rounds(part, rival, "thalweg"),
        repeated=_rounds(part, "block", "thalweg") if is_block else None,
        promised=(
            speedup(min(cost[each] for each in known), cost["thalweg"]) if cost["thalweg"] else 1.0
        ),
        simulated=simulated.get(_key(part.labels)),
    )


def cells_of(parts: Sequence[Part]) -> list[Cell]:
    """Returns the cells of all parts that lack nothing."""
    simulated = simulated_speedups()
    return [cell for part in parts if (cell := cell_of(part, simulated))]


def _rounds(part: Part, other: str, own: str) -> Rounds:
    """Compares two variants that have valid runs; by their medians if no round has both."""
    theirs, ours = _by_round(part, other), _by_round(part, own)
    ratios = [speedup(theirs[turn], ours[turn]) for turn in theirs.keys() & ours.keys()]
    if not ratios:
        ratio = speedup(*(statistics.median(each.values()) for each in (theirs, ours)))
        return Rounds(0, ratio, ratio, ratio)
    return Rounds(len(ratios), statistics.median(ratios), *median_interval(ratios))


def _by_round(part: Part, variant: str) -> dict[int, float]:
    return {run["round"]: run["time"] for run in valid_runs(part.samples, variant)}
