"""Whole programs, recompiled for SimGrid's SMPI with the runtime linked in, beside other selectors.

Thalweg's runs have the real runtime inside, and plans that were made beforehand. What ranks compute
takes no simulated time, so the times are those of MPI alone, from MPI_Init to MPI_Finalize.

SMPI's selectors have levels by hosts, and set them up in each communicator by a message from each
rank to each other, which no library needs. So there is a rival with MPICH's own rules: its
algorithms are named, and its levels are those of `bench/levels.c`. What Thalweg leaves native goes
by the same algorithms and levels.

The model is that of `script/bench smpi-lab`, which holds it against the lab, but for headers: plans
are made for the rates that are simulated, and data get all of these. So do message costs count in
both: plans are made with them, and SMPI has them.
"""

from __future__ import annotations

import itertools
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import families, networks, smpi_model, sources
from bench.page import Page
from bench.report import Subject, console
from bench.settings import Settings
from bench.smpi_page import Run, contents
from bench.smpi_programs import Program, build, programs
from bench.smpi_run import Inputs, cloud, most_selected, rules, selectors, thalweg
from thalweg import inputs, plans
from thalweg.network import Network

subject = Subject(
    "smpi",
    "Whole programs, simulated by SMPI",
    (
        *sources.planned, "src/runtime", "examples", *sources.of_smpi, "bench/smpi.py",
        "bench/nas.py",
    ),
    ("network", "ranks", "program", "variant"),
    made="Simulated",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Where programs run: 64 hosts of a drawn network, or a scenario of the lab.

    Latencies are short: in SMPI each message is a flow, and none waits for those before it.
    """

    network: str
    ranks: int


cases = tuple([Case("cloud", 16)] + [Case("cloud-64", ranks) for ranks in (64, 256, 1024, 4096)])


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


class Setting:
    """A case in which programs are simulated."""

    def __init__(self, case: Case, folder: Path) -> None:
        self._case = case
        net = network_of(case)
        hosts = len(net.hosts)
        placement = [rank * hosts // case.ranks for rank in range(case.ranks)]
        if case.ranks < hosts:
            placement = list(range(case.ranks))
        self._inputs = Inputs(net, placement, folder)
        self.planning = self._inputs.make_plan(plans.known_library(net, None, case.network))

    def simulate(self, program: Program, variant: str, built: dict[bool, Path]) -> Run:
        """Runs a program under smpirun."""
        model = smpi_model.options(smpi_model.whole_rate)
        found = self._inputs.simulate(program, variant, built[variant == thalweg], model)
        name = f"{program.name}, {self._case.ranks} ranks, {variant}"
        console.print(f"{name}: {found.seconds} ({found.wall:.0f} s)")
        return Run(program.name, variant, found.seconds, found.wall, found.memory)


def network_of(case: Case) -> Network:
    """The network of a case with message costs, and what ranks of a host have between them."""
    if case.network == "cloud-64":
        return cloud(networks.Draw(64), 64)
    net = inputs.network(Path(case.network))
    net.message_costs = {smpi_model.library: families.costs[smpi_model.library]}
    return net
