"""Programs built for MPICH and for SMPI alike, and SMPI's model of the lab that runs a scenario.

Beyond the network it has what is known of the lab with MPICH: a message costs its ends some time,
one above the eager limit first waits for a handshake, which takes two more latencies, and a rate is
that of Ethernet frames, of which payload is a part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import families, machine, smpi_programs, smpi_run
from bench.report import console, seconds
from bench.smpi_programs import Compilers, Program, call
from thalweg import paths
from thalweg.errors import UserError
from thalweg.lab.scenario import Scenario

library = "mpich"
packages = f"{smpi_programs.packages} and MPICH (libmpich-dev)"
lab, native, thalweg = "lab", "native", "thalweg"
"""A program's builds: for MPICH, and for SMPI without and with the runtime."""
variants = {native: smpi_run.rules, thalweg: smpi_run.thalweg}
"""What runs in both worlds, and what `script/bench smpi` calls it."""
programs = {
    "cg": next(each for each in smpi_programs.programs if each.name == "CG"),
    "nbody": Program(
        "N-body", "nbody", "--steps 4 --bodies 256 --message {message}", 4096, "{message}"
    ),
    "sor": next(each for each in smpi_programs.programs if each.name == "SOR"),
    "mg": next(each for each in smpi_programs.programs if each.name == "3-D stencil"),
    "is": next(each for each in smpi_programs.programs if each.name == smpi_programs.smallest),
}
"""As in `script/bench smpi`; N-body has fewer bodies, and IS its smallest class alone, so that
computing takes less time."""
span = machine.repository / "bench" / "span.c"
wrapped = ("-Wl,--wrap=MPI_Init", "-Wl,--wrap=MPI_Finalize")
"""Lets span.c see when a program begins and ends."""
payload = (9000 - 52) / (9000 + 14)
"""The part of a frame without the headers of Ethernet, IP and TCP, which has timestamps."""
whole_rate = 1.0
"""The part of a network's rates that data get where headers don't count: all, as plans take it."""
latencies_of_handshake = 3  # there, back, and the data's own


# Programs ---------------------------------------------------------------------------------------


Built = Mapping[str, Path]
"""A program's files by what they are for."""


def build(program: Program, folder: Path) -> Built:
    """Compiles a program for the lab and for SMPI. Raises UserError."""
    compilers = {
        lab: Compilers(
            ["mpicc.mpich", "-w", "-I", without_smpi(folder)], ["mpicxx.mpich", "-std=c++20"]
        ),
        "smpi": smpi_programs.compilers,
    }
    objects = {}
    for world, each in compilers.items():
        there = folder / f"{world}-{program.name.split()[0]}"
        there.mkdir(exist_ok=True)
        objects[world] = each.objects([*program.sources(), span], there, packages)
    simulated, runtime = objects["smpi"], paths.simulated_runtime()
    return {
        lab: linked("mpicxx.mpich", objects[lab], lab),
        native: linked("smpicxx", simulated, native),
        thalweg: linked("smpicxx", [*simulated, *runtime], thalweg),
    }


def linked(linker: str, objects: Sequence[Path], name: str) -> Path:
    program = objects[0].with_name(f"{objects[0].stem}-{name}")
    call([linker, "-s", *objects, *wrapped, "-o", program], packages)
    return program


def without_smpi(folder: Path) -> Path:
    """Returns a folder of headers by which IS, whose source is for SMPI, compiles for others."""
    found = folder / "headers"
    for name, text in {
        "smpi/mpi.h": "#include <mpi.h>\n",
        "simgrid/instr.h": "#define TRACE_smpi_set_category(name)\n",
    }.items():
        (found / name).parent.mkdir(parents=True, exist_ok=True)
        (found / name).write_text(text)
    return found


def seconds_of(said: str, what: str) -> float:
    """Returns the time that span.c printed. Raises ValueError if the program went wrong."""
    took = re.search(r"^span ([0-9.]+) s$", said, re.MULTILINE)
    if smpi_run.is_wrong(said) or not took:
        raise ValueError(f"{what} printed {said.strip()[-300:]}")
    return float(took[1])


# The model --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Simulated:
    seconds: float
    computing: float
    """Seconds that all ranks together computed, as measured on this machine."""


class Model:
    """Simulates programs on the network of a scenario, by files in a folder."""

    def __init__(self, truth: Scenario, folder: Path) -> None:
        net = truth.network
        net.message_costs = {library: families.costs[library]}
        self._inputs = smpi_run.Inputs(net, range(len(net.hosts)), folder)
        self.plan = self._inputs.plan
        planning = self._inputs.make_plan(library)
        console.print(f"planned for {truth.name} in {seconds(planning)}")

    def simulate(self, program: Program, variant: str, built: Path) -> Simulated:
        """Runs a program under smpirun. Raises UserError."""
        ran = self._inputs.simulate(program, variants[variant], built, options())
        computing = re.search(r"([0-9.e+-]+) seconds were actual computation", ran.said)
        if not computing:  # it took too long
            raise UserError(f"{ran.command} failed:\n{ran.said[-2000:]}")
        try:
            found = Simulated(seconds_of(ran.said, program.name), float(computing[1]))
        except ValueError as wrong:
            raise UserError(str(wrong)) from None
        console.print(f"{program.name}, {variant}, simulated: {seconds(found.seconds)}")
        return found


def options(usable: float = payload) -> list[str]:
    """Returns SMPI's options: those of the bare network, and what is known of the lab; `usable` is
    the part of a network's rates that data get."""
    costs = families.costs[library]
    ours = ("network/model", "network/latency-factor", "network/bandwidth-factor")
    usual = [each for each in smpi_run.options if not each.removeprefix("--cfg=").startswith(ours)]
    send, receive = (f"0:{each}:{costs.per_byte}" for each in (costs.send, costs.receive))
    return [
        *usual, "--cfg=network/model:SMPI", f"--cfg=smpi/bw-factor:0:{usable:.4f}",
        f"--cfg=smpi/lat-factor:0:1;{costs.eager_limit + 1}:{latencies_of_handshake}",
        f"--cfg=smpi/os:{send}", f"--cfg=smpi/ois:{send}", f"--cfg=smpi/or:{receive}",
    ]  # fmt: skip


def in_words(usable: float) -> str:
    """Says what options() add to the network."""
    costs = families.costs[library]
    return (
        f"In SMPI a message costs either end {1e6 * costs.send:g} us and "
        f"{1e9 * costs.per_byte:g} ns per byte, one above MPICH's eager limit takes "
        f"{latencies_of_handshake} latencies instead of one, for the handshake, and "
        f"{payload_in_words(usable)}."
    )


def payload_in_words(usable: float) -> str:
    return f"{100 * usable:.3g} % of a rate is payload"
