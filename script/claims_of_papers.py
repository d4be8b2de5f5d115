"""Where the numbers of the verdicts on three papers in docs/papers.md come from; see claims.py."""

from collections.abc import Callable

from page_numbers import (
    Claims,
    Source,
    all_of,
    cell,
    column,
    formula,
    given,
    least,
    most,
    negative,
    note,
)

BOTH = ["bcast", "allreduce"]
FASTER_IN_SEGMENTS = "faster with n from 1 up to 8, in segments"
MORE_WITH_DELAY = "more senders gain more with the delay than without it"
SENDERS = ["n = 1", "n = 2", "n = 4", "n = 8", "n = 10", "n = 12", "n = 16"]


FASTER = {"wan": "faster with n from 1 up to 8", "wan-simulated": FASTER_IN_SEGMENTS}
CONTRAST = {
    "wan": f"{MORE_WITH_DELAY}, from n = 1 up to 8 (another reading)",
    "wan-simulated": f"{MORE_WITH_DELAY}, from n = 1 up to 8, in segments (another reading)",
}
"""Statements on more senders, by the page; those of the simulation are in segments."""


def over_fewer(page: str, n: int = 4) -> list[Source]:
    """How many times as fast eight senders are as four, or as one, with the delay."""
    says = {4: "n = 8: # n = 4", 1: "n = 8: *x n = 4, *x n = 2, # n = 1"}[n]
    return [cell(page, "found", "wan-2x16", each, FASTER[page], says=says) for each in BOTH]


def without_delay(page: str, n: int = 4) -> list[Source]:
    """The same without the delay."""
    says = {4: "and # n = 4", 1: "*x n = 2, *x and # n = 1"}[n]
    return [cell(page, "found", "both", each, CONTRAST[page], says=says) for each in BOTH]


def over_original(page: str, scenario: str) -> list[Source]:
    statement = "n = 8 is faster than the site-blind original"
    return [cell(page, "found", scenario, each, statement, says="# as fast") for each in BOTH]


def over_nearest(page: str, scenario: str) -> list[Source]:
    """How many times as fast eight senders are as the original in MPICH's form."""
    statement = "n = 8 is faster than the site-blind original, near first"
    return [cell(page, "found", scenario, each, statement, says="# as fast") for each in BOTH]


def over_all(page: str) -> list[Source]:
    """How many times as fast eight senders are as all ranks of a site, without the delay."""
    statement = (
        "without delay it gains nothing to have 8 senders instead of 16 (one reading of section "
        "3.6)"
    )
    return [cell(page, "found", "both", each, statement, says="n = 8: # as fast") for each in BOTH]


def over_simple(page: str, size: str) -> list[Source]:
    """How many times as fast eight senders are as far-first and two-tier."""
    statements = {
        "bcast": "n = 8 is 1.6 times as fast as far-first, at 32 MB",
        "allreduce": "n = 8 is 3.2 times as fast as two-tier, at 32 MB",
    }
    return [
        cell(page, "found", "wan-2x16", size, *each, says="# as fast")
        for each in statements.items()
    ]


def of_table_1(page: str, algorithms: list[str], *labels: str) -> list[Source]:
    return [column(page, "found / Table 1", f"algorithm={each}", *labels) for each in algorithms]


def from_table_1(page: str, algorithms: list[str]) -> Source:
    """By how much times differ from the table's, at most."""

    def most_of(*found: float) -> float:
        return 100 * max(abs(each - 1) for each in found)

    return formula(most_of, *of_table_1(page, algorithms), unit="%")


def slower_than_eight(collective: str, n: int) -> Source:
    """In how many sizes n senders are slower than eight, and how many sizes there are."""
    statement = f"n = {n} is slower than n = 8"
    return cell("wan", "found", "wan-2x16", collective, statement, says="slower in # of # sizes")


def one_over_simple(page: str, form: str = "") -> list[Source]:
    """How many times as fast a single sender is as far-first and two-tier."""
    statements = [f"n = 1 is {each}{form}" for each in ("like far-first", "faster than two-tier")]
    return [cell(page, "found", "wan-2x16", each, says="# as fast") for each in statements]


