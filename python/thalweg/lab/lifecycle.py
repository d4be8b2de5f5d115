"""Brings the lab up and down, and removes the remains of a killed one."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from thalweg import paths, units
from thalweg.errors import UserError
from thalweg.files import locked, write_file, writing
from thalweg.lab import interfaces, launch, state, tcp
from thalweg.lab.control import Control
from thalweg.lab.scenario import Scenario
from thalweg.lab.state import Lab
from thalweg.signals import ended_by_signals

START_TIMEOUT = 30.0  # seconds
LONGEST_ROUND_TRIP = 60.0
"""Seconds, dilated: after 63 a kernel forgets a request to connect whose answer wasn't taken."""


def up(scenario: Scenario, dilation: float | None = None) -> Lab:
    """Starts a lab; it stays up until down().

    Raises UserError if one is running already, or naming what this machine lacks.
    """
    _require_machine()
    dilation = dilation or scenario.dilation
    _require_possible(scenario, dilation)
    settings = tcp.settings(scenario.document.get("tcp", {}), scenario.name)
    with ended_by_signals(), _alone():
        lab = state.running()
        if lab is not None and lab.record:
            raise UserError(f"the lab {lab.name} is running: end it with `thalweg lab down` first")
        if lab is not None:
            _end(lab)  # Who was bringing it up was killed: else this process would wait.
        clean()
        with writing(f"lab folder {state.ROOT / scenario.name}", f"make room in {state.ROOT}"):
            folder = _write_folder(scenario, dilation)
            switch = _start_switch(folder)
        try:
            control = _connect(folder, switch)
            with control, tcp.allowed(settings["congestion_control"]):
                control.ask("own")
                lab = Lab(scenario.name, folder)
                _set_up_hosts(lab, scenario, dilation, settings)
                _write_record(lab, dilation, settings, control)
                control.ask("ready")
        except BaseException:
            switch.kill()
            switch.wait()
            clean()
            raise
    return lab


def down() -> bool:
    """Ends the running lab with everything in it; returns whether there was one."""
    with _alone():
        lab = state.running()
        if lab is not None:
            _require_root()
            _end(lab)
        clean()
    return lab is not None


def _end(lab: Lab) -> None:
    """Ends a running lab with everything in it. Raises UserError if it doesn't end."""
    try:
        with Control(lab.folder, timeout=2) as control:
            control.ask("stop")
    except (OSError, UserError):
        pass
    if not _ended(2) and (process := state.switch_process()) is not None:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    if not _ended(5):
        process = state.switch_process()
        raise UserError(f"the lab {lab.name} does not end; kill its switch, process {process}")


def clean() -> None:
    """Removes the folders of ended labs. Everything else ends with the switch."""
    if state.running() is not None or not state.ROOT.is_dir():
        return
    for folder in state.ROOT.iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)


@contextmanager
def _alone() -> Iterator[None]:
    """Waits until no other process brings a lab up: it has a folder before it has a switch."""
    if os.geteuid() != 0:
        yield
        return
    state.ROOT.mkdir(parents=True, exist_ok=True)
    with locked(state.ROOT / "up"):
        yield


