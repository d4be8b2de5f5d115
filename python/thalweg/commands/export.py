"""`thalweg export`: a network in the format of another program."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from thalweg import console, export, inputs
from thalweg.files import check_output, write_file
from thalweg.options import Json, Net

app = typer.Typer(add_completion=False)

FORMATS = {"simgrid": export.simgrid}


@app.command(name="export")
def command(
    net: Net,
    format_name: Annotated[
        Literal["simgrid"], typer.Option("--format", help="The file's format: a SimGrid platform.")
    ] = "simgrid",
    output: Annotated[Path, typer.Option("-o", "--output", help="The file.")] = Path(
        "platform.xml"
    ),
    json: Json = False,
) -> int:
    """Write a network in the format of another program.

    Example: [bold]thalweg export net.json --format simgrid -o platform.xml[/bold]
    """
    check_output(output, f"export {output}")
    lines = FORMATS[format_name](inputs.network(net))
    write_file(output, f"export {output}", "".join(f"{line}\n" for line in lines))
    if json:
        console.show_json({"file": str(output), "format": format_name})
    else:
        console.show(f"written to {output}")
    return 0