MATSUDA: Claims = {
    "Figure 6": [
        given("2", "20", "10", "8", "8"),
        over_fewer("wan")[0],
        given("4"),
        over_fewer("wan", 1)[0],
        given("1", "2"),
        over_fewer("wan")[1],
        over_fewer("wan", 1)[1],
        *over_original("wan", "wan-2x16"),
        given("8"),
        *over_nearest("wan", "wan-2x16"),
        *one_over_simple("wan"),
        given("16", "8"),
        *over_simple("wan", "2MB"),
        given("8"),
        cell("wan", "best n", "wan-2x16"),
        given("8", "10", "16", "8"),
        slower_than_eight("allreduce", 10),
        slower_than_eight("bcast", 10),
        given("12"),
        given("32", "1", "8", "256", "8"),
        *over_fewer("wan-simulated", 1),
        given("1"),
        *one_over_simple("wan-simulated", ", in segments"),
        given("8"),
        *over_simple("wan-simulated", "4MB"),
        given("4", "40"),
        *over_original("wan-simulated", "wan-2x16"),
        given("32"),
        *over_nearest("wan-simulated", "wan-2x16"),
        cell("wan-simulated", "best n", "wan-2x16"),
        given("10"),
    ],
    "Figure 7": [
        given("16", "8", "8"),
        *over_all("wan-simulated"),
        given("32", "2"),
        over_all("wan")[1],
        over_all("wan")[0],
        given("8", "2", "8"),
        *over_fewer("wan"),
        given("4"),
        *over_fewer("wan", 1),
        given("1"),
        *without_delay("wan"),
        *without_delay("wan", 1),
        given("32", "8"),
        *over_fewer("wan-simulated", 1),
        given("1"),
        *without_delay("wan-simulated", 1),
        given("8"),
        *over_original("wan", "switches-2x16"),
        *over_nearest("wan", "switches-2x16"),
    ],
    "Table 1": [
        given("4"),
        from_table_1("wan-simulated", SENDERS[2:]),
        given("1", "2"),
        most(*of_table_1("wan-simulated", SENDERS[:2])),
        given("256", "1", "8"),
        from_table_1("wan-simulated", [f"{each}, in segments" for each in SENDERS[:4]]),
        given("2"),
        *(of(*of_table_1("wan", SENDERS, "wan-2x16")) for of in (least, most)),
        *(of(*of_table_1("wan", SENDERS, "switches-2x16")) for of in (least, most)),
        *(of(*of_table_1("wan", ["far-first", "two-tier"])) for of in (least, most)),
    ],
}


def over_g2(*clusters: str) -> list[Source]:
    """The gains of HLOT over MPICH-G2 with these numbers of clusters."""
    return [
        cell("grid", "over mpich-g2", "table=By clusters: 2 bytes", f"clusters={each}")
        for each in clusters
    ]


def over_g2_with(*sizes: str) -> list[Source]:
    return [cell("grid", "over mpich-g2", "clusters=8", f"size={size}") for size in sizes]


def runs_in_which_faster(of: Callable[..., float]) -> Source:
    """The least or most runs from a cluster in which HLOT is faster than MPICH-G2, if in any."""
    runs = column("grid", "in runs", says="# of *")
    return formula(lambda *found: of(each for each in found if each), runs)


def of_draws(what: str, by: str = "clusters") -> Source:
    return cell("grid", what, f"latencies of={by}")


def drawn(size: int, *clusters: str, what: str = "over mpich-g2") -> list[Source]:
    """What HLOT gains over MPICH-G2 on drawn clusters: on the mean, or least or most."""
    return [cell("trees", what, f"clusters={each}", f"bytes={size}") for each in clusters]


SEVERAL = ("3", "4", "6", "8")
"""Numbers of drawn clusters that have more than one path between clusters."""


