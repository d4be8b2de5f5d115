"""The paper's clusters and programs on the lab: what its figures and tables have, from our runs.

Gsum and SOR of `examples/` on the four clusters of Bongo, Anshus and Bjørndalen, section 4
(docs/papers.md), along declared trees that a host's ranks enter by one leader.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from bench import traced
from bench.builds import Build
from bench.page import Page, Part
from bench.session import Session
from thalweg import paths, trees
from thalweg.analysis import compare, imbalance, stages, timemaps
from thalweg.analysis import paths as causes
from thalweg.analysis.tables import Run
from thalweg.analysis.waits import with_lateness


@dataclass(frozen=True)
class Cluster:
    scenario: str
    hosts: int
    slots: int
    """Ranks on each host."""
    dilation: float
    """How many times slower the lab is: no less than the number of ranks that share its core."""
    calls: int

    @property
    def ranks(self) -> int:
        return self.hosts * self.slots


CLUSTERS = {
    "Blade": Cluster("blade-10x1", 10, 1, 10, 300),
    "NOW": Cluster("now-30x2", 30, 2, 60, 60),
    "4W": Cluster("4w-8x4", 8, 4, 32, 150),
    "8W": Cluster("8w-4x8", 4, 8, 32, 150),
}
SOR_SIZE = {"Blade": 64, "NOW": 64, "4W": 64, "8W": 64}
"""Points of the grid in each direction: small, so that most of the time is communication."""


# Trees -----------------------------------------------------------------------------------------

Children = list[list[int]]


def flat(cluster: Cluster) -> Children:
    """The root serves all other ranks."""
    return [list(range(1, cluster.ranks)), *([] for _ in range(1, cluster.ranks))]


def by_hosts(cluster: Cluster, arity: int, inside: int) -> Children:
    """Each host's first rank leads it; leaders form a tree in which each serves `arity` others, and
    so do the ranks of a host with `inside`."""
    found: Children = [[] for _ in range(cluster.ranks)]
    for host in range(1, cluster.hosts):
        found[(host - 1) // arity * cluster.slots].append(host * cluster.slots)
    for host in range(cluster.hosts):
        first = host * cluster.slots
        for slot in range(1, cluster.slots):
            found[first + (slot - 1) // inside].append(first + slot)
    return found


def scattered(cluster: Cluster) -> Children:
    """A binary tree over the ranks in an order that goes from host to host with each step."""
    order = [host * cluster.slots + slot for slot in range(cluster.slots)
             for host in range(cluster.hosts)]  # fmt: skip
    found: Children = [[] for _ in range(cluster.ranks)]
    for at in range(1, len(order)):
        found[order[(at - 1) // 2]].append(order[at])
    return found


CONFIGURATIONS = {
    "flat": flat,
    "leaders below the root": lambda it: by_hosts(it, it.hosts, it.slots),
    "leaders in a binary tree": lambda it: by_hosts(it, 2, it.slots),
    "two levels in a host": lambda it: by_hosts(it, it.hosts, 2),
    "scattered": scattered,
}


# Runs ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wanted:
    """A run of the page."""

    cluster: str
    program: str
    configuration: str
    values: int = 0
    """Numbers of 8 bytes in a sum; 0: as many as ranks."""

    def labels(self) -> dict[str, Any]:
        return {"part": "run", **asdict(self)}


BASE = "leaders below the root"
LEVELS = {BASE: "#1764ab", "two levels in a host": "#e6550d"}
"""The trees of Figure 3b, with the colours of their lines."""

WANTED = [
    *(Wanted(cluster, "gsum", "leaders below the root") for cluster in CLUSTERS),
    *(Wanted(cluster, "sor", "leaders below the root") for cluster in CLUSTERS),
    *(Wanted(cluster, "gsum", "flat") for cluster in ("Blade", "4W")),
    *(Wanted("4W", "gsum", name, values) for values in (1, 32)
      for name in ("leaders below the root", "leaders in a binary tree")),
    Wanted("8W", "gsum", "two levels in a host"),
    Wanted("4W", "gsum", "leaders in a binary tree"),
]  # fmt: skip


def add_runs(page: Page, build: Build, wanted: Sequence[Wanted]) -> None:
    """Adds what is missing, cluster by cluster."""
    for name, cluster in CLUSTERS.items():
        missing = [each for each in wanted if each.cluster == name and not page.has(each.labels())]
        if not missing:
            continue
        with Session(cluster.scenario, cluster.dilation, cluster.slots) as session:
            for each in missing:
                facts, samples = measure(session, build, each)
                page.add(each.labels(), facts, samples)


def force(session: Session, cluster: Cluster, configuration: str) -> str:
    tree = trees.make(CONFIGURATIONS[configuration](cluster))
    return traced.tree_force(session, "allreduce", tree)


def measure(
    session: Session, build: Build, wanted: Wanted
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Runs a program; returns facts, and a sample for each rank."""
    cluster = CLUSTERS[wanted.cluster]
    run, said = execute(session, build, wanted, force(session, cluster, wanted.configuration))
    # As the paper draws them: SOR with its imbalance, Gsum without.
    return summarise(run, said, arrival_wait=wanted.program == "sor")


