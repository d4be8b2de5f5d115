"""Prepares the launch of an MPI program: launcher, hosts, network and plan.

The network of the hosts comes from the file that is given, or from the cache, or is probed. The
plan is for the placement that the launcher will produce.
"""

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg import batch_job, console, hosts, launch_files, launch_order, launcher, paths, switches
from thalweg.caution import USUAL, Caution
from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.launch_files import Order
from thalweg.launcher import Launcher
from thalweg.printable import short

if TYPE_CHECKING:
    from thalweg.binding import Core
    from thalweg.run_placement import PlacementChoice

_OWN_WISHES = ("THALWEG_FORCE", "THALWEG_RECORD", "THALWEG_TRACE", "THALWEG_SUMMARY")
"""Variables by which users ask the runtime library for something that needs no plan."""
_HANDED_ON = (
    "THALWEG", "THALWEG_SETUP_TIMEOUT", "THALWEG_VERBOSE", "THALWEG_FORCE", "THALWEG_REPRODUCIBLE",
    "THALWEG_NONBLOCKING", "THALWEG_ONE_HOST", "THALWEG_ASSUME_HOSTS", "THALWEG_WINDOW",
    "THALWEG_TRACE", "THALWEG_EVENTS", "THALWEG_RECORD", "THALWEG_SUMMARY",
)  # fmt: skip
"""What users tell the runtime library themselves: not all launchers hand on their environment."""
_REPRODUCIBLE = "THALWEG_REPRODUCIBLE"
"""One of them, but a switch."""
_USUAL_PATIENCE, _SLOW_READING, _LONG_READING = 30, 2e6, 10
"""Seconds for which ranks wait for each other in MPI_Init by default; bytes per second that a busy
file system delivers; seconds of reading that the default doesn't leave room for."""


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
    caution: Caution = USUAL
    place: bool = False
    """Whether ranks may be placed otherwise than the launcher would."""
    matrix: Path | None = None
    bind: str | None = None
    """The inside of the hosts, if ranks are to be bound to cores."""
    started_by_user: bool = False
    """Whether the user starts the launcher, which then fills the hosts in its own order."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Set for the ranks, and for those that measure the network: it may depend on them."""


@dataclass(frozen=True)
class Preparation:
    """The decisions before the launch."""

    launcher: Launcher
    hosts: Sequence[Host]
    placement: Sequence[str]
    """The host of each rank."""
    network: Path | None
    plan: Path | None
    choice: "PlacementChoice | None" = None
    """The choice of a placement, if there was one to make."""
    known: Sequence[str] = ()
    """The hosts of the network in the cache, which the weather is kept for, as they call
    themselves."""
    cores: "Sequence[Core]" = ()
    """The core of each rank; none: the launcher binds ranks as it usually does."""
    is_off: bool = False
    """Whether the user has switched everything off."""
    seems_short: bool = False
    """Whether nothing is planned because the latest such run was short; this one may take longer,
    which only its record tells the next one."""

    @property
    def ranks(self) -> int:
        return len(self.placement)

    def order(self, file: Path) -> Order:
        """How the launcher is told the placement. `file` is its own file, if it needs one.

        Raises UserError if the launcher can't do it.
        """
        form, cores = self.launcher.form, self.cores
        return launch_files.order(form, self.hosts, self.placement, file, cores)

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
        """Additional environment of the ranks; empty if nothing is planned, recorded or traced, and
        the user's own environment asks for nothing of the kind.

        `events` is the most that each rank keeps, such as "64MB", or "all". With `race` plans race
        against native, unless the user's own THALWEG_RACE says otherwise. With `adapt` they follow
        the network, which needs races; without it they don't, whatever the user's environment says.
        """
        own_wish = switches.is_on(_REPRODUCIBLE) or any(map(os.environ.get, _OWN_WISHES))
        if not (self.plan or trace or record or own_wish):
            return {}
        library = str(paths.library(self.launcher.flavour))
        if " " in library or ":" in library:
            raise UserError(
                f"{library}: LD_PRELOAD takes no path with a space or a colon; install Thalweg in "
                "another folder"
            )
        found = {"LD_PRELOAD": ":".join(filter(None, [library, os.environ.get("LD_PRELOAD", "")]))}
        # Hydra takes the word after a name for its value, and an empty one is none.
        found |= {name: os.environ[name] for name in _HANDED_ON if os.environ.get(name)}
        if self.plan:
            found["THALWEG_PLAN"] = str(self.plan.absolute())
            # The others wait while world rank 0 reads it: of 4,096 hosts it has hundreds of MB.
            reading = self.plan.stat().st_size / _SLOW_READING
            if reading > _LONG_READING:
                patience = str(math.ceil(_USUAL_PATIENCE + reading))
                found.setdefault("THALWEG_SETUP_TIMEOUT", patience)
            found["THALWEG_RACE"] = (os.environ.get("THALWEG_RACE") or "1") if race else "0"
            found["THALWEG_ADAPT"] = "1" if race and adapt else "0"
            from thalweg import races

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


