"""`thalweg report`: one self-contained HTML page about a network and the plans for it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg import (
    console,
    description,
    drawing,
    hierarchy,
    operations,
    picture,
    plan_picture,
    units,
)
from thalweg.drawing import escape
from thalweg.errors import UserError
from thalweg.files import check_output, parse_json, read_text, write_file
from thalweg.network import Network
from thalweg.options import Hosts, Json, Library, Net, Ranks
from thalweg.plans import Setting
from thalweg.question import Question

app = typer.Typer(add_completion=False)

SIZES = ("64KB", "1MB", "8MB")
COLLECTIVES = ("bcast", "reduce", "allreduce")
MOST_DRAWN = 64
"""Most ranks for which plans are drawn."""

STYLE = """
body { font: 14px/1.5 sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #222 }
h1, h2, h3 { font-weight: 600 } h3 { margin-bottom: 0.2em }
table { border-collapse: collapse; margin: 0.6em 0 }
th, td { text-align: left; padding: 0.15em 0.9em 0.15em 0; border-bottom: 1px solid #ddd }
figure { display: inline-block; margin: 0 1.5em 1em 0; overflow-x: auto; max-width: 100% }
figcaption { color: #555 } .note { color: #555 }
"""


@app.command(name="report")
def command(
    net: Net,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page.")] = Path("report.html"),
    ranks: Ranks = None,
    hosts: Hosts = None,
    mpi: Library = None,
    results: Annotated[
        Path | None, typer.Option(help="Tables of results to show, as JSON.", metavar="FILE")
    ] = None,
    json: Json = False,
) -> int:
    """Write a page about a network: matrices, hierarchy, trunks, and plans for it.

    One HTML file that needs nothing else.

    Example: [bold]thalweg report net.json -o report.html[/bold]
    """
    check_output(output, f"report {output}")
    setting = Question(net, ranks, hosts, mpi).answerable()
    tables = _results(results) if results else []
    with console.progress(f"planning for {len(setting.placement)} ranks"):
        page = _page(setting, net, tables)
    write_file(output, f"report {output}", page)
    if json:
        console.show_json({"file": str(output), "bytes": len(page.encode())})
    else:
        console.show(f"written to {output}")
    return 0


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


def _page(setting: Setting, file: Path, tables: Sequence[dict[str, Any]]) -> str:
    net = setting.network
    tree = hierarchy.build(net, plan_picture.SMALL)
    names = [host.name for host in net.hosts]
    parts = [
        f"<h1>Thalweg: {escape(file.name)}</h1>",
        f"<p>{len(names)} hosts, {len(net.sites) or 'unknown'} sites; "
        f"{escape(net.measured_with or 'of unknown origin')} {escape(net.measured_at)}</p>",
        *(f"<h2>{escape(table['title'])}</h2>{_table(table['columns'], table['rows'])}"
          + "".join(f'<p class="note">{escape(note)}</p>' for note in table["notes"])
          for table in tables),
        "<h2>Network</h2>",
        *_matrices(net, tree),
        "<h2>Hierarchy</h2>",
        f'<p class="note">{escape(description.asymmetry_text(net))}</p>',
        f"<figure>{drawing.hierarchy(tree, names)}<figcaption>Groups of hosts by closeness, for "
        f"messages of {units.size_to_text(plan_picture.SMALL)}, k = {hierarchy.BASE:g}."
        "</figcaption></figure>",
        *_trunks(net),
        "<h2>Plans</h2>",
        '<p class="note">Trees, or arcs between hosts, show the senders, wider for more bytes; '
        "arcs to the right are above, to the left below. Redder ones cross a higher level of the "
        "hierarchy. Point at one for its bytes.</p>",
        *(_plan(setting, tree, c, size) for c in COLLECTIVES for size in SIZES),
    ]  # fmt: skip
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"<title>Thalweg: {escape(file.name)}</title><style>{STYLE}</style></head><body>"
        + "\n".join(parts)
        + "</body></html>\n"
    )


def _matrices(net: Network, tree: hierarchy.Hierarchy) -> list[str]:
    return [
        f"<figure>{picture.svg(net, quantity, tree)}<figcaption>{quantity.capitalize()} from "
        "row to column, greener for better, on a logarithmic scale.</figcaption></figure>"
        for quantity in picture.MATRICES
    ]


def _trunks(net: Network) -> list[str]:
    if not net.trunks and len(net.sites) < 2:
        return []
    rows = description.trunk_rows(net)
    sites = description.site_names(net)
    links = [
        [sites[link.from_], sites[link.to], _yes_or_no(link.long), _yes_or_no(link.fast)]
        for link in hierarchy.links(net)
    ]
    return [
        "<h2>Trunks and links between sites</h2>",
        _table(description.TRUNK_COLUMNS, rows) if rows else "",
        _table(["from", "to", "long", "fast"], links) if links else "",
    ]


def _yes_or_no(answer: bool) -> str:
    return "yes" if answer else "no"


def _plan(setting: Setting, tree: hierarchy.Hierarchy, collective: str, size: str) -> str:
    plan = setting.plan(operations.make(collective, size))
    heading = (
        f"<h3>{collective} of {size}: {escape(plan.algorithm)}</h3><p>{escape(plan.reason)}</p>"
    )
    if plan.is_native or len(plan.placement) > MOST_DRAWN:
        return heading
    return f"{heading}<figure>{plan_picture.svg(plan, tree)}</figure>"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(str(column))}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"
