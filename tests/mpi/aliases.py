"""`thalweg run` on hosts that call themselves otherwise than ssh's configuration does.

aliases.py FLAVOUR: two names of this machine are the hosts, as in placed.py. The first run probes
them, by a program in place of the probe, which refuses two hosts on one machine; the second one
knows them; ranks are planned for, recorded and placed in both.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from launch import build, launcher_environment
from placed import AGENT, AGENTS

from thalweg import launcher, network, paths

OWN = {
    "paris": "n1.paris.example.org",
    "lyon": "n2.lyon.example.org",
    "me@lyon": "n2.lyon.example.org",
}
ALIASES = "case $host in paris) host=n1.paris.example.org;; *lyon) host=n2.lyon.example.org;; esac"
# In place of the probe: rank 0 waits for the other's name, and tells a network of both.
PROBE = """#!/bin/sh
cd "$(dirname "$0")"
hostname >new$$ && mv new$$ name${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ] || exit 0
while [ ! -f name1 ]; do sleep 0.1; done
sed "s/host0/$(cat name0)/g; s/host1/$(cat name1)/g" event
"""
# Open MPI takes no user's name.
HOSTS = {"openmpi": ["lyon", "paris"], "mpich": ["me@lyon", "paris"]}


def make_prefix(folder: Path, flavour: str) -> None:
    """Makes a THALWEG_PREFIX with the runtime and the program in place of the probe."""
    (folder / "thalweg/bin").mkdir(parents=True)
    (folder / "thalweg/lib").symlink_to(paths.library(flavour).parent)
    probe = folder / f"thalweg/bin/thalweg-probe-{flavour}"
    probe.write_text(PROBE)
    probe.chmod(0o755)
    net = network.even_network(2, 1e-3, 1e7)
    net.message_costs = {flavour: network.MessageCost()}
    event = {"event": "network", "text": network.to_json(net)}
    (folder / "thalweg/bin/event").write_text(json.dumps(event) + "\n")


def run(
    flavour: str, environment: Mapping[str, str], program: str, *options: str
) -> tuple[dict[str, Any], str]:
    """Returns what `thalweg run --json` says, and its notes."""
    listed = ",".join(f"{host}:2" for host in HOSTS[flavour])
    words = ["run", "-H", listed, "--verify", "off", "--json",
             "--launcher", str(build(flavour).launcher), *options]  # fmt: skip
    done = run_thalweg(environment, *words, "--", program, "--size", "32", "--tolerance", "1e-2")
    assert done.returncode == 0, done
    found: dict[str, Any] = json.loads(done.stdout)
    return found, " ".join(done.stderr.split())


def run_thalweg(environment: Mapping[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "thalweg", *words], env={**os.environ, **environment},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip


def check(found: Mapping[str, Any], names: Sequence[str]) -> None:
    """Ranks knew their hosts in the plan, and recorded them by the names that they call
    themselves."""
    summary = found["summary"]
    reasons = {reason for each in summary["collectives"].values() for reason in each["native"]}
    assert not summary["everything_native"] and reasons <= {"plan-native", "race"}, summary
    description = json.loads((Path(found["record"]) / "run.json").read_text())
    hosts = [description["hosts"][host] for host in description["placement"]]
    assert hosts == [OWN[name] for name in names], hosts


def main() -> None:
    flavour = sys.argv[1]
    program = str(paths.binary(f"sor-{flavour}"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        agent = folder / "agent"
        agent.write_text(AGENT.replace("host=$1; shift", f"host=$1; shift\n{ALIASES}"))
        agent.chmod(0o755)
        make_prefix(folder, flavour)
        environment = {
            **launcher_environment(flavour), **dict.fromkeys(AGENTS, str(agent)),
            "XDG_CACHE_HOME": str(folder / "cache"), "THALWEG_PREFIX": name,
            "THALWEG_WISDOM": str(folder / "wisdom"),
        }  # fmt: skip
        hosts = HOSTS[flavour]
        in_order = [host for host in hosts for _ in range(2)]
        first, said = run(flavour, environment, program)
        assert "measuring the network of 2 hosts" in said, said
        check(first, in_order)
        again, said = run(flavour, environment, program, "--no-placement")
        assert "using the network measured" in said, said
        assert again["network"] == first["network"]
        check(again, in_order)
        # Ranks 0 and 2 send most to each other, and so do ranks 1 and 3.
        matrix = folder / "halves.csv"
        matrix.write_text("from,to,messages,bytes\n0,2,1000,1e9\n1,3,1000,1e9\n")
        placed, said = run(flavour, environment, program, "--matrix", str(matrix))
        chosen = placed["placement"]["hosts"]
        in_blocks = launcher.at(str(build(flavour).launcher)).form == "mpich-4"
        assert placed["placement"]["moved"] or in_blocks, placed
        listed = {OWN[host]: host for host in hosts}
        check(placed, [listed[host] for host in chosen])
        assert "otherwise than it was told" not in (placed["outcome"] or ""), placed
        weather = run_thalweg(environment, "weather", "-H", ",".join(hosts), "--json")
        assert json.loads(weather.stdout)["hosts"] == sorted(OWN[host] for host in hosts), weather


if __name__ == "__main__":
    main()
