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
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

    def environment(self, trace: Path | None = None) -> dict[str, str]:
        """What the ranks get, besides what they have anyway."""
        library = str(paths.library(self.launcher.flavour))
        found = {"LD_PRELOAD": ":".join(filter(None, [library, os.environ.get("LD_PRELOAD", "")]))}
        if self.plan:
            found["THALWEG_PLAN"] = str(self.plan.absolute())
        if trace:
            found["THALWEG_TRACE"] = str(trace.absolute())
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
    with _trace_folder(trace) as folder:
        command = prepared.launcher.command(
            prepared.ranks, prepared.hosts, prepared.environment(folder), program
        )
        status = launch(command)
        summary = read_summary(folder)
    if json:
        console.show_json(
            {"command": command, "status": status, "plan": _text(prepared.plan)}
            | {"network": _text(prepared.network), "summary": summary}
        )
    else:
        console.note(summary_line(summary))
    return status


def environment(request: Request, *, trace: Path | None, json: bool) -> int:
    """Prints the launcher's options that do the same under a plain mpirun or mpiexec."""
    prepared = prepare(request)
    variables = prepared.environment(trace)
    if json:
        console.show_json({"launcher": str(prepared.launcher.path), "environment": variables})
    else:
        print(" ".join(prepared.launcher.setting(variables)))
    return 0


def launch(command: Sequence[str]) -> int:
    """Runs the launcher in the foreground, and passes on signals and its exit status."""
    with subprocess.Popen(command) as process:
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


@contextlib.contextmanager
def _trace_folder(trace: Path | None) -> Iterator[Path]:
    if trace:
        try:
            trace.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"trace folder {trace}: {error.strerror}") from None
        yield trace
        return
    with tempfile.TemporaryDirectory(prefix="thalweg-") as folder:
        yield Path(folder)


def read_summary(folder: Path) -> dict[str, Any] | None:
    """What world rank 0 left behind; None if it ran where we can't see, or not to its end."""
    try:
        found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    except (OSError, ValueError):
        return None
    return found


def summary_line(summary: dict[str, Any] | None) -> str:
    """Planned and native calls, and why they were native, in one line."""
    if summary is None:
        return "no summary: rank 0 ran on a host whose files are not here, or ended early"
    return json.dumps(summary)


def _text(path: Path | None) -> str | None:
    return str(path) if path else None
