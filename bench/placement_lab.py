"""Programs on the lab in several placements: launchers' orders, Scotch's and the mapping's.

Each program is recorded once, in blocks; the mapping gets its record and the probed network, as in
`thalweg run`. Collectives are the library's own in all runs: only the placement differs. All
placements take turns.
"""

from __future__ import annotations

import re
import shutil
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import sources
from bench.builds import Build
from bench.page import Page, Part
from bench.progress import Progress
from bench.report import Subject, Table, console, seconds, times
from bench.session import LaunchFailedError, Session, launch_timeout
from bench.settings import Settings
from thalweg import launch_files, mapping, matrices, paths
from thalweg import network as networks
from thalweg.hosts import Host
from thalweg.lab import counters, scenario, scenarios, validity
from thalweg.lab.scenario import Scenario
from thalweg.mapping import Mapping as Placed
from thalweg.matrices import Program
from thalweg.network import Network

subject = Subject(
    "placement-lab",
    "Programs in several placements",
    (*sources.probed, "src/mapping", "examples", "bench/placement_lab.py"),
    ("scenario", "build", "program", "size"),
)
slots = 8  # ranks of a host
timed = ("block", "interleave", "scotch", "thalweg")
compared = (*timed, "random", "intra-only", "inter-only")
rivals = ("block", "scotch")
"""A launcher's order and Scotch alone: the best of the two is what a gain is against."""
bar, enough, least_ratio = 1.5, 0.8, 0.97


@dataclass(frozen=True)
class Kernel:
    """A kernel of examples/patterns.cpp at a size, or LAMMPS with cells in each direction."""

    name: str
    size: int
    repeat: int

    def command(self, build: Build) -> list[str]:
        """Returns the program and its arguments."""
        if self.name == lammps:
            given = ["-in", str(melt), "-log", "none", "-var", "n", str(self.size)]
            return ["lmp", *given, "-var", "steps", str(self.repeat)]
        program = str(paths.binary(f"patterns-{build.flavour}"))
        return [program, self.name, "--size", str(self.size), "--repeat", str(self.repeat)]

    def seconds(self, said: str) -> float:
        """Returns the time that a run printed. Raises LaunchFailedError if it isn't right."""
        if self.name == lammps:
            took = re.search(r"Loop time of ([0-9.e-]+) on", said)
        else:
            took = re.search(r" took ([0-9.]+) s", said)
        if "WRONG" in said or not took:
            raise LaunchFailedError(f"{self.name} printed {said.strip()[-200:]}")
        return float(took[1])


lammps = "lammps"
melt = Path(__file__).with_name("melt.lammps")
kernels = (
    Kernel("cg", 96, 1),
    Kernel("lu", 64, 10),
    Kernel("bt", 32, 20),
    Kernel(lammps, 10, 20),  # time steps
    Kernel("mg", 8, 1),
    Kernel("cg", 4000, 1),
    Kernel("lu", 512, 2),
    Kernel("bt", 96, 10),
    Kernel(lammps, 20, 20),
    Kernel("mg", 16, 1),
)
"""Without LAMMPS where it isn't installed: Debian's package `lammps`, built with Open MPI."""


def clouds() -> dict[str, Scenario]:
    """Returns the lab's scenarios: eight hosts as uneven as CloudMap measured its clouds."""
    found = {}
    for seed in (7, 8):
        document = scenarios.cloud(8, racks=3, seed=seed)
        document["name"] = f"cloud-8-{seed}"
        document["dilation"] = 8
        found[document["name"]] = scenario.parse(document)
    return found


names = tuple(f"cloud-8-{seed}" for seed in (7, 8))


def run(settings: Settings) -> None:
    """Measures each kernel on each scenario with each build."""
    page = Page(settings, subject, contents)
    chosen = [build for build in settings.builds if build.name == "openmpi-4.1"]
    wanted = [each for each in kernels if each.name != lammps or shutil.which("lmp")]
    parts = [
        (name, build, kernel)
        for name in settings.scenarios
        for build in chosen
        for kernel in wanted
    ]
    progress = Progress({_name(*part): 15.0 + 20.0 * settings.repetitions for part in parts})
    for name in settings.scenarios:
        with Session(clouds()[name], settings.dilation, slots) as session:
            for build in chosen:
                file = session.folder / "network.json"
                session.probe(build, file, settings.budget)
                net = networks.read(file)
                for kernel in wanted:
                    labels = {
                        "scenario": name,
                        "build": build.name,
                        "program": kernel.name,
                        "size": kernel.size,
                    }
                    if page.has(labels):
                        continue
                    with progress.part(_name(name, build, kernel)):
                        _measure(page, labels, session, build, net, kernel, settings.repetitions)
    page.finish()


def _name(name: str, build: Build, kernel: Kernel) -> str:
    return f"{name}, {build.name}, {kernel.name} {kernel.size}"


