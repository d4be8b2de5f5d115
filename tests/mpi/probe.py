"""Runs thalweg-probe on ranks of this host, and checks what it writes or how it fails.

probe.py FLAVOUR PROGRAM CASE --ranks N [--preload LIBRARY]

Nothing here depends on how long anything takes: the machine's memory is no network.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import launch

BUDGET, AMPLE = "1s", "3s"
RANK = "${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-0}}"
SKIPPED = 77
CLOCK_ERROR = 1e-6
"""Seconds by which latencies may shift when clocks of their own are compared anew."""


@dataclass(frozen=True)
class Probe:
    """How the probe is run."""

    flavour: str
    program: str
    ranks: int
    preload: Sequence[str]
    clock_step: int = 0
    """Seconds by which each rank's clock is ahead of the one before, as on hosts that weren't
    started together."""

    @property
    def own_clocks(self) -> bool:
        return self.clock_step > 0

    def group(self, *arguments: str) -> tuple[int, dict[str, str], list[str]]:
        environment = {"LD_PRELOAD": ":".join(self.preload)} if self.preload else {}
        wrapper = with_clocks(self.clock_step) if self.own_clocks else ()
        return self.ranks, environment, [*wrapper, self.program, *arguments]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return launch.run(self.flavour, self.group(*arguments), capture=True)

    def events(self, *arguments: str, budget: str = BUDGET) -> list[dict[str, Any]]:
        """What a probe with --events says."""
        result = self.run("--one-machine", "--budget", budget, "--events", *arguments)
        assert result.returncode == 0, result.stderr
        return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


def with_clocks(step: int) -> Sequence[str]:
    """Runs a program whose monotonic clock is ahead by so many seconds for each rank."""
    return ("sh", "-c", f'exec unshare --time --monotonic $(({step} * {RANK})) "$@"', "sh")


def check_network(network: dict[str, Any], probe: Probe) -> None:
    """What every reader of a network file relies on, and what the probe promises besides."""
    ranks = probe.ranks
    names = [host["name"] for host in network["hosts"]]
    assert len(set(names)) == ranks, names
    assert network["measured"]["at"].endswith("Z")
    shares = ranks > 1 and not probe.own_clocks
    assert network["measured"]["clock"] == ("shared" if shares else "none")
    assert sorted(name for site in network["sites"] for name in site) == sorted(names)
    for quantity in ("latency", "bandwidth"):
        matrix = network[quantity]["matrix"]
        assert [len(row) for row in matrix] == [ranks] * ranks
        assert all(value > 0 for row in matrix for value in row), matrix
    if ranks > 1:
        check_library(network, probe.flavour)


def check_library(network: dict[str, Any], flavour: str) -> None:
    cost = network["message_costs"][flavour]
    assert set(cost) == {
        "send", "receive", "per_byte", "combine_per_byte", "handshake", "eager_limit"
    }  # fmt: skip
    own = [native for native in network["native_times"] if native["library"] == flavour]
    collectives = [native["collective"] for native in own]
    assert collectives[0] == "bcast", collectives
    assert all(native["time"] for native in own), own


def measure(probe: Probe, folder: Path) -> None:
    """Written as a file, and the same as an event."""
    output = folder / "net.json"
    result = probe.run("--one-machine", "--budget", BUDGET, "--output", str(output))
    assert result.returncode == 0, result.stderr
    check_network(json.loads(output.read_text()), probe)
    assert not list(folder.glob("*.tmp*"))

    events = probe.events()
    kinds = [event["event"] for event in events]
    assert kinds.count("started") == probe.ranks, kinds
    assert kinds[-1] == "network", kinds
    check_network(json.loads(events[-1]["text"]), probe)


def adds_library(probe: Probe, folder: Path) -> None:
    """With --base only the library's own part is new; other hosts are refused."""
    base, output = folder / "base.json", folder / "net.json"
    first = probe.run("--one-machine", "--budget", BUDGET, "--output", str(base))
    assert first.returncode == 0, first.stderr
    before = json.loads(base.read_text())
    library = "mpich" if probe.flavour == "openmpi" else "openmpi"
    other = {"library": library, "collective": "bcast", "size": "1KB", "time": "1ms"}
    before["message_costs"] = {library: before["message_costs"][probe.flavour]}
    before["native_times"] = [other]
    base.write_text(json.dumps(before))
    arguments = ("--one-machine", "--budget", BUDGET, "--base", str(base), "--output", str(output))
    result = probe.run(*arguments)
    assert result.returncode == 0, result.stderr
    after = json.loads(output.read_text())
    check_library(after, probe.flavour)
    assert library in after["message_costs"]
    assert other in after["native_times"]
    for unchanged in ("hosts", "latency", "bandwidth", "sites"):
        assert after[unchanged] == before[unchanged]

    own = [host["name"] for host in before["hosts"]]
    before["sites"] = before["trunks"] = []
    rename_first(before, base, f"{own[0].upper()}.example.org")
    result = probe.run(*arguments)
    assert result.returncode == 0, result.stderr
    assert [host["name"] for host in json.loads(output.read_text())["hosts"]] == own

    rename_first(before, base, "elsewhere")
    result = probe.run(*arguments)
    assert result.returncode != 0
    assert "the hosts are not those of" in result.stderr, result.stderr
    result = probe.run(*arguments, "--events", "--hosts", "here,b,c", "--pairs", "0-1")
    errors = [json.loads(line) for line in result.stdout.splitlines() if '"error"' in line]
    expected = f"host here calls itself {own[0]}, not elsewhere"
    assert errors == [{"event": "error", "text": expected, "hosts": own}], errors


