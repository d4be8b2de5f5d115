"""Predicted against measured time of every algorithm, and the cost of the planner's choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import campaign, sources
from bench.bars import close_to_best, most_regret, undecided
from bench.builds import Build
from bench.campaign import Campaign
from bench.cases import Asked, asked_labels, asked_text, block_bytes
from bench.measurement import Measurement
from bench.page import Page, Part, Record
from bench.report import Subject, Table, percent, seconds
from bench.samples import Cell, native, thalweg
from bench.session import Planned, Session, physical_limit, with_thalweg
from bench.settings import Settings
from thalweg import algorithms, network, planner, units
from thalweg.algorithms import Parameters, Problem, all_algorithms
from thalweg.collective import Collective, parse_kind
from thalweg.lab.scenario import Scenario
from thalweg.network import Network

collectives = ("bcast", "allreduce", "allgather")
small = 64_000  # where the choice is judged, not the prediction
sizes = (small, 1_000_000, 8_000_000)  # of the vector, or of all blocks together
subject = Subject(
    "prediction",
    "Predicted and measured times",
    sources.run_on_lab,
    ("scenario", "build", "collective", "size", "variant"),
)
most_seconds = 5.0  # un-dilated, of one cell's repetitions; at least one is made
most_error = 0.20
of_file = "choice of file"
"""The fact that a choice is the plan file's, which is what runs, and not a plan for one size."""
times_bound = 5.0  # that an algorithm takes, as far as progress is concerned


@dataclass(frozen=True)
class Result:
    """A part: what was predicted for each variant of a collective and size, and measured."""

    labels: Record
    predicted: Mapping[str, float]
    chosen: str | None  # the variant that the plan stands for, where the choice is judged
    of_file: bool  # or else planned for just this size
    block: int  # bytes of the vector, or of one block
    dilation: float
    measurement: Measurement

    def cell(self, name: str) -> Cell:
        return Cell(self.labels["collective"], self.block, 0, name)


@dataclass
class Tally:
    """How many predictions hold, and which don't."""

    held: int = 0
    missed: list[str] = field(default_factory=list)
    sizes: set[int] = field(default_factory=set)

    def text(self) -> str:
        total = self.held + len(self.missed)
        at = " and ".join(map(units.size_to_text, sorted(self.sizes)))
        return f"{self.held} of {total} predictions at {at} within {percent(most_error)}."


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    campaign.run(settings, page, parts(settings, page))


def parts(settings: Settings, page: Page) -> Campaign[Asked]:
    """A part for each collective and size."""

    def duration(truth: Scenario, asked: Asked) -> float:
        name, size = asked
        kind = parse_kind(name)
        bound = physical_limit(truth, name, block_bytes(kind, size, len(truth.hosts))) or 0
        count = sum(each.supports(kind) for each in all_algorithms())
        return count * min(most_seconds, (settings.repetitions + 1) * times_bound * bound)

    def measure(session: Session, build: Build, planned: Planned, asked: Asked) -> None:
        add(page, session, build, planned, asked, settings)

    return Campaign(grid(settings), asked_text, asked_labels, duration, measure)


def grid(settings: Settings) -> list[Asked]:
    return [(name, size) for size in settings.sizes or sizes for name in collectives]


def add(
    page: Page,
    session: Session,
    build: Build,
    planned: Planned,
    asked: Asked,
    settings: Settings,
) -> None:
    """Measures each algorithm with its best parameters by prediction."""
    name, size = asked
    net = network.read(planned.network)
    block = block_bytes(parse_kind(name), size, len(net.hosts))
    problem = problem_of(name, block, net, build.flavour)
    predicted = predictions(problem, build.flavour)
    chosen = choice(planned.plan, problem.collective) if size == small else None
    measured = Measurement()
    for repetitions, group in by_repetitions(predicted, chosen, settings.repetitions).items():
        cells = [Cell(name, block, 0, each) for each in group]
        environment = with_thalweg(build, planned.plan)
        measured.merge(session.measure(build, cells, repetitions, environment, settings.seed))
    facts = {
        "predicted": predicted,
        "chosen": chosen,
        of_file: True,
        "block": block,
        "repetitions": {cell.variant: wanted for cell, wanted in measured.wanted.items()},
        "dilation": session.dilation,
        "failed_launches": measured.failed_launches,
    }
    page.add(asked_labels(session.name, build.name, asked), facts, measured.raw())


def problem_of(collective: str, block: int, net: Network, library: str) -> Problem:
    """Returns the collective from rank 0, one rank on each host, with `block` bytes of the vector
    or of each block."""
    ranks = len(net.hosts)
    return Problem(Collective(parse_kind(collective), ranks, 0, block), net, range(ranks), library)


def predictions(problem: Problem, library: str) -> dict[str, float]:
    """Returns the seconds of each algorithm's best parameters, in THALWEG_FORCE's syntax."""
    found = {}
    for algorithm in all_algorithms():
        if algorithm.supports(problem.collective.kind) and algorithm.can_do(problem.collective):
            options = planner.Options(library=library, force=algorithm.name)
            best = planner.explain(problem, options).plan
            found[variant(best.algorithm, best.parameters)] = best.predicted
    return found


