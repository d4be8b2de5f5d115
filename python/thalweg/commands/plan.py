"""`thalweg plan`: one plan, or the table of all plans that a run needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table as Drawing

from thalweg import (
    console,
    operations,
    picture,
    plan_picture,
    planner,
    plans,
    schedule,
    trees,
    units,
    wisdom,
)
from thalweg.collective import Kind, is_rooted, parse_kind
from thalweg.errors import UserError
from thalweg.explain import asked_json, plan_json, remarks
from thalweg.files import check_output
from thalweg.hosts import file_of
from thalweg.operations import Operation
from thalweg.options import (
    Budget,
    CollectiveOption,
    Effort,
    Hosts,
    Json,
    Library,
    Net,
    Ranks,
    Root,
    Seed,
    Size,
    SizeOption,
    said_once,
)
from thalweg.plan_arguments import Collective, PlanArguments, asked_operation, search
from thalweg.planner import Entry, PredictedTimes, Table
from thalweg.plans import Plan, Setting
from thalweg.printable import plural

app = typer.Typer(add_completion=False)


@app.command(name="plan")
def command(
    net: Net,
    collective: Collective = None,
    size: Size = None,
    ranks: Ranks = None,
    hosts: Hosts = None,
    collective_option: CollectiveOption = None,
    size_option: SizeOption = None,
    root: Root = 0,
    mpi: Library = None,
    effort: Effort = "normal",
    seed: Seed = 0,
    budget: Budget = "10s",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the table, or plan, as a plan file."),
    ] = None,
    draw: Annotated[
        Path | None,
        typer.Option(help="Draw the plan of the collective: .svg or .png.", metavar="FILE"),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(help="Write the schedule of the collective as JSON.", metavar="FILE"),
    ] = None,
    schedule: Annotated[
        list[Path] | None,
        typer.Option(
            help="Plan to use the schedule in this JSON file; may be repeated.", metavar="FILE"
        ),
    ] = None,
    tree: Annotated[
        Path | None,
        typer.Option(help="Plan to use the tree in this file (docs/tree-file.md).", metavar="FILE"),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            help='With --tree: plan all, with the tree for these sizes, "64KB-8MB".',
            metavar="FROM-TO",
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="Plan only this algorithm, such as binomial, or native: the MPI library's own.",
            metavar="NAME",
        ),
    ] = None,
    write_tree: Annotated[
        Path | None,
        typer.Option(
            help="Write the tree of the collective's plan: JSON if it ends with .json, else text.",
            metavar="FILE",
        ),
    ] = None,
    no_wisdom: Annotated[
        bool,
        typer.Option("--no-wisdom", help="Plan anew: neither use nor keep remembered plans."),
    ] = False,
    json: Json = False,
) -> int:
    """Plan one collective, or the table of all plans that a run needs.

    Ranks fill the slots of one host after the other; without -n, there is one per slot.

    Example: [bold]thalweg plan net.json -n 16 -o plan.bin[/bold]
    """
    arguments = PlanArguments(
        net, ranks, hosts, mpi, search(effort, seed, budget), remember=not no_wisdom
    )
    outputs = Outputs(output, draw, export, write_tree)
    outputs.check([net, tree, *(schedule or []), file_of(hosts or "")])
    name = said_once(collective, collective_option, "collective")
    length = said_once(size, size_option, "size")
    if algorithm and (schedule or tree or not name):
        raise UserError(
            f"--algorithm {algorithm} is for planning one collective: name it, as in bcast 8MB, "
            "and leave out --schedule and --tree"
        )
    if schedule:
        if length or root or tree or sizes:
            raise UserError(
                "a schedule file says its size, its root and who sends what: leave out SIZE, "
                "--root, --tree and --sizes, or --schedule"
            )
        return run_schedules(arguments, schedule, name, outputs, json=json)
    if sizes:
        if not (tree and name) or length or root or draw or export or write_tree:
            raise UserError(
                "--sizes says where a table takes the --tree of a collective: name both, and leave "
                "out what is of a single plan"
            )
        by_hand = ByHand(tree, name, sizes)
        return run_table(arguments, output, by_hand, json=json)
    if name is not None:
        operation = asked_operation(name, length, root)
        return run_one(arguments, operation, outputs, tree, algorithm or "", json=json)
    if length or root or draw or export or tree or write_tree:
        raise UserError(
            "a size, a root, a drawing, a schedule or a tree is of one collective: name it, as in "
            "bcast 8MB"
        )
    return run_table(arguments, output, json=json)


@dataclass(frozen=True)
class Outputs:
    """The files to write, as named by the user."""

    plan: Path | None = None
    """A plan file."""
    drawing: Path | None = None
    """A picture, .svg or .png."""
    schedule: Path | None = None
    """A schedule file."""
    tree: Path | None = None
    """A tree file."""

    def check(self, inputs: Sequence[Path | None]) -> None:
        """Checks the names before the planning. Raises UserError."""
        if self.drawing:
            picture.check_name(self.drawing)
        for path in self.written():
            check_output(Path(path), path, inputs=inputs)

    def check_ranks(self, ranks: int) -> None:
        """Raises UserError, before the planning, if a plan for so many ranks can't be drawn."""
        if self.drawing:
            plan_picture.check_ranks(ranks)

    def write(self, plan: Plan) -> list[str]:
        """Writes the files; returns their paths. Raises UserError."""
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


