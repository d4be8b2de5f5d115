"""What a page says about a run record, with or without events: calls, ranks, messages and links."""

from collections.abc import Sequence

import numpy as np

from thalweg import matrices, record, units
from thalweg.communication import where_collectives_are
from thalweg.report import bins, elements
from thalweg.report.bins import Bins, Floats, Numbers
from thalweg.report.elements import Axis, Block, Layer, Section


def ranks(run: record.Run, sites: Sequence[str]) -> Bins:
    """Rows for the run's ranks."""
    return bins.of_ranks(run.host_of_rank, sites)


def _predicted(rows: np.ndarray, name: str) -> float | None:
    """Returns what is predicted of a call on average; None if it isn't known of all."""
    if not (rows["planned"] == 1).all() or not (rows[name] > 0).all():
        return None
    return float(rows[name].sum()) / int(rows["calls"].sum())


def calls(run: record.Run) -> Block:
    """Calls by collective, size and plan, the costliest first."""
    table = run.calls
    keys = ["collective", "size_class", "planned", "algorithm", "reason", "nonblocking"]
    groups, where = np.unique(table[keys], return_inverse=True)
    rows = []
    for at, key in enumerate(groups):
        own = table[where == at]
        count, seconds = int(own["calls"].sum()), float(own["seconds"].sum())
        kind = ("nonblocking " if key["nonblocking"] else "") + run.name_of(
            "collectives", key["collective"]
        )
        rows.append(
            (
                kind,
                float(own["bytes"].sum()) / count,
                count / max(len(run.parts), 1),
                _plan(run, key),
                seconds / count,
                float(own["most"].max()),
                seconds / max(len(run.parts), 1),
                _predicted(own, "native"),
                _predicted(own, "bound"),
            )
        )
    rows.sort(key=lambda row: -row[6])
    return elements.table(
        "Calls by collective, size and plan, the costliest first",
        [
            ("collective", "text"),
            ("mean size", "size"),
            ("calls of a rank", "count"),
            ("plan", "text"),
            ("mean time", "time"),
            ("longest", "time"),
            ("total of a rank", "time"),
            ("native, predicted", "time"),
            ("limit", "time"),
        ],
        [(*row[:2], _short(row[2]), *row[3:]) for row in rows],
        note="Times are from a rank's entry to its exit, waiting for late ranks included. Sizes "
        "are grouped by powers of two.",
    )


def _short(calls: float) -> float:
    """Returns a mean number of calls, which may be less than one, without digits that say
    nothing."""
    return round(calls, 2 if calls < 10 else None)


def _plan(run: record.Run, key: np.void) -> str:
    if key["planned"]:
        return run.name_of("algorithms", key["algorithm"])
    return f"native ({run.name_of('reasons', key['reason'])})"


