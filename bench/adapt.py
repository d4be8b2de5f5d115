"""Sums planned for a wrong network: whole runs of Gsum, with races and without, by `thalweg run`.

The network file has its hosts' names permuted, is ten times too fast, or has other rates than the
network, as one of another day may. Runs of all variants take turns. `thalweg run` gets the file and
hosts of which it knows nothing: it verifies the file, and its whole time counts, from the command's
start to its end, beside the launcher's alone. Whole times are measured at two dilations, which tell
the network's time apart from this machine's work.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench import campaign, sources
from bench.adapt_page import FASTER, SPREAD, calls, contents, planned, raced, right, whole
from bench.builds import Build
from bench.campaign import Campaign
from bench.page import Page, failed_run
from bench.report import Subject, console
from bench.samples import native
from bench.session import LaunchFailedError, Planned, Session, launch_timeout, with_thalweg
from bench.settings import Settings
from thalweg import network as networks
from thalweg import paths, units
from thalweg.lab import counters, launch, validity
from thalweg.lab.counters import Counters
from thalweg.network import Host, Network, Trunk

scenarios = ("cloud",)
subject = Subject(
    "adapt",
    "Plans for a wrong network",
    (*sources.run_on_lab, "examples", "python/thalweg/knowledge.py", "bench/adapt.py"),
    ("scenario", "build", "bytes", "dilation", "variant"),
)
sizes = (32_768,)  # bytes of a sum


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
        Trunk(t.name, t.from_, t.to, t.capacity * float(off_diagonal.max()), t.senders)
        for t in net.trunks
    ]


def run(settings: Settings) -> None:
    """Measures each size on each scenario with each build, and whole commands twice as slow."""
    page = Page(settings, subject, contents)
    campaign.run(settings, page, *parts(settings, page))


def parts(settings: Settings, page: Page) -> list[Campaign[int]]:
    """A part for each size, at the scenario's dilation and, of whole commands, at twice that."""
    kept: dict[tuple[str, str], Planned] = {}

    def plan(session: Session, build: Build, budget: float) -> Planned:
        """Plans once, so that wrong files are the same at both dilations."""
        key = session.name, build.name
        if key not in kept:
            kept[key] = session.plan(build, budget)
        return kept[key]

    def at(slower: float) -> Campaign[int]:
        def labels(scenario: str, build: str, size: int) -> dict[str, Any]:
            dilation = made.dilation(settings, scenario)
            return {"scenario": scenario, "build": build, "bytes": size, "dilation": dilation}

        def measure(session: Session, build: Build, plans: Planned, size: int) -> None:
            files = _files(session, plans, settings.seed)
            measured = _whole_commands(session, build, files, size)
            if slower == 1:
                measured = _sums(session, build, plans, files, size) | measured
            samples = _samples(measured, settings.repetitions)
            page.add(labels(session.name, build.name, size), {}, samples)

        runs = settings.repetitions * (2 + len(wrong) + (2 + 2 * len(wrong)) * (slower == 1))
        made = Campaign(
            settings.sizes or sizes, units.size_to_text, labels, lambda *_: 5.0 * runs, measure,
            plan, slower=slower,
        )  # fmt: skip
        return made

    return [at(1), at(2)]


def _files(session: Session, plans: Planned, seed: int) -> dict[str, Path]:
    """Returns the network files: the right one, and the wrong ones by name."""
    files = {right: plans.network}
    for at, (name, change) in enumerate(wrong.items()):
        net = networks.read(plans.network)
        change(net, seed)
        files[name] = session.folder / f"wrong-{at}.json"
        networks.write(net, files[name])
    return files


Measured = dict[str, Callable[[], dict[str, Any]]]
"""What makes a sample of each variant."""


def _sums(
    session: Session, build: Build, plans: Planned, files: Mapping[str, Path], size: int
) -> Measured:
    """Runs whose sums alone count: natively, with plans for the right file and for wrong ones."""
    race = {"THALWEG_RACE": "1"}
    variants = {native: {}, right: with_thalweg(build, plans.plan) | race}
    for name in wrong:
        environment = with_thalweg(build, session.plan_for(build, files[name]).plan)
        variants[f"{name}, {planned}"] = environment
        variants[f"{name}, {raced}"] = environment | race
    return {
        name: partial(_sample, session, build, environment, size)
        for name, environment in variants.items()
    }


