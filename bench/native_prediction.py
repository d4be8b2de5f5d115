"""Predicted against measured time of the MPI libraries' own collectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench import report, sources
from bench.measurement import OnScenario
from bench.report import Subject, Table, percent, seconds
from bench.samples import Cell, native
from bench.session import Session
from bench.settings import Settings
from thalweg import network, planner
from thalweg.algorithms import Problem
from thalweg.collective import Collective, Kind, parse_kind
from thalweg.planner import Native

subject = Subject(
    "native-prediction",
    "Predicted and measured times of the MPI libraries' own collectives",
    sources.run_on_lab,
    ("scenario", "build", "dilation", "collective", "size"),
)
sizes = (16_000, 300_000)
"""Bytes of a vector, or of all blocks of a rank: none that the probe measures."""
added_share = 0.8
"""Share of the probe's budget for a library that only adds to the network."""
element = 8
"""Bytes of what reductions add up: doubles."""
most_error = 0.30
least_share = 0.80
"""Share of the cells that must be predicted within `most_error`."""


@dataclass(frozen=True)
class Predicted:
    """What is predicted for a cell, with the native times that the probe measured and without."""

    calibrated: Native
    by_rules: Native


@dataclass(frozen=True)
class Result(OnScenario):
    """One build on one scenario."""

    predicted: dict[Cell, Predicted]


def run(settings: Settings) -> None:
    results = []
    for scenario in settings.scenarios:
        with Session(scenario, settings.dilation) as session:
            results += _results(session, settings)
    data = {"samples": [sample for result in results for sample in result.raw()]}
    report.finish(settings, subject, [errors(results)], data)


def all_cells(ranks: int, only: Sequence[int] = ()) -> list[Cell]:
    """All collectives; the blocks of a rank together are as large as a vector."""
    cells = []
    for size in only or sizes:
        for kind in Kind:
            has_blocks = Collective(kind, ranks, 0, 1).total > 1
            block = size // ranks // element * element if has_blocks else size
            cells.append(Cell(kind.name, 0 if kind is Kind.barrier else block, 0, native))
    return list(dict.fromkeys(cells))


def _results(session: Session, settings: Settings) -> list[Result]:
    """Probes for each build in turn, then measures."""
    file = session.folder / "network.json"
    found = []
    for build in settings.debian_builds():
        budget, base = settings.budget, []
        if file.exists():
            budget, base = added_share * budget, ["--base", str(file)]
        session.probe(build, file, budget, base)
        net = network.read(file)
        cells = all_cells(session.ranks, settings.sizes)
        predicted = {cell: predict(net, build.flavour, cell) for cell in cells}
        measured = session.measure(build, cells, settings.repetitions, seed=settings.seed)
        found.append(Result(session.name, build, session.dilation, measured, predicted))
    return found


def predict(net: network.Network, library: str, cell: Cell) -> Predicted:
    """Predicts the native time of a cell, with one rank on each host."""
    ranks = len(net.hosts)
    collective = Collective(parse_kind(cell.collective), ranks, cell.root, cell.size)
    options = planner.Options(library=library, force="native")

    def native_on(each: network.Network) -> Native:
        problem = Problem(collective, each, range(ranks), library)
        return planner.explain(problem, options).plan.native

    calibrated = native_on(net)
    without = net.copy()
    without.native_times = []
    return Predicted(calibrated, native_on(without))


def errors(results: Sequence[Result]) -> Table:
    """Each prediction and its error."""
    table = Table(
        "Native's predicted time against the measured median",
        ["scenario", "build", "collective", "bytes", "algorithm", "by its rules", "predicted",
         "uncertainty", "measured", "error", f"within {percent(most_error)}"],
        notes=["Bytes are those of a vector or of one block. `by its rules` is simulated only, "
               "`predicted` is scaled by what the probe measured at other sizes."],
    )  # fmt: skip
    held = by_rules = total = 0
    for result in results:
        for cell, predicted in result.predicted.items():
            time = predicted.calibrated.time
            label = [result.scenario, result.build.name, cell.collective, cell.size,
                     predicted.calibrated.algorithm, seconds(predicted.by_rules.time),
                     seconds(time), percent(predicted.calibrated.uncertainty)]  # fmt: skip
            summary = result.measurement.summary(cell)
            if summary is None:
                table.add(*label, "invalid", result.measurement.reasons(cell), "")
                continue
            error = time / summary.median - 1
            holds = abs(error) <= most_error
            total += 1
            held += holds
            by_rules += abs(predicted.by_rules.time / summary.median - 1) <= most_error
            table.add(
                *label, seconds(summary.median), f"{100 * error:+.0f} %", "yes" if holds else "no"
            )
    verdict = "holds" if held >= least_share * total else "doesn't hold"
    table.notes.append(
        f"{held} of {total} cells within {percent(most_error)}; by the rules alone {by_rules}. "
        f"The bar of {percent(least_share)} {verdict}."
    )
    return table
