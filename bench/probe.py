"""The probe against the truth, on the built-in scenarios and on ones drawn from seeds."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench import compare, sources
from bench.builds import Build
from bench.campaign import part_name, starting
from bench.page import Page, Part, Record
from bench.progress import Progress
from bench.report import Subject, Table, console, judged, percent, seconds
from bench.session import Session
from bench.settings import Settings
from thalweg import network, units
from thalweg.lab import counters, scenario, validity

subject = Subject("probe", "The probe against the truth", sources.probed, ("scenario", "build"))
drawn = 10  # scenarios
scenarios = (*scenario.names(), *(f"drawn-{seed}" for seed in range(drawn)))
enough = 0.95  # of pairs and hosts
usual_seconds = 20.0  # of a probe without a budget, un-dilated
profile = {8: 0.69, 32: 1.67}
"""Seconds of CloudMap's profile by hosts: Table II."""
quantities = ("latency", "bandwidth", "egress", "ingress")


def run(settings: Settings) -> None:
    page = Page(settings, subject, contents)
    left = {
        name: [each for each in settings.debian_builds() if not page.has(labels(name, each))]
        for name in settings.scenarios
    }
    progress = Progress(estimates(settings, left))
    for name, builds in left.items():
        if not builds:
            continue
        with Session(name, settings.dilation) as session:
            for build in builds:
                with progress.part(part_name(name, build, "probe")):
                    found = [probe(session, build, settings) for _ in range(settings.repetitions)]
                facts = {"hosts": session.ranks, "budget": _given(settings),
                         "dilation": session.dilation}  # fmt: skip
                page.add(labels(name, build), facts, found)
    page.finish()


def labels(name: str, build: Build) -> Record:
    return {"scenario": name, "build": build.name}


def probe(session: Session, build: Build, settings: Settings) -> Record:
    """Probes anew; returns the network and its comparison with the scenario."""
    output = session.folder / f"{build.name}.json"
    before = counters.read(session.lab)
    try:
        took = session.probe(build, output, _given(settings))
    except subprocess.CalledProcessError as failure:
        console.print(f"[red]{session.name}, {build.name}: the probe failed")
        return {"failed": f"status {failure.returncode}"}
    counted = counters.read(session.lab).since(before)
    comparison = compare.compare(network.read(output), session.scenario)
    return {
        "seconds": took,
        "busy": counted.busy_fraction,
        "late": counted.late / max(counted.frames, 1),
        "comparison": comparison.to_json(),
        "network": json.loads(output.read_text()),
    }


def contents(parts: Sequence[Part]) -> list[Table]:
    ordered = sorted(parts, key=_place)
    return [table(ordered), trunks(ordered)]


def _place(part: Part) -> tuple[int, str]:
    """Sorts in the order of the scenarios, others last."""
    name = part.labels["scenario"]
    at = scenarios.index(name) if name in scenarios else len(scenarios)
    return at, part.labels["build"]


def table(parts: Sequence[Part]) -> Table:
    """A row per probing."""
    rows = Table(
        "Measured against imposed",
        ["scenario", "build", "hosts", *quantities, "trunks found", "missed", "false",
         "worst capacity", "n right", "sites", "budget", "took", "switch busy", "all right"],
        notes=[
            "Latency and bandwidth: share of the directed pairs within "
            f"{percent(compare.TOLERANCE)} of the scenario's; egress and ingress: of the hosts. "
            f"Right: {percent(enough)} of each, every trunk within the same tolerance and no "
            "other, n and sites exact.",
            "Two trunks are equal if they bind the same flows. A trunk that its hosts can't fill "
            f"to {percent(compare.FULL)} binds none and doesn't count.",
            "n: how many hosts must send to fill a trunk. Sites are \"-\" where the scenario names "
            "none. Times are un-dilated and include starting the probe's ranks.",
        ],
    )  # fmt: skip
    verdicts = []
    for part, sample in _samples(parts):
        label = [part.labels["scenario"], part.labels["build"], part.facts["hosts"]]
        if "failed" in sample:
            verdicts.append(False)
            blank = [""] * (len(rows.columns) - len(label) - 2)
            rows.add(*label, *blank, "failed: " + sample["failed"], "no")
            continue
        of = sample["comparison"]
        wrong = faults(of)
        verdicts.append(not wrong)
        right, known = senders_right(of)
        invalid = sample["busy"] > validity.BUSIEST
        rows.add(
            *label, *(percent(of[quantity]) for quantity in quantities),
            len(of["found"]), len(of["missed"]), len(of["false"]), _worst(of),
            f"{right} of {known}" if known else "-", _sites(of["sites_exact"]),
            _budget(part.facts["budget"]), seconds(sample["seconds"]),
            percent(sample["busy"]) + (": invalid" if invalid else ""),
            "no: " + ", ".join(wrong) if wrong else "yes",
        )  # fmt: skip
    rows.notes += beside_cloudmap(parts)
    rows.notes.append(f"All right in {sum(verdicts)} of {len(verdicts)} probings.")
    return rows


