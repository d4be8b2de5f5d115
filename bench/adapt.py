"""Sums planned for a wrong network, raced against the library's own, and not: whole runs of Gsum.

The network file has its hosts' names permuted, is ten times too fast, or has other rates than the
network, as one of another day may. Runs of all variants take turns.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import campaign, sources
from bench.builds import Build
from bench.campaign import Campaign
from bench.page import Page, Part
from bench.report import Subject, Table, console, seconds, times
from bench.samples import native
from bench.session import LaunchFailedError, Planned, Session, launch_timeout, with_thalweg
from bench.settings import Settings
from thalweg import network as networks
from thalweg import paths, units
from thalweg.lab import counters, validity
from thalweg.network import Host, Network, Trunk

scenarios = ("cloud",)
subject = Subject(
    "adapt",
    "Plans for a wrong network",
    (*sources.run_on_lab, "examples"),
    ("scenario", "build", "bytes", "variant"),
)
calls = 200
sizes = (32_768,)  # bytes of a sum
bar = 1.2  # times the run with the right file
right = "right"
raced, planned = "race", "no race"
FASTER = 10.0
SPREAD = 3.0
"""What rates of another day differ by, at most, as a factor up or down."""


def permuted(net: Network, seed: int) -> None:
    """Gives each host the name of another one."""
    names = [host.name for host in net.hosts]
    order = np.random.default_rng(seed).permutation(len(names))
    net.hosts = [
        Host(names[at], host.egress, host.ingress)
        for at, host in zip(order, net.hosts, strict=True)
    ]


def too_fast(net: Network, _seed: int) -> None:
    """Divides each time by FASTER."""
    slow_down(net, 1 / FASTER)


def slow_down(net: Network, factor: float) -> None:
    """Lets everything take longer by a factor."""
    net.latency = net.latency * factor
    _scale_rates(net, np.full(net.bandwidth.shape, 1 / factor))


def another_day(net: Network, seed: int) -> None:
    """Multiplies each pair's rate by a factor of its own, as far off on either side."""
    drawn = np.random.default_rng(seed).uniform(-1, 1, net.bandwidth.shape)
    _scale_rates(net, SPREAD**drawn)


wrong: Mapping[str, Callable[[Network, int], None]] = {
    "names permuted": permuted,
    "ten times too fast": too_fast,
    "rates of another day": another_day,
}


def _scale_rates(net: Network, factors: np.ndarray) -> None:
    """Hosts and trunks carry what the fastest of their flows was scaled by."""
    net.bandwidth = net.bandwidth * factors
    off_diagonal = np.where(np.eye(len(net.hosts), dtype=bool), 0, factors)
    net.hosts = [
        Host(
            host.name,
            host.egress * off_diagonal[at].max(),
            host.ingress * off_diagonal[:, at].max(),
        )
        for at, host in enumerate(net.hosts)
    ]
    net.trunks = [
        Trunk(trunk.name, trunk.from_, trunk.to, trunk.capacity * float(off_diagonal.max()))
        for trunk in net.trunks
    ]


def run(settings: Settings) -> None:
    """Measures each size on each scenario with each build."""
    page = Page(settings, subject, contents)
    campaign.run(settings, page, parts(settings, page))


def parts(settings: Settings, page: Page) -> Campaign[int]:
    """A part for each size."""
    runs = settings.repetitions * (2 + 2 * len(wrong))

    def labels(scenario: str, build: str, size: int) -> dict[str, Any]:
        return {"scenario": scenario, "build": build, "bytes": size}

    def measure(session: Session, build: Build, plans: Planned, size: int) -> None:
        variants = _variants(session, build, plans, settings.seed)
        samples = _samples(session, build, variants, size, settings.repetitions)
        facts = {"dilation": session.dilation}
        page.add(labels(session.name, build.name, size), facts, samples)

    wanted = settings.sizes or sizes
    return Campaign(wanted, units.size_to_text, labels, lambda *_: 15.0 * runs, measure)


