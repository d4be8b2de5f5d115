"""`thalweg explain`: why a plan was chosen, and what limits it."""

from pathlib import Path

import typer

from thalweg import changes, console, events, explain, operations, races
from thalweg.errors import UserError
from thalweg.files import is_file
from thalweg.options import (
    Budget,
    Collective,
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
from thalweg.probe import lab_dilation
from thalweg.question import Question, search

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
    library's own collectives in that run, which won, and where predictions were wrong.

    Example: [bold]thalweg explain net.json allgather 1MB[/bold]
    """
    if is_file(net / "summary.json"):
        return _explain_run(net, json)
    name = said_once(collective, collective_option, "collective")
    if name is None:
        raise UserError("explain what? Name a collective, as in: thalweg explain NET bcast 8MB")
    length = said_once(size, size_option, "size") or "1MB"
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


def _explain_run(folder: Path, json: bool) -> int:
    """Shows what raced in a run, and which plans changed."""
    summary = events.read_summary(folder)
    found, changed = races.of(summary), changes.of(summary)
    if json:
        console.show_json({"races": found, "changes": changed})
        return 0
    for change in changed:
        console.show("\n".join(changes.story(change, lab_dilation())))
    if not found:
        console.show(f"no race in run {folder} came to a verdict")
    for race in found:
        console.show("\n".join(races.story(race, lab_dilation())))
    return 0
