"""Analyses what the runtime traced of a program with random collectives.

inside.py FLAVOUR BUILD_FOLDER
"""

import sys
import tempfile
from pathlib import Path

import polars as pl
from launch import environment, run

from thalweg import runs
from thalweg.analysis import findings, paths, stages, words

TREES = {"allreduce": "binomial", "barrier": "binomial", "bcast": "binomial", "reduce": "binomial"}
OTHERS = {
    "allreduce": "ring", "barrier": "dissemination", "bcast": "pipelined-chain",
    "allgather": "ring", "alltoall": "pairwise",
}  # fmt: skip
RANKS, SEED, CASES = 6, 3, 100


def main() -> int:
    flavour, build = sys.argv[1], Path(sys.argv[2])
    preload = [str(build / "src" / "runtime" / f"libthalweg-{flavour}.so")]
    if flavour == "mpich":  # ranks outnumber cores
        preload.append(str(build / "tests" / "mpi" / "libyield.so"))
    program = [
        str(build / "tests" / "mpi" / f"random_collectives_{flavour}"),
        str(SEED),
        str(CASES),
    ]
    for forced in (TREES, OTHERS):
        with tempfile.TemporaryDirectory() as folder:
            force = ";".join(f"{kind}={algorithm}" for kind, algorithm in forced.items())
            settings = {"THALWEG_FORCE": force, "THALWEG_TRACE": folder}
            done = run(flavour, (RANKS, environment(preload, settings), program), capture=True)
            assert done.returncode == 0, done.stdout + done.stderr
            check(Path(folder), trees=forced is TREES)
    return 0


def check(folder: Path, *, trees: bool) -> None:
    """The stages of trees and the causes of all planned calls add up to what ranks spent."""
    traced = runs.read(folder)
    calls = traced.calls.with_columns(
        pl.col("rank").cast(pl.Int64), (pl.col("exit") - pl.col("enter")).alias("spent")
    )
    assert calls.filter("planned")["call"].n_unique() >= CASES / 10
    of_nodes = stages.nodes(traced, stages.edges(traced))
    both = of_nodes.join(
        calls.filter(pl.col("kind").is_in(["allreduce", "barrier"])).select("call").unique(),
        on="call",
    )
    assert not trees or not both.is_empty()
    sums = (
        stages.along_paths(both, ["call", "segment"])
        .group_by("call", "segment", "rank")
        .agg(pl.sum_horizontal(pl.col(stages.STAGES).sum()).alias("sum"))
    )
    wrong = sums.join(calls, on=["call", "rank"]).filter(pl.col("sum") != pl.col("spent"))
    assert wrong.is_empty(), wrong
    causes = paths.causes(traced).with_columns(pl.col("rank").cast(pl.Int64))
    explained = causes.join(calls, on=["call", "rank"]).with_columns(
        pl.sum_horizontal(paths.CAUSES).alias("sum")
    )
    assert len(explained) == calls["planned"].sum()
    off = (explained["sum"] - explained["spent"]).abs().max()
    assert isinstance(off, float) and off < 1, off
    named = 1 - float(explained["unexplained"].sum()) / float(explained["spent"].sum())
    assert named >= 0.95, named
    found = findings.find(traced)
    assert words.sentences(found.verdict)[0].startswith("Planned collectives took the ranks")


if __name__ == "__main__":
    sys.exit(main())
