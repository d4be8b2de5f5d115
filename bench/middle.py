"""Plans for messages of medium size on twelve families of networks, against the bound."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from bench import families, networks, sources
from bench.cases import by_collective_and_size, judge_networks, percentile_90, problem_of, text_of
from bench.page import Page, Part
from bench.report import Subject, Table, seconds, times
from bench.settings import Settings
from thalweg import bounds, planner, units
from thalweg.algorithms import Problem
from thalweg.collective import Kind

subject = Subject(
    "middle",
    "Messages of medium size, simulated",
    sources.planned,
    ("collective", "size"),
    made="Simulated",
)
collectives = ("bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall",
               "reduce_scatter")  # fmt: skip
sizes = (1_000, 30_000, 500_000)
usual_networks = 3 * len(families.families)
most_distance = 1.8
barred = ("bcast", "reduce", "allreduce", "allgather", "reduce_scatter")
barred_sizes = (30_000, 500_000)
worst_shown = 20


@dataclass(frozen=True)
class Case:
    """A plan for one collective and size on a network; times in seconds.

    `bound` also counts slow start, `wire_bound` doesn't.
    """

    network: str
    library: str
    collective: str
    size: int  # bytes of the vector, or of each block
    root: int
    plan: str
    time: float
    bound: float
    reason: str
    wire_bound: float

    @property
    def distance(self) -> float:
        return self.time / self.bound

    @property
    def wire_distance(self) -> float:
        return self.time / self.wire_bound


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    most = settings.hosts or max(families.usual_hosts)
    judge = partial(
        judge_network, settings.sizes or sizes, settings.collectives or collectives, most
    )
    judge_networks(page, settings.seeds(usual_networks), most, judge)


def judge_network(
    of_sizes: Sequence[int], of_collectives: Sequence[str], most: int, seed: int
) -> list[Case]:
    """Returns all cases of one network."""
    drawn = families.drawn(seed, most)
    return [
        judge(drawn, problem_of(drawn, Kind[name], size))
        for name in of_collectives
        for size in of_sizes
    ]


def judge(drawn: families.Drawn, problem: Problem) -> Case:
    options = planner.Options(library=drawn.library, disabled=networks.only_algorithms)
    plan = planner.plan(problem, options)
    bound = bounds.bound_with_slow_start(problem)
    collective = problem.collective
    return Case(
        drawn.name,
        drawn.library,
        collective.kind.name,
        collective.size,
        collective.root,
        text_of(plan),
        plan.predicted,
        bound.time,
        bound.reason,
        bounds.bound(problem).time,
    )


# The page --------------------------------------------------------------------------------------


def contents(parts: Sequence[Part]) -> list[Table]:
    cases = [Case(**sample) for part in parts for sample in part.samples]
    return [distances(cases), worst(cases)]


def distances(cases: Sequence[Case]) -> Table:
    """Tables the quotients of time and bound by collective and size."""
    table = Table(
        "Distance to the bound",
        ["collective", "bytes", "cases", "median", "90th percentile", "worst",
         "90th percentile, wire", "bar", "met"],
    )  # fmt: skip
    for collective, size, group in by_collective_and_size(cases):
        ratios = [case.distance for case in group]
        high = percentile_90(ratios)
        has_bar = collective in barred and size in barred_sizes
        table.add(
            collective,
            units.size_to_text(size),
            len(ratios),
            times(statistics.median(ratios)),
            times(high),
            times(max(ratios)),
            times(percentile_90(case.wire_distance for case in group)),
            times(most_distance) if has_bar else "",
            ("yes" if high <= most_distance else "no") if has_bar else "",
        )
    table.notes += [
        "Bytes: of the vector, or of each block. Bar: of the 90th percentile. Native isn't a "
        "candidate.",
        "The bound is that of the wire with its transport: what connections that begin slowly can "
        "carry (on some of the networks of continents and long fat ones). That of the wire "
        "leaves that out. Handshakes are in neither.",
    ]
    return table


def worst(cases: Sequence[Case]) -> Table:
    """Tables where plans are farthest from the bound, and why."""
    table = Table(
        "The farthest from the bound",
        ["network", "library", "collective", "bytes", "plan", "time", "bound", "distance",
         "what sets the bound"],
    )  # fmt: skip
    for case in sorted(cases, key=lambda case: -case.distance)[:worst_shown]:
        table.add(
            case.network,
            case.library,
            case.collective,
            units.size_to_text(case.size),
            case.plan,
            seconds(case.time),
            seconds(case.bound),
            times(case.distance),
            case.reason,
        )
    return table
