"""Several senders per site, on two sites: Figures 6 and 7 and Table 1 of Matsuda et al."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from bench import campaign, compare, networks, sources, wan_page
from bench.builds import Build
from bench.campaign import Campaign
from bench.cases import asked_labels, asked_text
from bench.matsuda import Contest, by_simulator, contests, numbers, plan, segmented_numbers
from bench.page import Page, Record
from bench.prediction import variant
from bench.report import Subject
from bench.samples import Cell, thalweg
from bench.session import Planned, Session, launch_timeout, physical_limit, with_thalweg
from bench.settings import Settings
from thalweg import network, planner, simulator
from thalweg.algorithms import Parameters, Problem, find
from thalweg.collective import Collective, parse_kind
from thalweg.lab import scenario
from thalweg.lab.scenario import Scenario
from thalweg.network import Network

sizes = tuple(round(mb * 1e6) for mb in (0.5, 1, 2, 4, 8, 16, 32))
cell = ("scenario", "build", "collective", "size", "variant")
on_lab = Subject("wan", "Several senders per site", sources.run_on_lab, cell)
in_simulator = Subject(
    "wan-simulated",
    "Several senders per site, simulated",
    (*sources.planned, "bench/matsuda.py", "bench/wan.py"),
    cell,
    made="Simulated",
    command="wan --simulate",
)
congested = 1.5  # times a prediction, which knows no losses, is what a run is expected to take
most_congested = 8.0  # the multiple of a prediction after which a run is given up
SizedContest = tuple[Contest, int]
"""A collective with its algorithms, and a size."""


@dataclass(frozen=True)
class ContestOnNetwork:
    """One collective and size on a network; `library` is the planner's and simulator's."""

    contest: Contest
    size: int
    network: Network
    library: str = ""
    numbers: Sequence[int] = numbers  # of senders per site, besides the network's own
    segmented: Sequence[int] = ()  # numbers of senders that are also tried in segments

    @property
    def ranks(self) -> int:
        return len(self.network.hosts)

    @cached_property
    def problem(self) -> Problem:
        kind = parse_kind(self.contest.collective)
        collective = Collective(kind, self.ranks, 0, self.size)
        return Problem(collective, self.network, range(self.ranks), self.library)

    @cached_property
    def senders(self) -> int:
        """Returns how many fill the path from the root's site to the other, by the network."""
        skeleton = find(self.contest.modified).build(self.problem, Parameters())
        return skeleton.senders[1] if len(skeleton.senders) > 1 else 1

    @cached_property
    def choices(self) -> dict[str, tuple[str, Parameters]]:
        """Algorithms and their parameters, by the name that tables use."""
        options = planner.Options(library=self.library, disabled=networks.only_algorithms)
        best = planner.explain(self.problem, options).plan
        return {
            **self.contest.algorithms(sorted({*self.numbers, self.senders}), self.segmented),
            plan: (best.algorithm, best.parameters),
        }

    def predicted(self) -> dict[str, float]:
        """Returns seconds, by the same names."""
        options = simulator.Options()
        return {
            name: simulator.simulate(
                self.problem, find(algorithm).build(self.problem, parameters), options
            ).time
            for name, (algorithm, parameters) in self.choices.items()
        }


def run(settings: Settings) -> None:
    if settings.simulate:
        simulate(settings)
    else:
        measure(settings)


def measure(settings: Settings) -> None:
    """Measures on the lab."""
    page = Page(settings, on_lab, wan_page.contents)
    campaign.run(settings, page, parts(settings, page))


def parts(settings: Settings, page: Page) -> Campaign[SizedContest]:
    """A part for each collective and size."""
    rounds = (settings.repetitions + 1) * congested

    def seconds(truth: Scenario, sized: SizedContest) -> float:
        return rounds * sum(on_network(settings, sized, truth.network).predicted().values())

    def measure(session: Session, build: Build, planned: Planned, sized: SizedContest) -> None:
        case = on_network(settings, sized, network.read(planned.network), build.flavour)
        add_measured(page, session, build, planned, case, settings)

    return Campaign(list(grid(settings)), _what, labels, seconds, measure)


