"""What CMPI and Thalweg gain over MPICH2 in simulated sweeps: tables and plots of the page."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench import cmpi_figures
from bench.cmpi_figures import dashes
from bench.plot import line_chart
from bench.report import Content, Figure, Table, judged, percent, seconds, times
from bench.summary import saved

over_ranks = (0.254, 0.312)
"""The least and the greatest improvement over MPICH2 from 32 to 2,048 ranks, in appendix B."""
of_paper = {"bcast": 0.382, "reduce": 0.135, "scatter": 0.227, "gather": 0.273}
"""The average improvement over MPICH2 of section 5.2, Figure 6."""
on_amazon, in_simulations = 0.254, 0.283
"""The average improvement over all collectives, in the abstract and the conclusion."""
with_ring = ("100KB", "1MB")
"""Sizes at which MPICH2's bcast is a ring in the paper, and CMPI's gain hugely (section 5.2)."""
settings = ("bytes", "ranks", "hosts", "ranks per host")
"""The sweeps that vary what is asked, rather than CMPI's parameters."""
usual = ("bytes", "1MB")  # sweep and value of the paper's default setting
noticed = 0.01  # a difference of times
named = {"block": "in blocks", "round robin": "in turn", "random": "at random"}


@dataclass(frozen=True)
class Times:
    """Times of one collective on one network, in simulated seconds."""

    sweep: str
    varied: str
    placement: str
    collective: str
    seed: int
    flat: float  # MPICH2 without its SMP collectives
    mpich: float  # MPICH2
    cmpi: float  # as printed
    logarithmic: float  # CMPI with logarithmic levels
    joined: float | None  # with binomial trees in its groups, joined, where CMPI has groups
    ours: float | None
    plan: str


Case = Callable[[Times], tuple[str, ...]]


def mean_saved(group: Sequence[object], name: str = "cmpi", over: str = "mpich") -> float | None:
    """The share of another time that one saves, by their geometric means; None if there is none."""
    both = [(getattr(each, name), getattr(each, over)) for each in group]
    ratios = [time / rival for time, rival in both if time is not None and rival is not None]
    return saved(1, statistics.geometric_mean(ratios)) if ratios else None


def shown(value: float | None) -> str:
    return "-" if value is None else percent(value)


def grouped(found: Iterable[Times], case: Case) -> dict[tuple[str, ...], list[Times]]:
    groups: dict[tuple[str, ...], list[Times]] = {}
    for each in found:
        groups.setdefault(case(each), []).append(each)
    return groups


def placed(group: Sequence[Times], name: str = "cmpi", over: str = "mpich") -> list[str]:
    """What is saved, by placement."""
    by = grouped(group, lambda each: (each.placement,))
    return [shown(mean_saved(by.get((placement,), []), name, over)) for placement in dashes]


def beside_paper(found: Sequence[Times]) -> Table:
    """Tables the average improvements of Figure 6."""
    table = Table(
        "Improvement over MPICH2 1.4 beside the paper's",
        ["collective", "bytes", "paper", *(f"CMPI, {placement}" for placement in dashes),
         *(f"without SMP, {placement}" for placement in dashes)],
        notes=[
            "64 hosts, 200 ranks, k = 4, T_span = 1; geometric means over sizes and networks. The "
            "paper's are the averages of section 5.2.",
            "MPICH2 does bcasts of short messages and reduces first within and between hosts, by "
            "default. Without SMP: over MPICH2 with these levels switched off, a weaker rival.",
            "Block fills host after host and round robin deals ranks out in turn, as launchers do. "
            "At random, ranks lie unevenly and in no order, which favours an algorithm that "
            "knows where they are. The paper doesn't say how it placed them.",
        ],
    )  # fmt: skip
    sizes = [each for each in found if each.sweep == usual[0]]
    for name, paper in of_paper.items():
        own = [each for each in sizes if each.collective == name]
        at_usual = [each for each in own if each.varied == usual[1]]
        for size, group in (("all", own), (usual[1], at_usual)):
            table.add(name, size, shown(paper), *placed(group), *placed(group, over="flat"))
    table.add("all", "all", "25 %", *placed(sizes), *placed(sizes, over="flat"))
    if sizes:
        table.notes += [on_average(sizes), over_all(sizes), gap_of_bcasts(sizes)]
    return table


