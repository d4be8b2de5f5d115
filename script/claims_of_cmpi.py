"""Where the numbers of the verdicts on CMPI in docs/papers.md come from; see claims.py."""

from page_numbers import (
    Claims,
    Source,
    all_of,
    cell,
    cells,
    column,
    formula,
    given,
    least,
    most,
    negative,
    note,
)

GROUPS = "hosts of the groups above single hosts"
CLOUDS = "table=The clouds: asymmetry and hierarchy"
PLACEMENTS = ["CMPI, block", "CMPI, round robin", "CMPI, random"]
CG_AT = "at=51,200 numbers"
NBODY_AT = ("figure=11c", "at=1MiB")
SWEEPS = ("cmpi", "table=Improvement over MPICH2 1.4, all collectives")


def asymmetric(what: str, *labels: str) -> Source:
    return column("cmpi", f"asymmetric {what}", CLOUDS, "levels=linear", *labels)


def saved(placement: str) -> list[Source]:
    """What CMPI saves on the mean of the sizes."""
    return cells("cmpi", placement, "bytes=all", ["bcast", "scatter", "gather"])


def reduces(placement: str) -> Source:
    """What CMPI's reduces lose on the mean of the sizes."""
    return negative(cell("cmpi", placement, "bytes=all", "collective=reduce"))


def levels(seed: int) -> Source:
    """How many levels the hierarchy of a drawn cloud has."""
    network = f"network=drawn, seed {seed}, 64 hosts"
    return formula(
        lambda *all: len(all), column("cmpi", "groups by level", CLOUDS, network, "levels=linear")
    )


def simulated(column: str, ranks: int, *labels: str) -> Source:
    return cell("breakdown-simulated", column, f"ranks={ranks}", *labels)


def on_clouds(program: str, *labels: str) -> Source:
    """What CMPI saves at the end of the axis on each drawn cloud."""
    return column(
        "breakdown-simulated", "CMPI saved", "table=By network", f"program={program}", *labels
    )


def loss(placement: str, collective: str) -> Source:
    return negative(cell("cmpi", placement, "bytes=1MB", f"collective={collective}"))


def single(percentile: str, placement: str, algorithm: str) -> Source:
    table = "table=Times of single ranks in a scatter"
    return cell("cmpi", percentile, table, placement, algorithm)


def apart(placement: str, algorithm: str) -> Source:
    """How far apart the middle 80 % of the ranks end."""
    ends = (single(each, placement, algorithm) for each in ("10 %", "90 %"))
    return formula(lambda first, last: last - first, *ends)


def faster_in(collective: str, placement: str) -> Source:
    return cell("cmpi", "CMPI is faster in", collective, placement, "CMPI", says="# of *")


def by_ranks(placement: str) -> Source:
    """What CMPI saves at each number of ranks."""
    return column(SWEEPS[0], placement, SWEEPS[1], "sweep=ranks")


def alone(placement: str, collective: str) -> Source:
    """What CMPI loses with one rank per host."""
    labels = ("ranks per host=1", f"collective={collective}")
    return negative(cell("cmpi", placement, "table=By ranks per host", *labels))


def over(sweep: str, placement: str, *ends: str) -> list[Source]:
    """What CMPI saves most ("less"), loses most ("more") or saves least ("least") in a sweep."""
    values = column(SWEEPS[0], placement, SWEEPS[1], f"sweep={sweep}")
    found = {"less": most(values), "more": negative(least(values)), "least": least(values)}
    return [found[each] for each in ends]


def by_smpi(name: str) -> Source:
    """What CMPI saves at each number of ranks by either simulator."""
    return column("cmpi-smpi", name, "table=Improvement over MPICH2 1.4, all collectives")


def by_size(placement: str) -> list[Source]:
    """What CMPI saves at each size, over all collectives."""
    return [
        cell(SWEEPS[0], placement, SWEEPS[1], "sweep=bytes", f"at={size}")
        for size in ("1KB", "10KB", "100KB", "1MB")
    ]


