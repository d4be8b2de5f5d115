"""Predicted against measured time of every algorithm, and the cost of the planner's choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench import report, sources
from bench.builds import Build
from bench.measurement import Measurement, OnScenario
from bench.report import Subject, Table, percent, seconds
from bench.samples import Cell, native, thalweg
from bench.session import Session, with_thalweg
from bench.settings import Settings
from bench.summary import summarise
from thalweg import algorithms, network, planner, units
from thalweg.algorithms import Parameters, Problem, all_algorithms
from thalweg.collective import Collective, parse_kind

collectives = ("bcast", "allreduce")
small = 64_000  # where the choice is judged, not the prediction
sizes = (small, 1_000_000, 8_000_000)
most_seconds = 5.0  # un-dilated, of one cell's repetitions; at least one is made
most_error = 0.20
most_regret = 0.10


@dataclass(frozen=True)
class Result(OnScenario):
    """One build on one scenario: what was predicted for each cell, and measured."""

    predicted: dict[Cell, float]
    chosen: dict[Cell, str]  # thalweg's cells: the variant that its plan stands for


@dataclass
class Tally:
    """Says how many predictions hold."""

    held: int = 0
    missed: list[str] = field(default_factory=list)
    sizes: set[int] = field(default_factory=set)

    def text(self) -> str:
        total = self.held + len(self.missed)
        at = " and ".join(map(units.size_to_text, sorted(self.sizes)))
        return f"{self.held} of {total} predictions at {at} within {percent(most_error)}."


def run(settings: Settings) -> None:
    results = []
    for scenario in settings.scenarios:
        with Session(scenario, settings.dilation) as session:
            results += [measure(session, build, settings) for build in settings.debian_builds()]
    tables = [errors(results), regrets(results)]
    data = {"samples": [sample for result in results for sample in result.raw()]}
    report.finish(settings, subject(settings), tables, data)


def subject(settings: Settings) -> Subject:
    """Names the page: requested sizes have their own, as they may need another dilation."""
    sizes = [units.size_to_text(size) for size in settings.sizes]
    return Subject(
        "-".join(["prediction", *sizes]),
        "Predicted and measured times",
        sources.run_on_lab,
        ("scenario", "build", "dilation", "collective", "size", "variant"),
        command=" ".join(["prediction", *(f"--size {size}" for size in sizes)]),
    )


def measure(session: Session, build: Build, settings: Settings) -> Result:
    """Returns each algorithm with its best parameters by prediction."""
    planned = session.plan(build)
    net = network.read(planned.network)
    environment = with_thalweg(build, planned)
    result = Result(session.name, build, session.dilation, Measurement(), {}, {})
    for size in settings.sizes or sizes:
        cells = [c for name in collectives for c in _candidates(result, name, size, net)]
        for repetitions, group in _by_repetitions(result, cells, settings.repetitions).items():
            result.measurement.merge(
                session.measure(build, group, repetitions, environment, settings.seed)
            )
    return result


def _candidates(result: Result, collective: str, size: int, net: network.Network) -> list[Cell]:
    """Adds the predictions for one collective and size; returns what to measure."""
    ranks = len(net.hosts)
    library = result.build.flavour
    wanted = Collective(parse_kind(collective), ranks, 0, size)
    problem = Problem(wanted, net, range(ranks), library)
    cells = []
    for algorithm in all_algorithms():
        if not algorithm.supports(problem.collective.kind):
            continue
        best = planner.explain(problem, planner.Options(library=library, force=algorithm.name)).plan
        cell = Cell(collective, size, 0, variant(best.algorithm, best.parameters))
        result.predicted[cell] = best.predicted
        cells.append(cell)
    if size == small:
        chosen = planner.explain(problem, planner.Options(library=library)).plan
        ours = Cell(collective, size, 0, thalweg)
        result.chosen[ours] = variant(chosen.algorithm, chosen.parameters)
        cells += [Cell(collective, size, 0, native), ours]
    return cells


def _by_repetitions(result: Result, cells: Sequence[Cell], most: int) -> dict[int, list[Cell]]:
    """Returns the requested repetitions, or fewer if their predicted time is long."""
    groups: dict[int, list[Cell]] = {}
    for cell in cells:
        fit = int(most_seconds / result.predicted.get(cell, most_seconds / most))
        groups.setdefault(min(most, max(fit, 1)), []).append(cell)
    return groups


def variant(algorithm: str, parameters: Parameters) -> str:
    """Returns THALWEG_FORCE's text."""
    if algorithm == native:
        return native
    return algorithms.force_text(algorithm, parameters)


def errors(results: Sequence[Result]) -> Table:
    """Tables each prediction and its error."""
    tally = Tally()
    table = Table(
        "Fluid prediction against measured median",
        ["scenario", "build", "collective", "bytes", "algorithm", "predicted", "measured",
         "repetitions", "error", f"within {percent(most_error)}"],
    )  # fmt: skip
    for result in results:
        for cell, predicted in result.predicted.items():
            label = [result.scenario, result.build.name, cell.collective, cell.size, cell.variant]
            summary = result.measurement.summary(cell)
            if summary is None:
                reasons = result.measurement.reasons(cell)
                table.add(*label, seconds(predicted), "invalid", 0, reasons, "")
                continue
            times = result.measurement.times(cell)
            error = predicted / summary.median - 1
            holds = abs(error) <= most_error
            if cell.size > small:
                tally.sizes.add(cell.size)
            if cell.size > small and holds:
                tally.held += 1
            elif cell.size > small:
                tally.missed.append(f"{result.scenario} {result.build.name} {cell.argument()}")
            table.add(
                *label, seconds(predicted), seconds(summary.median),
                len(times), f"{100 * error:+.0f} %", "yes" if holds else "no",
            )  # fmt: skip
    if tally.sizes:
        table.notes.append(tally.text())
    return table


def regrets(results: Sequence[Result]) -> Table:
    """Tables the cost of the choice at the small size against the best measured one."""
    table = Table(
        f"The planner's choice at {small} bytes",
        ["scenario", "build", "collective", "chosen", "measured", "best measured", "measured ",
         "regret", f"at most {percent(most_regret)}"],
    )  # fmt: skip
    for result in results:
        for ours, chosen in result.chosen.items():
            if ours.size != small:
                continue
            label = [result.scenario, result.build.name, ours.collective, chosen]
            medians = _medians(result, ours.collective)
            if ours not in medians:
                table.add(*label, "invalid", "", "", result.measurement.reasons(ours), "")
                continue
            best = min(medians, key=lambda cell: medians[cell])
            regret = medians[ours] / medians[best] - 1
            table.add(
                *label, seconds(medians[ours]), best.variant, seconds(medians[best]),
                percent(regret), "yes" if regret <= most_regret else "no",
            )  # fmt: skip
    return table


def _medians(result: Result, collective: str) -> dict[Cell, float]:
    return {
        cell: summarise(result.measurement.times(cell)).median
        for cell in result.measurement.valid
        if cell.collective == collective
        and cell.size == small
        and result.measurement.complete(cell)
    }
