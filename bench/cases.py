"""Cases of a page by collective and size, and how those of drawn networks are judged."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from typing import Any, ClassVar, Protocol, TypeVar

from bench import families, report
from bench.page import Page, Record
from thalweg import units
from thalweg.algorithms import Problem
from thalweg.collective import Collective, Kind, is_rooted
from thalweg.planner import Plan

Asked = tuple[str, int]
"""A collective and a size in bytes, of the vector or of all blocks together."""


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


def problem_of(drawn: families.Drawn, kind: Kind, size: int) -> Problem:
    """Returns a collective on a drawn network, of `size` bytes of the vector or of each block, and
    from a root that the network's seed draws."""
    root = random.Random(drawn.seed).randrange(drawn.ranks) if is_rooted(kind) else 0
    collective = Collective(kind, drawn.ranks, root, size)
    return Problem(collective, drawn.network, drawn.placement, drawn.library)


def block_bytes(kind: Kind, size: int, ranks: int) -> int:
    """Returns the bytes of the vector, or of one block if all blocks together have `size`; at
    least one."""
    return max(1, size // Collective(kind, ranks, 0, 1).blocks)


def asked_labels(scenario: str, build: str, asked: Asked) -> Record:
    """Returns the labels of a part of a page that is about one collective and size."""
    collective, size = asked
    return {"scenario": scenario, "build": build, "collective": collective, "size": size}


def asked_text(asked: Asked) -> str:
    """Returns "bcast of 64KB"."""
    collective, size = asked
    return f"{collective} of {units.size_to_text(size)}"


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
