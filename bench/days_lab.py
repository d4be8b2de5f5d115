"""Two days of a cloud on the lab: CMPI's trees and plans of the first hour, kept and made anew.

Figure 10 of Gong, He, Zhong: Network Performance Aware MPI Collective Communication Operations in
the Cloud, section 5.3, on 16 hosts with a rank each, MPICH 4.0, 1 MB, a random root. The lab's
network is scenario `cloud`, whose pairs drift as those of `script/bench days`: its timeline moves
from hour to hour. CMPI's trees and the plans are made for the network that is there, not for a
probed one. A broadcast of CMPI calls MPICH's own in each group, level by level; in groups of fewer
than eight ranks that is a binomial tree, so that `hierarchical` is the same."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import thalweg
from bench import cmpi, cmpi_collectives, days, days_lab_page, drift, families, networks, sources
from bench.builds import Build
from bench.cmpi_collectives import Shape
from bench.days import Hour
from bench.measurement import Measurement
from bench.page import Page, Record
from bench.progress import Progress
from bench.report import Subject, console
from bench.samples import Cell, native
from bench.samples import thalweg as planned
from bench.session import Session, with_thalweg
from bench.settings import Settings
from thalweg import algorithms, planner, plans
from thalweg.algorithms import Problem, Skeleton
from thalweg.collective import Collective, Kind
from thalweg.lab import scenario
from thalweg.lab.scenario import Scenario
from thalweg.network import Network
from thalweg.planner import Options

subject = Subject(
    "days-lab",
    "Two days of a cloud, on the lab",
    (
        *sources.run_on_lab, *sources.of_cmpi, "bench/days.py", "bench/days_lab.py",
        "bench/drift.py", "bench/families.py",
    ),
    ("scenario", "build", "collective", "hour", "variant"),
)  # fmt: skip
scenarios = ("cloud",)
build_name = "mpich-4.0"
library = "mpich"
every = 6.0  # hours between two measurements
size = 1_000_000
kept, anew = "", "_anew"
"""What follows a variant's name if its tree or plan is of the first hour, or of this one."""
seconds_of = {"bcast": 35.0, "scatter": 120.0}
"""What an hour takes on this machine at the scenario's dilation, about."""


@dataclass(frozen=True)
class Moment:
    """The network of an hour, and the scenario that imposes it."""

    hour: float
    scenario: Scenario
    network: Network


def run(settings: Settings) -> None:
    """Measures each collective in each hour that the page lacks."""
    page = Page(settings, subject, days_lab_page.contents)
    build = settings.the_build(build_name)
    for name in settings.scenarios:
        measure_on(name, settings, page, build)
    page.finish()


def labels(name: str, build: Build, kind: Kind, hour: float) -> Record:
    return {"scenario": name, "build": build.name, "collective": kind.name, "hour": hour}


def measure_on(name: str, settings: Settings, page: Page, build: Build) -> None:
    moments = drifted(name)
    left = {
        (moment.hour, kind): labels(name, build, kind, moment.hour)
        for moment in moments
        for kind in days.kinds
        if kind.name in (settings.collectives or [kind.name])
        and not page.has(labels(name, build, kind, moment.hour))
    }
    if not left:
        return
    session = Session(with_timeline(moments), settings.dilation)
    files = {each.hour: plan(each, session.folder, build) for each in moments}
    progress = Progress({title(*key): seconds_of[key[1].name] for key in left})
    with session:
        for moment in moments:
            if moment is not moments[0]:
                session.advance(moment.scenario)
            for kind in (kind for hour, kind in left if hour == moment.hour):
                with progress.part(title(moment.hour, kind)):
                    found = measure(session, build, kind, moment, files, settings)
                    facts = {
                        "dilation": session.dilation, "root": root(session.ranks),
                        "largest_group": largest_group(moment, kind),
                        "simulated": asdict(simulated(kind, moment, moments[0])),
                    }  # fmt: skip
                    page.add(left[moment.hour, kind], facts, found)


def title(hour: float, kind: Kind) -> str:
    return f"hour {hour:g}, {kind.name}"


# The network ------------------------------------------------------------------------------------


def drifted(name: str) -> list[Moment]:
    """Returns the networks of two days; plans know MPICH's usual message costs."""
    start = scenario.find(name).network
    moments = []
    for hour, net in drift.band.networks(start, days.clouds[0], every):
        found = scenario.parse(imposed(name, net))
        own = found.network
        own.message_costs = {library: families.costs[library]}
        moments.append(Moment(hour, found, own))
    return moments


def imposed(name: str, net: Network) -> dict[str, Any]:
    """Returns a scenario with the latencies and rates of a network."""
    document = scenario.document(name)
    hosts = range(len(net.hosts))
    for key, unit, matrix, scale in (
        ("latency", "ms", net.latency, 1e3),
        ("bandwidth", "Mbps", net.bandwidth, 8e-6),
    ):
        was = document["network"][key]["matrix"]
        document["network"][key] = {
            "unit": unit,
            "matrix": [
                [was[a][b] if a == b else round(scale * float(matrix[a, b]), 4) for b in hosts]
                for a in hosts
            ],
        }
    return document


