"""`thalweg explain`: why a plan was chosen, and what limits it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from thalweg import changes, console, events, explain, operations, races, record, units
from thalweg.collective import neighborhoods, parse_kind
from thalweg.errors import UserError
from thalweg.files import is_file
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
from thalweg.question import Collective, Question, search

app = typer.Typer(add_completion=False)


@app.command(name="explain")
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
    json: Json = False,
) -> int:
    """Say why a plan was chosen: candidates, predicted times, the bound, the critical path.

    With the folder of a run's record in place of the network: which plans raced against the MPI
    library's own collectives in that run, which won, and where predictions were wrong; of one
    collective and size only, if they are named.

    Example: [bold]thalweg explain net.json allgather 1MB[/bold]
    """
    name = said_once(collective, collective_option, "collective")
    wanted_size = said_once(size, size_option, "size")
    if is_file(net / "summary.json"):
        return _explain_run(net, name, wanted_size, json)
    if name is None:
        raise UserError("explain what? Name a collective, as in: thalweg explain NET bcast 8MB")
    length = wanted_size or "1MB"
    setting = Question(net, ranks, hosts, mpi, search(effort, seed, budget)).answerable()
    operation = operations.make(name, length, root)
    operation.collective(len(setting.placement))  # raises before the work begins
    with console.progress(f"planning {name} of {length}"):
        plan = setting.plan(operation)
    if json:
        console.show_json(explain.as_json(plan))
    else:
        console.show(*explain.parts(plan))
    return 0


def _explain_run(folder: Path, collective: str | None, size: str | None, json: bool) -> int:
    """Shows what raced in a run, and which plans changed: all, or of one collective and size."""
    if collective and collective not in neighborhoods:
        parse_kind(collective)  # raises if there is none
    nbytes = units.parse_size(size) if size else None

    def is_wanted(each: Mapping[str, Any]) -> bool:
        """Races, changes and their plans are for sizes from the one stated up to twice as much."""
        return any(
            collective in (None, part["collective"])
            and (nbytes is None or part["size"] <= nbytes < 2 * max(1, part["size"]))
            for part in (each, *each.get("plans", ()))
        )

    summary = events.read_summary(folder)
    found = list(filter(is_wanted, races.of(summary)))
    changed = list(filter(is_wanted, changes.of(summary)))
    if json:
        console.show_json({"races": found, "changes": changed})
        return 0
    dilation = record.dilation_of(summary)
    for change in changed:
        console.show("\n".join(changes.story(change, dilation)))
    if not found:
        asked = f" of a {collective}" if collective else ""
        asked += f" of {size}" if size else ""
        console.show(f"no race{asked} in run {folder} came to a verdict")
    for race in found:
        console.show("\n".join(races.story(race, dilation)))
    return 0
