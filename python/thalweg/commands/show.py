"""`thalweg show`: a network's matrices, hierarchy and trunks, or what a program's ranks send."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from thalweg import (
    communication,
    communication_picture,
    communication_text,
    console,
    inputs,
    matrices,
    network_text,
    picture,
    units,
)
from thalweg.communication import QUANTITIES
from thalweg.errors import UserError
from thalweg.files import check_output, is_folder
from thalweg.hierarchy import Adjust, Scale
from thalweg.matrices import Program
from thalweg.network_text import Grouping
from thalweg.options import Json
from thalweg.picture import MATRICES, View

app = typer.Typer(add_completion=False)


class MatrixName(enum.Enum):
    """Matrices of networks, then of programs, as --matrix takes them."""

    latency = "latency"
    bandwidth = "bandwidth"
    messages = "messages"
    bytes = "bytes"


@app.command(name="show")
def command(
    subject: Annotated[
        Path,
        typer.Argument(
            metavar="NET|RUN|MATRIX",
            help="A network file or scenario; or what a program sent: a run record, a matrix "
            "(.csv, .mtx), an OTF2 trace, or what Open MPI's monitoring wrote.",
        ),
    ],
    matrix: Annotated[
        list[MatrixName] | None,
        typer.Option(help="Only this matrix, as a heatmap; may be repeated."),
    ] = None,
    hierarchy: Annotated[
        bool, typer.Option("--hierarchy", help="Only the hierarchy of hosts.")
    ] = False,
    drawn: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--picture",
            help="Draw the one matrix, or the hierarchy, into this file: .svg or .png.",
            metavar="FILE",
        ),
    ] = None,
    size: Annotated[
        str, typer.Option(help="Size of the messages that the hierarchy is for.", metavar="SIZE")
    ] = "1MB",
    base: Annotated[
        float, typer.Option(help="k: the least value times k is the first level of the hierarchy.")
    ] = 4,
    span: Annotated[
        int,
        typer.Option(help="How many hosts the groups of a level may differ by.", min=0, max=10**6),
    ] = 1,
    adjust: Annotated[
        Adjust,
        typer.Option(
            help="How group sizes are made equal: keeping hosts close, or as the paper prints it."
        ),
    ] = "close",
    scale: Annotated[
        Scale,
        typer.Option(help="How levels grow: by multiples of k, as in the paper, or powers of k."),
    ] = "linear",
    json: Json = False,
) -> int:
    """Show a network: sites, links, matrices, hierarchy, capacities and trunks.

    Of a run record or a communication matrix: what ranks send each other, and how unevenly.

    Example: [bold]thalweg show net.json --matrix latency[/bold]
    """
    asked = {name.value for name in matrix or []}
    views: list[View] = [name for name in MATRICES if name in asked]
    if hierarchy:
        views.append("hierarchy")
    quantities = [name for name in QUANTITIES if name in asked]
    if quantities and views:
        raise UserError(
            f"{views[0]} is of a network, {quantities[0]} of a program: ask for one of them"
        )
    if drawn:
        picture.check_name(drawn)
        check_output(drawn, f"picture {drawn}", inputs=[subject])
    if quantities or _is_program(subject):
        if views:
            raise UserError(f"{subject} is of a program, and {views[0]} of a network: name one")
        return _show_program(_program(subject), subject, quantities, drawn, json=json)
    grouping = Grouping(units.parse_size(size), base, span, adjust, scale)
    found = inputs.network(subject)
    if drawn:
        if len(views) != 1:
            raise UserError("--picture draws one view: ask for one --matrix, or for --hierarchy")
        picture.write(drawn, picture.svg(found, views[0], grouping.build(found)))
    if json:
        file = {"file": str(drawn)} if drawn else {}
        console.show_json(network_text.as_json(found, grouping, views) | file)
    elif drawn:
        console.show(f"written to {drawn}")
    else:
        console.show(*network_text.parts(found, subject, views, grouping))
    return 0


def _is_program(path: Path) -> bool:
    """Whether a file or folder is what a program sent, by its kind alone."""
    return path.suffix in (".csv", ".mtx", ".otf2", ".prof") or is_folder(path)


def _program(path: Path) -> Program:
    """Reads what a program sent. Raises UserError, for a network too."""
    try:
        return matrices.read(path)
    except UserError:
        if is_folder(path):
            raise
        try:
            inputs.network(path)
        except UserError:
            pass
        else:
            raise UserError(
                f"{path} is a network, which sends nothing: name a run record or a communication "
                "matrix, or ask for --matrix latency or bandwidth"
            ) from None
        raise


def _show_program(
    program: Program,
    path: Path,
    asked: list[communication.Quantity],
    drawn: Path | None,
    *,
    json: bool,
) -> int:
    quantities = asked or [communication.usual(program.matrix)]
    for quantity in quantities:
        communication.check(program.matrix, quantity, f"{path}")
    if drawn:
        if len(quantities) > 1:
            raise UserError("--picture draws one matrix: ask for messages or for bytes")
        title = f"{path}: {program.matrix.ranks} ranks"
        found = communication_picture.matrix(title, program.matrix, quantities[0])
        picture.write(drawn, found)
    if json:
        console.show_json(communication_text.as_json(program) | {"file": drawn})
    elif drawn:
        console.show(f"written to {drawn}")
    else:
        console.show(*communication_text.parts(program, f"{path}", quantities, brief=bool(asked)))
    return 0
