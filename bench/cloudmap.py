"""CloudMap's figures as costs of placements: larger inputs, faster and larger instances, two days.

After Carreño, Diener, Cruz, Navaux: Automatic Communication Optimization of Parallel Applications
in Public Clouds, Figures 1 to 4 and 6 to 12. Costs (src/mapping/cost.hpp) of drawn patterns on
drawn clouds, not times of its benchmarks; of two programs there are recorded matrices, too.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from pathlib import Path
from statistics import geometric_mean, mean

from bench import cloudmap_drawings, drift, recording, report
from bench.builds import Build
from bench.networks import megabit
from bench.page import Page, Part, Record
from bench.placement_cases import matrix, patterns, shuffled, uneven
from bench.placement_programs import Kernel
from bench.plot import BarPanel, Line, LinePanel, Stack, bar_chart, line_chart
from bench.report import Content, Figure, Subject, Table, times
from bench.settings import Settings
from thalweg import mapping
from thalweg.collective import Kind
from thalweg.errors import UserError
from thalweg.mapping import Communication
from thalweg.matrices import Program
from thalweg.network import Host, Network

subject = Subject(
    "cloudmap",
    "CloudMap's figures, as costs of placements",
    (
        "src/mapping", "bench/cloudmap.py", "bench/drift.py", "bench/placement_cases.py",
        *recording.sources,
    ),
    ("figure", "pattern"),
    made="Simulated",
)  # fmt: skip
verb = {True: "holds", False: "doesn't hold"}
alike = 0.05
"""How much less than the baseline a placement may cost that is about as good."""
steady = 1.1
"""Most over least, at most, of what stays over two days."""
baseline = "interleave"
"""The paper's: it deals ranks out in turn."""
methods = (baseline, "block", "random", "scotch", "thalweg")
usual_networks = 6
larger = (162 / 102) ** 2
"""By how much faces grow from input B to input C, whose grids have 102 and 162 points a side."""
usual_rate = 2000 * megabit  # of the hosts of `uneven`
days, recorded = "12", "4"
"""Figures whose parts don't have costs in one setting."""
programs = (Kernel("ft", 64, 1), Kernel("bt", 32, 1))
"""The paper draws these benchmarks, one in which all ranks send alike and one in which few do."""
shown_pattern = "transpose"
"""Rows that exchange, and partners across the diagonal: as cg, the benchmark of Figure 12."""
colours = {
    "interleave": "#e6550d", "scotch": "#444", "thalweg, kept": "#1764ab", "thalweg": "#31a354"
}  # fmt: skip


@dataclass(frozen=True)
class Instances:
    """A figure's setting."""

    figure: str
    name: str
    hosts: int
    slots: int
    rate: float = usual_rate
    bytes: float = 1.0  # of each message, in those of input B

    @property
    def ranks(self) -> int:
        return self.hosts * self.slots


settings_of_paper = tuple(
    Instances(figure, f"{name}, input {'C' if size > 1 else 'B'}", hosts, slots, rate, size)
    for figure, name, hosts, slots, rate, size in (
        ("6", "8 A7", 8, 8, usual_rate, 1.0),
        ("7", "8 A7", 8, 8, usual_rate, larger),
        ("8", "32 A7", 32, 8, usual_rate, 1.0),
        ("9", "32 A7", 32, 8, usual_rate, larger),
        ("10a", "32 A8", 32, 8, 5 * usual_rate, 1.0),
        ("10b", "32 A8", 32, 8, 5 * usual_rate, larger),
        ("11a", "8 G5", 8, 32, 4 * usual_rate, 1.0),
        ("11b", "8 G5", 8, 32, 4 * usual_rate, larger),
    )
)
two_days = Instances(days, "32 A8, input C", 32, 8, 5 * usual_rate, larger)


@dataclass(frozen=True)
class Case:
    """Costs in seconds by method, on one network; `hour`: of the two days."""

    pattern: str
    seed: int
    hour: float
    costs: dict[str, float]


