"""`thalweg explain`: why a plan was chosen, and what limits it."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg import (
    changes,
    console,
    events,
    explain,
    inputs,
    races,
    record,
    record_folder,
    recording,
    units,
)
from thalweg.collective import neighborhoods, parse_kind
from thalweg.errors import UserError
from thalweg.files import is_file, is_folder
from thalweg.options import (
    Budget,
    CollectiveOption,
    Effort,
    Hosts,
    Json,
    Library,
    Ranks,
    Root,
    Seed,
    Size,
    SizeOption,
    refuse,
    said_once,
)
from thalweg.plan_arguments import Collective, PlanArguments, asked_operation, search

app = typer.Typer(add_completion=False)


@app.command(name="explain")
def command(
    net: Annotated[
        Path,
        typer.Argument(
            metavar="NET|RUN",
            help="A network file, or a scenario: its file, or its name in the lab; or the folder "
            "of a run.",
        ),
    ],
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

    With the folder of a run in place of the network: what happened to its plans. At which call a
    change of the network was noticed, what explains it, which plan replaced which and what that
    won (of runs with --adapt on); which plans raced against the MPI library's own collectives,
    which won, and where predictions were wrong. A collective and a size restrict that to theirs.

    Example: [bold]thalweg explain net.json allgather 1MB[/bold]
    """
    name = said_once(collective, collective_option, "collective")
    wanted_size = said_once(size, size_option, "size")
    if is_file(net / record_folder.SUMMARY):
        refuse(
            {"-n": ranks, "-H": hosts, "--root": root, "--mpi": mpi},
            "is for a network, not for the folder of a run; leave it out",
        )
        return _explain_run(net, name, wanted_size, json)
    _refuse_unended(net)
    if is_folder(net):
        raise UserError(f"{net} is neither a network file nor the folder of a run")
    if name is None:
        inputs.network(net)  # raises if it is none
        raise UserError("explain what? Name a collective, as in: thalweg explain NET bcast 8MB")
    setting = PlanArguments(net, ranks, hosts, mpi, search(effort, seed, budget)).setting()
    operation = asked_operation(name, wanted_size, root)
    operation.collective(len(setting.placement))  # raises before the work begins
    with console.progress(f"planning {name}"):
        plan = setting.plan(operation)
    if json:
        console.show_json(explain.as_json(plan))
    else:
        console.show(*explain.parts(plan))
    return 0


def _refuse_unended(folder: Path) -> None:
    """Raises UserError for the folder of a run without a summary, as of one that was killed."""
    is_record = is_file(folder / record_folder.DESCRIPTION)
    is_traced = is_folder(folder) and any(folder.glob(record_folder.EVENTS))
    if not (is_record or is_traced):
        return
    if is_record and not (found := record.read(folder)).unfinished and not found.missing:
        raise UserError(
            f"{folder}: the record of a run without its summary.json, which world rank 0 wrote "
            "where it ran: copy it here"
        )
    can_do = [f"`thalweg report {folder}` shows what its calls took"]
    if is_record:
        can_do.append(f"`thalweg show {folder}` what its ranks sent")
    if is_traced:
        can_do.append(f"`thalweg analyse {folder}` says why calls took that")
    raise UserError(
        f"{folder}: the {'record' if is_record else 'trace'} of a run that didn't end, or hasn't "
        f"yet, and so has no summary of races and changes; {', '.join(can_do)}"
    )


def _explain_run(folder: Path, collective: str | None, size: str | None, json: bool) -> int:
    """Shows what raced in a run, and which plans changed: all, or of one collective and size."""
    if collective and collective not in neighborhoods:
        parse_kind(collective)  # raises if there is none
    nbytes = units.parse_size(size) if size else None

    def is_wanted(each: Mapping[str, Any]) -> bool:
        """Races, changes and their plans are for a class of sizes: those with as many bits."""
        return any(
            collective in (None, part["collective"])
            and (nbytes is None or part["size"].bit_length() == nbytes.bit_length())
            for part in (each, *each.get("plans", ()))
        )

    summary = events.read_summary(folder)
    found = list(filter(is_wanted, races.of(summary)))
    changed = list(filter(is_wanted, changes.of(summary)))
    dilation = record.dilation_of(summary)
    if json:
        counted = {"more_races": summary["more_races"]} if "more_races" in summary else {}
        console.show_json({"races": found, "changes": changed, "dilation": dilation} | counted)
        return 0
    asked = f" of a {collective}" if collective else ""
    asked += f" of {size}" if size else ""
    for each in changed:
        _show_lines(changes.story(each, dilation))
    for each in found:
        _show_lines(races.story(each, dilation))
    if rest := races.more(summary):
        console.show_line(f"{rest}: of any shape, on communicators that are gone, or replaced")
    if not found:
        console.show_line(f"no race{asked} in run {folder} came to a verdict")
    if not changed:
        why = _why_unchanged(folder, summary, bool(asked))
        console.show_line(f"no change of plans{asked} was tried in run {folder}; {why}")
    return 0


def _why_unchanged(folder: Path, summary: Mapping[str, Any], is_asked: bool) -> str:
    """Says why no plans were changed: in all calls, or in those that are asked for."""
    if reason := summary.get("everything_native"):
        return f"everything was native ({reason})"
    unnoticed = f"no change of the network was noticed{' in such calls' if is_asked else ''}"
    words = _launch_command(folder)
    # Open MPI has name and value in one word, or many of them with semicolons; MPICH in two.
    settings = {setting for word in words for setting in word.split(";")}
    adapts = "THALWEG_ADAPT=1" in settings or ("THALWEG_ADAPT", "1") in pairwise(words)
    if changes.of(summary) or adapts:
        return unnoticed
    if words:
        return "plans follow the network only with --adapt on"
    return f"{unnoticed}, or plans didn't follow it (--adapt on)"


def _launch_command(folder: Path) -> list[str]:
    """Returns the launcher's command of a run; empty if the folder doesn't say it, as a trace's."""
    words = recording.launch_of(recording.described(folder)).get("command")
    return [str(word) for word in words] if isinstance(words, list) else []


def _show_lines(lines: Sequence[str]) -> None:
    for each in lines:
        console.show_line(each)
