"""Planning time and memory for networks of 16 to 100,000 hosts."""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context

import numpy as np

from bench import networks, report, sources
from bench.page import Page, Part
from bench.report import Subject, Table, seconds
from bench.settings import Settings
from thalweg import planner
from thalweg.algorithms import Problem
from thalweg.collective import Collective, Kind
from thalweg.network import Host, Network, Trunk
from thalweg.planner import Effort, Options

subject = Subject("scaling", "The cost of planning", sources.planned, ("hosts", "effort", "what"))
hosts = (16, 64, 256, 1024, 4096, 100_000)
most_hosts_in_four_sites = 4096
size = 1_000_000
table_kinds = (Kind.bcast, Kind.reduce, Kind.allreduce)
most_plan_hosts = {Effort.estimate: hosts[-1], Effort.normal: 4096}
most_table_hosts = {Effort.estimate: 4096, Effort.normal: 256}
rate = 1000 * networks.megabit


@dataclass(frozen=True)
class Cost:
    """The cost of planning for a number of hosts, in a separate process."""

    hosts: int
    effort: str
    what: str  # a plan of a collective, or "table"
    time: float  # seconds
    memory: int  # bytes, the most that the process had, without what the network takes
    plan: str


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    for effort in (Effort.estimate, Effort.normal):
        most = min(settings.hosts or hosts[-1], most_plan_hosts[effort])
        for count in (n for n in hosts if n <= most):
            # A new process for each: memory is never given back.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                costs = pool.submit(measure, count, effort.name).result()
            page.add({"hosts": count, "effort": effort.name}, {}, [asdict(c) for c in costs])
            report.console.print(f"{effort.name}: {count} hosts")
    page.finish()


def measure(count: int, effort_name: str) -> list[Cost]:
    """Single plans, then a table."""
    effort = Effort[effort_name]
    net = equal_sites(count)
    before = _memory()
    costs = []
    options = Options(library=networks.library, effort=effort)
    for kind in (Kind.bcast, Kind.allreduce, Kind.allgather):
        each = size if kind is not Kind.allgather else size // count
        problem = Problem(Collective(kind, count, 0, each), net, range(count), networks.library)
        begin = time.perf_counter()
        plan = planner.plan(problem, options)
        spent = time.perf_counter() - begin
        costs.append(Cost(count, effort_name, kind.name, spent, _memory() - before, plan.algorithm))
    if count <= most_table_hosts[effort]:
        begin = time.perf_counter()
        table = planner.make_table(net, range(count), table_kinds, options)
        spent = time.perf_counter() - begin
        rows = f"{len(table.entries)} rows"
        costs.append(Cost(count, effort_name, "table", spent, _memory() - before, rows))
    return costs


def equal_sites(count: int) -> Network:
    """Equal sites, 10 ms apart; trunks of half of what a site's hosts can send.

    There are four sites, of very many hosts 100.
    """
    number = 4 if count <= most_hosts_in_four_sites else 100
    each = count // number
    latency = np.where(np.eye(number, dtype=bool), 100e-6, 10e-3)
    hosts = [Host(f"host{at}", rate, rate) for at in range(count)]
    net = Network.from_classes(
        hosts, [at // each for at in range(count)], latency, np.full((number, number), rate)
    )
    sites = [list(range(at * each, (at + 1) * each)) for at in range(number)]
    net.sites = sites
    net.trunks = [
        Trunk(f"{a}-to-{b}", sites[a], sites[b], each * rate / 2, (each + 1) // 2)
        for a in range(number)
        for b in range(number)
        if a != b
    ]
    net.message_costs = {networks.library: networks.cost}
    return net


def _memory() -> int:
    """Returns the peak memory of this process, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def contents(parts: Sequence[Part]) -> list[Table]:
    costs = [Cost(**sample) for part in parts for sample in part.samples]
    table = Table(
        "Time and memory",
        ["effort", "what", "hosts", "time", "memory", "grows with hosts to the power", "plan"],
    )
    for index, cost in enumerate(costs):
        smaller = [
            other
            for other in costs[:index]
            if (other.effort, other.what) == (cost.effort, cost.what)
        ]
        table.add(
            cost.effort,
            cost.what,
            cost.hosts,
            seconds(cost.time),
            f"{cost.memory / 1e6:.0f} MB",
            f"{exponent(smaller[-1], cost):.1f}" if smaller else "",
            cost.plan,
        )
    table.notes += [
        "Four sites of equal hosts; 100,000 hosts are in 100 sites. Single plans: 1 MB, of an "
        "allgather together. Tables: bcast, reduce and allreduce, all sizes up to 128 MiB.",
        "Memory: the most that the process took beyond what the network itself needs. Times are of "
        "one run on this machine: they tell how planning grows, not how fast another machine is.",
    ]
    return [table]


def exponent(smaller: Cost, larger: Cost) -> float:
    """Returns the power of the number of hosts with which the time grew between two."""
    return math.log(larger.time / smaller.time) / math.log(larger.hosts / smaller.hosts)
