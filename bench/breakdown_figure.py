"""What Figure 11 of the CMPI paper (Gong, He, Zhong) shows, on the lab and simulated."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from bench import cmpi_collectives
from bench.cmpi_collectives import Shape
from bench.report import seconds
from bench.samples import native, thalweg
from bench.summary import saved
from thalweg import algorithms
from thalweg.collective import Kind

steps = 128  # of N-body, as in Figure 11c
sizes = {"cg": (25_600, 102_400, 409_600), "nbody": (65_536, 262_144, 1_000_000)}
"""Bytes of a broadcast, up to the paper's largest: 51,200 numbers in CG, 1 MB in N-body."""
paper = {"cg": 0.416, "nbody": 0.143}
"""The time that CMPI saved over MPICH2, overheads included, on 64 instances of Amazon EC2.

Section 5.4, which doesn't say at which sizes; the abstract swaps the two.
"""
titles = {"cg": "CG", "nbody": "N-body"}
cmpi = "cmpi"
variants = {native: "native", cmpi: "CMPI", thalweg: "Thalweg"}
overheads, probing = "other overheads", "probe"
"""What comes before a run: hierarchy and trees, as the paper has it, or plans; and the probe of the
network, which it doesn't name among them."""
colours = {
    "computation": "#6baed6", "communication": "#fd8d3c", overheads: "#969696", probing: "#d9d9d9",
}  # fmt: skip
saved_columns = ("saved", "saved, with overheads", "saved, with a probe, too")


def saved_shares(own: Mapping[str, float], whole: float) -> list[float]:
    """Returns the shares of the native time, `whole`, that a run of these parts saves: for each of
    saved_columns."""
    counted = itertools.accumulate(
        (own["computation"] + own["communication"], own[overheads], own[probing])
    )
    return [saved(whole, time) for time in counted]


def as_printed() -> str:
    """Returns what THALWEG_FORCE is for CMPI's trees; it leaves allreduces to the library."""
    parameters = Shape().parameters()
    trees = {
        kind.name: algorithms.force_text(cmpi_collectives.algorithms[kind], parameters)
        for kind in (Kind.bcast, Kind.reduce, Kind.gather)
    }
    trees[Kind.allreduce.name] = native
    return ";".join(f"{name}={tree}" for name, tree in trees.items())


def share_text(value: float) -> str:
    return f"{100 * value:.1f} %"


def time_or_none(value: float) -> str:
    return seconds(value) if value > 0 else "-"
