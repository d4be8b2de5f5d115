"""Reads a run for `thalweg.analysis`: from a run record with events, or from --trace's folder."""

from collections.abc import Sequence
from pathlib import Path

from thalweg import events, inputs, record, record_folder
from thalweg import hosts as host_lists
from thalweg.analysis import tables
from thalweg.analysis.tables import Names, Run
from thalweg.errors import UserError
from thalweg.files import is_file, is_folder


def read(
    folder: Path,
    network: Path | None = None,
    hosts: str | None = None,
    *,
    nonblocking: bool = False,
) -> Run:
    """Reads the events in a run's folder.

    `network`, and `hosts` as thalweg run got them, say what the links should take and which hosts
    share what; a run record knows both. `nonblocking`: whether nonblocking calls are wanted, too.
    Raises UserError if the folder has no events, or those of several runs or of another one than
    the record's, or the hosts aren't of the network or have too few slots for the run.
    """
    if is_file(folder):
        raise UserError(f"{folder} is a file, not the folder of a run")
    if not is_folder(folder):
        raise UserError(f"{folder}: no such folder; thalweg run --trace {folder} makes one")
    known = record.read(folder) if (folder / record_folder.DESCRIPTION).is_file() else None
    recorded = events.read_all(
        folder, [known.clocks[host] for host in known.placement] if known else ()
    )
    if len({each.ranks for each in recorded}) > 1 or len(recorded) != recorded[0].ranks:
        raise UserError(
            f"{folder}: holds events of several runs, of {recorded[0].ranks} ranks and others: "
            "give each run a folder of its own"
        )
    if known is not None and recorded[0].run not in (0, known.number):
        raise UserError(
            f"{folder}: its events are of another run than run.json; remove its files "
            "rank-*.events, and give each run a folder of its own"
        )
    names, library, dilation = _known(folder, known)
    names_of_hosts = known.host_of_rank if known else None
    if network is None and names_of_hosts and (folder / record_folder.NETWORK).is_file():
        network = folder / record_folder.NETWORK
    net = inputs.network(network) if network else None
    if net is None and hosts is not None:
        names_of_hosts = host_lists.placement(host_lists.parse(hosts), recorded[0].ranks)
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
        clock_errors_ns=[each.clock_error_ns for each in recorded], dilation=dilation,
        nonblocking=nonblocking,
    )  # fmt: skip
    if run.calls.is_empty() and run.nonblocking:
        raise UserError(
            f"{folder}: has only nonblocking calls, in which the program may compute, so that they "
            "don't say who is waited for; `thalweg export` writes them"
        )
    if run.calls.is_empty():
        raise UserError(f"{folder}: has no collective call that all its ranks recorded")
    return run


def _known(folder: Path, known: record.Run | None) -> tuple[Names, str, float]:
    """Returns what the numbers mean, the MPI library, and how many times slower than the network
    file says a lab was; a run that was aborted has no summary, but maybe a record."""
    if (folder / record_folder.SUMMARY).is_file():
        summary = events.read_summary(folder)
    elif known is not None:
        summary = dict(known.description)
    else:
        return Names(), "", 1.0
    algorithms, reasons = (
        [str(name) for name in summary.get(key, [])] for key in ("algorithms", "reasons")
    )
    library = str(summary.get("library", ""))
    return Names(algorithms, reasons), library, record.dilation_of(summary)