def for_ranks(settings: Sequence[str]) -> dict[str, str]:
    """Returns the variables of "NAME=VALUE", and of "NAME" as this environment has it.

    Raises UserError for a variable that isn't set, or that only Thalweg may set for ranks.
    """
    found: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
            raise UserError(f"-x '{short(setting)}': write NAME=VALUE, or NAME if it is set here")
        if name in ("LD_PRELOAD", "THALWEG") or name.startswith("THALWEG_"):
            raise UserError(
                f"-x {name}: Thalweg sets it for the ranks by itself; leave it out, or set it in "
                "the environment of `thalweg run`"
            )
        if not equals and name not in os.environ:
            raise UserError(f"-x {name}: isn't set in this environment; write {name}=VALUE")
        found[name] = value if equals else os.environ[name]
        if not found[name]:  # which Hydra takes for none
            raise UserError(f"-x {name}: not all launchers set empty variables; give it a value")
    return found


def choose_launcher(request: Request, program: Sequence[str] = ()) -> Launcher:
    """Returns the launcher that the user named, or the program's, or the machine's, which sets the
    user's variables for its ranks.

    Raises UserError if there is none, or if it isn't of the library that the user named, or this
    isn't the program's.
    """
    return replace(_launcher_of(request, program), variables=request.variables)


def _launcher_of(request: Request, program: Sequence[str]) -> Launcher:
    linked = launcher.flavour_of(program) if request.mpi and program else None
    if linked not in (request.mpi, None):
        raise UserError(
            f"--mpi {request.mpi}: {program[0]} is linked with another MPI library; leave out --mpi"
        )
    if request.launcher:
        named = launcher.at(request.launcher)
        if request.mpi not in (named.flavour, None):
            raise UserError(
                f"--launcher {request.launcher} is of {named.name}, not of --mpi {request.mpi}: "
                "leave out one"
            )
        return named
    if request.mpi and not linked:
        return launcher.find(request.mpi)
    return launcher.of_program(program) if program else launcher.default()


