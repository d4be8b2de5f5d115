"""`thalweg probe`: what the user asked for, measured by thalweg.probe."""

from pathlib import Path

from thalweg import probe, show, units
from thalweg.errors import UserError
from thalweg.run import Request, choose_hosts, choose_launcher


def run(request: Request, output: Path, *, budget: str, base: Path | None, json: bool) -> int:
    """Measures, writes the network file and shows what it says."""
    seconds = units.parse_time(budget)
    if seconds <= 0:
        raise UserError("--budget 0 leaves no time to measure; try 30s")
    if base and not base.is_file():
        raise UserError(f"network {base}: no such file; leave out --base to measure anew")
    if not output.absolute().parent.is_dir():
        raise UserError(f"{output}: there is no folder {output.parent}")
    probe.run(choose_hosts(request), output, choose_launcher(request), budget=seconds, base=base)
    return show.run(output, views=[], grouping=show.Grouping(), json=json)
