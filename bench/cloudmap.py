"""CloudMap's figures as costs of placements: larger inputs, faster and larger instances, two days.

After Carreño, Diener, Cruz, Navaux: Automatic Communication Optimization of Parallel Applications
in Public Clouds, Figures 1 to 4 and 6 to 12. Costs (src/mapping/cost.hpp) of drawn patterns on
drawn clouds, not times of its benchmarks; of three programs there are recorded matrices, too.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from itertools import permutations
from pathlib import Path

from bench import recording, report, smpi_model, smpi_programs, smpi_run, sources
from bench.builds import Build
from bench.cloudmap_cases import (
    by_smpi,
    case_of,
    days,
    over_two_days,
    recorded,
    settings_of_paper,
)
from bench.cloudmap_page import contents
from bench.page import Page, Record
from bench.placement_cases import patterns
from bench.placement_programs import Kernel
from bench.report import Subject
from bench.settings import Settings
from thalweg import mapping, matrices
from thalweg.collective import Kind
from thalweg.errors import UserError
from thalweg.matrices import Program

subject = Subject(
    "cloudmap",
    "CloudMap's figures, as costs of placements",
    (
        "src/mapping", *sources.of_smpi, "bench/cloudmap.py", "bench/cloudmap_cases.py",
        "bench/drift.py", "bench/nas.py", "bench/placement_cases.py", *recording.sources,
    ),
    ("figure", "pattern"),
    made="Simulated",
)  # fmt: skip
usual_networks = 6
programs = (Kernel("ft", 64, 1), Kernel("bt", 32, 1))
"""The paper draws these benchmarks, one in which all ranks send alike and one in which few do."""


def run(settings: Settings) -> None:
    if not mapping.has_scotch():
        raise UserError("this build has no Scotch to compare with: install libscotch-dev")
    page = Page(settings, subject, contents)
    count = settings.networks or usual_networks
    for each in settings_of_paper:
        if not page.has({"figure": each.figure}):
            cases = [case_of(each, pattern, seed) for pattern in patterns for seed in range(count)]
            page.add({"figure": each.figure}, {"networks": count}, map(asdict, cases))
            report.console.print(f"Figure {each.figure}")
    if not page.has({"figure": days}):
        page.add({"figure": days}, {}, map(asdict, over_two_days()))
    ranks = settings_of_paper[0].ranks
    if not page.has({"figure": recorded}):
        if made_for := settings.build_named(recording.native):
            page.add({"figure": recorded}, {"ranks": ranks}, sent_by_programs(made_for, ranks))
        else:
            report.console.print(f"[yellow]nothing is recorded: {recording.native} isn't here")
    if not page.has({"figure": by_smpi}):
        page.add({"figure": by_smpi}, {"ranks": ranks}, sent_under_smpi(ranks))
    page.finish()


def sent_by_programs(made_for: Build, ranks: int) -> Iterator[Record]:
    """Runs and records the programs; yields what they send, by pair. Raises UserError."""
    with tempfile.TemporaryDirectory() as folder:
        records = recording.Records(made_for, Path(folder) / "record")
        for kernel in programs:
            yield from sent_by(f"{kernel.name} {kernel.size}", records.of(kernel, ranks))


def sent_under_smpi(ranks: int) -> Iterator[Record]:
    """The same of IS of the NAS benchmarks, which SMPI runs with the runtime inside."""
    program = next(each for each in smpi_programs.programs if not each.example)
    native, hosts = smpi_run.selectors[0], settings_of_paper[0].hosts
    with tempfile.TemporaryDirectory() as name:
        folder, record = Path(name), Path(name) / "record"
        built = smpi_programs.build(program, folder)
        # What is sent depends neither on the network nor on the placement.
        net = smpi_run.cloud(random.Random(1), hosts)
        inputs = smpi_run.Inputs(net, [rank * hosts // ranks for rank in range(ranks)], folder)
        inputs.simulate(
            program, native, built[True], smpi_model.options(smpi_model.whole_rate),
            environment={"THALWEG_RECORD": str(record)},
        )  # fmt: skip
        yield from sent_by(program.name, matrices.read(record))


def sent_by(name: str, sent: Program) -> Iterator[Record]:
    for sender, receiver, nbytes in pairs_of(sent):
        yield {"pattern": name, "sender": sender, "receiver": receiver, "bytes": nbytes}


def pairs_of(sent: Program) -> Iterator[tuple[int, int, float]]:
    """Yields sender, receiver and bytes of messages, and of the blocks of alltoalls, which all have
    to go from each rank to each other."""
    found = sent.matrix
    yield from zip(
        found.sender.tolist(), found.receiver.tolist(), found.nbytes.tolist(), strict=True
    )
    for call in sent.calls:
        if call.kind is Kind.alltoall:
            for sender, receiver in permutations(call.members or range(found.ranks), 2):
                yield sender, receiver, call.size * call.count
