"""`thalweg env`: prepares a run by a launcher that the user starts."""

import typer

from thalweg import console, record_folder, switches
from thalweg.errors import UserError
from thalweg.files import make_output_folder
from thalweg.options import (
    Hostfile,
    Hosts,
    Json,
    Launcher,
    Mpi,
    NetworkFile,
    PlanFile,
    Ranks,
    Trace,
)
from thalweg.preparation import Request, prepare

app = typer.Typer(add_completion=False)


@app.command(name="env")
def command(
    ranks: Ranks = None,
    hosts: Hosts = None,
    hostfile: Hostfile = None,
    network: NetworkFile = None,
    plan: PlanFile = None,
    trace: Trace = None,
    launcher: Launcher = None,
    mpi: Mpi = None,
    json: Json = False,
) -> int:
    """Print the options with which a plain mpirun or mpiexec runs like `thalweg run`.

    Example: [bold]mpirun -n 16 -H a:8,b:8 $(thalweg env -n 16 -H a:8,b:8) ./app[/bold]
    """
    request = Request(
        ranks, hosts, hostfile, launcher, mpi, network, plan, started_by_user=True
    )  # fmt: skip
    prepared = prepare(request)
    if trace:
        make_output_folder(trace, f"trace folder {trace}", record_folder.SUMMARY)
    variables = prepared.environment(trace=trace, adapt=switches.is_on("THALWEG_ADAPT"))
    if json:
        console.show_json({"launcher": str(prepared.launcher.path), "environment": variables})
        return 0
    options = prepared.launcher.setting(variables)
    if spaced := [option for option in options if " " in option]:
        raise UserError(f"the shell would split '{spaced[0]}' at its spaces; use --json")
    print(" ".join(options))
    return 0
