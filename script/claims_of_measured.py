"""Where the numbers of docs/measured.md come from; see claims.py."""

import re

from claims_of_audit import gains_of_programs, without_smallest
from claims_of_placements import BY_MODEL, BY_SMPI, ON_LAB
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
AGAINST_RIVALS = "table=Against the best of all other algorithms"
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


def day(page: str) -> Source:
    """The last day on which a page was made, of whatever month."""
    made = rf"\d{{4}}-\d\d-(\d\d) by `script/bench {page.partition('-')[0]}"

    def find(pages: Pages) -> list[Slot]:
        days: set[Slot] = {(number(each, ""),) for each in re.findall(made, pages.text(page))}
        return [(each,) for each in one(days, f"{page}, its date,")]

    return Source(find)


CELLS = [
    *(kinds("cells", each) for each in ("collective", "bytes", "scenario")),
    formula(
        lambda met, cells: cells - met,
        *(note("cells", each) for each in ("met in # of *", "met in * of #")),
    ),
    note("cells", "met in * of #"),
]
SLOWER = formula(lambda met, measured: measured - met, note("never-slower", MET))
"""How many of the drawn cells are slower than native."""
MEASURED_CELLS = note("never-slower", "* of # cells that were measured")
MOST_TIME = note("never-slower", "by bootstrap of the ratio of medians, lies above #.")
DRAWN = [
    kinds("never-slower", "collective", AFTER_RACE),
    note("never-slower", "collectives, # B to # MiB"),
]
INVALID = those_with("invalid", "native", AFTER_RACE, pages=("never-slower",))
SLOWEST = [
    cell("never-slower", "of native's", *labels, "met=MISSED")
    for labels in (("even", "alltoall"), ("4w-8x4", "gather"))
]
COMPUTES = note("nbody", "computation is fixed to # of the native total")
OVERHEADS = cells("nbody", "probing and planning", ["two-sites", "cloud"], BUILDS[0], "thalweg")
"""Seconds that probing and planning took under Open MPI; MPICH's only added to them."""
PAYS_AFTER = [
    cell("nbody", "probing pays after", scenario, BUILDS[0], says="# steps")
    for scenario in ("two-sites", "cloud")
]
"""Steps after which N-body gains more than probing and planning took, under Open MPI."""
ADDED = [
    [of(*(column("startup", "added", each) for each in hosts)) for of in (least, most)]
    for hosts in (["hosts never seen"], KNOWN)
]
"""The least and the most seconds that are added to a start, on hosts never seen and known ones."""
FOLLOWS = most(column("timeline", "of knowing's"))
NO_GAIN = beginning("nothing to gain", "met", "timeline")
FOLLOWED = those_with("yes", "met", pages=("timeline",))
ALARMS = [note("calm", f"In all: {each} runs with an alarm") for each in ("# of *", "* of #")]
MISSED_ROWS = those_with("missed", "bar", AGAINST_RIVALS, pages=("planner",))
WORST_PLAN = most(column("planner", "slowest", AGAINST_RIVALS))
LOSE_MORE = those_with("MISSED", "met", WRONG_SUMS, pages=("adapt",))
WITHIN_BEST = note("choice", "Within # of the best candidate")
BEST = note("choice", "of the best candidate in # of # cells")
BEST_WANTED = note("choice", "cells; the bar, # of them")
MODEL_WITHIN = note("smpi-lab", "Within 10 % of the lab: # of # (wanted")
ALL_RIGHT = note("probe", "All right in # of # probings")
PREDICTED = note("prediction", "# of # predictions at 1MB")
WITHIN = note("prediction", "predictions at 1MB within #.")
PREDICTED_SMALL = note("prediction", "# of # predictions at 64KB")
ALARMS_WANTED = [note("calm", f"(wanted: at most {each})") for each in ("# of *", "* of #")]
FLAPPING_MET = those_with("yes", "met", pages=("flapping",))


def from_network(page: str, scenario: str) -> Source:
    """By how much more time the number of senders that the network tells takes than the best."""
    return column(page, "slower than the best", scenario)


def of_forecasts(length: str) -> list[Source]:
    """How many traces of so many values exceed the bar of `forecast`, and how many there are."""
    return [
        note("forecast", f"{each} traces of {length} values exceed the bar")
        for each in ("# of *", "* of #")
    ]


TUNED = [
    note("inside-figures", "up to #, by thalweg tune alone"),
    note("inside-figures", "The paper reconfigured by hand and reached # (section 4)"),
]
"""How many times as fast `thalweg tune` makes Gsum at most, and Bongo's paper did."""

