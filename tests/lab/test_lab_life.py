"""Whatever dies, the next lab comes up, and nothing of the last one is left."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from thalweg.errors import UserError
from thalweg.lab import launch, lifecycle, scenario, state
from thalweg.lab.control import Control
from thalweg.lab.state import Lab

pytestmark = pytest.mark.usefixtures("own_lab")


def eventually(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def processes(name: str) -> set[int]:
    """Processes whose command line has this word."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_text().split("\0")
            except OSError:
                continue
            if any(name in word for word in words):
                found.add(int(entry.name))
    return found - {os.getpid()}


def start_sleeper(lab: Lab) -> None:
    subprocess.Popen(launch.command(lab, lab.hosts[3], ["sleep", "98765"]),
                     env={**os.environ, "THALWEG_LAB_STATE": str(lab.folder)},
                     stderr=subprocess.DEVNULL)  # fmt: skip
    eventually(lambda: len(processes("98765")) >= 2)


def nothing_left() -> bool:
    return not processes("98765") and not processes("thalweg-switch")


def test_down_ends_everything(two_sites: Lab) -> None:
    start_sleeper(two_sites)
    assert lifecycle.down()
    eventually(nothing_left)
    assert not two_sites.folder.exists()
    assert not lifecycle.down()


def test_a_killed_switch_takes_the_lab_along(two_sites: Lab) -> None:
    start_sleeper(two_sites)
    switch = state.switch_process()
    assert switch
    os.kill(switch, signal.SIGKILL)
    eventually(nothing_left)
    eventually(lambda: state.running() is None)
    assert lifecycle.up(scenario.find("even")).name == "even"
    assert not two_sites.folder.exists()


def test_a_dead_host_ends_the_lab(two_sites: Lab) -> None:
    inits = sorted(processes("thalweg-switch") - {state.switch_process()})
    assert len(inits) == 16
    os.kill(inits[5], signal.SIGKILL)
    eventually(lambda: state.running() is None)
    eventually(nothing_left)
    lifecycle.up(scenario.find("even"))


def test_a_lab_whose_up_was_killed_goes_away(tmp_path: Path) -> None:
    script = """
import os, signal
from thalweg.lab import lifecycle, scenario
lifecycle._write_record = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
lifecycle.up(scenario.find("even"))
"""
    result = subprocess.run([sys.executable, "-c", script], check=False, timeout=60)
    assert result.returncode == -signal.SIGKILL
    eventually(lambda: state.running() is None)
    eventually(nothing_left)
    lifecycle.up(scenario.find("even"))


def start_and_be_killed() -> None:
    """Leaves a lab whose `up` was killed before the switch knew of it."""
    script = """
import os, signal
from thalweg.lab import lifecycle, scenario
lifecycle._connect = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
lifecycle.up(scenario.find("even"))
"""
    result = subprocess.run([sys.executable, "-c", script], check=False, timeout=60)
    assert result.returncode == -signal.SIGKILL


def test_down_removes_what_an_up_left_that_was_killed_early() -> None:
    start_and_be_killed()
    lab = state.running()
    assert lab is not None and lab.name == "even"
    with pytest.raises(UserError, match=r"still being brought up.*`thalweg lab down` removes it"):
        state.require()
    assert lifecycle.down()
    eventually(nothing_left)
    assert not lab.folder.exists()


def test_up_removes_what_an_up_left_that_was_killed_early() -> None:
    start_and_be_killed()
    left = state.running()
    assert left is not None
    lab = lifecycle.up(scenario.find("even"))
    eventually(lambda: len(processes("thalweg-switch")) == 1 + len(lab.hosts))
    assert state.require() == lab


def test_a_stopped_switch_is_killed_by_down(two_sites: Lab) -> None:
    switch = state.switch_process()
    assert switch
    os.kill(switch, signal.SIGSTOP)
    assert lifecycle.down()
    eventually(nothing_left)


def test_a_client_that_goes_away_changes_nothing(two_sites: Lab) -> None:
    Control(two_sites.folder).close()
    with Control(two_sites.folder) as control:
        assert "error" in control.ask("dance")
    assert state.running() == two_sites


def test_a_client_that_comes_early_changes_nothing() -> None:
    """Only the client that brings the lab up ends it by going away before it is ready."""
    with ThreadPoolExecutor(1) as pool:
        lifecycle.down()
        up = pool.submit(lifecycle.up, scenario.find("even"))
        early = 0
        while not up.done():
            folder = state.ROOT / "even"
            if (folder / "hosts" / "node0").exists():
                with contextlib.suppress(OSError):
                    Control(folder).close()
                    early += not up.done()
            time.sleep(0.01)
        assert up.result() == state.running()
    assert early > 0


def test_what_the_machine_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UserError, match="needs root"):
        lifecycle.up(scenario.find("even"))


def test_a_latency_below_the_switch_is_refused() -> None:
    document = scenario.document("even")
    network = document["network"]
    network["latency"]["unit"] = "us"
    small = scenario.parse({**document, "name": "quick", "dilation": 1})
    with pytest.raises(UserError, match=r"from node0 to node1.*dilation of at least"):
        lifecycle.up(small)
    network["latency"]["matrix"] = [[0 for _ in network["hosts"]] for _ in network["hosts"]]
    with pytest.raises(UserError, match=r"from node0 to node1, 0.*latency of at least"):
        lifecycle.up(scenario.parse({**document, "name": "none"}))
    even = scenario.document("even")
    change = {"at": "9s", "from": ["node0"], "to": "all", "latency": "1us"}
    with pytest.raises(UserError, match=r"9s? on in the timeline.*dilation of at least"):
        lifecycle.up(scenario.parse({**even, "timeline": [change]}))
    assert state.running() is None


def test_what_no_lab_can_have_is_named() -> None:
    even = scenario.document("even")
    for name in ("rack 1", "..", "a/b", "localhost"):
        hosts = [{**host, "name": name} if at == 3 else host
                 for at, host in enumerate(even["network"]["hosts"])]  # fmt: skip
        document = {**even, "network": {**even["network"], "hosts": hosts}}
        with pytest.raises(UserError, match=f"host '{name}' of the scenario even: names of a lab"):
            lifecycle.up(scenario.parse(document))
    far = scenario.document("even")
    far["network"]["latency"] = {"unit": "ms", "matrix": [[100] * 16] * 16}
    with pytest.raises(UserError, match=r"200ms, dilated 1000 times.*at most 300 is possible"):
        lifecycle.up(scenario.parse({**far, "dilation": 1000}))
    assert state.running() is None
