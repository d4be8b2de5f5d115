"""Prepares the launch of an MPI program: launcher, hosts, network and plan.

The network of the hosts comes from the file that is given, or from the cache, or is probed. The
plan is for the placement that the launcher will produce.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from thalweg import (
    console,
    hosts,
    inputs,
    knowledge,
    launch_files,
    launcher,
    paths,
    planner,
    probe,
    races,
    run_placement,
    wisdom,
)
from thalweg.errors import UserError
from thalweg.files import check_output, read_text, write_file, writing
from thalweg.hosts import Host
from thalweg.knowledge import Caution, Known
from thalweg.launch_files import Order
from thalweg.launcher import Launcher
from thalweg.network import Network
from thalweg.planner import PlanFile
from thalweg.plans import NORMAL, Search, Setting
from thalweg.run_placement import Choice

ESTIMATE = Search(effort="estimate")
"""For networks that were measured quickly: a program shouldn't wait for its plans."""


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
    caution: Caution = knowledge.USUAL
    place: bool = False
    """Whether ranks may be placed otherwise than the launcher would."""
    matrix: Path | None = None


@dataclass(frozen=True)
class Preparation:
    """The decisions before the launch."""

    launcher: Launcher
    hosts: Sequence[Host]
    placement: Sequence[str]
    """The host of each rank."""
    network: Path | None
    plan: Path | None
    choice: Choice | None = None
    """The choice of a placement, if there was one to make."""
    known: Sequence[str] = ()
    """The hosts of the network in the cache, which the weather is kept for."""

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
        race: bool = True,
        adapt: bool = False,
    ) -> dict[str, str]:
        """Additional environment of the ranks; empty if nothing is planned, recorded or traced.

        `events` is the most that each rank keeps, such as "64MB", or "all". With `race` plans race
        against native, unless the user's own THALWEG_RACE says otherwise. With `adapt` they follow
        the network, which needs races.
        """
        if not (self.plan or trace or record or os.environ.get("THALWEG_FORCE")):
            return {}
        library = str(paths.library(self.launcher.flavour))
        found = {"LD_PRELOAD": ":".join(filter(None, [library, os.environ.get("LD_PRELOAD", "")]))}
        if self.plan:
            found["THALWEG_PLAN"] = str(self.plan.absolute())
            found["THALWEG_RACE"] = os.environ.get("THALWEG_RACE", "1") if race else "0"
            if race and adapt:
                found["THALWEG_ADAPT"] = os.environ.get("THALWEG_ADAPT", "1")
            if raced := races.recall(self.plan):
                found["THALWEG_RACED"] = raced
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
    known = list(dict.fromkeys([host.name for host in listed] if request.place else names))
    different = [Host(name) for name in known]
    if request.network:
        knowledge.check(request.network, different, chosen, request.caution)
        found = Known(request.network)
    else:
        found = knowledge.network(different, chosen, request.caution)
    net = inputs.network(found.network)
    choice = _choose(request, net, listed, names, chosen, program)
    names = list(choice.chosen.hosts) if choice else names
    plan = make_plan(net, names, chosen.flavour, ESTIMATE if found.quick else NORMAL)
    return Preparation(chosen, listed, names, found.network, plan, choice, known)


def _choose(
    request: Request, net: Network, listed: Sequence[Host], usual: Sequence[str],
    chosen: Launcher, program: Sequence[str],
) -> Choice | None:  # fmt: skip
    """Chooses a placement if the request allows it, and says so.

    Raises UserError if the matrix that the user named can't be used.
    """
    if not request.place:
        return None
    try:
        choice = run_placement.choose(
            net, listed, usual, program, request.matrix,
            in_blocks=chosen.form == "mpich-4", dilation=probe.lab_dilation(),
        )  # fmt: skip
    except UserError as error:
        if request.matrix:
            raise
        console.note(f"the launcher's order stays: {error}")
        return None
    if choice is None:
        console.note(
            f"no run of {program[0]} with such arguments on {len(usual)} ranks is recorded: the "
            "launcher's order stays"
        )
        return None
    for line in run_placement.lines(choice):
        console.note(line)
    return choice


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


# The plan --------------------------------------------------------------------------------------


def make_plan(net: Network, names: Sequence[str], flavour: str, search: Search = NORMAL) -> Path:
    """Returns the plan file for ranks on these hosts: remembered (thalweg.wisdom), or planned now.

    It is in the cache folder under a name made from its content, since world rank 0 may start on
    another host, and `thalweg env` leaves it for later.
    """
    setting = Setting(net, inputs.placement(net, names), flavour, search)
    with console.progress(f"planning for {len(names)} ranks on {len(set(names))} hosts"):
        table = wisdom.table(setting)
    content = planner.to_bytes(PlanFile(net, flavour, [table]))
    path = paths.cache() / "plans" / f"{hashlib.sha256(content).hexdigest()[:16]}.plan"
    _make_cache(path, "plan")
    write_file(path, f"plan {path}", content, paths.ANOTHER_CACHE)
    return path


def _make_cache(path: Path, name: str) -> None:
    """Makes the folder of a file in the cache. Raises UserError naming the file."""
    with writing(f"{name} {path}", paths.ANOTHER_CACHE):
        path.parent.mkdir(parents=True, exist_ok=True)
    check_output(path, f"{name} {path}", paths.ANOTHER_CACHE)
