"""Plans on networks drawn from seeds, against every other algorithm and the bound, simulated.

The planner ranks its finalists by the `fluid` simulator; here every algorithm's best candidate is
judged by it, finalist or not.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from bench import networks, sources
from bench.cases import block_bytes, by_collective_and_size, judge_networks, percentile_90
from bench.page import Page, Part
from bench.report import Subject, Table, percent, seconds, times
from bench.settings import Settings
from bench.summary import speedup
from thalweg import bounds, planner, units
from thalweg.algorithms import Algorithm, Parameters, Problem, Skeleton, all_algorithms
from thalweg.collective import Collective, Kind, is_rooted
from thalweg.simulator import Fidelity

subject = Subject(
    "planner",
    "Plans, simulated",
    sources.planned,
    ("collective", "size", "multi_site"),
    made="Simulated",
)
sizes = (1_000, 64_000, 1_000_000, 32_000_000)
large = 32_000_000
usual_networks, most_hosts = 200, 256
own = frozenset((
    "binary-scan", "earliest-tree", "group-exchange", "group-tree", "look-ahead-tree",
    "packed-trees", "paced-linear", "postal-tree", "shortest-path-tree", "slowest-first",
    "tree-per-rank",
))  # fmt: skip
"""Algorithms that are neither an MPI library's nor a paper's that we compare with."""
papers = frozenset((
    "hierarchical", "far-first", "two-tier", "site-scatter-allgather", "site-rabenseifner",
    "distance-tree", "hlot", "minimum-spanning-tree", "magpie", "mpich-g2",
))  # fmt: skip
"""Algorithms of papers that we compare with, which look at the network."""
libraries = frozenset((
    "binary", "binomial", "bruck", "butterfly", "chain", "dissemination", "double-ring",
    "exchange", "flat", "knomial", "linear", "linear-scan", "linear-sync", "mesh",
    "neighbor-exchange", "pairwise", "pipelined-chain", "rabenseifner", "recursive-doubling",
    "recursive-doubling-allgather", "recursive-doubling-scan", "recursive-halving", "ring",
    "scatter-allgather", "scatter-doubling", "split-binary",
))  # fmt: skip
"""Algorithms of MPI libraries, which take the ranks in their order."""
most_slower = 0.03
least_gain = 0.25
gains = ("bcast", "reduce", "allreduce", "allgather")
distances = {
    **{name: {large: (1.15, 1.5)} for name in ("bcast", "reduce", "gather", "scatter")},
    **{name: {large: (1.3, 2.0)} for name in ("allreduce", "allgather", "reduce_scatter")},
}
distances_at_1mb = (1.6, 2.0)  # median of the first four, and of the others
worst_shown = 10
fast_messages, fluid_messages = 8000, 16000  # that are simulated of a long pipeline
most_fluid_hosts = 64
widest_window = 128


@dataclass(frozen=True)
class Case:
    """One collective and size on a network; times are of the fluid simulator, in seconds."""

    network: str
    hosts: int
    multi_site: bool
    collective: str
    size: int  # bytes of the vector, or of all blocks together
    root: int
    plan: str
    time: float
    rival: str  # the best algorithm that is not our own
    rival_time: float
    bound: float  # 0: none
    reason: str

    @property
    def slower(self) -> float:
        """How much slower than the rival: 0.03 is 3 %."""
        return self.time / self.rival_time - 1 if self.rival_time else 0.0

    @property
    def distance(self) -> float:
        """The ratio to the bound: 1 is on it."""
        return self.time / self.bound if self.bound else math.nan


@dataclass(frozen=True)
class Contest:
    """The plan for a problem, and the best algorithm that isn't our own; seconds of `fluid`."""

    problem: Problem
    size: int  # bytes, as Case's
    plan: str
    skeleton: Skeleton
    time: float
    rival: str
    rival_skeleton: Skeleton
    rival_time: float


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    most = settings.hosts or most_hosts
    judge_seed = partial(judge_network, settings.sizes or sizes, settings.collectives, most)
    judge_networks(page, settings.seeds(usual_networks), most, judge_seed)