def choose_hosts(request: Request, environment: Mapping[str, str] = os.environ) -> list[Host]:
    """Returns the hosts that the user named, or those of this lab or batch job, or this one.

    Where the slots of this lab or batch job are fewer than the ranks, its hosts get more, in
    proportion and rounded up. Raises UserError for a bad list.
    """
    if request.hosts is not None and request.hostfile:
        raise UserError("both --hosts and --hostfile are given; leave out one")
    if request.hosts is not None:
        return hosts.parse(request.hosts)
    if request.hostfile:
        return hosts.read(request.hostfile)
    if file := environment.get("THALWEG_LAB_HOSTS"):
        listed = [Host(host.name) for host in hosts.read(Path(file))]
    else:
        listed = batch_job.listed(environment) or [Host("localhost")]
        if batch_job.is_unlisted(environment):
            console.note(
                "this is a Flux instance, whose hosts aren't known: this machine is taken alone; "
                f"{batch_job.FLUX_HOSTS}"
            )
    ranks, slots = request.ranks or 0, sum(host.slots for host in listed)
    if ranks <= slots:
        return listed
    if not slots:
        return [Host(host.name, -(-ranks // len(listed))) for host in listed]
    return [Host(host.name, -(-ranks * host.slots // slots)) for host in listed]


def choose_several(request: Request) -> list[Host]:
    """Returns choose_hosts(), but nothing if that is a single host that nobody named."""
    found = choose_hosts(request)
    is_named = request.hosts is not None or request.hostfile is not None
    return found if is_named or len({host.name for host in found}) > 1 else []


def prepare(request: Request, program: Sequence[str] = ()) -> Preparation:
    """Chooses the launcher, the hosts, the network and the plan, and cores if they are asked for;
    probes and plans if necessary.

    Raises UserError if something necessary is missing.
    """
    prepared = _prepare(request, program)
    if request.bind is None or prepared.is_off:
        return prepared
    from thalweg import run_placement

    alike = prepared.launcher.form not in launch_files.EACH_BY_ITSELF
    cores = run_placement.cores(
        program, prepared.placement, request.bind, request.matrix, alike=alike
    )
    return replace(prepared, cores=cores)


def _too_short_to_measure(
    request: Request, program: Sequence[str], ranks: int, listed: Sequence[Host]
) -> str:
    """Says so if the latest run with the same arguments took no longer than it takes to measure
    these hosts, which were never seen; else empty."""
    from thalweg import knowledge

    is_asked_for = request.network or request.matrix or request.caution.start == "full"
    if is_asked_for or request.started_by_user or not program or knowledge.is_known(listed):
        return ""
    from thalweg import past_runs
    from thalweg.units import time_to_text

    before = next(past_runs.same(program, ranks), None)
    took = before.seconds if before else None
    if took is None or took > knowledge.QUICK_START:
        return ""
    return (
        f"the latest such run took {time_to_text(took)}, and measuring the network of these hosts "
        f"takes about {time_to_text(knowledge.QUICK_START)}: all collectives are native; "
        "`--start full` measures it all the same"
    )


def _as_filled(launcher: Launcher, request: Request, listed: Sequence[Host]) -> list[Host]:
    """Returns hosts in the order in which the launcher fills them by itself.

    Raises UserError if it gives them other slots than are listed, or a host's not in one place.
    """
    hostfile = request.hostfile or hosts.file_of(request.hosts or "")
    if launcher.flavour == "openmpi" and hostfile:
        for name in hosts.without_slots(hostfile):
            raise UserError(
                f"hostfile {hostfile}: Open MPI gives {name} as many slots as it has "
                f"cores; write '{name} slots=1', or more"
            )
    if launcher.flavour == "mpich" and (named := hostfile or request.hosts):
        where = f"hostfile {hostfile}" if hostfile else "-H"
        again = hosts.scattered(named)
        for host in listed:
            if hosts.folded(host.name) in again:
                raise UserError(
                    f"{where}: {launcher.name} fills entries in their order, and {host.name} is "
                    f"listed again after others; list it once, as '{host.name}:{host.slots}'"
                )
    return launch_order.as_filled(launcher.form, listed)


def _prepare(request: Request, program: Sequence[str]) -> Preparation:
    chosen = choose_launcher(request, program)
    listed = choose_hosts(request)
    if request.started_by_user:
        listed = _as_filled(chosen, request, listed)
    elif not launch_order.takes_any_order(chosen.form):
        listed = launch_order.as_filled(chosen.form, listed)
    ranks = hosts.check_ranks(request.ranks or sum(host.slots for host in listed))
    names = hosts.placement(listed, ranks)
    if switches.is_off("THALWEG"):
        console.note("THALWEG is off: nothing is measured, planned, placed or recorded")
        return Preparation(chosen, listed, names, request.network, None, is_off=True)
    if request.plan:
        from thalweg import planning

        planning.check_plan(request.plan, ranks, chosen.flavour)
        return Preparation(chosen, listed, names, request.network, request.plan)
    if request.matrix:  # what can't be used is said before the network is probed
        from thalweg import run_placement

        if remark := run_placement.named(request.matrix, ranks).remark:
            console.note(remark)
    if len(set(names)) == 1:
        if request.network:  # which a typing mistake shouldn't wait to be noticed for
            from thalweg import inputs

            inputs.network(request.network)
        which = "but reproducible reductions " if switches.is_on(_REPRODUCIBLE) else ""
        console.note(
            f"all ranks are on {names[0]}: nothing to plan, all collectives {which}are native"
        )
        return Preparation(chosen, listed, names, None, None)
    return _on_several_hosts(request, program, chosen, listed, names)


def _on_several_hosts(
    request: Request,
    program: Sequence[str],
    chosen: Launcher,
    listed: Sequence[Host],
    names: Sequence[str],
) -> Preparation:
    """Chooses the network, the placement and the plan of ranks on several hosts: on those of
    `names` in the launcher's order."""
    from thalweg import inputs, knowledge, planning  # ranks on one host don't wait for numpy

    known = list(dict.fromkeys([host.name for host in listed] if request.place else names))
    different = [Host(name) for name in known]
    if said := _too_short_to_measure(request, program, len(names), different):
        console.note(said)
        return Preparation(chosen, listed, names, None, None, seems_short=True)
    if request.network:
        found = knowledge.given(request.network, different, chosen, request.caution)
    else:
        found = knowledge.network(different, chosen, request.caution)
    net = inputs.network(found)
    # Plans for a network that was measured quickly are no better for taking longer.
    is_full = request.caution.start == "full"
    quick = False if is_full else True if knowledge.is_quick(net) else None
    listed_as = dict(zip(inputs.own_names(net, known), known, strict=True))
    choice = None
    if request.place:
        choice = planning.choose(
            net, listed, names, chosen, program, request.matrix,
            bound=request.bind is not None, quick=quick,
        )  # fmt: skip
    if choice:
        names = [listed_as[host] for host in choice.chosen.hosts]
    plan = planning.make_plan(net, names, chosen.flavour, program=program, quick=quick)
    return Preparation(chosen, listed, names, found, plan, choice, list(listed_as))
