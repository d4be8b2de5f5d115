"""Programs on the lab in several placements: launchers' orders, Scotch's and the mapping's.

Each program is recorded once, in blocks; the mapping gets its record and the network as probed at
the time of the day, as in `thalweg run`. All placements take turns: of the kernels in one launch,
whose ranks are put in another order each time; of other programs by the launcher's own files.
Collectives are the library's own, so only the placement differs; where a program's time is in
collectives, a further run has plans for the placement, too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from bench import sources, uneven
from bench.builds import Build
from bench.page import Page, failed_run
from bench.placement_gains import planned, slots, timed
from bench.placement_lab_page import contents
from bench.placement_programs import (
    Kernel,
    cost,
    costs,
    kernels,
    lammps,
    placements,
    programs,
    stencils,
)
from bench.progress import Progress
from bench.report import Subject, console, seconds
from bench.session import LaunchFailedError, Session, launch_timeout, with_thalweg
from bench.settings import Settings
from thalweg import launch_files, mapping, matrices, paths, planning
from thalweg import network as networks
from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.lab import counters, validity
from thalweg.mapping import Mapping as RankMapping
from thalweg.matrices import Program
from thalweg.network import Network

subject = Subject(
    "placement-lab",
    "Programs in several placements",
    (
        *sources.probed,
        "src/mapping",
        "examples",
        "bench/orders.cpp",
        "bench/placement_lab.py",
        "bench/placement_programs.py",
        "bench/uneven.py",
        "bench/drift.py",
        "python/thalweg/run_placement.py",
    ),
    ("scenario", "time", "build", "program", "size"),
)
probing = 5.0  # un-dilated seconds
beginning = (
    12.5  # un-dilated seconds within which a kernel's rounds begin: 100 s at a dilation of 8
)


scenarios = tuple(uneven.spreads)


def run(settings: Settings) -> None:
    """Measures each kernel on each cloud, in the morning and in the evening."""
    page = Page(settings, subject, contents)
    build = settings.the_build("openmpi-4.1")
    wanted = chosen(settings, build)
    parts = [
        (name, time, kernel)
        for name in settings.scenarios
        for time in uneven.times_of_day
        for kernel in wanted
        if not page.has(_labels(name, time, build, kernel))
    ]
    progress = Progress(
        {
            _name(*part): 15.0 + (5.0 if part[2].is_pattern else 60.0) * settings.repetitions
            for part in parts
        }
    )
    for name in dict.fromkeys(name for name, _, _ in parts):
        with Session(uneven.cloud(name), settings.dilation, slots) as session:
            for time in uneven.times_of_day:
                if time != uneven.times_of_day[0]:
                    session.advance(uneven.cloud_at(name, time))
                todo = [kernel for n, t, kernel in parts if (n, t) == (name, time)]
                if not todo:
                    continue
                file = session.folder / f"{time}.json"
                session.probe(build, file, min(settings.budget, probing))
                net = networks.read(file)
                for kernel in todo:
                    with progress.part(_name(name, time, kernel)):
                        labels = _labels(name, time, build, kernel)
                        _measure(page, labels, session, build, net, kernel, settings.repetitions)
    page.finish()


def chosen(settings: Settings, build: Build) -> list[Kernel]:
    """Returns the kernels that the options choose, and says which have to be left out."""
    found = [
        each
        for each in kernels
        if each.name in (settings.programs or programs)
        and each.size in (settings.sizes or [each.size])
    ]
    for lacks, names, why in (
        (not shutil.which("lmp"), [lammps], f"there is no lmp: apt-get install {lammps}"),
        (not has_stencils(build), stencils, "they aren't built: install gfortran"),
    ):
        kept = [each for each in found if not (lacks and each.name in names)]
        if kept != found:
            console.print(f"[yellow]{', '.join(names)} left out: {why}")
        found = kept
    return found


def has_stencils(build: Build) -> bool:
    """Whether the Fortran programs are here."""
    try:
        return all(paths.binary(f"{name}-{build.flavour}") for name in stencils)
    except UserError:
        return False


def _labels(name: str, time: str, build: Build, kernel: Kernel) -> dict[str, Any]:
    return {
        "scenario": name, "time": time, "build": build.name, "program": kernel.name,
        "size": kernel.size,
    }  # fmt: skip


def _name(name: str, time: str, kernel: Kernel) -> str:
    return f"{name} in the {time}, {kernel.name} {kernel.size}"


def _measure(
    page: Page, labels: Mapping[str, Any], session: Session, build: Build, net: Network,
    kernel: Kernel, repetitions: int,
) -> None:  # fmt: skip
    name = " ".join(map(str, labels.values()))
    try:
        program = _record(session, build, kernel)
    except LaunchFailedError as failure:
        console.print(f"[yellow]{name}: {failure}[/yellow]")
        return
    native = "" if kernel.calls_collectives else build.name
    placed = placements(net, program, _slots(net), native)
    try:
        if kernel.is_pattern:
            samples = _in_one_launch(session, build, net, kernel, placed, repetitions)
        else:
            samples = _in_launches(session, build, net, kernel, placed, repetitions)
    except LaunchFailedError as failure:
        console.print(f"[yellow]{name}: {failure}[/yellow]")
        return
    facts = {
        "dilation": session.dilation,
        **({"in_a_row": kernel.repeat} if kernel.is_pattern else {}),
        "wanted": repetitions,
        **_facts(net, program, placed, native),
    }
    facts["stale"] = _stale(labels, program, net, native)
    page.add(labels, facts, samples)


def _in_one_launch(
    session: Session, build: Build, net: Network, kernel: Kernel, placed: Mapping[str, RankMapping],
    repetitions: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """Runs a kernel in all placements in turn. Raises LaunchFailedError."""
    orders, output = session.folder / "orders", session.folder / "orders.jsonl"
    orders.write_text(
        "".join(
            " ".join(map(str, order_of(session.lab.hosts, net, each.placement))) + "\n"
            for each in placed.values()
        )
    )
    program = [
        str(paths.binary(f"thalweg-bench-orders-{build.flavour}")), "--kernel", kernel.name,
        "--size", str(kernel.size), "--repeat", str(kernel.repeat),
        "--rounds", str(repetitions), "--orders", str(orders),
        "--limit", f"{beginning * session.dilation:g}", "--dilation", f"{session.dilation:g}",
        "--output", str(output),
    ]  # fmt: skip
    session.run(build, program, timeout=4 * launch_timeout)
    samples = []
    for line in map(json.loads, output.read_text().splitlines()):
        counted = counters.parse(line["end"]).since(counters.parse(line["begin"]))
        verdict = validity.judge(session.scenario, counted, line["time"], 0, 0.0)
        variant = list(placed)[line["order"]]
        found = {"variant": variant, "round": line["round"], "time": line["time"]}
        samples.append({**found, "invalid": list(verdict.reasons)})
    return samples


def order_of(hosts: Sequence[str], net: Network, placement: Sequence[int]) -> list[int]:
    """Returns the number that each of the launcher's ranks gets, which are in blocks by host."""
    free = {host: iter(range(at * slots, (at + 1) * slots)) for at, host in enumerate(hosts)}
    numbers = [0] * len(placement)
    for rank, host in enumerate(placement):
        numbers[next(free[net.hosts[host].name])] = rank
    return numbers


