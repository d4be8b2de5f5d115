"""Cells drawn from a seed, with plans that race against native, against native alone.

Each cell is a collective, a size and a root on a scenario with a library. Both variants take turns
in one launch; what counts comes after calls in which the race has been decided. Plans are thorough
ones for a network that was probed for some seconds, or those with which a program starts on hosts
that were never seen.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from statistics import geometric_mean
from typing import Any

from bench import campaign, sources
from bench.builds import Build
from bench.campaign import Campaign
from bench.cases import block_bytes
from bench.measurement import Measurement
from bench.page import Page, Part
from bench.report import Subject, Table, seconds, times
from bench.samples import Cell, native, thalweg
from bench.session import Planned, Session, physical_limit, with_thalweg
from bench.settings import Settings
from bench.summary import ratio
from thalweg import units
from thalweg.collective import Kind, is_reduction, is_rooted, parse_kind
from thalweg.lab import scenario
from thalweg.lab.scenario import Scenario

scenarios = (*scenario.names(), *(f"drawn-{seed}" for seed in range(4)))
thorough, quick = "thorough", "quick"
kinds_of_plans = (thorough, quick)
subject = Subject(
    "never-slower",
    "Native against Thalweg in cells drawn from a seed",
    sources.run_on_lab,
    ("scenario", "build", "drawn", "variant"),
)
subjects = {
    thorough: subject,
    quick: replace(
        subject,
        name="never-slower-quick",
        heading="Native against the plans of a first start in cells drawn from a seed",
        measures=(*subject.measures, *sources.started),
        command="never-slower --plans quick",
    ),
}
"""The page of each kind of plans."""
KINDS = tuple(kind.name for kind in Kind)
drawn = 2
"""Cells of each scenario, library and kind of plans: the same ones for both kinds."""
budget = 6.0
"""Un-dilated seconds of a probe for thorough plans, unless it is given."""
least_log_size, most_log_size = 3, 23
"""Logarithms to base two: 8 B to 8 MiB, of the vector or of all blocks together."""
most_calls = 100
"""The most calls in a row that are one repetition."""
least_seconds = 0.05
"""Seconds of this machine that a repetition takes at least: ranks don't begin quite at once."""
most_warm_up_calls = 50
least_warm_ups = 3
most_repetitions, least_repetitions = 20, 7
phase = 10.0
"""Seconds of this machine that the warm-ups take, and those after them, about."""
times_bound, launching = 3.0, 0.03
"""What a call takes, over its bound, and seconds of a repetition besides, as far as counts are
concerned."""
slower_bar, faster_bar, large = 1.03, 2.0, 64_000


