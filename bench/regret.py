"""What a table's plans take at any size, beside a plan that is made for just that size."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from bench import families, networks, sources
from bench.cases import judge_networks, problem_of, text_of
from bench.page import Page, Part
from bench.planner import fluid_messages, judge_of
from bench.report import Subject, Table, percent, seconds
from bench.settings import Settings
from thalweg import planner
from thalweg.algorithms import Problem, Skeleton
from thalweg.collective import Collective, Kind

subject = Subject(
    "regret",
    "Tables of plans at sizes between those that were planned",
    sources.planned,
    ("collective", "size"),
    made="Simulated",
)
collectives = ("bcast", "reduce", "allreduce", "gather", "allgather", "alltoall")
bits = range(3, 23)  # of sizes, in bytes of the vector or of all blocks together
usual_networks = 2 * len(families.families)
small_regret, large_regret = 0.05, 0.2
worst_shown = 20


@dataclass(frozen=True)
class Case:
    """A collective and a size on a network; times in seconds, as the simulator has them."""

    network: str
    library: str
    collective: str
    size: int  # bytes of the vector, or of each block
    root: int
    row: str  # the algorithm of the table, or native
    row_time: float
    plan: str  # for just that size
    plan_time: float

    @property
    def regret(self) -> float:
        """What the table's plan takes beyond the other, as a part of that."""
        return self.row_time / self.plan_time - 1


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    most = settings.hosts or max(families.usual_hosts)
    judge = partial(judge_network, settings.collectives or collectives, most)
    judge_networks(page, settings.seeds(usual_networks), most, judge)


def judge_network(of_collectives: Sequence[str], most: int, seed: int) -> list[Case]:
    """Returns all cases of one network."""
    drawn = families.drawn(seed, most)
    kinds = [Kind[name] for name in of_collectives]
    options = planner.Options(library=drawn.library)
    largest = 1 << bits.stop
    table = planner.make_table(drawn.network, drawn.placement, kinds, options, largest)
    return [
        judge(drawn, table, kind, size)
        for kind in kinds
        for size in sizes(Collective(kind, drawn.ranks, 0, 1).blocks)
    ]


def sizes(blocks: int) -> Iterator[int]:
    """Yields sizes about powers of two, where libraries change algorithms, and between these."""
    powers = (1 << each for each in bits)
    about = ((power - 1, power, power + 1, power + power // 2) for power in powers)
    for size in itertools.chain.from_iterable(about):
        if size * blocks < 1 << bits.stop:
            yield size


def judge(drawn: families.Drawn, table: planner.Table, kind: Kind, size: int) -> Case:
    problem = problem_of(drawn, kind, size)
    root = problem.collective.root
    plan = planner.plan(problem, planner.Options(library=drawn.library))
    row = table.find(kind, root, size)
    native = plan.native.time
    chosen, time = "native", native
    if row is not None and not row.native:
        chosen, time = row.skeleton.algorithm, simulated(problem, row.skeleton)
    return Case(
        drawn.name,
        drawn.library,
        kind.name,
        size,
        root,
        chosen,
        time,
        text_of(plan),
        native if plan.algorithm == "native" else simulated(problem, plan.skeleton),
    )


def simulated(problem: Problem, skeleton: Skeleton) -> float:
    return networks.simulated(problem, skeleton, judge_of(problem), fluid_messages)


# The page --------------------------------------------------------------------------------------


def contents(parts: Sequence[Part]) -> list[Table]:
    cases = [Case(**sample) for part in parts for sample in part.samples]
    return [regrets(cases), worst(cases)]


def regrets(cases: Sequence[Case]) -> Table:
    """Tables by collective how often a plan for just that size is faster, and by how much."""
    table = Table(
        "Beyond a plan for just that size",
        ["collective", "cases", f"over {percent(small_regret)}", f"over {percent(large_regret)}",
         "mean", "most"],
        notes=[
            "Sizes are 2^k - 1, 2^k, 2^k + 1 and 1.5 * 2^k bytes. Tables are those of `thalweg "
            "plan`, which plans some sizes and says between which of these a plan holds.",
            "Native, where the table or the plan chooses it, takes what the planner predicts.",
        ],
    )  # fmt: skip
    for name in dict.fromkeys(case.collective for case in cases):
        found = [case.regret for case in cases if case.collective == name]
        table.add(
            name,
            len(found),
            sum(each > small_regret for each in found),
            sum(each > large_regret for each in found),
            f"{100 * sum(found) / len(found):.1f} %",
            f"{100 * max(found):.0f} %",
        )
    return table


def worst(cases: Sequence[Case]) -> Table:
    """Tables where the table's plan is farthest behind."""
    table = Table(
        "The farthest behind",
        ["network", "library", "collective", "bytes", "root", "row", "takes", "plan for the size",
         "takes", "beyond"],
    )  # fmt: skip
    for case in sorted(cases, key=lambda case: -case.regret)[:worst_shown]:
        table.add(
            case.network,
            case.library,
            case.collective,
            case.size,
            case.root,
            case.row,
            seconds(case.row_time),
            case.plan,
            seconds(case.plan_time),
            f"{100 * case.regret:.0f} %",
        )
    return table
