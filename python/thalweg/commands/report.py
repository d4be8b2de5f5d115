"""`thalweg report`: one self-contained HTML page about a network, a run, or two runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg import console, events, inputs, record, record_folder, runs
from thalweg.analysis import findings
from thalweg.analysis.tables import Run
from thalweg.errors import UserError
from thalweg.files import check_output, is_file, is_folder, parse_json, read_text, write_file
from thalweg.hosts import file_of
from thalweg.options import Hosts, Json, Library, Ranks, RunNetwork
from thalweg.plan_arguments import PlanArguments
from thalweg.report import comparison, network_parts, run_page
from thalweg.report import page as pages
from thalweg.report.comparison import Side
from thalweg.report.elements import Page

app = typer.Typer(add_completion=False)


@app.command(name="report")
def command(
    subjects: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN|NET...",
            help="The folder of a run, or two to compare; or a network file or scenario.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The page.")] = Path("report.html"),
    network: RunNetwork = None,
    ranks: Ranks = None,
    hosts: Hosts = None,
    mpi: Library = None,
    results: Annotated[
        Path | None,
        typer.Option(help="With a network: tables of results to show, as JSON.", metavar="FILE"),
    ] = None,
    json: Json = False,
) -> int:
    """Write a page about a run, two runs, or a network: one HTML file that needs nothing else.

    A run's page says how much time its collectives took, what was saved, what is slow and why; a
    network's shows its matrices and plans for it.

    Example: [bold]thalweg report trace -o report.html[/bold]
    """
    read = [*subjects, network, results, file_of(hosts or "")]
    check_output(output, f"report {output}", inputs=read)
    folders = [is_folder(path) for path in subjects]
    for path, folder in zip(subjects, folders, strict=True):
        if len(subjects) > 1 and not folder and not is_file(path):
            raise UserError(f"{path}: no such folder; name the folders of two runs to compare")
    if len(subjects) > 2 or (len(subjects) == 2 and not all(folders)):
        raise UserError("give the folder of one run, or of two to compare, or one network")
    if all(folders):
        if results or ranks or mpi:
            raise UserError("-n, --mpi and --results are for a network's page: leave them out")
        with console.progress(f"analysing {' and '.join(map(str, subjects))}"):
            made = _of_runs(subjects, network, hosts)
    else:
        if network:
            raise UserError("--network is for a run's page: name one network, or a run's folder")
        _check_network(subjects[0])
        setting = PlanArguments(subjects[0], ranks, hosts, mpi).setting()
        tables = _results(results) if results else []
        with console.progress(f"planning for {len(setting.placement)} ranks"):
            made = network_parts.page(subjects[0].name, setting, network_parts.results(tables))
    content = pages.write(made)
    write_file(output, f"report {output}", content)
    if json:
        console.show_json({"file": str(output), "bytes": len(content.encode())})
    else:
        console.show(f"written to {output}")
    return 0


def _check_network(path: Path) -> None:
    """Raises UserError for a file that is plainly no network, with what else may be named."""
    if path.suffix == ".cbor" or not is_file(path):
        return
    text = read_text(path, f"{path}").lstrip()
    if text and not text.startswith(("{", "[")):
        raise UserError(
            f"{path}: a report is about the folder of a run, or of two to compare, a network file "
            "or a scenario of the lab, and this is none of them; `thalweg place` and `thalweg show "
            "--matrix bytes` take matrices of messages"
        )


def _of_runs(folders: Sequence[Path], network: Path | None, hosts: str | None) -> Page:
    names = _names(folders)
    side, *other = [
        _side(folder, name, network, hosts) for folder, name in zip(folders, names, strict=True)
    ]
    if other:
        return comparison.page(side, *other)
    found = findings.find(side.events) if side.events else None
    net = side.events.network if side.events else None
    own = folders[0] / record_folder.NETWORK
    if net is None and (network or own.is_file()):
        net = inputs.network(network or own)
    summary, faults = _summary(folders[0])
    return run_page.page(side.name, side.record, found, net, side.why_not, summary, faults)


def _summary(folder: Path) -> tuple[dict[str, Any] | None, list[str]]:
    """Returns a run's summary, if it has one, or what is wrong with it."""
    if not is_file(folder / record_folder.SUMMARY):
        return None, []
    try:
        return events.read_summary(folder), []
    except UserError as error:
        return None, [f"Which plans raced or changed can't be said: {error}."]


def _names(folders: Sequence[Path]) -> list[str]:
    """Returns the folders' own names, with as many of the folders above as tell them apart."""
    whole = [folder.resolve().parts for folder in folders]
    for count in range(1, max(map(len, whole))):
        names = [str(Path(*parts[-count:])) for parts in whole]
        if len({*names}) == len(names):
            return names
    return [str(folder) for folder in folders]


def _side(folder: Path, name: str, network: Path | None, hosts: str | None) -> Side:
    recorded = record.read(folder) if (folder / record_folder.DESCRIPTION).is_file() else None
    if recorded is not None and not any(folder.glob(record_folder.EVENTS)):
        return Side(name, recorded, None)
    found: Run | None = None
    try:
        found = runs.read(folder, network, hosts)
    except UserError as error:
        if recorded is None:
            raise
        return Side(name, recorded, None, f"The events can't be used: {error}.")
    return Side(name, recorded, found)


def _results(path: Path) -> list[dict[str, Any]]:
    where = f"results {path}"
    tables = parse_json(read_text(path, where), where)
    if not isinstance(tables, list) or not all(_is_table(table) for table in tables):
        raise UserError(
            f"{where}: must be a list of tables with a title, a list of columns, a list of rows, "
            "each as long as the columns, and a list of notes"
        )
    return tables


def _is_table(table: object) -> bool:
    if not isinstance(table, dict) or not isinstance(table.get("title"), str):
        return False
    columns, rows, notes = table.get("columns"), table.get("rows"), table.get("notes")
    if not (isinstance(columns, list) and isinstance(rows, list) and isinstance(notes, list)):
        return False
    are_rows = all(isinstance(row, list) and len(row) == len(columns) for row in rows)
    return are_rows and all(isinstance(note, str) for note in notes)
