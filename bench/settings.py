"""The options of script/bench."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Final, Self

from bench.builds import Build
from thalweg.errors import UserError

scenario_names = ("two-sites", "cloud", "even")
budget = 30.0  # un-dilated seconds of a probe
NARROWS: Final = {"narrows": True}
"""Metadata of settings that leave out parts of a page if an option sets them."""


@dataclass(frozen=True)
class Settings:
    """Options of the subcommands."""

    builds: list[Build]
    scenarios: Sequence[str] = scenario_names
    sizes: Sequence[int] = field(default=(), metadata=NARROWS)  # bytes; empty: the command's own
    repetitions: int = 7
    seed: int = 1
    dilation: float | None = None  # of the lab; None: the scenario's own
    save: bool = True  # write results to bench/results
    draft: bool = False  # write them elsewhere: report.drafts
    anew: bool = False  # without the parts that the last run has measured
    resume: bool = False  # without the parts that were made with today's sources
    render: bool = False  # without any part: only the page is written again
    budget: float = budget  # of a probe
    budget_is_set: bool = False  # by the option
    builds_are_set: bool = field(default=False, metadata=NARROWS)  # by the option
    scenarios_are_set: bool = field(default=False, metadata=NARROWS)  # by the option
    programs: Sequence[str] = field(default=(), metadata=NARROWS)  # empty: the command's own
    simulate: bool = False  # instead of measuring
    trees: int | None = field(default=None, metadata=NARROWS)  # drawn; None: the command's own
    plans: Sequence[str] = field(default=(), metadata=NARROWS)  # of never-slower; empty: all
    senders: Sequence[int] = field(default=(), metadata=NARROWS)  # per site; empty: the paper's
    networks: int | None = field(default=None, metadata=NARROWS)  # drawn; None: the command's own
    hosts: int | None = field(default=None, metadata=NARROWS)  # at most; None: the command's own
    calls: int | None = field(default=None, metadata=NARROWS)  # of stress; None: its own number
    collectives: Sequence[str] = field(default=(), metadata=NARROWS)  # empty: the command's own
    papers: Sequence[str] = ()  # whose figures are made; empty: all
    lab: bool = False  # also what needs the lab

    @property
    def is_partial(self) -> bool:
        """Whether an option leaves out what the command makes without it."""
        narrowing = (each.name for each in fields(self) if each.metadata.get("narrows"))
        return any(getattr(self, name) for name in narrowing)

    def seeds(self, usual: int) -> range:
        """Returns the seeds of the networks to draw, of which there usually are this many."""
        return range(self.seed, self.seed + (self.networks or usual))

    def debian_builds(self) -> list[Build]:
        """Open MPI 4.1 and MPICH 4.0, for which the bars are set."""
        return [build for build in self.builds if build.name in ("openmpi-4.1", "mpich-4.0")]

    def build_named(self, name: str) -> Build | None:
        """Returns the build of this name; None if it isn't here, or if --build leaves it out."""
        return next((build for build in self.builds if build.name == name), None)

    def the_build(self, name: str) -> Build:
        """Returns the build of this name, for commands that can't do without it.

        Raises UserError if it isn't here, or if --build leaves it out.
        """
        if not (build := self.build_named(name)):
            raise UserError(
                f"this needs the MPI build {name}: choose it by --build, too, or install it "
                "(script/setup)"
            )
        return build

    def at_twice_the_dilation(self) -> Self:
        """Reduces repetitions: their median need only show whether the dilation matters."""
        return replace(self, repetitions=min(self.repetitions, 3))
