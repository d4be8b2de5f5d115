"""`thalweg timemap`: a picture of when data passes each stage of a tree."""

from pathlib import Path
from typing import Annotated

import typer

from thalweg import console, picture, runs, timemap_picture, units
from thalweg.analysis import timemaps
from thalweg.analysis.tables import Run
from thalweg.analysis.words import shape_name
from thalweg.errors import UserError
from thalweg.files import check_output
from thalweg.options import Json
from thalweg.timemap_picture import Configuration

app = typer.Typer(add_completion=False)

MOST_CURVES = 200
"""Most curves of a run; of more ranks, those evenly between the slowest and the fastest."""


@app.command(name="timemap")
def command(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Folders of events; several are drawn together."),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The picture: .svg or .png.")
    ] = Path("timemap.svg"),
    collective: Annotated[
        str | None, typer.Option(help="Only trees of this collective; default: the costliest.")
    ] = None,
    size: Annotated[str | None, typer.Option(help="Only calls of this size.")] = None,
    rank: Annotated[
        list[int] | None, typer.Option(min=0, help="Only this rank; may be repeated.")
    ] = None,
    arrival_wait: Annotated[
        bool,
        typer.Option(
            "--arrival-wait/--no-arrival-wait", help="With the waits for late ranks, or without."
        ),
    ] = True,
    lateness: Annotated[
        bool, typer.Option("--lateness", help="Draw which rank is late in which call instead.")
    ] = False,
    json: Json = False,
) -> int:
    """Draw the mean time of each stage of a tree, moving down to its root and up again.

    Several runs are drawn over each other. With --lateness, ranks by calls: a rank that is always
    late is a line, one that changes is scattered.

    Example: [bold]thalweg timemap before after -o timemap.svg[/bold]
    """
    check_output(output, f"timemap {output}", inputs=folders)
    picture.check_name(output)
    if lateness:
        if len(folders) > 1:
            raise UserError("--lateness draws one run: leave out the others")
        found = timemaps.lateness(runs.read(folders[0]))
        drawn = timemap_picture.lateness(f"Lateness in {folders[0]}", found)
    else:
        wanted = units.parse_size(size) if size else None
        configurations = [
            _configuration(folder, collective, wanted, rank or [], arrival_wait)
            for folder in folders
        ]
        without = "" if arrival_wait else ", without waits for late ranks"
        drawn = timemap_picture.timemap(f"Mean time by stage{without}", configurations)
    picture.write(output, drawn)
    if json:
        console.show_json({"file": str(output)})
    else:
        console.show(f"written to {output}")
    return 0


def _configuration(
    folder: Path, collective: str | None, size: int | None, ranks: list[int], arrival_wait: bool
) -> Configuration:
    run = runs.read(folder)
    shape, name = _shape(folder, run, collective, size)
    found = timemaps.curves(run, shape, arrival_wait=arrival_wait)
    if ranks:
        there = {curve.rank for curve in found}
        if missing := sorted(set(ranks) - there):
            raise UserError(
                f"{folder}: rank {missing[0]} isn't in these calls; ranks {min(there)} to "
                f"{max(there)} are"
            )
        found = [curve for curve in found if curve.rank in ranks]
    return Configuration(f"{folder.name}: {name}", timemaps.representatives(found, MOST_CURVES))


def _shape(folder: Path, run: Run, collective: str | None, size: int | None) -> tuple[int, str]:
    shapes = timemaps.tree_shapes(run)
    for row in shapes.iter_rows(named=True):
        if collective in (None, row["kind"]) and size in (None, row["size"]):
            return row["shape"], shape_name(row["kind"], row["size"])
    there = ", ".join(shape_name(*each) for each in shapes.select("kind", "size").iter_rows())
    raise UserError(
        f"{folder}: has no such calls along a tree that goes down and up; "
        + (f"there are {there}" if there else "an allreduce by a tree or a barrier would be one")
    )
