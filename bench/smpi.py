"""Whole programs, recompiled for SimGrid's SMPI with the runtime linked in, beside other selectors.

Thalweg's runs have the real runtime inside, and plans that were made beforehand. What ranks compute
takes no simulated time, so the times are those of MPI alone, from MPI_Init to MPI_Finalize.

SMPI's selectors have levels by hosts, and set them up in each communicator by a message from each
rank to each other, which no library needs. So there is a rival without them, whose algorithms are
named, as MPICH selects them by size; what Thalweg leaves native goes by these, too.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import families, machine, nas, networks, sources
from bench.page import Page, Part
from bench.report import Subject, Table, console, seconds, times
from bench.settings import Settings
from thalweg import export, inputs, paths, plans
from thalweg.collective import Kind
from thalweg.errors import UserError
from thalweg.network import Network

subject = Subject(
    "smpi",
    "Whole programs, simulated by SMPI",
    (*sources.planned, "src/runtime", "examples", "bench/smpi.py", "bench/nas.py"),
    ("network", "ranks", "program", "variant"),
    made="Simulated",
)
thalweg = "Thalweg"
selectors = ("mpich", "ompi")
flat = "mpich, no levels"
variants = (*selectors, flat, thalweg)
packages = "SimGrid (libsimgrid-dev)"
longest = 600  # seconds of a simulation
unknowns = 1024  # of CG
most_planned = 16  # ranks; plans for more have the effort `estimate`
most_selected = 64  # ranks for which SMPI's selectors choose
kinds = (Kind.bcast, Kind.reduce, Kind.allreduce, Kind.gather, Kind.alltoall, Kind.barrier)
"""What the programs call."""
loopback = (1e-6, 5e9)
"""Seconds and bytes per second between ranks of a host."""
eager_limit = families.costs["mpich"].eager_limit
options = (
    "--cfg=network/model:CM02", "--cfg=network/latency-factor:1",
    "--cfg=network/bandwidth-factor:1", "--cfg=network/weight-S:0", "--cfg=network/TCP-gamma:0",
    "--cfg=network/crosstraffic:0",
    f"--cfg=network/loopback-lat:{loopback[0]}", f"--cfg=network/loopback-bw:{loopback[1]}",
    f"--cfg=smpi/async-small-thresh:{eager_limit}",
    f"--cfg=smpi/send-is-detached-thresh:{eager_limit}",
    "--cfg=smpi/simulate-computation:no", "--cfg=smpi/display-timing:yes",
)  # fmt: skip
"""The network is that of the platform, without SimGrid's corrections for others. Messages up to the
eager limit don't wait for their receives, as in all libraries; in SMPI they would, by default."""


@dataclass(frozen=True)
class Program:
    """A program and its arguments, in which {ranks}, {bodies} and others depend on the ranks."""

    name: str
    example: str  # its source in examples/; "": IS of the NAS Parallel Benchmarks
    arguments: str
    most_ranks: int
    bcast: str  # bytes of its broadcasts

    def sources(self) -> list[Path]:
        if not self.example:
            return nas.sources(["is.c", "nas_common.c"])
        return [machine.repository / "examples" / f"{self.example}.cpp"]

    def words(self, ranks: int) -> list[str]:
        """Returns the arguments for a number of ranks."""
        return self.filled(self.arguments, ranks).split()

    def filled(self, text: str, ranks: int) -> str:
        """Returns a text with what depends on the number of ranks filled in.

        Many ranks have shorter messages: each rank holds all of it, and cuts it less.
        """
        message = 1_000_000 if ranks <= most_planned else 131_072
        # The vector is cut into parts that are as long on all ranks.
        vector = 8 * ranks * math.ceil(unknowns / ranks)
        # More rows than the ranks need take so many iterations that change must end them sooner.
        rows, change = (64, 1e-3) if ranks <= 64 else (ranks, 1e-2)
        return text.format(
            ranks=ranks, bodies=max(1024, ranks), message=message, vector=vector, rows=rows,
            change=change,
        )  # fmt: skip


programs = (
    Program("CG", "cg", f"--size {unknowns}", 4096, "{vector}"),
    Program(
        "N-body", "nbody", "--steps 2 --bodies {bodies} --message {message}", 4096, "{message}"
    ),
    Program("SOR", "sor", "--size {rows} --tolerance {change}", 1024, "0"),
    Program("3-D stencil", "patterns", "mg", 1024, "0"),
    Program("IS (NAS)", "", "{ranks} S", 64, "0"),
)


@dataclass(frozen=True)
class Case:
    """Where programs run: 64 hosts of a drawn network, or a scenario of the lab.

    Latencies are short: in SMPI each message is a flow, and none waits for those before it.
    """

    network: str
    ranks: int


