"""Whole programs, recompiled for SimGrid's SMPI with the runtime linked in, beside other selectors.

Thalweg's runs have the real runtime inside, and plans that were made beforehand. What ranks compute
takes no simulated time, so the times are those of MPI alone, from MPI_Init to MPI_Finalize.

SMPI's selectors have levels by hosts, and set them up in each communicator by a message from each
rank to each other, which no library needs. So there is a rival with MPICH's own rules: its
algorithms are named, and its levels are those of `bench/levels.c`. What Thalweg leaves native goes
by the same algorithms, without levels.
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

from bench import families, machine, nas, networks, report, sources
from bench.page import Page, Part
from bench.report import Subject, console, seconds, times
from bench.settings import Settings
from thalweg import export, inputs, paths, planner, plans
from thalweg.algorithms import Problem
from thalweg.collective import Collective, Kind
from thalweg.errors import UserError
from thalweg.network import Network
from thalweg.planner import Phase, Table

subject = Subject(
    "smpi",
    "Whole programs, simulated by SMPI",
    (
        *sources.planned, "src/runtime", "examples", "bench/smpi.py", "bench/levels.c",
        "bench/nas.py",
    ),
    ("network", "ranks", "program", "variant"),
    made="Simulated",
)  # fmt: skip
thalweg = "Thalweg"
selectors = ("mpich", "ompi")
rules = "mpich's rules"
variants = (*selectors, rules, thalweg)
packages = "SimGrid (libsimgrid-dev)"
longest = 600  # seconds of a simulation
unknowns = 1024  # of CG
most_planned = 1024  # ranks; plans for more have the effort `estimate`
most_with_long = 16  # ranks; each holds a whole message
even = 0.99  # times as fast as a rival, at least: not slower
most_selected = 64  # ranks for which SMPI's selectors choose
kinds = (Kind.bcast, Kind.reduce, Kind.allreduce, Kind.gather, Kind.alltoall, Kind.barrier)
"""What the programs call."""
called = {
    "binomial": "binomial_tree",
    "scatter-doubling": "scatter_rdb_allgather",
    "scatter-allgather": "scatter_LR_allgather",
}
"""What SMPI calls MPICH's algorithms of a bcast."""
levels = machine.repository / "bench" / "levels.c"
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
        message = 1_000_000 if ranks <= most_with_long else 131_072
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
    return [*(selectors if case.ranks <= most_selected else ()), rules, thalweg]


