"""The operation and setting that the command line asks to plan."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from thalweg import inputs, operations, plans, units
from thalweg.collective import Kind, is_rooted, parse_kind
from thalweg.errors import UserError
from thalweg.operations import Operation
from thalweg.plans import NORMAL, Search, Setting


def _collectives(incomplete: str) -> list[str]:
    """Names for the shell's completion."""
    return [kind.name for kind in Kind if kind.name.startswith(incomplete)]


Collective = Annotated[
    str | None,
    typer.Argument(
        help=", ".join(kind.name for kind in Kind) + ".",
        metavar="COLLECTIVE",
        autocompletion=_collectives,
    ),
]


@dataclass(frozen=True)
class PlanArguments:
    """The arguments of a plan, as the user gave them."""

    file: Path
    ranks: int | None
    hosts: str | None
    library: str | None
    search: Search = NORMAL
    remember: bool = True
    """Whether to use and to keep wisdom."""

    def setting(self) -> Setting:
        """Reads the network and completes the user's arguments. Raises UserError."""
        net = inputs.network(self.file)
        library = plans.known_library(net, self.library, str(self.file))
        return Setting(net, inputs.ranks_on(net, self.ranks, self.hosts), library, self.search)


def asked_operation(name: str, size: str | None, root: int) -> Operation:
    """Returns the operation of this name, of 1MB if no size is given.

    Raises UserError for an unknown one, and for a root or a size that it hasn't.
    """
    kind = parse_kind(name)
    if root and not is_rooted(kind):
        raise UserError(f"{name} has no root: leave out --root {root}")
    if size and kind is Kind.barrier:
        raise UserError(f"{name} sends no data: leave out the size {size}")
    return operations.make(name, size or "1MB", root)


def search(effort: str, seed: int, budget: str) -> Search:
    """Returns the effort of planning, with the budget as text: "10s". Raises UserError."""
    return Search(effort, seed, units.parse_time(budget))
