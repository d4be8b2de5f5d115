"""Mapping: which rank runs on which host, chosen by what the program sends and the network.

Times are in seconds. `Communication` is the communication matrix; thalweg.matrices reads it from
files. `Cost` says what a placement costs a rank: the sum of `pairs` (messages from other hosts that
it waits for, one after the other; quadratic means over the ranks, phase by phase), `load` (the
busiest ports and trunks), `collectives` and `migration`; src/mapping/cost.hpp defines each.
"""

from collections.abc import Mapping as Dictionary
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thalweg._core import mapping as _core
from thalweg._core.mapping import Call, Communication, Cost, Setting, TrafficSums
from thalweg._core.network import Network
from thalweg.errors import UserError, user_errors
from thalweg.printable import short
from thalweg.threads import interruptible

__all__ = [
    "COSTS",
    "METHODS",
    "Call",
    "Communication",
    "Cost",
    "Mapping",
    "Method",
    "Metric",
    "TrafficSums",
    "communication",
    "cost_of",
    "has_scotch",
    "place",
    "traffic_of",
]

METHODS = _core.methods
"""How ranks are placed: src/mapping/mapping.hpp says how each does."""
COSTS = _core.costs
"""What of a message costs time: both, latency, bandwidth."""
Method = Literal[
    "thalweg", "block", "interleave", "random", "intra-only", "inter-only", "scotch",
    "cloudmap-intra", "cloudmap-inter",
]  # fmt: skip
Metric = Literal["both", "latency", "bandwidth"]
MOST = 1 << 62
"""Most messages, and bytes, of a program."""
FINALISTS = 3
"""Placements of a search for which the program's collectives are planned, unless one says
otherwise."""


@dataclass(frozen=True)
class Mapping:
    """A placement, and what it costs."""

    placement: Sequence[int]
    """The number of each rank's host in the network."""
    cost: Cost
    """Collectives in it are estimated."""
    traffic: TrafficSums
    """Bytes between and inside hosts and sites, and the time of eq. 4 (CommTime)."""
    method: str
    planned: Cost | None = None
    """The cost with collectives as they are planned for the placement or, of a program that runs
    without plans, as predicted of its library; None if none was."""
    usual: "Mapping | None" = None
    """The placement that it was chosen over, if there was one."""

    @property
    def total(self) -> float:
        """The placement's cost, by the best that is known of it."""
        return (self.planned or self.cost).total


@user_errors()
def communication(
    ranks: int,
    sender: ArrayLike,
    receiver: ArrayLike,
    messages: ArrayLike,
    nbytes: ArrayLike,
    phase: ArrayLike | None = None,
) -> Communication:
    """Returns the communication matrix with these entries, those of the same pair added up.

    Messages of a phase are in transit at about the same time, and phases follow each other, from
    0 on; None: nothing is known of it. Raises UserError for a rank that doesn't exist, for numbers
    that are negative or not finite, and for more than MOST messages or bytes.
    """
    senders, receivers = _whole("ranks", sender), _whole("ranks", receiver)
    counts, sizes = (np.ascontiguousarray(column, np.float64) for column in (messages, nbytes))
    made = Communication(
        ranks,
        senders,
        receivers,
        counts,
        sizes,
        np.zeros_like(senders) if phase is None else _whole("phases", phase),
    )
    for what, values in (("messages", counts), ("bytes", sizes)):
        if sum(values.tolist()) > MOST:
            raise UserError(f"the matrix has more than {MOST} {what}, which no program sends")
    return made


def _whole(what: str, column: ArrayLike) -> NDArray[np.int64]:
    """Returns whole numbers. Raises UserError if some aren't."""
    given = np.asarray(column)
    with np.errstate(invalid="ignore"):
        whole = np.ascontiguousarray(given, np.int64)
    if given.dtype.kind not in "iu" and not np.array_equal(given, whole):
        raise UserError(f"the matrix has {what} that aren't whole numbers")
    return whole


def has_scotch() -> bool:
    """Whether this build has Scotch, with which placements begin (else with bisection alone)."""
    return _core.has_scotch()


