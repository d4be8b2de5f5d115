"""A page's part about ranks that were placed: the launcher's order beside the placement."""

from collections.abc import Mapping

from thalweg import (
    communication,
    host_names,
    matrices,
    past_runs,
    placement_picture,
    record,
)
from thalweg.mapping import Communication
from thalweg.network import Network
from thalweg.placement_picture import NamedPlacement
from thalweg.report import elements
from thalweg.report.elements import Block, Section

MOST_CELLS = 64
"""Most rows and columns of a matrix: each cell is a part of the page."""


def sections(run: record.Run, network: Network | None) -> list[Section]:
    """Nothing unless the ranks were placed otherwise than the launcher would."""
    usual = past_runs.launcher_order(run)
    if usual is None:
        return []
    matrix = matrices.of_record(run)
    before = NamedPlacement("in the launcher's order", usual)
    after = NamedPlacement("as placed", run.host_of_rank)
    sites = placement_picture.sites(network) if network else {}
    hosts = list(dict.fromkeys([*before.hosts, *after.hosts]))
    named = zip(hosts, host_names.as_in(hosts, list(sites)), strict=True)
    of_hosts = {host: sites[name] for host, name in named if name in sites}
    site_of = placement_picture.known(of_hosts, before, after)
    moved = sum(a != b for a, b in zip(before.hosts, after.hosts, strict=True))
    said = f"{moved} of {run.ranks} ranks ran on another host than in the launcher's order. "
    if not len(matrix.sender):
        said += "The program sent nothing point to point: only its collectives can gain by that."
        return [Section("Placement", [elements.text(said)])]
    said += (
        "What the program sent point to point in this run, as it went, and as it would have gone "
        "in the launcher's order:"
    )
    shown = [elements.text(said), *_pictures(matrix, before, after, site_of)]
    return [Section("Placement", shown)]


def _pictures(
    matrix: Communication, before: NamedPlacement, after: NamedPlacement, site_of: Mapping[str, str]
) -> list[Block]:
    quantity = communication.usual(matrix)
    sums = [
        placement_picture.traffic(matrix, quantity, each.hosts, site_of) for each in (before, after)
    ]
    return [
        elements.drawing(
            "Communication matrix and traffic, before and after",
            placement_picture.placement(matrix, before, after, site_of, MOST_CELLS),
            f"Both matrices of {quantity}, with ranks by host and hosts as blocks; below them bars "
            "of what goes inside hosts, between hosts and between sites, as in the table below.",
            note="Thin frames are hosts, bold ones sites.",
        ),
        elements.table(
            "Traffic over the hierarchy in numbers",
            [
                ("where", "text"),
                *(
                    (each.name, "size" if quantity == "bytes" else "count")
                    for each in (before, after)
                ),
            ],
            [(place, sums[0][place], sums[1][place]) for place in sums[0]],
        ),
    ]
