"""Runs on the lab with faults that are known: a program, a host or a link is made faulty.

Two sites of four hosts, a rank on each. A fault of the program is the program's own, one of a host
is in a library below the runtime (bench/disturbance.c), and one of the network is in the scenario:
the analysis gets the network as it should be.
"""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import traced
from bench.builds import Build
from bench.session import Session
from thalweg import paths
from thalweg.analysis.faults import Fault
from thalweg.analysis.tables import Run
from thalweg.lab import scenario, scenarios

HOSTS = 4
"""Hosts of each of the two sites."""
LATENCY_MS = 0.5
"""Latency between the sites."""
DILATION = 8.0
CALLS = 40
NETWORK_FAULTS = [fault for fault in Fault if fault.at_fault == "network"]


@dataclass(frozen=True)
class PlantedFault:
    """What is wrong, with whom, and how it is brought about."""

    kind: str
    culprit: str = ""
    program: Sequence[str] = ()
    disturbance: str = ""
    link: tuple[int, int] | None = None
    """Hosts whose link is slow."""
    trunk: str = ""
    factor: float = 1.0
    """How many times slower the link or the trunk is."""


@dataclass(frozen=True)
class Setting:
    """What is called, and how."""

    collective: str
    algorithm: str
    size: int
    seed: int

    def force(self) -> str:
        small = "allreduce=binomial" if self.collective != "allreduce" else ""
        own = f"{self.collective}={self.algorithm}"
        return ";".join(filter(None, [own, small]))


def draw(kind: str, seed: int) -> tuple[Setting, PlantedFault]:
    """Returns a run with a fault of this kind, drawn from the seed."""
    rng = random.Random(f"{kind} {seed}")
    ranks = 2 * HOSTS
    collective = rng.choice(["allreduce", "allreduce", "bcast", "reduce", "allgather"])
    if kind == Fault.serialising_node:
        collective = rng.choice(["allreduce", "bcast"])
    if kind == Fault.saturated_trunk:
        collective = rng.choice(["allreduce", "allgather"])
    algorithm = {"allgather": "ring", "allreduce": "recursive-doubling"}.get(collective, "binomial")
    if kind == Fault.serialising_node:
        algorithm = "binomial"
    if kind == Fault.saturated_trunk and collective == "allgather":
        algorithm = "bruck"
    size = int(10 ** rng.uniform(1, 4))
    if kind == Fault.saturated_trunk:
        size = rng.randrange(20_000, 60_000)
    setting = Setting(collective, algorithm, size, seed)
    rank = rng.randrange(ranks)
    names = host_names()
    strength = rng.uniform(1, 3) * 1000 * LATENCY_MS * DILATION  # microseconds
    host = f"{strength / 4:.0f} {rank}"
    if kind == Fault.slow_host:
        return setting, PlantedFault(kind, names[rank], disturbance=f"slow-host {host}")
    if kind == Fault.serialising_node:
        return setting, PlantedFault(
            kind, "rank 0", disturbance=f"serialising-node {strength / 2:.0f} 0"
        )
    if kind == Fault.busy_core:
        return setting, PlantedFault(
            kind, f"rank {rank}", disturbance=f"busy-core {strength:.0f} {rank}"
        )
    if kind == Fault.late_rank:
        late = ("--late", str(rank), "--by", f"{strength:.0f}")
        return setting, PlantedFault(kind, f"rank {rank}", late)
    if kind == Fault.rotating_straggler:
        return setting, PlantedFault(kind, "", ("--late", "rotating", "--by", f"{strength:.0f}"))
    if kind == Fault.slow_link:
        a, b = rng.choice(_pairs(setting))
        return setting, PlantedFault(
            kind, f"{names[a]} -> {names[b]}", link=(a, b), factor=rng.uniform(4, 10)
        )
    if kind == Fault.saturated_trunk:
        trunk = rng.choice(["west-to-east", "east-to-west"])
        return setting, PlantedFault(kind, trunk, trunk=trunk, factor=rng.uniform(4, 10))
    return setting, PlantedFault("clean")


def _pairs(setting: Setting) -> list[tuple[int, int]]:
    """Returns ordered pairs of ranks that certainly exchange messages."""
    ranks = range(2 * HOSTS)
    if setting.algorithm == "ring":
        return [(rank, (rank + 1) % len(ranks)) for rank in ranks]
    if setting.algorithm == "recursive-doubling":
        return [(rank, rank ^ step) for rank in ranks for step in (1, 2, 4)]
    up = [(rank, rank & (rank - 1)) for rank in ranks[1:]]
    return [(b, a) for a, b in up] if setting.collective == "bcast" else up


def document(fault: PlantedFault) -> dict[str, Any]:
    """Returns the lab's scenario, with what is wrong with its network."""
    found = copy.deepcopy(scenarios.wan(HOSTS))
    found |= {"name": "faulty-2x4", "dilation": DILATION}
    net = found["network"]
    latency, rate = net["latency"]["matrix"], net["bandwidth"]["matrix"]
    for a in range(2 * HOSTS):
        for b in range(2 * HOSTS):
            if a // HOSTS != b // HOSTS:
                latency[a][b] = LATENCY_MS
    if fault.link is not None:
        a, b = fault.link
        latency[a][b] *= fault.factor
        rate[a][b] /= fault.factor
    for trunk in net["trunks"]:
        if trunk["name"] == fault.trunk:
            number = float(str(trunk["capacity"]).removesuffix("Mbps"))
            trunk["capacity"] = f"{number / fault.factor:.3f}Mbps"
    return found


def host_names() -> list[str]:
    return [host["name"] for host in document(PlantedFault("clean"))["network"]["hosts"]]


@dataclass
class Labs:
    """Keeps a lab up as long as its network is the one that is needed."""

    build: Build
    _session: Session | None = None
    _network: Any = field(default=None)

    def run(self, setting: Setting, fault: PlantedFault) -> Run:
        """Runs a program with a fault, and returns its events. Raises LaunchFailedError."""
        network = document(fault)
        if self._session is None or network != self._network:
            self.end()
            self._session = Session(scenario.parse(network)).__enter__()
            self._network = network
        program = [
            str(paths.binary(f"thalweg-bench-faulty-{self.build.flavour}")),
            "--kind", setting.collective, "--size", str(setting.size), "--calls", str(CALLS),
            "--between", f"{1000 * LATENCY_MS * DILATION:.0f}", "--seed", str(setting.seed),
            *fault.program,
        ]  # fmt: skip
        below = [library(self.build)] if fault.disturbance else []
        healthy = scenario.parse(document(PlantedFault("clean"))).network
        return traced.run(
            self._session, self.build, program, setting.force(), healthy, below,
            {"THALWEG_DISTURBANCE": fault.disturbance} if fault.disturbance else {},
        )  # fmt: skip

    def end(self) -> None:
        if self._session is not None:
            self._session.__exit__(None, None, None)
            self._session = None


@contextlib.contextmanager
def labs(build: Build) -> Iterator[Labs]:
    """Takes the lab down in the end."""
    found = Labs(build)
    try:
        yield found
    finally:
        found.end()


def library(build: Build) -> Path:
    """Returns the library that makes hosts faulty."""
    return paths.package() / "lib" / f"libthalweg-bench-disturbance-{build.flavour}.so"