HLOT: Claims = {
    "Figure 2": [
        note("tests/unit/algorithms/hlot_test.cpp", "binomial #, MST #, flat #, HLOT #"),
    ],
    "Figure 4": [given("5")],
    "Figure 5": [
        note("grid", "it counts as faster: holds from # of # clusters"),
        note("grid", "Single runs (Figures 5 and 6a): # broadcasts"),
        *map(runs_in_which_faster, (min, max)),
        note("grid", "it counts as faster: holds from # of * clusters"),
        note("grid", "sends along the same tree from #"),
        *(of(column("grid", "HLOT is faster by")) for of in (least, most)),
        note("grid", "That is read as MPICH-G2 taking # as long"),
        note("grid", "Were # as long meant, it would be so"),
        note("grid", "Here it is at most # over all roots"),
        given("2"),
        note("grid", "the single root that suits HLOT best it is #"),
        of_draws("over mpich-g2, least"),
        of_draws("most"),
        note("grid", "Latencies drawn # times"),
        of_draws("median"),
        note("grid", "of the draws * %, and more in # of"),
        of_draws("median", "organisations"),
        *(
            of(column("grid", "in the scenario's draw", "latencies of=organisations"))
            for of in (least, most)
        ),
    ],
    "Figure 6a": [
        note("grid", "don't overlap from * of * clusters: holds from # of # clusters"),
        given("99 %"),
        note("grid", "Single runs (Figures 5 and 6a): # broadcasts"),
        *(
            cell("grid", f"99 % interval of the mean{which}", "root in=ajoua", says=says)
            for which in ("", " (2)")
            for says in ("# - * ms", "* ms - #")
        ),
    ],
    "Figure 6b": [
        all_of(*over_g2("2", "3", "4")),
        given("4", "2"),
        *(of(*over_g2("5", "6", "7", "8")) for of in (least, most)),
        given("8"),
        *(of(*drawn(2, *SEVERAL)) for of in (least, most)),
        given("2", "3"),
        note("trees", "A broadcast on # networks"),
        least(*drawn(2, *SEVERAL, what="least")),
        most(*drawn(2, *SEVERAL, what="most")),
    ],
    "Figure 7": [
        *over_g2_with("2B"),
        given("2"),
        *over_g2_with("8KB"),
        given("8"),
        *(negative(of(*over_g2_with("64KB", "256KB", "1MB"))) for of in (most, least)),
        given("64", "8"),
        *drawn(2, "8"),
        given("2"),
        *drawn(8_000, "8"),
        given("8"),
        *drawn(64_000, "8"),
        given("64", "3"),
        *(negative(of(*drawn(1_000_000, *SEVERAL))) for of in (most, least)),
        given("1"),
    ],
}


def found(figure: str, says: str) -> Source:
    """A number of what was found of a statement of a figure."""
    return cell("inside-figures", "found", figure, says=says)


def balanced(program: str, says: str) -> list[Source]:
    """A number of what was found of the balance of a program, on each cluster."""
    states = "well balanced applications have no thread that causes an imbalance: "
    return [
        cell("inside-figures", "found", f"{states}{program} on {each}", says=says)
        for each in ("Blade", "NOW")
    ]


EVENTS_COST = [
    cell(
        "overhead",
        "more",
        "an allreduce of 2 ranks, whole runs, events",
        f"table=Costs, {build}",
        says="(+#%)",
    )
    for build in ("openmpi-4.1", "openmpi-5.0", "mpich-4.0", "mpich-5.0")
]
BONGO: Claims = {
    "Figure 2a": [
        *(cell("inside-figures", each, "NOW", "sor") for each in ("arrival wait", "two way")),
        note("inside-figures", "communication is # of the time (paper"),
    ],
    "Figure 2b": [
        note("inside-figures", "Gsum on NOW: the # threads"),
        found("Figure 2b", "0 edges between hosts: # to #"),
        given("0"),
        found("Figure 2b", "ranks with 1 edges between hosts: # to #"),
    ],
    "Figure 3a": [
        given("4", "256"),
        found("Figure 3a", "root: # for # bytes, # for # bytes"),
    ],
    "Figure 3b": [
        found("Figure 3b", "with two, # after each other"),
        found("Figure 3b", "with one level, # after each other"),
        found("Figure 3b", "a call takes * us and #"),
        found("Figure 3b", "a call takes # and"),
    ],
    "Sections 3 and 4": [
        *(of(*balanced("gsum", "differs by #, a call")) for of in (least, most)),
        note("inside-figures", "deviation * us (#)"),
        note("inside-figures", "up to #, by thalweg tune alone"),
        note("inside-figures", "tree with * ms to one with #;"),
        note("inside-figures", "leaders below the root take # there"),
        given("2"),
        *(formula(of, *EVENTS_COST, unit="%") for of in (min, max)),
        *(of(*balanced("gsum", "in * of # calls")) for of in (least, most)),
        given("10", "25,000", "54.2 times"),
    ],
}
