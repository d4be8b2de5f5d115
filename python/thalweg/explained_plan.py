"""The plan for one operation, with what led to it."""

from dataclasses import dataclass
from functools import cached_property

from thalweg import algorithms, bounds, units
from thalweg.algorithms import Parameters, Problem, Skeleton
from thalweg.bounds import Bound
from thalweg.collective import Collective, Kind
from thalweg.errors import UserError
from thalweg.planner import Candidate, Explanation, Native, Options, PassTime
from thalweg.schedule import Schedule
from thalweg.simulator import SimulatedMessage

NATIVE = "native"
"""ExplainedPlan.algorithm where the MPI library's own collective is the choice."""


@dataclass(frozen=True, repr=False)
class ExplainedPlan:
    """The plan for one operation, with what led to it. Times are in seconds."""

    problem: Problem
    options: Options
    explanation: Explanation

    @property
    def collective(self) -> Collective:
        """The operation on as many ranks as it was planned for."""
        return self.problem.collective

    @property
    def placement(self) -> list[int]:
        """The host number of each rank."""
        return self.problem.placement

    @property
    def algorithm(self) -> str:
        """Its name; "native" is the MPI library's own collective, "listed" a given schedule."""
        return self.explanation.plan.algorithm

    @property
    def is_native(self) -> bool:
        """Whether the MPI library's own collective is the choice: it has no schedule."""
        return self.algorithm == NATIVE

    @property
    def parameters(self) -> Parameters:
        """The parameters of the algorithm."""
        return self.explanation.plan.parameters

    @property
    def skeleton(self) -> Skeleton:
        """The algorithm's decisions. Raises UserError for a native plan."""
        if self.is_native:
            raise UserError(
                f"{self.reason}: the MPI library's own collective has no schedule; name an "
                "algorithm to see another one's (--algorithm of `thalweg plan`, algorithm=... in "
                "Python)"
            )
        return self.explanation.plan.skeleton

    @cached_property
    def schedule(self) -> Schedule:
        """The transfers of all ranks. Raises UserError for a native plan."""
        return algorithms.expand(self.collective.kind, self.skeleton, self.collective.size)

    @property
    def predicted(self) -> float:
        """The predicted time; 0 if that isn't known."""
        return self.explanation.plan.predicted

    @property
    def native(self) -> Native:
        """What the MPI library's own collective is predicted to take, and by which algorithm."""
        return self.explanation.plan.native

    @property
    def bound(self) -> float:
        """The physical limit: no schedule takes less."""
        return self.explanation.plan.bound.time

    @property
    def bound_reason(self) -> str:
        """The cut or path that sets the bound."""
        return self.explanation.plan.bound.reason

    @cached_property
    def bound_with_slow_start(self) -> Bound:
        """The limit on this network with its transport, and what sets it; none without a bound."""
        if not self.bound_reason:
            return self.explanation.plan.bound
        return bounds.bound_with_slow_start(self.problem)

    @property
    def reason(self) -> str:
        """The reason of the choice, in a sentence."""
        return self.explanation.plan.reason

    @property
    def title(self) -> str:
        """The operation and the choice: "bcast of 8MB on 16 ranks: binomial"."""
        collective = self.collective
        size = f" of {units.size_to_text(collective.size)}"
        if collective.block_sizes:
            size = f" of {units.size_to_text(collective.total)} in unequal blocks"
        if collective.kind is Kind.barrier:
            size = ""
        return f"{collective.kind.name}{size} on {collective.ranks} ranks: {self.algorithm}"

    @property
    def candidates(self) -> list[Candidate]:
        """All candidates, best first."""
        return self.explanation.candidates

    @property
    def critical_path(self) -> list[SimulatedMessage]:
        """The messages that set the predicted time, first to last; empty if there are too many."""
        return self.explanation.critical_path

    @property
    def passes(self) -> list[PassTime]:
        """The planner's passes and their times."""
        return self.explanation.passes

    def host(self, rank: int) -> str:
        """The name of the rank's host."""
        return self._host_of_rank[rank]

    @cached_property
    def _host_of_rank(self) -> list[str]:
        hosts = self.problem.network.hosts
        return [hosts[host].name for host in self.placement]

    def __repr__(self) -> str:
        time = units.time_to_text(self.predicted) if self.predicted else "unknown"
        return f"<Plan of {self.collective.kind.name}: {self.algorithm}, predicted {time}>"
