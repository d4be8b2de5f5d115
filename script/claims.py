"""Where each number of the README.md, docs/papers.md and decision 0127 comes from.

A claim is known by how it begins or by its figure. Its numbers are listed in the order in which it
has them: cells, sentences and formulas of the pages that it links, and settings and numbers of the
papers, which are `given` as they are printed. Whoever words a claim anew keeps its list in step.
"""

import re
from typing import Any

from claims_of_audit import AUDIT, gains_of_programs, without_smallest
from claims_of_cloudmap import CLOUDMAP
from claims_of_cmpi import CMPI
from claims_of_ideas import IDEAS
from claims_of_papers import BONGO, HLOT, MATSUDA
from claims_of_placements import PLACEMENTS
from page_numbers import (
    Claims,
    Number,
    Pages,
    Slot,
    Source,
    all_of,
    cell,
    cells,
    column,
    fewest_samples,
    formula,
    given,
    kinds,
    least,
    matching,
    most,
    negative,
    note,
    number,
    one,
    those_with,
)

BUILDS = ["openmpi-4.1", "mpich-4.0"]
KNOWN = ("known hosts", "known hosts and program")
AFTER_RACE = "table=Medians of calls after the race"
WRONG_SUMS = "table=Sums, un-dilated seconds"
WRONG_COMMANDS = "table=Whole commands, seconds on hosts whose network isn't dilated"
MET = "lies above *x. That is so in # of # cells that were measured"


def over_bound(*labels: str) -> Source:
    """How many times the bound a cell of 8 MB takes."""
    both = (cell("cells", each, "bytes=8000000", *labels) for each in ("bound", "Thalweg"))
    return formula(lambda bound, time: time / bound, *both, unit="x")


OVER_BOUND = [
    over_bound(scenario, build, collective)
    for scenario in ("two-sites", "cloud", "grid", "three-sites")
    for build in BUILDS
    for collective in ("bcast", "reduce", "allreduce")
]


def beginning(text: str, name: str, page: str) -> Source:
    """How many cells of a column begin so."""
    return Source(
        lambda pages: [(Number(sum(c.startswith(text) for c in matching(pages, page, name, ()))),)]
    )


def apart(variant: str) -> list[Source]:
    """By how much `cells` and `headline` differ in the cells that both have."""
    found = []
    for scenario, collectives in (
        ("two-sites", ("bcast", "reduce", "allreduce")),
        ("cloud", ("bcast", "allreduce")),
    ):
        for build in BUILDS:
            for collective in collectives:
                labels = ("bytes=1000000", scenario, build, collective)
                both = (cell(page, variant, *labels) for page in ("headline", "cells"))
                found.append(
                    formula(lambda a, b: 100 * (max(a, b) / min(a, b) - 1), *both, unit="%")
                )
    return found


def days_of(page: str, **labels: str) -> Source:
    """The day of the month on which the parts with these labels were measured, the same for all."""

    def find(pages: Pages) -> list[Slot]:
        parts: list[dict[str, Any]] = pages.summary(page)["parts"]  # type: ignore[assignment]
        days: set[Slot] = {
            (Number(int(part["date"][8:10])),)
            for part in parts
            if labels.items() <= part["labels"].items()
        }
        return [(each,) for each in one(days, f"{page}, date of {labels}")]

    return Source(find)


def day(page: str) -> Source:
    """The last day on which a page was made, of whatever month."""
    made = rf"\d{{4}}-\d\d-(\d\d) by `script/bench {page.partition('-')[0]}"

    def find(pages: Pages) -> list[Slot]:
        days: set[Slot] = {(number(each, ""),) for each in re.findall(made, pages.text(page))}
        return [(each,) for each in one(days, f"{page}, its date,")]

    return Source(find)


