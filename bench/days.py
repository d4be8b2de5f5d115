"""Two days of a cloud: CMPI's trees and plans of the first hour, kept and made anew; simulated.

Figure 10 of Gong, He, Zhong: Network Performance Aware MPI Collective Communication Operations in
the Cloud, section 5.3, in its usual setting: 64 hosts, 200 ranks, 1 MB, a random root.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass

from bench import cmpi, drift, networks, report, sources
from bench.cmpi_collectives import Cmpi
from bench.page import Page, Part, Record
from bench.plot import Line, LinePanel, line_chart
from bench.report import Content, Figure, Subject, Table, judged, percent, seconds
from bench.settings import Settings
from bench.summary import saved
from thalweg import planner
from thalweg.algorithms import Problem, Skeleton
from thalweg.collective import Kind
from thalweg.planner import Options

subject = Subject(
    "days",
    "Two days of a cloud",
    (*sources.planned, *sources.of_cmpi, "bench/days.py", "bench/drift.py"),
    ("cloud", "collective", "placement", "hour"),
    made="Simulated",
)
every = 2.0  # hours between two calls
clouds = (1, 2, 3)
"""Seeds of the clouds, the first of which the figure and most tables show."""
kinds = (Kind.bcast, Kind.scatter)
placements = tuple(cmpi.placements)
of_paper = {"bcast": 0.301, "scatter": 0.173}
"""How much less time than MPICH2 CMPI takes over the two days."""
spread_of_paper = {"bcast": 4.0e-4**0.5 / 0.27, "scatter": 2.2e-3**0.5 / 0.91}
"""Standard deviation over mean, of the paper's means and variances."""
stable = 0.1
"""The paper's variation is mostly smaller than this part of the mean."""
gained = 0.02
"""What making the tree anew every hour gains in the paper, at most."""
names = {
    "mpich": "MPICH2 1.4",
    "cmpi": "CMPI",
    "cmpi_anew": "CMPI, anew",
    "ours": "Thalweg",
    "ours_anew": "Thalweg, anew",
}
styles = {
    "mpich": ("#e6550d", ""), "cmpi": ("#1764ab", ""), "cmpi_anew": ("#1764ab", "4 3"),
    "ours": ("#31a354", ""), "ours_anew": ("#31a354", "4 3"),
}  # fmt: skip


@dataclass(frozen=True)
class Hour:
    """Simulated seconds of one call; `anew`: with a tree or plan for the network of this hour."""

    hour: float
    mpich: float
    cmpi: float
    cmpi_anew: float
    ours: float
    ours_anew: float


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    left = [
        each for each in itertools.product(clouds, kinds, placements) if not page.has(labels(*each))
    ]
    with ProcessPoolExecutor() as pool:
        for asked, hours in zip(left, pool.map(two_days, *zip(*left, strict=True)), strict=True):
            page.add(labels(*asked), {}, [asdict(hour) for hour in hours])
            report.console.print(" ".join(map(str, labels(*asked).values())))
    page.finish()


def labels(cloud: int, kind: Kind, placement: str) -> Record:
    return {"cloud": cloud, "collective": kind.name, "placement": placement}


def two_days(cloud: int, kind: Kind, placement: str) -> list[Hour]:
    setup = cmpi.Setup("days", kinds=(kind,))
    problem = dict(cmpi.problems(setup, cloud))[placement]
    began = made(problem, setup)
    return [
        at_hour(hour, cmpi.asked(net, problem.placement, problem.collective), began, setup)
        for hour, net in drift.band.networks(problem.network, cloud, every)
    ]


def made(problem: Problem, setup: cmpi.Setup) -> tuple[Cmpi, Skeleton]:
    """CMPI's collective and our plan for a network."""
    options = Options(library=networks.library, disabled=networks.only_algorithms, threads=1)
    return Cmpi(problem, setup.shape()), planner.plan(problem, options).skeleton


def at_hour(hour: float, problem: Problem, began: tuple[Cmpi, Skeleton], setup: cmpi.Setup) -> Hour:
    """Returns the times of an hour; `began` was made at the beginning."""
    (theirs, plan), (theirs_anew, plan_anew) = began, made(problem, setup)
    kept, anew = (each.seconds(problem, cmpi.exits) for each in (theirs, theirs_anew))
    ours, ours_anew = (cmpi.simulated(problem, each) for each in (plan, plan_anew))
    return Hour(hour, cmpi.by_hosts(problem), kept, anew, ours, ours_anew)


# The page --------------------------------------------------------------------------------------


def contents(parts: Sequence[Part]) -> list[Content]:
    by_cloud: dict[int, dict[tuple[str, str], list[Hour]]] = {}
    for part in sorted(parts, key=lambda part: list(part.labels.values())):
        cloud, *names = part.labels.values()
        by_cloud.setdefault(cloud, {})[*names] = [Hour(**s) for s in part.samples]
    if not by_cloud:
        return []
    days = by_cloud[min(by_cloud)]
    return [beside_paper(days), on_clouds(by_cloud), times(days), figure(days)]


Days = Mapping[tuple[str, str], Sequence[Hour]]


def column(hours: Sequence[Hour], name: str) -> list[float]:
    return [getattr(hour, name) for hour in hours]