def judge_network(
    of_sizes: Sequence[int], collectives: Sequence[str], most: int, seed: int
) -> list[Case]:
    """Returns all cases of one network."""
    drawn = networks.drawn(seed, most)
    return [judge(drawn, each) for each in contests(drawn, of_sizes, collectives)]


def judge(drawn: networks.Drawn, contest: Contest) -> Case:
    collective = contest.problem.collective
    bound = bounds.bound(contest.problem)
    return Case(
        drawn.name,
        drawn.hosts,
        drawn.is_multi_site,
        collective.kind.name,
        contest.size,
        collective.root,
        contest.plan,
        contest.time,
        contest.rival,
        contest.rival_time,
        bound.time,
        bound.reason,
    )


def contests(
    drawn: networks.Drawn, of_sizes: Sequence[int], collectives: Sequence[str]
) -> Iterator[Contest]:
    """Yields each named collective (default: all) from a random root in each size."""
    draw = random.Random(drawn.seed)
    for kind in Kind:
        if collectives and kind.name not in collectives:
            continue
        root = draw.randrange(drawn.hosts) if is_rooted(kind) else 0
        for size in of_sizes:
            if kind is not Kind.barrier or size == min(of_sizes):
                yield from contest_of(problem_of(drawn, kind, root, size), size)


def contest_of(problem: Problem, size: int) -> Iterator[Contest]:
    """Returns the contest, if any algorithm can do it."""
    plan = planner.plan(
        problem, planner.Options(library=networks.library, disabled=networks.only_algorithms)
    )
    judge = judge_of(problem)
    rivals = [
        (simulated(problem, skeleton, judge), name, skeleton)
        for name, skeleton in rivals_of(problem)
    ]
    if not rivals or plan.algorithm == "native":
        return
    time = simulated(problem, plan.skeleton, judge)
    rival_time, rival, skeleton = min(rivals, key=lambda each: each[0])
    yield Contest(problem, size, plan.algorithm, plan.skeleton, time, rival, skeleton, rival_time)


def judge_of(problem: Problem) -> Fidelity:
    """Returns `fluid`, or `fast` where many ranks send to all, which takes `fluid` minutes."""
    all_to_all = problem.collective.kind in (Kind.allgather, Kind.alltoall)
    return (
        Fidelity.fast
        if all_to_all and problem.collective.ranks > most_fluid_hosts
        else Fidelity.fluid
    )


def problem_of(drawn: networks.Drawn, kind: Kind, root: int, size: int) -> Problem:
    """Returns one rank on each host; all blocks of a block collective have `size` together."""
    each = 0 if kind is Kind.barrier else block_bytes(kind, size, drawn.hosts)
    collective = Collective(kind, drawn.hosts, root, each)
    return Problem(collective, drawn.network, range(drawn.hosts), networks.library)


def rivals_of(problem: Problem) -> Iterator[tuple[str, Skeleton]]:
    """Yields each algorithm that isn't ours, with its best parameters by `fast`."""
    for algorithm in all_algorithms():
        if algorithm.name in own or not algorithm.can_do(problem.collective):
            continue
        best = min(_built(algorithm, problem), key=lambda each: each[0], default=None)
        if best:
            yield algorithm.name, best[1]


def _built(algorithm: Algorithm, problem: Problem) -> Iterator[tuple[float, Skeleton]]:
    for wanted in algorithm.candidates(problem):
        order = "rank" if algorithm.name in libraries else wanted.order
        for window in (0, widest_window):  # where MPI libraries post many messages at once
            parameters = Parameters(**wanted.as_dict() | {"order": order, "window": window})
            skeleton = algorithm.build(problem, parameters)
            yield simulated(problem, skeleton, Fidelity.fast), skeleton
            if skeleton.window > 0:
                break  # they send one at a time


def simulated(problem: Problem, skeleton: Skeleton, fidelity: Fidelity) -> float:
    """Returns seconds; simulates only the beginning of a long pipeline."""
    most = fast_messages if fidelity is Fidelity.fast else fluid_messages
    return networks.simulated(problem, skeleton, fidelity, most)


