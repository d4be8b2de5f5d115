"""`thalweg tune`: moves that would make a run's collectives faster."""

import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg import console, runs, trees, tuning, units
from thalweg.collective import is_rooted
from thalweg.errors import UserError
from thalweg.files import check_output
from thalweg.hosts import file_of
from thalweg.options import Hosts, Json, RunFolder, RunNetwork
from thalweg.printable import plural
from thalweg.tuning import Advice
from thalweg.units import time_to_text

app = typer.Typer(add_completion=False)

MOST_LINKS = 5
"""Most links that are listed."""


@app.command(name="tune")
def command(
    run: RunFolder,
    network: RunNetwork = None,
    hosts: Hosts = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the tuned tree of the costliest collective, as a tree file.",
        ),
    ] = None,
    budget: Annotated[
        str, typer.Option(help="Time limit of the search for each collective.")
    ] = "10s",
    no_wisdom: Annotated[
        bool, typer.Option("--no-wisdom", help="Don't keep tuned trees for later runs.")
    ] = False,
    json: Json = False,
) -> int:
    """Find moves that make the trees of a run's collectives faster, and what each would gain.

    Takes the trees from the messages of thalweg run --trace, and corrects the network by what they
    took. Tuned trees are kept: thalweg run uses them on this network and these hosts from then on.

    Example: [bold]thalweg tune trace --network net.json[/bold]
    """
    if output:
        check_output(output, f"tree file {output}", inputs=[run, network, file_of(hosts or "")])
    seconds = units.parse_time(budget)
    if output and any(letter in str(output) for letter in ";,"):
        raise UserError(f"{output}: THALWEG_FORCE takes no file with ';' or ',' in its name")
    with console.progress(f"tuning {run}"):
        read = runs.read(run, network, hosts)
        found = tuning.advise(read, seconds)
    if output:
        trees.write_parameters(output, found[0].tuned.parameters())
    if not json:
        console.show(*_text(found))
    better = [] if no_wisdom else [each for each in found if each.best == "tree"]
    if better and not read.library:
        console.note(
            "tuned trees aren't kept: the run ended without a summary, which has its MPI library"
        )
        better = []
    if better:
        with console.progress("keeping the tuned trees"):
            tuning.keep(read, better)
    if json:
        console.show_json(_document(found, kept=bool(better)))
        return 0
    if better:
        console.show(
            "Tuned trees are kept: thalweg run uses them from now on where ranks are on the same "
            "hosts of this network as in this run."
        )
    if output and output.suffix == ".json":
        console.show(
            f"written to {output}; to try it, name a file that doesn't end with .json: "
            "THALWEG_FORCE takes the text of ranks"
        )
    elif output:
        console.show(
            f"written to {output}; to try it: THALWEG_FORCE="
            + shlex.quote(f"{found[0].kind.name}={trees.NAME}:file={output}")
            + " thalweg run ..."
        )
    return 0


def _text(found: Sequence[Advice]) -> Iterator[Any]:
    links = found[0].elsewhere
    for link in links[:MOST_LINKS]:
        which = f"{link.from_host} -> {link.to_host}" if link.from_host else "Links in general"
        yield f"{which} took {link.ratio:.2f} times what the network says: allowed for."
    if len(links) > MOST_LINKS:
        yield f"and {len(links) - MOST_LINKS} more links (--json has them)"
    for each in found:
        if links or each is not found[0]:
            yield ""
        yield from _about(each)


def _about(each: Advice) -> Iterator[Any]:
    yield (
        f"{_name(each)}: {plural(each.calls, 'call')} took {time_to_text(each.observed)} in the "
        f"middle; such a tree is predicted to take {time_to_text(each.before)}."
    )
    if each.moves:
        table = console.table("move", "before", "after", "faster", left=[0])
        for move in each.moves:
            times = (time_to_text(move.before), time_to_text(move.after))
            table.add_row(move.what, *times, _ratio(move.before / move.after))
        yield table
    yield _conclusion(each)


def _conclusion(each: Advice) -> str:
    others = [
        f"the plan {each.planned_name} {time_to_text(each.planned)}" if each.planned_name else "",
        f"native {time_to_text(each.native)}" if each.native < math.inf else "",
    ]
    beside = "; ".join(filter(None, others))
    beside = f" ({beside})" if beside else ""
    if each.best == "tree":
        gain = _ratio(each.before / each.after)
        return (
            f"The tuned tree is predicted to take {time_to_text(each.after)}, {gain} as "
            f"fast{beside}."
        )
    # Plans are for the network as it is in the file.
    remedy = (
        "probe the network again, so that plans are for what its links take"
        if each.elsewhere
        else "run it without THALWEG_FORCE"
    )
    if each.best == "plan":
        return (
            f"The plan {each.planned_name} is predicted to be faster, "
            f"{time_to_text(each.planned)}, than the tuned tree, {time_to_text(each.after)}: "
            f"{remedy}{beside}."
        )
    if each.best == "native":
        return (
            f"The MPI library's own is predicted to be faster, {time_to_text(each.native)}, than "
            f"the tuned tree, {time_to_text(each.after)}: {remedy}{beside}."
        )
    return f"No move gains anything: leave the tree as it is{beside}."


def _name(each: Advice) -> str:
    root = f" from rank {each.root}" if is_rooted(each.kind) else ""
    size = "" if each.kind.name == "barrier" else f" of {units.size_to_text(each.size)}"
    return f"{each.kind.name}{size}{root}"


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}x"


def _document(found: Sequence[Advice], *, kept: bool) -> dict[str, Any]:
    return {
        "collectives": [
            {"kind": each.kind.name, "size": each.size, "root": each.root, "calls": each.calls,
             "observed": each.observed, "predicted": each.before, "tuned": each.after,
             "native": each.native if each.native < math.inf else None,
             "plan": {"algorithm": each.planned_name, "predicted": each.planned}
             if each.planned_name else None,
             "best": each.best,
             "moves": [{"move": move.what, "before": move.before, "after": move.after}
                       for move in each.moves],
             "links": [{"from": link.from_host, "to": link.to_host, "ratio": link.ratio}
                       for link in each.elsewhere]}
            for each in found
        ],
        "kept": kept,
    }  # fmt: skip
