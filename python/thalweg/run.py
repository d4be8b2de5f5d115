"""`thalweg run` and `thalweg env`: an unmodified MPI program with the plans for its hosts.

What `run` does: finds the launcher that belongs to the program's MPI library; takes the network
of the hosts from the file that is given, or from the cache, or probes it; plans for the placement
that the launcher will produce; starts the launcher, with the runtime library preloaded into the
ranks only.
"""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from thalweg import __version__, console, hosts, inputs, launcher, paths, probe
from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.launcher import Launcher


@dataclass(frozen=True)
class Request:
    """What the user asked for, as far as all of run, env and probe know it."""

    ranks: int | None = None
    hosts: str | None = None
    hostfile: Path | None = None
    launcher: str | None = None
    mpi: str | None = None
    network: Path | None = None
    plan: Path | None = None


@dataclass(frozen=True)
class Preparation:
    """All that is decided before the launch."""

    launcher: Launcher
    hosts: Sequence[Host]
    ranks: int
    network: Path | None
    plan: Path | None

    def environment(
        self, *, trace: Path | None = None, summary: Path | None = None
    ) -> dict[str, str]:
        """What the ranks get, besides what they have anyway: nothing if nothing is to be done."""
        if not (self.plan or trace or os.environ.get("THALWEG_FORCE")):
            return {}
        library = str(paths.library(self.launcher.flavour))
        found = {"LD_PRELOAD": ":".join(filter(None, [library, os.environ.get("LD_PRELOAD", "")]))}
        if self.plan:
            found["THALWEG_PLAN"] = str(self.plan.absolute())
        if trace:
            found["THALWEG_TRACE"] = str(trace.absolute())
        if summary:
            found["THALWEG_SUMMARY"] = str(summary)
        return found


def choose_launcher(request: Request, program: Sequence[str] = ()) -> Launcher:
    """The launcher that the user named, or the program's, or the machine's.

    Raises UserError if there is none.
    """
    if request.launcher:
        return launcher.at(request.launcher)
    if request.mpi:
        return launcher.find(request.mpi)
    return launcher.of_program(program) if program else launcher.default()


def choose_hosts(request: Request, environment: Mapping[str, str] = os.environ) -> list[Host]:
    """The hosts that the user named, or those of the lab or the batch job we are in, or this one.

    Those of a batch job get as many slots as the ranks need.
    Raises UserError for a bad list.
    """
    if request.hosts and request.hostfile:
        raise UserError("both --hosts and --hostfile are given; leave out one")
    if request.hosts:
        return hosts.parse(request.hosts)
    if request.hostfile:
        return hosts.read(request.hostfile)
    names = ["localhost"]
    if file := environment.get("THALWEG_LAB_HOSTS"):
        names = [host.name for host in hosts.read(Path(file))]
    elif file := environment.get("PBS_NODEFILE"):
        names = list(dict.fromkeys(Path(file).read_text().split()))
    elif nodes := environment.get("SLURM_JOB_NODELIST"):
        names = [host.name for host in hosts.parse(nodes)]
    slots = -(-(request.ranks or 1) // len(names))
    return [Host(name, slots) for name in names]


def prepare(request: Request, program: Sequence[str] = ()) -> Preparation:
    """Chooses the launcher, the hosts, the network and the plan; probes and plans if need be.

    Raises UserError if anything that is needed is missing.
    """
    chosen = choose_launcher(request, program)
    listed = choose_hosts(request)
    ranks = request.ranks or sum(host.slots for host in listed)
    names = hosts.placement(listed, ranks)
    if request.plan:
        if not request.plan.is_file():
            raise UserError(f"plan {request.plan}: no such file; make it with `thalweg plan`")
        return Preparation(chosen, listed, ranks, request.network, request.plan)
    if len(set(names)) == 1:
        console.note(f"all ranks are on {names[0]}: nothing to plan, all collectives are native")
        return Preparation(chosen, listed, ranks, None, None)
    network = request.network or known_network([Host(n) for n in dict.fromkeys(names)], chosen)
    return Preparation(chosen, listed, ranks, network, make_plan(network, names, chosen.flavour))


# Network and plan ------------------------------------------------------------------------------


def known_network(listed: Sequence[Host], chosen: Launcher) -> Path:
    """The network of the hosts from the cache, measured first where it isn't there.

    The cache knows a network by its hosts and by the lab, if we are in one. One that was
    measured with another MPI library is completed by what this library adds.
    """
    names = sorted(host.name for host in listed)
    lab = [os.environ.get(name, "") for name in ("THALWEG_LAB", "THALWEG_LAB_DILATION")]
    path = paths.cache() / "networks" / f"{_digest([names, lab])}.json"
    if path.is_file():
        net = inputs.network(path)
        when = net.measured_at or "an unknown time"
        if chosen.flavour in net.message_costs:
            console.note(
                f"using the network measured at {when} ({path}; delete it to measure anew)"
            )
            return path
        console.note(f"adding {chosen.name} to the network measured at {when} ({path})")
        probe.run(listed, path, chosen, base=path)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        console.note(f"probing the network of {len(listed)} hosts into {path}")
        probe.run(listed, path, chosen)
    return path


def make_plan(network: Path, names: Sequence[str], flavour: str) -> Path:
    """The plan file for ranks on these hosts, from the cache or planned now."""
    from thalweg import plan_command

    core = hashlib.sha256(plan_command.core_file().read_bytes()).hexdigest()
    content = hashlib.sha256(_read(network)).hexdigest()
    path = paths.cache() / "plans" / f"{_digest([content, list(names), flavour, core])}.plan"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with console.progress(f"planning for {len(names)} ranks on {len(set(names))} hosts"):
            plan_command.write_table(network, names, flavour, path)
    return path


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps([__version__, data]).encode()).hexdigest()[:16]


