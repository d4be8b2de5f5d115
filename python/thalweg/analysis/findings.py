"""Everything that is found out about a run, for people and programs to look at."""

from dataclasses import dataclass

import polars as pl

from thalweg.analysis import alike, imbalance, links, outliers, paths, stages, verdict, waits
from thalweg.analysis.alike import Group
from thalweg.analysis.imbalance import Imbalance
from thalweg.analysis.outliers import Period
from thalweg.analysis.tables import SHAPE, Run
from thalweg.analysis.verdict import Verdict


@dataclass(frozen=True)
class Findings:
    """All tables; times in nanoseconds."""

    run: Run
    verdict: Verdict
    shapes: pl.DataFrame
    """Calls that are alike: SHAPE, shape, calls, usual and total time from the last entry to the
    last exit; ranks_ns: time of all ranks in them. The costliest first."""
    causes: pl.DataFrame
    """By kind of collective: time of all ranks in planned calls by cause."""
    busy: pl.DataFrame
    """What ranks' paths waited for on capacities that were held by other messages: resource,
    from_host and to_host of these ("" where nobody is found), same_call: whether they were of the
    same call, and `time`, the longest first."""
    waits: pl.DataFrame
    """By kind and state: times, total, mean, the culprit that was waited for most, its share of
    the wait, and whether it computed longer or left its last collective later; null in
    completions, which wait for nobody."""
    stages: pl.DataFrame
    """stages.means()."""
    breakdown: pl.DataFrame
    """Where the time of trees goes: shape, where (a host, between hosts, between sites), stage,
    mean nanoseconds."""
    serialisation: pl.DataFrame
    imbalance: list[Imbalance]
    groups: dict[int, list[Group]]
    """Ranks alike in their causes, by shape."""
    outliers: pl.DataFrame
    period: Period | None
    links: pl.DataFrame
    """links.ratios(): the slowest first."""


def find(run: Run) -> Findings:
    """Analyses a run. Cost: seconds for 10⁶ transfers."""
    shape_of = stages.shape_of_calls(run)
    by_rank = paths.causes(run)
    tree = stages.edges(run)
    of_nodes = stages.nodes(run, tree)
    means = stages.means(run, of_nodes)
    late = outliers.outliers(run)
    hops = paths.paths_of_ranks(run)
    return Findings(
        run,
        verdict.judge(run, hops),
        _shapes(run, shape_of),
        _causes(run, by_rank),
        _busy(run, hops),
        _waits(run),
        means,
        breakdown(run, means),
        stages.serialisation(of_nodes, run),
        imbalance.longest_paths(imbalance.last_arrivals(of_nodes, shape_of)),
        _groups(by_rank, shape_of),
        late,
        outliers.period(late["begin"].to_numpy().astype(float), late["cost"].to_numpy()),
        links.ratios(run).sort("log_ratio", descending=True),
    )


def _shapes(run: Run, shape_of: pl.DataFrame) -> pl.DataFrame:
    spent = run.calls.group_by("call").agg((pl.col("exit") - pl.col("enter")).sum().alias("spent"))
    found = outliers.durations(run).join(shape_of, on="call").join(spent, on="call")
    return (
        found.group_by(*SHAPE, "shape", "reason")
        .agg(pl.len().alias("calls"), pl.col("usual").first(), pl.col("took").sum().alias("total"),
             pl.col("spent").sum().alias("ranks_ns"))
        .sort("ranks_ns", descending=True)
    )  # fmt: skip


def _causes(run: Run, by_rank: pl.DataFrame) -> pl.DataFrame:
    kinds = run.calls.select("call", "kind").unique("call")
    return by_rank.join(kinds, on="call").group_by("kind").agg(
        pl.col(paths.CAUSES).sum(), pl.col("call").n_unique().alias("calls")
    ).sort(pl.sum_horizontal(paths.CAUSES), descending=True)  # fmt: skip


def _busy(run: Run, hops: pl.DataFrame) -> pl.DataFrame:
    held = hops.filter(pl.col("link busy") > 0)
    names = pl.Series("hosts", ["", *run.hosts])
    return (
        held.select(
            "resource",
            from_host=names.gather(held["holder_sender"] + 1),
            to_host=names.gather(held["holder_receiver"] + 1),
            same_call=pl.col("holder_call") == pl.col("call"),
            time=pl.col("link busy"),
        )
        .group_by("resource", "from_host", "to_host", "same_call")
        .agg(pl.col("time").sum())
        .sort("time", "resource", "from_host", "to_host", descending=[True, False, False, False])
    )


def _waits(run: Run) -> pl.DataFrame:
    found = waits.wait_states(run)
    key = ["kind", "planned", "state"]
    culprits = found.group_by(*key, "culprit").agg(
        pl.col("wait").sum().alias("blamed"), pl.col("computed", "came_late").median()
    )
    most = culprits.sort("blamed", descending=True).unique(key, keep="first", maintain_order=True)
    whole = found.group_by(key).agg(
        pl.len().alias("times"),
        pl.col("wait").sum().alias("total"),
        pl.col("wait").mean().alias("mean"),
    )
    return whole.join(most, on=key).with_columns(
        pl.when(pl.col("culprit").is_not_null())
        .then(pl.col("blamed") / pl.col("total"))
        .alias("share")
    ).sort("total", descending=True)  # fmt: skip


def breakdown(run: Run, means: pl.DataFrame) -> pl.DataFrame:
    """Adds up the stages of trees by the part of the network where they pass: the nodes of a host,
    and the edges inside hosts, between hosts, and between sites. Means over the ranks' paths."""
    both = means.filter(pl.col("two_way").is_not_null() | pl.col("parent").is_null())
    both = both.filter(pl.col("up").is_not_null() & pl.col("down").is_not_null())
    if both.is_empty():
        return pl.DataFrame(schema={"shape": pl.Int64, "where": pl.String, "stage": pl.String,
                                    "mean": pl.Float64})  # fmt: skip
    path = stages.along_paths(both, ["shape"])
    hosts, sites = pl.Series(run.hosts), pl.Series(run.sites or ["one"] * run.ranks)
    node, parent = path["node"], path["parent"].fill_null(path["node"])
    here = hosts.gather(node)
    edge = (
        pl.when(here == hosts.gather(parent)).then(pl.lit("edges inside hosts"))
        .when(sites.gather(node) == sites.gather(parent)).then(pl.lit("edges between hosts"))
        .otherwise(pl.lit("edges between sites"))
    )  # fmt: skip
    path = path.with_columns(("nodes of " + here).alias("host"), edge.alias("edge"))
    ranks = path.group_by("shape").agg(pl.col("rank").n_unique().alias("ranks"))
    parts = [
        path.select("shape", where="edge" if stage == "two_way" else "host", stage=pl.lit(stage),
                    time=pl.col(stage))
        for stage in stages.STAGES
    ]  # fmt: skip
    return (
        pl.concat(parts).join(ranks, on="shape")
        .group_by("shape", "where", "stage")
        .agg((pl.col("time").sum() / pl.col("ranks").first()).alias("mean"))
        .filter(pl.col("mean") != 0)
        .sort("shape", "mean", "where", "stage", descending=[False, True, False, False])
    )  # fmt: skip


def _groups(by_rank: pl.DataFrame, shape_of: pl.DataFrame) -> dict[int, list[Group]]:
    shaped = by_rank.join(shape_of, on="call")
    return {
        int(shape[0]): alike.groups(part, list(paths.CAUSES))
        for shape, part in shaped.group_by("shape", maintain_order=True)
    }
