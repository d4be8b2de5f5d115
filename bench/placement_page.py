"""The page of placements: their costs beside others', and the paper's statements on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import correlation, geometric_mean, median

from bench.page import Part
from bench.plot import BarPanel, Stack, bar_chart
from bench.report import Content, Figure, Table, judged, percent, seconds, times

halves = ("cloudmap-intra", "cloudmap-inter")
"""CloudMap's mapping inside instances alone, and between them alone."""
compared = (
    "scotch", "block", "interleave", "random", *halves, "intra-only", "inter-only",
)  # fmt: skip
narrow = {"interleave": "inter-\nleave", "cloudmap-intra": "cloud-\nmap-\nintra",
          "cloudmap-inter": "cloud-\nmap-\ninter"}  # fmt: skip
"""Names in lines that fit below a bar, where the hyphens don't do it."""
compared_at_size = ("scotch", "block", "interleave", "random")
"""With very many ranks."""
rival = "kahip"
most_ranks_of_kahip = 256
"""With more it takes many seconds."""
recorded_label = "recorded"
with_calls_label = "with collectives"
much_less = 0.5
"""The share of the whole mapping's gain that a half may have at most to gain much less."""
very_good = 0.9
"""The least coefficient of a very good correlation."""
bars = {(64, 8): 0.005, (64, 24): 0.005, (256, 32): 0.030, (1024, 64): 1.0, (16384, 256): 10.0}
"""The longest times that are wanted, in seconds, by ranks and hosts."""


@dataclass(frozen=True)
class Case:
    """Costs in seconds, by method; `time` is the mapping's, of the processor."""

    ranks: int
    hosts: int
    pattern: str
    network: str
    time: float
    costs: dict[str, float]
    between: dict[str, float] = field(default_factory=dict)
    """Bytes between hosts: CloudMap's equation 2."""
    comm_time: dict[str, float] = field(default_factory=dict)
    """CloudMap's equation 4."""

    def ratio(self, other: str) -> float:
        return self.costs["thalweg"] / self.costs[other]

    @property
    def over_least(self) -> float:
        """Its cost over the least of all others."""
        return self.costs["thalweg"] / min(c for name, c in self.costs.items() if name != "thalweg")


def contents(parts: Sequence[Part]) -> list[Content]:
    called = [part for part in parts if part.labels.get("pattern") == with_calls_label]
    ran = [part for part in parts if recorded_label in part.labels]
    cases = cases_of([part for part in parts if part not in [*called, *ran]])
    large = [case for case in cases if "optimum" not in case.costs]
    small = [case for case in cases if "optimum" in case.costs]
    tables: list[Content] = []
    if large:
        tables += [by_size(large), by_pattern(large), *by_method(large), worst(large)]
    tables += [beside_optimum(small)] if small else []
    tables += [with_collectives(cases_of(called))] if called else []
    return [*tables, by_program(cases_of(ran))] if ran else tables


def cases_of(parts: Sequence[Part]) -> list[Case]:
    return [Case(**sample) for part in parts for sample in part.samples]


def mean(values: Sequence[float]) -> str:
    return times(geometric_mean(values))


judged_by = ("cases", "cost / Scotch's", "worst", "cost / block's", "worst", "cost / least, worst",
             "time, median", "longest", "wanted")  # fmt: skip


def by_size(cases: Sequence[Case]) -> Table:
    table = Table("Cost and time by size", ["ranks", "hosts", *judged_by])
    for ranks, hosts in dict.fromkeys((case.ranks, case.hosts) for case in cases):
        group = [case for case in cases if (case.ranks, case.hosts) == (ranks, hosts)]
        table.add(ranks, hosts, *costs_of(group), *times_of(group))
    table.add("all", "", *costs_of(cases), "", "", "")
    table.notes += [
        "Ratios are geometric means; worst: the largest one. Wanted: at most 0.9 of Scotch's cost "
        "on the mean, never above it nor above block's. Least: that of all other placements of "
        "this page. Costs are by the mapping's own model. Its search begins with block's, "
        "interleave's and Scotch's placements, among others, and keeps the one of least cost, so "
        "it is never above these by construction.",
        "Times are of the processor, of all that thalweg.mapping.place() does on its one thread, "
        "Scotch's part included: those on the clock of a machine with nothing else to do. The time "
        "wanted of 64 ranks is that of CloudMap's Table II, which has 28 ms for 256 ranks, and "
        "0.69 s and 1.67 s for profiling 8 and 32 instances before each run.",
    ]
    return table


def costs_of(group: Sequence[Case]) -> list[object]:
    return [len(group), *beside(group), worst_of([case.over_least for case in group])]


def times_of(group: Sequence[Case]) -> list[str]:
    found = [case.time for case in group]
    return [seconds(median(found)), seconds(max(found)), wanted(group)]


def beside(group: Sequence[Case]) -> list[str]:
    found = []
    for other in ("scotch", "block"):
        ratios = [case.ratio(other) for case in group]
        found += [mean(ratios), times(max(ratios))]
    return found


