"""Where the numbers of the verdicts on CloudMap in docs/papers.md come from; see claims.py."""

from claims_of_placements import (
    ALL,
    BETWEEN,
    BYTES_SHARE,
    CELLS,
    CLOUDS,
    COLLECTIVES,
    COMM_TIME,
    COSTS,
    HIDDEN,
    LARGE,
    MISSED,
    OVER_SCOTCH,
    PATTERNS,
    PLANNED,
    RECORDED,
    SLOWER,
    SMALL,
    TIME_SHARE,
    TRAFFIC,
    UNDECIDED,
    block_over_baseline,
    count,
    extremes,
    gain,
    gains,
    lab,
    mapping_time,
    of_bt,
    over_baseline,
    over_random,
    rows_of,
    simulated_over_baseline,
    smpi_over_baseline,
    those_of,
)
from page_numbers import (
    Claims,
    Source,
    all_of,
    cell,
    column,
    given,
    kinds,
    least,
    most,
    note,
)

UNEVEN = ("transpose", "wavefront")


def correlation(programs: str) -> Source:
    """The coefficient of bytes between hosts and CommTime over random placements."""
    says = (
        f"64 ranks on 8 hosts, {programs}: in the paper bytes between hosts and CommTime, both over"
    )
    return note(
        "placement",
        says + " a random placement's, have a very good correlation. Here its coefficient is #",
    )


SMALL_IN_ORDER = ("bt 32", "lu 64", "cg 96", "mg 4")
HALVES = ("inter-only", "intra-only")
TIME_OF_PAPER = 0.005  # seconds, for 64 ranks


def half(name: str, whole: str) -> Source:
    """In how many cells a half is as fast as a whole mapping, and of how many."""
    as_scotch, as_thalweg = ("# of #", "* of *") if whole == "Scotch" else ("* of *", "# of #")
    return note(
        "placement-lab",
        f"{name} is as fast as Scotch's placement, as CloudMap's, or faster in {as_scotch} cells, "
        f"and as Thalweg's in {as_thalweg}",
    )