# One plan --------------------------------------------------------------------------------------


def run_one(
    arguments: PlanArguments,
    operation: Operation,
    outputs: Outputs,
    tree: Path | None = None,
    algorithm: str = "",
    *,
    json: bool,
) -> int:
    """`tree` is a tree file, whose tree is used instead of the best plan, and `algorithm` the only
    one to choose from."""
    setting = arguments.setting()
    outputs.check_ranks(len(setting.placement))
    by_hand = trees.read(tree, setting.network, setting.placement) if tree else None
    operation.collective(len(setting.placement))  # raises before the work begins
    with console.progress(f"planning {operation.kind.name}"):
        if arguments.remember and by_hand is None and not algorithm:
            plan = wisdom.plan(setting, operation)
        else:
            plan = setting.plan(operation, algorithm, tree=by_hand)
    if algorithm not in ("", plan.algorithm):
        raise UserError(f"--algorithm {algorithm} makes no plan here: {plan.reason}")
    files = outputs.write(plan)
    if json:
        console.show_json(asked_json(plan) | plan_json(plan) | {"files": files})
        return 0
    said = remarks(setting.library, [plan.native.algorithm])
    console.show(plan.reason, *said, *(f"written to {file}" for file in files))
    return 0


def run_schedules(
    arguments: PlanArguments,
    files: Sequence[Path],
    collective: str | None,
    outputs: Outputs,
    *,
    json: bool,
) -> int:
    """Verifies and predicts schedules made elsewhere, and writes them to a plan file."""
    setting = arguments.setting()
    outputs.check_ranks(len(setting.placement))
    found = [_given(setting, file, collective) for file in files]
    if len(found) > 1 and (outputs.drawing or outputs.schedule or outputs.tree):
        raise UserError("--draw, --export and --write-tree are for one plan: give --schedule once")
    written = outputs.written()
    if len(found) == 1:
        outputs.write(found[0])
    elif outputs.plan:
        plans.save(outputs.plan, found)
    if json:
        each = [asked_json(plan) | plan_json(plan) for plan in found]
        console.show_json({"plans": each, "files": written})
        return 0
    said = [f"{plan.collective.kind.name}: {plan.reason}" for plan in found]
    said += remarks(setting.library, (plan.native.algorithm for plan in found))
    console.show(*said, *(f"written to {file}" for file in written))
    return 0


