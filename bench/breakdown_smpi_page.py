"""The page of `script/bench breakdown --simulate`: Figures 11a to 11c of the CMPI paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import program
from bench.breakdown_figure import (
    cmpi,
    colours,
    paper,
    saved_columns,
    saved_shares,
    share_text,
    steps,
    time_or_none,
    titles,
)
from bench.breakdown_figure import variants as on_lab
from bench.page import Part
from bench.plot import BarPanel, Stack, bar_chart
from bench.report import Content, Figure, Table, judged, percent, seconds
from bench.samples import native, thalweg
from bench.summary import saved
from thalweg import units

cg, nbody = "cg", "nbody"
variants = {**on_lab, native: "MPICH2"}
figures = {"11a": cg, "11b": nbody, "11c": nbody}
varied = {"11a": "by the vector's length", "11b": "by steps of 1MiB", "11c": "by message"}
shown_steps = (1, 8, 32, steps)
communication_saved = 0.332
"""What CMPI saves of N-body's communication (section 5.4)."""
insignificant = 0.05  # of CMPI's time; the paper names no number


@dataclass(frozen=True)
class Sample:
    """A program with a size, of which some rounds were simulated, without computation."""

    variant: str
    bytes: int  # of a broadcast
    rounds: int  # of a whole run
    each: float  # seconds that another round takes
    begin: float  # seconds besides, at the beginning
    made: float  # seconds in which CMPI's trees or Thalweg's plans are made, on the machine

    def communication(self, rounds: int) -> float:
        return self.begin + rounds * self.each


@dataclass(frozen=True)
class Point:
    """A group of bars: the samples of a size by their variants, and rounds of them."""

    figure: str
    ranks: int
    at: str
    rounds: int
    computation: float
    samples: Mapping[str, Sample]
    facts: Mapping[str, Any]

    @property
    def name(self) -> str:
        return figures[self.figure]

    def split(self, variant: str) -> dict[str, float]:
        """Returns the seconds of a run by its parts, as the figure stacks them."""
        sample = self.samples[variant]
        before = (0.0, 0.0) if variant == native else (sample.made, self.facts["probe"])
        parts = (self.computation, sample.communication(self.rounds), *before)
        return dict(zip(colours, parts, strict=True))

    def seconds(self, variant: str) -> float:
        """Returns what a run takes, without what comes before it."""
        return self.computation + self.samples[variant].communication(self.rounds)

    def saved(self, variant: str) -> list[float]:
        """Returns the shares of MPICH2's time that a variant saves, for each of saved_columns."""
        return saved_shares(self.split(variant), self.seconds(native))

    def communication_saved(self, variant: str) -> float:
        own, whole = (self.split(each)["communication"] for each in (variant, native))
        return saved(whole, own)

    def overheads_share(self) -> float:
        """Returns the share of what the paper calls overheads in CMPI's time with them."""
        made = self.samples[cmpi].made
        return made / (self.seconds(cmpi) + made)