def costliest(run: record.Run) -> list[tuple[str, int, int, str]]:
    """Returns collective, mean size, root and algorithm of the three kinds of planned calls of all
    ranks that took the most time."""
    table = run.blocking_calls
    table = table[(table["planned"] == 1) & (table["ranks"] == run.ranks)]
    keys = ["collective", "size_class", "root", "algorithm"]
    groups, where = np.unique(table[keys], return_inverse=True)
    spent = np.bincount(where, table["seconds"], minlength=len(groups))
    found = []
    for at in np.argsort(-spent, kind="stable")[:3]:
        own, key = table[where == at], groups[at]
        size = int(own["bytes"].sum() // max(int(own["calls"].sum()), 1))
        names = (
            run.name_of("collectives", key["collective"]),
            run.name_of("algorithms", key["algorithm"]),
        )
        found.append((names[0], size, int(key["root"]), names[1]))
    return found


def time_by_rank(run: record.Run, rows: Bins) -> list[Block]:
    """A heatmap of ranks by collectives, and a table of ranks."""
    table = run.blocking_calls
    if not len(table):
        return []
    kinds, kind_of = np.unique(table["collective"], return_inverse=True)
    spent = np.zeros((run.ranks, len(kinds)))
    np.add.at(spent, (table["rank"], kind_of), table["seconds"])
    values = np.full((rows.count, len(kinds)), np.nan)
    here = np.zeros(run.ranks, bool)
    here[[part.rank for part in run.parts]] = True
    for row in range(rows.count):
        own = (rows.of == row) & here
        if own.any():
            values[row] = spent[own].mean(axis=0)
    names = [run.name_of("collectives", kind) for kind in kinds]
    per_rank = spent.sum(axis=1)
    order = [rank for rank in np.argsort(-per_rank, kind="stable") if here[rank]]
    left_out = len(order) - len(_ends(order))
    what = "" if rows.single else " Means over the ranks of a row."
    return [
        elements.heatmap(
            "Time in collectives by rank",
            rows.axis("ranks"),
            Axis("collectives", names),
            [Layer("seconds", "time", values, "sqrt")],
            link="ranks",
            by_row=True,
            note=f"Who spends less than the others is probably waited for.{what}",
        ),
        elements.table(
            "Ranks, by their time in collectives",
            [("rank", "count"), ("host", "text"), ("in collectives", "time"), ("calls", "count")],
            [
                (
                    int(rank),
                    run.host_of_rank[rank],
                    float(per_rank[rank]),
                    int(table["calls"][table["rank"] == rank].sum()),
                )
                for rank in _ends(order)
            ],
            keys=[f"{rows.of[rank]}," for rank in _ends(order)],
            link="ranks",
            note=f"{left_out} ranks in between are left out." if left_out else "",
        ),
    ]


def _ends(order: Sequence[int]) -> Sequence[int]:
    """The first and the last of many: both are worth a look."""
    half = elements.MOST_ROWS // 2
    return order if len(order) <= 2 * half else [*order[:half], *order[-half:]]


def communication(run: record.Run, rows: Bins) -> Section:
    """The communication matrix."""
    matrix = matrices.of_record(run)
    sender, receiver = matrix.sender, matrix.receiver
    messages, nbytes = matrix.messages, matrix.nbytes
    title = "Messages of the program"
    if not len(sender):
        said = f"The program sent nothing from rank to rank{where_collectives_are(run)}."
        return Section(title, [elements.text(said)])
    layers = [
        Layer("bytes", "size", bins.total(rows, sender, receiver, nbytes)),
        Layer("messages", "count", bins.total(rows, sender, receiver, messages)),
    ]
    where = np.asarray(run.placement)
    across = where[sender] != where[receiver]
    outside = int(run.matrix.messages[run.matrix.receiver >= run.ranks].sum())
    what = "" if rows.single else "Ranks of a host are together. "
    note = f"{what}Lines separate {'sites' if rows.groups == rows.sites else 'hosts'}."
    if outside:
        note += f" {outside} messages went to processes outside MPI_COMM_WORLD."
    return Section(
        title,
        [
            elements.text(
                f"{_count(messages.sum())} messages with "
                f"{units.size_to_text(round(nbytes.sum()))} in all, of which "
                f"{100 * nbytes[across].sum() / max(nbytes.sum(), 1):.0f} % went to another host. "
                "Blocks of collectives of neighbourhoods and accesses to other ranks' memory are "
                "in it, other collectives aren't."
            ),
            elements.heatmap(
                "Communication matrix",
                rows.axis("from"),
                rows.axis("to"),
                layers,
                link="messages",
                note=note,
            ),
            _pairs(run, rows, sender, receiver, messages, nbytes),
        ],
    )


def _pairs(
    run: record.Run,
    rows: Bins,
    sender: Numbers,
    receiver: Numbers,
    messages: Floats,
    nbytes: Floats,
) -> Block:
    """A table of the pairs of ranks that sent the most bytes."""
    hosts = run.host_of_rank
    first = np.argsort(-nbytes, kind="stable")[: elements.MOST_ROWS]
    left_out = len(sender) - len(first)
    return elements.table(
        "Pairs of ranks, the most bytes first",
        [
            ("from", "count"),
            ("on", "text"),
            ("to", "count"),
            ("on", "text"),
            ("messages", "count"),
            ("bytes", "size"),
        ],
        [
            (
                int(sender[at]),
                hosts[sender[at]],
                int(receiver[at]),
                hosts[receiver[at]],
                int(messages[at]),
                float(nbytes[at]),
            )
            for at in first
        ],
        keys=[f"{rows.of[sender[at]]},{rows.of[receiver[at]]}" for at in first],
        link="messages",
        note=f"{left_out} further pairs are left out." if left_out else "",
    )


def links(run: record.Run) -> list[Block]:
    """Planned transfers between hosts, as all runs have them."""
    found = run.links
    if not len(found):
        return []
    rows = bins.of_hosts(run.hosts, range(len(run.hosts)))
    ratio = np.divide(
        found["observed"],
        found["predicted"],
        out=np.full(len(found), np.nan),
        where=found["predicted"] > 0,
    )
    order = np.argsort(-np.nan_to_num(ratio, nan=-1), kind="stable")
    layers = [
        Layer(
            "bytes",
            "size",
            bins.total(rows, found["from"], found["to"], found["bytes"].astype(float)),
        ),
        Layer(
            "transfers",
            "count",
            bins.total(rows, found["from"], found["to"], found["transfers"].astype(float)),
        ),
    ]
    return [
        elements.heatmap(
            "Data of planned collectives between hosts",
            rows.axis("from"),
            rows.axis("to"),
            layers,
            link="links",
        ),
        elements.table(
            "Transfers of planned collectives by link",
            [
                ("from", "text"),
                ("to", "text"),
                ("transfers", "count"),
                ("bytes", "size"),
                ("mean time", "time"),
                ("expected", "time"),
                ("ratio", "ratio"),
                ("one way", "time"),
                ("error of clocks", "time"),
            ],
            [
                (
                    run.hosts[each["from"]],
                    run.hosts[each["to"]],
                    int(each["transfers"]),
                    float(each["bytes"]),
                    float(each["observed"] / each["transfers"]),
                    float(each["predicted"] / each["transfers"]) if each["predicted"] > 0 else None,
                    float(ratio[at]),
                    float(each["one_way"]),
                    float(each["one_way_error"]),
                )
                for at, each in zip(order, found[order], strict=True)
            ],
            keys=[f"{rows.of[each['from']]},{rows.of[each['to']]}" for each in found[order]],
            link="links",
            note="Time: a receiver's, from posting to completion, in which it may wait for a late "
            "sender. Expected: of a lone message, by the network file. One way: from posting at "
            "the sender, by aligned clocks.",
        ),
    ]


def _count(value: float) -> str:
    return f"{round(value):,}"