def spread(sweep: str, placement: str) -> Source:
    """By how much a parameter matters."""
    values = column(SWEEPS[0], placement, SWEEPS[1], f"sweep={sweep}")
    return formula(lambda *values: max(values) - min(values), values)


SEGMENTED = "binomial, segmented"
PIPELINED = ("bcast", "reduce")
LAUNCHED = ("in blocks", "in turn")


def beaten(collective: str, placed: str = "at random") -> Source:
    said = f"{collective}, {placed}: # of the permuted binomial trees are faster than CMPI"
    return note("trees", said)


def on_others(name: str, *collectives: str) -> list[Source]:
    """A column of the clouds besides the first, on which there are fewer trees."""
    return [
        column("trees", name, "table=On other clouds", collective, f"cloud={cloud}")
        for collective in collectives
        for cloud in (2, 3, 4, 5)
    ]


def from_best(collective: str, side: str, placed: str = "at random") -> Source:
    """How far CMPI's time is from that of the best permuted binomial tree."""
    return note(
        "trees",
        f"{collective}, {placed}: * % of the permuted binomial trees are faster than CMPI, "
        f"whose time is # {side}",
    )


def day(name: str, *labels: str) -> Source:
    return cell("days", name, "table=CMPI beside MPICH2 over two days", *labels)


def on_cloud(cloud: int, *labels: str) -> Source:
    """What CMPI saves over the two days of a cloud."""
    return cell("days", f"cloud {cloud}", *labels)


def day_on_lab(name: str, collective: str) -> Source:
    return cell("days-lab", name, "table=CMPI beside MPICH over two days", collective, "by=lab")


def best_k(placement: str) -> Source:
    """The k with which CMPI saves most."""
    where = (SWEEPS[1], "sweep=k")

    def best(*found: float) -> float:
        half = len(found) // 2
        return max(zip(found[half:], found[:half], strict=True))[1]

    return formula(
        best, column(SWEEPS[0], "at", *where), column(SWEEPS[0], placement, *where), unit=""
    )


