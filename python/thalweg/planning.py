"""Plans for the ranks of a program: their placement, and the plan file.

`thalweg.preparation` imports this where ranks are on several hosts, and not before: most of the
library comes with it.
"""

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg import console, inputs, launch_files, past_runs, paths, planner, recording, wisdom
from thalweg.errors import UserError
from thalweg.files import is_file, write_file
from thalweg.hosts import Host
from thalweg.launch_order import ANOTHER_ORDER, takes_any_order
from thalweg.launcher import Launcher
from thalweg.network import Network
from thalweg.planner import PlanFile
from thalweg.plans import ESTIMATE, Setting

if TYPE_CHECKING:
    from thalweg.run_placement import PlacementChoice

# Modules that place ranks bring numpy with them, and are imported where there is something to place
# by: a program of which no run is recorded starts without waiting for them.

SHORT_PLANNING = 1.0
"""Seconds of planning that every run waits for."""


def choose(
    net: Network, listed: Sequence[Host], usual: Sequence[str], launcher: Launcher,
    program: Sequence[str], matrix: Path | None, *, bound: bool = False,
    quick: bool | None = None,
) -> "PlacementChoice | None":  # fmt: skip
    """Chooses a placement by an earlier run or the named matrix, and by what runs in others took,
    and says so. `bound`: whether ranks will be bound to cores; `quick`: as of make_plan(), for the
    same program.

    Raises UserError if a rank's host isn't in the network, or if the matrix that the user named
    can't be used.
    """
    inputs.placement(net, usual)
    if not takes_any_order(launcher.form):
        console.note(
            "the launcher's order stays: in a Slurm job this MPI library fills hosts in Slurm's "
            f"order; {ANOTHER_ORDER[launcher.form]}"
        )
        return None
    none_recorded = (
        f"no run of {program[0]} with such arguments on {len(usual)} ranks is recorded: the "
        "launcher's order stays"
    )
    if not matrix and not recording.of_program(program):
        console.note(none_recorded)
        return None
    from thalweg import past_placements, run_placement, run_placement_text

    in_blocks = launcher.form == "mpich-4" and any(host.slots > 1 for host in listed)
    began = time.monotonic()
    try:
        choice = run_placement.choose(net, listed, usual, program, matrix, in_blocks=in_blocks)
        if choice and not _can_be_told(launcher, net, listed, choice.chosen.hosts):
            choice = run_placement.choose(net, listed, usual, program, matrix, in_blocks=True)
    except UserError as error:
        if matrix:
            raise
        console.note(f"the launcher's order stays: {error}")
        return None
    if choice is None:
        console.note(none_recorded)
        return None

    def weighed(choice: "PlacementChoice", mapping_began: float) -> "PlacementChoice":
        spent = time.monotonic() - mapping_began
        if not choice.objection:
            spent += _more_planning(net, choice, launcher.flavour, program, quick)
        return run_placement.weigh(choice, program, spent)

    choice = weighed(choice, began)
    comparable = past_placements.ComparableRuns(program, len(usual), launcher.form, bound)
    choice = past_placements.prefer(choice, comparable, net, listed)
    # Mapped once more only to say what that costs: no part of the time above.
    if in_blocks and run_placement.may_cost_much(choice, net, listed, program):
        began = time.monotonic()
        free = weighed(run_placement.choose_unrestricted(choice, net, listed), began)
        choice = run_placement.restricted(choice, free)
    for line in run_placement_text.lines(choice):
        console.note(line)
    return choice


def _can_be_told(
    launcher: Launcher, net: Network, listed: Sequence[Host], placement: Sequence[str]
) -> bool:
    """Whether the launcher can be told the host of each rank, as the network has them."""
    known = list(dict.fromkeys(host.name for host in listed))
    listed_as = dict(zip(inputs.own_names(net, known), known, strict=True))
    try:
        launch_files.order(
            launcher.form, listed, [listed_as[host] for host in placement], Path("hosts")
        )
    except UserError:
        return False
    return True


