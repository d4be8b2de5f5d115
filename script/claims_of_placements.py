"""Where the numbers of docs/measured.md on placements come from, and addresses of the same pages
for CloudMap's figures; see claims.py."""

from collections.abc import Callable

from page_numbers import (
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
OVER_BASELINE = "table=Times as fast as the baseline"
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
"""Cells in which the placement may be more than 3 % slower than the fastest of its rivals."""
UNDECIDED = ("mg 8", "uneven-ways", "evening")
"""Another one, of too few rounds."""
MISSED = ("ft 64", "uneven-pairs", "morning")
"""The cell that is slower."""
HIDDEN = [(kernel, *cloud) for kernel in PLANNED for cloud in CLOUDS if cloud[1] == "evening"]
"""Cells whose placement is slower without its plans."""
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


def simulated_over_baseline(placement: str, kernel: Kernel) -> list[Source]:
    """The least and the most that a placement gains over the baseline in SMPI."""
    pairs = [
        [simulated(name, kernel, *cloud) for name in ("interleave", placement)] for cloud in CLOUDS
    ]
    return extremes([formula(lambda base, own: base / own, *each, unit="x") for each in pairs])


def smpi_over_baseline(ranks: str, hosts: str, scotch: str = "#", thalweg: str = "#") -> Source:
    """Geometric means over the baseline in SMPI; "*x" leaves one out."""
    return note(
        "placement-smpi",
        f"{ranks} ranks on {hosts} hosts, over CloudMap's baseline (interleave), geometric means "
        "of * programs that send messages: Scotch's placements, with which it places, "
        f"{scotch}, Thalweg's {thalweg}",
    )


def block_over_baseline(kernel: Kernel, cloud: str, time: str) -> Source:
    both = (lab(name, kernel, cloud, time) for name in ("block", "interleave"))
    return formula(lambda block, base: block / base, *both, unit="x")


def over_baseline(by: str, kernel: Kernel) -> list[Source]:
    """The least and the most that Scotch's or Thalweg's placement gains over the baseline."""
    program, size = kernel.split()
    return extremes(
        [column("placement-lab", by, OVER_BASELINE, f"program={program}", f"size={size}")]
    )


def gains(*kernels: Kernel) -> list[Source]:
    """Those over the fastest of block, interleave and Scotch."""
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


def extremes(sources: list[Source]) -> list[Source]:
    return [least(*sources), most(*sources)]


def of_bt(placement: str, says: str) -> list[Source]:
    """Bytes between hosts or CommTime of bt, in all cells."""
    return extremes([column("placement-lab", placement, TRAFFIC, "bt", says=says)])


BYTES_SHARE, TIME_SHARE = "#, * %", "* %, #"
OVER_SCOTCH = [over("scotch", kernel, *cloud) for kernel in ("bt 32", "bt 96") for cloud in CLOUDS]


def gain(figure: str, by: str = "Thalweg") -> Source:
    return cell("cloudmap", by, f"figure={figure}")


PATTERNS = kinds("cloudmap", "pattern", "table=Thalweg by pattern")
COSTS = "Cost over that of random placements"
BETWEEN = "Bytes between hosts over those of random placements (CloudMap's equation 2)"
COMM_TIME = "CommTime over that of random placements (CloudMap's equation 4)"


def over_random(table: str, ranks: str, hosts: str, *placements: str) -> list[Source]:
    where = (f"table={table}", f"ranks={ranks}", f"hosts={hosts}")
    return [cell("placement", each, *where) for each in placements]


COST_AND_TIME = "table=Cost and time by size"
RECORDED = "table=Recorded matrices"


def mapping_time(ranks: str, hosts: str) -> Source:
    return cell("placement", "time, median", f"ranks={ranks}", f"hosts={hosts}", COST_AND_TIME)


IN_SMPI = "64 ranks on 8 hosts, geometric means: gain #, over block, both without plans, #."
PROGRAMS = IN_SMPI.replace("#", "*x") + " * of # programs"
BY_MODEL = [
    cell("placement", "cost / Scotch's", COST_AND_TIME, "ranks=all"),
    cell("placement", "cost / block's", COST_AND_TIME, "ranks=all"),
    cell("placement", "cases", COST_AND_TIME, "ranks=all"),
    all_of(
        *(cell("placement", each, COST_AND_TIME, "ranks=all") for each in ("worst", "worst (2)"))
    ),
]
KERNELS_GAIN = note("placement-smpi", "The # without plans gain # by their placements")
RUNS_BY_SMPI = note("placement-smpi", PROGRAMS)
LOSERS = count(lambda gain: gain < 0.97, column("placement-smpi", "gain", "ranks=64"))
SLOWEST_PLACED = least(column("placement-smpi", "gain", "ranks=64"))
BY_SMPI = [
    given("64", "8"),
    KERNELS_GAIN,
    note("placement-smpi", "the # with plans #, by the placement alone #"),
    RUNS_BY_SMPI,
    LOSERS,
    given("3 %"),
    SLOWEST_PLACED,
]
GAINS_ON_LAB = note("placement-lab", "# of # cells gain # or more, promised or not")
UNDECIDED_GAINS = note("placement-lab", "cells gain *x or more, promised or not; # aren't decided")
SLOWER_PLACED = lab("gain", *MISSED)
UNDECIDED_LOSSES = note("placement-lab", "Not decided in # of")
ON_LAB = [
    given("2"),
    GAINS_ON_LAB,
    note("placement-lab", "A cell gains *x if it has # rounds or more"),
    UNDECIDED_GAINS,
    note("placement-lab", "In # of these, decided or not, of nbody"),
    note("placement-lab", "SMPI finds a gain of *x or more in # of"),
    note("placement-lab", "the lab does in # of these, and # aren't decided"),
    note("placement-lab", "aren't decided; wanted in #"),
    note("placement-lab", "In # of these cells, of # programs, the placement differs"),
    given("3 %"),
    note("placement-lab", "differs from block; in # of them plans make up for it"),
    *extremes([lab("placement alone", *each) for each in HIDDEN]),
    SLOWER_PLACED,
    UNDECIDED_LOSSES,
]
"""What docs/measured.md says of placements, by the page that it is from."""
