"""What smpirun is told of a network, a placement and native collectives, and what it finds."""

from __future__ import annotations

import os
import random
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import families, networks
from bench.smpi_programs import Program
from thalweg import export, planner, plans
from thalweg.algorithms import Problem
from thalweg.collective import Collective, Kind
from thalweg.errors import UserError
from thalweg.network import Network
from thalweg.planner import Entry, Level, Phase, Table

thalweg = "Thalweg"
selectors = ("mpich", "ompi")
rules = "mpich's rules"
longest = 600  # seconds of a simulation
most_planned = 1024  # ranks; plans for more have the effort `estimate`
most_selected = 64  # ranks for which SMPI's selectors choose
kinds = (Kind.bcast, Kind.reduce, Kind.allreduce, Kind.gather, Kind.alltoall, Kind.barrier)
"""What the programs call."""
called = {
    Kind.bcast: {
        "binomial": "binomial_tree",
        "scatter-doubling": "scatter_rdb_allgather",
        "scatter-allgather": "scatter_LR_allgather",
    },
    Kind.reduce: {"binomial": "binomial", "rabenseifner": "scatter_gather"},
}
"""What SMPI calls MPICH's algorithms."""
loopback = (1e-6, 5e9)
"""Seconds and bytes per second between ranks of a host."""
eager_limit = families.costs["mpich"].eager_limit
options = (
    "--cfg=network/model:CM02", "--cfg=network/latency-factor:1",
    "--cfg=network/bandwidth-factor:1", "--cfg=network/weight-S:0", "--cfg=network/TCP-gamma:0",
    "--cfg=network/crosstraffic:0",
    f"--cfg=network/loopback-lat:{loopback[0]}", f"--cfg=network/loopback-bw:{loopback[1]}",
    f"--cfg=smpi/async-small-thresh:{eager_limit}",
    f"--cfg=smpi/send-is-detached-thresh:{eager_limit}",
    "--cfg=smpi/simulate-computation:no", "--cfg=smpi/display-timing:yes",
)  # fmt: skip
"""The network is that of the platform, without SimGrid's corrections for others. Messages up to the
eager limit don't wait for their receives, as in all libraries; in SMPI they would, by default."""


def cloud(draw: random.Random, hosts: int) -> Network:
    """Draws one with MPICH's costs of messages, and with what ranks of a host have between them."""
    net = networks.cloud(draw, hosts)
    net.message_costs = {networks.library: families.costs[networks.library]}
    for host in range(hosts):
        net.latency[host, host], net.bandwidth[host, host] = loopback
    return net


