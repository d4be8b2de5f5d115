"""Planning time and memory for networks of 16 to 4,096 hosts, against the bars.

Each number is measured by a process of its own, `python -m bench.scaling EFFORT WHAT HOSTS`, since
a process never gives memory back.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import machine, networks, report, sources
from bench.page import Page, Part
from bench.report import Subject, Table, seconds
from bench.settings import Settings
from thalweg import planner
from thalweg.algorithms import Problem
from thalweg.collective import Collective, Kind
from thalweg.errors import UserError
from thalweg.network import Host, Network, Trunk
from thalweg.planner import Effort, Options

subject = Subject("scaling", "The cost of planning", sources.planned, ("effort", "what", "hosts"))
table = "table"
"""What is planned: all collectives and roots, at all sizes; or else a collective's name."""
size = 1_000_000
single_kinds = (Kind.bcast, Kind.allreduce, Kind.allgather)
usual_limit = 15.0
rate = 1000 * networks.megabit


@dataclass(frozen=True)
class Case:
    """What is planned in a process of its own."""

    effort: str
    what: str  # a collective, or `table`
    hosts: int
    bar: float | None = None  # most seconds that it may take
    limit: float = usual_limit  # seconds after which it is given up

    def labels(self) -> dict[str, Any]:
        return {"effort": self.effort, "what": self.what, "hosts": self.hosts}


barred = (
    Case("normal", table, 16, bar=2, limit=20),
    Case("normal", table, 64, bar=8, limit=60),
    Case("normal", table, 256, bar=30, limit=90),
    Case("normal", Kind.bcast.name, 1024, bar=2),
    Case("estimate", table, 64, bar=0.5),
)
cases = (
    *barred,
    *(Case("estimate", table, hosts) for hosts in (16, 256, 1024)),
    *(Case("estimate", kind.name, n) for kind in single_kinds for n in (16, 64, 256, 1024)),
    Case("estimate", Kind.bcast.name, 4096),
    *(Case("normal", kind.name, hosts) for kind in single_kinds for hosts in (16, 64, 256)),
)


@dataclass(frozen=True)
class Cost:
    """The cost of a case; without time and plan if it was given up."""

    time: float | None  # seconds
    processor: float  # seconds
    memory: int  # bytes, the most that the process had
    plan: str  # the number of plans, or one plan's algorithm


def run(settings: Settings) -> None:
    """Measures each case of at most settings.hosts."""
    page = Page(settings, subject, contents)
    for case in cases:
        if case.hosts <= (settings.hosts or case.hosts) and not page.has(case.labels()):
            page.add(case.labels(), {}, [measure(case)])
            report.console.print(f"{case.effort}: {case.what} of {case.hosts} hosts")
    page.finish()


