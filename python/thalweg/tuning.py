"""Advice from a run: moves that make a collective's tree faster, each with its predicted effect.

A tree that a run used is taken from its messages. Moves along its critical path are simulated on
the run's network, corrected by what the run's own messages took, and the best one is made, until
none gains. (Reconfiguration, as Bongo, Anshus and Bjørndalen did it by hand, docs/papers.md.)
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from thalweg import hierarchy, operations, planner, wisdom
from thalweg.analysis import links, stages
from thalweg.analysis.tables import SHAPE, Run
from thalweg.collective import Kind, parse_kind
from thalweg.errors import UserError
from thalweg.knowledge import is_quick
from thalweg.network import NativeTime, Network, host_numbers
from thalweg.plans import ESTIMATE, NORMAL, Setting
from thalweg.tree_search import LEAST_GAIN, Move, Search, Tree

KINDS = (Kind.bcast, Kind.reduce, Kind.allreduce, Kind.barrier)
"""Collectives whose calls of a size have one tree, in which each message has all data."""
LEAST_SHARE = 0.01
"""Collectives that take a smaller share of the time in planned calls are left as they are."""
FEWEST = 4
"""Messages of a link by which it may be corrected: of fewer, chance can't be told."""
CLEAR = 3.0
"""Standard errors by which a link's times must differ from the network's."""
MATTERS = 1.2
"""Times by which they must differ; less hardly changes what is best."""
BUDGET = 10.0
"""Seconds of search for each collective."""


@dataclass(frozen=True)
class Correction:
    """A link whose messages took `ratio` times what the network file says; "" is all others."""

    from_host: str
    to_host: str
    ratio: float


@dataclass(frozen=True)
class Advice:
    """What to do about a collective."""

    kind: Kind
    size: int
    root: int
    calls: int
    observed: float
    """Median seconds of the run's calls, from the last rank's entry to the last exit."""
    used: Tree
    tuned: Tree
    before: float
    """Predicted seconds of a call with `used`."""
    moves: tuple[Move, ...]
    """From `used` to `tuned`."""
    native: float
    """Predicted seconds of the MPI library's own; infinite if unknown."""
    planned: float
    """What the planner's choice is predicted to take; infinite if that is native."""
    planned_name: str
    elsewhere: tuple[Correction, ...] = ()
    """Links that took other times than the network says, which the predictions allow for."""

    @property
    def after(self) -> float:
        """Predicted seconds of a call with `tuned`."""
        return self.moves[-1].after if self.moves else self.before

    @property
    def best(self) -> str:
        """What is predicted to be fastest: "native", "plan" or "tree"; "as is" if nothing gains."""
        times = {"tree": self.after, "plan": self.planned, "native": self.native}
        name = min(times, key=lambda each: times[each])
        # A tree is as good as what is hardly faster: it is what was measured.
        if self.after <= times[name] * (1 + LEAST_GAIN):
            name = "tree"
        return name if times[name] < self.before * (1 - LEAST_GAIN) else "as is"


def advise(run: Run, budget: float = BUDGET) -> list[Advice]:
    """Returns advice for the collectives of a run whose calls have trees, the costliest first.

    Raises UserError if the run's network isn't known, or there is no such collective.
    """
    if run.network is None:
        raise UserError("what a move would gain is simulated: give --network, and -H as in the run")
    corrected, corrections = corrected_network(run)
    found = []
    for shape in _shapes(run):
        tree = _used(run, shape["call"])
        if tree is not None:
            found.append(_advise(run, shape, tree, corrected, corrections, budget))
    if not found:
        raise UserError(
            "the run has no planned bcast, reduce, allreduce or barrier of all ranks whose "
            "messages form one tree: there is nothing to move"
        )
    return found


def corrected_network(run: Run) -> tuple[Network, list[Correction]]:
    """Returns the run's network with the links as slow, or fast, as its messages found them.

    Only differences are corrected that are well beyond their error and matter, of links with enough
    messages to tell. What all links have in common, such as a slow library or a dilated lab, is
    taken to be so for those that were not used, too, and for the MPI library's own collectives.
    Raises UserError if the network has too many hosts.
    """
    assert run.network is not None
    if len(run.network.hosts) > hierarchy.MOST_HOSTS:
        raise UserError(
            f"a network of {len(run.network.hosts):,} hosts: trees are tuned on up to "
            f"{hierarchy.MOST_HOSTS:,}; give --network one of the run's own hosts"
        )
    network = run.network.copy()
    number = host_numbers(network)
    observed = links.ratios(run).filter(pl.col("clean_messages") >= FEWEST)
    if observed.is_empty():
        return network, []
    common = float(
        observed["log_ratio"].to_numpy().mean()
        if len(observed) < 3
        else np.median(observed["log_ratio"].to_numpy())
    )
    general = math.exp(common) if _matters(common, 0) else 1.0
    factor = np.full((len(number), len(number)), general)
    found = [Correction("", "", general)] if general != 1 else []
    for link in observed.iter_rows(named=True):
        if not _matters(link["log_ratio"] - math.log(general), link["error"]):
            continue
        ends = number[link["from_host"]], number[link["to_host"]]
        factor[ends] = math.exp(link["log_ratio"])
        found.append(Correction(link["from_host"], link["to_host"], float(factor[ends])))
    np.fill_diagonal(factor, 1)
    if found:
        network.latency = network.latency * factor
        network.bandwidth = network.bandwidth / factor
        network.native_times = [
            NativeTime(own.library, own.collective, own.size, own.time * general)
            for own in network.native_times
        ]
    return network, found