class Inputs:
    """What smpirun is told: a platform, the hosts of the ranks, a plan if one is made, in files of
    a folder; and how native collectives go, by the rules of a release of MPICH."""

    def __init__(
        self, net: Network, placement: Sequence[int], folder: Path, release: str = selectors[0]
    ) -> None:
        self.plan = folder / "plan.bin"
        self._net, self._placement, self._folder = net, list(placement), folder
        self._release = release
        self._platform, self._hosts = folder / "platform.xml", folder / "hosts"
        self._numbers = folder / "hosts-of-ranks"
        self._platform.write_text("\n".join(export.simgrid(net, of_messages=True)))
        self._hosts.write_text("".join(f"{net.hosts[host].name}\n" for host in placement))
        number = {host: at for at, host in enumerate(dict.fromkeys(placement))}
        self._numbers.write_text("".join(f"{number[host]}\n" for host in placement))

    def make_plan(self, library: str) -> float:
        """Writes a plan for the programs' collectives by this library; returns the seconds."""
        begin = time.monotonic()
        search = plans.Search("normal" if self._ranks <= most_planned else "estimate")
        setting = plans.Setting(self._net, self._placement, library, search)
        # The programs' root is rank 0, and each simulated rank has a copy of the plan.
        self.write_plan(library, [each for each in setting.table(kinds).entries if each.root == 0])
        return time.monotonic() - begin

    def write_plan(self, library: str, entries: Sequence[Entry]) -> None:
        plans.write_table(self.plan, self._net, library, Table(self._placement, entries))

    def simulate(
        self,
        program: Program,
        variant: str,
        built: Path,
        model: Sequence[str],
        *,
        words: Sequence[str] = (),
        environment: Mapping[str, str] = {},
        limit: int = longest,
    ) -> Simulation:
        """Simulates a variant of a program with these options of SMPI's model.

        The program gets further words, and variables beside those of the variant; the simulation
        is ended after `limit` seconds. Raises UserError if it failed, or the program computed a
        wrong result.
        """
        chosen = [*model, *self.native(program, variant)]
        command = [*self._command(program, built, chosen), *words]
        told = {**self.environment(program, variant), **environment}
        return _simulate(command, told, self._folder, limit)

    def native(self, program: Program, variant: str) -> list[str]:
        """The options that say how native collectives go: of the runtime itself, too, in MPI_Init.

        What goes on between hosts decides for both levels, since SMPI is told one algorithm: within
        a host 100 KB take some hundred microseconds by any.
        """
        if variant in selectors:
            return [f"--cfg=smpi/coll-selector:{variant}"]
        chosen = [f"--cfg=smpi/coll-selector:{selectors[0]}", "--cfg=smpi/allreduce:rdb"]
        for kind, names in called.items():
            phases = self._phases(kind, self._native_size(program, variant, kind))
            between = max(phases, key=lambda each: each.level is Level.between_hosts)
            chosen.append(f"--cfg=smpi/{kind.name}:{names[between.algorithm]}")
        return chosen

    def environment(self, program: Program, variant: str) -> dict[str, str]:
        """Returns the environment of smpirun: of Thalweg the plan, and levels by hosts of all but
        selectors, which have their own."""
        own = {"THALWEG_PLAN": str(self.plan)} if variant == thalweg else {}
        if variant in (rules, thalweg):
            own |= {
                "HOSTS_OF_RANKS": str(self._numbers),
                "BY_HOSTS": "".join(f"[{each.name}]" for each in self._by_hosts(program, variant)),
            }
        return os.environ | {"TMPDIR": str(self._folder)} | own

    def _command(self, program: Program, built: Path, chosen: Sequence[str]) -> list[str]:
        """Returns the command that simulates a program with these options of SMPI."""
        command = [
            "smpirun", "-np", self._ranks, "-platform", self._platform, "-hostfile", self._hosts,
            *chosen, built, *program.words(self._ranks),
        ]  # fmt: skip
        return list(map(str, command))

    @property
    def _ranks(self) -> int:
        return len(self._placement)

    def _native_size(self, program: Program, variant: str, kind: Kind) -> int:
        """Bytes of a program's native collectives of a kind; Thalweg leaves only short ones so."""
        if kind is Kind.barrier:
            return 0
        if variant == thalweg:
            return 1
        size = program.reduce if kind is Kind.reduce else program.bcast
        return max(1, int(program.filled(size, self._ranks)))

    def _by_hosts(self, program: Program, variant: str) -> list[Kind]:
        """The collectives that MPICH does between the hosts' leaders and within the hosts.

        Only of a broadcast that depends on the size.
        """

        def levels(kind: Kind) -> int:
            return len(self._phases(kind, self._native_size(program, variant, kind)))

        return [kind for kind in kinds if levels(kind) > 1]

    def _phases(self, kind: Kind, size: int) -> list[Phase]:
        """What MPICH's rules choose: one phase, or several if a collective goes by hosts."""
        collective = Collective(kind, self._ranks, size=size)
        problem = Problem(collective, self._net, self._placement)
        (native,) = planner.native_algorithms(problem, self._release)
        return native.phases


@dataclass(frozen=True)
class Simulation:
    """`seconds` is None if the simulation didn't end in time; wall seconds, peak bytes, what the
    program printed, and the command."""

    seconds: float | None
    wall: float
    memory: int
    said: str
    command: str


def _simulate(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, limit: int
) -> Simulation:
    """Runs smpirun for at most `limit` seconds. Raises UserError if it failed, or the program
    computed a wrong result."""
    begin = time.monotonic()
    log = folder / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            ["timeout", str(limit), *command], env=environment,
            stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - begin
    said, ran = log.read_text(), " ".join(command)
    if is_wrong(said):
        raise UserError(f"{ran} computed a wrong result:\n{said[-2000:]}")
    found = re.search(r"Simulated time: ([0-9.e+-]+) seconds", said)
    if process.returncode not in (0, 124) or (not found and process.returncode == 0):
        raise UserError(f"{ran} failed:\n{said[-2000:]}")
    return Simulation(float(found[1]) if found else None, wall, usage.ru_maxrss * 1024, said, ran)


def is_wrong(said: str) -> bool:
    """Whether a program printed that it computed a wrong result."""
    return "WRONG" in said or "UNSUCCESSFUL" in said
