"""Tuning without a person: from a bad tree, what `thalweg tune` reaches on the lab, by rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench import inside_runs, traced
from bench.builds import Build
from bench.inside_runs import CLUSTERS, Wanted
from bench.page import Page, Part
from bench.report import Table, seconds, times
from bench.session import Session
from thalweg import trees, tuning
from thalweg.algorithms import Parameters
from thalweg.analysis import compare
from thalweg.analysis.tables import Run

BAR = 1.49
"""The paper's largest gain, section 4."""
ROUNDS = 3
BAD, GOOD = "scattered", "flat"
"""A tree that crosses from host to host with each step, and the best one where each host has one
rank, from which there is little to gain."""
STARTS = [("4W", BAD), ("8W", BAD), ("Blade", GOOD)]
SEARCH = 10.0
"""Seconds for each round's advice."""


def add_runs(page: Page, build: Build) -> None:
    """Adds what is missing."""
    for cluster, start in STARTS:
        labels = {"part": "tune", "cluster": cluster, "configuration": start}
        if page.has(labels):
            continue
        it = CLUSTERS[cluster]
        with Session(it.scenario, it.dilation, it.slots) as session:
            samples = tune(session, build, Wanted(cluster, "gsum", start))
        page.add(labels, {}, samples)


def tune(session: Session, build: Build, wanted: Wanted) -> list[dict[str, Any]]:
    """Returns a sample for each round; the first is the tree that it begins with."""
    cluster = CLUSTERS[wanted.cluster]
    parameters: Parameters | None = trees.make(
        inside_runs.CONFIGURATIONS[wanted.configuration](cluster)
    )
    samples: list[dict[str, Any]] = []
    before: Run | None = None
    predicted = None
    for number in range(ROUNDS + 1):
        if parameters is None:
            break
        forced = traced.tree_force(session, "allreduce", parameters)
        run, said = inside_runs.execute(session, build, wanted, forced)
        came_true = compare.compare(before, run).matches[0].whole if before else None
        samples.append(
            {
                "round": number, "mean": said["mean"], "deviation": said["deviation"],
                "predicted": predicted, "chance": came_true.p_value if came_true else None,
                "unchanged": inside_runs.unchanged_parts(before, run) if before else [],
            }
        )  # fmt: skip
        parameters, samples[-1]["moves"], predicted = advise(run)
        before = run
    return samples


def advise(run: Run) -> tuple[Parameters | None, int, float | None]:
    """Returns the next tree, the number of moves to it, and its predicted gain; none if it is best
    as it is."""
    found = next(each for each in tuning.advise(run, SEARCH) if each.kind.name == "allreduce")
    if not found.moves:
        return None, 0, None
    return found.tuned.parameters(), len(found.moves), found.before / found.after


def table(parts: Sequence[Part]) -> Table:
    found = Table(
        "Tuning without a person",
        ["cluster", "from", "round", "mean time", "times as fast as at first", "moves made before",
         "their gain as predicted", "chance that it is noise", "bar", "met"],
        notes=[
            f"The paper reconfigured by hand and reached {BAR}x (section 4), which is the bar for "
            "bad trees. A round is a run, thalweg tune's advice from its events, and nothing else.",
        ],
    )  # fmt: skip
    for part in parts:
        if part.labels["part"] != "tune":
            continue
        first = part.samples[0]["mean"]
        best = max(first / each["mean"] for each in part.samples)
        moves = 0
        for each in part.samples:
            last = each is part.samples[-1] and part.labels["configuration"] == BAD
            found.add(
                part.labels["cluster"], part.labels["configuration"], each["round"],
                seconds(each["mean"]), times(first / each["mean"]), moves,
                times(each["predicted"]) if each["predicted"] else "-",
                f"{each['chance']:.1e}" if each["chance"] is not None else "-",
                f">= {BAR}x" if last else "",
                ("yes" if best >= BAR else "MISSED") if last else "",
            )  # fmt: skip
            moves = each["moves"]
    return found


def unchanged(parts: Sequence[Part]) -> tuple[int, int, float]:
    """Returns how many reconfigurations there were, how many parts that they left alone took other
    times by more than noise, and the largest of these changes, in seconds."""
    rounds = [each for part in parts if part.labels["part"] == "tune" for each in part.samples[1:]]
    changes = [abs(it["b"] - it["a"]) for each in rounds for it in each["unchanged"]]
    return len(rounds), len(changes), max(changes, default=0.0)