@dataclass(frozen=True)
class Drawn:
    """A cell, and how many calls of each variant there are."""

    number: int
    collective: str
    nbytes: int
    root: int
    calls: int
    """Calls in a row, of each repetition."""
    warm_ups: int
    repetitions: int

    def cell(self, ranks: int, variant: str) -> Cell:
        return Cell(self.collective, self._size(ranks), self.root, variant)

    def _size(self, ranks: int) -> int:
        if self.collective == "barrier":
            return 0
        kind = parse_kind(self.collective)
        size = block_bytes(kind, self.nbytes, ranks)
        # Reductions are of doubles.
        return max(8, size // 8 * 8) if is_reduction(kind) else size


def draw(truth: Scenario, build: str, number: int, seed: int, dilation: float) -> Drawn:
    """Returns a cell; the same for the same arguments."""
    chance = random.Random(f"{truth.name} {build} {number} {seed}")
    kind = chance.choice(KINDS)
    nbytes = round(2 ** chance.uniform(least_log_size, most_log_size))
    ranks = len(truth.hosts)
    root = chance.randrange(ranks) if is_rooted(parse_kind(kind)) else 0
    once = Drawn(number, kind, nbytes, root, 1, 1, 1)
    bound = physical_limit(truth, kind, once.cell(ranks, native).size, root) or 0.0
    least = max(bound * dilation, least_seconds / most_calls)
    calls = max(1, min(most_calls, math.ceil(least_seconds / least)))
    fitting = round(phase / (2 * (calls * times_bound * bound * dilation + launching)))
    warm_ups = min(math.ceil(most_warm_up_calls / calls), max(least_warm_ups, fitting))
    repetitions = max(least_repetitions, min(most_repetitions, fitting))
    return replace(once, calls=calls, warm_ups=warm_ups, repetitions=repetitions)


def run(settings: Settings) -> None:
    """Measures the cells of each scenario and library in turn, with each kind of plans."""
    if not settings.budget_is_set:
        settings = replace(settings, budget=budget)
    for plans in settings.plans or kinds_of_plans:
        page = Page(settings, subjects[plans], contents[plans])
        campaign.run(settings, page, parts(settings, page, plans))


def parts(settings: Settings, page: Page, plans: str) -> Campaign[int]:
    """A part for each cell."""

    def of(truth: Scenario, build: str, number: int) -> Drawn:
        dilation = settings.dilation or truth.dilation
        return draw(truth, build, number, settings.seed, dilation)

    def measure(session: Session, build: Build, planned: Planned, number: int) -> None:
        case = of(session.scenario, build.name, number)
        cells = [case.cell(session.ranks, variant) for variant in (native, thalweg)]
        environment = with_thalweg(build, planned.plan) | {"THALWEG_RACE": "1"}
        measured = session.measure(
            build, cells, case.repetitions, environment, settings.seed,
            warm_ups=case.warm_ups, calls=case.calls,
        )  # fmt: skip
        facts = {
            **asdict(case),
            "ranks": session.ranks,
            "uneven": is_uneven(session.scenario),
            "dilation": session.dilation,
            "failed_launches": measured.failed_launches,
        }
        # Each rank's own times are many, and not looked at here.
        samples = [
            {key: value for key, value in each.items() if key not in ("entries", "exits")}
            for each in measured.raw()
        ]
        page.add(labels(session.name, build.name, number), facts, samples)

    def plan(session: Session, build: Build, budget: float) -> Planned:
        if plans == quick:
            return session.plan_at_first_start(build)
        return session.plan(build, budget)

    return Campaign(
        range(drawn), lambda number: f"cell {number}, {plans} plans", labels,
        lambda truth, _: 2 * phase / (settings.dilation or truth.dilation), measure, plan,
    )  # fmt: skip


def labels(scenario: str, build: str, number: int) -> dict[str, Any]:
    return {"scenario": scenario, "build": build, "drawn": number}


def is_uneven(truth: Scenario) -> bool:
    """Whether not all pairs of hosts have the same latency and bandwidth."""
    count = len(truth.hosts)
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    return len({(truth.latency(a, b), truth.pair_rate(a, b)) for a, b in pairs}) > 1


# The page ---------------------------------------------------------------------------------------


@dataclass
class _Verdicts:
    """Counts of the cells that were measured, and what native takes of Thalweg's time in those
    that are large and on uneven scenarios."""

    compared: int = 0
    slower: int = 0
    gains: list[float] = field(default_factory=list)

    def in_words(self) -> str:
        return f"{self.compared - self.slower} of {self.compared} cells"


def _table(title: str, parts: Sequence[Part]) -> tuple[Table, _Verdicts]:
    table = Table(
        title,
        ["scenario", "build", "collective", "bytes", "root", "calls", "native", "Thalweg",
         "of native's", "95 % interval", "met"],
    )  # fmt: skip
    verdicts = _Verdicts()
    for part in parts:
        row, found = _row(part)
        table.add(*row)
        if found is None:
            continue
        verdicts.compared += 1
        verdicts.slower += found.low > slower_bar
        if part.facts["uneven"] and part.facts["nbytes"] >= large and _is_sized(part):
            verdicts.gains.append(1 / found.value)
    return table, verdicts


def _with_quick_plans(parts: Sequence[Part]) -> list[Table]:
    table, verdicts = _table("Medians of calls after the race", parts)
    table.notes = [
        "These are the plans with which `thalweg run` begins on hosts that were never seen: made "
        "in milliseconds, for a network that was probed for half a second. Cells, race, counts and "
        f"bar are those of never-slower.md; {verdicts.in_words()} meet it.",
    ]
    if verdicts.gains:
        table.notes.append(
            f"In the {len(verdicts.gains)} large ones on uneven scenarios native's time is "
            f"{times(geometric_mean(verdicts.gains))} Thalweg's in the geometric mean."
        )
    return [table]


def _with_thorough_plans(parts: Sequence[Part]) -> list[Table]:
    table, verdicts = _table("Medians of calls after the race", parts)
    table.notes = [
        f"Cells are drawn by seed: {len(KINDS)} collectives, 8 B to 8 MiB (of the "
        "vector, or of all blocks together; even in their logarithm), any root. Native and "
        "Thalweg with its race take turns in one launch. A repetition is up to "
        f"{most_calls} calls in a row, so that it takes {1e3 * least_seconds:g} ms of this "
        "machine, since ranks don't begin quite at once; times are of one call. Calls: in a row, "
        "times repetitions before those that count and those, as many as fit into "
        f"{phase:g} s each, of up to {most_warm_up_calls} calls before.",
        "Met: not all of the interval, by bootstrap of the ratio of medians, lies above "
        f"{slower_bar:g}x. That is so in {verdicts.in_words()} that were measured.",
    ]
    if verdicts.gains:
        mean = geometric_mean(verdicts.gains)
        table.notes.append(
            f"From {units.size_to_text(large)} on, on uneven scenarios, native takes {times(mean)} "
            f"as long in the geometric mean of {len(verdicts.gains)} cells; wanted: "
            f"{faster_bar:g}x, {'met' if mean >= faster_bar else 'MISSED'}."
        )
    return [table]


contents = {thorough: _with_thorough_plans, quick: _with_quick_plans}
"""A row for each cell, by the kind of plans; the bars in the notes."""


def _row(part: Part) -> tuple[list[str], Any]:
    """Returns a row, and the ratio of Thalweg's time to native's if enough samples are valid."""
    facts = part.facts
    case = Drawn(**{each.name: facts[each.name] for each in fields(Drawn)})
    cells = [case.cell(facts["ranks"], variant) for variant in (native, thalweg)]
    measured = Measurement.restored(dict.fromkeys(cells, case.repetitions), part.samples)
    row = [
        part.labels["scenario"], part.labels["build"], case.collective,
        units.size_to_text(case.nbytes) if _is_sized(part) else "-", str(case.root),
        f"{case.calls} * ({case.warm_ups} + {case.repetitions})",
    ]  # fmt: skip
    own, ours = (measured.summary(cell) for cell in cells)
    if own is None or ours is None:
        failed = facts["failed_launches"]
        why = failed[0] if failed else " / ".join(filter(None, map(measured.reasons, cells)))
        return [*row, "invalid", "invalid", "-", "-", why], None
    found = ratio(measured.times(cells[1]), measured.times(cells[0]))
    interval = f"{found.low:.2f} - {found.high:.2f}"
    met = "yes" if found.low <= slower_bar else "MISSED"
    return [
        *row,
        seconds(own.median),
        seconds(ours.median),
        times(found.value),
        interval,
        met,
    ], found


def _is_sized(part: Part) -> bool:
    return str(part.facts["collective"]) != "barrier"