# The page --------------------------------------------------------------------------------------


def contents(parts: Sequence[Part]) -> list[Table]:
    cases = [Case(**sample) for part in parts for sample in part.samples]
    return [against_rivals(cases), against_bound(cases), worst(cases)]


def against_rivals(cases: Sequence[Case]) -> Table:
    """Tables how often a plan is slower than another algorithm, and its gain."""
    table = Table(
        "Against the best of all other algorithms",
        ["collective", "bytes", "cases", "not over 3 % slower", "slowest", "gain", "sites' gain",
         "bar"],
    )  # fmt: skip
    for collective, size, group in by_collective_and_size(cases):
        multi = [case for case in group if case.multi_site]
        held = [case for case in group if case.slower <= most_slower]
        barred = collective in gains and size == large and multi
        met = len(held) == len(group) and (not barred or gain(multi) >= least_gain)
        table.add(
            collective,
            units.size_to_text(size),
            len(group),
            len(held),
            f"{100 * max(case.slower for case in group):+.1f} %",
            percent(gain(group)),
            percent(gain(multi)) if multi else "",
            "met" if met else "missed",
        )
    table.notes += [
        f"Judged by `fluid`; allgather and alltoall among more than {most_fluid_hosts} hosts by "
        "`fast`.",
        f"{len({case.network for case in cases})} networks of "
        f"{min(case.hosts for case in cases)} to {max(case.hosts for case in cases)} hosts. "
        "Bytes: of the vector, or of all blocks together.",
        "The MPI libraries' algorithms take the ranks in their own order, whatever the network; "
        "the hosts of a site have no adjacent ranks.",
        "Gain: how much faster on the geometric mean; over the networks of several sites the bar "
        f"is {percent(least_gain)} at 32 MB for {', '.join(gains)}.",
    ]
    return table


def gain(cases: Sequence[Case]) -> float:
    """Returns the gain of speed, on the geometric mean: 0.25 is a quarter faster."""
    return statistics.geometric_mean(speedup(case.rival_time, case.time) for case in cases) - 1


def against_bound(cases: Sequence[Case]) -> Table:
    """Returns times over bounds."""
    table = Table(
        "Distance to the bound",
        ["collective", "bytes", "cases", "median", "90th percentile", "worst", "bar", "met"],
    )
    for collective, size, group in by_collective_and_size(case for case in cases if case.bound > 0):
        ratios = [case.distance for case in group]
        median, high = statistics.median(ratios), percentile_90(ratios)
        bar = bar_of(collective, size)
        table.add(
            collective,
            units.size_to_text(size),
            len(ratios),
            times(median),
            times(high),
            times(max(ratios)),
            " / ".join(times(each) for each in bar),
            _met(bar, (median, high)),
        )
    table.notes.append("Bars: median / 90th percentile.")
    return table


def bar_of(collective: str, size: int) -> tuple[float, ...]:
    """Median, and 90th percentile where there is a bar for it; empty: none."""
    if collective not in distances:
        return ()
    if size == 1_000_000:
        return (distances_at_1mb[0 if distances[collective][large][0] < 1.2 else 1],)
    return distances[collective].get(size, ())


def _met(bar: tuple[float, ...], found: tuple[float, float]) -> str:
    if not bar:
        return ""
    return "yes" if all(value <= limit for value, limit in zip(found, bar, strict=False)) else "no"


def worst(cases: Sequence[Case]) -> Table:
    """Tables where plans are farthest from the bound, and why."""
    table = Table(
        "The ten farthest from the bound, from 1 MB up",
        ["network", "collective", "bytes", "root", "plan", "time", "bound", "distance",
         "what sets the bound"],
    )  # fmt: skip
    judged = [case for case in cases if case.bound > 0 and case.size >= 1_000_000]
    for case in sorted(judged, key=lambda case: -case.distance)[:worst_shown]:
        table.add(
            case.network,
            case.collective,
            units.size_to_text(case.size),
            case.root,
            case.plan,
            seconds(case.time),
            seconds(case.bound),
            times(case.distance),
            case.reason,
        )
    return table