def with_timeline(moments: Sequence[Moment]) -> Scenario:
    """Returns the scenario of the first hour; its timeline has a step for each later one."""
    document = dict(moments[0].scenario.document)
    document["timeline"] = [
        change
        for at, moment in enumerate(moments[1:])
        for change in drift.step(f"{1e6 * (1 + at):.0f}s", moment.scenario.document["network"])
    ]
    return scenario.parse(document)


# What is measured -------------------------------------------------------------------------------


def root(ranks: int) -> int:
    return random.Random(days.clouds[0]).randrange(ranks)


def collective(kind: Kind, ranks: int) -> Collective:
    return Collective(kind, ranks, root(ranks), size)


def plan(moment: Moment, folder: Path, build: Build) -> Path:
    """Plans both collectives for the network of an hour, from which CMPI's trees are made, too."""
    path = folder / f"hour-{moment.hour:g}.plan"
    at = root(len(moment.network.hosts))
    wanted = (thalweg.Bcast(root=at, nbytes=size), thalweg.Scatter(root=at, nbytes=size))
    plans.save(path, [thalweg.plan(moment.network, each, library=build.flavour) for each in wanted])
    console.print(f"planned for hour {moment.hour:g}")
    return path


def printed(kind: Kind) -> str:
    """Returns CMPI's collective as printed, as THALWEG_FORCE has it."""
    return algorithms.force_text(cmpi_collectives.algorithms[kind], Shape().parameters())


def asked(kind: Kind, moment: Moment) -> Problem:
    ranks = len(moment.network.hosts)
    return Problem(collective(kind, ranks), moment.network, list(range(ranks)), library)


def largest_group(moment: Moment, kind: Kind) -> int:
    """Returns the ranks of the largest group in which CMPI calls a collective of MPICH's."""
    levels = cmpi_collectives.levels(asked(kind, moment), Shape())
    return max(len(group) for groups in levels for group in groups)


def simulated(kind: Kind, moment: Moment, first: Moment) -> Hour:
    """Returns simulated times: MPICH's own, and trees and plans of the first and of this hour."""
    problem = asked(kind, moment)
    (theirs, ours), (theirs_anew, ours_anew) = (made(asked(kind, each)) for each in (first, moment))
    return Hour(
        moment.hour, by_mpich(problem), cmpi.simulated(problem, theirs),
        cmpi.simulated(problem, theirs_anew), cmpi.simulated(problem, ours),
        cmpi.simulated(problem, ours_anew),
    )  # fmt: skip


def made(problem: Problem) -> tuple[Skeleton, Skeleton]:
    """CMPI's tree and our plan for a network."""
    options = Options(library=library, disabled=networks.only_algorithms)
    name = cmpi_collectives.algorithms[problem.collective.kind]
    tree = algorithms.find(name).build(problem, Shape().parameters())
    return tree, planner.plan(problem, options).skeleton


def by_mpich(problem: Problem) -> float:
    """Seconds of what today's MPICH chooses; each host has one rank, so there is one phase."""
    (chosen,) = planner.native_algorithms(problem, library)
    (phase,) = chosen.phases
    native_tree = algorithms.find(phase.algorithm).build(problem, phase.parameters)
    return cmpi.simulated(problem, native_tree)


def measure(
    session: Session, build: Build, kind: Kind, moment: Moment, files: Mapping[float, Path],
    settings: Settings,
) -> list[Record]:  # fmt: skip
    """Runs what is of the first hour beside native in one launch, what is made anew in another."""
    at = root(session.ranks)
    forced = {"cmpi": printed(kind), "ours": planned}
    launches = [(min(files), kept, {"mpich": native, **forced})]
    if moment.hour != min(files):
        launches.append((moment.hour, anew, forced))
    found: list[Record] = []
    for hour, suffix, variants in launches:
        cells = {
            name + (suffix if name in forced else ""): Cell(kind.name, size, at, variant)
            for name, variant in variants.items()
        }
        environment = with_thalweg(build, files[hour])
        measured = session.measure(
            build, list(cells.values()), settings.repetitions, environment, settings.seed
        )
        found += records(measured, cells)
    return found


def records(measured: Measurement, cells: Mapping[str, Cell]) -> list[Record]:
    """Returns the samples, by the names of the page."""
    found: list[Record] = []
    for name, cell in cells.items():
        valid: list[str] = []
        samples = [(sample, valid) for sample in measured.valid.get(cell, [])]
        samples += measured.invalid.get(cell, [])
        found += [
            {"variant": name, "repetition": each.repetition, "time": each.time, "invalid": reasons}
            for each, reasons in samples
        ]
    return found