def _matters(log_ratio: float, error: float) -> bool:
    return abs(log_ratio) >= max(CLEAR * error, math.log(MATTERS))


def _shapes(run: Run) -> Iterator[dict[str, Any]]:
    """Calls that are alike, with one of them, their number and their median time."""
    lasted = pl.col("end") - pl.col("last_enter")
    shapes = (
        run.shapes()
        .filter(pl.col("planned"))
        .group_by([name for name in SHAPE if name != "group"])
        .agg(pl.col("call").last(), pl.len().alias("calls"), lasted.median().alias("median"),
             lasted.sum().alias("total"))
        .sort("total", descending=True)
    )  # fmt: skip
    whole = float(shapes["total"].sum())
    names = [kind.name for kind in KINDS]
    for shape in shapes.iter_rows(named=True):
        known = shape["kind"] in names and shape["ranks"] == run.ranks
        if known and shape["total"] >= LEAST_SHARE * whole:
            yield shape


def _used(run: Run, call: int) -> Tree | None:
    """The tree of a call, children in the order in which they are served; None if it has none."""
    messages = run.messages.filter(pl.col("call") == call)
    edges = stages.edges(
        replace(run, calls=run.calls.filter(pl.col("call") == call), messages=messages)
    )
    if edges.is_empty():
        return None
    first = edges.filter(pl.col("segment") == edges["segment"].min())
    # In a reduce the child that is served first is combined last.
    served = first.with_columns(order=pl.coalesce("t4", -pl.col("t1"))).sort("parent", "order")
    children: list[list[int]] = [[] for _ in range(run.ranks)]
    for parent, child in served.select("parent", "child").iter_rows():
        children[parent].append(child)
    segmented = edges["segment"].n_unique() > 1
    segment_size = int(messages["size"].to_numpy().max()) if segmented else 0
    return Tree(tuple(map(tuple, children)), segment_size)


def _advise(
    run: Run,
    shape: dict[str, Any],
    tree: Tree,
    network: Network,
    corrections: Sequence[Correction],
    budget: float,
) -> Advice:
    root = max(shape["root"], 0)
    operation = operations.make(shape["kind"], f"{shape['size']}B", root)
    setting = Setting(network, list(run.placement), run.library)
    search = Search(setting, operation, budget)
    tuned, moves = search.run(tree)
    plan = setting.plan(operation)
    best = plan.explanation.plan
    return Advice(
        kind=parse_kind(shape["kind"]),
        size=shape["size"],
        root=root,
        calls=shape["calls"],
        observed=shape["median"] * 1e-9,
        used=tree,
        tuned=tuned,
        before=search.time(tree),
        moves=tuple(moves),
        native=best.native.time if best.native.time > 0 else math.inf,
        planned=math.inf if plan.is_native else best.predicted,
        planned_name="" if plan.is_native else plan.algorithm,
        elsewhere=tuple(corrections),
    )


def keep(run: Run, advice: Sequence[Advice]) -> None:
    """Puts tuned trees into the remembered table of the run's network and placement.

    `thalweg run` uses it from then on. A tree is kept for its root, and for sizes up to twice as
    small or large within its row, since segments and trees that suit others are others. Takes the
    seconds of planning if nothing is remembered. Raises UserError if the file can't be written.
    """
    assert run.network is not None
    effort = ESTIMATE if is_quick(run.network) else NORMAL
    setting = Setting(run.network, list(run.placement), run.library, effort)
    table = wisdom.table(setting)
    before = table
    for each in reversed(advice):  # Where two meet, the costlier collective's stays.
        table = planner.put_tree(
            table, run.network, each.kind, each.tuned.parameters(), _sizes(before, each),
            setting.options(), each.root,
        )  # fmt: skip
    wisdom.keep_table(setting, table)


def _sizes(table: planner.Table, advice: Advice) -> tuple[int, int]:
    """The sizes that a tuned tree is kept for: the least, and the first one above."""
    size = advice.size
    beginnings = [row.min_size for row in table.rows(advice.kind, advice.root)]
    low = max((each for each in beginnings if each <= size), default=0)
    high = min((each for each in beginnings if each > size), default=2 * size + 1)
    return max(low, size // 2), min(high, 2 * size + 1)
