"""The figures and statements of Bongo, Anshus and Bjørndalen beside those of our runs on the lab.

Gsum and SOR along declared trees on the clusters of the paper, and what `thalweg tune` makes of bad
trees (docs/papers.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bench import builds, inside_runs, inside_tune, sources
from bench.inside_runs import CLUSTERS
from bench.page import Page, Part
from bench.report import Content, Figure, Subject, Table, percent, seconds, times
from bench.settings import Settings
from thalweg import timemap_picture
from thalweg.analysis.stages import STAGES
from thalweg.analysis.timemaps import Curve
from thalweg.timemap_picture import Configuration

subject = Subject(
    "inside-figures",
    "Inside the collectives: the paper's figures",
    (*sources.run_on_lab, "examples", "python/thalweg/analysis", "bench/inside_runs.py"),
    ("part", "cluster", "program", "configuration", "values"),
)
BASE = "leaders below the root"
EVENT_BYTES = 64

Found = tuple[str, str, str, str]
"""Where in the paper, what it states, what was found, and whether that confirms it."""


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    build = builds.select(["openmpi-4.1"])[0]
    wanted = inside_runs.WANTED if settings.save else inside_runs.WANTED[:1]
    inside_runs.add_runs(page, build, wanted)
    if settings.save:
        inside_tune.add_runs(page, build)
    page.finish()


def contents(parts: Sequence[Part]) -> list[Content]:
    return [
        statements(parts),
        *figures(parts),
        runs(parts),
        imbalance(parts),
        inside_tune.table(parts),
    ]


def find(
    parts: Sequence[Part], cluster: str, program: str, configuration: str = BASE, values: int = 0
) -> Part | None:
    labels = inside_runs.Wanted(cluster, program, configuration, values).labels()
    return next((part for part in parts if part.labels == labels), None)


def statements(parts: Sequence[Part]) -> Table:
    """Each statement with what was found; those whose runs are missing are left out."""
    found = Table(
        "The paper's statements and what was found",
        ["paper", "it states", "found", "confirmed"],
        notes=[
            "SOR of the paper communicates for 57 % of its time. Where it does for more here, its "
            "rows are of another setting.",
            "Runs of examples/gsum.cpp and examples/sor.cpp on the lab, Open MPI 4.1, with "
            "declared trees; times are those of the emulated network, whose ranks share one core.",
        ],
    )
    for judge in (
        _arrival_wait, _imbalance, _alike, _messages, _serialisation, _spread, _broadcast,
        _two_way_dominates, _store, _connections, _unchanged, _speedup, _volume,
    ):  # fmt: skip
        for row in judge(parts):
            found.add(*row)
    return found


def _yes(condition: bool) -> str:
    return "yes" if condition else "no"


def _stage(part: Part, *names: str) -> float:
    return float(sum(part.facts["stages"][name] for name in names))


def _arrival_wait(parts: Sequence[Part]) -> Iterator[Found]:
    if part := find(parts, "NOW", "sor"):
        waits, down = _stage(part, "arrival_wait"), _stage(part, "down")
        half = _stage(part, "two_way") / 2
        yield (
            "Figure 2a", "SOR on NOW: the down paths are dominated by arrival wait",
            f"arrival wait {seconds(waits)}, down {seconds(down)}, half of the edges' latency "
            f"{seconds(half)}, means per rank and call", _yes(waits > down + half),
        )  # fmt: skip


def _imbalance(parts: Sequence[Part]) -> Iterator[Found]:
    for cluster in ("4W", "8W"):
        if part := find(parts, cluster, "sor"):
            border, inner, late = inside_runs.border_lateness(part.samples)
            slots = CLUSTERS[cluster].slots
            at_border = [rank for rank in late if rank % slots in (0, slots - 1)]
            program = part.facts["program"]
            yield (
                "section 4", f"SOR on {cluster} has a load imbalance: two threads on each host "
                "have a neighbour on another host",
                f"ranks with a neighbour on another host come {seconds(border)} later than the "
                f"median, the others {seconds(inner)}; late are ranks {', '.join(map(str, late))}, "
                f"{len(at_border)} of {len(late)} of them at a border; communication is "
                f"{percent(1 - program['computation'] / program['total'])} of the time (paper: "
                "57 %)", _yes(border > inner and 2 * len(at_border) > len(late)),
            )  # fmt: skip
    if part := find(parts, "Blade", "sor"):
        late = [sample["late"] for sample in part.samples]
        spread = max(late) - min(late)
        share = spread / part.facts["mean"]
        yield (
            "section 4", "well balanced applications have no thread that causes an imbalance: SOR "
            "on Blade",
            f"lateness of ranks differs by {seconds(spread)}, {percent(share)} of the mean call",
            _yes(share < 0.5),
        )  # fmt: skip


def _alike(parts: Sequence[Part]) -> Iterator[Found]:
    if part := find(parts, "NOW", "gsum"):
        classes: dict[int, list[float]] = {}
        for sample in part.samples:
            without_wait = sum(sample[name] for name in STAGES if name != "arrival_wait")
            classes.setdefault(sample["edges_between_hosts"], []).append(without_wait)
        text = "; ".join(
            f"{len(times_)} ranks with {edges} edges between hosts: "
            f"{seconds(min(times_))} to {seconds(max(times_))}"
            for edges, times_ in sorted(classes.items())
        )
        ordered = [sum(each) / len(each) for _, each in sorted(classes.items())]
        yield (
            "Figure 2b", "Gsum on NOW: the 60 threads behave alike, in classes by the number of "
            "TCP/IP connections on their paths", text, _yes(ordered == sorted(ordered)),
        )  # fmt: skip


def _messages(parts: Sequence[Part]) -> Iterator[Found]:
    ratios = {}
    for values in (1, 32):
        pair = [find(parts, "4W", "gsum", name, values)
                for name in (BASE, "leaders in a binary tree")]  # fmt: skip
        if pair[0] and pair[1]:
            ratios[8 * values] = pair[0].facts["mean"] / pair[1].facts["mean"]
    if len(ratios) == 2:
        small, large = ratios.values()
        text = ", ".join(f"{times(ratio)} for {size} bytes" for size, ratio in ratios.items())
        yield (
            "Figure 3a", "4W: moving a node to another host is faster for 4 bytes and slower for "
            "256", f"leaders in a binary tree instead of all below the root: {text} (above 1: "
            "faster)", _yes(small > 1 > large),
        )  # fmt: skip


def _serialisation(parts: Sequence[Part]) -> Iterator[Found]:
    one, two = (find(parts, "8W", "gsum", name) for name in (BASE, "two levels in a host"))
    if one and two:
        yield (
            "Figure 3b", "8W: additional levels in a host's subtree serialise less",
            f"departures of the node with most children follow each other by "
            f"{seconds(one.facts['slope'])} with one level and {seconds(two.facts['slope'])} with "
            f"two; a call takes {seconds(one.facts['mean'])} and {seconds(two.facts['mean'])}",
            _yes(two.facts["slope"] < one.facts["slope"]),
        )  # fmt: skip


def _spread(parts: Sequence[Part]) -> Iterator[Found]:
    if part := find(parts, "NOW", "gsum"):
        mean, deviation = part.facts["mean"], part.facts["deviation"]
        yield (
            "section 4", "NOW: an allreduce takes 1,000 us on average, with a standard deviation "
            "of 200 us", f"{seconds(mean)}, deviation {seconds(deviation)} "
            f"({percent(deviation / mean)})", _yes(deviation / mean >= 0.1),
        )  # fmt: skip


def _broadcast(parts: Sequence[Part]) -> Iterator[Found]:
    for part in parts:
        run = ("run", "gsum", BASE)
        if tuple(part.labels.get(key) for key in ("part", "program", "configuration")) != run:
            continue
        nbytes = _bytes(part)
        if nbytes < 256:
            down, up = _stage(part, "down"), _stage(part, "up", "departure_wait")
            yield (
                "section 4", f"below 256 bytes the broadcast is more expensive than the reduce "
                f"({part.labels['cluster']}, {nbytes} bytes)",
                f"at the nodes down {seconds(down)}, up and departure wait {seconds(up)}, per rank "
                "and call", _yes(up > down),
            )  # fmt: skip


def _two_way_dominates(parts: Sequence[Part]) -> Iterator[Found]:
    for cluster in ("Blade", "NOW", "4W", "8W"):
        if part := find(parts, cluster, "gsum"):
            two_way = _stage(part, "two_way")
            nodes = _stage(part, "down", "up", "departure_wait")
            yield (
                "section 4", f"the TCP/IP stages dominate ({cluster}, without arrival wait)",
                f"edges {seconds(two_way)}, nodes {seconds(nodes)}", _yes(two_way > nodes),
            )  # fmt: skip


def _store(parts: Sequence[Part]) -> Iterator[Found]:
    yield (
        "section 4", "the time to store the result is insignificant",
        "no counterpart: MPI has no store; the root has the result when it has combined it", "-",
    )  # fmt: skip


def _connections(parts: Sequence[Part]) -> Iterator[Found]:
    pair = [find(parts, "4W", "gsum", name) for name in (BASE, "leaders in a binary tree")]
    if pair[0] and pair[1]:
        edges, spent = [], []
        for part in pair:
            assert part is not None
            edges.append(max(sample["edges_between_hosts"] for sample in part.samples))
            spent.append(edges[-1] * part.facts["crossing_two_way"])
        if edges[0] and spent[0]:
            more, longer = edges[1] / edges[0], spent[1] / spent[0]
            yield (
                "section 4", "4W: twice the TCP/IP connections on a path took only 1.55 times as "
                "long", f"{times(more)} the edges between hosts on the longest path took "
                f"{times(longer)} as long", _yes(longer < more),
            )  # fmt: skip


def _unchanged(parts: Sequence[Part]) -> Iterator[Found]:
    count, changes, largest = inside_tune.unchanged(parts)
    if count:
        yield (
            "section 4", "a reconfiguration may affect unchanged subtrees",
            f"in {count} reconfigurations {changes} stages of subtrees that were left alone took "
            f"other times by more than noise, by up to {seconds(largest)}", _yes(changes > 0),
        )  # fmt: skip


def _speedup(parts: Sequence[Part]) -> Iterator[Found]:
    tuned = [part for part in parts if part.labels["part"] == "tune"]
    if tuned:
        best = max(
            part.samples[0]["mean"] / each["mean"] for part in tuned for each in part.samples
        )
        yield (
            "section 4", f"reconfiguration made Gsum up to {inside_tune.BAR} times as fast",
            f"up to {times(best)}, by thalweg tune alone", _yes(best >= inside_tune.BAR),
        )  # fmt: skip


def _volume(parts: Sequence[Part]) -> Iterator[Found]:
    if part := find(parts, "NOW", "gsum"):
        events = part.facts["events_per_call"]
        yield (
            "section 3", "NOW: 148 event collectors make 5,328 bytes for each call",
            f"{events:.0f} events, {EVENT_BYTES * events:,.0f} bytes, for each call",
            "-",
        )  # fmt: skip


# Figures ---------------------------------------------------------------------------------------


def figures(parts: Sequence[Part]) -> list[Content]:
    found: list[Content] = []
    for title, name, wanted in (
        ("Figure 2a: SOR on NOW, with arrival wait", "inside-2a",
         [("SOR", find(parts, "NOW", "sor"))]),
        ("Figure 2b: Gsum on NOW", "inside-2b", [("Gsum", find(parts, "NOW", "gsum"))]),
        ("Figure 3a: Gsum on 4W, 8 and 256 bytes, the slowest rank", "inside-3a", [
            (f"{configuration}, {8 * values} bytes",
             find(parts, "4W", "gsum", configuration, values))
            for values in (1, 32) for configuration in (BASE, "leaders in a binary tree")
        ]),
        ("Figure 3b: Gsum on 8W, one and two levels in a host", "inside-3b", [
            (configuration, find(parts, "8W", "gsum", configuration))
            for configuration in (BASE, "two levels in a host")
        ]),
    ):  # fmt: skip
        there = [(label, part) for label, part in wanted if part is not None]
        if len(there) < len(wanted):
            continue
        lone = name == "inside-3a"
        drawn = [Configuration(label, _curves(part, lone)) for label, part in there]
        picture = timemap_picture.timemap(title, drawn)
        found.append(Figure(title, name, picture, ["Mean times, of runs on the lab."]))
    return found


def _curves(part: Part, only_slowest: bool) -> list[Curve]:
    samples = list(part.samples)
    if only_slowest:
        samples = [max(samples, key=lambda sample: float(sample["mean"]))]
    return [_curve(sample) for sample in samples]


def _curve(sample: dict[str, Any]) -> Curve:
    return Curve(
        sample["rank"],
        tuple(sample["times"]),
        tuple(sample["heights"]),
        ("",) * len(sample["times"]),
    )


def runs(parts: Sequence[Part]) -> Table:
    """Tables every run's stages."""
    found = Table(
        "Stages of the trees",
        ["cluster", "program", "tree", "bytes", "calls", "mean call", "deviation",
         *(name.replace("_", " ") for name in STAGES), "attributed"],
        notes=[
            "On the lab. Means over calls and ranks of what a rank's data passes on its way to the "
            "root and back; they add up to the mean call. Deviation: of a rank's time in a call.",
            "Attributed: the part of the time that named causes explain.",
        ],
    )  # fmt: skip
    for part in parts:
        if part.labels["part"] == "run":
            it, facts = part.labels, part.facts
            found.add(
                it["cluster"], it["program"], it["configuration"], _bytes(part), facts["calls"],
                seconds(facts["mean"]), seconds(facts["deviation"]),
                *(seconds(facts["stages"][name]) for name in STAGES),
                f"{100 * facts['attributed']:.1f} %",
            )  # fmt: skip
    return found


def _bytes(part: Part) -> int:
    """Returns the size of a run's messages."""
    return 8 * int(part.labels["values"] or part.facts["program"].get("values") or 1)


def imbalance(parts: Sequence[Part]) -> Table:
    """Tables who is waited for in SOR and Gsum."""
    found = Table(
        "Last arrivals",
        ["cluster", "program", "from the root to who is waited for", "last there, of all calls",
         "lateness of the ranks, least to most"],
        notes=["On the lab. The longest path of the weighted graph of last arrivals, section 3."],
    )  # fmt: skip
    for part in parts:
        if part.labels["part"] == "run" and part.labels["configuration"] == BASE:
            if part.labels["values"]:
                continue
            late = sorted(sample["late"] for sample in part.samples)
            facts = part.facts
            found.add(
                part.labels["cluster"], part.labels["program"],
                " <- ".join(map(str, facts["last_path"])),
                ", ".join(f"{each} of {facts['last_calls']}" for each in facts["last_counts"]),
                f"{seconds(abs(late[0]))} early to {seconds(max(late[-1], 0))} late",
            )  # fmt: skip
    return found
