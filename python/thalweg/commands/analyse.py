"""`thalweg analyse`: why a run's collectives took the time that they took."""

import typer

from thalweg import analysis_text, console, runs
from thalweg.analysis import findings
from thalweg.options import Hosts, Json, RunFolder, RunNetwork

app = typer.Typer(add_completion=False)


@app.command(name="analyse")
def command(
    run: RunFolder,
    network: RunNetwork = None,
    hosts: Hosts = None,
    json: Json = False,
) -> int:
    """Say why a run's collectives took the time that they took, and what to do about it.

    Reads what thalweg run --trace left. With the network the run was planned for, links are
    compared with what they should do.

    Example: [bold]thalweg analyse trace --network net.json[/bold]
    """
    with console.progress(f"analysing {run}"):
        found = findings.find(runs.read(run, network, hosts))
    if json:
        console.show_json(analysis_text.document(found))
    else:
        console.show(*analysis_text.show(found))
    return 0
