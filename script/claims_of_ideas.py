"""Where the numbers among the papers' ideas in docs/papers.md come from; see claims.py."""

from collections.abc import Sequence

from claims_of_cmpi import PLACEMENTS
from claims_of_measured import TUNED
from page_numbers import Claims, Source, column, formula


def in_groups(what: str) -> list[Source]:
    """What CMPI gains, as printed or with joined binomial trees, by placement."""
    table = "table=CMPI as printed, and with binomial trees in its groups"
    return [column("cmpi", f"{what}, {each.removeprefix('CMPI, ')}", table) for each in PLACEMENTS]


def higher(these: Sequence[Source], those: Sequence[Source]) -> list[Source]:
    """In how many cases a number of these is above its counterpart, and how many there are."""

    def count(*found: float) -> int:
        half = len(found) // 2
        return sum(a > b for a, b in zip(found[:half], found[half:], strict=True))

    both = (*these, *those)
    return [formula(count, *both, unit=""), formula(lambda *all: len(all) // 2, *both, unit="")]


def throughput(algorithm: str) -> Source:
    """The throughput of the allreduces on the lab."""
    return column("wan", algorithm, "table=Throughput in MB/s", "allreduce")


IDEAS: Claims = {
    "section 4.3, algorithm 3:": higher(in_groups("binomial"), in_groups("as printed")),
    "section 4: reconfiguration": TUNED,
    "sections 2.2 to 2.5:": higher(
        [throughput("site-blind, near first")], [throughput("site-blind")]
    ),
}
