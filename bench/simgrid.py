"""Plans judged by SimGrid, beside the simulator that chose them.

On networks drawn from seeds our plan and the best rival are replayed on SimGrid's model of the
network (bench/simgrid_judge.cpp), twice: what flows have in common they share as SimGrid has it,
weighted by the inverse of their latencies, and equally, as `fluid` does.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from bench import networks, planner, report, sources
from bench.cases import by_collective_and_size
from bench.page import Page, Part, Record
from bench.report import Subject, Table, percent, times
from bench.settings import Settings
from bench.summary import speedup
from thalweg import algorithms, export, network, paths, schedule, units
from thalweg.algorithms import Problem, Skeleton
from thalweg.errors import UserError
from thalweg.network import Network

subject = Subject(
    "simgrid",
    "Plans, judged by SimGrid",
    sources.planned,
    ("collective", "size"),
    made="Simulated",
)
usual_networks, most_hosts = 14, 32
collectives = (
    "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "reduce_scatter",
)  # fmt: skip
most_messages = 500_000
"""Most messages of a replayed schedule: 10 s."""
worst_shown = 10
weighted, equal = "weighted", "equal"  # shares, as the program calls them


@dataclass(frozen=True)
class Judged:
    """An algorithm's times in seconds; SimGrid's is 0 if the schedule is too long to replay."""

    algorithm: str
    messages: int
    fluid: float
    weighted: float
    equal: float


@dataclass(frozen=True)
class Case:
    """One collective and size on a network."""

    network: str
    hosts: int
    collective: str
    size: int  # bytes of the vector, or of all blocks together
    root: int
    plan: Judged
    rival: Judged

    @property
    def replayed(self) -> bool:
        return self.plan.weighted > 0 and self.rival.weighted > 0


By = Callable[[Judged], float]
"""Returns one simulator's time."""


def by_simgrid(judged: Judged) -> float:
    return judged.weighted


def by_equal_shares(judged: Judged) -> float:
    return judged.equal


def by_fluid(judged: Judged) -> float:
    return judged.fluid


def slower(case: Case, by: By = by_simgrid) -> float:
    """How much slower our plan is than the rival: 0.03 is 3 %."""
    return by(case.plan) / by(case.rival) - 1


def gain(cases: Iterable[Case], by: By) -> float:
    """Returns the gain of speed, on the geometric mean: 0.25 is a quarter faster."""
    return statistics.geometric_mean(speedup(by(case.rival), by(case.plan)) for case in cases) - 1


# Replaying -------------------------------------------------------------------------------------


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    most = settings.hosts or most_hosts
    for seed in settings.seeds(usual_networks):
        drawn = networks.drawn(seed, most)
        cases = judge_network(
            drawn, settings.sizes or planner.sizes, settings.collectives or collectives
        )
        page.add({"seed": seed}, {"hosts": most}, [asdict(case) for case in cases])
        report.console.print(f"network {seed}: {len(cases)} cases")
    page.finish()


def judge_network(
    drawn: networks.Drawn, sizes: Sequence[int], of_collectives: Sequence[str]
) -> list[Case]:
    """Returns all cases of one network."""
    with tempfile.TemporaryDirectory() as folder:
        simgrid = SimGrid(drawn.network, networks.library, Path(folder))
        return [
            Case(
                drawn.name,
                drawn.hosts,
                each.problem.collective.kind.name,
                each.size,
                each.problem.collective.root,
                judge(simgrid, each.problem, each.plan, each.skeleton, each.time),
                judge(simgrid, each.problem, each.rival, each.rival_skeleton, each.rival_time),
            )
            for each in planner.contests(drawn, sizes, of_collectives)
        ]


