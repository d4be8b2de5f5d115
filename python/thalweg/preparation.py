"""Prepares the launch of an MPI program: launcher, hosts, network and plan.

The network of the hosts comes from the file that is given, or from the cache, or is probed. The
plan is for the placement that the launcher will produce.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg import (
    __version__,
    console,
    hosts,
    inputs,
    launch_files,
    launcher,
    paths,
    planner,
    probe,
    wisdom,
)
from thalweg.errors import UserError
from thalweg.files import check_output, read_text, write_file, writing
from thalweg.hosts import Host
from thalweg.launch_files import Order
from thalweg.launcher import Launcher
from thalweg.planner import PlanFile
from thalweg.plans import Setting

ANOTHER_CACHE = "make room, or set XDG_CACHE_HOME to a folder for networks and plans"
"""The remedy where nothing can be written in the cache folder."""


@dataclass(frozen=True)
class Request:
    """The user's request, in the part common to run, env and probe."""

    ranks: int | None = None
    hosts: str | None = None
    hostfile: Path | None = None
    launcher: str | None = None
    mpi: str | None = None
    network: Path | None = None
    plan: Path | None = None


@dataclass(frozen=True)
class Preparation:
    """The decisions before the launch."""

    launcher: Launcher
    hosts: Sequence[Host]
    placement: Sequence[str]
    """The host of each rank."""
    network: Path | None
    plan: Path | None

    @property
    def ranks(self) -> int:
        return len(self.placement)

    def order(self, file: Path) -> Order:
        """How the launcher is told the placement. `file` is its own file, if it needs one.

        Raises UserError if the launcher can't do it.
        """
        return launch_files.order(self.launcher.form, self.hosts, self.placement, file)

    def environment(
        self,
        *,
        trace: Path | None = None,
        summary: Path | None = None,
        record: Path | None = None,
        events: str | None = None,
    ) -> dict[str, str]:
        """Additional environment of the ranks; empty if nothing is planned, recorded or traced.

        `events` is the most that each rank keeps, such as "64MB", or "all".
        """
        if not (self.plan or trace or record or os.environ.get("THALWEG_FORCE")):
            return {}
        library = str(paths.library(self.launcher.flavour))
        found = {"LD_PRELOAD": ":".join(filter(None, [library, os.environ.get("LD_PRELOAD", "")]))}
        if self.plan:
            found["THALWEG_PLAN"] = str(self.plan.absolute())
        if trace:
            found["THALWEG_TRACE"] = str(trace.absolute())
        if record:
            found["THALWEG_RECORD"] = str(record.absolute())
        if events:
            found["THALWEG_EVENTS"] = events
        if summary:
            found["THALWEG_SUMMARY"] = str(summary)
        return found


def choose_launcher(request: Request, program: Sequence[str] = ()) -> Launcher:
    """Returns the launcher that the user named, or the program's, or the machine's.

    Raises UserError if there is none.
    """
    if request.launcher:
        return launcher.at(request.launcher)
    if request.mpi:
        return launcher.find(request.mpi)
    return launcher.of_program(program) if program else launcher.default()


def choose_hosts(request: Request, environment: Mapping[str, str] = os.environ) -> list[Host]:
    """Returns the hosts that the user named, or those of this lab or batch job, or this one.

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
        where = f"PBS_NODEFILE {file}"
        names = list(dict.fromkeys(read_text(file, where).split()))
        if not names:
            raise UserError(f"{where}: no hosts are listed; name them with --hosts")
    elif nodes := environment.get("SLURM_JOB_NODELIST"):
        names = [host.name for host in hosts.parse(nodes)]
    slots = -(-(request.ranks or 1) // len(names))
    return [Host(name, slots) for name in names]


def prepare(request: Request, program: Sequence[str] = ()) -> Preparation:
    """Chooses the launcher, the hosts, the network and the plan; probes and plans if necessary.

    Raises UserError if something necessary is missing.
    """
    chosen = choose_launcher(request, program)
    listed = choose_hosts(request)
    ranks = hosts.check_ranks(request.ranks or sum(host.slots for host in listed))
    names = hosts.placement(listed, ranks)
    if request.plan:
        check_plan(request.plan)
        return Preparation(chosen, listed, names, request.network, request.plan)
    if len(set(names)) == 1:
        console.note(f"all ranks are on {names[0]}: nothing to plan, all collectives are native")
        return Preparation(chosen, listed, names, None, None)
    network = request.network or known_network([Host(n) for n in dict.fromkeys(names)], chosen)
    return Preparation(chosen, listed, names, network, make_plan(network, names, chosen.flavour))


def check_plan(path: Path) -> None:
    """Raises UserError if the file is no plan file, damaged, or of another version."""
    if not path.is_file():
        raise UserError(f"plan {path}: no such file; make it with `thalweg plan`")
    try:
        planner.from_bytes(path.read_bytes())
    except OSError as error:
        raise UserError(f"plan {path}: {error.strerror}") from None
    except UserError as error:
        raise UserError(f"plan {path}: {error}") from None


# Network and plan ------------------------------------------------------------------------------


def known_network(listed: Sequence[Host], chosen: Launcher) -> Path:
    """Returns the network of the hosts from the cache, measured first if it isn't there.

    The cache finds a network by its hosts and by the lab, if we are in one. A network that was
    measured with another MPI library is completed for this one.
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
        _make_cache(path, "network")
        console.note(f"probing the network of {len(listed)} hosts into {path}")
        probe.run(listed, path, chosen)
    return path


def make_plan(network: Path, names: Sequence[str], flavour: str) -> Path:
    """Returns the plan file for ranks on these hosts: remembered (thalweg.wisdom), or planned now.

    It is in the cache folder under a name made from its content, since world rank 0 may start on
    another host, and `thalweg env` leaves it for later.
    """
    net = inputs.network(network)
    setting = Setting(net, inputs.placement(net, names), flavour)
    with console.progress(f"planning for {len(names)} ranks on {len(set(names))} hosts"):
        table = wisdom.table(setting)
    content = planner.to_bytes(PlanFile(net, flavour, [table]))
    path = paths.cache() / "plans" / f"{hashlib.sha256(content).hexdigest()[:16]}.plan"
    _make_cache(path, "plan")
    write_file(path, f"plan {path}", content, ANOTHER_CACHE)
    return path


def _make_cache(path: Path, name: str) -> None:
    """Makes the folder of a file in the cache. Raises UserError naming the file."""
    with writing(f"{name} {path}", ANOTHER_CACHE):
        path.parent.mkdir(parents=True, exist_ok=True)
    check_output(path, f"{name} {path}", ANOTHER_CACHE)


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps([__version__, data]).encode()).hexdigest()[:16]
