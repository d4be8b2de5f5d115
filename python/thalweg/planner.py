"""The planner: candidates, their predicted times, the bound, and the choice.

Times are in seconds. `Native` is what the MPI library's own collective is predicted to take.
"""

from collections.abc import Sequence

from thalweg._core import planner as _core
from thalweg._core.algorithms import Parameters, Problem
from thalweg._core.collective import Collective, Kind
from thalweg._core.network import Network
from thalweg._core.planner import (
    Candidate,
    Effort,
    Entry,
    Explanation,
    Level,
    Native,
    NativeAlgorithm,
    Options,
    PassTime,
    Phase,
    Plan,
    PlanFile,
    PredictedTimes,
    Table,
)
from thalweg.errors import user_errors
from thalweg.threads import interruptible

__all__ = [
    "Candidate",
    "Effort",
    "Entry",
    "Explanation",
    "Level",
    "Native",
    "NativeAlgorithm",
    "Options",
    "PassTime",
    "Phase",
    "Plan",
    "PlanFile",
    "PredictedTimes",
    "Table",
    "explain",
    "from_bytes",
    "make_table",
    "native_algorithms",
    "parse_effort",
    "plan",
    "plan_from_bytes",
    "plan_neighborhood",
    "plan_to_bytes",
    "put_tree",
    "quick_table",
    "selection",
    "selections",
    "table_from_bytes",
    "table_to_bytes",
    "to_bytes",
    "wisdom_from_bytes",
    "wisdom_to_bytes",
]

LARGEST = 1 << 27
"""Sizes from this one on share a table's last row."""


@user_errors()
def parse_effort(text: str) -> Effort:
    """Returns the effort of this name. Raises UserError, listing the known ones."""
    return _core.parse_effort(text)


@user_errors()
def explain(problem: Problem, options: Options | None = None) -> Explanation:
    """Plans a problem and explains the plan.

    Raises UserError if options.force names no algorithm for the collective.
    """
    return interruptible(lambda: _core.explain(problem, options or Options()))


@user_errors()
def plan(problem: Problem, options: Options | None = None) -> Plan:
    """Plans a problem. Raises UserError as explain() does."""
    return _core.plan(problem, options or Options())


@user_errors()
def make_table(
    network: Network,
    placement: Sequence[int],
    kinds: Sequence[Kind],
    options: Options | None = None,
    max_size: int = LARGEST,
) -> Table:
    """Plans for all sizes and roots of these collectives; takes seconds for 16 ranks.

    `placement` has a host number per rank. Raises UserError if one isn't in the network.
    """
    return interruptible(
        lambda: _core.make_table(network, placement, kinds, options or Options(), max_size)
    )


@user_errors()
def put_tree(
    table: Table,
    network: Network,
    kind: Kind,
    tree: Parameters,
    sizes: tuple[int, int],
    options: Options | None = None,
    root: int | None = None,
) -> Table:
    """Puts a declared tree (trees.read) into a table, for messages from sizes[0] to below sizes[1],
    of one root or of all.

    Raises UserError if the tree doesn't fit the placement, or can't do the collective.
    """
    return interruptible(
        lambda: _core.put_tree(table, network, kind, tree, *sizes, options or Options(), root)
    )


@user_errors()
def quick_table(
    network: Network, placement: Sequence[int], options: Options | None = None
) -> Table:
    """Plans a communicator that no plan file knows as the runtime does: faster, coarser.

    Without rows if a rank's host isn't in the network. Raises UserError if that isn't valid.
    """
    return _core.quick_table(network, placement, options or Options())


def selections() -> list[str]:
    """Returns the MPI libraries whose selection rules are known: "mpich-1.4", "openmpi-4.1", ..."""
    return _core.selections()


@user_errors()
def selection(name: str, collective: Collective) -> tuple[str, Parameters]:
    """Returns the choice of an MPI library's own rules: an algorithm's name, and its parameters.

    The rules know the ranks and bytes, not the network. Raises UserError if `name` is not one of
    selections().
    """
    return _core.selection(name, collective)


@user_errors()
def native_algorithms(problem: Problem, library: str) -> list[NativeAlgorithm]:
    """Returns what a library's rules choose, one for each release that `library` may mean.

    Unlike selection() it knows which ranks share a host: where the library goes by hosts, an
    algorithm has several phases, one after the other. Within hosts a phase is that of the fullest
    host. "mpich", "mpich-1.4", "openmpi-4.1" and "openmpi-5.0" mean one release.
    """
    return _core.native_algorithms(problem, library)


@user_errors()
def plan_neighborhood(
    edges: Sequence[tuple[int, int, int]],
    network: Network,
    placement: Sequence[int],
    library: str = "",
) -> tuple[str, int, float, float]:
    """Paces the messages (from, to, bytes) of a collective of a neighbourhood.

    Returns the pacing ("native" if none is predicted to gain 5 %), its window (0: all messages at
    once), and the predicted times of native and of the pacing.
    """
    return _core.plan_neighborhood(edges, network, placement, library)


def to_bytes(file: PlanFile) -> bytes:
    """Returns a plan file's content, which the runtime reads."""
    return _core.to_bytes(file)


@user_errors()
def from_bytes(data: bytes) -> PlanFile:
    """Reads a plan file's content. Raises UserError if it is none, or damaged."""
    return _core.from_bytes(data)


def table_to_bytes(table: Table) -> bytes:
    """Returns the bytes of a table alone, without its network."""
    return _core.table_to_bytes(table)


def table_from_bytes(data: bytes) -> Table:
    """Reads a table's bytes. Raises ValueError if they are none, or damaged."""
    return _core.table_from_bytes(data)


def plan_to_bytes(plan: Plan) -> bytes:
    """Returns the bytes of a single plan."""
    return _core.plan_to_bytes(plan)


def plan_from_bytes(data: bytes, ranks: int) -> Plan:
    """Reads the bytes of a plan for `ranks` ranks. Raises ValueError for any other bytes."""
    return _core.plan_from_bytes(data, ranks)


def wisdom_to_bytes(records: Sequence[tuple[str, bytes]]) -> bytes:
    """Returns a wisdom file's content."""
    return _core.wisdom_to_bytes(records)


def wisdom_from_bytes(data: bytes) -> list[tuple[str, bytes]]:
    """Reads a wisdom file's records. Raises ValueError if it is none, or damaged."""
    return _core.wisdom_from_bytes(data)