def on_average(sizes: Sequence[Times]) -> str:
    """One sentence: whether each collective gains on average, as in Figure 6."""
    rows = grouped(sizes, lambda each: (each.placement, each.collective))
    lost: dict[str, list[str]] = {}
    for (placement, kind), own in rows.items():
        if (mean_saved(own) or 0.0) <= 0:
            lost.setdefault(placement, []).append(kind)
    said = "; ".join(
        f"{' and '.join(kinds)} {named[placement]}" for placement, kinds in lost.items()
    )
    most_gain = 2 * sum(map(len, lost.values())) < len(rows)
    return (
        "Figure 6: in the paper each collective gains on average over the sizes; here all do but "
        f"{said or 'none'}: {judged(not said, in_part=most_gain)}."
    )


def over_all(sizes: Sequence[Times]) -> str:
    """One sentence: the average over all collectives, as in the paper's abstract."""
    savings = [mean_saved(own) for own in grouped(sizes, lambda each: (each.placement,)).values()]
    found = [each for each in savings if each is not None]
    return (
        f"Abstract and conclusion: in the paper CMPI takes {100 * on_amazon:.1f} % less time over "
        f"all collectives on Amazon EC2 and {100 * in_simulations:.1f} % less in its simulations; "
        f"here {more_or_less(min(found))} to {more_or_less(max(found))}, by placement: "
        f"{judged(min(found) >= on_amazon, in_part=max(found) > 0)}."
    )


def gap_of_bcasts(sizes: Sequence[Times]) -> str:
    """One sentence: whether bcasts gain most where MPICH2 goes over to a ring."""
    bcasts = [each for each in sizes if each.collective == "bcast"]
    gains = {
        placement: [mean_saved(at_point(bcasts, varied, placement)) or 0.0 for varied in with_ring]
        for placement in dashes
    }
    said = ", ".join(
        f"{' and '.join(map(more_or_less, of))} {named[placement]}"
        for placement, of in gains.items()
    )
    all_gain = min(min(of) for of in gains.values()) > 0
    return (
        f"Section 5.2: in the paper bcasts of {' and '.join(with_ring)} gain hugely, since MPICH2 "
        f"goes over to a ring; here they take {said}: "
        f"{judged(all_gain, in_part=max(max(of) for of in gains.values()) > 0)}."
    )


def gains_drawn(found: Sequence[Times], sweep: str, what: str, name: str) -> list[Content]:
    """Draws a sweep: how many times as long MPICH2 takes as CMPI and Thalweg, by collective."""
    points = [each for each in found if each.sweep == sweep]
    if not points:
        return []
    panels = []
    for (kind,), of_kind in grouped(points, lambda each: (each.collective,)).items():
        values = list(dict.fromkeys(each.varied for each in of_kind))
        savings = {
            (algorithm, placement): [
                mean_saved(at_point(of_kind, varied, placement), key) for varied in values
            ]
            for algorithm, key in (("CMPI", "cmpi"), ("Thalweg", "ours"))
            for placement in dashes
        }
        panels.append(cmpi_figures.over_mpich(kind, sweep, values, savings))
    drawing = Figure(f"MPICH2's time over CMPI's and Thalweg's, by {sweep}", name,
                     line_chart(panels))  # fmt: skip
    drawing.notes.append(f"{what}; above 1 is faster than MPICH2 1.4. Means as in the tables.")
    return [drawing]


def at_point(found: Sequence[Times], varied: str, placement: str) -> list[Times]:
    return [each for each in found if (each.varied, each.placement) == (varied, placement)]


def losses(found: Sequence[Times]) -> Table:
    """Says where CMPI is slower than MPICH2, and by how much."""
    table = Table(
        "Where CMPI is slower than MPICH2 1.4",
        ["placement", "collective", "slower in", "by, on average", "at most", "namely at"],
    )
    for (placement, collective), group in grouped(
        found, lambda each: (each.placement, each.collective)
    ).items():
        points = grouped(group, lambda each: (each.sweep, each.varied))
        ratios = {
            point: statistics.geometric_mean(each.cmpi / each.mpich for each in times)
            for point, times in points.items()
        }
        slower = {point: ratio for point, ratio in ratios.items() if ratio > 1 + noticed}
        worst = max(ratios, key=lambda point: ratios[point])
        table.add(
            placement,
            collective,
            f"{len(slower)} of {len(ratios)}",
            times(statistics.geometric_mean(slower.values())) if slower else "",
            times(ratios[worst]) if slower else "",
            f"{worst[0]} {worst[1]}" if slower else "",
        )
    table.notes.append(
        f"Points of the sweeps of {', '.join(settings)}, with k = 4 and T_span = 1; slower by more "
        f"than {percent(noticed)}. CMPI's time over MPICH2's with SMP."
    )
    for (placement,), group in grouped(found, lambda each: (each.placement,)).items():
        table.notes.append(verdict(placement, group))
    return table


