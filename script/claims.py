"""Where each number of README.md, docs/measured.md, docs/papers.md and decision 0127 comes from.

A claim is known by how it begins or by its figure. Its numbers are listed in the order in which it
has them: cells, sentences and formulas of the pages that it links, and settings and numbers of the
papers, which are `given` as they are printed. Whoever words a claim anew keeps its list in step.
"""

from typing import Any

from claims_of_audit import AUDIT, gains_of_programs, without_smallest
from claims_of_cloudmap import CLOUDMAP
from claims_of_cmpi import CMPI
from claims_of_ideas import IDEAS
from claims_of_measured import (
    ADDED,
    ALARMS,
    ALARMS_WANTED,
    ALL_RIGHT,
    BEST,
    BEST_WANTED,
    CELLS,
    COMPUTES,
    DRAWN,
    FLAPPING_MET,
    FOLLOWED,
    FOLLOWS,
    INVALID,
    LOSE_MORE,
    MEASURED,
    MEASURED_CELLS,
    MODEL_WITHIN,
    NO_GAIN,
    OVERHEADS,
    PAYS_AFTER,
    PREDICTED,
    PREDICTED_SMALL,
    SLOWER,
    SLOWEST,
    WITHIN,
    WITHIN_BEST,
    day,
)
from claims_of_papers import BONGO, HLOT, MATSUDA
from claims_of_placements import (
    GAINS_ON_LAB,
    KERNELS_GAIN,
    LOSERS,
    RUNS_BY_SMPI,
    SLOWER_PLACED,
    SLOWEST_PLACED,
    UNDECIDED_GAINS,
    UNDECIDED_LOSSES,
)
from page_numbers import (
    Claims,
    Number,
    Pages,
    Slot,
    Source,
    all_of,
    cell,
    column,
    fewest_samples,
    formula,
    given,
    least,
    most,
    one,
)


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


README: Claims = {
    "- Predictions may be wrong,": [given("2 %"), LOSE_MORE],
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
        given("30 s"),
    ],
    "With MPICH 5.0, whose": [
        given("4.0"),
        cell("headline", "faster", "two-sites", "mpich-5.0", "allreduce"),
        formula(
            lambda native, bound: native / bound,
            *(
                cell("headline", each, "even", "mpich-5.0", "allreduce")
                for each in ("native", "bound")
            ),
            unit="x",
        ),
        given("4.1"),
        day("native"),
    ],
    "`two-sites`:": [given("100", "10 ms")],
    "`even`:": [given("16", "100")],
    "- More cells:": [*CELLS, INVALID, *DRAWN, SLOWER, MEASURED_CELLS, *SLOWEST],
    "- Whole programs:": [
        given("6"),
        COMPUTES,
        *(of(column("nbody", "faster")) for of in (least, most)),
        given("2"),
        *OVERHEADS,
        *PAYS_AFTER,
        given("5", "16", "64"),
        least(*gains_of_programs(16, 64)),
        without_smallest(),
        given("3", "4,096", "10 %"),
        MODEL_WITHIN,
    ],
    "- Start:": [*ADDED[0], *ADDED[1], given("3 s", "0.3 s")],
    "- Placements,": [
        KERNELS_GAIN,
        given("64", "8"),
        RUNS_BY_SMPI,
        LOSERS,
        SLOWEST_PLACED,
        given("2"),
        GAINS_ON_LAB,
        UNDECIDED_GAINS,
        SLOWER_PLACED,
        UNDECIDED_LOSSES,
    ],
    "- Networks that change:": [
        given("1"),
        FOLLOWS,
        FOLLOWED,
        NO_GAIN,
        *ALARMS,
        *ALARMS_WANTED,
        FLAPPING_MET,
    ],
    "- Predictions,": [
        PREDICTED,
        given("1", "2", "3"),
        PREDICTED_SMALL,
        given("64", "3"),
        WITHIN,
        day("choice"),
        WITHIN_BEST,
        BEST,
        BEST_WANTED,
        ALL_RIGHT,
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
    "docs/measured.md": MEASURED,
    "docs/papers.md": PAPERS,
    "docs/decisions/0127-what-the-audit-found.md": AUDIT,
}