class SimGrid:
    """Replays schedules on one network; its files are in the caller's `folder`."""

    def __init__(self, net: Network, library: str, folder: Path) -> None:
        self._program, self._library = program(), library
        self._platform, self._network = folder / "platform.xml", folder / "network.json"
        self._schedule = folder / "schedule.json"
        self._platform.write_text("\n".join(export.simgrid(net)))
        network.write(net, self._network)

    def time(self, problem: Problem, replayed: schedule.Schedule, shares: str = weighted) -> float:
        """Seconds until the last exit, rank r on host r. Raises UserError if it can't be done."""
        schedule.write(self._schedule, problem.collective, replayed)
        command = [self._program, self._platform, self._network, self._schedule]
        done = subprocess.run(
            [*map(str, command), self._library, shares], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise UserError(f"SimGrid can't replay the schedule: {done.stderr.strip()}")
        return float(done.stdout.split()[0])


def program() -> Path:
    """Raises UserError if it wasn't built."""
    try:
        return paths.binary("thalweg-bench-simgrid")
    except UserError as error:
        raise UserError(f"{error}; it is built where libsimgrid-dev is installed") from None


def judge(
    simgrid: SimGrid, problem: Problem, algorithm: str, skeleton: Skeleton, fluid: float
) -> Judged:
    collective = problem.collective
    expanded = algorithms.expand(collective.kind, skeleton, collective.size)
    messages = len(expanded) * expanded.segments
    if messages > most_messages:
        return Judged(algorithm, messages, fluid, 0, 0)
    found = [simgrid.time(problem, expanded, shares) for shares in (weighted, equal)]
    return Judged(algorithm, messages, fluid, *found)


# The page --------------------------------------------------------------------------------------


def contents(parts: Sequence[Part]) -> list[Table]:
    cases = [case_of(sample) for part in parts for sample in part.samples]
    return [against_rivals(cases), against_fluid(cases), worst(cases)]


def case_of(sample: Record) -> Case:
    """Restores a case from asdict()."""
    values: Record = {each.name: sample[each.name] for each in fields(Case)}
    return Case(**values | {key: Judged(**values[key]) for key in ("plan", "rival")})


def against_rivals(cases: Sequence[Case]) -> Table:
    """Tables how often SimGrid finds a plan slower than the rival, and its gain."""
    table = Table(
        "Against the best rival",
        ["collective", "bytes", "cases", "left out", "over 3 % slower", "slowest",
         "gain by SimGrid", "with equal shares", "by fluid"],
    )  # fmt: skip
    for collective, size, group in by_collective_and_size(cases):
        replayed = [case for case in group if case.replayed]
        table.add(
            collective, units.size_to_text(size), len(replayed), len(group) - len(replayed),
            *_verdict(replayed),
        )  # fmt: skip
    replayed = [case for case in cases if case.replayed]
    table.add("all", "", len(replayed), len(cases) - len(replayed), *_verdict(replayed))
    hosts = sorted(case.hosts for case in cases)
    table.notes += [
        f"{len({case.network for case in cases})} networks of {hosts[0]} to {hosts[-1]} hosts. "
        "The rival is the best algorithm by `fluid` that is not our own. Gain: how much faster our "
        "plan is on the geometric mean.",
        "SimGrid's flows get shares of what they have in common by the inverse of their latencies; "
        "the planner chose with equal shares. What the two columns of SimGrid differ by is this "
        "rule alone.",
        f"With equal shares {_count(replayed, by_equal_shares)} of our plans are over 3 % slower.",
        f"Left out: one of the two schedules has more than {most_messages:,} messages.",
    ]
    return table


def _verdict(cases: Sequence[Case]) -> list[object]:
    if not cases:
        return [""] * 5
    return [
        _count(cases, by_simgrid),
        f"{100 * max(slower(case) for case in cases):+.1f} %",
        *(percent(gain(cases, by)) for by in (by_simgrid, by_equal_shares, by_fluid)),
    ]


def _count(cases: Iterable[Case], by: By) -> int:
    """Returns the number of our plans that are slower."""
    return sum(slower(case, by) > planner.most_slower for case in cases)


def against_fluid(cases: Sequence[Case]) -> Table:
    """Tables the differences of the simulators' times for our plans."""
    table = Table(
        "SimGrid's time of our plan over that of fluid",
        ["collective", "bytes", "median", "least", "most", "equal shares: median", "least ",
         "most "],
    )  # fmt: skip
    groups = list(by_collective_and_size(case for case in cases if case.replayed))
    everything = [case for _, _, group in groups for case in group]
    for collective, size, group in groups:
        table.add(collective, units.size_to_text(size), *_ratios(group))
    if everything:
        table.add("all", "", *_ratios(everything))
    return table


def _ratios(cases: Sequence[Case]) -> list[str]:
    found = []
    for by in (by_simgrid, by_equal_shares):
        ratios = [by(case.plan) / case.plan.fluid for case in cases]
        found += [times(each) for each in (statistics.median(ratios), min(ratios), max(ratios))]
    return found


def worst(cases: Sequence[Case]) -> Table:
    """Tables where SimGrid finds the rival faster."""
    table = Table(
        "The ten slowest beside their rivals",
        ["network", "collective", "bytes", "root", "plan", "rival", "slower", "with equal shares",
         "by fluid"],
    )  # fmt: skip
    replayed = [case for case in cases if case.replayed]
    for case in sorted(replayed, key=lambda case: -slower(case))[:worst_shown]:
        table.add(
            case.network, case.collective, units.size_to_text(case.size), case.root,
            case.plan.algorithm, case.rival.algorithm,
            *(f"{100 * slower(case, by):+.1f} %" for by in (by_simgrid, by_equal_shares, by_fluid)),
        )  # fmt: skip
    return table
