"""What Figure 11 of the CMPI paper (Gong, He, Zhong) shows, on the lab and simulated."""

from __future__ import annotations

from bench import cmpi_collectives
from bench.cmpi_collectives import Shape
from bench.report import seconds
from bench.samples import native, thalweg
from thalweg import algorithms
from thalweg.collective import Kind

steps = 128  # of N-body, as in Figure 11c
sizes = {"cg": (25_600, 102_400, 409_600), "nbody": (65_536, 262_144, 1_000_000)}
"""Bytes of a broadcast, up to the paper's largest: 51,200 numbers in CG, 1 MB in N-body."""
paper = {"cg": 0.416, "nbody": 0.143}
"""The time that CMPI saved over MPICH2, overheads included, on 64 instances of Amazon EC2.

Section 5.4; the abstract swaps the two.
"""
titles = {"cg": "CG", "nbody": "N-body"}
cmpi = "cmpi"
variants = {native: "native", cmpi: "CMPI", thalweg: "Thalweg"}
colours = {"computation": "#6baed6", "communication": "#fd8d3c", "other overheads": "#969696"}


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
