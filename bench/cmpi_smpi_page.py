"""The page of `script/bench cmpi-smpi`: what CMPI gains by either simulator."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench import cmpi_figures
from bench.cmpi_gains import shown
from bench.page import Part
from bench.plot import line_chart
from bench.report import Content, Figure, Table, judged, percent, seconds, times

of_paper = (0.254, 0.312)
"""CMPI's least and greatest improvement over MPICH2 from 32 to 2,048 ranks, in appendix B."""
titles: Mapping[str, str] = {"cmpi": "CMPI", "thalweg": "Thalweg"}
names: Mapping[str, str] = {"mpich": "MPICH2", **titles}
noticed = 0.01  # a difference of times


@dataclass(frozen=True)
class Times:
    """Times of one collective on one network, in simulated seconds: by SMPI, and by our own."""

    ranks: int
    hosts: int
    placement: str
    collective: str
    seed: int
    mpich: float
    cmpi: float
    thalweg: float
    own_mpich: float
    own_cmpi: float
    own_thalweg: float
    plan: str


def contents(parts: Sequence[Part]) -> list[Content]:
    found = [
        Times(**sample)
        for part in sorted(parts, key=lambda part: part.labels["ranks"])
        for sample in part.samples
    ]
    return [gains(found), curve(found), each(found), agreement(found)]


def of(found: Sequence[Times], **wanted: object) -> list[Times]:
    return [one for one in found if all(getattr(one, k) == v for k, v in wanted.items())]


def values(found: Sequence[Times], name: str) -> list[object]:
    """The values of a column, each once, in order."""
    return list(dict.fromkeys(getattr(one, name) for one in found))


def gain(found: Sequence[Times], algorithm: str, own: str = "") -> float | None:
    """How much shorter than MPICH2's its time is, in the geometric mean; `own` is own's prefix."""
    ratios = [getattr(one, own + algorithm) / getattr(one, f"{own}mpich") for one in found]
    return 1 - statistics.geometric_mean(ratios) if ratios else None


def gains(found: Sequence[Times]) -> Table:
    """Tables the paper's curve."""
    placements = [str(each) for each in values(found, "placement")]
    table = Table(
        "Improvement over MPICH2 1.4, all collectives",
        ["ranks", "hosts", "networks",
         *(f"{title}, {each}{by}" for title in titles.values() for each in placements
           for by in ("", ", own simulator"))],
        notes=[
            "Geometric means over bcast, reduce, gather and scatter of 100 KB per rank and over "
            "the networks, which are clouds drawn from seeds. Positive: less time than MPICH2.",
            "By SMPI, unless a column is of our own simulator: programs of so many ranks run in "
            "SimGrid's MPI. CMPI's and Thalweg's have the runtime inside, which sends what a plan "
            "says; MPICH2's have SMPI's algorithms, chosen as MPICH2 1.4 chooses them, "
            "short bcasts and reduces within and between hosts.",
            "CMPI is `hierarchical` and `distance-tree` with k = 4 and T_span = 1: binomial trees "
            "of its groups, joined, where the paper calls MPICH2's collectives "
            "in the groups; `cmpi.md` has both.",
            "Up to 256 ranks on as many hosts as in `cmpi.md`, above on at most 128, which have "
            "more ranks each, since SimGrid reads a link for each pair of hosts.",
            "Block fills host after host; at random, ranks lie unevenly and in no order.",
        ],
    )  # fmt: skip
    for ranks in values(found, "ranks"):
        group = of(found, ranks=ranks)
        table.add(
            str(ranks), str(group[0].hosts), str(len(values(group, "seed"))),
            *(shown(gain(of(group, placement=each), algorithm, own))
              for algorithm in titles for each in placements for own in ("", "own_")),
        )  # fmt: skip
    table.notes += [verdict(found, placement) for placement in placements]
    return table


