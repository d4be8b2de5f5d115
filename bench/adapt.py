"""Sums planned for a wrong network: whole runs of Gsum, with races and without, by `thalweg run`.

The network file has its hosts' names permuted, is ten times too fast, or has other rates than the
network, as one of another day may. Runs of all variants take turns. `thalweg run` gets the file and
hosts of which it knows nothing: it verifies the file, and its whole time counts.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench import campaign, sources
from bench.builds import Build
from bench.campaign import Campaign
from bench.page import Page, Part, valid_runs
from bench.report import Subject, Table, console, seconds, times
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
    ("scenario", "build", "bytes", "variant"),
)
calls = 200
sizes = (32_768,)  # bytes of a sum
bar = 1.2  # times the run with the right file, or natively if that is faster
race_bar = 1.02  # times the run without races: what trials may be expected to lose
right = "right"
raced, planned, whole = "race", "no race", "thalweg run"
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
    runs = settings.repetitions * (3 + 3 * len(wrong))

    def labels(scenario: str, build: str, size: int) -> dict[str, Any]:
        return {"scenario": scenario, "build": build, "bytes": size}

    def measure(session: Session, build: Build, plans: Planned, size: int) -> None:
        files = _files(session, plans, settings.seed)
        variants = _variants(session, build, plans, files)
        samples = _samples(session, build, variants, files, size, settings.repetitions)
        facts = {"dilation": session.dilation}
        page.add(labels(session.name, build.name, size), facts, samples)

    wanted = settings.sizes or sizes
    return Campaign(wanted, units.size_to_text, labels, lambda *_: 15.0 * runs, measure)


def _files(session: Session, plans: Planned, seed: int) -> dict[str, Path]:
    """Returns the network files: the right one, and the wrong ones by name."""
    files = {right: plans.network}
    for at, (name, change) in enumerate(wrong.items()):
        net = networks.read(plans.network)
        change(net, seed)
        files[name] = session.folder / f"wrong-{at}.json"
        networks.write(net, files[name])
    return files


def _variants(
    session: Session, build: Build, plans: Planned, files: Mapping[str, Path]
) -> dict[str, dict[str, str]]:
    """Returns the environment of the ranks by variant."""
    race = {"THALWEG_RACE": "1"}
    variants = {native: {}, right: with_thalweg(build, plans) | race}
    for name in wrong:
        environment = with_thalweg(build, session.plan_for(build, files[name]))
        variants[f"{name}, {planned}"] = environment
        variants[f"{name}, {raced}"] = environment | race
    return variants


def _samples(
    session: Session,
    build: Build,
    variants: Mapping[str, Mapping[str, str]],
    files: Mapping[str, Path],
    size: int,
    repetitions: int,
) -> list[dict[str, Any]]:
    measured: dict[str, Callable[[], dict[str, Any]]] = {
        name: partial(_sample, session, build, environment, size)
        for name, environment in variants.items()
    }
    for name, file in files.items():
        measured[f"{name}, {whole}"] = partial(_whole, session, build, file, size)
    found = []
    for _ in range(repetitions):
        for name, measure in measured.items():
            try:
                found.append({"variant": name, **measure()})
            except LaunchFailedError as failure:
                console.print(f"[yellow]{name}: {failure}[/yellow]")
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


def _whole(session: Session, build: Build, file: Path, size: int) -> dict[str, Any]:
    """One run by `thalweg run`: the un-dilated seconds from its start to its end.

    It knows nothing of the hosts but the file. Raises LaunchFailedError.
    """
    inside = launch.environment(session.lab)
    with tempfile.TemporaryDirectory(dir=session.folder) as cache:
        command = [
            sys.executable, "-m", "thalweg", "run", "--launcher", str(build.launcher),
            "--network", str(file), "--no-placement", "--no-record",
            "-n", str(session.ranks), "--", *_program(session, build, size),
        ]  # fmt: skip
        before = counters.read(session.lab)
        began = time.monotonic()
        done = launch.run(
            session.lab, session.lab.hosts[0], command, {**inside, "XDG_CACHE_HOME": cache},
            4 * launch_timeout,
        )  # fmt: skip
        total = (time.monotonic() - began) / session.dilation
    if done.returncode != 0:
        raise LaunchFailedError(f"thalweg run: {' / '.join(done.stderr.splitlines()[-3:])}")
    said = [line for line in done.stderr.splitlines() if line.startswith("thalweg: ")]
    invalid = _invalid(session, before, total, size)
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


def contents(parts: Sequence[Part]) -> list[Table]:
    """Returns the table: a row for each wrong file."""
    table = Table(
        "Whole runs, un-dilated seconds",
        ["scenario", "build", "size", "the file is wrong by", "native", "right file",
         "wrong, no race", "wrong, race", "race, of no race", "bar", "met", "race, of right",
         "races won by native", "right, thalweg run", "wrong, thalweg run",
         "run, of the faster", "bar", "met"],
        notes=[
            f"Medians of runs of {calls} sums that alternate between two communicators, from the "
            "mean time of a sum on all ranks. The right file's plans race, too.",
            "Race, of no race: trials begin only where what they are expected to lose is within "
            "2 % of the time of the calls so far; the bar is that a run loses no more. Both are "
            "medians of few runs.",
            "thalweg run: the whole time of the command, which knows nothing of the hosts but the "
            "file, and verifies it.",
            "Of the faster: over the lesser of thalweg run with the right file and native alone, "
            "whose time is that of the sums, without the command's start. The right file's plans "
            "are made with all effort, which takes most of that command's time, since its hosts "
            "are as it says; a wrong file is thrown away for a measurement of about a second and "
            "quick plans, which in runs as short as these take less.",
            f"Rates of another day: each pair's is up to {SPREAD:g} times lower or higher.",
            "Invalid runs, by the lab's own counters, are left out.",
        ],
    )  # fmt: skip
    for part in parts:
        own, knowing = _time(part, native), _time(part, right)
        for name in wrong:
            without, racing, run = (_time(part, f"{name}, {m}") for m in (planned, raced, whole))
            right_run = _time(part, f"{right}, {whole}")
            if None in (own, knowing, without, racing, run, right_run):
                continue
            assert own and knowing and without and racing and run and right_run
            best = min(own, right_run)
            table.add(
                part.labels["scenario"], part.labels["build"],
                units.size_to_text(part.labels["bytes"]), name,
                *(seconds(time) for time in (own, knowing, without, racing)),
                times(racing / without), f"<= {race_bar}x", _met(racing, race_bar * without),
                times(racing / knowing), _won(part, f"{name}, {raced}"),
                seconds(right_run), seconds(run), times(run / best), f"<= {bar}x",
                _met(run, bar * best),
            )  # fmt: skip
    return [table]


def _met(time: float, most: float) -> str:
    return "yes" if time <= most else "MISSED"


def _time(part: Part, variant: str) -> float | None:
    found = [each["time"] for each in valid_runs(part.samples, variant)]
    return statistics.median(found) if found else None


def _won(part: Part, variant: str) -> str:
    """How many of the races of all runs native won."""
    winners = [
        race["winner"] for each in valid_runs(part.samples, variant) for race in each["races"]
    ]
    return f"{winners.count('native')} of {len(winners)}"