cases = tuple([Case("cloud", 16)] + [Case("cloud-64", ranks) for ranks in (64, 256, 1024, 4096)])


@dataclass(frozen=True)
class Run:
    """`simulated` is None if the simulation didn't end in time; wall seconds and peak bytes."""

    program: str
    variant: str
    simulated: float | None
    wall: float
    memory: int


def run(settings: Settings) -> None:
    """Simulates every program in every case, variants one after the other."""
    page = Page(settings, subject, contents)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = {program.name: build(program, folder) for program in programs}
        for case in cases:
            labels = asdict(case)
            if page.has(labels) or case.ranks > (settings.hosts or case.ranks):
                continue
            setting = Setting(case, folder)
            runs = [
                setting.simulate(program, variant, built[program.name])
                for program, variant in itertools.product(programs, variants_of(case))
                if case.ranks <= program.most_ranks
            ]
            page.add(labels, {"planning": setting.planning}, [asdict(each) for each in runs])
    page.finish()


def variants_of(case: Case) -> list[str]:
    """Returns the variants that are compared in a case."""
    return [*(selectors if case.ranks <= most_selected else ()), flat, thalweg]


def build(program: Program, folder: Path) -> dict[bool, Path]:
    """Compiles a program without and with the runtime."""
    objects = []
    for path in program.sources():
        objects.append(folder / f"{path.stem}.o")
        compiler = ["smpicxx", "-std=c++20"] if path.suffix == ".cpp" else ["smpicc", "-w"]
        call([*compiler, "-O2", "-c", path, "-o", objects[-1]], packages)
    found = {}
    for planned in (False, True):
        found[planned] = folder / f"{objects[0].stem}-{'thalweg' if planned else 'plain'}"
        runtime = paths.simulated_runtime() if planned else []
        call(["smpicxx", "-s", *objects, *runtime, "-o", found[planned]], packages)
    return found


def native(program: Program, ranks: int, variant: str) -> list[str]:
    """The options that say how native collectives go: of the runtime itself, too, in MPI_Init."""
    if variant in selectors:
        return [f"--cfg=smpi/coll-selector:{variant}"]
    # With a plan, only short broadcasts are native.
    size = 0 if variant == thalweg else int(program.filled(program.bcast, ranks))
    limits = ((12_288, "binomial_tree"), (524_288, "scatter_rdb_allgather"))
    bcast = next((name for limit, name in limits if size < limit), "scatter_LR_allgather")
    return [
        f"--cfg=smpi/coll-selector:{selectors[0]}", f"--cfg=smpi/bcast:{bcast}",
        "--cfg=smpi/allreduce:rdb", "--cfg=smpi/reduce:binomial",
    ]  # fmt: skip


def call(command: Sequence[str | Path], packages: str) -> None:
    """Runs a compiler or linker. Raises UserError, which names the packages if it isn't there."""
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise UserError(f"no {command[0]}: install {packages}") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr[-2000:]
        raise UserError(f"{' '.join(map(str, command))} failed: {said}") from None


class Inputs:
    """What smpirun reads, as files in a folder: a platform, the hosts of the ranks, a plan."""

    def __init__(self, net: Network, placement: list[int], library: str, folder: Path) -> None:
        self.plan = folder / "plan.bin"
        self._folder, self._ranks = folder, len(placement)
        self._platform, self._hosts = folder / "platform.xml", folder / "hosts"
        self._platform.write_text("\n".join(export.simgrid(net, of_messages=True)))
        self._hosts.write_text("".join(f"{net.hosts[host].name}\n" for host in placement))
        begin = time.monotonic()
        search = plans.Search("normal" if self._ranks <= most_planned else "estimate")
        table = plans.Setting(net, placement, library, search).table(kinds)
        plans.write_table(self.plan, net, library, table)
        self.planning = time.monotonic() - begin
        """Seconds."""

    def command(self, program: Program, built: Path, chosen: Sequence[str]) -> list[str]:
        """Returns the command that simulates a program with these options of SMPI."""
        command = [
            "smpirun", "-np", self._ranks, "-platform", self._platform, "-hostfile", self._hosts,
            *chosen, built, *program.words(self._ranks),
        ]  # fmt: skip
        return list(map(str, command))

    def environment(self, *, planned: bool) -> dict[str, str]:
        """Returns the environment of that command, for a program with the runtime or without."""
        plan = {"THALWEG_PLAN": str(self.plan)} if planned else {}
        return os.environ | {"TMPDIR": str(self._folder)} | plan