def _more_planning(
    net: Network,
    choice: "PlacementChoice",
    flavour: str,
    program: Sequence[str],
    quick: bool | None,
) -> float:
    """Returns how much longer planning will take for the best placement than in the launcher's
    order, as far as it is known."""
    best, usual = (
        wisdom.seconds_of_table(_setting(net, placed.hosts, flavour, program, quick))
        for placed in (choice.best, choice.usual)
    )
    return max(0.0, best - usual)


def check_plan(path: Path, ranks: int, flavour: str) -> None:
    """Says so if the file has no plans for as many ranks, or is for another MPI library. Raises
    UserError if it is no plan file, damaged, or of another version."""
    if not is_file(path):
        raise UserError(f"plan {path}: no such file; make it with `thalweg plan`")
    try:
        plan = planner.from_bytes(path.read_bytes())
    except OSError as error:
        raise UserError(f"plan {path}: {error.strerror}") from None
    except UserError as error:
        raise UserError(f"plan {path}: {error}") from None
    if plan.library not in ("", flavour):
        console.note(
            f"plan {path} is for {plan.library}, but the run has {flavour}: what it takes for the "
            f"library's own times isn't this one's; `thalweg plan --mpi {flavour}` makes another"
        )
    known = [len(table.placement) for table in plan.tables]
    if known and ranks not in known:
        console.note(
            f"plan {path} is for {known[0]} ranks, but the run has {ranks}: world rank 0 makes "
            f"quick plans for them when it starts; `thalweg plan -n {ranks}` makes thorough ones"
        )


def make_plan(
    net: Network, names: Sequence[str], flavour: str, *, program: Sequence[str] = (),
    quick: bool | None = None,
) -> Path:  # fmt: skip
    """Returns the plan file for ranks on these hosts: remembered (thalweg.wisdom), or planned now.

    `quick`: whether plans are quick ones; if that isn't asked for, they are if thorough ones take
    longer to make than all recorded runs of the program did, which is said.
    The file is in the cache folder under a name made from its content, since world rank 0 may
    start on another host, and `thalweg env` leaves it for later.
    """
    setting = _setting(net, names, flavour, program, quick)
    if setting.search == ESTIMATE and quick is None:
        console.note(
            "quick plans: so far this program is recorded to have run for less time than thorough "
            "ones take to make; `--start full` makes them"
        )
    with console.progress(f"planning for {len(names)} ranks on {len(set(names))} hosts"):
        table = wisdom.table(setting)
    content = planner.to_bytes(PlanFile(net, flavour, [table]))
    path = paths.cache() / "plans" / f"{hashlib.sha256(content).hexdigest()[:16]}.plan"
    if not _has(path, content):  # A cache that can't be written is no reason not to start.
        paths.make_cache(path, f"plan {path}")
        write_file(path, f"plan {path}", content, paths.ANOTHER_CACHE)
        paths.drop_unused(path.parent)
    return path


def _has(path: Path, content: bytes) -> bool:
    """Whether the file has this content; then it counts as used."""
    try:
        found = path.read_bytes() == content
    except OSError:
        return False
    if found:
        paths.mark_used(path)
    return found


def _setting(
    net: Network, names: Sequence[str], flavour: str, program: Sequence[str], quick: bool | None
) -> Setting:
    setting = Setting(net, inputs.placement(net, names), flavour)
    is_quick = _takes_longer_than_runs(setting, program) if quick is None else quick
    return replace(setting, search=ESTIMATE) if is_quick else setting


def _takes_longer_than_runs(setting: Setting, program: Sequence[str]) -> bool:
    """Whether planning takes longer than all recorded runs of the program with the same arguments
    did together; no longer than SHORT_PLANNING is never too long. False without a program."""
    takes = wisdom.seconds_of_table(setting)
    if takes <= SHORT_PLANNING or not program:
        return False
    ran = 0.0
    for run in past_runs.same(program, len(setting.placement)):
        ran += (run.seconds or math.inf) * run.dilation
        if ran >= takes:  # No more records need be read.
            return False
    return True