@user_errors()
def place(
    network: Network,
    matrix: Communication,
    slots: Sequence[int],
    *,
    calls: Sequence[Call] = (),
    method: str = "thalweg",
    cost: str = "both",
    seed: int = 0,
    moves: int | None = None,
    finalists: int = FINALISTS,
    usual: Sequence[int] | None = None,
    pinned: Dictionary[int, int] = {},
    previous: Sequence[int] | None = None,
    migration: float = 0.0,
    order: Sequence[int] = (),
    native: str = "",
) -> Mapping:
    """Places the ranks of a communication matrix on the network's hosts.

    slots: how many ranks may run on each host of the network; more than needed lets the mapping
    choose. moves: how many changes to evaluate at most, None for the usual number. finalists: for
    how many placements that the search finds, beside those of the other methods, the collectives
    in `calls` are planned before one is chosen; 1: for none.
    usual: a placement that stays unless another one costs less, with collectives planned for both;
    by itself what `block` finds, if there are calls. pinned: ranks that have to be on a host.
    migration: seconds for each rank that isn't where `previous` has it. order: the hosts with slots
    as the launcher has them, which `block` and `interleave` follow; usually the network's.
    native: for a program that runs without plans, its MPI library, "openmpi-4.1" or another that
    planner.native_algorithms() knows: its collectives count as the messages that they consist of,
    and finalists are compared by what is predicted of them.
    Deterministic by seed. `thalweg` never costs more than any other method with the same seed and
    moves, by the cost that decides: with collectives planned, as far as their ranks are few enough
    (src/mapping/planned.hpp), else by the estimate; but where there is a usual placement, that
    stays unless chains of messages (src/mapping/chains.hpp) take 5 % less, too. On more than 2,000
    hosts that holds, with more than 512 ranks or 3,000 hosts, for block,
    interleave and random only.

    Raises UserError if there are fewer slots than ranks, or anything else doesn't fit.
    """
    if not 0 <= seed < 2**64:
        raise UserError(f"seed {short(str(seed))}: must be from 0 to 2^64 - 1")
    setting = _setting(network, matrix, slots, calls, cost, pinned, previous, migration, order)

    def search(method: str, most: int) -> list[list[int]]:
        return interruptible(
            lambda: _core.finalists(network, setting, method, seed, moves, most, native)
        )

    found = search(method, finalists)
    if usual is None:
        if method != "thalweg" or not calls or finalists < 2:
            return _mapping(network, setting, found[0], method)
        (usual,) = search("block", 1)
    found = [list(usual), *(each for each in found if each != list(usual))]
    costs, calls_planned = _planned_costs(network, setting, found, native)
    _, best = min((each.total, at) for at, each in enumerate(costs) if each)
    known = costs if calls_planned else [None] * len(costs)
    before = _mapping(network, setting, usual, "usual", known[0])
    return _mapping(network, setting, found[best], method, known[best], before)


def _mapping(
    network: Network,
    setting: Setting,
    placement: Sequence[int],
    method: str,
    planned: Cost | None = None,
    usual: Mapping | None = None,
) -> Mapping:
    cost = _core.cost(network, setting, placement)
    traffic = _core.traffic(network, setting, placement)
    return Mapping(placement, cost, traffic, method, planned, usual)


def _planned_costs(
    network: Network, setting: Setting, placements: list[list[int]], native: str
) -> tuple[list[Cost | None], int]:
    """Returns the costs with collectives planned, and how many calls were planned for."""
    return interruptible(lambda: _core.planned_costs(network, setting, placements, native))


@user_errors()
def cost_of(
    network: Network,
    matrix: Communication,
    placement: Sequence[int],
    *,
    calls: Sequence[Call] = (),
    cost: str = "both",
    previous: Sequence[int] | None = None,
    migration: float = 0.0,
    native: str = "",
    slots: Sequence[int] | None = None,
) -> Cost:
    """Returns the cost of any placement, collectives estimated, or with `native` as place()
    predicts them of a library.

    slots: as of place(), whose costs these are; None: as if any number of ranks could be on each
    host. The estimate leaves hosts without slots out. Raises UserError if it doesn't fit.
    """
    if slots is None:
        slots = [matrix.ranks] * len(network.hosts)
    setting = _setting(network, matrix, slots, calls, cost, {}, previous, migration)
    if native:
        (predicted,), _ = _planned_costs(network, setting, [list(placement)], native)
        assert predicted  # the first of those that are compared
        return predicted
    return _core.cost(network, setting, placement)


@user_errors()
def traffic_of(network: Network, matrix: Communication, placement: Sequence[int]) -> TrafficSums:
    """Returns what goes between hosts and sites. Raises UserError if the placement doesn't fit."""
    slots = [matrix.ranks] * len(network.hosts)
    return _core.traffic(
        network, _setting(network, matrix, slots, (), "both", {}, None, 0.0), placement
    )


def _setting(
    network: Network,
    matrix: Communication,
    slots: Sequence[int],
    calls: Sequence[Call],
    cost: str,
    pinned: Dictionary[int, int],
    previous: Sequence[int] | None,
    migration: float,
    order: Sequence[int] = (),
) -> Setting:
    by_rank = [-1] * matrix.ranks if pinned else []
    for rank, host in pinned.items():
        if not 0 <= rank < matrix.ranks:
            raise UserError(f"rank {rank} is pinned, but there are only {matrix.ranks} ranks")
        if not 0 <= host < len(network.hosts):
            raise UserError(
                f"rank {rank} is pinned to host number {host}, but the network has "
                f"{len(network.hosts)} hosts"
            )
        by_rank[rank] = host
    return Setting(
        matrix, list(slots), list(calls), cost, by_rank, list(previous or ()), migration,
        list(order),
    )  # fmt: skip
