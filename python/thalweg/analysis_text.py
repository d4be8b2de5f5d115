"""What an analysis found, as tables for people and as JSON."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
from rich.table import Table

from thalweg import console, units
from thalweg.analysis import paths, stages, waits, words
from thalweg.analysis.findings import Findings
from thalweg.printable import plural, ranges
from thalweg.units import ns_to_text

MOST = 10
"""Most rows of a table of many."""


def show(found: Findings) -> Iterator[Any]:
    """Yields renderables: the verdict in words, then tables."""
    run = found.run
    yield from words.sentences(found.verdict)
    yield ""
    yield (
        f"{plural(run.ranks, 'rank')} on {plural(len(set(run.hosts)), 'host')}, "
        f"{plural(int(found.shapes['calls'].sum()), 'call')}"
        + (f"; clocks agree within {ns_to_text(run.clock_error_ns)}" if run.clock_error_ns else "")
        + (
            f"; {plural(run.left_out, 'call')} left out, of which records are missing"
            if run.left_out
            else ""
        )
    )
    if run.nonblocking:
        yield words.left_out(run.nonblocking)
    for part in _parts(found):
        yield ""
        yield part


def _parts(found: Findings) -> Iterator[Any]:
    yield _shapes(found)
    if not found.causes.is_empty():
        yield _causes(found)
    if not found.busy.is_empty():
        yield _busy(found)
    if not found.waits.is_empty():
        yield _waits(found)
    if not found.breakdown.is_empty():
        yield _breakdown(found)
    yield from _groups(found)
    yield from _imbalance(found)
    if not found.links.is_empty() and found.run.network is not None:
        yield _links(found)
    yield _outliers(found)


def _table(title: str, columns: Sequence[str]) -> Table:
    return console.table(*columns, title=title, left=[0])


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _shapes(found: Findings) -> Table:
    table = _table("Calls", ["collective", "calls", "algorithm", "usual", "total"])
    for row in found.shapes.head(MOST).iter_rows(named=True):
        name = words.shape_name(row["kind"], row["size"], row["ranks"])
        how = row["algorithm"] if row["planned"] else f"native ({row['reason']})"
        times = (ns_to_text(row["usual"]), ns_to_text(row["total"]))
        table.add_row(name, str(row["calls"]), how, *times)
    return table


def _causes(found: Findings) -> Table:
    table = _table("What ranks waited for in planned calls", ["collective", *paths.CAUSES])
    for row in found.causes.iter_rows(named=True):
        total = sum(row[name] for name in paths.CAUSES) or 1
        table.add_row(row["kind"], *(_percent(row[name] / total) for name in paths.CAUSES))
    return table


def _busy(found: Findings) -> Table:
    table = _table("Who kept links busy", ["what", "with messages", "of", "waited for"])
    for row in found.busy.head(MOST).iter_rows(named=True):
        link = f"{row['from_host']} -> {row['to_host']}" if row["from_host"] else "not known"
        whose = "the same call" if row["same_call"] else "another call"
        table.add_row(row["resource"], link, whose, ns_to_text(row["time"]))
    return table


def _waits(found: Findings) -> Table:
    columns = ["wait state", "collective", "times", "mean", "total", "for whom", "because it"]
    table = _table("Wait states", columns)
    for row in found.waits.head(MOST).iter_rows(named=True):
        nobody = row["culprit"] is None
        whom = "-" if nobody else f"rank {row['culprit']} ({_percent(row['share'])})"
        planned = "" if row["planned"] else " (native)"
        table.add_row(
            row["state"], row["kind"] + planned, str(row["times"]), ns_to_text(row["mean"]),
            ns_to_text(row["total"]), whom, waits.why_late(row) or "-",
        )  # fmt: skip
    return table


def _breakdown(found: Findings) -> Table:
    """Tables the costliest shape that is a tree."""
    shape, name = _tree_shape(found)
    table = _table(f"Stages of {name}, means per rank", ["where", "stage", "mean"])
    for row in found.breakdown.filter(pl.col("shape") == shape).head(MOST).iter_rows(named=True):
        table.add_row(row["where"], row["stage"].replace("_", " "), ns_to_text(row["mean"]))
    return table


def _tree_shape(found: Findings) -> tuple[int, str]:
    trees = found.shapes.join(found.breakdown.select("shape").unique(), on="shape", how="semi")
    row = trees.sort("ranks_ns", descending=True).row(0, named=True)
    return row["shape"], words.shape_name(row["kind"], row["size"])


def _groups(found: Findings) -> Iterator[Any]:
    planned = found.shapes.filter(pl.col("planned"))
    if planned.is_empty():
        return
    row = planned.row(0, named=True)
    name = words.shape_name(row["kind"], row["size"])
    table = _table(f"Ranks alike in {name}", ["ranks", "representative", "mean", "mostly"])
    for group in found.groups[row["shape"]][:MOST]:
        mostly = max(group.mean.items(), key=lambda item: item[1])
        share = mostly[1] / group.total if group.total else 0
        table.add_row(ranges(group.ranks), str(group.representative), ns_to_text(group.total),
                      f"{mostly[0]} ({_percent(share)})")  # fmt: skip
    yield table


def _imbalance(found: Findings) -> Iterator[Any]:
    kinds = dict(found.shapes.select("shape", "kind").iter_rows())
    table = _table(
        "Last arrivals: from the root to who is waited for", ["collective", "path", "last"]
    )
    for each in found.imbalance[:MOST]:
        path = " <- ".join(str(rank) for rank in each.path)
        counts = ", ".join(f"{count:.0f} of {each.calls}" for count in each.counts)
        table.add_row(kinds[each.shape], path, counts)
    if found.imbalance:
        yield table


def _links(found: Findings) -> Table:
    columns = ["link", "messages", "expected", "measured", "ratio"]
    table = _table("Links farthest above what the network file says", columns)
    for row in found.links.head(MOST).iter_rows(named=True):
        table.add_row(f"{row['from_host']} -> {row['to_host']}", str(row["messages"]),
                      ns_to_text(row["expected"]), ns_to_text(row["took"]),
                      f"{math.exp(row['log_ratio']):.2f}")  # fmt: skip
    return table


def _outliers(found: Findings) -> str:
    late = found.outliers
    if late.is_empty():
        return "No call took much longer than others like it."
    cost = ns_to_text(float(late["cost"].sum()))
    text = f"{plural(len(late), 'call')} took much longer than others like them, {cost} in all"
    culprits = late.drop_nulls("culprit").group_by("culprit").agg(pl.len(), pl.col("cost").sum())
    for rank, times, of_rank in culprits.iter_rows():
        if 2 * of_rank > late["cost"].sum():
            text += f"; {times} of them waited for rank {rank}"
    if found.period:
        text += f"; they return every {units.time_to_text(found.period.seconds)}"
    return text + "."


def document(found: Findings) -> dict[str, Any]:
    """Returns everything as JSON, times in seconds."""
    verdict = found.verdict
    return {
        "verdict": words.sentences(verdict),
        "suspects": [
            {"fault": each.fault, "culprit": each.culprit, "at_fault": each.fault.at_fault,
             "cost": each.cost_ns * 1e-9, "share": each.share, "ranks": list(each.ranks)}
            for each in verdict.suspects
        ],
        "shares": verdict.shares,
        "ranks": found.run.ranks,
        "left_out": found.run.left_out,
        "nonblocking": found.run.nonblocking,
        "clock_error": found.run.clock_error_ns * 1e-9 or None,
        "calls": _records(found.shapes, ["usual", "total", "ranks_ns"]),
        "causes": _records(found.causes, list(paths.CAUSES)),
        "busy": _records(found.busy, ["time"]),
        "waits": _records(found.waits, ["total", "mean", "blamed", "computed", "came_late"]),
        "stages": _records(
            found.stages, [*stages.STAGES, *(f"{name}_deviation" for name in stages.STAGES)]
        ),
        "breakdown": _records(found.breakdown, ["mean"]),
        "serialisation": _records(found.serialisation, ["delay", "slope"]),
        "imbalance": [
            {"shape": each.shape, "path": list(each.path), "last": list(each.counts),
             "calls": each.calls} for each in found.imbalance
        ],
        "groups": [
            {"shape": shape, "ranks": list(group.ranks), "representative": group.representative,
             "mean": group.total * 1e-9}
            for shape, groups in found.groups.items() for group in groups
        ],
        "links": _records(found.links, ["expected", "took"]),
        "outliers": _records(
            found.outliers.select(
                "call", "kind", "size", "took", "usual", "waited", "culprit", "cost"
            ),
            ["took", "usual", "waited", "cost"],
        ),
        "period": found.period.seconds if found.period else None,
    }  # fmt: skip


def _records(table: pl.DataFrame, times: Sequence[str]) -> list[dict[str, Any]]:
    renamed = {"ranks_ns": "ranks_time"}
    seconds = table.with_columns((pl.col(name) * 1e-9) for name in times)
    finite = seconds.with_columns(
        pl.when(pl.col(name).is_finite()).then(pl.col(name)).otherwise(None).alias(name)
        for name, kind in seconds.schema.items() if kind.is_float()
    )  # fmt: skip
    return finite.rename(
        {old: new for old, new in renamed.items() if old in table.columns}
    ).to_dicts()