def verdict(found: Sequence[Times], placement: str) -> str:
    """One sentence: whether CMPI gains as in the paper."""
    at = {
        ranks: gain(of(found, placement=placement, ranks=ranks), "cmpi") or 0.0
        for ranks in values(found, "ranks")
    }
    least, most = min(at.values()), max(at.values())
    return (
        f"Appendix B, {placement}: from {min(map(int, map(str, at)))} to "
        f"{max(map(int, map(str, at)))} ranks CMPI improves by {percent(least)} to {percent(most)} "
        f"(paper: {percent(of_paper[0])} to {percent(of_paper[1])}): {judged(least > 0)}."
    )


def curve(found: Sequence[Times]) -> Figure:
    """Draws MPICH2's time over CMPI's and Thalweg's, by both simulators."""
    every = [int(str(each)) for each in values(found, "ranks")]
    panels = []
    for own, title in (("", "by SMPI"), ("own_", "by our own simulator")):
        lines = {
            (titles[algorithm], str(placement)): [
                gain(of(found, ranks=ranks, placement=placement), algorithm, own) for ranks in every
            ]
            for algorithm in titles
            for placement in values(found, "placement")
        }
        panels.append(cmpi_figures.over_mpich(title, "ranks", list(map(str, every)), lines))
    figure = Figure(
        "MPICH2's time over CMPI's and Thalweg's", "cmpi-smpi-ranks", line_chart(panels)
    )
    figure.notes.append("Above 1 is faster than MPICH2 1.4. Means as in the table.")
    return figure


def each(found: Sequence[Times]) -> Table:
    """Tables each collective."""
    table = Table(
        "Each collective",
        ["ranks", "placement", "collective", "MPICH2", "CMPI", "Thalweg", "CMPI, gain",
         "CMPI, gain, own simulator", "Thalweg, gain", "Thalweg, gain, own simulator", "plans"],
        notes=["Times are SMPI's, medians of the networks."],
    )  # fmt: skip
    for ranks in values(found, "ranks"):
        for placement in values(found, "placement"):
            for collective in values(found, "collective"):
                group = of(found, ranks=ranks, placement=placement, collective=collective)
                if not group:
                    continue
                medians = (
                    seconds(statistics.median(getattr(one, name) for one in group))
                    for name in names
                )
                table.add(
                    str(ranks), str(placement), str(collective), *medians,
                    *(shown(gain(group, algorithm, own))
                      for algorithm in titles for own in ("", "own_")),
                    ", ".join(sorted({one.plan for one in group})),
                )  # fmt: skip
    return table


def agreement(found: Sequence[Times]) -> Table:
    """Tables how far both simulators are apart on the same schedules."""
    table = Table(
        "Both simulators",
        ["collective", "algorithm", "cases", "own time over SMPI's", "least", "most",
         "faster than MPICH2 by both or by neither"],
        notes=[
            "Both have the same hosts, links, trunks and costs of messages. In SMPI a send of more "
            "than the eager limit ends when the message has arrived, so that a rank that sends one "
            "after another waits for each one's latency; in ours it ends when the data have left. "
            "In SMPI all messages from one host to another share a flow's rate; in ours those from "
            "one rank to another do.",
            f"Faster: by more than {percent(noticed)}.",
        ],
    )  # fmt: skip
    for collective in values(found, "collective"):
        group = of(found, collective=collective)
        for name, title in names.items():
            ratios = [getattr(one, f"own_{name}") / getattr(one, name) for one in group]
            alike = sum(
                (getattr(one, name) < (1 - noticed) * one.mpich)
                == (getattr(one, f"own_{name}") < (1 - noticed) * one.own_mpich)
                for one in group
            )
            table.add(
                str(collective), title, str(len(group)), times(statistics.geometric_mean(ratios)),
                times(min(ratios)), times(max(ratios)),
                "-" if name == "mpich" else f"{alike} of {len(group)}",
            )  # fmt: skip
    return table
