"""The planner's choice against the five candidates that it finds best, measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench import campaign, sources
from bench.bars import close_to_best, most_regret, undecided
from bench.builds import Build
from bench.campaign import Campaign
from bench.cases import Asked, asked_labels, asked_text, block_bytes
from bench.measurement import Measurement
from bench.page import Page, Part
from bench.prediction import problem_of, variant
from bench.report import Subject, Table, percent, seconds
from bench.samples import Cell
from bench.session import Planned, Session, physical_limit, with_thalweg
from bench.settings import Settings
from thalweg import network, planner
from thalweg.collective import parse_kind
from thalweg.lab.scenario import Scenario
from thalweg.network import Network
from thalweg.planner import Options

scenarios = ("two-sites", "cloud")
collectives = ("bcast", "allreduce", "allgather", "gather")
sizes = (64_000, 1_000_000, 8_000_000)  # of the vector, or of all blocks together
subject = Subject(
    "choice",
    "The planner's choice, measured",
    sources.run_on_lab,
    ("scenario", "build", "collective", "size", "variant"),
)
candidates = 5
least_share = 0.9  # of the cells, within it
times_bound = 3.0  # that a candidate takes, as far as progress is concerned


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    campaign.run(settings, page, parts(settings, page))


def parts(settings: Settings, page: Page) -> Campaign[Asked]:
    """A part for each collective and size."""
    rounds = (settings.repetitions + 1) * candidates * times_bound

    def seconds(truth: Scenario, asked: Asked) -> float:
        name, size = asked
        block = block_bytes(parse_kind(name), size, len(truth.hosts))
        return rounds * (physical_limit(truth, name, block) or 0)

    def measure(session: Session, build: Build, planned: Planned, asked: Asked) -> None:
        name, size = asked
        net = network.read(planned.network)
        variants = chosen(net, name, size, build.flavour)
        block = block_bytes(parse_kind(name), size, len(net.hosts))
        cells = [Cell(name, block, 0, each) for each in variants]
        measured = session.measure(
            build, cells, settings.repetitions, with_thalweg(build, planned.plan), settings.seed
        )
        facts = {
            "variants": variants,
            "block": block,
            "repetitions": settings.repetitions,
            "failed_launches": measured.failed_launches,
        }
        page.add(asked_labels(session.name, build.name, asked), facts, measured.raw())

    return Campaign(grid(settings), asked_text, asked_labels, seconds, measure)


def grid(settings: Settings) -> list[Asked]:
    return [
        (name, size)
        for name in settings.collectives or collectives
        for size in settings.sizes or sizes
    ]


def chosen(net: Network, collective: str, size: int, library: str) -> list[str]:
    """Returns the choice, then the others, in THALWEG_FORCE's syntax."""
    block = block_bytes(parse_kind(collective), size, len(net.hosts))
    problem = problem_of(collective, block, net, library)
    explanation = planner.explain(problem, Options(library=library))
    plan = explanation.plan
    found = [variant(plan.algorithm, plan.parameters)]
    for each in explanation.candidates:
        name = variant(each.algorithm, each.parameters)
        if name not in found and each.time is not None:
            found.append(name)
    return found[:candidates]


def contents(parts: Sequence[Part]) -> list[Table]:
    """One row per cell: scenario, build, collective and size."""
    table = Table(
        "The choice and the best of five candidates",
        ["scenario", "build", "collective", "bytes", "choice", "time", "best", "its time",
         "slower", "candidates measured", "within 10 %"],
    )  # fmt: skip
    verdicts = []
    for part in parts:
        label = [str(part.labels[key]) for key in ("scenario", "build", "collective", "size")]
        medians = medians_of(part)
        choice, wanted = part.facts["variants"][0], len(part.facts["variants"])
        measured = f"{len(medians)} of {wanted}"
        if choice not in medians:
            verdicts.append(undecided)
            table.add(*label, choice, "invalid", "", "", "", measured, undecided)
            continue
        best = min(medians, key=lambda name: medians[name])
        regret = medians[choice] / medians[best] - 1
        verdicts.append(close_to_best(regret, is_whole=len(medians) == wanted))
        table.add(
            *label,
            choice,
            seconds(medians[choice]),
            best,
            seconds(medians[best]),
            percent(regret),
            measured,
            verdicts[-1],
        )
    table.notes += [*share(verdicts), "Bytes: of the vector, or of all blocks together. Medians."]
    return [table]


def share(verdicts: Sequence[str]) -> list[str]:
    """Says in how many of the decided cells the choice is close to the best, if there are any."""
    decided = [each for each in verdicts if each != undecided]
    if not decided:
        return []
    within = decided.count("yes")
    met = within >= least_share * len(decided)
    return [
        f"Within {percent(most_regret)} of the best candidate in {within} of {len(decided)} cells; "
        f"the bar, {percent(least_share)} of them, is {'met' if met else 'missed'}. "
        f"{len(verdicts) - len(decided)} of {len(verdicts)} cells are left out: in these the "
        "choice has too few valid samples, or it is close to the best of those that have enough, "
        "and not all candidates have."
    ]


def medians_of(part: Part) -> dict[str, float]:
    """Returns medians by variant, for variants with enough valid repetitions."""
    labels: dict[str, Any] = part.labels
    cells = {
        name: Cell(labels["collective"], part.facts["block"], 0, name)
        for name in part.facts["variants"]
    }
    wanted = dict.fromkeys(cells.values(), int(part.facts["repetitions"]))
    measurement = Measurement.restored(wanted, part.samples)
    found = {}
    for name, cell in cells.items():
        summary = measurement.summary(cell)
        if summary is not None:
            found[name] = summary.median
    return found