def _variants(
    session: Session, build: Build, plans: Planned, seed: int
) -> dict[str, dict[str, str]]:
    """Returns the environment of the ranks by variant."""
    race = {"THALWEG_RACE": "1"}
    variants = {native: {}, right: with_thalweg(build, plans) | race}
    for at, (name, change) in enumerate(wrong.items()):
        net = networks.read(plans.network)
        change(net, seed)
        path = session.folder / f"wrong-{at}.json"
        networks.write(net, path)
        environment = with_thalweg(build, session.plan_for(build, path))
        variants[f"{name}, {planned}"] = environment
        variants[f"{name}, {raced}"] = environment | race
    return variants


def _samples(
    session: Session,
    build: Build,
    variants: Mapping[str, Mapping[str, str]],
    size: int,
    repetitions: int,
) -> list[dict[str, Any]]:
    found = []
    for _ in range(repetitions):
        for name, environment in variants.items():
            try:
                found.append({"variant": name, **_sample(session, build, environment, size)})
            except LaunchFailedError as failure:
                console.print(f"[yellow]{name}: {failure}[/yellow]")
    return found


def _sample(
    session: Session, build: Build, environment: Mapping[str, str], size: int
) -> dict[str, Any]:
    """One run: the un-dilated seconds of all its sums. Raises LaunchFailedError."""
    file, summary = session.folder / "gsum.json", session.folder / "summary.json"
    summary.unlink(missing_ok=True)
    command = [
        str(paths.binary(f"gsum-{build.flavour}")), "--iterations", str(calls),
        "--values", str(size // 8), "--dilation", f"{session.dilation:g}", "--json", str(file),
    ]  # fmt: skip
    before = counters.read(session.lab)
    told = {**environment, "THALWEG_SUMMARY": str(summary)}
    session.run(build, command, told, timeout=4 * launch_timeout)
    counted = counters.read(session.lab).since(before)
    total = calls * float(json.loads(file.read_text())["mean"])
    least = calls * 2 * (session.ranks - 1) * size
    bound = calls * (session.bound("allreduce", size) or 0.0)
    verdict = validity.judge(
        session.scenario, counted, total, least, bound, calls * (session.ranks - 1)
    )
    return {"time": total, "invalid": list(verdict.reasons), "races": _races(summary)}


def _races(summary: Path) -> list[dict[str, Any]]:
    if not summary.exists():
        return []
    found: list[dict[str, Any]] = json.loads(summary.read_text()).get("races", [])
    return found


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns the table: a row for each wrong file."""
    table = Table(
        "Whole runs, un-dilated seconds",
        ["scenario", "build", "size", "the file is wrong by", "native", "right file",
         "wrong, no race", "wrong, race", "of the right file's", "bar", "met",
         "races won by native"],
        notes=[
            f"Medians of runs of {calls} sums that alternate between two communicators, from the "
            "mean time of a sum on all ranks. The right file's plans race, too.",
            f"Rates of another day: each pair's is up to {SPREAD:g} times lower or higher.",
            "Invalid runs, by the lab's own counters, are left out.",
        ],
    )  # fmt: skip
    for part in parts:
        own, knowing = _time(part, native), _time(part, right)
        for name in wrong:
            without, racing = (_time(part, f"{name}, {mode}") for mode in (planned, raced))
            if None in (own, knowing, without, racing):
                continue
            assert own and knowing and without and racing
            table.add(
                part.labels["scenario"], part.labels["build"],
                units.size_to_text(part.labels["bytes"]), name,
                *(seconds(time) for time in (own, knowing, without, racing)),
                times(racing / knowing), f"<= {bar}x",
                "yes" if racing <= bar * knowing else "MISSED", _won(part, f"{name}, {raced}"),
            )  # fmt: skip
    return [table]


def _valid(part: Part, variant: str) -> list[Mapping[str, Any]]:
    return [each for each in part.samples if each["variant"] == variant and not each["invalid"]]


def _time(part: Part, variant: str) -> float | None:
    found = [each["time"] for each in _valid(part, variant)]
    return statistics.median(found) if found else None


def _won(part: Part, variant: str) -> str:
    """How many of the races of all runs native won."""
    winners = [race["winner"] for each in _valid(part, variant) for race in each["races"]]
    return f"{winners.count('native')} of {len(winners)}"
