"""`thalweg export`: a network or a run in the format of another program."""

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thalweg import console, export, inputs, optional
from thalweg.errors import UserError
from thalweg.files import check_output, check_output_folder, is_file, write_file
from thalweg.hosts import file_of
from thalweg.options import Hosts, Json, RunNetwork, refuse

if TYPE_CHECKING:
    from thalweg.analysis.tables import Run

app = typer.Typer(add_completion=False)


class Format(enum.Enum):
    """What can be written, as --format takes it."""

    simgrid = "simgrid"
    smpi = "smpi"
    perfetto = "perfetto"
    otf2 = "otf2"
    csv = "csv"
    parquet = "parquet"


DEFAULTS = {
    Format.simgrid: "platform.xml",
    Format.smpi: "platform.xml",
    Format.perfetto: "trace.perfetto-trace",
    Format.otf2: "trace",
    Format.csv: "tables",
    Format.parquet: "tables",
}


@app.command(name="export")
def command(
    what: Annotated[
        Path,
        typer.Argument(
            metavar="WHAT", help="A network file or scenario, or the folder of a run's events."
        ),
    ],
    format_name: Annotated[
        Format,
        typer.Option(
            "--format",
            help="simgrid: a network as a SimGrid platform, smpi: where each message is a flow; "
            "perfetto, otf2: a run as a trace; csv, parquet: a run as a folder of tables.",
        ),
    ] = Format.simgrid,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file or folder.")
    ] = None,
    network: RunNetwork = None,
    hosts: Hosts = None,
    json: Json = False,
) -> int:
    """Write a network or a run in the format of another program.

    Example: [bold]thalweg export trace --format perfetto -o run.perfetto-trace[/bold]
    """
    output = output or Path(DEFAULTS[format_name])
    if format_name in (Format.simgrid, Format.smpi):
        refuse(
            {"--network": network, "-H": hosts},
            f"is for the formats of a run, not for {format_name.value}; leave it out",
        )
        check_output(output, f"export {output}", inputs=[what])
        of_messages = format_name is Format.smpi
        lines = export.simgrid(inputs.network(what), of_messages=of_messages)
        write_file(output, f"export {output}", (f"{line}\n" for line in lines))
    else:
        _write_run(what, format_name, output, network, hosts)
    if json:
        console.show_json({"file": str(output), "format": format_name.value})
    else:
        console.show(f"written to {output}")
    return 0


def _write_run(
    folder: Path, format_name: Format, output: Path, network: Path | None, hosts: str | None
) -> None:
    """Their modules take half a second to import, which networks needn't wait for."""
    if is_file(folder):
        raise UserError(
            f"{folder} is a file, not the folder of a run, which {format_name.value} is for; "
            "simgrid and smpi are the formats for networks"
        )
    from thalweg import runs
    from thalweg.exports import perfetto, tables

    write = {
        Format.perfetto: perfetto.write,
        Format.otf2: _write_otf2,
        Format.csv: tables.write_csv,
        Format.parquet: tables.write_parquet,
    }[format_name]
    if format_name is Format.perfetto:
        check_output(output, f"export {output}", inputs=[network, file_of(hosts or "")])
    else:
        check_output_folder(output, f"export {output}")
    write(runs.read(folder, network, hosts, nonblocking=True), output)


def _write_otf2(run: "Run", path: Path) -> None:
    optional.need("otf2", "OTF2 traces")
    from thalweg.exports import otf2

    otf2.write(run, path)
