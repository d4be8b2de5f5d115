"""Reads a run for `thalweg.analysis`: from a run record with events, or from --trace's folder."""

import math
from collections.abc import Sequence
from pathlib import Path

from thalweg import events, inputs, record
from thalweg.analysis import tables
from thalweg.analysis.tables import Names, Run
from thalweg.errors import UserError
from thalweg.events import RankEvents


def read(folder: Path, network: Path | None = None, hosts: str | None = None) -> Run:
    """Reads the events in a run's folder.

    `network`, and `hosts` as thalweg run got them, say what the links should take and which hosts
    share what; a run record knows both. Raises UserError if the folder has no events, or those of
    several runs, or the hosts aren't of the network.
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
    names_of_hosts = _hosts_of_record(folder)
    if network is None and names_of_hosts and (folder / "network.json").is_file():
        network = folder / "network.json"
    net = inputs.network(network) if network else None
    placement: Sequence[int] | None = None
    if net is not None:
        listed = names_of_hosts if hosts is None else None
        placement = (
            inputs.placement(net, listed)
            if listed
            else inputs.ranks_on(net, recorded[0].ranks, hosts)
        )
    run = tables.build(
        recorded, names, hosts=names_of_hosts, network=net, placement=placement, library=library,
        clock_error_ns=_clock_error_ns(recorded),
    )  # fmt: skip
    if run.calls.is_empty():
        raise UserError(f"{folder}: has no collective call that all its ranks recorded")
    return run


def _hosts_of_record(folder: Path) -> list[str] | None:
    """Returns each rank's host by name; None if the folder has no run record."""
    if not (folder / "run.json").is_file():
        return None
    found = record.read(folder)
    return [found.hosts[host] for host in found.placement]


def _clock_error_ns(recorded: Sequence[RankEvents]) -> float:
    """Returns by how much two hosts' clocks may differ at the end of the run; 0: not known."""
    ends = [(each.clock, each.calls["exit_ns"][-1:]) for each in recorded if len(each.calls)]
    errors = [float(clock.error(end)[0]) for clock, end in ends]
    return sum(sorted(error for error in errors if math.isfinite(error))[-2:])


def _names(folder: Path) -> tuple[Names, str]:
    """Returns what the numbers mean; a run that was aborted has no summary, but maybe a record."""
    if (folder / "summary.json").is_file():
        summary = events.read_summary(folder)
    elif (folder / "run.json").is_file():
        summary = dict(record.read(folder).description)
    else:
        return Names(), ""
    algorithms, reasons = (
        [str(name) for name in summary.get(key, [])] for key in ("algorithms", "reasons")
    )
    return Names(algorithms, reasons), str(summary.get("library", ""))
