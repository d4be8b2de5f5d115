"""The options of script/bench."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from bench.builds import Build

scenario_names = ("two-sites", "cloud", "even")
budget = 30.0  # un-dilated seconds of a probe


@dataclass(frozen=True)
class Settings:
    """Options of the subcommands."""

    builds: list[Build]
    scenarios: Sequence[str] = scenario_names
    sizes: Sequence[int] = ()  # bytes; empty: the command's own
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
    programs: Sequence[str] = ()  # of breakdown; empty: all
    simulate: bool = False  # instead of measuring
    trees: int | None = None  # that are drawn at random; None: the command's own
    plans: Sequence[str] = ()  # of never-slower; empty: all
    senders: Sequence[int] = ()  # per site, of wan; empty: those of the paper's figures
    networks: int | None = None  # drawn, from `seed` on; None: the command's own
    hosts: int | None = None  # at most, of a network; None: the command's own
    calls: int | None = None  # of a stress program; None: the command's own
    collectives: Sequence[str] = ()  # empty: the command's own
    papers: Sequence[str] = ()  # whose figures are made; empty: all
    lab: bool = False  # also what needs the lab
    is_partial: bool = False  # whether an option leaves out what the command makes without it

    def debian_builds(self) -> list[Build]:
        """Open MPI 4.1 and MPICH 4.0, for which the bars are set."""
        return [build for build in self.builds if build.name in ("openmpi-4.1", "mpich-4.0")]

    def at_twice_the_dilation(self) -> Self:
        """Reduces repetitions: their median need only show whether the dilation matters."""
        return replace(self, repetitions=min(self.repetitions, 3))
