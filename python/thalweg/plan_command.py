"""`thalweg plan`: one plan, or the table of all plans that a run needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table as Drawing

import thalweg._core
from thalweg import console, inputs, operations, planner, plans, schedule, trees, units, wisdom
from thalweg.collective import Kind, is_rooted, parse_kind
from thalweg.errors import UserError
from thalweg.planner import Entry, Table
from thalweg.plans import NORMAL, Plan, Search, Setting

TABLE_KINDS = tuple(Kind)
"""The collectives that the runtime plans."""


@dataclass(frozen=True)
class Question:
    """What a plan is asked for, as the user said it."""

    file: Path
    ranks: int | None
    hosts: str | None
    library: str | None
    search: Search = NORMAL
    remember: bool = True
    """Whether wisdom answers what was planned before, and keeps what is planned now."""

    def answerable(self) -> Setting:
        """Reads the network, and decides what the user left open. Raises UserError."""
        net = inputs.network(self.file)
        library = plans.known_library(net, self.library, str(self.file))
        return Setting(net, inputs.ranks_on(net, self.ranks, self.hosts), library, self.search)


@dataclass(frozen=True)
class Outputs:
    """The files that a plan is written to, of those that the user named."""

    plan: Path | None = None
    """A plan file."""
    drawing: Path | None = None
    """A picture, .svg or .png."""
    schedule: Path | None = None
    """A schedule file."""
    tree: Path | None = None
    """A tree file."""

    def write(self, plan: Plan) -> list[str]:
        """Writes them; returns what was written. Raises UserError."""
        if self.drawing:
            plan.draw(self.drawing)
        if self.schedule:
            schedule.write(self.schedule, plan.collective, plan.schedule)
        if self.tree:
            trees.write(self.tree, plan.skeleton)
        if self.plan:
            plan.save(self.plan)
        return self.written()

    def written(self) -> list[str]:
        files = (self.drawing, self.schedule, self.tree, self.plan)
        return [str(path) for path in files if path]


def core_file() -> Path:
    """The compiled core, which decides what is planned."""
    return Path(str(thalweg._core.__file__))


def write_table(network: Path, names: Sequence[str], flavour: str, output: Path) -> None:
    """Plans for ranks on these hosts and writes the plan file. Raises UserError."""
    net = inputs.network(network)
    setting = Setting(net, inputs.placement(net, names), flavour)
    plans.write_table(output, net, flavour, wisdom.table(setting, TABLE_KINDS))


# One plan --------------------------------------------------------------------------------------


def run_one(
    question: Question,
    collective: str,
    size: str,
    root: int,
    outputs: Outputs,
    tree: Path | None = None,
    *,
    json: bool,
) -> int:
    """`tree` is a tree file: its tree instead of what is best."""
    setting = question.answerable()
    operation = operations.make(collective, size, root)
    by_hand = trees.read(tree, setting.network, setting.placement) if tree else None
    with console.progress(f"planning {collective} of {size}"):
        if question.remember and by_hand is None:
            plan = wisdom.plan(setting, operation)
        else:
            plan = setting.plan(operation, tree=by_hand)
    files = outputs.write(plan)
    if json:
        console.show_json(asked_json(plan) | plan_json(plan) | {"files": files})
        return 0
    console.show(plan.reason, *(f"written to {file}" for file in files))
    return 0


def run_schedules(
    question: Question,
    files: Sequence[Path],
    collective: str | None,
    outputs: Outputs,
    *,
    json: bool,
) -> int:
    """Plans of schedules that were made elsewhere: verified, predicted, written to a plan file."""
    setting = question.answerable()
    found = [_given(setting, file, collective) for file in files]
    if len(found) > 1 and (outputs.drawing or outputs.schedule):
        raise UserError("--draw and --export are for one plan: give --schedule once")
    written = outputs.written()
    if len(found) == 1:
        outputs.write(found[0])
    elif outputs.plan:
        plans.save(outputs.plan, found)
    if json:
        each = [asked_json(plan) | plan_json(plan) for plan in found]
        console.show_json({"plans": each, "files": written})
        return 0
    console.show(*(f"{plan.collective.kind.name}: {plan.reason}" for plan in found))
    console.show(*(f"written to {file}" for file in written))
    return 0


def _given(setting: Setting, file: Path, collective: str | None) -> Plan:
    """The plan of a schedule file. Raises UserError."""
    wanted, given = schedule.read(file)
    if collective and wanted.kind.name != collective:
        raise UserError(f"schedule {file} is of a {wanted.kind.name}, not of a {collective}")
    if wanted.ranks != len(setting.placement):
        raise UserError(
            f"schedule {file} is for {wanted.ranks} ranks, but the hosts have "
            f"{len(setting.placement)}: say -n {wanted.ranks}, or name other hosts"
        )
    try:
        return setting.plan(operations.Exact(wanted), schedule=given)
    except UserError as error:
        raise UserError(f"schedule {file}: {error}") from None


def asked_json(plan: Plan) -> dict[str, Any]:
    """What was asked for."""
    collective = plan.collective
    asked: dict[str, Any] = {
        "collective": collective.kind.name,
        "size": collective.size,
        "root": collective.root,
        "ranks": collective.ranks,
        "library": plan.options.library,
    }
    return asked | ({"block_sizes": collective.block_sizes} if collective.block_sizes else {})


def plan_json(plan: Plan) -> dict[str, Any]:
    return {
        "algorithm": plan.algorithm,
        "parameters": None if plan.is_native else parameters_json(plan.parameters),
        "window": None if plan.is_native else plan.skeleton.window,
        "predicted": plan.predicted or None,
        "bound": plan.bound,
        "bound_reason": plan.bound_reason,
        "reason": plan.reason,
    }


def parameters_json(parameters: Any) -> dict[str, Any]:
    return {
        "segment_size": parameters.segment_size,
        "degree": parameters.degree,
        "senders": parameters.senders,
        "order": parameters.order.name,
        "base": parameters.base,
        "span": parameters.span,
        "adjust": parameters.adjust,
        "early_split": parameters.early_split,
        "window": parameters.window,
    }


# The table -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ByHand:
    """A tree by hand for some sizes of a collective, in a table."""

    file: Path
    collective: str
    sizes: str
    """The least, and the first above: "64KB-8MB"."""

    def put(self, setting: Setting, table: Table) -> Table:
        """The table with the tree in it. Raises UserError."""
        low, dash, high = self.sizes.partition("-")
        if not dash:
            raise UserError(f'sizes "{self.sizes}": must be from and up to, such as 64KB-8MB')
        tree = trees.read(self.file, setting.network, setting.placement)
        return planner.put_tree(
            table,
            setting.network,
            parse_kind(self.collective),
            tree,
            (units.parse_size(low), units.parse_size(high)),
            setting.options(),
        )


def run_table(
    question: Question, output: Path | None, by_hand: ByHand | None = None, *, json: bool
) -> int:
    setting = question.answerable()
    count = len(setting.placement)
    with console.progress(f"planning for {count} ranks"):
        table = (wisdom.table if question.remember else Setting.table)(setting, TABLE_KINDS)
    if by_hand:
        table = by_hand.put(setting, table)
    if output:
        plans.write_table(output, setting.network, setting.library, table)
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
