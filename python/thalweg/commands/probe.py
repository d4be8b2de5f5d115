"""`thalweg probe`: measures the network between hosts, or says how it would be measured."""

import re
from pathlib import Path
from typing import Annotated

import typer

from thalweg import console, inputs, network, network_text, probe, units
from thalweg.errors import UserError
from thalweg.files import check_output, is_file
from thalweg.hosts import file_of
from thalweg.network_text import Grouping
from thalweg.options import Hostfile, Hosts, Json, Launcher, Mpi, Variables, refuse
from thalweg.preparation import Request, choose_launcher, choose_several, for_ranks
from thalweg.printable import short

app = typer.Typer(add_completion=False)

MOST_HOSTS = 4096
"""Most hosts whose measurement is predicted: it takes memory for each pair."""
COLUMNS = ("name", "measured", "of", "rounds", "at_once", "time")
"""A phase's fields, as JSON names them."""


@app.command(name="probe")
def command(
    hosts: Hosts = None,
    hostfile: Hostfile = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The network file.")] = Path(
        "net.json"
    ),
    budget: Annotated[
        str | None,
        typer.Option(
            help="Time limit of the measurement; else up to a minute, most of it where hosts are "
            "far apart."
        ),
    ] = None,
    launcher: Launcher = None,
    mpi: Mpi = None,
    variables: Variables = None,
    base: Annotated[
        Path | None, typer.Option(help="Only add the MPI library to this network file.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue where an interrupted probe ended.")
    ] = False,
    plan: Annotated[
        str | None,
        typer.Option(
            help="Only say how a number of hosts, or a network file's, would be measured."
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Measure the network between hosts, and write it to a file.

    Example: [bold]thalweg probe -H node0,node1,node2 -o net.json[/bold]
    """
    if plan is not None:
        refuse(
            {"-H": hosts, "--hostfile": hostfile, "--launcher": launcher, "--mpi": mpi}
            | {"-x": variables, "--base": base, "--resume": resume},
            "doesn't go with --plan, which measures nothing: leave out one",
        )
        return outline(plan, budget=budget, json=json)
    seconds = units.parse_time(budget) if budget is not None else None
    if seconds is not None and seconds <= 0:
        raise UserError("--budget 0 leaves no time to measure; try 30s")
    if base and not is_file(base):
        raise UserError(f"network {base}: no such file; leave out --base to measure anew")
    # With --base an output that is the same file gets what is added.
    check_output(output, str(output), inputs=[hostfile, file_of(hosts or "")])
    if output.exists() and not is_file(output):
        raise UserError(f"{output}: is no file; the network is read again, so name a file")
    request = Request(
        hosts=hosts, hostfile=hostfile, launcher=launcher, mpi=mpi,
        variables=for_ranks(variables or ()),
    )  # fmt: skip
    listed = choose_several(request)
    if not listed:
        raise UserError(
            "only this machine is known, and one host alone has no network: name hosts with -H or "
            "--hostfile"
        )
    probe.run(
        listed, output, choose_launcher(request),
        budget=seconds, base=base, resume=resume,
    )  # fmt: skip
    measured = inputs.network(output)
    if json:
        console.show_json(network_text.as_json(measured))
    else:
        console.show(*network_text.parts(measured, output, [], Grouping()))
    return 0


def outline(what: str, *, budget: str | None, json: bool) -> int:
    """Says how a network would be measured, and how long that would take; measures nothing.

    `what` is a network file, or a number of equal hosts on one switch.
    """
    number = re.fullmatch("-?[0-9]+", what)
    net = _alike(what) if number else inputs.network(Path(what))
    if len(net.hosts) > MOST_HOSTS:
        raise UserError(
            f"--plan {what}: has {len(net.hosts)} hosts; the measurement of at most {MOST_HOSTS} "
            "is predicted: take a part of the network"
        )
    seconds = units.parse_time(budget) if budget is not None else probe.LONGEST
    phases = probe.outline(net, seconds)
    total = sum(phase.time for phase in phases)
    if json:
        rows = [{column: getattr(phase, column) for column in COLUMNS} for phase in phases]
        hosts = len(net.hosts)
        console.show_json({"hosts": hosts, "budget": seconds, "time": total, "phases": rows})
        return 0
    table = console.table("phase", "measured", "rounds", "at once", "time")
    for phase in phases:
        part = "" if phase.measured == phase.of else f" of {phase.of}"
        table.add_row(
            phase.name, f"{phase.measured}{part}", str(phase.rounds), str(phase.at_once),
            units.time_to_text(phase.time),
        )  # fmt: skip
    console.show(
        table,
        f"{len(net.hosts)} hosts, predicted: {units.time_to_text(total)}. "
        "The MPI library's own collectives come after that.",
    )
    return 0


def _alike(hosts: str) -> network.Network:
    """Returns hosts on one switch: 0.1 ms and 1 Gbit/s."""
    if len(hosts) > len(str(MOST_HOSTS)) or not 1 <= int(hosts) <= MOST_HOSTS:
        raise UserError(f"--plan {short(hosts)}: must be a number of hosts from 1 to {MOST_HOSTS}")
    return network.even_network(int(hosts), 1e-4, 125e6)
