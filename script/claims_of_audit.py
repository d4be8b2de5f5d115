"""Where the numbers of decision 0127, after the audit, come from; see claims.py."""

from collections.abc import Mapping

from claims_of_cmpi import (
    asymmetric,
    beaten,
    by_ranks,
    day,
    day_on_lab,
    from_best,
    reduces,
    saved,
)
from claims_of_papers import CONTRAST, FASTER, over_nearest, over_original
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
    given,
    kinds,
    least,
    most,
    negative,
    note,
    those_with,
)

BY_CLUSTERS = "table=By clusters: 2 bytes"
CLOUD_BCAST = ("cloud", "openmpi-4.1", "bcast", "1000000")


def from_best_senders(*labels: str) -> Source:
    return column("wan", "slower than the best", *labels)


def rows_that_hold(page: str, statements: Mapping[str, str]) -> Source:
    """In how many rows of the page its statement on more senders holds, and how many there are."""
    return those_with("yes", "holds", statements[page], pages=(page,))


def made_figures() -> Source:
    """How many figures and tables of docs/papers.md have a page, and how many there are."""

    def find(tree: Pages) -> list[Slot]:
        figures = [row for row in map(dict, tree.rows("docs/papers.md")) if "verdict" in row]
        made = sum("bench/results/" in row["page"] for row in figures)
        return [(Number(made),), (Number(len(figures)),)]

    return Source(find)


def gains_of_programs(*ranks: int) -> list[Source]:
    """What whole programs with so many ranks gain over the best rival."""
    return [column("smpi", "faster than the rivals run", f"ranks={each}") for each in ranks]


def without_smallest() -> Source:
    """What they gain at most where IS doesn't have its smallest class."""
    return note("smpi", "Without IS of class S, Thalweg is at most # as fast as the best rival")


AUDIT: Claims = {
    "CMPI's levels were": [
        *(of(asymmetric("latency", "hosts=128")) for of in (least, most)),
    ],
    "scenario `cloud` takes": [
        *(asymmetric(what, "scenario cloud") for what in ("latency", "bandwidth")),
    ],
    "CMPI's groups had": [reduces("CMPI, block")],
    "Matsuda's originals were": [
        given("32"),
        *over_nearest("wan-simulated", "wan-2x16"),
        *over_original("wan-simulated", "wan-2x16"),
        given("2"),
        *over_nearest("wan", "wan-2x16"),
        *over_original("wan", "wan-2x16"),
    ],
    "HLOT's setting had": [
        given("2"),
        cell("grid", "over magpie", BY_CLUSTERS, "clusters=2"),
        given("2"),
        all_of(*cells("grid", ["over mpich-g2", "over magpie"], BY_CLUSTERS, "clusters=8")),
        given("8"),
        *(of(column("grid", "HLOT is faster by")) for of in (least, most)),
    ],
    "ranks of `cmpi.md` lay": [
        *(
            of(by_ranks(f"CMPI, {order}"))
            for order in ("random", "round robin")
            for of in (least, most)
        ),
        most(by_ranks("CMPI, block")),
        negative(least(by_ranks("CMPI, block"))),
    ],
    "`cmpi.md` had no collective": [
        *(
            cell("cmpi", f"CMPI, {order}", "collective=all", "bytes=all")
            for order in ("random", "block", "round robin")
        ),
        *saved("CMPI, block"),
        reduces("CMPI, block"),
    ],
    "the two days of Figure 10": [
        *(day("CMPI", each, "random") for each in ("bcast", "scatter")),
        negative(day("CMPI", "bcast", "block")),
        day("CMPI", "scatter", "block"),
        day_on_lab("CMPI", "bcast"),
        negative(day_on_lab("CMPI", "scatter")),
        *(day_on_lab("Thalweg", each) for each in ("bcast", "scatter")),
    ],
    "Figure 9 had": [beaten("bcast"), beaten("scatter"), from_best("scatter", "above")],
    "`wan` called": [
        *(of(from_best_senders("wan-2x16")) for of in (least, most)),
        most(from_best_senders("switches-2x16")),
    ],
    "the pages held": [
        given("4", "8"),
        rows_that_hold("wan", FASTER),
        given("1", "8"),
        rows_that_hold("wan-simulated", FASTER),
        rows_that_hold("wan", CONTRAST),
        rows_that_hold("wan-simulated", CONTRAST),
    ],
    "`breakdown` wasn't": [
        *cells("breakdown", "saved", ["CG", "N-body"]),
        *cells("breakdown", "CMPI saved", ["CG", "N-body"]),
        *cells("breakdown", "saved, with a probe, too", ["CG", "N-body"]),
    ],
    "README: an allreduce": [
        cell("headline", "at 2d", "two-sites", "openmpi-4.1", "allreduce", says="differs by #"),
        cell("headline", "at 2d", "two-sites", "mpich-4.0", "reduce", says="differs by #"),
    ],
    "`cells` had": [note("cells", "met in # of * cells"), note("cells", "met in * of # cells")],
    "the cloud's broadcast": [
        all_of(*(cell(page, "Thalweg", *CLOUD_BCAST) for page in ("headline", "cells"))),
        given("1"),
    ],
    "N-body computed": [
        cell("nbody", "faster", each, "openmpi-4.1") for each in ("two-sites", "cloud")
    ],
    '"53 of 54" predictions': [
        note("prediction", "# of # predictions at 1MB"),
        note("prediction", "# of # predictions at 64KB"),
        given("64"),
    ],
    "`probe` knew": [kinds("probe", "scenario"), kinds("probe", "build")],
    "figures weren't made": [made_figures()],
    "whole programs": [
        given("64"),
        *(of(*gains_of_programs(16, 64)) for of in (least, most)),
        without_smallest(),
        *(of(*gains_of_programs(256, 1024, 4096)) for of in (least, most)),
        given("4,096"),
        note("smpi-lab", "Within 10 % of the lab: # of # (wanted"),
        given("10 %"),
    ],
    "README's numbers": [given("0")],
}