def by_pattern(cases: Sequence[Case]) -> Table:
    table = Table("Cost by pattern", ["pattern", "cases", "cost / Scotch's", "worst",
                                      "cost / block's", "worst"])  # fmt: skip
    for pattern in dict.fromkeys(case.pattern for case in cases):
        group = [case for case in cases if case.pattern == pattern]
        table.add(pattern, len(group), *beside(group))
    return table


def by_program(cases: Sequence[Case]) -> Table:
    table = Table("Recorded matrices", ["program", "ranks", "hosts", *judged_by])
    for program, ranks, hosts in dict.fromkeys((c.pattern, c.ranks, c.hosts) for c in cases):
        group = [c for c in cases if (c.pattern, c.ranks, c.hosts) == (program, ranks, hosts)]
        table.add(program, ranks, hosts, *costs_of(group), *times_of(group))
    table.add("all", "", "", *costs_of(cases), "", "", "")
    if as_in_paper := of_paper(cases):
        table.notes.append(_together(as_in_paper, "kernels"))
    table.notes.append(
        "As the first table, of kernels of examples/patterns.cpp with their sizes, recorded on one "
        "machine: the messages that they send, in their order, without collectives. No optimum is "
        "known of so many ranks."
    )
    return table


def by_method(cases: Sequence[Case]) -> list[Content]:
    """As CloudMap's Figures 13 and 15: other ways to place, and only a part of the mapping."""
    titles = {
        "costs": "Cost over that of random placements",
        "between": "Bytes between hosts over those of random placements (CloudMap's equation 2)",
        "comm_time": "CommTime over that of random placements (CloudMap's equation 4)",
    }
    tables: list[Table] = []
    known = [case for case in cases if "random" in case.costs]
    shown = ("thalweg", *compared, rival)
    for name, title in titles.items():
        table = Table(title, ["ranks", "hosts", *shown])
        for ranks, hosts in dict.fromkeys((case.ranks, case.hosts) for case in known):
            group = [case for case in known if (case.ranks, case.hosts) == (ranks, hosts)]
            found = [_over_random(group, name, each) for each in shown]
            table.add(ranks, hosts, *("-" if each is None else times(each) for each in found))
        tables.append(table)
    tables[0].notes += [
        "Geometric means over all patterns, of bytes and CommTime arithmetic ones, since some "
        "placements have none between hosts.",
        f"KaHIP takes uniform trees only: hosts of equal slots, sites of equal size; up to "
        f"{most_ranks_of_kahip} ranks, on the hosts that Scotch's placement uses.",
    ]
    as_in_paper = of_paper(known)
    if not as_in_paper:
        return list(tables)
    shares = {
        name: {each: share for each in shown if (share := _over_random(as_in_paper, name, each))}
        for name in titles
    }
    if set(halves) <= shares["costs"].keys():
        tables[0].notes.append(_halves(shares["costs"]))
    tables[-1].notes.append(_fall(shares["between"], shares["comm_time"]))
    tables[-1].notes.append(_together(as_in_paper, "drawn patterns"))
    return [*tables, _drawing(shares)]


def of_paper(cases: Sequence[Case]) -> list[Case]:
    """The cases of CloudMap's Figures 13 and 15."""
    return [case for case in cases if (case.ranks, case.hosts) == (64, 8)]


def _halves(costs: Mapping[str, float]) -> str:
    """The verdict on CloudMap's Figure 13, whose whole mapping is Scotch's."""
    alone = 1 - min(costs[half] for half in halves)
    whole = 1 - costs["scotch"]
    verdict = judged(whole > 0 and alone <= much_less * whole)
    if much_less * whole < alone < whole:
        verdict = "holds as to the order, not as to how much"
    intra, inter = (times(costs[half]) for half in halves)
    own = (times(costs[half]) for half in ("intra-only", "inter-only"))
    return (
        "Figure 13, 64 ranks on 8 hosts: in the paper most programs gain much less by either half "
        f"of the mapping alone. Here grouping by Scotch, with groups on hosts at random, costs "
        f"{intra} of a random placement, random groups that Scotch puts on hosts {inter}, both "
        f"together by Scotch, as CloudMap, {times(costs['scotch'])} and by Thalweg "
        f"{times(costs['thalweg'])}. So the better half saves {percent(alone)}, Scotch "
        f"{percent(whole)} and Thalweg {percent(1 - costs['thalweg'])} (much less: at most "
        f"{percent(much_less)} of Scotch's): {verdict}. Thalweg's forms of the halves, of which "
        "the second keeps successive ranks together, cost " + " and ".join(own) + "."
    )


def _fall(between: Mapping[str, float], comm_time: Mapping[str, float]) -> str:
    """One sentence: how much less Thalweg's placements have of Figure 15's quantities."""
    return (
        f"Thalweg's placements of 64 ranks on 8 hosts have {times(between['thalweg'])} of a random "
        f"placement's bytes between hosts and {times(comm_time['thalweg'])} of its CommTime."
    )


