"""What Bongo, Anshus and Bjørndalen state, each beside what was found on the lab."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from bench import inside_runs, inside_tune
from bench.inside_runs import BASE, CLUSTERS, LEVELS, bytes_of, departures, find
from bench.page import Part
from bench.report import Table, percent, seconds, times
from thalweg.analysis.stages import STAGES

EVENT_BYTES = 64

Found = tuple[str, str, str, str]
"""Where in the paper, what it states, what was found, and whether that confirms it."""


def table(parts: Sequence[Part]) -> Table:
    """Each statement with what was found; those whose runs are missing are left out."""
    found = Table(
        "The paper's statements and what was found",
        ["paper", "it states", "found", "confirmed"],
        notes=[
            "SOR of the paper communicates for 57 % of its time. Where it does for more here, its "
            "rows are of another setting.",
            "Runs of examples/gsum.cpp and examples/sor.cpp on the lab, Open MPI 4.1, with "
            "declared trees; times are those of the emulated network, whose ranks share one core.",
            "Who is last, by the paper's graph of last arrivals, is here who is received last: a "
            "node receives from its children one after the other, so that where all come at the "
            "same time it is the last of them. How late ranks come tells that from an imbalance.",
        ],
    )
    for judge in (
        _arrival_wait, _imbalance, _alike, _messages, _serialisation, _spread, _deviations,
        _broadcast, _two_way_dominates, _store, _connections, _unchanged, _speedup, _volume,
    ):  # fmt: skip
        for row in judge(parts):
            found.add(*row)
    return found


def _yes(condition: bool) -> str:
    return "yes" if condition else "no"


def _stage(part: Part, *names: str) -> float:
    return float(sum(part.facts["stages"][name] for name in names))


def _arrival_wait(parts: Sequence[Part]) -> Iterator[Found]:
    for cluster in ("NOW", "4W", "8W"):
        if part := find(parts, cluster, "sor"):
            waits, down = _stage(part, "arrival_wait"), _stage(part, "down")
            half = _stage(part, "two_way") / 2
            yield (
                "Figure 2a", f"SOR on {cluster}: the down paths are dominated by arrival wait",
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
    for cluster, program in itertools.product(("Blade", "NOW"), ("gsum", "sor")):
        if part := find(parts, cluster, program):
            calls, last = part.facts["last_calls"], part.facts["last_counts"][-1]
            late = [sample["late"] for sample in part.samples]
            yield (
                "section 4", "well balanced applications have no thread that causes an imbalance: "
                f"{program} on {cluster}",
                f"rank {part.facts['last_path'][-1]}, the one that is waited for most often "
                f"(section 3), is last in {last:.0f} of {calls} calls; lateness of ranks differs "
                f"by {seconds(max(late) - min(late))}, a call takes {seconds(part.facts['mean'])}",
                _yes(2 * last <= calls),
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
    one, two = (departures(parts, name) for name in LEVELS)
    if one and two:
        slopes = [(each[-1] - each[0]) / (len(each) - 1) for each in (one, two)]
        means = [part.facts["mean"] for name in LEVELS if (part := find(parts, "8W", "gsum", name))]
        yield (
            "Figure 3b", "8W: additional levels in a host's subtree serialise less",
            f"the contributors to a host's subtree depart {seconds(one[0])} to {seconds(one[-1])} "
            f"after it has the result with one level, {seconds(slopes[0])} after each other, and "
            f"{seconds(two[0])} to {seconds(two[-1])} with two, {seconds(slopes[1])} after each "
            f"other; a call takes {seconds(means[0])} and {seconds(means[1])}",
            _yes(slopes[1] < slopes[0]),
        )  # fmt: skip


def _deviations(parts: Sequence[Part]) -> Iterator[Found]:
    if part := find(parts, "NOW", "gsum"):
        names = [name for name in STAGES if name != "arrival_wait"]
        # These are of single edges and nodes; the means are sums along a path of a rank.
        deviations = {name: part.facts["stage_deviations"][name] for name in names}
        others = min(value for name, value in deviations.items() if name != "two_way")
        yield (
            "section 4", "NOW: of all stages only those of TCP/IP, and the store, vary little",
            "median deviations: "
            + ", ".join(f"{_words(name)} {seconds(value)}" for name, value in deviations.items()),
            _yes(deviations["two_way"] < others),
        )  # fmt: skip


def _words(stage: str) -> str:
    return {"two_way": "edges, there and back"}.get(stage, stage.replace("_", " "))


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
        nbytes = bytes_of(part)
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
    if not tuned:
        return

    def gain(part: Part) -> float:
        return float(part.samples[0]["mean"] / _fastest(part))

    best = max(tuned, key=gain)
    cluster = best.labels["cluster"]
    plain = find(parts, cluster, "gsum")
    beside = f"; {BASE} take {seconds(plain.facts['mean'])} there" if plain else ""
    yield (
        "section 4", f"reconfiguration made Gsum up to {inside_tune.BAR} times as fast",
        f"up to {times(gain(best))}, by thalweg tune alone, on {cluster}, from a "
        f"{best.labels['configuration']} tree with {seconds(best.samples[0]['mean'])} to one with "
        f"{seconds(_fastest(best))}{beside}",
        _yes(gain(best) >= inside_tune.BAR),
    )  # fmt: skip


def _fastest(part: Part) -> float:
    return float(min(each["mean"] for each in part.samples))


def _volume(parts: Sequence[Part]) -> Iterator[Found]:
    if part := find(parts, "NOW", "gsum"):
        events = part.facts["events_per_call"]
        yield (
            "section 3", "NOW: 148 event collectors make 5,328 bytes for each call",
            f"{events:.0f} events, {EVENT_BYTES * events:,.0f} bytes, for each call",
            "-",
        )  # fmt: skip