def _measure(
    page: Page, labels: Mapping[str, Any], session: Session, build: Build, net: Network,
    kernel: Kernel, repetitions: int,
) -> None:  # fmt: skip
    try:
        placed = _place(net, _record(session, build, kernel), session.ranks)
    except LaunchFailedError as failure:
        console.print(f"[yellow]{_name(session.name, build, kernel)}: {failure}[/yellow]")
        return
    samples = []
    for _ in range(repetitions):
        for method in timed:
            try:
                samples.append(
                    {"variant": method, **_sample(session, build, net, kernel, placed[method])}
                )
            except LaunchFailedError as failure:
                console.print(f"[yellow]{method}: {failure}[/yellow]")
    facts = {
        "dilation": session.dilation,
        "cost": {method: each.cost.total for method, each in placed.items()},
        "between": {method: each.traffic.inter_host for method, each in placed.items()},
        "comm_time": {method: each.traffic.comm_time for method, each in placed.items()},
    }
    page.add(labels, facts, samples)


def _record(session: Session, build: Build, kernel: Kernel) -> Program:
    """Runs a kernel once, in blocks, with the run record. Raises LaunchFailedError."""
    folder = session.folder / "record"
    shutil.rmtree(folder, ignore_errors=True)
    told = {"LD_PRELOAD": str(paths.library(build.flavour)), "THALWEG_RECORD": str(folder)}
    session.run(build, kernel.command(build), told, timeout=launch_timeout)
    return matrices.read(folder)


def _place(net: Network, program: Program, ranks: int) -> dict[str, Placed]:
    return {
        method: mapping.place(
            net, program.matrix, [slots] * len(net.hosts), calls=program.calls, method=method
        )
        for method in compared
    }


def _sample(
    session: Session, build: Build, net: Network, kernel: Kernel, placed: Placed
) -> dict[str, Any]:
    """One run: the un-dilated seconds of the kernel's timed part. Raises LaunchFailedError."""
    hosts = [Host(host.name, slots) for host in net.hosts]
    order = launch_files.order(
        "openmpi-4", hosts, [net.hosts[host].name for host in placed.placement],
        session.folder / "ranks",
    )  # fmt: skip
    order.write()
    before = counters.read(session.lab)
    said = session.run(build, kernel.command(build), timeout=launch_timeout, options=order.options)
    counted = counters.read(session.lab).since(before)
    time = kernel.seconds(said) / session.dilation
    verdict = validity.judge(session.scenario, counted, time, 0, 0.0)
    return {"time": time, "invalid": list(verdict.reasons)}


# The page --------------------------------------------------------------------------------------


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns the times by placement, and what the placements send between hosts."""
    return [_times(parts), _traffic(parts)]


def _times(parts: Sequence[Part]) -> Table:
    table = Table(
        "A repetition of each kernel, un-dilated",
        ["scenario", "build", "program", "size", *timed, "gain", "predicted", "worst pair"],
        notes=[
            f"Medians of runs that take turns; {slots} ranks on each host. Gain: the faster of "
            "block and Scotch, over thalweg. Predicted: the same of the placements' costs, which "
            "have no computation in them. Worst pair: the least gain in a round.",
        ],
    )  # fmt: skip
    wanted: list[tuple[float, float]] = []
    for part in parts:
        found = {method: _valid(part, method) for method in timed}
        if not all(found.values()):
            continue
        median = {method: statistics.median(each) for method, each in found.items()}
        gain = min(median[rival] for rival in rivals) / median["thalweg"]
        cost = part.facts["cost"]
        promised = min(cost[rival] for rival in rivals) / cost["thalweg"]
        pairs = [
            min(each) / own
            for *each, own in zip(
                *(found[rival] for rival in rivals), found["thalweg"], strict=False
            )
        ]
        wanted.append((gain, promised))
        table.add(
            part.labels["scenario"], part.labels["build"], part.labels["program"],
            part.labels["size"], *(seconds(median[method]) for method in timed),
            times(gain), times(promised), times(min(pairs)),
        )  # fmt: skip
    table.notes += _verdicts(wanted)
    return table


def _verdicts(found: Sequence[tuple[float, float]]) -> list[str]:
    there = [gain for gain, promised in found if promised >= bar]
    reached = sum(gain >= bar for gain in there)
    worse = sum(gain < least_ratio for gain, _ in found)
    met = bool(there) and reached >= enough * len(there)
    return [
        f"A gain of {bar}x is predicted in {len(there)} of {len(found)} cells and reached in "
        f"{reached} of these; wanted in {enough:.0%}: {'met' if met else 'MISSED'}.",
        f"{worse} cells are more than 3 % slower than the faster of block and Scotch: "
        f"{'met' if not worse else 'MISSED'}.",
    ]


def _valid(part: Part, method: str) -> list[float]:
    return [s["time"] for s in part.samples if s["variant"] == method and not s["invalid"]]


def _traffic(parts: Sequence[Part]) -> Table:
    table = Table(
        "Of random placement's, in per cent: bytes between hosts, CommTime (CloudMap's Figure 15)",
        ["scenario", "program", "size", *(each for each in compared if each != "random")],
    )
    for part in parts:
        between, comm_time = part.facts["between"], part.facts["comm_time"]
        table.add(
            part.labels["scenario"], part.labels["program"], part.labels["size"],
            *(
                f"{_share(between, method)}, {_share(comm_time, method)}"
                for method in compared if method != "random"
            ),
        )  # fmt: skip
    return table


def _share(of: Mapping[str, float], method: str) -> str:
    return f"{of[method] / of['random']:.0%}" if of["random"] else "-"