def _together(cases: Sequence[Case], what: str) -> str:
    """The verdict on CloudMap's Figure 15."""
    pairs = [
        (case.between[method] / case.between["random"],
         case.comm_time[method] / case.comm_time["random"])
        for case in cases
        if case.between.get("random") and case.comm_time.get("random")
        for method in case.between
        if method in case.comm_time and method != "random"
    ]  # fmt: skip
    known = len(pairs) > 1 and all(len(set(each)) > 1 for each in zip(*pairs, strict=True))
    if not known:
        return "Figure 15: too few placements to correlate bytes between hosts and CommTime."
    found = correlation(*zip(*pairs, strict=True))
    return (
        f"Figure 15, 64 ranks on 8 hosts, {what}: in the paper bytes between hosts and CommTime, "
        "both over a random placement's, have a very good correlation. Here its coefficient is "
        f"{found:.2f} over {len(pairs)} placements (very good: at least {very_good:g}): "
        f"{judged(found >= very_good)}."
    )


def _drawing(shares: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draws CloudMap's Figures 13 and 15."""
    titles = {"costs": "Figure 13: cost", "between": "Figure 15: bytes between hosts",
              "comm_time": "Figure 15: CommTime"}  # fmt: skip
    panels = [
        BarPanel(
            titles[name],
            "over random placements",
            [
                Stack(narrow.get(each, each.replace("-", "-\n")), {"share": share})
                for each, share in of.items()
                if each != "random"
            ],
        )
        for name, of in shares.items()
    ]
    drawing = bar_chart(panels, {"share": "#2a6fb0"})
    notes = ["The rows of 64 ranks on 8 hosts of the tables above; below 1 is better."]
    return Figure("CloudMap's Figures 13 and 15", "placement-halves", drawing, notes)


def _over_random(group: Sequence[Case], name: str, method: str) -> float | None:
    """Returns a mean over what random placements have; None if nothing is known."""
    pairs = [(of[method], of["random"]) for case in group if method in (of := getattr(case, name))]
    shares = [own / random for own, random in pairs if random > 0]
    if not shares:
        return None
    return geometric_mean(shares) if name == "costs" else sum(shares) / len(shares)


def worst(cases: Sequence[Case]) -> Table:
    table = Table("The cases nearest to Scotch's cost, or above",
                  ["network", "ranks", "pattern", "cost", "Scotch's", "ratio"])  # fmt: skip
    for case in sorted(cases, key=lambda case: -case.ratio("scotch"))[:12]:
        table.add(case.network, case.ranks, case.pattern, seconds(case.costs["thalweg"]),
                  seconds(case.costs["scotch"]), f"{case.ratio('scotch'):.4f}")  # fmt: skip
    return table


def beside_optimum(cases: Sequence[Case]) -> Table:
    table = Table("Beside the optimum", ["ranks", "hosts", "cases", "cost / optimum, mean", "worst",
                                         "Scotch's / optimum, mean", "worst"])  # fmt: skip
    for ranks, hosts in dict.fromkeys((case.ranks, case.hosts) for case in cases):
        group = [case for case in cases if (case.ranks, case.hosts) == (ranks, hosts)]
        above = [case.ratio("optimum") for case in group]
        scotch = [case.costs["scotch"] / case.costs["optimum"] for case in group]
        table.add(ranks, hosts, len(group), percent(geometric_mean(above) - 1),
                  percent(max(above) - 1), percent(geometric_mean(scotch) - 1),
                  percent(max(scotch) - 1))  # fmt: skip
    table.notes.append(
        "How far above the least cost of all placements, which are tried one by one with costs "
        "computed independently. Wanted: at most 3 %. Of more than 12 ranks no optimum is known "
        "here."
    )
    return table


def with_collectives(cases: Sequence[Case]) -> Table:
    table = Table("With collectives", ["ranks", "hosts", "cases", "cost / block's", "worst",
                                       "cost / the estimate's choice", "worst", "time, median",
                                       "longest", "wanted"])  # fmt: skip
    for ranks, hosts in dict.fromkeys((case.ranks, case.hosts) for case in cases):
        group = [case for case in cases if (case.ranks, case.hosts) == (ranks, hosts)]
        ratios = [[case.ratio(other) for case in group] for other in ("block", "estimate")]
        shown = [show(of) for of in ratios for show in (mean, worst_of)]
        table.add(ranks, hosts, len(group), *shown, *times_of(group))
    table.notes.append(
        "All ranks call 1,000 allreduces of 8 B, 3 bcasts of 1 MB and 10 allgathers of 1 KB. Costs "
        "have them as they are planned for each placement, with up to 64 ranks all of them, with "
        "more as far as planning takes tens of milliseconds, else as estimated. The estimate's "
        "choice: the placement that is best by the estimate alone."
    )
    return table


def wanted(group: Sequence[Case]) -> str:
    """Returns the time that is wanted of cases of one size, and whether the longest is within
    it."""
    bar = bars.get((group[0].ranks, group[0].hosts))
    if bar is None:
        return "-"
    return f"{seconds(bar)}, {'met' if max(case.time for case in group) <= bar else 'MISSED'}"


def worst_of(ratios: Sequence[float]) -> str:
    return times(max(ratios))