def build(program: Program, folder: Path) -> dict[bool, Path]:
    """Compiles a program without the runtime, but with what makes levels by hosts, and with it."""
    objects = []
    for path in [*program.sources(), levels]:
        objects.append(folder / f"{path.stem}.o")
        compiler = ["smpicxx", "-std=c++20"] if path.suffix == ".cpp" else ["smpicc", "-w"]
        call([*compiler, "-O2", "-c", path, "-o", objects[-1]], packages)
    found = {}
    for planned in (False, True):
        found[planned] = folder / f"{objects[0].stem}-{'thalweg' if planned else 'plain'}"
        linked = [*objects[:-1], *paths.simulated_runtime()] if planned else objects
        call(["smpicxx", "-s", *linked, "-o", found[planned]], packages)
    return found


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
    """What smpirun is told: a platform, the hosts of the ranks, a plan, in files of a folder; and
    how native collectives go."""

    def __init__(self, net: Network, placement: list[int], library: str, folder: Path) -> None:
        self.plan = folder / "plan.bin"
        self._net, self._placement, self._folder = net, placement, folder
        self._platform, self._hosts = folder / "platform.xml", folder / "hosts"
        self._platform.write_text("\n".join(export.simgrid(net, of_messages=True)))
        self._hosts.write_text("".join(f"{net.hosts[host].name}\n" for host in placement))
        begin = time.monotonic()
        search = plans.Search("normal" if len(placement) <= most_planned else "estimate")
        table = plans.Setting(net, placement, library, search).table(kinds)
        # The programs' root is rank 0, and each simulated rank has a copy of the plan.
        used = Table(placement, [entry for entry in table.entries if entry.root == 0])
        plans.write_table(self.plan, net, library, used)
        self.planning = time.monotonic() - begin
        """Seconds."""

    def native(self, program: Program, variant: str) -> list[str]:
        """The options that say how native collectives go: of the runtime itself, too, in MPI_Init.

        Of Thalweg's broadcasts only short ones are native. What goes on between hosts decides for
        both levels: SMPI is told one algorithm, and within a host each takes microseconds.
        """
        if variant in selectors:
            return [f"--cfg=smpi/coll-selector:{variant}"]
        size = 1 if variant == thalweg else self._bcast(program)
        bcast = self._phases(Kind.bcast, size)[0].algorithm
        return [
            f"--cfg=smpi/coll-selector:{selectors[0]}", f"--cfg=smpi/bcast:{called[bcast]}",
            "--cfg=smpi/allreduce:rdb", "--cfg=smpi/reduce:binomial",
        ]  # fmt: skip

    def command(self, program: Program, built: Path, chosen: Sequence[str]) -> list[str]:
        """Returns the command that simulates a program with these options of SMPI."""
        command = [
            "smpirun", "-np", self._ranks, "-platform", self._platform, "-hostfile", self._hosts,
            *chosen, built, *program.words(self._ranks),
        ]  # fmt: skip
        return list(map(str, command))

    def environment(self, program: Program, variant: str) -> dict[str, str]:
        """Returns the environment of that command: of Thalweg the plan, of rules the levels."""
        own: dict[str, str] = {}
        if variant == thalweg:
            own = {"THALWEG_PLAN": str(self.plan)}
        elif variant == rules:
            own = {
                "RANKS_PER_HOST": str(self._ranks // len(set(self._placement))),
                "BY_HOSTS": "".join(f"[{kind.name}]" for kind in self._by_hosts(program)),
            }
        return os.environ | {"TMPDIR": str(self._folder)} | own

    @property
    def _ranks(self) -> int:
        return len(self._placement)

    def _bcast(self, program: Program) -> int:
        """Bytes of the program's broadcasts."""
        return max(1, int(program.filled(program.bcast, self._ranks)))

    def _by_hosts(self, program: Program) -> list[Kind]:
        """The collectives that MPICH does between the hosts' leaders and within the hosts.

        Only of a broadcast that depends on the size.
        """
        size = self._bcast(program)
        return [
            kind for kind in kinds
            if len(self._phases(kind, 0 if kind is Kind.barrier else size)) > 1
        ]  # fmt: skip

    def _phases(self, kind: Kind, size: int) -> list[Phase]:
        """What MPICH's rules choose; those of a bcast begin between hosts, if it goes by hosts."""
        collective = Collective(kind, self._ranks, size=size)
        problem = Problem(collective, self._net, self._placement)
        (native,) = planner.native_algorithms(problem, selectors[0])
        return native.phases


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
        ranks = self._case.ranks
        chosen = [*options, *self._inputs.native(program, variant)]
        command = self._inputs.command(program, built[variant == thalweg], chosen)
        begin = time.monotonic()
        log = self._folder / "log"
        with log.open("w") as output:
            process = subprocess.Popen(
                ["timeout", str(longest), *command],
                env=self._inputs.environment(program, variant),
                stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begin
        text = log.read_text()
        if "WRONG" in text or "UNSUCCESSFUL" in text:
            raise UserError(f"{' '.join(command)} computed a wrong result:\n{text[-2000:]}")
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


def contents(parts: Sequence[Part]) -> list[report.Table]:
    """One table of simulated times, and one of what the simulations cost."""
    reached = ", ".join(f"{each.name} {each.most_ranks:,}" for each in programs)
    table = report.Table(
        "Simulated times",
        ["network", "ranks", "program", *(f"{each} selector" for each in selectors), rules,
         thalweg, "faster than the rivals run"],
        notes=[
            "From MPI_Init to MPI_Finalize; plans were made beforehand, and each rank reads the "
            "file, which takes no simulated time. Nor does what ranks compute. What ranks agree on "
            "in Thalweg's MPI_Init does.",
            f"Plans for more than {most_planned} ranks have the effort `estimate`.",
            "The selectors are SMPI's imitations of MPICH and Open MPI. SMPI sets up their levels "
            "by hosts by a message from each rank to each other, which libraries don't need, and "
            f"which is too much above {most_selected} ranks.",
            "MPICH's rules: SMPI's algorithms, as MPICH 4.0 selects them. Where hosts have several "
            f"ranks (above {most_selected}), broadcasts, reductions and barriers go between the "
            "hosts' leaders and within the hosts, as MPICH's do by default; their communicators "
            "cost a broadcast each. What Thalweg leaves native, and its MPI_Init, go by the same "
            "algorithms, but without levels.",
            f"Messages up to MPICH's eager limit, {eager_limit} bytes, don't wait for their "
            "receives.",
            "IS is a program of others: the NAS Parallel Benchmarks' in C, class S, as Debian's "
            "source of SimGrid has it. CG has 1,024 unknowns; N-body's broadcasts have 1 MB, above "
            f"{most_with_long} ranks 131 KB.",
            f"Each program is simulated up to so many ranks: {reached}.",
        ],
    )  # fmt: skip
    costs = report.Table(
        "What the simulations cost",
        ["network", "ranks", "program", "variant", "wall", "memory", "planning"],
        notes=[
            f"Simulations were ended after {longest} s. One thread; other work ran beside. Memory "
            "is that of the simulation, or of the script that starts it if that needs more.",
        ],
    )
    ratios: list[float] = []
    for part in sorted(parts, key=lambda part: (part.labels["ranks"], part.labels["network"])):
        place = [part.labels["network"], str(part.labels["ranks"])]
        runs = [Run(**sample) for sample in part.samples]
        for program in dict.fromkeys(run.program for run in runs):
            of = {run.variant: run for run in runs if run.program == program}
            found = [of[variant].simulated if variant in of else None for variant in variants]
            rivals = [each for each in found[:-1] if each is not None]
            ratio = min(rivals) / found[-1] if found[-1] and rivals else None
            ratios += [ratio] if ratio else []
            gain = times(ratio) if ratio else "-"
            table.add(*place, program, *(shown(of.get(variant)) for variant in variants), gain)
        for each in runs:
            costs.add(
                *place, each.program, each.variant, seconds(each.wall),
                f"{each.memory / 1e9:.2f} GB", seconds(part.facts["planning"]),
            )  # fmt: skip
    if any(sample["simulated"] is None for part in parts for sample in part.samples):
        table.notes.append(
            'A program is "too long" whose simulation was ended, and then has no gain.'
        )
    slower = sum(ratio < even for ratio in ratios)
    table.notes.append(
        f"Thalweg is slower than a rival in {slower} of {len(ratios)} rows (more than 1 %)."
    )
    return [table, costs]


def shown(run: Run | None) -> str:
    if run is None:
        return "-"
    return seconds(run.simulated) if run.simulated else "too long"
