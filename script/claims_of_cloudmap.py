"""Where the numbers of the verdicts on CloudMap in docs/papers.md come from; see claims.py."""

from collections.abc import Callable

from page_numbers import (
    Claims,
    Number,
    Pages,
    Slot,
    Source,
    all_of,
    cell,
    column,
    formula,
    given,
    kinds,
    least,
    matching,
    most,
    note,
)

TIMES = "table=Run times, un-dilated"
TRAFFIC = "table=Over a random placement's: bytes between hosts, CommTime (CloudMap's Figure 15, "
TRAFFIC += "equations 2 and 4)"
CLOUDS = [
    (cloud, time) for cloud in ("uneven-pairs", "uneven-ways") for time in ("morning", "evening")
]
SMALL = ["lu 64", "bt 32", "cg 96", "mg 4"]
COLLECTIVES = ["ft 64", "is 2000", "ep 20000"]
"""Kernels that send no messages of their own."""
PLANNED = ["nbody 100000", "solver 6400"]
"""Programs of collectives, which are also run with plans."""
LARGE = ["lu 256", "bt 96", "mg 8"]
CELLS = [(kernel, *cloud) for cloud in CLOUDS for kernel in SMALL + LARGE]
ALL = [*CELLS, *((kernel, *cloud) for cloud in CLOUDS for kernel in COLLECTIVES)]
SLOWER = [("lu 256", "uneven-pairs", "morning"), ("lu 256", "uneven-ways", "evening")]
"""Cells in which the placement may be more than 3 % slower than the better of block and Scotch."""
UNDECIDED = ("mg 8", "uneven-ways", "evening")
"""Another one, of too few rounds."""
Kernel = str
"""A kernel and its size."""


def lab(name: str, kernel: Kernel, cloud: str, time: str) -> Source:
    """A cell of the lab's page."""
    program, size = kernel.split()
    return cell("placement-lab", name, TIMES, cloud, time, program, f"size={size}")


def over(placement: str, kernel: Kernel, cloud: str, time: str) -> Source:
    """How many times as fast Thalweg's placement is as another."""
    both = (lab(name, kernel, cloud, time) for name in (placement, "thalweg"))
    return formula(lambda theirs, ours: theirs / ours, *both, unit="x")


def simulated(name: str, kernel: Kernel, cloud: str, time: str) -> Source:
    """A cell of SMPI's page, of as many ranks as the lab has."""
    program, size = kernel.split()
    return cell("placement-smpi", name, "ranks=64", cloud, time, program, f"size={size}")


def simulated_over_baseline(kernel: Kernel) -> list[Source]:
    """The least and the most that Thalweg's placement gains over the baseline in SMPI."""
    pairs = [
        [simulated(name, kernel, *cloud) for name in ("interleave", "thalweg")] for cloud in CLOUDS
    ]
    return extremes([formula(lambda base, ours: base / ours, *each, unit="x") for each in pairs])


def block_over_baseline(kernel: Kernel, cloud: str, time: str) -> Source:
    both = (lab(name, kernel, cloud, time) for name in ("block", "interleave"))
    return formula(lambda block, base: block / base, *both, unit="x")


def over_baseline(kernel: Kernel, clouds: list[tuple[str, str]] = CLOUDS) -> list[Source]:
    return [over("interleave", kernel, *cloud) for cloud in clouds]


def gains(*kernels: Kernel) -> list[Source]:
    """Those over the better of block and Scotch."""
    return [lab("gain", kernel, *cloud) for kernel in kernels for cloud in CLOUDS]


def count(is_one: Callable[[float], bool], *sources: Source) -> Source:
    return formula(lambda *values: sum(map(is_one, values)), *sources, unit="")


def those_of(verdict: str, *kernels: Kernel) -> Source:
    """How many cells of the kernels have this verdict on losing more than 3 %."""

    def find(pages: Pages) -> list[Slot]:
        found = [
            text
            for program, size in map(str.split, kernels)
            for text in matching(
                pages, "placement-lab", "at most 3 % slower", (TIMES, program, f"size={size}")
            )
        ]
        return [(Number(found.count(verdict)),)]

    return Source(find)


def rows_of(*kernels: Kernel) -> Source:
    """How many cells of the lab's page are of these."""

    def find(pages: Pages) -> list[Slot]:
        found = [
            len(list(matching(pages, "placement-lab", "block", (TIMES, program, f"size={size}"))))
            for program, size in map(str.split, kernels)
        ]
        return [(Number(sum(found)),)]

    return Source(find)


def shrinks(small: Kernel, large: Kernel) -> Source:
    """In how many cells the larger size gains less over the better of block and Scotch."""
    sizes = len(CLOUDS)
    return formula(
        lambda *found: sum(a > b for a, b in zip(found[:sizes], found[sizes:], strict=True)),
        *gains(small),
        *gains(large),
        unit="",
    )


def extremes(sources: list[Source]) -> list[Source]:
    return [least(*sources), most(*sources)]


