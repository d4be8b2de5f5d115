"""`thalweg show`: sites, matrices, hierarchy, capacities and trunks of a network file."""

import enum
from pathlib import Path
from typing import Annotated, Literal

import typer

from thalweg import console, inputs, network_text, picture, units
from thalweg.errors import UserError
from thalweg.hierarchy import Scale
from thalweg.network_text import Grouping
from thalweg.options import Json, Net
from thalweg.picture import MATRICES, View

app = typer.Typer(add_completion=False)


class MatrixName(enum.Enum):
    """A network's matrices, as --matrix takes them."""

    latency = "latency"
    bandwidth = "bandwidth"


@app.command(name="show")
def command(
    net: Net,
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
        Literal["close", "printed"],
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

    Example: [bold]thalweg show net.json --matrix latency[/bold]
    """
    asked = {name.value for name in matrix or []}
    views: list[View] = [name for name in MATRICES if name in asked]
    if hierarchy:
        views.append("hierarchy")
    grouping = Grouping(units.parse_size(size), base, span, adjust, scale)
    found = inputs.network(net)
    if drawn:
        if len(views) != 1:
            raise UserError("--picture draws one view: ask for one --matrix, or for --hierarchy")
        picture.write(drawn, picture.svg(found, views[0], grouping.build(found)))
        console.show(f"written to {drawn}")
    elif json:
        console.show_json(network_text.as_json(found, grouping))
    else:
        console.show(*network_text.parts(found, net, views, grouping))
    return 0