def run(settings: Settings) -> None:
    if not mapping.has_scotch():
        raise UserError("this build has no Scotch to compare with: install libscotch-dev")
    page = Page(settings, subject, contents)
    count = settings.networks or usual_networks
    for each in settings_of_paper:
        if not page.has({"figure": each.figure}):
            cases = [case_of(each, pattern, seed) for pattern in patterns for seed in range(count)]
            page.add({"figure": each.figure}, {"networks": count}, map(asdict, cases))
            report.console.print(f"Figure {each.figure}")
    if not page.has({"figure": days}):
        page.add({"figure": days}, {}, map(asdict, over_two_days()))
    if not page.has({"figure": recorded}):
        if made_for := recording.build_among(settings.builds):
            ranks = settings_of_paper[0].ranks
            page.add({"figure": recorded}, {"ranks": ranks}, sent_by_programs(made_for, ranks))
        else:
            report.console.print(f"[yellow]nothing is recorded: {recording.native} isn't here")
    page.finish()


def sent_by_programs(made_for: Build, ranks: int) -> Iterator[Record]:
    """Runs and records the programs; yields what they send, by pair. Raises UserError."""
    with tempfile.TemporaryDirectory() as folder:
        records = recording.Records(made_for, Path(folder) / "record")
        for kernel in programs:
            for sender, receiver, nbytes in pairs_of(records.of(kernel, ranks)):
                name = f"{kernel.name} {kernel.size}"
                yield {"pattern": name, "sender": sender, "receiver": receiver, "bytes": nbytes}


def pairs_of(sent: Program) -> Iterator[tuple[int, int, float]]:
    """Yields sender, receiver and bytes of messages, and of the blocks of alltoalls, which all have
    to go from each rank to each other."""
    found = sent.matrix
    yield from zip(
        found.sender.tolist(), found.receiver.tolist(), found.nbytes.tolist(), strict=True
    )
    for call in sent.calls:
        if call.kind is Kind.alltoall:
            for sender, receiver in permutations(call.members or range(found.ranks), 2):
                yield sender, receiver, call.size * call.count


def network(of: Instances, draw: random.Random) -> Network:
    """An uneven cloud whose hosts are as fast as asked, listed in no order."""
    net = uneven(draw, of.hosts)
    factor = of.rate / usual_rate
    net.hosts = [Host(h.name, h.egress * factor, h.ingress * factor) for h in net.hosts]
    net.bandwidth = net.bandwidth * factor
    return shuffled(net, draw)


def program(of: Instances, pattern: str, seed: int) -> Communication:
    drawn = matrix(pattern, of.ranks, seed)
    nbytes = [each * of.bytes for each in drawn.nbytes]
    return mapping.communication(of.ranks, drawn.sender, drawn.receiver, drawn.messages, nbytes)


def case_of(of: Instances, pattern: str, seed: int) -> Case:
    net = network(of, random.Random(f"{of.hosts} {pattern} {seed}"))
    sent = program(of, pattern, seed)
    return Case(pattern, seed, 0.0, {method: cost(net, sent, of, method) for method in methods})


def placed(net: Network, sent: Communication, of: Instances, method: str) -> mapping.Mapping:
    return mapping.place(net, sent, [of.slots] * of.hosts, method=method)


def cost(net: Network, sent: Communication, of: Instances, method: str) -> float:
    return placed(net, sent, of, method).cost.total


def over_two_days() -> Iterator[Case]:
    """Each hour with the placement of the first hour, and with one for the hour."""
    for pattern in patterns:
        draw = random.Random(f"days {pattern}")
        first, sent = network(two_days, draw), program(two_days, pattern, 0)
        kept = {
            f"{method}, kept": placed(first, sent, two_days, method).placement
            for method in ("thalweg", "scotch")
        }
        for hour, net in drift.jumps.networks(first, seed=1):
            costs = {method: cost(net, sent, two_days, method) for method in methods}
            costs |= {
                name: mapping.cost_of(net, sent, placement).total
                for name, placement in kept.items()
            }
            yield Case(pattern, 0, hour, costs)


# The page --------------------------------------------------------------------------------------


def contents(parts: Sequence[Part]) -> list[Content]:
    by_figure = {
        part.labels["figure"]: [Case(**each) for each in part.samples]
        for part in parts
        if part.labels["figure"] != recorded
    }
    found: list[Content] = []
    instances = [each for each in settings_of_paper if each.figure in by_figure]
    if instances:
        found.append(by_instances(instances, by_figure))
        found += [drawn(four, by_figure) for four in (instances[:4], instances[4:]) if four]
        found.append(by_pattern(instances, by_figure))
        found += drawings()
    ran = [part for part in parts if part.labels["figure"] == recorded]
    found += [cloudmap_drawings.recorded_drawn(part.samples, part.facts["ranks"]) for part in ran]
    if days in by_figure:
        found += [over_time(by_figure[days]), figure(by_figure[days])]
    return found