def rename_first(network: dict[str, Any], path: Path, name: str) -> None:
    network["hosts"][0]["name"] = name
    path.write_text(json.dumps(network))


def resumes(probe: Probe, folder: Path) -> None:
    """What is told of an interrupted probe isn't measured again, the rest is."""
    whole, resumed = interrupted(probe, probe, folder / "net.json.part")
    check_network(resumed, probe)
    different = differences(whole, resumed, same_clocks=not probe.own_clocks)
    assert not different, different


def interrupted(probe: Probe, later: Probe, journal: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The network of a probe, and that of a later one which resumes it before the collectives."""
    first = probe.events(budget=AMPLE)
    steps = [event for event in first if event["event"] == "step"]
    before = [json.dumps(step) for step in steps if "collectives" not in step["what"]]
    journal.write_text("\n".join(before) + '\n{"event": "st')
    again = later.events("--resume", str(journal), budget=AMPLE)
    repeated = {json.dumps(event) for event in again if event["event"] == "step"}
    assert not repeated & set(before)
    return json.loads(first[-1]["text"]), json.loads(again[-1]["text"])


def differences(
    whole: dict[str, Any], resumed: dict[str, Any], *, same_clocks: bool
) -> list[tuple[Any, Any]]:
    """What the two networks say differently."""
    same = ("hosts", "bandwidth", "sites", *(["latency"] if same_clocks else []))
    parts = [(resumed[part], whole[part]) for part in same]
    rows = zip(resumed["latency"]["matrix"], whole["latency"]["matrix"], strict=True)
    latencies = [pair for row, other in rows for pair in zip(row, other, strict=True)]
    return [(again, before) for again, before in parts if again != before] + [
        (again, before) for again, before in latencies if abs(again - before) > CLOCK_ERROR
    ]


def own_clocks(probe: Probe, folder: Path) -> None:
    """Clocks that differ are compared, also with those at the time of an interrupted probe."""
    if subprocess.run(["unshare", "--time", "true"], check=False, capture_output=True).returncode:
        print("this machine gives processes no clocks of their own")
        sys.exit(SKIPPED)
    probe = replace(probe, clock_step=1000)
    measure(probe, folder)
    adds_library(probe, folder)
    resumes(probe, folder)
    # With clocks that are behind the old ones an order by the old ones would begin minutes later.
    started_again = replace(probe, clock_step=500)
    _, resumed = interrupted(probe, started_again, folder / "net.json.part")
    check_network(resumed, started_again)


def same_machine(probe: Probe, folder: Path) -> None:
    """Two names of one machine are named, as the user wrote them."""
    result = probe.run("--hosts", "here,alias,third", "--output", str(folder / "net.json"))
    assert result.returncode != 0
    assert "here and alias are the same machine" in result.stderr, result.stderr
    assert not (folder / "net.json").exists()


def silent_rank(probe: Probe, folder: Path) -> None:
    """A rank that stops in the middle is named, and nothing hangs.

    In a message between two ranks it is named; in a collective those that wait for it are.
    """
    log = folder / "log"
    with log.open("w") as file:
        process = subprocess.Popen(
            launch.build(probe.flavour).command(
                probe.group("--one-machine", "--budget", "600s", "--patience", "2s")
            ),
            stdout=file, stderr=subprocess.STDOUT,
            env=launch.launcher_environment(probe.flavour),
        )  # fmt: skip
        while "latency" not in log.read_text() and process.poll() is None:
            time.sleep(0.01)
        victim = launch.rank_process(process.pid, 1, "thalweg-probe")
        os.kill(victim, signal.SIGSTOP)
        try:
            status = process.wait(timeout=60)
        finally:
            with_id = Path(f"/proc/{victim}")
            if with_id.exists():
                os.kill(victim, signal.SIGKILL)
            process.kill()
    text = log.read_text()
    assert status != 0, text
    waiting = {rank for rank in range(3) if f"rank {rank} on " in text}
    assert "#1 did not answer" in text or waiting == {0, 2}, text


def bad_argument(probe: Probe, folder: Path) -> None:
    result = probe.run("--budget", "soon", "--output", str(folder / "net.json"))
    assert result.returncode != 0
    assert "soon" in result.stderr, result.stderr


CASES = {
    "measure": measure,
    "adds-library": adds_library,
    "resumes": resumes,
    "own-clocks": own_clocks,
    "same-machine": same_machine,
    "silent-rank": silent_rank,
    "bad-argument": bad_argument,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flavour", choices=["openmpi", "mpich"])
    parser.add_argument("program")
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--preload", action="append", default=[])
    arguments = parser.parse_args()
    probe = Probe(arguments.flavour, arguments.program, arguments.ranks, arguments.preload)
    with tempfile.TemporaryDirectory() as folder:
        CASES[arguments.case](probe, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