def _in_launches(
    session: Session, build: Build, net: Network, kernel: Kernel, placed: Mapping[str, RankMapping],
    repetitions: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """Runs a program in some placements in turn, and in the mapping's with plans for it."""
    name = f"{kernel.name} {kernel.size}"
    environments: dict[str, dict[str, str]] = {method: {} for method in timed if method in placed}
    if kernel.calls_collectives:
        hosts = [net.hosts[host].name for host in placed["thalweg"].placement]
        plan = planning.make_plan(net, hosts, build.flavour, quick=True)
        environments[planned] = with_thalweg(build, plan) | {"THALWEG_RACE": "0"}
    samples = []
    for turn in range(repetitions):
        for variant, environment in environments.items():
            where = placed["thalweg" if variant == planned else variant]
            try:
                found = _sample(session, build, net, kernel, where, environment)
                samples.append({"variant": variant, "round": turn, **found})
            except LaunchFailedError as failure:
                console.print(f"[yellow]{name}, {variant}: {failure}[/yellow]")
                samples.append({"round": turn, **failed_run(variant, failure)})
    return samples


def _facts(
    net: Network, program: Program, placed: Mapping[str, RankMapping], native: str
) -> dict[str, Any]:
    return {
        "cost": costs(net, program, placed, native),
        "between": {method: each.traffic.inter_host for method, each in placed.items()},
        "comm_time": {method: each.traffic.comm_time for method, each in placed.items()},
    }


def _stale(labels: Mapping[str, Any], program: Program, net: Network, native: str) -> float:
    """Returns the cost now of the placement for the other time of the day."""
    (other,) = (time for time in uneven.times_of_day if time != labels["time"])
    then = uneven.network(labels["scenario"], other)
    names = [host.name for host in net.hosts]
    found = mapping.place(then, program.matrix, _slots(then), calls=program.calls, native=native)
    now = [names.index(then.hosts[host].name) for host in found.placement]
    return cost(net, program, now, native)


def _slots(net: Network) -> list[int]:
    return [slots] * len(net.hosts)


def _record(session: Session, build: Build, kernel: Kernel) -> Program:
    """Runs a kernel once, in blocks, with the run record. Raises LaunchFailedError."""
    folder = session.folder / "record"
    shutil.rmtree(folder, ignore_errors=True)
    told = {"LD_PRELOAD": str(paths.library(build.flavour)), "THALWEG_RECORD": str(folder)}
    session.run(build, kernel.command(build), told, timeout=launch_timeout)
    return matrices.read(folder)


def _sample(
    session: Session, build: Build, net: Network, kernel: Kernel, placed: RankMapping,
    environment: Mapping[str, str],
) -> dict[str, Any]:  # fmt: skip
    """One run: the un-dilated seconds of the kernel's timed part. Raises LaunchFailedError."""
    hosts = [Host(host.name, slots) for host in net.hosts]
    order = launch_files.order(
        "openmpi-4", hosts, [net.hosts[host].name for host in placed.placement],
        session.folder / "ranks",
    )  # fmt: skip
    order.write()
    before = counters.read(session.lab)
    said = session.run(
        build, kernel.command(build), environment, timeout=launch_timeout, options=order.options
    )
    counted = counters.read(session.lab).since(before)
    time = kernel.seconds(said) / session.dilation
    verdict = validity.judge(session.scenario, counted, time, 0, 0.0)
    console.print(
        f"{kernel.name} {kernel.size}, {placed.method}: {seconds(time)}", *verdict.reasons
    )
    return {"time": time, "invalid": list(verdict.reasons)}