def drawings() -> list[Figure]:
    """Figures 1 to 4, of a cloud and patterns that are drawn."""
    net = uneven(random.Random(0), settings_of_paper[0].hosts)
    matrices = {pattern: program(settings_of_paper[0], pattern, 0) for pattern in patterns}
    return [
        *cloudmap_drawings.days_drawn(net),
        *cloudmap_drawings.network_drawn(net),
        *cloudmap_drawings.patterns_drawn(matrices),
    ]


def faster(cases: Sequence[Case], method: str, over: str = baseline) -> list[float]:
    """How many times the other's cost is this one's."""
    return [case.costs[over] / case.costs[method] for case in cases]


def by_instances(of: Sequence[Instances], by_figure: Mapping[str, Sequence[Case]]) -> Table:
    table = Table(
        "Costs of the baseline over those of placements",
        ["figure", "instances", "ranks", "cases", "block", "random", "Scotch", "Thalweg", "least",
         "most"],
        notes=[
            "Geometric means over seven patterns and the networks of each: how many times the cost "
            "of a placement that of the paper's baseline is, which deals ranks out in turn. Above "
            "1 is better. Scotch alone is what CloudMap places with. Least and most: of Thalweg.",
            f"Input C has messages of {larger:.2f} times the bytes of input B's, as a grid's faces "
            "have. Instances differ in their rates (2, 10 and 8 Gbit/s), not in their latencies.",
        ],
    )  # fmt: skip
    for each in of:
        cases = by_figure[each.figure]
        ours = faster(cases, "thalweg")
        shown = (geometric_mean(faster(cases, name)) for name in methods[1:])
        table.add(
            each.figure, each.name, each.ranks, len(cases), *map(times, shown), times(min(ours)),
            times(max(ours)),
        )  # fmt: skip
    table.notes += verdicts(mean_gains("thalweg", of, by_figure))
    blocks = mean_gains("block", of, by_figure).values()
    table.notes.append(
        "Figures 6 to 11b: RoundRobin, which is block here, is about as fast as the baseline in "
        "the paper, even if neighbours communicate; here the baseline's cost is "
        f"{times(min(blocks))} to {times(max(blocks))} its cost, so it "
        f"{verb[max(blocks) - 1 <= alike]}."
    )
    return table


def mean_gains(
    method: str, of: Sequence[Instances], by_figure: Mapping[str, Sequence[Case]]
) -> dict[str, float]:
    """Returns the geometric mean of how many times less a method costs, by figure."""
    return {each.figure: geometric_mean(faster(by_figure[each.figure], method)) for each in of}


def drawn(of: Sequence[Instances], by_figure: Mapping[str, Sequence[Case]]) -> Figure:
    """A panel for each figure, as the paper has them."""
    colour = {"cost": colours["thalweg"]}
    panels = [
        BarPanel(
            f"Figure {each.figure}: {each.name}",
            "cost over the baseline's",
            [
                Stack(method, {"cost": 1 / geometric_mean(faster(by_figure[each.figure], method))})
                for method in methods
            ],
        )
        for each in of
    ]
    title = f"Costs over the baseline's: Figures {of[0].figure} to {of[-1].figure}"
    drawing = Figure(title, f"cloudmap-costs-{of[0].figure}", bar_chart(panels, colour))
    drawing.notes.append("Geometric means as in the table above; below 1 is better.")
    return drawing


def verdicts(gain: Mapping[str, float]) -> list[str]:
    """One sentence for each of the paper's statements, where both its figures are there."""
    statements = (
        ("7", "6", "larger inputs gain slightly less (sp 31 % instead of 35 %)", False),
        ("9", "8", "larger inputs gain slightly less, on 32 instances", False),
        ("8", "6", "more instances and tasks gain more", True),
        ("10b", "10a", "larger inputs gain slightly less, on faster instances", False),
        ("11a", "8", "large instances gain most (cg is up to 11 times as fast)", True),
        ("11b", "9", "large instances gain most, with larger inputs, too", True),
    )
    return [
        f"Figure {one} beside {other}: {what}, in the paper; here {times(gain[one])} against "
        f"{times(gain[other])}, so it {verb[(gain[one] > gain[other]) == more]}."
        for one, other, what, more in statements
        if one in gain and other in gain
    ]


