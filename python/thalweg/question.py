"""The operation and setting that the command line asks to plan."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from thalweg import inputs, plans, units
from thalweg.collective import Kind
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
class Question:
    """The arguments of a plan, as the user gave them."""

    file: Path
    ranks: int | None
    hosts: str | None
    library: str | None
    search: Search = NORMAL
    remember: bool = True
    """Whether to use and to keep wisdom."""

    def answerable(self) -> Setting:
        """Reads the network and completes the user's arguments. Raises UserError."""
        net = inputs.network(self.file)
        library = plans.known_library(net, self.library, str(self.file))
        return Setting(net, inputs.ranks_on(net, self.ranks, self.hosts), library, self.search)


def search(effort: str, seed: int, budget: str) -> Search:
    """Returns the effort of planning, with the budget as text: "10s". Raises UserError."""
    return Search(effort, seed, units.parse_time(budget))
