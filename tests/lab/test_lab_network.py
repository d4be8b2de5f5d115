"""The network is what the scenario says, by tools that are not ours; MPI crosses it."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from launch import environment_of_mpi4py

from bench import builds
from bench.builds import Build
from thalweg.lab import check, control, counters, launch, lifecycle, scenario, scenarios, validity
from thalweg.lab.state import Lab

SIZE = 2_000_000  # bytes: eight times what the longest path holds
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* data = malloc(SIZE);
  for (int i = 0; i < SIZE; ++i) data[i] = (char)(rank == 0 ? i % 113 : 0);
  MPI_Bcast(data, SIZE, MPI_BYTE, 0, MPI_COMM_WORLD);
  for (int i = 0; i < SIZE; ++i) wrong += data[i] != (char)(i % 113);
  int all;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("wrong: %d\\n", all);
  MPI_Finalize();
}
"""


def cloud() -> scenarios.Document:
    """Eight hosts of the cloud, with few of its trunks, each of which takes seconds to measure."""
    document = scenarios.cloud(8)
    document["network"]["trunks"] = document["network"]["trunks"][:2]
    return document


LABS = 3
"""How often a lab is brought up at most. It measures its own cost as it starts, and other work on
the machine can spoil that; a lab that is wrong by itself is so each time."""


@pytest.mark.usefixtures("own_lab")
@pytest.mark.parametrize("document", [scenarios.two_sites(), cloud()], ids=["two-sites", "cloud"])
def test_ping_and_iperf3_agree_with_the_scenario(
    document: scenarios.Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "IPERF_SECONDS", 2)
    monkeypatch.setattr(check, "SETTLE_SECONDS", 1)
    for _ in range(LABS):
        lab = lifecycle.up(scenario.parse(document))
        report = check._check(lab, every_pair=False)
        dropped = sum(counters.read().host_drops)
        wrong = [f"{f.what} {f.where} {f.error:+.1%}" for f in report.findings if not f.passed]
        if not wrong:
            break
        lifecycle.down()
    assert {finding.what for finding in report.findings} >= {"round trip", "rate"}
    assert wrong == []
    assert dropped == 0


@pytest.mark.parametrize("build", builds.available(), ids=lambda build: build.name)
def test_unmodified_mpi_crosses_the_switch(build: Build, two_sites: Lab, tmp_path: Path) -> None:
    source = tmp_path / "bcast.c"
    source.write_text(PROGRAM)
    compiler = f"mpicc.{build.flavour}"
    subprocess.run(
        [compiler, "-O2", "-w", f"-DSIZE={SIZE}", "-o", tmp_path / "bcast", source], check=True
    )
    passed = [f"{name}={value}" for name, value in build.environment.items()]
    before = counters.read()
    result = launch.run(
        two_sites, "west0",
        [str(build.launcher), "-n", "16", "env", *passed, str(tmp_path / "bcast")],
        launch.environment(two_sites), timeout=120,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "wrong: 0" in result.stdout
    delta = counters.read().since(before)
    must = 15 * SIZE
    assert must <= delta.bytes < 2 * must
    assert sum(delta.host_drops) == 0
    reasons = validity.judge(two_sites.scenario, delta, 60, must).reasons
    assert [reason for reason in reasons if "late" not in reason] == []


@pytest.mark.parametrize("build", builds.available(), ids=lambda build: build.name)
def test_python_programs_cross_the_switch(build: Build, two_sites: Lab, tmp_path: Path) -> None:
    """Python loads MPI for mpi4py alone: nobody else sees the library's symbols."""
    pytest.importorskip("mpi4py")
    settings = environment_of_mpi4py(build, tmp_path)
    program = "from mpi4py.MPI import COMM_WORLD as w; n = w.allreduce(1); w.rank or print(n)"
    result = launch.run(
        two_sites, "west0",
        [str(build.launcher), "-n", "3", "env", *(f"{n}={v}" for n, v in settings.items()),
         sys.executable, "-c", program],
        launch.environment(two_sites), timeout=120,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["3"]


def test_many_sockets_of_one_host_lose_nothing_locally(two_sites: Lab) -> None:
    pairs = [(0, b) for b in (1, 2, 3, 9, 10)]
    rates = check._iperf(two_sites, pairs)
    # The clients' seconds don't quite coincide, so the sum of their rates is only about the whole.
    assert sum(rates) == pytest.approx(12.5e6 * check.GOODPUT, rel=0.15)
    assert sum(counters.read().host_drops) == 0


def test_the_timeline_reaches_switch_and_hosts(write_scenario: Callable[..., Path]) -> None:
    changes = [
        {"at": "0.1s", "hosts": ["node0"], "egress": "20Mbps"},
        {"at": "0.1s", "from": ["node1"], "to": ["node2"], "latency": "20ms"},
    ]
    lab = lifecycle.up(scenario.read(write_scenario(timeline=changes)))
    ping = launch.run(lab, "node1", ["sh", "-c", "sleep 0.5; ping -c 3 -i 0.1 node2"]).stdout
    times = [float(each) for each in re.findall(r"time=([\d.]+)", ping)]
    assert min(times) == pytest.approx(2 * (20 + 0.1), rel=0.05)
    assert check._iperf(lab, [(0, 2)])[0] == pytest.approx(2.5e6 * check.GOODPUT, rel=0.05)
    classes = launch.run(lab, "node0", ["tc", "class", "show", "dev", "eth0"]).stdout
    assert "rate 10Mbit ceil 10Mbit" in classes


def test_the_timeline_is_moved_forward(write_scenario: Callable[..., Path]) -> None:
    changes = [
        {"at": "1000s", "from": ["node1"], "to": ["node2"], "latency": "20ms"},
        {"at": "1000s", "hosts": ["node0"], "egress": "20Mbps"},
        {"at": "2000s", "from": ["node1"], "to": ["node2"], "latency": "40ms"},
    ]
    lab = lifecycle.up(scenario.read(write_scenario(timeline=changes)))

    def least_ms() -> float:
        printed = launch.run(lab, "node1", ["ping", "-c", "3", "-i", "0.1", "node2"]).stdout
        return min(float(each) for each in re.findall(r"time=([\d.]+)", printed))

    with control.Control(lab.folder) as switch:
        for latency_ms in (20, 40):
            switch.advance()
            assert least_ms() == pytest.approx(2 * (latency_ms + 0.1), rel=0.05)
        assert "no change left" in switch.ask("advance")["error"]
    classes = launch.run(lab, "node0", ["tc", "class", "show", "dev", "eth0"]).stdout
    assert "rate 10Mbit ceil 10Mbit" in classes


def test_losses_are_imposed_and_counted(write_scenario: Callable[..., Path]) -> None:
    lab = lifecycle.up(scenario.read(write_scenario(loss=0.2, seed=3)))
    ping = launch.run(lab, "node1", ["ping", "-q", "-c", "200", "-i", "0.005", "-W", "1", "node2"])
    received = int(re.findall(r"(\d+) received", ping.stdout)[0])
    # Both directions must succeed, 0.64 of 200: the standard deviation is 7.
    assert 90 < received < 165
    assert counters.read().drops["lost"] == pytest.approx(200 - received, abs=1)
