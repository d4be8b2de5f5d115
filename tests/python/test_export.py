"""Networks for other programs."""

import json
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from thalweg import export, network
from thalweg.cli import main
from thalweg.errors import UserError
from thalweg.network import Host, Network, Trunk

PING = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int size = atoi(argv[1]), rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char *data = calloc(size, 1);
  double begin = MPI_Wtime();
  if (rank < ranks / 2) MPI_Ssend(data, size, MPI_CHAR, rank + ranks / 2, 0, MPI_COMM_WORLD);
  else MPI_Recv(data, size, MPI_CHAR, rank - ranks / 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_SELF);
  if (rank >= ranks / 2) printf("%.9f\n", MPI_Wtime() - begin);
  MPI_Finalize();
}
"""
PLAIN = [
    "network/model:CM02", "network/latency-factor:1", "network/bandwidth-factor:1",
    "network/weight-S:0", "network/TCP-gamma:0", "network/crosstraffic:0", "smpi/host-speed:1Gf",
]  # fmt: skip


def four_hosts() -> Network:
    """Two hosts send to two others through a trunk that carries one and a half of them."""
    net = network.even_network(4, 1e-3, 2e7)
    net.hosts = [Host(name, 1e7, float("inf")) for name in ('a"', "b", "<c>", "d")]
    net.latency[0, 2] = 5e-2
    net.trunks = [Trunk("it", [0, 1], [2, 3], 1.5e7)]
    return net


def test_every_way_has_its_route() -> None:
    root = ET.fromstring("\n".join(export.simgrid(four_hosts())).split("\n", 2)[2])
    links = {link.attrib["id"]: link.attrib for link in root.iter("link")}
    routes = {
        (route.attrib["src"], route.attrib["dst"]): [part.attrib["id"] for part in route]
        for route in root.iter("route")
    }
    assert len(routes) == 12
    assert routes['a"', "<c>"] == ['a" egress', 'a" to <c>', "trunk 0 it"]
    assert routes["<c>", "b"] == ["<c> egress", "<c> to b"]
    assert {link for route in routes.values() for link in route} == set(links)
    assert links['a" to <c>']["latency"] == "0.05s"
    assert links['a" to <c>']["sharing_policy"] == "FATPIPE"
    assert links["trunk 0 it"] == {
        "id": "trunk 0 it", "bandwidth": "15000000.0Bps", "latency": "0s",
        "sharing_policy": "SHARED",
    }  # fmt: skip


def test_a_flow_goes_through_all_trunks_between_its_hosts() -> None:
    net = four_hosts()
    net.trunks = [
        Trunk("it", [0, 1], [2, 3], 1.5e7),
        Trunk("unlimited", [0], [3], float("inf")),
        Trunk("other", [1, 2], [3], 1e7),
    ]
    root = ET.fromstring("\n".join(export.simgrid(net)).split("\n", 2)[2])
    crossed = {
        (route.attrib["src"], route.attrib["dst"]): [
            part.attrib["id"] for part in route if part.attrib["id"].startswith("trunk")
        ]
        for route in root.iter("route")
    }
    assert {ends: trunks for ends, trunks in crossed.items() if trunks} == {
        ('a"', "<c>"): ["trunk 0 it"],
        ('a"', "d"): ["trunk 0 it"],
        ("b", "<c>"): ["trunk 0 it"],
        ("b", "d"): ["trunk 0 it", "trunk 2 other"],
        ("<c>", "d"): ["trunk 2 other"],
    }


def test_more_hosts_than_a_platform_has_routes_for_are_refused() -> None:
    hosts = [Host(f"h{at}", 1e8, 1e8) for at in range(export.MOST_HOSTS + 1)]
    one = np.ones((1, 1))
    net = Network.from_classes(hosts, [0] * len(hosts), 1e-4 * one, 1e8 * one)
    with pytest.raises(UserError, match="these are 2,049 hosts: export a network of at most 2,048"):
        next(export.simgrid(net))


def test_messages_from_host_to_host_share_its_rate() -> None:
    flows, messages = (list(export.simgrid(four_hosts(), of_messages=of)) for of in (False, True))
    differ = [(a, b) for a, b in zip(flows, messages, strict=True) if a != b]
    assert len(differ) == 12
    assert all(b == a.replace("FATPIPE", "SHARED") for a, b in differ)


@pytest.mark.skipif(not shutil.which("smpirun"), reason="SimGrid isn't installed")
def test_simgrid_sends_as_the_network_does(tmp_path: Path) -> None:
    net = four_hosts()
    net.latency[0, 2] = 1e-3  # or else SimGrid gives the flow of the shorter path more
    (tmp_path / "platform.xml").write_text("\n".join(export.simgrid(net)))
    (tmp_path / "ping.c").write_text(PING)
    (tmp_path / "hosts").write_text('a"\nb\n<c>\nd\n')
    subprocess.run(["smpicc", "ping.c", "-o", "ping"], cwd=tmp_path, check=True)
    size = 3_000_000
    done = subprocess.run(
        ["smpirun", "-np", "4", "-platform", "platform.xml", "-hostfile", "hosts"]
        + [f"--cfg={setting}" for setting in PLAIN]
        + ["./ping", str(size)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    times = [float(line) for line in done.stdout.split()]
    # Both share the trunk. That the receiver is ready is said first.
    assert times == pytest.approx([2 * 1e-3 + size / 7.5e6] * 2, rel=0.01)


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "platform.xml"
    assert main(["export", "two-sites", "-o", str(output), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(output), "format": "simgrid"}
    assert output.read_text().count("<route ") == 16 * 15
    assert main(["export", "two-sites", "-o", str(tmp_path / "no/it")]) == 2
    assert "no/it: there is no folder" in capsys.readouterr().err