def by_pattern(of: Sequence[Instances], by_figure: Mapping[str, Sequence[Case]]) -> Table:
    table = Table(
        "Thalweg by pattern",
        ["pattern", *(f"Figure {each.figure}" for each in of)],
        notes=["The same, of Thalweg's placements."],
    )
    for pattern in patterns:
        row = (
            geometric_mean(faster([c for c in by_figure[i.figure] if c.pattern == pattern],
                                  "thalweg"))
            for i in of
        )  # fmt: skip
        table.add(pattern, *map(times, row))
    return table


def over_time(cases: Sequence[Case]) -> Table:
    """Tables Figure 12: placements over two days."""
    table = Table(
        "Two days",
        ["pattern", "baseline varies by", "Scotch", "Scotch, kept", "Thalweg", "least", "most",
         "Thalweg, kept", "least", "most", "placing anew gains"],
        notes=[
            "Simulated: all drift is drawn, of the kind that a scenario's timeline has: each pair "
            "keeps its latency and rate for four hours on the mean. Costs at each of 48 hours on "
            f"{two_days.name}; ratios as above. Kept: the placement of the first hour. Varies by: "
            "most over least of the baseline's costs.",
        ],
    )  # fmt: skip
    base: dict[str, list[float]] = {}
    anew: dict[str, list[float]] = {}
    kept: dict[str, list[float]] = {}
    for pattern in dict.fromkeys(case.pattern for case in cases):
        own = [case for case in cases if case.pattern == pattern]
        base[pattern] = [case.costs[baseline] for case in own]
        anew[pattern] = ours = faster(own, "thalweg")
        kept[pattern] = stays = faster(own, "thalweg, kept")
        gain = mean(faster(own, "thalweg", over="thalweg, kept")) - 1
        table.add(
            pattern, times(swing(base[pattern])),
            *(times(geometric_mean(faster(own, name))) for name in ("scotch", "scotch, kept")),
            times(geometric_mean(ours)), times(min(ours)), times(max(ours)),
            times(geometric_mean(stays)), times(min(stays)), times(max(stays)),
            report.percent(gain),
        )  # fmt: skip
    table.notes.append(_over_days(base, anew, kept))
    return table


def swing(values: Sequence[float]) -> float:
    return max(values) / min(values)


def _over_days(*hours: Mapping[str, Sequence[float]]) -> str:
    """The verdict on CloudMap's Figure 12, by pattern: the baseline's costs, and gains."""
    base, anew, kept = hours
    ranges = ", ".join(
        f"{times(min(map(min, of.values())))} to {times(max(map(max, of.values())))} {how}"
        for how, of in (("anew", anew), ("kept", kept))
    )
    most = {
        how: max((swing(values), pattern) for pattern, values in of.items())
        for how, of in (("anew", anew), ("kept", kept))
    }
    said = " and ".join(f"{times(by)} {how} ({pattern})" for how, (by, pattern) in most.items())
    stay = sum(all(swing(of[each]) <= steady for of in hours) for each in base)
    return (
        "Figure 12 of the paper: the baseline is stable and gains stay over the two days, placed "
        f"anew for each run; here the baseline varies by {times(max(map(swing, base.values())))} "
        f"at most, and gains are {ranges}. One pattern's gain varies by at most {said}. Baseline "
        f"and both gains vary by {times(steady)} or less for {stay} of {len(base)} patterns: "
        f"{report.judged(stay == len(base), in_part=stay > 0)}."
    )


def figure(cases: Sequence[Case]) -> Figure:
    own = [case for case in cases if case.pattern == shown_pattern]
    lines = [
        Line(name, [(case.hour, case.costs[name]) for case in own], colour)
        for name, colour in colours.items()
    ]
    of = LinePanel(shown_pattern, "hours", "cost (s)", drift.ticks, lines, logarithmic=False)
    return Figure("Two days, simulated", "cloudmap-days", line_chart([of]))