README: Claims = {
    "- Predictions may be wrong,": [given("2 %")],
    "On networks emulated by the lab,": [
        given("16", "1"),
        least(
            *(
                fewest_samples("headline", scenario="two-sites", build=build, dilation=dilation)
                for build, dilation in (("openmpi-4.1", 16.0), ("mpich-4.0", 8.0))
            ),
            *(
                fewest_samples("headline", scenario=each, dilation=4.0)
                for each in ("cloud", "even")
            ),
        ),
        given("2", "5 %"),
        given("2"),
        cell("headline", "at 2d", "two-sites", "openmpi-4.1", "allreduce", says="differs by #"),
        cell("headline", "at 2d", "two-sites", "mpich-4.0", "reduce", says="differs by #"),
        all_of(
            *(days_of("headline", scenario=each) for each in ("two-sites", "cloud", "even")),
        ),
    ],
    "`two-sites`:": [given("100", "10 ms")],
    "`even`:": [given("16")],
    "`script/bench cells` measures": [
        *(kinds("cells", each) for each in ("collective", "bytes", "scenario")),
        formula(
            lambda met, cells: cells - met,
            *(note("cells", each) for each in ("met in # of *", "met in * of #")),
        ),
        note("cells", "met in * of #"),
        given("8"),
        *(of(*OVER_BOUND) for of in (least, most)),
        given("1"),
        *(most(*apart(variant)) for variant in ("Thalweg", "native")),
    ],
    "N-body, end to end,": [
        formula(lambda size: size / 1e6, note("nbody", "steps, # bytes per broadcast")),
        note("nbody", "computation is fixed to # of the native total"),
        *cells("nbody", "faster", "two-sites", BUILDS),
        given("2"),
        all_of(*cells("nbody", "faster", "cloud", BUILDS)),
        given("1"),
        *(
            cell("nbody", "probing pays after", scenario, "openmpi-4.1", says="# steps")
            for scenario in ("two-sites", "cloud")
        ),
        *map(negative, cells("breakdown", "saved, with overheads", ["CG", "N-body"])),
    ],
    "`script/bench placement` places": PLACEMENTS,
    "Each page says": [
        day("choice"),
        note("choice", "Within # of the best candidate"),
        note("choice", "of the best candidate in # of # cells"),
        note("choice", "cells; the bar, # of them"),
        given("64", "16"),
        note("prediction", "# of # choices within"),
        *(of(column("startup", "added", "hosts never seen")) for of in (least, most)),
        all_of(column("startup", "bar", "hosts never seen", says="<= #")),
        *(of(*(column("startup", "added", each) for each in KNOWN)) for of in (least, most)),
        all_of(*(column("startup", "bar", each, says="<= #") for each in KNOWN)),
        note("probe", "All right in # of # probings"),
        day("planner"),
        given("4", "16", "64"),
        *(of(*gains_of_programs(16, 64)) for of in (least, most)),
        given("3", "65,536"),
        without_smallest(),
        given("256", "1,024"),
        *(of(*gains_of_programs(256, 1024)) for of in (least, most)),
        given("4,096"),
        *(of(*gains_of_programs(4096)) for of in (least, most)),
        given("1,024"),
        note("smpi-lab", "Within 10 % of the lab: # of # (wanted"),
        given("10 %"),
        given("5"),
    ],
    "`script/bench never-slower` measures": [
        kinds("never-slower", "scenario", AFTER_RACE),
        note("never-slower", "collectives, # B to # MiB"),
        those_with("invalid", "native", AFTER_RACE, pages=("never-slower",)),
        formula(lambda met, measured: measured - met, note("never-slower", MET)),
        note("never-slower", "* of # cells that were measured"),
        note("never-slower", "by bootstrap of the ratio of medians, lies above #."),
        note("never-slower", "From #KB on, on uneven scenarios, native takes # as long"),
        note("never-slower", "as long in the geometric mean of # cells"),
    ],
    "With `--adapt on`, where a trunk,": [
        note("timeline", "worse by #"),
        note("timeline", "at most # of knowing's time, and plans were replaced after at most"),
        note("timeline", "of knowing's time, and plans were replaced after at most # epochs"),
        those_with("yes", "met", pages=("timeline",)),
        *(beginning(each, "met", "timeline") for each in ("MISSED", "nothing to gain")),
        note("calm", "following takes # in the geometric mean of the rows"),
        note("calm", "In all: # of * runs with an alarm"),
        note("calm", "In all: * of # runs with an alarm"),
        note("calm", "(wanted: at most # of *)"),
        note("calm", "(wanted: at most * of #)"),
        note("flapping", "recovers in turn, every # of the runtime"),
        *(of(column("flapping", "of the better plans")) for of in (least, most)),
        those_with("yes", "met", pages=("flapping",)),
        note("flapping", "Met: at most #."),
    ],
    "With plans for a wrong": [
        note("adapt", "what they are expected to lose is within # of the time of the calls so far"),
        those_with("MISSED", "met", WRONG_SUMS, pages=("adapt",)),
        most(column("adapt", "bar", WRONG_COMMANDS, says="<= #")),
        those_with("MISSED", "met", WRONG_COMMANDS, pages=("adapt",)),
    ],
    "With Open MPI 4.1, the": [
        note("prediction", "# of # predictions at 1MB"),
        given("1"),
        note("prediction", "predictions at 1MB within #."),
        note("prediction", "# of # predictions at 64KB"),
        given("64"),
        cell("prediction", "dilation", "64000"),
    ],
}

PAPERS: Claims = {
    **IDEAS,
    **{
        f"{paper}, {figure}": sources
        for paper, claims in (
            ("CMPI", CMPI),
            ("Matsuda", MATSUDA),
            ("HLOT", HLOT),
            ("Bongo", BONGO),
            ("CloudMap", CLOUDMAP),
        )
        for figure, sources in claims.items()
    },
}
CLAIMS = {
    "README.md": README,
    "docs/papers.md": PAPERS,
    "docs/decisions/0127-what-the-audit-found.md": AUDIT,
}