def choice(file: Path, collective: Collective) -> str:
    """Returns what a plan file has for a collective, in the same syntax, of which its rows keep the
    segments and the window."""
    (table,) = planner.from_bytes(file.read_bytes()).tables
    row = table.find(collective.kind, collective.root, collective.size)
    if row is None or row.native:
        return native
    plan = row.skeleton
    return variant(plan.algorithm, Parameters(segment_size=plan.segment_size, window=plan.window))


def by_repetitions(
    predicted: Mapping[str, float], chosen: str | None, most: int
) -> dict[int, list[str]]:
    """Returns the requested repetitions, or fewer if their predicted time is long."""
    groups: dict[int, list[str]] = {}
    for name, time in predicted.items():
        groups.setdefault(min(most, max(int(most_seconds / time), 1)), []).append(name)
    if chosen:
        groups.setdefault(most, []).extend((native, thalweg))
    return groups


def variant(algorithm: str, parameters: Parameters) -> str:
    """Returns THALWEG_FORCE's text."""
    if algorithm == native:
        return native
    return algorithms.force_text(algorithm, parameters)


# The page --------------------------------------------------------------------------------------


def contents(parts: Sequence[Part]) -> list[Table]:
    results = [result_of(part) for part in parts]
    return [errors(results), regrets(results)]


def result_of(part: Part) -> Result:
    """Restores what is behind a part's facts and samples."""
    facts = part.facts
    wanted = {
        Cell(part.labels["collective"], facts["block"], 0, name): int(repetitions)
        for name, repetitions in facts["repetitions"].items()
    }
    measured = Measurement.restored(wanted, part.samples)
    measured.failed_launches = facts["failed_launches"]
    # What a library's own takes is on `native-prediction.md`.
    predicted = {name: time for name, time in facts["predicted"].items() if name != native}
    return Result(
        part.labels, predicted, facts["chosen"], facts.get(of_file, False), facts["block"],
        facts["dilation"], measured,
    )  # fmt: skip


def errors(results: Sequence[Result]) -> Table:
    """Tables each prediction and its error."""
    tallies: dict[bool, Tally] = {False: Tally(), True: Tally()}  # by whether the size is small
    table = Table(
        "Fluid prediction against measured median",
        ["scenario", "build", "collective", "bytes", "algorithm", "predicted", "measured",
         "repetitions", "dilation", "error", f"within {percent(most_error)}"],
        notes=["Bytes: of the vector, or of all blocks together."],
    )  # fmt: skip
    for result in results:
        size = result.labels["size"]
        tally = tallies[size <= small]
        for name, predicted in result.predicted.items():
            label = [*(str(each) for each in result.labels.values()), name, seconds(predicted)]
            cell = result.cell(name)
            summary = result.measurement.summary(cell)
            if summary is None:
                reasons = [result.measurement.reasons(cell), *result.measurement.failed_launches]
                why = "; ".join(filter(None, reasons))
                table.add(*label, "invalid", 0, f"{result.dilation:g}", why, "")
                continue
            error = predicted / summary.median - 1
            holds = abs(error) <= most_error
            tally.sizes.add(size)
            if holds:
                tally.held += 1
            else:
                tally.missed.append(" ".join(label[:-1]))
            table.add(
                *label, seconds(summary.median), len(result.measurement.times(cell)),
                f"{result.dilation:g}", f"{100 * error:+.0f} %", "yes" if holds else "no",
            )  # fmt: skip
    table.notes += [tally.text() for tally in tallies.values() if tally.sizes]
    return table


def regrets(results: Sequence[Result]) -> Table:
    """Tables the cost of the choice at the small size against the best measured one."""
    table = Table(
        f"The planner's choice at {small} bytes",
        ["scenario", "build", "collective", "chosen", "measured", "best measured", "measured ",
         "regret", f"at most {percent(most_regret)}"],
    )  # fmt: skip
    judged = [result for result in results if result.chosen]
    verdicts = []
    for result in judged:
        of = result.measurement
        names = ("scenario", "build", "collective")
        label = [*(str(result.labels[name]) for name in names), str(result.chosen)]
        medians = {
            cell.variant: summary.median for cell in of.wanted if (summary := of.summary(cell))
        }
        if thalweg not in medians:
            table.add(*label, "invalid", "", "", of.reasons(result.cell(thalweg)), "")
            continue
        best = min(medians, key=lambda name: medians[name])
        regret = medians[thalweg] / medians[best] - 1
        verdicts.append(close_to_best(regret, is_whole=len(medians) == len(of.wanted)))
        table.add(
            *label, seconds(medians[thalweg]), best, seconds(medians[best]),
            percent(regret), verdicts[-1],
        )  # fmt: skip
    if judged:
        more = verdicts.count(undecided)
        table.notes.append(
            f"{verdicts.count('yes')} of {len(judged)} choices within {percent(most_regret)} of "
            "the best measured"
            + (f"; {more} more, but a rival that might be better is invalid." if more else ".")
        )
    if not all(result.of_file for result in judged):
        table.notes.append(
            "Measured is what the plan file says; chosen, what the planner says of just this size. "
            "A plan file has one plan for several sizes, so that the two may differ."
        )
    return table
