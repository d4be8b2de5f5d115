"""The page of `script/bench cmpi-smpi`: what CMPI gains by either simulator."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench import cmpi_figures, cmpi_gains
from bench.cmpi_gains import mean_saved, noticed, over_ranks
from bench.page import Part
from bench.plot import line_chart
from bench.report import Content, Figure, Table, judged, percent, seconds, times

titles: Mapping[str, str] = {"cmpi": "CMPI", "thalweg": "Thalweg"}
names: Mapping[str, str] = {"mpich": "MPICH2", **titles}
simulators = {"": "SMPI", "own_": "own simulator"}
"""By what precedes a time's name."""


@dataclass(frozen=True)
class Times:
    """Times of one collective on one network, in simulated seconds: by SMPI, or None where its
    simulation was ended, and by our own simulator. None of Thalweg where nothing is planned."""

    ranks: int
    hosts: int
    placement: str
    collective: str
    seed: int
    mpich: float | None
    cmpi: float | None
    thalweg: float | None
    own_mpich: float
    own_cmpi: float
    own_thalweg: float | None
    plan: str


def contents(parts: Sequence[Part]) -> list[Content]:
    found = [
        Times(**sample)
        for part in sorted(parts, key=lambda part: part.labels["ranks"])
        for sample in part.samples
    ]
    return [savings(found), curve(found), collectives(found), agreement(found)]


def numbers_of_ranks(found: Sequence[Times]) -> list[int]:
    return list(dict.fromkeys(each.ranks for each in found))


def placements(found: Sequence[Times]) -> list[str]:
    return list(dict.fromkeys(each.placement for each in found))


def of(found: Sequence[Times], **wanted: object) -> list[Times]:
    """Returns those with these values."""
    return [each for each in found if all(getattr(each, k) == v for k, v in wanted.items())]


def mean_saved_of(found: Sequence[Times], algorithm: str, by: str) -> float | None:
    """How much shorter than MPICH2's its time is by a simulator, in the geometric mean over what
    both simulators have both times of."""
    names = [who + name for who in simulators for name in (algorithm, "mpich")]
    of_both = [each for each in found if None not in (getattr(each, name) for name in names)]
    return mean_saved(of_both, by + algorithm, f"{by}mpich")


def shown(time: float | None) -> str:
    return "-" if time is None else seconds(time)


def savings(found: Sequence[Times]) -> Table:
    """Tables the paper's curve."""
    table = Table(
        "Improvement over MPICH2 1.4, all collectives",
        ["ranks", "hosts", "networks",
         *(f"{title}, {each}, {by}" for title in titles.values() for each in placements(found)
           for by in simulators.values())],
        notes=[
            "Geometric means over bcast, reduce, gather and scatter of 100 KB per rank, from and "
            "to rank 0, and over the networks, which are clouds drawn from seeds. Positive: less "
            "time than MPICH2.",
            "SMPI: programs of so many ranks run in SimGrid's MPI. CMPI's and Thalweg's have the "
            "runtime inside, which sends what a plan says; MPICH2's have SMPI's algorithms, and a "
            "scatter of MPICH's. They are what MPICH2 1.4 chooses: at this size and these numbers "
            "of ranks its bcasts and reduces go within and between hosts. With 1 MB, which "
            "`cmpi.md` has, as the paper does, its bcasts don't.",
            "CMPI is `hierarchical` and `distance-tree` with k = 4 and T_span = 1: binomial trees "
            "of its groups, joined, where the paper calls MPICH2's collectives "
            "in the groups; `cmpi.md` has both.",
            "Up to 256 ranks on as many hosts as in `cmpi.md`, above on at most 128, which have "
            "more ranks each, since SimGrid reads a link for each pair of hosts. From 256 ranks on "
            "each row is one network, from 512 ranks on one of 128 hosts.",
            "In SMPI all messages from one host to another share the rate of a single flow, also "
            "those of different ranks, which have flows of their own otherwise and in our own "
            "simulator. With ranks in turn and a power of two of hosts, from 512 ranks on, the "
            "ranks of a host send to those of another at the same time, where the two differ most.",
            "Up to 256 ranks there are Thalweg's plans, too; with more ranks planning takes long.",
            "Block fills host after host; at random, ranks lie unevenly and in no order.",
        ],
    )  # fmt: skip
    for ranks in numbers_of_ranks(found):
        group = of(found, ranks=ranks)
        table.add(
            str(ranks), str(group[0].hosts), str(len({each.seed for each in group})),
            *(cmpi_gains.shown(mean_saved_of(of(group, placement=each), algorithm, by))
              for algorithm in titles for each in placements(found) for by in simulators),
        )  # fmt: skip
    table.notes += [
        verdict(found, placement, by) for placement in placements(found) for by in simulators
    ]
    return table


