"""Trunks that the probe finds on drawn networks, whose answers are simulated, against the truth."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from bench.page import Page, Part, Record
from bench.report import Subject, Table, percent, seconds
from bench.settings import Settings
from thalweg import paths, units

subject = Subject(
    "trunks",
    "Trunks found by the probe, simulated",
    ("src/probe", "bench/cuts.hpp", "bench/simulated_prober.hpp", "bench/topologies.hpp"),
    ("budget",),
    made="Simulated",
)
budgets = (10.0, 20.0, 30.0, 60.0, 600.0)
"""Seconds of the network's time; the probe takes 60 s at most where users set no budget."""
usual_networks = 40
least_right = 0.95
most_extra = 0.3
halved = 0.5
at_once = 2
worst_shown = 12
searching = ("looking for trunks", "measuring trunks")


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    count = settings.networks or usual_networks
    seeds = range((settings.seed - 1) * count, settings.seed * count)
    for budget in [settings.budget] if settings.budget_is_set else budgets:
        with ThreadPoolExecutor(at_once) as pool:
            found = list(pool.map(partial(probe, budget), seeds))
        page.add({"budget": budget}, {"seeds": [seeds[0], seeds[-1]]}, found)
    page.finish()


def probe(budget: float, seed: int) -> Record:
    """Probes the network of a seed."""
    command = [str(paths.binary("thalweg-bench-trunks")), str(seed), f"{budget:g}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: Record = json.loads(done.stdout)
    return found


def contents(parts: Sequence[Part]) -> list[Table]:
    ordered = sorted(parts, key=lambda part: float(part.labels["budget"]))
    return [by_budget(ordered), worst(ordered)]


def by_budget(parts: Sequence[Part]) -> Table:
    """A row for each budget."""
    rows = Table(
        "Cuts whose capacity is right, by budget",
        ["budget", "networks", "cuts", "right", "with shared trunks", "without", "halved", "bar",
         "mean time", "search"],
        notes=[
            "Right: within 10 % of the truth. Cuts are all ordered pairs of sites, and up to 60 "
            "drawn sets of hosts against all others. Half of the networks have trunks that several "
            "hosts fill, the others have links that carry all that hosts send.",
            "Halved: networks with a cut that is found to carry less than half of the truth.",
            f"Bar: {percent(least_right)} of the cuts right, and none halved.",
            "The time is the network's, from the first latency on. Search: the time of the search "
            "for trunks, over that of all else, in the networks without shared trunks and in those "
            f"with them; the bar is {percent(most_extra)}.",
        ],
    )  # fmt: skip
    for part in parts:
        networks = part.samples
        shared = [each for each in networks if each["shared"]]
        free = [each for each in networks if not each["shared"]]
        bad = sum(each["least"] < halved for each in networks)
        met = right(networks) >= least_right and not bad
        rows.add(
            units.time_to_text(part.labels["budget"]), len(networks),
            sum(each["cuts"] for each in networks), percent_of(right(networks)),
            percent_of(right(shared)), percent_of(right(free)), bad, "met" if met else "MISSED",
            seconds(sum(each["end"] for each in networks) / len(networks)),
            f"{percent(extra(free))}, {percent(extra(shared))}",
        )  # fmt: skip
    return rows


def right(networks: Sequence[Mapping[str, Any]]) -> float:
    """Returns the share of the cuts that are right; 1 of none."""
    cuts = sum(each["cuts"] for each in networks)
    return sum(each["right"] for each in networks) / cuts if cuts else 1.0


def extra(networks: Sequence[Mapping[str, Any]]) -> float:
    """Returns the time of the search over that of all else; 0 of none."""
    searched = sum(each["spent"].get(what, 0.0) for each in networks for what in searching)
    other = sum(each["end"] for each in networks) - searched
    return searched / other if other else 0.0


def percent_of(value: float) -> str:
    return f"{100 * value:.1f} %"


def worst(parts: Sequence[Part]) -> Table:
    """The networks with the most wrong cuts at the largest budgets."""
    rows = Table(
        "Networks with most wrong cuts",
        ["budget", "network", "hosts", "sites", "round trip", "cuts", "right", "least", "most",
         "time"],
        notes=["Least and most: what cuts were found to carry, over the truth."],
    )  # fmt: skip
    for part in parts[-2:]:
        wrong = [each for each in part.samples if each["right"] < each["cuts"]]
        wrong.sort(key=lambda each: each["right"] - each["cuts"])
        for each in wrong[:worst_shown]:
            rows.add(
                units.time_to_text(part.labels["budget"]), each["network"], each["hosts"],
                each["sites"], units.time_to_text(each["round_trip"]), each["cuts"], each["right"],
                f"{each['least']:.2f}", f"{each['most']:.2f}", seconds(each["end"]),
            )  # fmt: skip
    return rows