def of_bt(placement: str, says: str) -> list[Source]:
    """Bytes between hosts or CommTime of bt, in all cells."""
    return extremes([column("placement-lab", placement, TRAFFIC, "bt", says=says)])


BYTES_SHARE, TIME_SHARE = "#, * %", "* %, #"
OVER_SCOTCH = [over("scotch", kernel, *cloud) for kernel in ("bt 32", "bt 96") for cloud in CLOUDS]


def gain(figure: str) -> Source:
    return cell("cloudmap", "Thalweg", f"figure={figure}")


PATTERNS = kinds("cloudmap", "pattern", "table=Thalweg by pattern")
COSTS = "Cost over that of random placements"
BETWEEN = "Bytes between hosts over those of random placements (CloudMap's equation 2)"
COMM_TIME = "CommTime over that of random placements (CloudMap's equation 4)"


def over_random(table: str, ranks: str, hosts: str, *placements: str) -> list[Source]:
    where = (f"table={table}", f"ranks={ranks}", f"hosts={hosts}")
    return [cell("placement", each, *where) for each in placements]


COST_AND_TIME = "table=Cost and time by size"


def mapping_time(ranks: str, hosts: str) -> Source:
    return cell("placement", "time, median", f"ranks={ranks}", f"hosts={hosts}", COST_AND_TIME)


UNEVEN = ("transpose", "wavefront")
IN_SMPI = "64 ranks on 8 hosts, geometric means: gain #, over block, both without plans, #."
PROGRAMS = IN_SMPI.replace("#", "*x") + " * of # programs"
PLACEMENTS: list[Source] = [
    cell("placement", "cost / Scotch's", COST_AND_TIME, "ranks=all"),
    cell("placement", "cost / block's", COST_AND_TIME, "ranks=all"),
    cell("placement", "cases", COST_AND_TIME, "ranks=all"),
    all_of(
        *(cell("placement", each, COST_AND_TIME, "ranks=all") for each in ("worst", "worst (2)"))
    ),
    given("64", "8"),
    note("placement-smpi", "The # without plans gain # by their placements"),
    note("placement-smpi", "the # with plans #, by the placement alone #"),
    note("placement-smpi", PROGRAMS),
    count(lambda gain: gain < 0.97, column("placement-smpi", "gain", "ranks=64")),
    given("3 %", "2"),
    note("placement-lab", "# of # cells gain # or more, promised or not"),
    note("placement-lab", "In # of these, of nbody"),
    note("placement-lab", "# of * cells gain *x or more, promised or not"),
    note("placement-lab", "the lab does in # of these"),
    note("placement-lab", "SMPI finds a gain of *x or more in # of"),
    note("placement-lab", "In # of these cells, of # programs, the placement differs"),
    given("3 %"),
    note("placement-lab", "Not decided in # of"),
]
"""What the README says of placements."""


def correlation(programs: str) -> Source:
    """The coefficient of bytes between hosts and CommTime over random placements."""
    says = (
        f"64 ranks on 8 hosts, {programs}: in the paper bytes between hosts and CommTime, both over"
    )
    return note(
        "placement",
        says + " a random placement's, have a very good correlation. Here its coefficient is #",
    )