def savings(hours: Sequence[Hour], name: str, over: str) -> list[float]:
    """The share of another's time that each call saves."""
    pairs = zip(column(hours, name), column(hours, over), strict=True)
    return [saved(other, time) for time, other in pairs]


def variation(times: Sequence[float]) -> float:
    """Standard deviation over mean."""
    return statistics.pstdev(times) / statistics.mean(times)


def beside_paper(days: Days) -> Table:
    table = Table(
        "CMPI beside MPICH2 over two days",
        ["collective", "placement", "paper", "CMPI", "least", "most", "varies by, paper",
         "varies by", "making it anew gains, paper", "making it anew gains", "Thalweg", "least",
         "most", "planning anew gains"],
        notes=[
            "Simulated: all drift is drawn, of the kind that a scenario's timeline has; no cloud "
            "was measured. Each pair of hosts keeps latency and rate for six hours on the mean and "
            "then has others, of a standard deviation of 15 % and 10 % around its own.",
            f"{cmpi.Setup.hosts} hosts, {cmpi.Setup.ranks} ranks, 1 MB, a call every "
            f"{every:g} hours. Gains over MPICH2 1.4: how much less time a call takes, on the "
            "mean; trees and plans are those of the first hour. Varies by: standard deviation over "
            "mean of CMPI's times. Anew: for the network of the hour.",
        ],
    )  # fmt: skip
    for (collective, placement), hours in days.items():
        ours, theirs = (savings(hours, name, "mpich") for name in ("ours", "cmpi"))
        table.add(
            collective, placement, f"{100 * of_paper[collective]:.1f} %",
            percent(statistics.mean(theirs)), percent(min(theirs)), percent(max(theirs)),
            percent(spread_of_paper[collective]), percent(variation(column(hours, "cmpi"))),
            f"< {percent(gained)}",
            percent(statistics.mean(savings(hours, "cmpi_anew", "cmpi"))),
            percent(statistics.mean(ours)), percent(min(ours)), percent(max(ours)),
            percent(statistics.mean(savings(hours, "ours_anew", "ours"))),
        )  # fmt: skip
    table.notes += [verdict(*key, hours) for key, hours in days.items()]
    return table


def verdict(collective: str, placement: str, hours: Sequence[Hour]) -> str:
    """Says whether CMPI is faster throughout, steady, and little better anew, as in the paper."""
    found = savings(hours, "cmpi", "mpich")
    faster = sum(share > 0 for share in found)
    varies = variation(column(hours, "cmpi"))
    anew = statistics.mean(savings(hours, "cmpi_anew", "cmpi"))
    return (
        f"{collective}, {placement}: CMPI is faster in {faster} of {len(found)} calls, and its "
        f"times vary by {'less' if varies < stable else 'more'} than {percent(stable)} of their "
        "mean, where the paper has it faster throughout, and less: "
        f"{judged(faster == len(found) and varies < stable)}. Made anew it takes "
        f"{percent(abs(anew))} {'less' if anew > 0 else 'more'} time, in the paper less than "
        f"{percent(gained)} less: {judged(0 <= anew < gained)}."
    )


def on_clouds(by_cloud: Mapping[int, Days]) -> Table:
    table = Table(
        "CMPI beside MPICH2 on other clouds",
        ["collective", "placement", "paper", *(f"cloud {each}" for each in by_cloud), "made anew"],
        notes=[
            "How much less time than MPICH2 CMPI takes over the two days, on clouds drawn from "
            "their seeds, each with drift of its own; made anew: what that gains over the trees of "
            "the first hour, from the least to the most of the clouds. The other tables and the "
            "figure are of the first cloud.",
        ],
    )
    for key in by_cloud[min(by_cloud)]:
        found = [days.get(key, []) for days in by_cloud.values()]
        gained_anew = [
            statistics.mean(savings(hours, "cmpi_anew", "cmpi")) for hours in found if hours
        ]
        table.add(
            *key,
            f"{100 * of_paper[key[0]]:.1f} %",
            *(
                percent(statistics.mean(savings(hours, "cmpi", "mpich"))) if hours else "-"
                for hours in found
            ),
            f"{percent(min(gained_anew))} to {percent(max(gained_anew))}",
        )
    return table


def times(days: Days) -> Table:
    table = Table(
        "Mean times", ["collective", "placement", *names.values()], notes=["Means of the calls."]
    )
    for (collective, placement), hours in days.items():
        means = (statistics.mean(column(hours, name)) for name in names)
        table.add(collective, placement, *map(seconds, means))
    return table


def figure(days: Days) -> Figure:
    panels = [panel(", ".join(key), hours, names) for key, hours in days.items()]
    return Figure("Two days, simulated", "days", line_chart(panels))


def panel(title: str, hours: Sequence[Hour], labels: Mapping[str, str]) -> LinePanel:
    """Draws the times of the hours, a line for each label."""
    lines = [
        Line(label, [(hour.hour, 1000 * getattr(hour, name)) for hour in hours], *styles[name])
        for name, label in labels.items()
    ]
    return LinePanel(title, "hours", "time (ms)", drift.ticks, lines, logarithmic=False)
