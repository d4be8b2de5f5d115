"""Reads what a run left for `thalweg.analysis`: the folder of --trace."""

from pathlib import Path

from thalweg import events, inputs
from thalweg.analysis import tables
from thalweg.analysis.tables import Names, Run
from thalweg.errors import UserError


def read(folder: Path, network: Path | None = None, hosts: str | None = None) -> Run:
    """Reads the events in a run's folder.

    `network`, and `hosts` as thalweg run got them, say what the links should take and which hosts
    share what. Raises UserError if the folder has no events, or those of several runs, or the hosts
    aren't of the network.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; thalweg run --trace {folder} makes one")
    recorded = events.read_all(folder)
    if len({each.ranks for each in recorded}) > 1 or len(recorded) != recorded[0].ranks:
        raise UserError(
            f"{folder}: holds events of several runs, of {recorded[0].ranks} ranks and others: "
            "give each run a folder of its own"
        )
    names, library = _names(folder)
    net = inputs.network(network) if network else None
    placement = inputs.ranks_on(net, recorded[0].ranks, hosts) if net else None
    run = tables.build(recorded, names, network=net, placement=placement, library=library)
    if run.calls.is_empty():
        raise UserError(f"{folder}: has no collective call that all its ranks recorded")
    return run


def _names(folder: Path) -> tuple[Names, str]:
    """Returns what the numbers mean; a run that was aborted has no summary."""
    if not (folder / "summary.json").is_file():
        return Names(), ""
    summary = events.read_summary(folder)
    algorithms, reasons = (
        [str(name) for name in summary.get(key, [])] for key in ("algorithms", "reasons")
    )
    return Names(algorithms, reasons), str(summary.get("library", ""))