def verdict(found: Sequence[Times], placement: str, by: str) -> str:
    """Two sentences: whether CMPI gains what the paper says at every number of ranks, and where it
    loses."""
    placed = of(found, placement=placement)
    shares = [
        share
        for ranks in numbers_of_ranks(found)
        if (share := mean_saved_of(of(placed, ranks=ranks), "cmpi", by)) is not None
    ]
    least = over_ranks[0]
    return (
        f"Appendix B, {placement}, {simulators[by]}: CMPI takes {percent(min(shares))} to "
        f"{percent(max(shares))} less time than MPICH2 (paper: {100 * least:.1f} to "
        f"{100 * over_ranks[1]:.1f} %). That it gains the paper's least at every number of ranks: "
        f"{judged(min(shares) >= least, in_part=min(shares) > 0)}. {losses(placed, by)}"
    )


def losses(placed: Sequence[Times], by: str) -> str:
    """One sentence: the numbers of ranks at which CMPI is slower than MPICH2, by collective."""
    lost: dict[str, list[str]] = {}
    for collective, ranks in itertools.product(
        dict.fromkeys(each.collective for each in placed), numbers_of_ranks(placed)
    ):
        share = mean_saved_of(of(placed, collective=collective, ranks=ranks), "cmpi", by)
        if share is not None and share < -noticed:
            lost.setdefault(collective, []).append(str(ranks))
    said = "; ".join(f"{each} at {', '.join(ranks)} ranks" for each, ranks in lost.items())
    return f"It is slower than MPICH2 in {said}." if said else "It is slower in no collective."


def curve(found: Sequence[Times]) -> Figure:
    """Draws MPICH2's time over CMPI's and Thalweg's, by both simulators."""
    every = numbers_of_ranks(found)
    panels = []
    for by, title in simulators.items():
        lines = {
            (titles[algorithm], placement): [
                mean_saved_of(of(found, ranks=ranks, placement=placement), algorithm, by)
                for ranks in every
            ]
            for algorithm in titles
            for placement in placements(found)
        }
        panels.append(cmpi_figures.over_mpich(title, "ranks", list(map(str, every)), lines))
    figure = Figure(
        "MPICH2's time over CMPI's and Thalweg's", "cmpi-smpi-ranks", line_chart(panels)
    )
    figure.notes.append("Above 1 is faster than MPICH2 1.4. Means as in the table.")
    return figure


def collectives(found: Sequence[Times]) -> Table:
    """Tables each collective."""
    table = Table(
        "Each collective",
        ["ranks", "placement", "collective", *names.values(),
         *(f"{title}, gain, {by}" for title in titles.values() for by in simulators.values()),
         "plans"],
        notes=[
            "Times are SMPI's, medians of the networks. Where there is none, nothing was planned, "
            "or a simulation was ended after two minutes, so that the network has no part in "
            "gains, by either simulator."
        ],
    )  # fmt: skip
    cases = dict.fromkeys((each.ranks, each.placement, each.collective) for each in found)
    for ranks, placement, collective in cases:
        group = of(found, ranks=ranks, placement=placement, collective=collective)
        table.add(
            str(ranks), placement, collective, *(median(group, name) for name in names),
            *(cmpi_gains.shown(mean_saved_of(group, algorithm, by))
              for algorithm in titles for by in simulators),
            ", ".join(sorted({each.plan for each in group if each.plan})) or "-",
        )  # fmt: skip
    return table


def median(group: Sequence[Times], name: str) -> str:
    every = [getattr(each, name) for each in group]
    return shown(None if None in every else statistics.median(every))


def agreement(found: Sequence[Times]) -> Table:
    """Tables how far both simulators are apart."""
    table = Table(
        "Both simulators",
        ["collective", "algorithm", "cases", "own time over SMPI's", "least", "most",
         "faster than MPICH2 by both or by neither"],
        notes=[
            "Both have the same hosts, links and trunks, and what MPICH's messages cost, but for "
            "what combining takes, 30 us for 100 KB, and for MPICH's own part of a handshake, 30 "
            "us, which only ours has. CMPI's and Thalweg's schedules are the same in both.",
            "In SMPI a send of more than the eager limit ends when the message has arrived, so "
            "that a rank that sends one after another waits for each one's latency; in ours it "
            "ends when the data have left. In SMPI all messages from one host to another share a "
            "flow's rate; in ours those from one rank to another do.",
            "MPICH2's levels follow one another in ours, the fullest host's within hosts; in SMPI "
            "each host begins when it can, by one algorithm for both levels.",
            f"Faster: by more than {percent(noticed)}.",
        ],
    )  # fmt: skip
    for collective in dict.fromkeys(each.collective for each in found):
        for name, title in names.items():
            group = [
                each
                for each in of(found, collective=collective)
                if each.mpich is not None and getattr(each, name) is not None
            ]
            if not group:
                continue
            ratios = [getattr(each, f"own_{name}") / getattr(each, name) for each in group]
            alike = sum(
                is_faster(each, name, "") == is_faster(each, name, "own_") for each in group
            )
            table.add(
                collective, title, str(len(group)), times(statistics.geometric_mean(ratios)),
                times(min(ratios)), times(max(ratios)),
                "-" if name == "mpich" else f"{alike} of {len(group)}",
            )  # fmt: skip
    return table


def is_faster(each: Times, name: str, by: str) -> bool:
    """Whether it takes less time than MPICH2 by a simulator."""
    return bool(getattr(each, by + name) < (1 - noticed) * getattr(each, f"{by}mpich"))
