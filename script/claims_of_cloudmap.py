"""Where the numbers of the verdicts on CloudMap in docs/papers.md come from; see claims.py."""

from page_numbers import Claims, Source, all_of, cell, column, given, kinds, least, most, note


def lab(name: str, kernel: str, *labels: str) -> Source:
    """A cell of a kernel and its size on the lab, in the morning on the first cloud."""
    program, size = kernel.split()
    where = labels or ("uneven-pairs", "morning")
    return cell(
        "placement-lab", name, "table=Run times, un-dilated", *where, program, f"size={size}"
    )


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
KERNELS = ["lu 64", "bt 32", "cg 96"]
WAYS = [("uneven-ways", "morning"), ("uneven-ways", "evening")]

CLOUDMAP: Claims = {
    "Figure 4": [
        kinds("cloudmap", "pattern"),
        *(note("cloudmap", f"{each} #") for each in UNEVEN),
    ],
    "Figure 6": [
        given("64", "8"),
        all_of(*(lab("rounds", each) for each in KERNELS[:2])),
        lab("rounds", "cg 96"),
        *(lab(name, each) for each in KERNELS for name in ("thalweg", "interleave")),
        *(lab("gain", each) for each in KERNELS),
        *(lab("gain", each, "uneven-pairs", "evening") for each in KERNELS),
        *(
            of(*(lab("gain", each, *way) for each in KERNELS[:2] for way in WAYS))
            for of in (least, most)
        ),
        *(lab("gain", "cg 96", *way) for way in reversed(WAYS)),
        PATTERNS,
        gain("6"),
    ],
    "Figure 7": [
        gain("7"),
        gain("6"),
        given("256"),
        lab("gain", "lu 256"),
        given("64"),
        lab("gain", "lu 64"),
        given("96"),
        lab("gain", "bt 96"),
        given("32"),
        lab("gain", "bt 32"),
    ],
    "Figure 8": [
        given("256", "32"),
        PATTERNS,
        *over_random(COSTS, "256", "32", "thalweg", "scotch", "interleave"),
        gain("8"),
        given("8"),
    ],
    "Figure 9": [gain("9")],
    "Figure 10": [gain("10a"), gain("10b"), gain("8")],
    "Figure 11": [
        given("256", "8"),
        *over_random(COSTS, "256", "8", "thalweg", "scotch", "interleave"),
        gain("11a"),
    ],
    "Figure 12": [
        PATTERNS,
        given("2"),
        note("cloudmap", "gains are # to # anew, # to # kept"),
        *(of(column("cloudmap", "baseline varies by")) for of in (least, most)),
    ],
    "Figure 13": [
        given("64"),
        *(lab(each, "lu 64") for each in ("intra-only", "inter-only", "thalweg", "random")),
        given("8"),
        *over_random(COSTS, "64", "8", "intra-only", "inter-only", "thalweg"),
    ],
    "Figure 15": [
        given("64", "8"),
        kinds("placement", "pattern", "table=Cost by pattern"),
        *over_random(BETWEEN, "64", "8", "thalweg", "scotch", "kahip", "block"),
        *over_random(COMM_TIME, "64", "8", "thalweg", "scotch", "kahip", "block"),
    ],
    "Table II": [
        mapping_time("64", "8"),
        given("64"),
        mapping_time("256", "32"),
        given("256", "5", "28"),
        *(of(column("probe", "took", "hosts=16")) for of in (least, most)),
        given("16"),
    ],
}
