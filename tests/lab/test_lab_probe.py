"""The probe on the lab: what it measures against what the scenario imposes, and hosts that fail."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench import compare
from thalweg import network
from thalweg.lab import scenario, scenarios
from thalweg.lab.scenario import Scenario

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the lab needs root")

THALWEG = [sys.executable, "-m", "thalweg"]


@contextmanager
def lab(truth: Scenario, file: Path) -> Iterator[Scenario]:
    """A lab that is up while the block runs; `file` is where its scenario is written."""
    file.write_text(json.dumps(truth.document))
    subprocess.run([*THALWEG, "lab", "up", str(file)], check=True, timeout=60)
    try:
        yield truth
    finally:
        subprocess.run([*THALWEG, "lab", "down"], check=True, timeout=60)


IMPATIENT = [sys.executable, "-c", """
import sys
from functools import partial
from thalweg import cli, probe
probe.run = partial(probe.run, patience=5)
sys.exit(cli.main())
"""]  # fmt: skip
"""`thalweg` whose probe waits for a silent host for a quarter of the usual time."""


def probe(
    hosts: list[str], output: Path, flavour: str, *options: str, thalweg: list[str] = THALWEG
) -> list[str]:
    return [*THALWEG, "lab", "run", "--", *thalweg, "probe", "-H", ",".join(hosts),
            "--mpi", flavour, "-o", str(output), *options]  # fmt: skip


def names(truth: Scenario) -> list[str]:
    return [host.name for host in truth.hosts]


PROBES = 3
"""How often a network is probed at most. Hosts of the lab share two cores with all other work of
the machine, which makes some measurements wrong, and no counter tells which: a probe that is wrong
by itself is so each time."""


def probe_until(
    right: Callable[[], bool], truth: Scenario, output: Path, flavour: str, *options: str
) -> None:
    """Probes the lab's network until what is found is right, but not for ever."""
    for _ in range(PROBES):
        subprocess.run(probe(names(truth), output, flavour, *options), check=True, timeout=300)
        if right():
            return


def share_within(network: dict[str, Any], truth: Scenario, quantity: str, bar: float) -> float:
    """The share of directed pairs whose measured quantity is within `bar` of the scenario's."""
    measured = network[quantity]["matrix"]
    count = len(truth.hosts)
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    imposed = truth.latency if quantity == "latency" else truth.pair_rate
    good = [abs(float(measured[a][b]) / imposed(a, b) - 1) <= bar for a, b in pairs]
    return sum(good) / len(good)


@pytest.mark.parametrize(
    ("document", "flavour", "options"),
    # Eight ranks, since 16 on two cores delay each other by up to 0.1 ms. The time that calls take
    # is subtracted from a latency with an error of 10 to 40 us, which the dilation divides.
    [
        (scenarios.two_sites(4) | {"dilation": 12}, "openmpi", ["--budget", "4s"]),
        (scenarios.cloud(8), "mpich", []),
    ],
    ids=["two-sites", "cloud"],
)
def test_latency_and_bandwidth_agree_with_the_scenario(
    tmp_path: Path, document: scenarios.Document, flavour: str, options: list[str]
) -> None:
    output = tmp_path / "net.json"
    bar = 0.95

    def shares() -> list[float]:
        network = json.loads(output.read_text())
        return [share_within(network, truth, what, 0.10) for what in ("latency", "bandwidth")]

    with lab(scenario.parse(document), tmp_path / "lab.json") as truth:
        probe_until(lambda: min(shares()) >= bar, truth, output, flavour, *options)
    network = json.loads(output.read_text())
    assert [host["name"] for host in network["hosts"]] == names(truth)
    assert network["measured"]["clock"] == "shared"
    assert min(shares()) >= bar, shares()
    if "sites" in document["network"]:
        west = [host for host in names(truth) if host.startswith("west")]
        east = [host for host in names(truth) if host.startswith("east")]
        assert network["sites"] == [west, east]


def chain(sites: int, hosts: int) -> scenarios.Document:
    """Sites in a chain whose middle carries half of what one host sends."""
    names = [f"s{site}h{host}" for site in range(sites) for host in range(hosts)]
    hops = [[abs(a // hosts - b // hosts) for b in range(len(names))] for a in range(len(names))]
    half = len(names) // 2
    return {
        "schema": 1,
        "name": "chain",
        "dilation": 2,
        "network": {
            "schema": 1,
            "hosts": [{"name": n, "egress": "100Mbps", "ingress": "100Mbps"} for n in names],
            "latency": {"unit": "ms", "matrix": [[0.1 + 5 * hop for hop in row] for row in hops]},
            "bandwidth": {"unit": "Mbps", "matrix": [[100 for _ in row] for row in hops]},
            "trunks": [
                {"name": "right", "from": names[:half], "to": names[half:], "capacity": "50Mbps"},
                {"name": "left", "from": names[half:], "to": names[:half], "capacity": "50Mbps"},
            ],
        },
    }


def test_a_trunk_that_several_pairs_of_sites_share_is_one(tmp_path: Path) -> None:
    output = tmp_path / "net.json"

    def found() -> compare.Comparison:
        return compare.compare(network.read(output), truth)

    def right() -> bool:
        return (
            len(found().found) == 2
            and not found().missed
            and not found().false
            and all(abs(trunk.error) <= compare.TOLERANCE for trunk in found().found)
        )

    with lab(scenario.parse(chain(4, 2)), tmp_path / "lab.json") as truth:
        probe_until(right, truth, output, "openmpi")
    assert right(), found()


def test_hosts_that_fail_are_named(tmp_path: Path) -> None:
    output = tmp_path / "net.json"
    with lab(scenario.find("two-sites"), tmp_path / "lab.json") as truth:
        hosts = names(truth)
        unknown = complaint(probe([*hosts[:3], "west99"], output, "openmpi"))
        assert "host west99 can't be reached" in unknown
        silent = probe(hosts[:4], output, "openmpi", "--budget", "60s", thalweg=IMPATIENT)
        stopped = complaint_with_stopped_rank(silent, 2)
        assert f"{hosts[2]} did not answer" in stopped
    assert not output.exists()


def complaint(command: list[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 2, result.stderr
    return result.stderr


def complaint_with_stopped_rank(command: list[str], rank: int) -> str:
    """What the probe says when a rank stops in the middle."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while not (victim := process_of(rank)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert victim
        time.sleep(4)  # into the measurement; where exactly doesn't matter
        os.kill(victim, signal.SIGSTOP)
        said = process.communicate(timeout=120)[1]
    finally:
        process.kill()
    assert process.returncode == 2, said
    deadline = time.monotonic() + 10
    while Path(f"/proc/{victim}").exists():
        assert time.monotonic() < deadline, "the stopped rank was left behind"
        time.sleep(0.1)
    return said


def process_of(rank: int) -> int | None:
    """The probe's process of a world rank, on whatever host."""
    marks = {f"{name}={rank}".encode() for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK")}
    for entry in Path("/proc").iterdir():
        try:
            program = (entry / "cmdline").read_bytes().split(b"\0")[0]
            if b"thalweg-probe" in program and marks & set(
                (entry / "environ").read_bytes().split(b"\0")
            ):
                return int(entry.name)
        except OSError:
            continue
    return None
