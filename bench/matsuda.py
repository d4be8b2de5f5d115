"""The algorithms that Matsuda et al. compare, their cost model, and the axes of their figures.

Efficient MPI Collective Operations for Clusters in Long-and-Fast Networks: sections 2.2, 2.3, 3.1,
3.2, Table 1, Figures 6 and 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.bars import Bar
from thalweg.algorithms import Parameters

scenarios = ("wan-2x16", "switches-2x16")  # their setting with and without delay
by_simulator = "simulator"  # in place of a build, of what was simulated
numbers = (1, 2, 4, 8, 10, 12, 16)  # of senders per site
segmented_numbers = (1, 2, 4, 8)  # of those, up to the paper's best, also in segments
segment_size = 256 * 1024
"""A sender receives a segment while it sends the one before, as Table 1 assumes: so both
collectives take times within 6 % of the table's in the simulation."""
simple, blind, plan = "simple", "site-blind", "Thalweg"
"""What runs besides n senders: older grid systems' algorithm, the original, the plan."""
rings, nearest = "rings", "site-blind, near first"
"""Our variants: rings inside the sites, with n from the network, and MPICH's original."""


@dataclass(frozen=True)
class Contest:
    """The algorithms for one collective, and the bar for Thalweg's plan against the simple one."""

    collective: str
    modified: str  # with n senders per site
    simple: str
    original: tuple[str, Parameters]  # knows no sites
    near: tuple[str, Parameters]  # MPICH's form of the original
    simple_transfers: int  # times M / B in the simple one's cost
    ranks_power: int  # of the number of ranks in what the figures call throughput
    inside: str  # the sites, of `modified` in segments, by which times are those of Table 1
    bar: Bar

    def algorithms(
        self, senders: Sequence[int], segmented: Sequence[int] = ()
    ) -> dict[str, tuple[str, Parameters]]:
        """All but the planner's, by the name that tables use; as printed, but for ours.

        Those of `segmented` senders are in segments, too.
        """
        return {
            **{
                many(n): (self.modified, Parameters(senders=n, inside="recursive")) for n in senders
            },
            **{
                in_segments(n): (
                    self.modified,
                    Parameters(senders=n, segment_size=segment_size, inside=self.inside),
                )
                for n in segmented
            },
            simple: (self.simple, Parameters(inside="recursive")),
            blind: self.original,
            rings: (self.modified, Parameters()),
            nearest: self.near,
        }

    def throughput(self, size: int, ranks: int, time: float) -> float:
        """Bytes per second as the paper's figures count them (sections 3.4 and 3.5)."""
        return size * float(ranks) ** self.ranks_power / time


contests = (
    Contest(
        "bcast", "site-scatter-allgather", "far-first",
        ("scatter-doubling", Parameters(order="rank")),
        ("scatter-allgather", Parameters(order="rank")),
        simple_transfers=3, ranks_power=1, inside="recursive",
        bar=Bar(times_bound=1.3, times_faster=2.0),
    ),
    Contest(
        "allreduce", "site-rabenseifner", "two-tier",
        ("rabenseifner", Parameters(order="rank", halving="farthest")),
        ("rabenseifner", Parameters(order="rank")),
        simple_transfers=5, ranks_power=2, inside="ring",
        bar=Bar(times_bound=1.4, times_faster=1.9),
    ),
)  # fmt: skip


def many(senders: int) -> str:
    """Returns the modified algorithm's name with `senders` senders."""
    return f"n = {senders}"


def in_segments(senders: int) -> str:
    """Returns the name of the same algorithm in segments."""
    return f"{many(senders)}, in segments"


def contest(collective: str) -> Contest:
    return next(each for each in contests if each.collective == collective)


@dataclass(frozen=True)
class Setting:
    """The model's parameters; seconds and bytes per second."""

    latency: float  # between the sites
    link: float  # of a host
    trunk: float  # between the sites

    def simple_cost(self, of: Contest, size: int) -> float:
        """Table 1: far-first and two-tier."""
        return self.latency + of.simple_transfers * size / self.link

    def modified_cost(self, size: int, senders: int) -> float:
        """Table 1: van de Geijn and Rabenseifner with n senders, until they fill the trunk."""
        across = max(size / (senders * self.link), size / self.trunk)
        return self.latency + across + 2 * size / self.link
