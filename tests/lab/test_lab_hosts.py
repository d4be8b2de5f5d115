"""Hosts look like separate machines, and commands in them like commands."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from thalweg.errors import UserError
from thalweg.lab import counters, launch, lifecycle, scenario, state
from thalweg.lab.state import Lab

THALWEG_LAB = [sys.executable, "-m", "thalweg", "lab"]


def thalweg_lab(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*THALWEG_LAB, *words], input=stdin, capture_output=True, text=True, timeout=60, check=False
    )


def shell(lab: Lab, host: str, script: str) -> str:
    result = launch.run(lab, host, ["sh", "-c", script], timeout=30)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_hosts_are_separate_machines(two_sites: Lab) -> None:
    for host in ("west0", "east7"):
        assert shell(two_sites, host, "hostname") == host
    for what in ("readlink /proc/self/ns/" + each for each in ("net", "uts", "ipc", "pid", "mnt")):
        assert shell(two_sites, "west0", what) != shell(two_sites, "west1", what)
    boot = "cat /proc/sys/kernel/random/boot_id"
    assert shell(two_sites, "west0", boot) != shell(two_sites, "west1", boot)
    for folder in ("/dev/shm", "/var/tmp"):
        shell(two_sites, "west0", f"touch {folder}/here")
        assert shell(two_sites, "west1", f"ls {folder}") == ""
        assert not (Path(folder) / "here").exists()
    assert shell(two_sites, "west0", "ls /sys/class/net | sort") == "eth0\nlo"
    assert shell(two_sites, "west3", "getent hosts east2").split()[0] == "10.84.0.11"
    assert "thalweg-switch" in shell(two_sites, "west3", "cat /proc/1/cmdline")
    assert int(shell(two_sites, "west3", "ls -d /proc/[0-9]* | wc -l")) < 9


def test_files_are_shared(two_sites: Lab, tmp_path: Path) -> None:
    shell(two_sites, "west0", f"echo hello > {tmp_path}/file")
    assert shell(two_sites, "east0", f"cat {tmp_path}/file") == "hello"


def test_tcp_is_pinned_and_recorded(two_sites: Lab) -> None:
    record = two_sites.record
    assert record["tcp"]["congestion_control"] in ("cubic", "reno")
    assert record["tcp"]["no_metrics_save"] == "1"
    for host in two_sites.hosts:
        path = "/proc/sys/net/ipv4/tcp_congestion_control"
        assert shell(two_sites, host, f"cat {path}") == record["tcp"]["congestion_control"]
        assert "mtu 9000" in shell(two_sites, host, "ip link show eth0")
    assert json.loads(thalweg_lab("status", "--json").stdout)["tcp"] == record["tcp"]


@pytest.mark.usefixtures("own_lab")
def test_the_machine_is_left_as_it_was() -> None:
    allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
    before = allowed.read_text()
    lifecycle.up(scenario.find("even"))
    assert allowed.read_text() == before


def test_commands_pass_streams_status_folder_and_environment(
    two_sites: Lab, tmp_path: Path
) -> None:
    assert thalweg_lab("run", "--", "sh", "-c", "exit 7").returncode == 7
    assert thalweg_lab("run", "--", "sh", "-c", "kill -9 $$").returncode == 137
    assert thalweg_lab("run", "--host", "east1", "--", "cat", stdin="text").stdout == "text"
    assert thalweg_lab("run", "--", "sh", "-c", "echo no >&2").stderr == "no\n"
    result = subprocess.run(
        [*THALWEG_LAB, "run", "--", "sh", "-c", "pwd; echo $COLOUR $TMPDIR $THALWEG_LAB_DILATION"],
        cwd=tmp_path, env={**os.environ, "COLOUR": "blue"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert result.stdout == f"{tmp_path}\nblue /var/tmp 4\n"
    missing = thalweg_lab("run", "--", "no-such-program")
    assert missing.returncode == 127
    assert "no-such-program" in missing.stderr


def test_a_signal_reaches_the_command(two_sites: Lab, tmp_path: Path) -> None:
    script = f"trap 'echo caught > {tmp_path}/signal; exit 3' TERM; echo ready; sleep 30 & wait"
    command = subprocess.Popen(
        [*THALWEG_LAB, "run", "--", "sh", "-c", script], stdout=subprocess.PIPE
    )
    assert command.stdout
    assert command.stdout.readline() == b"ready\n"
    command.terminate()
    assert command.wait(10) == 3
    assert (tmp_path / "signal").read_text() == "caught\n"


def test_commands_ignore_no_signals(two_sites: Lab) -> None:
    """The switch ignores SIGPIPE, and who started it maybe others."""
    line = thalweg_lab("run", "--", "grep", "SigIgn", "/proc/self/status").stdout
    assert int(line.split()[1], 16) == 0


def test_the_agent_stands_in_for_ssh(two_sites: Lab) -> None:
    agent = launch.agent()
    script = (
        f"SECRET=1 {agent} -x -o Some=Thing east4 'hostname; echo' '\"$SECRET\"' $((1+1)) '; pwd'"
    )
    result = subprocess.run(
        [*THALWEG_LAB, "run", "--", "sh", "-c", script], capture_output=True, text=True, check=True
    )
    host, text, folder = result.stdout.splitlines()
    assert (host, text) == ("east4", " 2"), "the environment stays behind, as with ssh"
    assert folder == str(Path.home())
    unknown = thalweg_lab("run", "--", agent, "north0", "true")
    assert unknown.returncode == 255
    assert "no host north0" in unknown.stderr


def test_mistakes_are_named(two_sites: Lab) -> None:
    with pytest.raises(UserError, match="has no host 'north0'"):
        launch.command(two_sites, "north0", ["true"])
    second = thalweg_lab("up", "even")
    assert second.returncode != 0
    assert re.search(r"the lab two-sites is running.*thalweg lab down", second.stderr)
    assert state.running() == two_sites
    lifecycle.down()
    assert "thalweg lab up" in thalweg_lab("run", "--", "true").stderr
    assert thalweg_lab("status").returncode == 1


def test_frames_are_counted_where_they_go(two_sites: Lab) -> None:
    before = counters.read()
    shell(two_sites, "west2", "ping -q -c 10 -i 0.01 -s 972 east5")
    delta = counters.read().since(before)
    assert delta.pair_bytes[2][13] == delta.pair_bytes[13][2] == 10 * (972 + 8 + 20 + 14)
    assert delta.bytes == 2 * delta.pair_bytes[2][13]
    assert sum(delta.drops.values()) == sum(delta.host_drops) == 0