MEASURED: Claims = {
    "- `script/bench cells` measures": [
        *CELLS,
        given("8"),
        *(of(*OVER_BOUND) for of in (least, most)),
        given("1"),
        *(most(*apart(variant)) for variant in ("Thalweg", "native")),
    ],
    "- `script/bench never-slower` measures": [
        kinds("never-slower", "scenario", AFTER_RACE),
        *DRAWN,
        INVALID,
        SLOWER,
        MEASURED_CELLS,
        MOST_TIME,
        *SLOWEST,
        note("never-slower", "From #KB on, on uneven scenarios, native takes # as long"),
        note("never-slower", "as long in the geometric mean of # cells"),
    ],
    "- `script/bench planner`,": [day("planner"), MISSED_ROWS, given("3 %"), WORST_PLAN],
    "- The number of senders": [
        given("3 %"),
        *(of(from_network("wan", "wan-2x16")) for of in (least, most)),
        most(from_network("wan", "switches-2x16")),
        those_with("MISSED", "at most 3 %", "switches-2x16", pages=("wan",)),
        *(
            of(*(from_network("wan-simulated", each) for each in ("wan-2x16", "switches-2x16")))
            for of in (least, most)
        ),
        given("2", "32"),
    ],
    "- `native.md`, of 21": [
        day("native"),
        given("4.0"),
        *(of(column("headline", "faster", "mpich-5.0")) for of in (least, most)),
    ],
    "- With Open MPI 4.1, the": [
        PREDICTED,
        given("1"),
        WITHIN,
        PREDICTED_SMALL,
        given("64"),
        cell("prediction", "dilation", "64000"),
    ],
    "- `script/bench choice`,": [
        day("choice"),
        WITHIN_BEST,
        BEST,
        BEST_WANTED,
        given("64", "16"),
        note("prediction", "# of # choices within"),
    ],
    "- N-body, end to end,": [
        formula(lambda size: size / 1e6, note("nbody", "steps, # bytes per broadcast")),
        COMPUTES,
        *cells("nbody", "faster", "two-sites", BUILDS),
        given("2"),
        all_of(*cells("nbody", "faster", "cloud", BUILDS)),
        given("1"),
        *OVERHEADS,
        given("6"),
        *(of(column("nbody", "Thalweg")) for of in (least, most)),
        *PAYS_AFTER,
    ],
    "- CG and N-body on the cloud": [
        *cells("breakdown", "saved", ["CG", "N-body"]),
        *cells("breakdown", "CMPI saved", ["CG", "N-body"]),
        *map(negative, cells("breakdown", "saved, with a probe, too", ["CG", "N-body"])),
    ],
    "- Simulated by SMPI,": [
        given("16", "64"),
        *(of(*gains_of_programs(16, 64)) for of in (least, most)),
        given("3", "65,536"),
        without_smallest(),
        given("256", "1,024"),
        *(of(*gains_of_programs(256, 1024)) for of in (least, most)),
        given("4,096"),
        *(of(*gains_of_programs(4096)) for of in (least, most)),
        given("4,096", "1,024"),
        MODEL_WITHIN,
        given("10 %"),
    ],
    "- `thalweg run` adds": [
        *ADDED[0],
        all_of(column("startup", "bar", "hosts never seen", says="<= #")),
        *ADDED[1],
        all_of(*(column("startup", "bar", each, says="<= #") for each in KNOWN)),
    ],
    "- All that a full probe": [ALL_RIGHT],
    "- With `--adapt on`, where a trunk,": [
        note("timeline", "worse by #"),
        FOLLOWS,
        note("timeline", "of knowing's time, and plans were replaced after at most # epochs"),
        FOLLOWED,
        beginning("MISSED", "met", "timeline"),
        NO_GAIN,
        note("calm", "following takes # in the geometric mean of the rows"),
        cell("calm", "of racing's", "two-sites", "bcast"),
        note("calm", "Met: all of that is at most #"),
        those_with("not decided", "met", pages=("calm",)),
        *ALARMS,
        *ALARMS_WANTED,
        note("flapping", "recovers in turn, every # of the runtime"),
        *(of(column("flapping", "of the better plans")) for of in (least, most)),
        FLAPPING_MET,
        note("flapping", "Met: at most #."),
    ],
    "- With plans for a wrong": [
        note("adapt", "what they are expected to lose is within # of the time of the calls so far"),
        LOSE_MORE,
        *(of(column("adapt", "of the faster", WRONG_COMMANDS)) for of in (least, most)),
        most(column("adapt", "bar", WRONG_COMMANDS, says="<= #")),
    ],
    "- `script/bench placement` places": BY_MODEL,
    "- Programs with 64 ranks": BY_SMPI,
    "- On the lab, where": ON_LAB,
    "- What Thalweg costs:": [given("8")],
    "- How the planner and": [*of_forecasts("300"), *of_forecasts("2,000")],
    "- Why collectives took": TUNED,
}
