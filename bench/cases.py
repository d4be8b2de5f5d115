"""Cases of a page by collective and size, and how those of drawn networks are judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from typing import Any, ClassVar, Protocol, TypeVar

from bench import report
from bench.page import Page
from thalweg.collective import Kind
from thalweg.planner import Plan


class Case(Protocol):
    """A dataclass of what was found for one collective and size."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def collective(self) -> str: ...
    @property
    def size(self) -> int: ...


AnyCase = TypeVar("AnyCase", bound=Case)


def judge_networks(
    page: Page, seeds: Sequence[int], most_hosts: int, judge: Callable[[int], Sequence[Case]]
) -> None:
    """Adds a part for the drawn network of each seed, judged by a process per core."""
    left = [seed for seed in seeds if not page.has({"seed": seed})]
    with ProcessPoolExecutor() as pool:
        for seed, cases in zip(left, pool.map(judge, left), strict=True):
            page.add({"seed": seed}, {"hosts": most_hosts}, [asdict(case) for case in cases])
            report.console.print(f"network {seed}: {len(cases)} cases")
    page.finish()


def text_of(plan: Plan) -> str:
    """Returns a plan's algorithm and parameters as `explain` names them."""
    return plan.reason.split(": predicted")[0]


def by_collective_and_size(cases: Iterable[AnyCase]) -> Iterator[tuple[str, int, list[AnyCase]]]:
    """Yields the cases of each collective and size, in the order of Kind and of sizes."""
    groups: dict[tuple[str, int], list[AnyCase]] = {}
    for case in cases:
        groups.setdefault((case.collective, case.size), []).append(case)
    for key in sorted(groups, key=lambda each: (Kind[each[0]].value, each[1])):
        yield *key, groups[key]


def percentile_90(values: Iterable[float]) -> float:
    """Returns the least value that nine in ten don't exceed."""
    ascending = sorted(values)
    return ascending[math.ceil(0.9 * len(ascending)) - 1]