CLOUDMAP: Claims = {
    "Figure 4": [
        kinds("cloudmap", "pattern"),
        *(note("cloudmap", f"{each} #") for each in UNEVEN),
        note("cloudmap", "bt 32 #"),
        note("cloudmap", "ft 64 #"),
    ],
    "Figure 6": [
        given("64", "8"),
        kinds("placement-lab", "cloud"),
        note("placement-lab", "those of # for which costs promise most"),
        most(*(lab("rounds", *each) for each in CELLS)),
        *(
            of(
                *(
                    lab("rounds", kernel, *each)
                    for kernel in ("cg 96", "mg 4", "mg 8")
                    for each in CLOUDS
                )
            )
            for of in (least, most)
        ),
        given("32"),
        *extremes(over_baseline("bt 32")),
        *extremes(over_baseline("cg 96")),
        given("64"),
        *reversed(over_baseline("lu 64", CLOUDS[:2])),
        *over_baseline("lu 64", CLOUDS[2:]),
        *extremes(over_baseline("mg 4", CLOUDS[:2])),
        *extremes(over_baseline("mg 4", CLOUDS[2:])),
        *extremes(gains(*SMALL, *LARGE, *COLLECTIVES)),
        note("placement-lab", "SMPI finds a gain of # or more"),
        note("placement-lab", "or more in # of the # cells that are simulated"),
        note("placement-lab", "the lab does in # of these"),
        note("placement-lab", "of these; wanted in #"),
        note("placement-lab", "is promised in # of # cells and reached in"),
        note("placement-lab", "cells and reached in # of these"),
        given("3 %"),
        *(lab("gain", *each) for each in SLOWER),
        given("2"),
        *(lab("rounds", *each) for each in SLOWER),
        given("1"),
        lab("gain", *UNDECIDED),
        lab("rounds", *UNDECIDED),
        note("placement-lab", "# for 3,"),
        those_of("not decided", "cg 96", "mg 4", "mg 8"),
        note("placement-lab", "below # rounds"),
        note(
            "placement-lab",
            "Where the launcher's order stays and is the faster of these, in # cells",
        ),
        given("2"),
        note("placement-lab", "how exact gains are: # to #"),
        *extremes([lab("gain", kernel, *cloud) for kernel in PLANNED for cloud in CLOUDS]),
        lab("gain", "lammps 10", *CLOUDS[0]),
        *(
            each
            for kernel in ("bt 32", "cg 96", "mg 4")
            for each in simulated_over_baseline(kernel)
        ),
        PATTERNS,
        gain("6"),
    ],
    "Figure 7": [
        given("96"),
        *extremes(over_baseline("bt 96")),
        given("32", "256"),
        *extremes(over_baseline("lu 256")),
        given("64"),
        *(
            source
            for sizes in (("bt 32", "bt 96"), ("lu 64", "lu 256"))
            for source in (shrinks(*sizes), given(f"{len(CLOUDS)}"))
        ),
        given("96"),
        *simulated_over_baseline("bt 96"),
        *simulated_over_baseline("mg 8"),
        gain("7"),
        gain("6"),
    ],
    "Figure 8": [
        given("256", "32"),
        PATTERNS,
        *over_random(COSTS, "256", "32", "thalweg", "scotch", "interleave"),
        gain("8"),
        given("8"),
        given("256", "32"),
        *extremes([column("placement-smpi", "gain", "ranks=256", "hosts=32")]),
    ],
    "Figure 9": [gain("9"), gain("8")],
    "Figure 10": [
        gain("10a"),
        gain("10b"),
        gain("8"),
        *extremes(
            [column("cloudmap", "block", "table=Costs of the baseline over those of placements")]
        ),
        *extremes([block_over_baseline(*each) for each in ALL]),
        rows_of(*SMALL, *LARGE, *COLLECTIVES),
        *extremes([block_over_baseline(each, *cloud) for each in PLANNED for cloud in CLOUDS]),
        rows_of(*PLANNED),
    ],
    "Figure 11": [
        given("256", "8"),
        *over_random(COSTS, "256", "8", "thalweg", "scotch", "interleave"),
        gain("11a"),
        gain("11b"),
        *(cell("cloudmap", "most", f"figure={each}") for each in ("11a", "11b")),
        given("256", "8"),
        note("placement-smpi", "256 ranks on 8 hosts, geometric means: gain #,"),
    ],
    "Figure 12": [
        PATTERNS,
        given("2"),
        note("cloudmap", "gains are # to # anew, # to # kept"),
        *(of(column("cloudmap", "baseline varies by")) for of in (least, most)),
        note("cloudmap", "One pattern's gain varies by at most # anew"),
        note("cloudmap", "Baseline and both gains vary by # or less for # of # patterns"),
    ],
    "Figure 13": [
        given("8"),
        *over_random(COSTS, "64", "8", "intra-only", "inter-only", "thalweg"),
        note("placement", "So the better half saves #, both #"),
        count(lambda slower: slower <= 1, *(over("inter-only", *each) for each in CELLS)),
        rows_of(*SMALL, *LARGE),
        given("3 %"),
        count(lambda slower: slower >= 1.03, *(over("inter-only", *each) for each in CELLS)),
        rows_of(*SMALL, *LARGE),
        count(lambda slower: slower > 1, *(over("intra-only", *each) for each in CELLS)),
        rows_of(*SMALL, *LARGE),
    ],
    "Figure 15": [
        given("64", "8"),
        kinds("placement", "pattern", "table=Cost by pattern"),
        *over_random(BETWEEN, "64", "8", "thalweg", "scotch", "kahip", "block"),
        *over_random(COMM_TIME, "64", "8", "thalweg", "scotch", "kahip", "block"),
        correlation("drawn patterns"),
        correlation("kernels"),
        given("0.9"),
        *of_bt("scotch", BYTES_SHARE),
        *of_bt("scotch", TIME_SHARE),
        all_of(column("placement-lab", "thalweg", TRAFFIC, "bt", says=BYTES_SHARE)),
        *of_bt("thalweg", TIME_SHARE),
        count(lambda faster: faster > 1, *OVER_SCOTCH),
        rows_of("bt 32", "bt 96"),
        *extremes(OVER_SCOTCH),
    ],
    "Table II": [
        mapping_time("64", "8"),
        given("64"),
        mapping_time("256", "32"),
        given("256"),
        *extremes([column("placement", "time, median", "table=Recorded matrices")]),
        given("64"),
        *extremes([column("startup", "added", "hosts never seen")]),
        given("16"),
        kinds("startup", "scenario"),
        given("1"),
        *extremes([column("probe", "took")]),
        *(of(column("probe", "hosts")) for of in (least, most)),
    ],
}
