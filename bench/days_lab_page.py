"""The page of two days of a cloud on the lab."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict

from bench import days
from bench.days import Hour, column, savings, variation
from bench.page import Part, valid_runs
from bench.plot import line_chart
from bench.report import Content, Figure, Table, judged, percent, seconds

names = {**days.names, "mpich": "MPICH 4.0"}
on_paper = {"bcast": "30.1 %", "scatter": "17.3 %"}
Days = Mapping[str, Sequence[Hour]]
"""The hours of each collective, in order."""


def contents(parts: Sequence[Part]) -> list[Content]:
    """Returns nothing as long as no hour is whole."""
    ordered = sorted(parts, key=lambda part: (part.labels["collective"], part.labels["hour"]))
    found, simulated = by_collective(ordered, hour_of), by_collective(ordered, simulated_hour)
    if not found:
        return []
    return [beside_paper(found, simulated, parts), times(found, simulated), figure(found)]


def by_collective(parts: Sequence[Part], read: Callable[[Part], Hour | None]) -> Days:
    """Leaves out hours in which something has no valid run, also of what is simulated."""
    found: dict[str, list[Hour]] = {}
    for part in parts:
        if hour_of(part) and (hour := read(part)):
            found.setdefault(part.labels["collective"], []).append(hour)
    return found


def simulated_hour(part: Part) -> Hour:
    return Hour(**part.facts["simulated"])


def hour_of(part: Part) -> Hour | None:
    """Returns the medians of an hour's valid runs; in the first one what is kept is new."""
    medians = {}
    for name in names:
        own = name.removesuffix("_anew") if part.labels["hour"] == 0 else name
        valid = [run["time"] for run in valid_runs(part.samples, own)]
        if not valid:
            return None
        medians[name] = statistics.median(valid)
    return Hour(part.labels["hour"], **medians)


def beside_paper(found: Days, simulated: Days, parts: Sequence[Part]) -> Table:
    table = Table(
        "CMPI beside MPICH over two days",
        ["collective", "by", "hours", "paper", "CMPI", "least", "most", "varies by, paper",
         "varies by", "making it anew gains, paper", "making it anew gains", "Thalweg", "least",
         "most", "planning anew gains"],
        notes=[
            "Gains over MPICH 4.0's own collective: how much less time a call takes, on the mean "
            "over the hours, each of which counts with the medians of its valid runs; least and "
            "most: of an hour. Trees and plans are those of the first hour. Varies by: standard "
            "deviation over mean of CMPI's times. Anew: for the network of the hour, over the "
            "hours after the first.",
            "The network is emulated and its drift is drawn, of the kind that a scenario's "
            "timeline has: each pair of hosts keeps latency and rate for six hours on the mean and "
            "then has others, of a standard deviation of 15 % and 10 % around its own. 16 hosts "
            "with a rank each, 1 MB; the paper has 64 instances of Amazon EC2 with 200 processes, "
            "and MPICH2 to compare with.",
            f"CMPI is as printed: k = 4, T_span = 1; its groups have {largest(parts)} ranks at "
            "most, in which MPICH broadcasts along a binomial tree.",
        ],
    )  # fmt: skip
    for collective, by, hours in in_rows(found, simulated):
        theirs, ours = (savings(hours, name, "mpich") for name in ("cmpi", "ours"))
        table.add(
            collective, by, len(hours), on_paper[collective], percent(statistics.mean(theirs)),
            percent(min(theirs)), percent(max(theirs)),
            percent(days.spread_of_paper[collective]), percent(variation(column(hours, "cmpi"))),
            f"< {percent(days.gained)}", from_anew(hours, "cmpi"),
            percent(statistics.mean(ours)), percent(min(ours)), percent(max(ours)),
            from_anew(hours, "ours"),
        )  # fmt: skip
    table.notes += [verdict(*each) for each in found.items()]
    return table


def in_rows(found: Days, simulated: Days) -> Iterator[tuple[str, str, Sequence[Hour]]]:
    for collective in found:
        yield collective, "lab", found[collective]
        yield collective, "simulator", simulated[collective]


def largest(parts: Sequence[Part]) -> int:
    return max(int(part.facts["largest_group"]) for part in parts)


def from_anew(hours: Sequence[Hour], name: str) -> str:
    """What a tree or plan for the hour gains over the first one's."""
    later = [hour for hour in hours if hour.hour > 0]
    return percent(statistics.mean(savings(later, f"{name}_anew", name))) if later else "-"


def verdict(collective: str, hours: Sequence[Hour]) -> str:
    """One sentence: whether CMPI is faster all the time, and as steady as in the paper."""
    found = savings(hours, "cmpi", "mpich")
    faster = sum(share > 0 for share in found)
    varies, gain = variation(column(hours, "cmpi")), statistics.mean(found)
    holds = faster == len(found) and varies < days.stable
    return (
        f"{collective}: CMPI takes {percent(abs(gain))} {'less' if gain > 0 else 'more'} time than "
        f"MPICH (paper: {on_paper[collective]} less), is faster in {faster} of {len(found)} hours, "
        f"and its times vary by {percent(varies)} of their mean, where the paper has it faster "
        f"throughout, and less than {percent(days.stable)}: "
        f"{judged(holds)}."
    )


def times(found: Days, simulated: Days) -> Table:
    table = Table(
        "Times by the hour",
        ["collective", "by", "hour", *names.values()],
        notes=[
            "Simulator: Thalweg's own, with flows that share ports and trunks equally, on the same "
            "networks, with MPICH's algorithms as it selects them; it knows no TCP.",
        ],
    )
    for collective, by, hours in in_rows(found, simulated):
        for hour in hours:
            own = asdict(hour)
            table.add(collective, by, f"{hour.hour:g}", *(seconds(own[name]) for name in names))
    return table


def figure(found: Days) -> Figure:
    panels = [days.panel(collective, hours, names) for collective, hours in found.items()]
    return Figure("Two days, on the lab", "days-lab", line_chart(panels))
