"""`thalweg plan`: one plan, or the table of all plans that a run needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table as Drawing

import thalweg._core
from thalweg import console, inputs, planner, units
from thalweg.algorithms import Problem
from thalweg.collective import Collective, Kind, is_rooted, parse_kind
from thalweg.errors import UserError, user_errors
from thalweg.network import Network
from thalweg.planner import Entry, Explanation, Options, Plan, PlanFile, Table

TABLE_KINDS = (Kind.bcast, Kind.reduce, Kind.allreduce)
"""The collectives that the runtime plans."""


@dataclass(frozen=True)
class Question:
    """What a plan is asked for, as the user said it."""

    file: Path
    ranks: int | None
    hosts: str | None
    library: str | None

    def answerable(self) -> "Setting":
        """Reads the network, and decides what the user left open. Raises UserError."""
        net = inputs.network(self.file)
        if self.library and net.message_costs and self.library not in net.message_costs:
            known = ", ".join(net.message_costs)
            raise UserError(
                f"{self.file} was measured with {known}, not {self.library}; "
                f"add it with `thalweg probe --mpi {self.library} --base {self.file}`"
            )
        library = self.library or next(iter(net.message_costs), "")
        return Setting(net, inputs.ranks_on(net, self.ranks, self.hosts), library)


@dataclass(frozen=True)
class Setting:
    """Where a collective runs."""

    network: Network
    placement: list[int]
    library: str

    def explain(self, collective: str, size: str, root: int) -> Explanation:
        """Plans one collective, and says why. Raises UserError."""
        kind = parse_kind(collective)
        if root >= len(self.placement):
            raise UserError(f"root {root}: there are {len(self.placement)} ranks, from 0")
        with user_errors():
            wanted = Collective(
                kind, len(self.placement), root if is_rooted(kind) else 0, units.parse_size(size)
            )
            return planner.explain(
                Problem(wanted, self.network, self.placement), Options(library=self.library)
            )

    def host(self, rank: int) -> str:
        return self.network.hosts[self.placement[rank]].name


def core_file() -> Path:
    """The compiled core, which decides what is planned."""
    return Path(str(thalweg._core.__file__))


def plan_table(setting: Setting) -> Table:
    """All plans for a placement. Takes seconds."""
    with user_errors():
        return planner.make_table(
            setting.network, setting.placement, TABLE_KINDS, Options(library=setting.library)
        )


def write_table(network: Path, names: Sequence[str], flavour: str, output: Path) -> None:
    """Plans for ranks on these hosts and writes the plan file. Raises UserError."""
    net = inputs.network(network)
    setting = Setting(net, inputs.placement(net, names), flavour)
    write(setting, plan_table(setting), output)


def write(setting: Setting, table: Table, output: Path) -> None:
    """Writes a plan file, as a whole or not at all. Raises UserError."""
    temporary = output.with_name(output.name + ".part")
    try:
        temporary.write_bytes(planner.to_bytes(PlanFile(setting.network, setting.library, [table])))
        temporary.replace(output)
    except OSError as error:
        raise UserError(f"plan {output}: {error.strerror}") from None


# One plan --------------------------------------------------------------------------------------


def run_one(question: Question, collective: str, size: str, root: int, *, json: bool) -> int:
    setting = question.answerable()
    plan = setting.explain(collective, size, root).plan
    if json:
        console.show_json(
            {"collective": collective, "size": units.parse_size(size), "root": root}
            | {"ranks": len(setting.placement), "library": setting.library}
            | plan_json(plan)
        )
    else:
        console.show(plan.reason)
    return 0


def plan_json(plan: Plan) -> dict[str, Any]:
    return {
        "algorithm": plan.algorithm,
        "parameters": parameters_json(plan.parameters) if plan.algorithm != "native" else None,
        "window": plan.skeleton.window if plan.algorithm != "native" else None,
        "predicted": plan.predicted or None,
        "bound": plan.bound.time,
        "bound_reason": plan.bound.reason,
        "reason": plan.reason,
    }


def parameters_json(parameters: Any) -> dict[str, Any]:
    return {
        "segment_size": parameters.segment_size,
        "degree": parameters.degree,
        "senders": parameters.senders,
        "order": parameters.order.name,
    }


# The table -------------------------------------------------------------------------------------


def run_table(question: Question, output: Path | None, *, json: bool) -> int:
    setting = question.answerable()
    count = len(setting.placement)
    with console.progress(f"planning for {count} ranks"):
        table = plan_table(setting)
    if output:
        write(setting, table, output)
    if json:
        console.show_json(
            {"file": str(output) if output else None, "library": setting.library}
            | {"placement": [setting.host(rank) for rank in range(count)]}
            | {"entries": [_entry_json(entry) for entry in table.entries]}
        )
        return 0
    console.show(_draw(table))
    others = len({entry.root for entry in table.entries}) - 1
    if others > 0:
        console.show(f"[dim]and {others} more roots[/dim]")
    if output:
        console.show(f"written to {output}")
    return 0


def _draw(table: Table) -> Drawing:
    """The rows of rank 0 as the root."""
    drawing = Drawing(box=None, pad_edge=False)
    for heading in ("collective", "from size", "plan", "predicted", "bound"):
        drawing.add_column(heading)
    for entry in table.entries:
        if entry.root == 0:
            drawing.add_row(
                entry.kind.name,
                units.size_to_text(entry.min_size),
                _describe(entry),
                units.time_to_text(entry.predicted_ns / 1e9) if entry.predicted_ns else "-",
                units.time_to_text(entry.bound_ns / 1e9),
            )
    return drawing


def _describe(entry: Entry) -> str:
    if entry.native:
        return "native"
    size, window = entry.skeleton.segment_size, entry.skeleton.window
    parts = [f", {units.size_to_text(size)}"] if size else []
    parts += [f", window {window}"] if window else []
    return entry.skeleton.algorithm + "".join(parts)


def _entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "collective": entry.kind.name,
        "root": entry.root if is_rooted(entry.kind) else None,
        "min_size": entry.min_size,
        "algorithm": "native" if entry.native else entry.skeleton.algorithm,
        "segment_size": None if entry.native else entry.skeleton.segment_size,
        "window": None if entry.native else entry.skeleton.window,
        "predicted": entry.predicted_ns / 1e9 or None,
        "bound": entry.bound_ns / 1e9,
    }
