"""`thalweg probe`: what the user asked for, measured by thalweg.probe."""

from pathlib import Path

from rich.table import Table

from thalweg import console, network, probe, show, units
from thalweg.errors import UserError
from thalweg.run import Request, choose_hosts, choose_launcher

MOST_HOSTS = 4096
"""Whose measurement can be planned from their number."""
COLUMNS = ("name", "measured", "of", "rounds", "at_once", "time")
"""Of a phase, as JSON names them."""


def run(
    request: Request,
    output: Path,
    *,
    budget: str,
    base: Path | None,
    resume: bool,
    json: bool,
) -> int:
    """Measures, writes the network file and shows what it says."""
    seconds = units.parse_time(budget)
    if seconds <= 0:
        raise UserError("--budget 0 leaves no time to measure; try 30s")
    if base and not base.is_file():
        raise UserError(f"network {base}: no such file; leave out --base to measure anew")
    if not output.absolute().parent.is_dir():
        raise UserError(f"{output}: there is no folder {output.parent}")
    probe.run(
        choose_hosts(request), output, choose_launcher(request),
        budget=seconds, base=base, resume=resume,
    )  # fmt: skip
    return show.run(output, views=[], grouping=show.Grouping(), json=json)


def plan(what: str, *, budget: str, json: bool) -> int:
    """Says how a network would be measured, and how long that would take; measures nothing.

    `what` is a network file, or a number of hosts: alike, on one switch.
    """
    net = _alike(int(what)) if what.isdecimal() else network.read(Path(what))
    seconds = units.parse_time(budget)
    phases = probe.outline(net, seconds)
    total = sum(phase.time for phase in phases)
    if json:
        rows = [{column: getattr(phase, column) for column in COLUMNS} for phase in phases]
        hosts = len(net.hosts)
        console.show_json({"hosts": hosts, "budget": seconds, "time": total, "phases": rows})
        return 0
    table = Table("phase", "measured", "rounds", "at once", "time", box=None, pad_edge=False)
    for phase in phases:
        part = "" if phase.measured == phase.of else f" of {phase.of}"
        table.add_row(
            phase.name, f"{phase.measured}{part}", str(phase.rounds), str(phase.at_once),
            units.time_to_text(phase.time),
        )  # fmt: skip
    console.show(
        table,
        f"{len(net.hosts)} hosts, predicted: {units.time_to_text(total)}. "
        "The MPI library's own collectives get what is left of the budget of "
        f"{units.time_to_text(seconds)}.",
    )
    return 0


def _alike(hosts: int) -> network.Network:
    """Hosts on one switch: 0.1 ms and 1 Gbit/s."""
    if not 1 <= hosts <= MOST_HOSTS:
        raise UserError(f"--plan {hosts}: must be a number of hosts from 1 to {MOST_HOSTS}")
    return network.even_network(hosts, 1e-4, 125e6)