def measure(case: Case) -> dict[str, Any]:
    """Returns the cost of a case, measured in a new process, which its limit ends.

    Raises UserError if planning fails.
    """
    words = (case.effort, case.what, str(case.hosts), str(case.limit))
    command = [sys.executable, "-m", "bench.scaling", *words]
    process = subprocess.Popen(command, cwd=machine.repository, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode == -signal.SIGALRM:
        processor = usage.ru_utime + usage.ru_stime
        return vars(Cost(None, processor, 1024 * usage.ru_maxrss, ""))
    if process.returncode != 0:
        raise UserError(f"{' '.join(command)} failed.")
    found: dict[str, Any] = json.loads(printed)
    return found


def plan(case: Case) -> Cost:
    """Plans a case in this process."""
    net = equal_sites(case.hosts)
    options = Options(library=networks.library, effort=planner.parse_effort(case.effort))
    before, begin = _processor_time(), time.perf_counter()
    if case.what == table:
        planned = planner.make_table(net, range(case.hosts), list(Kind), options)
        result = str(len(planned.entries))
    else:
        kind = Kind[case.what]
        each = size if kind is not Kind.allgather else size // case.hosts
        collective = Collective(kind, case.hosts, 0, each)
        problem = Problem(collective, net, range(case.hosts), networks.library)
        result = planner.plan(problem, options).algorithm
    spent = time.perf_counter() - begin
    return Cost(spent, _processor_time() - before, _peak_memory(), result)


def _processor_time() -> float:
    """Returns the user and system time of all threads of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _peak_memory() -> int:
    """Returns this process's in bytes; getrusage() would count that of the one that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def equal_sites(count: int) -> Network:
    """Four equal sites, 10 ms apart; trunks of half of what a site's hosts can send."""
    number = 4
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


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns the table of bars, and one of how the cost grows with the hosts."""
    found = {
        case: Cost(**part.samples[0])
        for case in cases
        for part in parts
        if part.labels == case.labels()
    }
    return [_against_bars(found), _growth(found)]


def _against_bars(found: Mapping[Case, Cost]) -> Table:
    shown = Table(
        "Against the bars",
        ["effort", "what", "hosts", "time", "processor time", "peak memory", "plans", "bar", "met"],
    )
    for case, cost in found.items():
        if case.bar is not None:
            met = cost.time is not None and cost.time <= case.bar
            shown.add(
                case.effort, case.what, case.hosts, _time(case, cost), seconds(cost.processor),
                _memory(cost), cost.plan if case.what == table else 1, f"{case.bar:g} s",
                "yes" if met else "MISSED",
            )  # fmt: skip
    shown.notes += [
        f"A table has plans for all {len(Kind)} collectives and for all roots, of all sizes up to "
        "128 MiB; its plans are its rows. Bars are of elapsed time, on 2 cores.",
        "Each row is of a process of its own, without its start. Processor time is user and system "
        "time of all threads. What took longer than a limit was given up: processor time and "
        "memory are those until then.",
    ]
    return shown


def _growth(found: Mapping[Case, Cost]) -> Table:
    shown = Table(
        "How the cost grows",
        ["effort", "what", "hosts", "time", "grows with hosts to the power", "peak memory", "plan"],
    )
    order = [(effort.name, what) for effort in Effort for what in (table, *Kind.__members__)]
    smaller: dict[tuple[str, str], tuple[Case, Cost]] = {}
    for case in sorted(found, key=lambda case: (order.index((case.effort, case.what)), case.hosts)):
        cost, key = found[case], (case.effort, case.what)
        power = exponent(smaller[key], (case, cost)) if key in smaller else None
        smaller[key] = case, cost
        shown.add(
            *key, case.hosts, _time(case, cost), "" if power is None else f"{power:.1f}",
            _memory(cost), cost.plan + " plans" * (case.what == table and cost.time is not None),
        )  # fmt: skip
    shown.notes += [
        "Four sites of equal hosts. Single plans: 1 MB, of an allgather together.",
        "Memory: that of the whole process, Python and network included. Times are of one run on "
        "this machine: they tell how planning grows, not how fast another machine is.",
    ]
    return shown


def exponent(smaller: tuple[Case, Cost], larger: tuple[Case, Cost]) -> float | None:
    """Returns the power of the number of hosts with which the time grew; None if one is unknown."""
    (few, less), (many, more) = smaller, larger
    if less.time is None or more.time is None:
        return None
    return math.log(more.time / less.time) / math.log(many.hosts / few.hosts)


def _time(case: Case, cost: Cost) -> str:
    return f"> {case.limit:g} s" if cost.time is None else seconds(cost.time)


def _memory(cost: Cost) -> str:
    return f"{cost.memory / 1e6:.0f} MB"


def main(effort: str, what: str, hosts: str, limit: str) -> None:
    """Prints the cost of a case; ends this process by SIGALRM after the limit."""
    # Not handled in Python, which would wait until the planner returns.
    signal.setitimer(signal.ITIMER_REAL, float(limit))
    print(json.dumps(vars(plan(Case(effort, what, int(hosts))))))


if __name__ == "__main__":
    main(*sys.argv[1:])