def typical(parts: Sequence[Part]) -> list[Part]:
    """Returns, of each program with each number of ranks, the part of the network on which what
    CMPI saves at the end of the axis is the median over the networks: the less of two."""
    found = []
    for key in dict.fromkeys(map(_setting, parts)):
        drawn = [each for each in parts if _setting(each) == key]
        found.append(
            sorted(drawn, key=lambda each: _saved_at_last(each, cmpi))[(len(drawn) - 1) // 2]
        )
    return found


def _setting(part: Part) -> tuple[int, str]:
    return part.labels["ranks"], part.labels["program"]


def _saved_at_last(part: Part, variant: str) -> float:
    """What a variant saves at the end of the axis, without overheads; -1 if that isn't known."""
    last = points([part])[-1]
    return last.saved(variant)[0] if variant in last.samples else -1


def points(parts: Sequence[Part]) -> list[Point]:
    """Returns the points of the subfigures, for one number of ranks after the other; of one network
    for each number and program."""
    found = []
    for part in sorted(parts, key=lambda part: (part.labels["ranks"], part.labels["program"])):
        ranks, name = part.labels["ranks"], part.labels["program"]
        samples = [Sample(**each) for each in part.samples]
        by_size = {
            size: {each.variant: each for each in samples if each.bytes == size}
            for size in sorted({each.bytes for each in samples})
        }
        largest = max(by_size)
        share = (program.cg(8) if name == cg else program.nbody(8, 1)).compute_share
        whole = by_size[largest][native]
        per_byte = whole.communication(whole.rounds) * share / (1 - share) / whole.rounds / largest

        def point(
            figure: str, at: str, of: Mapping[str, Sample], rounds: int, part: Part = part,
            ranks: int = ranks, per_byte: float = per_byte,
        ) -> Point:  # fmt: skip
            computation = per_byte * of[native].bytes * rounds
            return Point(figure, ranks, at, rounds, computation, of, part.facts)

        if name == cg:
            found += [
                point("11a", f"{size // 8:,} numbers", of, of[native].rounds)
                for size, of in by_size.items()
            ]
        else:
            found += [
                point("11b", f"{count} steps" if count > 1 else "1 step", by_size[largest], count)
                for count in shown_steps
            ]
            found += [
                point("11c", units.size_to_text(size), of, of[native].rounds)
                for size, of in by_size.items()
            ]
    return found


def contents(parts: Sequence[Part]) -> list[Content]:
    shown = typical(parts)
    found = points(shown)
    groups = [list(each) for each in grouped(found)]
    return [savings(groups, shown), by_network(parts), *map(drawn, groups), table(found)]


def by_network(parts: Sequence[Part]) -> Table:
    """Tables what is saved on each of the networks."""
    rows = Table(
        "By network",
        ["program", "ranks", "network", "CMPI saved", "Thalweg saved"],
        notes=[
            "At the end of the axis, with 51,200 numbers or 1MiB, without overheads. Everything "
            "else on this page is of the network with CMPI's median, for each program and number "
            "of ranks.",
        ],
    )
    for part in sorted(parts, key=lambda each: (*_setting(each)[::-1], each.labels["network"])):
        rows.add(
            titles[part.labels["program"]], part.labels["ranks"], part.labels["network"],
            *(share_text(_saved_at_last(part, variant)) for variant in (cmpi, thalweg)),
        )  # fmt: skip
    return rows


def grouped(found: Sequence[Point]) -> Iterator[list[Point]]:
    """The points of each subfigure and number of ranks."""
    for key in dict.fromkeys((each.figure, each.ranks) for each in found):
        yield [each for each in found if (each.figure, each.ranks) == key]


def savings(groups: Sequence[Sequence[Point]], parts: Sequence[Part]) -> Table:
    """Tables what is saved of MPICH2's time, beside the paper's numbers."""
    rows = Table(
        "Time saved",
        ["figure", "ranks", "at", "rounds", "MPICH2", "CMPI",
         *(f"CMPI {each}" for each in saved_columns), "Thalweg", *saved_columns, "CMPI paper"],
        notes=list(notes(groups, parts)),
    )  # fmt: skip
    for group in groups:
        for each in group:
            rows.add(
                each.figure, each.ranks, each.at, each.rounds, seconds(each.seconds(native)),
                *_time_and_saved(each, cmpi), *_time_and_saved(each, thalweg),
                share_text(paper[each.name]) if each is group[-1] else "-",
            )  # fmt: skip
    rows.notes += [verdict(group) for group in groups if cmpi in group[-1].samples]
    return rows


def _time_and_saved(each: Point, variant: str) -> list[str]:
    if variant not in each.samples:
        return ["-"] * (1 + len(saved_columns))
    return [seconds(each.seconds(variant)), *map(share_text, each.saved(variant))]


def notes(groups: Sequence[Sequence[Point]], parts: Sequence[Part]) -> Iterator[str]:
    every = [each for group in groups for each in group]
    hosts = parts[0].facts["hosts"]
    yield (
        f"Both examples ran in SimGrid's MPI on drawn clouds of {hosts} hosts, with one rank per "
        "host or with the paper's 200 ranks, which fill host after host. CMPI's and Thalweg's runs "
        "have the runtime inside. MPICH2's have SMPI's algorithms, as MPICH2 1.4 chooses them, "
        "with its levels by hosts. [cmpi-smpi.md](cmpi-smpi.md) has the same model."
    )
    yield (
        "CMPI is `hierarchical` and `distance-tree` with k = 4 and T_span = 1, as printed, but for "
        "binomial trees in all groups, where MPICH2 has others for long messages in groups of "
        "eight or more; it leaves CG's allreduces to MPICH2, which has its levels "
        "by hosts there, too."
    )
    yield (
        "A round is one gather and one broadcast, and in CG two allreduces of 8 bytes, which are "
        "most of it with short vectors. Vectors are padded to parts that are equal on all ranks: "
        "100 numbers to 128 and 200. CG's rounds are those in which it converges, "
        "N-body's its steps. They repeat, so only the first two are simulated: each further one "
        "takes as long as the second. What the beginning takes besides, CG's first product, is "
        f"at most {percent(max(map(_begin, every)))} of the communication of a run of {steps} "
        f"steps or of a whole CG.{_checked(parts)}"
    )
    yield (
        "What ranks compute is added, as SMPI is told to take no time for it: at the largest size "
        f"it is {percent(program.cg(8).compute_share)} of CG's and "
        f"{percent(program.nbody(8, 1).compute_share)} of N-body's MPICH2 time, as the paper's "
        "numbers imply, with fewer bytes in proportion."
    )
    trees, plans = (
        seconds(max(each.samples[name].made for each in every if name in each.samples))
        for name in (cmpi, thalweg)
    )
    yield (
        "Saved: 1 - time / MPICH2's. Overheads are those that the paper names, made once in a run: "
        f"CMPI's hierarchy and trees, at most {trees} on this machine, and for Thalweg the plans "
        f"of what the program calls, at most {plans}. With a probe, too: a full one of the {hosts} "
        f"hosts in each run, {seconds(parts[0].facts['probe'])} by its outline. The paper measures "
        'its network "when the experiment starts" and doesn\'t name that among the overheads; it '
        "takes up to 100 s for 128 instances (section 3.1). Verdicts are with its overheads."
    )
    yield (
        "The paper varies CG's vectors from 100 to 51,200 numbers, N-body's steps from 1 to 128 "
        "and its messages from 2 KB to 1 MB, on 64 instances of Amazon EC2 over MPICH2 (section "
        "5.4; its abstract swaps the two programs' numbers). A body has at least 32 bytes, so with "
        "200 ranks messages are longer than 6.4 KB."
    )
    if any(variant not in each.samples for each in every for variant in variants):
        yield "Where there is no time, the simulation was ended."


def _begin(each: Point) -> float:
    """The greatest share of the beginning in the communication of a whole run."""
    return max(
        abs(sample.begin) / sample.communication(sample.rounds) for sample in each.samples.values()
    )


def _checked(parts: Sequence[Part]) -> str:
    """What a run with all steps took, where it was simulated."""
    said = []
    for part in parts:
        if "whole" in part.facts:
            sample = next(
                Sample(**each)
                for each in part.samples
                if each["variant"] == native and each["bytes"] == part.facts["checked"]
            )
            said.append(
                f"{seconds(part.facts['whole'])} with {part.labels['ranks']} ranks "
                f"({seconds(sample.communication(sample.rounds))} by this)"
            )
    if not said:
        return ""
    return f" All {steps} steps of N-body's shortest messages took {', '.join(said)} by MPICH2."


def verdict(group: Sequence[Point]) -> str:
    """One sentence: whether a subfigure shows what the paper says."""
    first, last = group[0], group[-1]
    head = (
        f"Figure 11 ({last.figure}), {titles[last.name]} {varied[last.figure]}, {last.ranks} ranks:"
    )
    if last.figure == "11b":
        shares = [each.overheads_share() for each in (first, last)]
        fewer = judged(shares[1] <= insignificant, in_part=shares[1] < shares[0])
        return (
            f"{head} CMPI's overheads are {share_text(shares[0])} of its time with {first.at} and "
            f"{share_text(shares[1])} with {last.at} (paper: they become insignificant): {fewer}."
        )
    without, with_them, with_probe = last.saved(cmpi)
    wanted = paper[last.name]
    sentence = (
        f"{head} with {last.at} CMPI takes {_change(without)} time than MPICH2, and "
        f"{_change(with_them)} with overheads (paper: {share_text(wanted)} less), "
        f"{_change(with_probe)} with a probe in each run, too"
    )
    if last.figure == "11a":
        at_first = first.saved(cmpi)[1]
        holds = with_them >= wanted and at_first < 0
        sentence += f"; with {first.at} {_change(at_first)} with overheads (paper: more)"
    else:
        communication = last.communication_saved(cmpi)
        holds = with_them >= wanted and communication >= communication_saved
        sentence += (
            f"; its communication takes {_change(communication)} "
            f"(paper: {share_text(communication_saved)} less)"
        )
    return f"{sentence}: {judged(holds, in_part=without > 0)}."


def _change(saved: float) -> str:
    return f"{share_text(abs(saved))} {'less' if saved >= 0 else 'more'}"


def drawn(group: Sequence[Point]) -> Figure:
    """Draws a subfigure, with a panel per point."""
    figure, ranks, name = group[0].figure, group[0].ranks, group[0].name
    panels = [
        BarPanel(
            each.at, "seconds",
            [Stack(variants[v], each.split(v)) for v in variants if v in each.samples],
        )
        for each in group
    ]  # fmt: skip
    found = Figure(
        f"Figure {figure}: {titles[name]} {varied[figure]}, {ranks} ranks",
        f"breakdown-simulated-{figure}-{ranks}",
        bar_chart(panels, colours),
    )
    found.notes.append("Each panel has its own scale.")
    return found


def table(found: Sequence[Point]) -> Table:
    """The bars in numbers."""
    rows = Table("Breakdown", ["figure", "ranks", "at", "variant", *colours, "communication saved"])
    for each in found:
        for variant, title in variants.items():
            if variant in each.samples:
                rows.add(
                    each.figure, each.ranks, each.at, title,
                    *map(time_or_none, each.split(variant).values()),
                    "-" if variant == native else share_text(each.communication_saved(variant)),
                )  # fmt: skip
    return rows