def beside_cloudmap(parts: Sequence[Part]) -> list[str]:
    """One sentence: whether a probe is as short as CloudMap's profile."""
    found = [
        (part.facts["hosts"], sample["seconds"])
        for part, sample in _samples(parts)
        if "failed" not in sample
    ]
    if not found:
        return []
    hosts, times = ([each[at] for each in found] for at in (0, 1))
    short = all(
        time <= profile[min(size for size in profile if size >= count)]
        for count, time in found
        if count <= max(profile)
    )
    of_paper = " and ".join(f"{seconds(time)} for {count}" for count, time in profile.items())
    return [
        f"Table II of CloudMap: a probe of {min(hosts)} to {max(hosts)} hosts takes "
        f"{seconds(min(times))} to {seconds(max(times))}, the paper's profile, of one direction "
        f"and without trunks, {of_paper}: {judged(short)}."
    ]


def faults(comparison: Mapping[str, Any]) -> list[str]:
    """Returns the faults in Comparison.to_json()."""
    wrong = [quantity for quantity in quantities if comparison[quantity] < enough]
    if any(abs(_error(trunk)) > compare.TOLERANCE for trunk in comparison["found"]):
        wrong.append("capacities")
    if comparison["missed"] or comparison["false"]:
        wrong.append("trunks")
    right, known = senders_right(comparison)
    if right < known:
        wrong.append("n")
    if comparison["sites_exact"] is False:
        wrong.append("sites")
    return wrong


def senders_right(comparison: Mapping[str, Any]) -> tuple[int, int]:
    """Counts found trunks with the right number of senders, and with any."""
    known = [each for each in comparison["found"] if each["measured_senders"] is not None]
    return sum(each["measured_senders"] == each["senders"] for each in known), len(known)


def trunks(parts: Sequence[Part]) -> Table:
    """Tables each trunk that can be filled."""
    rows = Table(
        "Trunks",
        ["scenario", "build", "trunk", "capacity", "measured", "error", "n", "measured n"],
    )
    for part, sample in _samples(parts):
        label = [part.labels["scenario"], part.labels["build"]]
        of = sample.get("comparison", {"found": [], "missed": [], "false": []})
        for trunk in of["found"]:
            rows.add(
                *label, trunk["name"], units.rate_to_text(trunk["capacity"]),
                units.rate_to_text(trunk["measured"]), f"{100 * _error(trunk):+.1f} %",
                trunk["senders"], trunk["measured_senders"] or "-",
            )  # fmt: skip
        for what in ("missed", "false"):
            for trunk in of[what]:
                rows.add(*label, trunk, what, *[""] * 4)
    return rows


def _samples(parts: Sequence[Part]) -> Iterator[tuple[Part, Record]]:
    return ((part, sample) for part in parts for sample in part.samples)


def _error(trunk: Mapping[str, Any]) -> float:
    return float(trunk["measured"] / trunk["capacity"] - 1)


def _worst(comparison: Mapping[str, Any]) -> str:
    """Returns the largest error of a trunk's capacity."""
    errors = [_error(trunk) for trunk in comparison["found"]]
    return f"{100 * max(errors, key=abs):+.1f} %" if errors else "-"


def _given(settings: Settings) -> float | None:
    """Returns the budget; None: that which users get who set none."""
    return settings.budget if settings.budget_is_set else None


def _budget(seconds_given: float | None) -> str:
    return "default" if seconds_given is None else units.time_to_text(seconds_given)


def _sites(exact: bool | None) -> str:
    return "-" if exact is None else "exact" if exact else "WRONG"


def estimates(settings: Settings, left: Mapping[str, Sequence[Build]]) -> dict[str, float]:
    """Estimates seconds by part."""
    found = {}
    for name, builds in left.items():
        dilation = settings.dilation or scenario.find(name).dilation
        for build in builds:
            once = usual_seconds * dilation + starting
            found[part_name(name, build, "probe")] = once * settings.repetitions
    return found