# The commands ----------------------------------------------------------------------------------


def run(request: Request, program: Sequence[str], *, trace: Path | None, json: bool) -> int:
    """Runs the program; returns its exit status. The summary goes to standard error."""
    prepared = prepare(request, program)
    if trace:
        _make_folder(trace)
    with tempfile.TemporaryDirectory(prefix="thalweg-") as folder:
        summary_file = Path(folder) / "summary.json"
        variables = prepared.environment(trace=trace, summary=summary_file)
        command = prepared.launcher.command(prepared.ranks, prepared.hosts, variables, program)
        status = launch(command, output=sys.stderr if json else None)
        summary = read_summary(summary_file)
    if json:
        console.show_json(
            {"command": command, "status": status, "plan": _text(prepared.plan)}
            | {"network": _text(prepared.network), "summary": summary}
        )
    elif variables:
        console.note(summary_line(summary))
    return status


def environment(request: Request, *, trace: Path | None, json: bool) -> int:
    """Prints the launcher's options that do the same under a plain mpirun or mpiexec."""
    prepared = prepare(request)
    variables = prepared.environment(trace=trace)
    if json:
        console.show_json({"launcher": str(prepared.launcher.path), "environment": variables})
        return 0
    options = prepared.launcher.setting(variables)
    if spaced := [option for option in options if " " in option]:
        raise UserError(f"the shell would split '{spaced[0]}' at its spaces; use --json")
    print(" ".join(options))
    return 0


def launch(command: Sequence[str], output: TextIO | None = None) -> int:
    """Runs the launcher in the foreground, and passes on signals and its exit status.

    Its output goes to standard output unless `output` is given.
    """
    with subprocess.Popen(command, stdout=output) as process:
        forwarded = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        # The terminal sends Ctrl-C to the launcher itself.
        before = {
            number: signal.signal(number, lambda received, _: _forward(process, received))
            for number in forwarded
        }
        try:
            status = process.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _forward(process: "subprocess.Popen[bytes]", received: int) -> None:
    if received != signal.SIGINT or not os.isatty(0):
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(received)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"trace folder {path}: {error.strerror}") from None


def read_summary(file: Path) -> dict[str, Any] | None:
    """What world rank 0 left behind; None if it ran where we can't see, or not to its end."""
    try:
        found: dict[str, Any] = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return found


def summary_line(summary: dict[str, Any] | None) -> str:
    """Planned and native calls of each collective, and why they were native, in one line."""
    if summary is None:
        return (
            "no summary: world rank 0 ended early, or ran where its files can't be seen from here"
        )
    if reason := summary.get("everything_native"):
        return f"everything was native: {reason}"
    parts = [_counts(name, counts) for name, counts in summary["collectives"].items()]
    return "; ".join(parts) or "no collectives that Thalweg plans were called"


def _counts(name: str, counts: dict[str, Any]) -> str:
    """ "bcast: 12 planned, 3 native (single-host)"."""
    parts = []
    if planned := counts.get("planned", {}).get("calls", 0):
        parts.append(f"{planned} planned")
    native = {reason: count["calls"] for reason, count in counts.get("native", {}).items()}
    if total := sum(native.values()):
        parts.append(f"{total} native ({', '.join(sorted(native, key=lambda r: -native[r]))})")
    return f"{name}: {', '.join(parts)}"


def _text(path: Path | None) -> str | None:
    return str(path) if path else None