def _given(setting: Setting, file: Path, collective: str | None) -> Plan:
    """Plans a schedule file. Raises UserError."""
    wanted, given = schedule.read(file)
    if collective and wanted.kind.name != collective:
        raise UserError(f"schedule {file} is of a {wanted.kind.name}, not of a {collective}")
    if wanted.ranks != len(setting.placement):
        raise UserError(
            f"schedule {file} is for {plural(wanted.ranks, 'rank')}, but the hosts have "
            f"{len(setting.placement)}: say -n {wanted.ranks}, or name other hosts"
        )
    try:
        return setting.plan(operations.Exact(wanted), schedule=given)
    except UserError as error:
        raise UserError(f"schedule {file}: {error}") from None


# The table -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ByHand:
    """A declared tree for some sizes of a collective, in a table."""

    file: Path
    collective: str
    sizes: str
    """The least size, and the first one above: "64KB-8MB"."""

    def put(self, setting: Setting, table: Table) -> Table:
        """Returns the table with the tree in it. Raises UserError."""
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
    arguments: PlanArguments, output: Path | None, by_hand: ByHand | None = None, *, json: bool
) -> int:
    setting = arguments.setting()
    count = len(setting.placement)
    with console.progress(f"planning for {count} ranks"):
        table = (wisdom.table if arguments.remember else Setting.table)(setting)
    if by_hand:
        table = by_hand.put(setting, table)
    if output:
        plans.write_table(output, setting.network, setting.library, table)
    reason = "" if by_hand else _nothing_to_plan(setting)
    entries = [] if reason else table.entries
    if json:
        console.show_json(
            {"file": output, "library": setting.library}
            | {"placement": [setting.host(rank) for rank in range(count)]}
            | {"entries": [_entry_json(entry) for entry in entries], "reason": reason or None}
        )
        return 0
    console.show(reason or _draw(table))
    if others := _other_roots(table, entries):
        console.show(console.styled(f"and {others} more roots", "dim"))
    for line in remarks(setting.library, [entry.native_algorithm for entry in entries]):
        console.show(line)
    if output:
        console.show(f"written to {output}")
    return 0


def _other_roots(table: Table, entries: Sequence[Entry]) -> int:
    """How many ranks besides rank 0 have rows as a root, their own or those of their host."""
    hosts = {table.placement[entry.root] for entry in entries if is_rooted(entry.kind)}
    return max(0, sum(host in hosts for host in table.placement) - 1)


def _nothing_to_plan(setting: Setting) -> str:
    """Says why all collectives are native: a single rank, or all ranks on one host. Else empty."""
    if len(set(setting.placement)) > 1:
        return ""
    single = len(setting.placement) == 1
    why = "a single rank has nothing to send" if single else f"all ranks are on {setting.host(0)}"
    return f"{why}: nothing to plan, all collectives are native"


def _draw(table: Table) -> Drawing:
    """Returns the rows of rank 0 as the root, with the times of the size that they begin with."""
    drawing = console.table("collective", "from size", "plan", "predicted", "bound", "native", "by")
    for entry in table.entries:
        if entry.root == 0:
            times = table.predict(entry.kind, entry.root, entry.min_size)
            drawing.add_row(
                entry.kind.name,
                "unknown" if _of_unknown_sizes(entry) else units.size_to_text(entry.min_size),
                _describe(entry),
                units.ns_to_text(times.plan_ns or None),
                units.ns_to_text(times.bound_ns or None),
                f"{units.ns_to_text(times.native_ns or None)} ± {entry.native_percent} %",
                entry.native_algorithm,
            )
    return drawing


def _of_unknown_sizes(entry: Entry) -> bool:
    """Whether the row is for blocks whose sizes only their two ends know."""
    return entry.min_size == 0 and entry.kind is not Kind.barrier


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
        "second": entry.second.algorithm if entry.second else None,
        "native": {
            "algorithm": entry.native_algorithm,
            "uncertainty": entry.native_percent / 100,
        }
        if entry.native_algorithm
        else None,
        "times": [_times_json(times) for times in entry.times],
    }


def _times_json(times: PredictedTimes) -> dict[str, float | None]:
    seconds = {"predicted": times.plan_ns, "native": times.native_ns, "bound": times.bound_ns}
    return {"size": times.size} | {name: ns / 1e9 or None for name, ns in seconds.items()}