CMPI: Claims = {
    "Figure 2": [
        note("cmpi", "k = #, * MB, T_span = *. Asymmetric"),
        given("128"),
        *(of(asymmetric("latency", "hosts=128")) for of in (least, most)),
        *(of(asymmetric("bandwidth", "hosts=128")) for of in (least, most)),
        note("cmpi", "finds # of the pairs of * instances asymmetric in latency and # in"),
        given("200"),
        *(asymmetric(what, "scenario cloud") for what in ("latency", "bandwidth")),
        note("cmpi", "The scenario draws # and # of its pairs"),
    ],
    "Figure 4": [given("16")],
    "Figure 5": [
        most(*(levels(seed) for seed in (1, 2, 3))),
        formula(lambda *all: all.count(4), *(levels(seed) for seed in (1, 2, 3))),
        formula(lambda *all: len(all), column("cmpi", "hosts", CLOUDS, "levels=linear", "64")),
        given("64"),
        least(*(levels(seed) for seed in (1, 2, 3))),
        *(of(column("cmpi", GROUPS, "levels=linear", "hosts=64")) for of in (least, most)),
        given("1"),
    ],
    "Figure 6": [
        given("1", "1"),
        *saved("CMPI, block"),
        *saved("CMPI, random"),
        *saved("CMPI, round robin"),
        *(of(*(reduces(each) for each in PLACEMENTS)) for of in (least, most)),
        given("1"),
        loss("CMPI, block", "bcast"),
        given("4"),
        *(
            cell("cmpi", f"CMPI, {each}", "collective=all", "bytes=all")
            for each in ("block", "round robin", "random")
        ),
        given("100"),
        note("cmpi", "here they take # less time and * % more time in blocks"),
        note("cmpi", "more time in blocks, # less time and * % less time in turn"),
        note("cmpi", "less time in turn, # less time and * % less time at random"),
        given("1"),
        note("cmpi", "here they take * % less time and # more time in blocks"),
        note("cmpi", "more time in blocks, * % less time and # less time in turn"),
        note("cmpi", "less time in turn, * % less time and # less time at random"),
        given("10"),
        *by_size("CMPI, block"),
        given("1", "10", "100", "1", "100"),
        *by_size("CMPI, round robin"),
        *by_size("CMPI, random"),
        note("cmpi", "CMPI takes # more time in blocks, # more time in turn, # more time at"),
        given("1"),
        note("cmpi", "and loses in # of # cells of a collective and a placement"),
        note("cmpi", "With # ranks on # hosts it takes"),
        note("cmpi", "hosts it takes # more time in blocks, # less time in turn, # less time at"),
    ],
    "Figure 7": [
        *(single("50 %", each, "CMPI") for each in ("random", "block")),
        *(single("50 %", each, "MPICH2 1.4") for each in ("random", "block")),
        apart("block", "CMPI"),
        given("80 %"),
        apart("block", "MPICH2 1.4"),
        *(single(each, "random", "CMPI") for each in ("10 %", "90 %")),
        *(single(each, "random", "MPICH2 1.4") for each in ("10 %", "90 %")),
        *(single("50 %", "round robin", each) for each in ("CMPI", "MPICH2 1.4")),
    ],
    "Figure 8": [
        cell("cmpi", "CMPI is faster in", "CMPI", says="* of #"),
        *(faster_in(each, "random") for each in ("bcast", "scatter")),
        *(faster_in(each, "round robin") for each in ("bcast", "scatter")),
        *(faster_in(each, "block") for each in ("bcast", "scatter")),
        given("200", "64", "3", "1"),
        *(alone(each, kind) for kind in ("bcast", "scatter") for each in PLACEMENTS),
    ],
    "Figure 9": [
        given("2"),
        beaten("bcast"),
        cell("trees", "how many", "bcast", "binomial", "random"),
        from_best("bcast", "below"),
        all_of(*(beaten("bcast", each) for each in LAUNCHED)),
        all_of(*(cell("trees", "how many", "bcast", each) for each in ("block", "round robin"))),
        *(from_best("bcast", "below", each) for each in LAUNCHED),
        beaten("scatter"),
        from_best("scatter", "above"),
        *(beaten("scatter", each) for each in LAUNCHED),
        from_best("reduce", "below"),
        from_best("gather", "above"),
        beaten("gather"),
        formula(
            max,
            *(cell("trees", "faster than it (2)", each, SEGMENTED) for each in PIPELINED),
            unit="",
        ),
        cell("trees", "how many", "bcast", SEGMENTED),
        formula(
            lambda theirs, own: 100 * (1 - theirs / own),
            *(
                cell("trees", each, "reduce", "binomial", "random")
                for each in ("MPICH2 1.4", "CMPI")
            ),
            unit="%",
        ),
        note("trees", "# hosts of a cloud, * ranks,"),
        note("trees", "hosts of a cloud, # ranks,"),
        cell("trees", "CMPI", "bcast", "binomial", "random"),
        cell("cmpi", "50 %", "bcast", "random", "100", "CMPI"),
        given("100"),
        given("4"),
        all_of(*on_others("permuted trees", *PIPELINED, "gather", "scatter")),
        all_of(*on_others("faster than it", *PIPELINED)),
        *(
            of(*on_others("faster than it", each))
            for each in ("scatter", "gather")
            for of in (least, most)
        ),
    ],
    "Figure 10": [
        *(day("CMPI", "scatter", each) for each in ("block", "random")),
        given("2"),
        *(day("CMPI", "bcast", each) for each in ("random", "round robin")),
        negative(day("CMPI", "bcast", "block")),
        negative(day("CMPI", "scatter", "round robin")),
        *(of(column("days", "varies by")) for of in (least, most)),
        day("making it anew gains", "bcast", "block"),
        *(
            negative(day("making it anew gains", "bcast", each))
            for each in ("random", "round robin")
        ),
        day("making it anew gains", "scatter", "block"),
        negative(day("making it anew gains", "scatter", "random")),
        day("making it anew gains", "scatter", "round robin"),
        given("2"),
        *(negative(on_cloud(each, "bcast", "block")) for each in (2, 3)),
        *(on_cloud(each, "bcast", "random") for each in (2, 3)),
        *(on_cloud(each, "bcast", "round robin") for each in (2, 3)),
        *(on_cloud(each, "scatter", "block") for each in (2, 3)),
        on_cloud(2, "scatter", "random"),
        on_cloud(3, "scatter", "random"),
        on_cloud(2, "scatter", "round robin"),
        negative(on_cloud(3, "scatter", "round robin")),
        given("8"),
        day_on_lab("CMPI", "bcast"),
        note("days-lab", "30.1 % less), is faster in # of # hours"),
        negative(day_on_lab("CMPI", "scatter")),
        note("days-lab", "17.3 % less), is faster in # of # hours"),
        *(negative(day_on_lab("making it anew gains", each)) for each in ("bcast", "scatter")),
        *(day_on_lab("Thalweg", each) for each in ("bcast", "scatter")),
    ],
    "Figure 11": [
        given("3", "64", "200", "1", "51,200"),
        negative(simulated("CMPI saved", 64, CG_AT)),
        given("64"),
        *(negative(of(on_clouds("CG", "ranks=64"))) for of in (most, least)),
        simulated("CMPI saved", 200, CG_AT),
        given("200"),
        *(of(on_clouds("CG", "ranks=200")) for of in (least, most)),
        given("1", "128"),
        *(negative(simulated("CMPI saved", ranks, *NBODY_AT)) for ranks in (64, 200)),
        most(on_clouds("N-body")),
        negative(least(on_clouds("N-body"))),
        *(
            negative(simulated("communication saved", ranks, *NBODY_AT, "variant=CMPI"))
            for ranks in (64, 200)
        ),
        note("breakdown-simulated", "hierarchy and trees, at most # on this machine"),
        *(simulated("CMPI saved, with overheads", ranks, "100 numbers") for ranks in (64, 200)),
        given("100"),
        note("breakdown-simulated", "in each run, # by its outline"),
        given("16"),
        given("100", "256"),
        note("breakdown", "of CG's and # of N-body's native total"),
        given("8"),
        *cells("breakdown", "CMPI saved", ["CG", "N-body"]),
        cell("breakdown", "communication saved", "N-body", "variant=CMPI"),
        *cells("breakdown", "saved", ["CG", "N-body"]),
        cell("breakdown", "communication saved", "N-body", "Thalweg"),
        *map(negative, cells("breakdown", "CMPI saved, with a probe, too", ["CG", "N-body"])),
        *map(negative, cells("breakdown", "saved, with a probe, too", ["CG", "N-body"])),
        *cells("breakdown", "probe", ["CG", "N-body"], "variant=CMPI"),
        *cells("breakdown", "other overheads", ["CG", "N-body"], "Thalweg"),
        *cells("breakdown", "native", ["CG", "N-body"]),
    ],
    "Appendix B": [
        *(of(column(SWEEPS[0], "at", SWEEPS[1], "sweep=ranks")) for of in (least, most)),
        *(of(by_ranks("CMPI, random")) for of in (least, most)),
        *(of(by_ranks("CMPI, round robin")) for of in (least, most)),
        most(by_ranks("CMPI, block")),
        negative(least(by_ranks("CMPI, block"))),
        most(*(spread("k", each) for each in PLACEMENTS)),
        all_of(*map(best_k, PLACEMENTS)),
        given("4"),
        most(*(spread("T_span", each) for each in PLACEMENTS)),
        given("200"),
        *(of(column(SWEEPS[0], "at", SWEEPS[1], "sweep=hosts")) for of in (least, most)),
        *over("hosts", "CMPI, block", "less", "more"),
        *over("hosts", "CMPI, round robin", "less", "more"),
        *over("hosts", "CMPI, random", "least", "less"),
        *(of(column(SWEEPS[0], "at", SWEEPS[1], "sweep=ranks per host")) for of in (least, most)),
        given("64"),
        *(end for each in PLACEMENTS for end in over("ranks per host", each, "less", "more")),
        given("1", "100"),
        *(
            of(by_smpi(f"{placement}, {by}"))
            for by in ("SMPI", "own simulator")
            for placement in PLACEMENTS
            for of in (least, most)
        ),
        given("512"),
        given("1", "512", "128"),
    ],
}