def execute(
    session: Session, build: Build, wanted: Wanted, forced: str
) -> tuple[Run, dict[str, Any]]:
    """Runs a program; returns its events and what it says itself."""
    cluster = CLUSTERS[wanted.cluster]
    output = session.folder / "program.json"
    output.unlink(missing_ok=True)
    program = [str(paths.binary(f"{wanted.program}-{build.flavour}")), "--json", str(output)]
    if wanted.program == "gsum":
        program += ["--iterations", str(cluster.calls), "--values", str(wanted.values)]
    else:
        program += ["--size", str(SOR_SIZE[wanted.cluster])]
    run = traced.run(session, build, program, forced)
    return run, json.loads(output.read_text())


def summarise(
    run: Run, said: dict[str, Any], *, arrival_wait: bool
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns what the page tells of a run: facts, and a sample for each rank. Times in seconds.

    `arrival_wait`: whether the timemaps' curves have it.
    """
    shapes = timemaps.tree_shapes(run)
    chosen = shapes.row(0, named=True)
    calls = stages.shape_of_calls(run).filter(pl.col("shape") == chosen["shape"])
    own = run.calls.join(calls, on="call", how="semi").with_columns(
        (pl.col("exit") - pl.col("enter")).alias("spent")
    )
    of_nodes = stages.nodes(run, stages.edges(run).join(calls, on="call", how="semi"))
    means = stages.means(run, of_nodes)
    path = stages.along_paths(means, ["shape"])
    by_cause = causes.causes(run)
    spent = by_cause.select(pl.sum_horizontal(causes.CAUSES).sum()).item()
    hosts = pl.Series("hosts", run.hosts)
    crossing = path.filter(
        pl.col("parent").is_not_null()
        & (hosts.gather(path["node"]) != hosts.gather(path["parent"].fill_null(path["node"])))
    )
    events = len(run.messages) * 2 + len(run.calls)
    last = imbalance.longest_paths(imbalance.last_arrivals(of_nodes, stages.shape_of_calls(run)))[0]
    facts = {
        "program": said,
        "calls": int(own["call"].n_unique()),
        "mean": _seconds(own["spent"].mean()),
        "deviation": _seconds(own["spent"].std()),
        "attributed": 1 - float(by_cause["unexplained"].sum()) / spent,
        "events_per_call": events / max(run.calls["call"].n_unique(), 1),
        "stages": {name: _seconds(path[name].sum() / run.ranks) for name in stages.STAGES},
        "stage_deviations": {
            name: _seconds(means[f"{name}_deviation"].median()) for name in stages.STAGES
        },
        "crossing_two_way": _seconds(crossing["two_way"].mean()),
        "departures": _departures(of_nodes, run),
        "last_path": list(last.path),
        "last_counts": list(last.counts),
        "last_calls": last.calls,
    }
    curves = timemaps.curves(run, chosen["shape"], arrival_wait=arrival_wait)
    return facts, list(_by_rank(run, curves, own, path, crossing))


def _seconds(nanoseconds: Any) -> float:
    return float(nanoseconds or 0) * 1e-9


def _departures(of_nodes: pl.DataFrame, run: Run) -> list[float]:
    """Returns how late the contributors to a host's subtree depart, by their order, in seconds: the
    mean over the hosts below the root's."""
    below = stages.subtrees(run, of_nodes).filter(pl.col("parent").is_not_null())
    found = stages.departures(below, run).group_by("order").agg(pl.col("delay").mean())
    return [_seconds(delay) for delay in found.sort("order")["delay"]]


def _by_rank(
    run: Run,
    curves: Sequence[timemaps.Curve],
    own: pl.DataFrame,
    path: pl.DataFrame,
    crossing: pl.DataFrame,
) -> Iterator[dict[str, Any]]:
    late = with_lateness(run).join(own.select("call").unique(), on="call", how="semi")
    lateness = dict(late.group_by("rank").agg(pl.col("computed").median()).iter_rows())
    spent = dict(own.group_by("rank").agg(pl.col("spent").mean()).iter_rows())
    edges = dict(crossing.group_by("rank").agg(pl.len()).iter_rows())
    by_rank = {
        int(row["rank"]): row
        for row in path.group_by("rank").agg(pl.col(stages.STAGES).sum()).iter_rows(named=True)
    }
    for curve in curves:
        yield {
            "rank": curve.rank,
            "host": run.hosts[curve.rank],
            "mean": _seconds(spent[curve.rank]),
            "late": _seconds(lateness.get(curve.rank)),
            "edges_between_hosts": int(edges.get(curve.rank, 0)),
            **{name: _seconds(by_rank[curve.rank][name]) for name in stages.STAGES},
            "times": [round(time) for time in curve.times],
            "heights": [round(height, 4) for height in curve.heights],
        }


def border_lateness(samples: Sequence[dict[str, Any]]) -> tuple[float, float, list[int]]:
    """Returns the mean lateness of the ranks with a neighbour on another host and of the others, in
    seconds, and the ranks that are later than halfway between the least and the latest."""
    hosts = [sample["host"] for sample in samples]
    late = np.array([sample["late"] for sample in samples])
    at_border = np.array(
        [
            (rank > 0 and hosts[rank - 1] != host)
            or (rank + 1 < len(hosts) and hosts[rank + 1] != host)
            for rank, host in enumerate(hosts)
        ]
    )
    middle = (late.min() + late.max()) / 2
    others = float(late[~at_border].mean()) if (~at_border).any() else 0.0
    return float(late[at_border].mean()), others, np.flatnonzero(late > middle).tolist()


def unchanged_parts(a: Run, b: Run) -> list[dict[str, Any]]:
    """Returns the stages of subtrees that are the same in both runs but took other times."""
    found = compare.compare(a, b).matches
    return [
        {"node": part.node, "stage": part.stage, "a": _seconds(part.difference.a_ns),
         "b": _seconds(part.difference.b_ns)}
        for match in found for part in match.parts if not part.reconfigured
    ]  # fmt: skip


# Runs that are there ----------------------------------------------------------------------


def find(
    parts: Sequence[Part], cluster: str, program: str, configuration: str = BASE, values: int = 0
) -> Part | None:
    labels = Wanted(cluster, program, configuration, values).labels()
    return next((part for part in parts if part.labels == labels), None)


def departures(parts: Sequence[Part], configuration: str) -> list[float]:
    """Returns how late the contributors to a host's subtree depart on 8W, in order."""
    part = find(parts, "8W", "gsum", configuration)
    return list(part.facts["departures"]) if part else []


def bytes_of(part: Part) -> int:
    """Returns the size of a run's messages."""
    return 8 * int(part.labels["values"] or part.facts["program"].get("values") or 1)