def simulate(settings: Settings) -> None:
    """Simulates the same grid, on the networks that the scenarios impose."""
    page = Page(settings, in_simulator, wan_page.simulated)
    for name in settings.scenarios:
        truth = scenario.find(name)
        for sized in grid(settings):
            if not page.has(labels(name, by_simulator, sized)):
                case = on_network(settings, sized, truth.network)
                segmented = settings.senders or segmented_numbers
                add_simulated(page, replace(case, segmented=segmented), truth)
    page.finish()


def on_network(
    settings: Settings, sized: SizedContest, net: Network, library: str = ""
) -> ContestOnNetwork:
    """Applies the requested numbers of senders, else those of the paper's figures."""
    contest, size = sized
    return ContestOnNetwork(contest, size, net, library, settings.senders or numbers)


def grid(settings: Settings) -> Iterator[SizedContest]:
    for contest in contests:
        for size in settings.sizes or sizes:
            yield contest, size


def add_measured(
    page: Page,
    session: Session,
    build: Build,
    planned: Planned,
    case: ContestOnNetwork,
    settings: Settings,
) -> None:
    """All algorithms for one collective and size, interleaved in one launch."""
    predicted = case.predicted()
    named = facts(case, session.scenario, predicted)
    collective = case.contest.collective
    cells = [Cell(collective, case.size, 0, each) for each in named["variants"].values()]
    each_round = sum(predicted.values()) * session.dilation * (settings.repetitions + 1)
    timeout = max(launch_timeout, most_congested * each_round)
    environment = with_thalweg(build, planned.plan)
    measured = session.measure(
        build, cells, settings.repetitions, environment, settings.seed, timeout
    )
    named |= {
        "repetitions": settings.repetitions,
        "dilation": session.dilation,
        "failed_launches": measured.failed_launches,
    }
    sized = (case.contest, case.size)
    page.add(labels(session.name, build.name, sized), named, measured.raw())


def add_simulated(page: Page, case: ContestOnNetwork, truth: Scenario) -> None:
    """Adds a part with predictions in place of samples."""
    predicted = case.predicted()
    named = facts(case, truth, predicted)
    samples = [_simulated(case, named["variants"][name], t) for name, t in predicted.items()]
    sized = (case.contest, case.size)
    page.add(labels(truth.name, by_simulator, sized), {**named, "repetitions": 1}, samples)


def labels(scenario_name: str, build: str, sized: SizedContest) -> dict[str, Any]:
    contest, size = sized
    return asked_labels(scenario_name, build, (contest.collective, size))


def facts(
    case: ContestOnNetwork, truth: Scenario, predicted: Mapping[str, float]
) -> dict[str, Any]:
    """Returns what the page needs besides the samples; names as in ContestOnNetwork.choices."""
    algorithm, parameters = case.choices[plan]
    sites = truth.plain["sites"]
    pair = (sites[0][0], sites[1][0])
    (trunk,) = (each for each in compare.trunks(truth) if pair in each.flows)
    return {
        "ranks": case.ranks,
        "bound": physical_limit(truth, case.contest.collective, case.size),
        "senders": case.senders,
        "filling": trunk.senders,
        "planned": variant(algorithm, parameters),
        "variants": {
            **{name: variant(*choice) for name, choice in case.choices.items()},
            plan: thalweg,
        },
        "predicted": dict(predicted),
        "setting": {
            "latency": truth.latency(*pair),
            "link": truth.hosts[0].egress,
            "trunk": trunk.capacity,
        },
    }


def _simulated(case: ContestOnNetwork, name: str, time: float) -> Record:
    """Makes a sample as thalweg-bench writes it."""
    return {
        "collective": case.contest.collective, "size": case.size, "root": 0,
        "variant": name, "repetition": 0, "time": time, "entry_skew": 0.0, "correct": True,
        "lab": None, "invalid": [],
    }  # fmt: skip


def _what(sized: SizedContest) -> str:
    contest, size = sized
    return asked_text((contest.collective, size))