def _require_possible(scenario: Scenario, dilation: float) -> None:
    """Raises UserError naming what no lab can have."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}", scenario.name):
        raise UserError(f"the scenario's name {scenario.name!r} must be of letters, digits, . _ -")
    if len(scenario.hosts) > interfaces.MOST_HOSTS:
        raise UserError(f"a lab has at most {interfaces.MOST_HOSTS} hosts")
    for host in scenario.hosts:
        is_name = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", host.name)
        if not is_name or host.name == "localhost":
            raise UserError(
                f"host {host.name!r} of the scenario {scenario.name}: names of a lab's hosts must "
                "be of letters, digits, . _ -, and other than localhost"
            )
    latency = scenario.network.latency_among(range(len(scenario.hosts)))
    longest = float((latency + latency.T).max())
    if longest * dilation > LONGEST_ROUND_TRIP:
        raise UserError(
            f"a round trip of {units.time_to_text(longest)}, dilated {dilation:g} times, takes "
            f"{units.time_to_text(longest * dilation)}, in which TCP gives up connecting: a "
            f"dilation of at most {LONGEST_ROUND_TRIP / longest:.3g} is possible"
        )


def _require_root() -> None:
    if os.geteuid() != 0:
        raise UserError("the lab needs root: `sudo -s`, then `source .venv/bin/activate`")


def _require_machine() -> None:
    _require_root()
    if not Path("/dev/net/tun").exists():
        raise UserError(
            "there is no /dev/net/tun: load the module with `modprobe tun`, or in a container add "
            "--device /dev/net/tun --cap-add NET_ADMIN --cap-add SYS_ADMIN"
        )
    for tool in ("ip", "tc"):
        if shutil.which(tool) is None:
            raise UserError(f"{tool} is missing: install the package iproute2")


def _write_folder(scenario: Scenario, dilation: float) -> Path:
    folder = state.ROOT / scenario.name
    folder.mkdir(parents=True)
    names = [host.name for host in scenario.hosts]
    document = {**scenario.document, "name": scenario.name, "dilation": dilation}
    (folder / "scenario.json").write_text(json.dumps(document))
    changes = interfaces.changes(scenario, dilation)
    (folder / "changes.json").write_text(json.dumps(changes))
    (folder / "hosts.txt").write_text(interfaces.hosts_file(names))
    (folder / "hosts").mkdir()
    launch.write_host_files(folder, names)
    return folder


def _start_switch(folder: Path) -> subprocess.Popen[bytes]:
    program, scenario = paths.binary("thalweg-switch"), folder / "scenario.json"
    with (folder / "switch.log").open("wb") as log, state.marked_as_running(folder.name) as lock:
        return subprocess.Popen(
            [program, "--scenario", scenario, "--state", folder, "--lock", str(lock)],
            pass_fds=[lock],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
        )


def _connect(folder: Path, switch: subprocess.Popen[bytes]) -> Control:
    end = time.monotonic() + START_TIMEOUT
    while time.monotonic() < end:
        try:
            return Control(folder)
        except OSError:
            time.sleep(0.02)
        if switch.poll() is not None:
            raise UserError((folder / "switch.log").read_text().strip() or "the switch has died")
    raise UserError(f"the lab's switch did not start within {START_TIMEOUT:.0f} s")


def _set_up_hosts(lab: Lab, scenario: Scenario, dilation: float, settings: dict[str, str]) -> None:
    def set_up(host: int) -> None:
        script = interfaces.script(scenario, dilation, host, settings)
        name = scenario.hosts[host].name
        result = launch.run(lab, name, ["/bin/sh", "-c", script])
        if result.returncode != 0:
            raise UserError(f"host {name} could not be set up: {result.stderr.strip()}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(set_up, range(len(scenario.hosts))))


def _write_record(lab: Lab, dilation: float, settings: dict[str, str], control: Control) -> None:
    counters = control.ask("counters")
    seen = launch.run(lab, lab.hosts[0], ["/bin/sh", "-c", _read_back(settings)])
    record = {
        "name": lab.name,
        "dilation": dilation,
        "hosts": lab.hosts,
        "tcp": dict(zip(settings, seen.stdout.splitlines(), strict=True)),
        "mtu": tcp.MTU,
        "minimal_retransmission_timeout": tcp.MINIMAL_RETRANSMISSION_TIMEOUT * dilation,
        "own_cost": counters["own_cost"],
        "kernel": os.uname().release,
    }
    write_file(lab.folder / "state.json", f"lab {lab.name}", json.dumps(record, indent=2))


def _read_back(settings: Sequence[str] | dict[str, str]) -> str:
    return "; ".join(f"cat /proc/sys/net/ipv4/tcp_{key}" for key in settings)


def _ended(seconds: float) -> bool:
    end = time.monotonic() + seconds
    while state.running() is not None:
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