def verdict(placement: str, group: Sequence[Times]) -> str:
    """One sentence: what CMPI gains or loses with this placement."""
    whole = mean_saved(group) or 0.0
    by_kind = grouped(group, lambda each: (each.collective,))
    lost = {
        kind: value for (kind,), own in by_kind.items() if (value := mean_saved(own) or 0.0) < 0
    }
    text = f"Ranks placed {named[placement]}: over all points and collectives CMPI takes "
    text += f"{more_or_less(whole)} than MPICH2"
    if not lost:
        return text + "; no collective loses on average."
    each = ", ".join(f"{kind} ({percent(-value)} more)" for kind, value in lost.items())
    return f"{text}; on average it loses at {each}."


def together(found: Sequence[Times]) -> Table:
    """Tables geometric means over the collectives and networks."""
    table = Table(
        "Improvement over MPICH2 1.4, all collectives",
        ["sweep", "at", *(f"CMPI, {placement}" for placement in dashes),
         *(f"Thalweg, {placement}" for placement in dashes)],
        notes=[
            "Clouds drawn from three seeds, from 1,024 ranks on from one. The paper improves by "
            f"{100 * over_ranks[0]:.1f} to {100 * over_ranks[1]:.1f} % over MPICH2 for 32 to 2,048 "
            "processes, simulated.",
            "Above 256 ranks Thalweg plans with the effort `estimate`. Its plan doesn't depend on "
            "k and T_span.",
            "T_span: groups of the level below, which are single hosts on the lowest level, are "
            "moved from the largest group of a level to the smallest one, wherever there is room, "
            "until none would bring their sizes nearer to each other. The paper moves single "
            "machines on all levels, which then don't nest. Close hosts only: as long as they "
            "stay close to all of their group, which is Thalweg's default.",
        ],
    )  # fmt: skip
    for key, group in grouped(found, lambda each: (each.sweep, each.varied)).items():
        table.add(*key, *placed(group), *placed(group, "ours"))
    table.notes += [said for said in (one_per_host(found), by_size(found)) if said]
    return table


def one_per_host(found: Iterable[Times]) -> str:
    """Says what CMPI gains where nobody can know which ranks share a host; "" if it isn't there."""
    points = grouped(found, lambda each: (each.sweep, each.varied))
    alone = points.get(("ranks per host", "1"), [])
    if not alone:
        return ""
    cells = grouped(alone, lambda each: (each.placement, each.collective)).values()
    lost = sum((mean_saved(own) or 0.0) < 0 for own in cells)
    said = (
        "With one rank per host, where nothing is gained by knowing which ranks share a host, CMPI "
        f"takes {in_placements(alone)} over all collectives of 1 MB, by which it gains less than "
        f"by shorter ones, and loses in {lost} of {len(cells)} cells of a "
        "collective and a placement."
    )
    if few := points.get(("hosts", "128"), []):
        said += f" With 200 ranks on 128 hosts it takes {in_placements(few)}."
    return said


def in_placements(group: Sequence[Times]) -> str:
    """Says CMPI's time beside MPICH2's in each placement, over all collectives."""
    said = [
        f"{more_or_less(mean_saved(own) or 0.0)} {named[placement]}"
        for (placement,), own in grouped(group, lambda each: (each.placement,)).items()
    ]
    return f"{', '.join(said)} than MPICH2"


def more_or_less(value: float) -> str:
    return f"{percent(abs(value))} {'more' if value < 0 else 'less'} time"


def by_size(found: Iterable[Times]) -> str:
    """Holds what the paper says of the message's size against each placement; "" without sizes."""
    sizes = [each for each in found if each.sweep == usual[0]]
    courses = {
        placement: course(grouped(group, lambda each: (each.varied,)))
        for (placement,), group in grouped(sizes, lambda each: (each.placement,)).items()
    }
    if not courses:
        return ""
    said = "; ".join(f"{named[placement]} it {each}" for placement, each in courses.items())
    holds = all(each.startswith(grows) for each in courses.values())
    return (
        'Section 5.2 of the paper: "The improvement is relatively larger for larger message '
        f'sizes." Here {said}: this {judged(holds)}.'
    )