class Setting:
    """A case in which programs are simulated."""

    def __init__(self, case: Case, folder: Path) -> None:
        self._case, self._folder = case, folder
        net = network_of(case)
        hosts = len(net.hosts)
        placement = [rank * hosts // case.ranks for rank in range(case.ranks)]
        if case.ranks < hosts:
            placement = list(range(case.ranks))
        library = plans.known_library(net, None, case.network)
        self._inputs = Inputs(net, placement, library, folder)
        self.planning = self._inputs.planning

    def simulate(self, program: Program, variant: str, built: dict[bool, Path]) -> Run:
        """Runs a program under smpirun."""
        planned, ranks = variant == thalweg, self._case.ranks
        chosen = [*options, *native(program, ranks, variant)]
        command = self._inputs.command(program, built[planned], chosen)
        begin = time.monotonic()
        log = self._folder / "log"
        with log.open("w") as output:
            process = subprocess.Popen(
                ["timeout", str(longest), *command],
                env=self._inputs.environment(planned=planned),
                stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begin
        text = log.read_text()
        found = re.search(r"Simulated time: ([0-9.e+-]+) seconds", text)
        if process.returncode not in (0, 124) or (not found and process.returncode == 0):
            raise UserError(f"{' '.join(command)} failed:\n{text[-2000:]}")
        simulated = float(found[1]) if found else None
        console.print(f"{program.name}, {ranks} ranks, {variant}: {simulated} ({wall:.0f} s)")
        return Run(program.name, variant, simulated, wall, usage.ru_maxrss * 1024)


def network_of(case: Case) -> Network:
    """The network of a case, with what ranks of a host have between them."""
    if case.network != "cloud-64":
        return inputs.network(Path(case.network))
    net = networks.cloud(networks.Draw(64), 64)
    net.message_costs = {"mpich": families.costs["mpich"]}
    for host in range(len(net.hosts)):
        net.latency[host, host], net.bandwidth[host, host] = loopback
    return net


def contents(parts: Sequence[Part]) -> list[Table]:
    """One table of simulated times, and one of what the simulations cost."""
    table = Table(
        "Simulated times",
        ["network", "ranks", "program", *(f"{each} selector" for each in selectors), flat,
         thalweg, "faster than the rivals run"],
        notes=[
            "From MPI_Init to MPI_Finalize; plans were made beforehand, and each rank reads the "
            "file, which takes no simulated time. Nor does what ranks compute.",
            f"Plans for more than {most_planned} ranks have the effort `estimate`.",
            "The selectors are SMPI's imitations of MPICH and Open MPI. SMPI sets up their levels "
            "by hosts by a message from each rank to each other, which libraries don't need. "
            "Without levels, the algorithms are those that MPICH selects by size; what Thalweg "
            "leaves native, and its MPI_Init, go by them.",
            f"Above {most_selected} ranks there are several to a host, and no rival with levels by "
            "hosts runs: MPICH and Open MPI would have them for broadcasts and reductions, and be "
            "faster than this one. What is gained over them isn't known at these sizes. A program "
            "is \"too long\" whose simulation was ended, and then has no gain.",
            f"Messages up to MPICH's eager limit, {eager_limit} bytes, don't wait for their "
            "receives.",
            "IS is a program of others: the NAS Parallel Benchmarks' in C, class S, as Debian's "
            "source of SimGrid has it. CG has 1,024 unknowns; N-body's broadcasts have 1 MB, above "
            f"{most_planned} ranks 131 KB.",
        ],
    )  # fmt: skip
    costs = Table(
        "What the simulations cost",
        ["network", "ranks", "program", "variant", "wall", "memory", "planning"],
        notes=[
            f"Simulations were ended after {longest} s. One thread; other work ran beside. Memory "
            "is that of the simulation, or of the script that starts it if that needs more.",
        ],
    )
    for part in sorted(parts, key=lambda part: (part.labels["ranks"], part.labels["network"])):
        place = [part.labels["network"], str(part.labels["ranks"])]
        runs = [Run(**sample) for sample in part.samples]
        for program in dict.fromkeys(run.program for run in runs):
            of = {run.variant: run for run in runs if run.program == program}
            found = [of[variant].simulated if variant in of else None for variant in variants]
            rivals = [each for each in found[:-1] if each is not None]
            gain = times(min(rivals) / found[-1]) if found[-1] and rivals else "-"
            table.add(*place, program, *(shown(of.get(variant)) for variant in variants), gain)
        for each in runs:
            costs.add(
                *place, each.program, each.variant, seconds(each.wall),
                f"{each.memory / 1e9:.2f} GB", seconds(part.facts["planning"]),
            )  # fmt: skip
    return [table, costs]


def shown(run: Run | None) -> str:
    if run is None:
        return "-"
    return seconds(run.simulated) if run.simulated else "too long"
