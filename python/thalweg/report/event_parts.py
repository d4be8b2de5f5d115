"""What a page says about a run with events: causes, ranks that are late, waits, links."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from thalweg import units
from thalweg.analysis import paths, timemaps
from thalweg.analysis.findings import Findings
from thalweg.analysis.timemaps import Lateness
from thalweg.analysis.waits import why_late, with_lateness
from thalweg.analysis.words import shape_name
from thalweg.printable import ranges
from thalweg.report import bins, elements
from thalweg.report.elements import Axis, Block, Layer

MOST_PATHS = 4
NS = 1e-9
"""Seconds of a nanosecond: the analysis has nanoseconds, pages have seconds."""


def name_of(row: Mapping[str, Any]) -> str:
    """Returns the name of a row of `Findings.shapes`."""
    return shape_name(row["kind"], row["size"], row["ranks"])


def causes(found: Findings) -> list[Block]:
    """What ranks waited for, by collective."""
    table = found.causes
    if table.is_empty():
        return []
    values = table.select(paths.CAUSES).to_numpy().astype(float)
    shares = values / np.maximum(values.sum(axis=1, keepdims=True), 1)
    used = [at for at in range(len(paths.CAUSES)) if shares[:, at].max() > 0]
    return [
        elements.heatmap(
            "What ranks waited for in planned calls",
            Axis("collectives", table["kind"].to_list()),
            Axis("causes", [paths.CAUSES[at] for at in used]),
            [
                Layer("share of the time", "share", shares[:, used], "linear"),
                Layer("time of all ranks", "time", NS * values[:, used], "sqrt"),
            ],
            note="The path of each rank's call is followed back through messages and ranks, so "
            "that all of its time has a cause.",
        )
    ]


def shapes(found: Findings) -> Block:
    """Calls that are alike, by the time from the last entry to the last exit."""
    rows = [
        (
            row["kind"],
            row["size"],
            row["ranks"],
            row["calls"],
            row["algorithm"] if row["planned"] else f"native ({row['reason']})",
            NS * row["usual"],
            NS * row["total"],
        )
        for row in found.shapes.iter_rows(named=True)
    ]
    return elements.table(
        "Calls that are alike, the costliest first",
        [
            ("collective", "text"),
            ("size", "size"),
            ("ranks", "count"),
            ("calls", "count"),
            ("plan", "text"),
            ("usual time", "time"),
            ("total", "time"),
        ],
        rows,
        note="Times are from the last rank's entry to the last rank's exit: late ranks don't "
        "count.",
    )


def lateness(found: Findings) -> list[Block]:
    """Ranks by calls, and a table of ranks by their lateness."""
    run = found.run
    late = timemaps.lateness(run, rows=bins.MOST // 2, columns=bins.MOST)
    row_of = {rank: row for row, members in enumerate(late.ranks) for rank in members}
    last = pl.col("enter") == pl.col("enter").max().over("call")
    by_rank = (
        with_lateness(run)
        .with_columns(last.alias("last"))
        .group_by("rank")
        .agg(
            pl.col("computed").clip(0).sum().alias("total"),
            pl.col("computed").max().alias("most"),
            pl.col("last").sum(),
            pl.len().alias("calls"),
        )
        .sort("total", "rank", descending=[True, False])
    )
    is_single = all(len(each) == 1 for each in late.ranks) and len(late.calls) == _calls(found)
    return [
        elements.heatmap(
            "How late ranks' programs came to calls",
            *axes(late),
            [Layer("late", "time", NS * late.late, "sqrt")],
            link="late",
            by_row=True,
            note="A rank that is always late is a line, one that changes is scattered."
            + ("" if is_single else " Cells show the most of several."),
        ),
        elements.table(
            "Ranks, the latest first",
            [
                ("rank", "count"),
                ("host", "text"),
                ("late in all", "time"),
                ("most", "time"),
                ("was last", "count"),
                ("calls", "count"),
            ],
            [
                (
                    row["rank"],
                    run.hosts[row["rank"]],
                    NS * row["total"],
                    NS * max(row["most"] or 0, 0),
                    row["last"],
                    row["calls"],
                )
                for row in by_rank.iter_rows(named=True)
            ],
            keys=[f"{row_of[rank]}," for rank in by_rank["rank"]],
            link="late",
            note="Late: by how much longer than the median rank it took since its last collective.",
        ),
    ]


def axes(late: Lateness) -> tuple[Axis, Axis]:
    """Returns the ranks and the calls of a heatmap of lateness."""
    ranks = [
        f"rank {each[0]}" if len(each) == 1 else f"ranks {each[0]} to {each[-1]}"
        for each in late.ranks
    ]
    calls = [f"call {a}" if a == b else f"calls {a} to {b}" for a, b in late.calls]
    return Axis("ranks", ranks), Axis("calls", calls)


def _calls(found: Findings) -> int:
    return int(found.shapes["calls"].sum())


def imbalance(found: Findings) -> list[Block]:
    """The paths of last arrivals: whom the ranks of a tree wait for."""
    names = {row["shape"]: name_of(row) for row in found.shapes.iter_rows(named=True)}
    spent = dict(found.shapes.select("shape", "ranks_ns").iter_rows())
    ordered = sorted(found.imbalance, key=lambda each: -spent.get(each.shape, 0))
    blocks = []
    for each in ordered[:MOST_PATHS]:
        steps = []
        for at, (rank, count) in enumerate(zip(each.path, each.counts, strict=True)):
            end = at == len(each.path) - 1
            whom = "its own program" if end else f"rank {each.path[at + 1]}"
            steps.append(
                (
                    f"rank {rank} ({found.run.hosts[rank]})",
                    f"{whom} came last in {count:.0f} of {each.calls} calls",
                    count / max(each.calls, 1),
                )
            )
        blocks.append(
            elements.path(
                f"Load imbalance in {names[each.shape]}: from the root to who is waited for",
                steps,
                note="At each node of the tree the contributor that most often arrived last; the "
                "last box is the rank that the others wait for.",
            )
        )
    return blocks


def groups(found: Findings) -> list[Block]:
    """Ranks of like behaviour in the costliest planned calls."""
    planned = found.shapes.filter(pl.col("planned"))
    if planned.is_empty():
        return []
    row = planned.row(0, named=True)
    rows = []
    for group in found.groups.get(row["shape"], []):
        cause, time = max(group.mean.items(), key=lambda item: item[1])
        rows.append(
            (
                ranges(group.ranks),
                len(group.ranks),
                group.representative,
                NS * group.total,
                cause,
                time / group.total if group.total else None,
            )
        )
    return [
        elements.table(
            f"Ranks that behave alike in {name_of(row)}",
            [
                ("ranks", "text"),
                ("how many", "count"),
                ("representative", "count"),
                ("mean time", "time"),
                ("mostly", "text"),
                ("share", "share"),
            ],
            rows,
        )
    ]


def waits(found: Findings) -> list[Block]:
    """Wait states, outliers, and nodes that serialise."""
    blocks = []
    rows = []
    for row in found.waits.iter_rows(named=True):
        rows.append(
            (
                row["state"],
                row["kind"],
                "planned" if row["planned"] else "native",
                row["times"],
                NS * row["mean"],
                NS * row["total"],
                row["culprit"],
                row["share"],
                why_late(row),
            )
        )
    if rows:
        blocks.append(
            elements.table(
                "Wait states, by Scalasca's names",
                [
                    ("state", "text"),
                    ("collective", "text"),
                    ("plan", "text"),
                    ("times", "count"),
                    ("mean", "time"),
                    ("total", "time"),
                    ("for rank", "count"),
                    ("its share", "share"),
                    ("because it", "text"),
                ],
                rows,
            )
        )
    blocks.append(_outliers(found))
    return blocks


def _outliers(found: Findings) -> Block:
    late = found.outliers.sort("cost", descending=True)
    if late.is_empty():
        return elements.text("No call took much longer than others like it.")
    note = f"They cost {units.ns_to_text(float(late['cost'].sum()))} in all."
    if found.period:
        note += f" They return every {units.time_to_text(found.period.seconds)}."
    first = found.run.calls["enter"].min()
    return elements.table(
        "Calls that took much longer than others like them",
        [
            ("call", "count"),
            ("collective", "text"),
            ("size", "size"),
            ("after", "time"),
            ("took", "time"),
            ("usual", "time"),
            ("waited", "time"),
            ("for rank", "text"),
            ("cost", "time"),
        ],
        [
            (
                row["call"],
                row["kind"],
                row["size"],
                NS * (row["begin"] - first),
                NS * row["took"],
                NS * row["usual"],
                NS * row["waited"],
                "" if row["culprit"] is None else str(row["culprit"]),
                NS * row["cost"],
            )
            for row in late.iter_rows(named=True)
        ],
        note=note,
    )


def links(found: Findings) -> list[Block]:
    """Links against what the network lets expect."""
    table = found.links
    if table.is_empty() or found.run.network is None:
        return []
    hosts = list(dict.fromkeys(found.run.hosts))
    number = {host: at for at, host in enumerate(hosts)}
    rows = bins.of_hosts(hosts, range(len(hosts)))
    ratio = np.exp(table["log_ratio"].to_numpy())
    ends = [[number[name] for name in table[end].to_list()] for end in ("from_host", "to_host")]
    most = np.full((rows.count, rows.count), np.nan)
    np.fmax.at(most, (rows.of[ends[0]], rows.of[ends[1]]), ratio)
    keys = [f"{rows.of[a]},{rows.of[b]}" for a, b in zip(*ends, strict=True)]
    return [
        elements.heatmap(
            "Time of messages against what the network file lets expect",
            rows.axis("from"),
            rows.axis("to"),
            [Layer("ratio", "ratio", most)],
            link="ratios",
            note="1: as expected. Other messages on the same capacities are allowed for."
            + ("" if rows.single else " Cells show the worst of several links."),
        ),
        elements.table(
            "Links, the slowest against the network file first",
            [
                ("from", "text"),
                ("to", "text"),
                ("messages", "count"),
                ("expected", "time"),
                ("took", "time"),
                ("ratio", "ratio"),
            ],
            [
                (
                    row["from_host"],
                    row["to_host"],
                    row["messages"],
                    NS * row["expected"],
                    NS * row["took"],
                    float(np.exp(row["log_ratio"])),
                )
                for row in table.iter_rows(named=True)
            ],
            keys=keys,
            link="ratios",
        ),
    ]
