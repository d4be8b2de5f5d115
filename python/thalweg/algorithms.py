"""Algorithms: each builds a skeleton for a problem, which expands to a schedule."""

from collections.abc import Sequence

from thalweg._core import algorithms as _core
from thalweg._core.algorithms import Algorithm, Parameters, Problem, Skeleton
from thalweg._core.collective import Collective, Kind
from thalweg._core.network import Network
from thalweg._core.schedule import Schedule
from thalweg.errors import user_errors

__all__ = [
    "Algorithm",
    "Parameters",
    "Problem",
    "Skeleton",
    "all_algorithms",
    "closeness_order",
    "expand",
    "find",
    "force_text",
    "listed",
]


def all_algorithms() -> list[Algorithm]:
    """Returns all algorithms, sorted by name."""
    return _core.all()


@user_errors()
def find(name: str) -> Algorithm:
    """Returns the algorithm of this name, such as "pipelined-chain".

    Raises UserError listing the known names.
    """
    return _core.find(name)


def force_text(algorithm: str, parameters: Parameters) -> str:
    """What THALWEG_FORCE says for this choice: "packed-trees:segment_size=64KiB,degree=4"."""
    return _core.force_text(algorithm, parameters)


@user_errors()
def expand(kind: Kind, skeleton: Skeleton, size: int) -> Schedule:
    """Returns the whole schedule of a skeleton for `size` bytes: the transfers of all ranks.

    Raises UserError if the skeleton isn't one for this kind of collective.
    """
    return _core.expand(kind, skeleton, size)


@user_errors()
def listed(collective: Collective, schedule: Schedule) -> Skeleton:
    """Returns a schedule made elsewhere as a skeleton, so that plans can contain it.

    Raises UserError if it doesn't do what the collective asks for.
    """
    return _core.list_transfers(collective, schedule)


@user_errors()
def closeness_order(network: Network, placement: Sequence[int], first: int) -> list[int]:
    """Returns the ranks in an order of closeness for a chain, beginning at `first`.

    Hosts of a site and ranks of a host are adjacent. `placement` has a host number per rank.
    Raises UserError if there is no such host or rank.
    """
    return _core.closeness_order(network, placement, first)
