"""CMPI's collectives at 32 to 2,048 ranks, run by the runtime and simulated by SMPI.

After Gong, He, Zhong: Network Performance Aware MPI Collective Communication Operations in the
Cloud, appendix B, whose curve `script/bench cmpi` has from Thalweg's own simulator, with 1 MB and
random roots. Here the real runtime sends CMPI's messages, and SimGrid says how long they take; our
own simulator's times stand beside them. A collective is called once, of 100 KB, from rank 0.
"""

from __future__ import annotations

import random
import re
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bench import cmpi, cmpi_smpi_page, machine, networks, smpi_model, sources
from bench.cmpi import Setup, few_networks
from bench.cmpi_collectives import algorithms, rival
from bench.cmpi_smpi_page import Times, shown
from bench.page import Page
from bench.report import Subject, console
from bench.settings import Settings
from bench.smpi_programs import Program, build
from bench.smpi_run import Inputs, cloud, rules, thalweg
from thalweg.algorithms import Problem, Skeleton, find
from thalweg.collective import Collective, Kind
from thalweg.errors import UserError
from thalweg.planner import Entry

subject = Subject(
    "cmpi-smpi",
    "CMPI's collectives, simulated by SMPI",
    (
        *sources.planned, "src/runtime", *sources.of_cmpi, *sources.of_smpi,
        "bench/cmpi_smpi.py", "bench/single_call.c",
    ),
    ("ranks", "placement", "collective", "seed"),
    made="Simulated",
)  # fmt: skip
size = 100_000  # bytes per rank, of which 2,048 ranks don't need more memory than there is
most_hosts = 128  # SimGrid reads a link for each pair, anew for each call
many_ranks = 256  # from so many on, on one network
placements = tuple(cmpi.placements)
longest = 120  # seconds of a simulation


class SingleCall(Program):
    """`single_call.c` with a collective."""

    def sources(self) -> list[Path]:
        return [machine.repository / "bench" / "single_call.c"]


def single_call(kind: Kind) -> Program:
    return SingleCall(kind.name, "", f"{kind.name} {size}", 4096, str(size), str(size))


def run(settings: Settings) -> None:
    """Simulates each collective on each network in each placement, one variant after the other."""
    page = Page(settings, subject, cmpi_smpi_page.contents)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = build(single_call(Kind.bcast), folder)  # the collective is an argument
        for setup in setups(settings):
            labels = {"ranks": setup.ranks}
            if not page.has(labels):
                found = [
                    times(setup, seed, placement, built, folder)
                    for seed in range(1, setup.networks + 1)
                    for placement in placements
                ]
                page.add(labels, {}, [asdict(each) for group in found for each in group])
    page.finish()


def setups(settings: Settings) -> list[Setup]:
    """The ranks of the paper's appendix, on the hosts of `script/bench cmpi`, or fewer."""
    return [
        replace(each, hosts=min(each.hosts, most_hosts), networks=networks_of(each))
        for each in cmpi.setups()
        if each.sweep == "ranks" and each.ranks <= (settings.hosts or each.ranks)
    ]


def networks_of(setup: Setup) -> int:
    return setup.networks if setup.ranks < many_ranks else few_networks


def times(
    setup: Setup, seed: int, placement: str, built: dict[bool, Path], folder: Path
) -> list[Times]:
    """Both simulators' times of each collective on one network."""
    draw = random.Random(seed)
    net = cloud(draw, setup.hosts)
    hosts = cmpi.placements[placement](draw, setup.ranks, setup.hosts)
    inputs = Inputs(net, hosts, folder, rival)
    found = []
    for kind in algorithms:
        case = Case(
            Problem(Collective(kind, setup.ranks, 0, size), net, hosts, networks.library),
            single_call(kind), inputs, built,
        )  # fmt: skip
        found.append(case.times(setup, seed, placement))
    return found


@dataclass(frozen=True)
class Case:
    """A collective on a network, with what SMPI is told of both."""

    problem: Problem
    program: Program
    inputs: Inputs
    built: dict[bool, Path]

    def times(self, setup: Setup, seed: int, placement: str) -> Times:
        kind = self.problem.collective.kind
        tree = find(algorithms[kind]).build(self.problem, setup.shape().parameters())
        plan = cmpi.plan_of(self.problem) if setup.ranks <= cmpi.most_planned else None
        found = Times(
            setup.ranks, setup.hosts, placement, kind.name, seed,
            mpich=self.simulated(rules),
            cmpi=self.planned(tree),
            thalweg=self.planned(plan.skeleton) if plan else None,
            own_mpich=cmpi.by_hosts(self.problem),
            own_cmpi=cmpi.simulated(self.problem, tree),
            own_thalweg=cmpi.simulated(self.problem, plan.skeleton) if plan else None,
            plan=plan.algorithm if plan else cmpi.no_plan,
        )  # fmt: skip
        console.print(
            f"{setup.ranks} ranks, {placement}, {kind.name}: MPICH2 {shown(found.mpich)}, "
            f"CMPI {shown(found.cmpi)}, Thalweg {shown(found.thalweg)}"
        )
        return found

    def planned(self, skeleton: Skeleton) -> float | None:
        """Seconds by SMPI, with the runtime and a plan that has this schedule."""
        kind = self.problem.collective.kind
        self.inputs.write_plan(networks.library, [Entry(kind, skeleton, 1, size)])
        return self.simulated(thalweg)

    def simulated(self, variant: str) -> float | None:
        """Seconds of the call by SMPI; None if the simulation was ended. Raises UserError."""
        built, model = self.built[variant == thalweg], smpi_model.options(smpi_model.whole_rate)
        found = self.inputs.simulate(self.program, variant, built, model, limit=longest)
        if found.seconds is None:
            return None
        if not (took := re.search(r"^call ([0-9.]+) s$", found.said, re.MULTILINE)):
            raise UserError(f"{found.command} printed no time:\n{found.said[-2000:]}")
        return float(took[1])