grows = "grows with the size"


def course(groups: Mapping[tuple[str, ...], Sequence[Times]]) -> str:
    """Says how what CMPI saves changes from size to size, and what it is."""
    savings = {varied: mean_saved(group) or 0.0 for (varied,), group in groups.items()}
    steps = list(itertools.pairwise(savings.values()))
    shape = f"is the most at {max(savings, key=lambda size: savings[size])}"
    if all(a < b for a, b in steps):
        shape = grows
    elif all(a > b for a, b in steps):
        shape = "falls with the size"
    return f"{shape} ({', '.join(f'{100 * each:.0f}' for each in savings.values())} %)"


def scales(found: Sequence[Times]) -> Table:
    """Compares CMPI with levels as printed and with logarithmic ones."""
    table = Table(
        "CMPI's levels: linear, as printed, and logarithmic",
        ["placement", "collective", "linear over MPICH2", "logarithmic over MPICH2",
         "linear is faster in", "logarithmic is faster in"],
        notes=[
            "Linear: floor(x / (k least)); logarithmic: floor(log_k(x / least)). Over the same "
            f"points and all networks; faster by more than {percent(noticed)}."
        ],
    )  # fmt: skip
    for key, group in grouped(found, lambda each: (each.placement, each.collective)).items():
        ratios = [each.cmpi / each.logarithmic for each in group]
        counts = [
            sum(ratio < 1 - noticed for ratio in ratios),
            sum(1 / ratio < 1 - noticed for ratio in ratios),
        ]
        table.add(
            *key,
            shown(mean_saved(group)),
            shown(mean_saved(group, "logarithmic")),
            *(f"{count} of {len(ratios)}" for count in counts),
        )
    return table


def in_groups(found: Sequence[Times]) -> Table:
    """Compares what MPICH2 chooses in CMPI's groups with binomial trees there."""
    table = Table(
        "CMPI as printed, and with binomial trees in its groups",
        ["bytes", "collective", *(f"as printed, {placement}" for placement in dashes),
         *(f"binomial, {placement}" for placement in dashes)],
        notes=[
            "Improvement over MPICH2. As printed: the paper's Algorithm 3 calls MPICH2's own "
            "collective in each group, which is Rabenseifner's reduce and scatter with allgather "
            "for long vectors. A group's bcast begins when its leader is done with the level "
            "above, a group's reduce when its last rank is done with the level below, and groups "
            "share no link, although racks do. All else on this page has that.",
            "Binomial: Thalweg's algorithm `hierarchical` joins binomial trees of the groups to "
            "one schedule, in which no level waits for another.",
        ],
    )  # fmt: skip
    own = [each for each in found if each.sweep == usual[0] and each.joined is not None]
    for key, group in grouped(own, lambda each: (each.varied, each.collective)).items():
        table.add(*key, *placed(group), *placed(group, "joined"))
    return table


def default(found: Sequence[Times]) -> Table:
    """Tables the times of the paper's default setting."""
    table = Table(
        "Times of the default setting",
        ["collective", "placement", "MPICH2 without SMP", "MPICH2", "CMPI", "logarithmic",
         "Thalweg", "plans"],
        notes=["1 MB; medians of the networks."],
    )  # fmt: skip
    points = [each for each in found if (each.sweep, each.varied) == usual]
    for key, group in grouped(points, lambda each: (each.collective, each.placement)).items():
        columns = (
            [time for each in group if (time := getattr(each, name)) is not None]
            for name in ("flat", "mpich", "cmpi", "logarithmic", "ours")
        )
        plans = ", ".join(dict.fromkeys(each.plan for each in group))
        table.add(
            *key,
            *(seconds(statistics.median(column)) if column else "-" for column in columns),
            plans,
        )
    return table


def by_sweep(found: Sequence[Times], sweep: str) -> Table:
    """Tables what is saved in a sweep, by collective."""
    points = [each for each in found if each.sweep == sweep]
    planned = any(each.ours is not None for each in points)
    ours = [f"Thalweg, {placement}" for placement in dashes] if planned else []
    columns = [sweep, "collective", *(f"CMPI, {placement}" for placement in dashes), *ours]
    table = Table(f"By {sweep}", columns)
    for key, group in grouped(points, lambda each: (each.varied, each.collective)).items():
        table.add(*key, *placed(group), *(placed(group, "ours") if planned else []))
    return table