LAMMPS = [lab(each, "lammps 10", *CLOUDS[0]) for each in ("gain", "rounds")]
CLOUDMAP: Claims = {
    "Figure 2": [
        given("3"),
        note("cloudmap", "hosts latencies differ by up to # and rates differ by up to #"),
        given("2"),
        note("cloudmap", "of a pair latencies differ by # in the median and up to #"),
    ],
    "Figure 4": [
        kinds("cloudmap", "pattern", "table=Thalweg by pattern"),
        *(note("cloudmap", f"{each} #") for each in UNEVEN),
        note("cloudmap", "bt 32 #"),
        all_of(note("cloudmap", "ft 64 #"), note("cloudmap", "IS (NAS) #")),
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
        *over_baseline("Scotch", "bt 32"),
        given("64"),
        *(
            each
            for kernel in ("lu 64", "cg 96", "mg 4")
            for each in over_baseline("Scotch", kernel)
        ),
        given("3 %"),
        note(
            "placement-lab",
            "as CloudMap's, bt in # of #, lu in # of #, cg in # of #, mg in # of # cells",
        ),
        note("placement-lab", "in * of the # cells that have # runs"),
        note("placement-lab", "(slightly: at most *x) in # of the * cells that have"),
        note("placement-lab", "Here they take # to # as long as the baseline"),
        *(each for kernel in SMALL_IN_ORDER for each in over_baseline("Thalweg", kernel)),
        *extremes(gains(*SMALL, *LARGE, *COLLECTIVES)),
        note("placement-lab", "SMPI finds a gain of # or more"),
        note("placement-lab", "or more in # of the # cells that are simulated"),
        note("placement-lab", "the lab does in # of these, and # aren't decided"),
        note("placement-lab", "aren't decided; wanted in #"),
        note("placement-lab", "is promised in # of # cells and reached in"),
        note("placement-lab", "cells and reached in # of these, and # aren't decided"),
        given("3 %"),
        lab("gain", *MISSED),
        lab("rounds", *MISSED),
        *(lab("gain", *each) for each in SLOWER),
        given("2"),
        *(lab("rounds", *each) for each in SLOWER),
        given("1"),
        lab("gain", *UNDECIDED),
        lab("rounds", *UNDECIDED),
        note("placement-lab", "# for 3,"),
        those_of("not decided", "cg 96", "mg 4", "mg 8"),
        note("placement-lab", "below # rounds"),
        *extremes([lab("placement alone", *each) for each in HIDDEN]),
        given("4"),
        *extremes([lab("rounds", *each) for each in HIDDEN]),
        note("placement-lab", "Where the launcher's order stays, in # cells"),
        given("2"),
        note("placement-lab", "how exact gains are: # to #"),
        *extremes([lab("gain", kernel, *cloud) for kernel in PLANNED for cloud in CLOUDS]),
        *extremes([lab("rounds", kernel, *cloud) for kernel in PLANNED for cloud in CLOUDS]),
        *LAMMPS,
        *(
            each
            for placement in ("scotch", "thalweg")
            for kernel in ("bt 32", "cg 96", "mg 4")
            for each in simulated_over_baseline(placement, kernel)
        ),
        PATTERNS,
        gain("6", "Scotch"),
        gain("6"),
        note("cloudmap", "here in # of # figures, and # as much in the geometric mean"),
    ],
    "Figure 7": [
        given("3 %"),
        note("placement-lab", "as CloudMap's, in # of # cells, by Thalweg's in * of *"),
        *(
            each
            for kernel in ("bt 96", "bt 32", "lu 256", "lu 64")
            for each in (given(kernel.split()[1]), *over_baseline("Scotch", kernel))
        ),
        note("placement-lab", "as CloudMap's, in * of * cells, by Thalweg's in # of #"),
        *(
            each
            for kernel in ("bt 96", "lu 256")
            for each in (given(kernel.split()[1]), *over_baseline("Thalweg", kernel))
        ),
        given("96"),
        *simulated_over_baseline("scotch", "bt 96"),
        given("32"),
        *simulated_over_baseline("scotch", "bt 32"),
        *simulated_over_baseline("scotch", "mg 8"),
        given("96"),
        *simulated_over_baseline("thalweg", "bt 96"),
        *simulated_over_baseline("thalweg", "mg 8"),
        *(gain(figure, by) for by in ("Scotch", "Thalweg") for figure in ("7", "6")),
    ],
    "Figure 8": [
        given("256", "32"),
        PATTERNS,
        gain("8", "Scotch"),
        gain("6", "Scotch"),
        given("8"),
        gain("8"),
        gain("6"),
        given("8"),
        *over_random(COSTS, "256", "32", "scotch", "thalweg", "interleave"),
        given("256", "32"),
        smpi_over_baseline("256", "32"),
        *extremes([column("placement-smpi", "gain", "ranks=256", "hosts=32")]),
    ],
    "Figure 9": [gain(figure, by) for by in ("Scotch", "Thalweg") for figure in ("9", "8")],
    "Figure 10": [
        *(gain(figure, by) for by in ("Scotch", "Thalweg") for figure in ("10a", "10b")),
        gain("8", "Scotch"),
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
        gain("11a", "Scotch"),
        gain("11b", "Scotch"),
        *(cell("cloudmap", "most", f"figure={each}") for each in ("11a", "11b")),
        gain("11a"),
        gain("11b"),
        *(cell("cloudmap", "most (2)", f"figure={each}") for each in ("11a", "11b")),
        *over_random(COSTS, "256", "8", "scotch", "thalweg", "interleave"),
        given("256", "8"),
        smpi_over_baseline("256", "8", thalweg="*x"),
        smpi_over_baseline("256", "32", thalweg="*x"),
        given("32"),
        smpi_over_baseline("256", "8", scotch="*x"),
        note("placement-smpi", "256 ranks on 8 hosts, geometric means: gain #,"),
    ],
    "Figure 12": [
        PATTERNS,
        given("2"),
        note("cloudmap", "by Scotch gains are # to # anew and # to # kept"),
        *(of(column("cloudmap", "baseline varies by")) for of in (least, most)),
        note(
            "cloudmap",
            "by Scotch gains are *x to *x anew and *x to *x kept, and one pattern's vary by at "
            "most # anew",
        ),
        note("cloudmap", "as CloudMap, vary by # or less for # of # patterns"),
        note("cloudmap", "by Thalweg gains are # to # anew and # to # kept"),
        note("cloudmap", "With Thalweg's they do for # of #"),
        note("cloudmap", "its baseline varies by # and Scotch's gain by #"),
        given("1.10"),
    ],
    "Figure 13": [
        given("8"),
        *over_random(COSTS, "64", "8", "cloudmap-intra", "cloudmap-inter", "scotch"),
        note("placement", "So the better half saves #, Scotch # and"),
        *over_random(COSTS, "64", "8", "thalweg"),
        note("placement", "Scotch * % and Thalweg # (much less"),
        *over_random(COSTS, "64", "8", "intra-only", "inter-only"),
        *(half(name, whole) for whole in ("Scotch", "Thalweg") for name in HALVES),
    ],
    "Figure 14": LAMMPS,
    "Figure 15": [
        given("64", "8"),
        kinds("placement", "pattern", "table=Cost by pattern"),
        *over_random(BETWEEN, "64", "8", "scotch", "thalweg", "kahip", "block"),
        *over_random(COMM_TIME, "64", "8", "scotch", "thalweg", "kahip", "block"),
        correlation("drawn patterns"),
        correlation("kernels"),
        given("0.9"),
        note(
            "placement-lab",
            "the one with less is the faster by bytes between hosts in # of # and by CommTime in "
            "# of # cells",
        ),
        note(
            "placement-lab",
            "Of Thalweg's placement and Scotch's it is the faster by bytes between hosts in # of # "
            "and by CommTime in # of #",
        ),
        *of_bt("scotch", BYTES_SHARE),
        *of_bt("scotch", TIME_SHARE),
        all_of(column("placement-lab", "thalweg", TRAFFIC, "bt", says=BYTES_SHARE)),
        *of_bt("thalweg", TIME_SHARE),
        count(lambda faster: faster > 1, *OVER_SCOTCH),
        rows_of("bt 32", "bt 96"),
        *extremes(OVER_SCOTCH),
    ],
    "Table II": [
        given("4", "64", "8"),
        count(
            lambda longest: longest > TIME_OF_PAPER,
            column("placement", "longest", RECORDED, "hosts=8"),
        ),
        *extremes(
            [
                cell("placement", "time, median", RECORDED, "hosts=8", each)
                for each in ("bt 32", "cg 96", "mg 4")
            ]
        ),
        cell("placement", "time, median", RECORDED, "hosts=8", "lu 64"),
        given("24"),
        *extremes([column("placement", "time, median", RECORDED, "hosts=24")]),
        mapping_time("64", "8"),
        given("64", "8"),
        mapping_time("256", "8"),
        given("256"),
        mapping_time("256", "32"),
        given("256", "32"),
        *extremes([column("startup", "added", "hosts never seen")]),
        given("16"),
        kinds("startup", "scenario"),
        given("1"),
        *extremes([column("probe", "took")]),
        *(of(column("probe", "hosts")) for of in (least, most)),
    ],
}
