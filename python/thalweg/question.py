"""What a plan is asked for on the command line."""

from dataclasses import dataclass
from pathlib import Path

from thalweg import inputs, plans, units
from thalweg.plans import NORMAL, Search, Setting


@dataclass(frozen=True)
class Question:
    """What a plan is asked for, as the user said it."""

    file: Path
    ranks: int | None
    hosts: str | None
    library: str | None
    search: Search = NORMAL
    remember: bool = True
    """Whether wisdom answers what was planned before, and keeps what is planned now."""

    def answerable(self) -> Setting:
        """Reads the network, and decides what the user left open. Raises UserError."""
        net = inputs.network(self.file)
        library = plans.known_library(net, self.library, str(self.file))
        return Setting(net, inputs.ranks_on(net, self.ranks, self.hosts), library, self.search)


def search(effort: str, seed: int, budget: str) -> Search:
    """How hard to plan, with the budget as text: "10s". Raises UserError."""
    return Search(effort, seed, units.parse_time(budget))