def _whole_commands(
    session: Session, build: Build, files: Mapping[str, Path], size: int
) -> Measured:
    """Runs by the launcher alone and, with each file, by `thalweg run`."""
    alone: Measured = {f"{native}, {whole}": partial(_whole, session, build, None, size)}
    return alone | {
        f"{name}, {whole}": partial(_whole, session, build, file, size)
        for name, file in files.items()
    }


def _samples(measured: Measured, repetitions: int) -> list[dict[str, Any]]:
    found = []
    for _ in range(repetitions):
        for name, measure in measured.items():
            try:
                found.append({"variant": name, **measure()})
            except LaunchFailedError as failure:
                console.print(f"[yellow]{name}: {failure}[/yellow]")
                found.append(failed_run(name, failure))
    return found


def _sample(
    session: Session, build: Build, environment: Mapping[str, str], size: int
) -> dict[str, Any]:
    """One run: the un-dilated seconds of all its sums. Raises LaunchFailedError."""
    summary = session.folder / "summary.json"
    summary.unlink(missing_ok=True)
    before = counters.read(session.lab)
    told = {**environment, "THALWEG_SUMMARY": str(summary)}
    session.run(build, _program(session, build, size), told, timeout=4 * launch_timeout)
    total = calls * float(json.loads((session.folder / "gsum.json").read_text())["mean"])
    invalid = _invalid(session, before, total, size)
    return {"time": total, "invalid": invalid, "races": _races(summary)}


def _whole(session: Session, build: Build, file: Path | None, size: int) -> dict[str, Any]:
    """One run by `thalweg run`, or without a file by the launcher alone: seconds of this machine,
    not un-dilated, from the command's start to its end.

    `thalweg run` knows nothing of the hosts but the file. Raises LaunchFailedError.
    """
    inside = {**launch.environment(session.lab), **build.environment}
    ranks = ["-n", str(session.ranks)]
    program = _program(session, build, size)
    with tempfile.TemporaryDirectory(dir=session.folder) as cache:
        command = [str(build.launcher), *ranks, *program]
        if file is not None:
            command = [
                sys.executable, "-m", "thalweg", "run", "--launcher", str(build.launcher),
                "--network", str(file), "--no-placement", "--no-record", *ranks, "--", *program,
            ]  # fmt: skip
        before = counters.read(session.lab)
        began = time.monotonic()
        done = launch.run(
            session.lab, session.lab.hosts[0], command, {**inside, "XDG_CACHE_HOME": cache},
            4 * launch_timeout,
        )  # fmt: skip
        total = time.monotonic() - began
    if done.returncode != 0:
        raise LaunchFailedError(f"{whole}: {' / '.join(done.stderr.splitlines()[-3:])}")
    said = [line for line in done.stderr.splitlines() if line.startswith("thalweg: ")]
    invalid = _invalid(session, before, total / session.dilation, size)
    return {"time": total, "invalid": invalid, "races": [], "said": said}


def _program(session: Session, build: Build, size: int) -> list[str]:
    return [
        str(paths.binary(f"gsum-{build.flavour}")), "--iterations", str(calls),
        "--values", str(size // 8), "--dilation", f"{session.dilation:g}",
        "--json", str(session.folder / "gsum.json"),
    ]  # fmt: skip


def _invalid(session: Session, before: Counters, total: float, size: int) -> list[str]:
    counted = counters.read(session.lab).since(before)
    least = calls * 2 * (session.ranks - 1) * size
    bound = calls * (session.bound("allreduce", size) or 0.0)
    verdict = validity.judge(
        session.scenario, counted, total, least, bound, calls * (session.ranks - 1)
    )
    return list(verdict.reasons)


def _races(summary: Path) -> list[dict[str, Any]]:
    if not summary.exists():
        return []
    found: list[dict[str, Any]] = json.loads(summary.read_text()).get("races", [])
    return found
