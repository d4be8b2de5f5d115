"""Placements that were found before: neither the search nor plans for its finalists take time again
while nothing changes that they depend on.

They are kept in wisdom: docs/wisdom-file.md.
"""

import contextlib
import dataclasses
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from thalweg import mapping, wisdom
from thalweg.mapping import Cost, Mapping, TrafficSums
from thalweg.matrices import Program
from thalweg.network import Network

LEAST_KEPT = 0.2
"""Seconds of a mapping from which on it is kept, and how long it took."""
COST = ("pairs", "load", "collectives", "migration")
TRAFFIC = ("inter_host", "intra_host", "inter_site", "comm_time", "busiest", "hosts")
"""What is kept of a Cost and of TrafficSums."""


@dataclass(frozen=True)
class MappingProblem:
    """All that a placement for a run depends on. World rank 0 stays where it is."""

    network: Network
    program: Program
    slots: Sequence[int]
    """By host of the network."""
    order: Sequence[int]
    """The listed hosts, by their numbers in the network."""
    usual: Sequence[int]
    """By rank: where it would be otherwise."""
    method: str = "thalweg"

    def solve(self) -> Mapping:
        """Places the ranks. Raises UserError as mapping.place()."""
        return mapping.place(
            self.network, self.program.matrix, self.slots, calls=self.program.calls,
            pinned={0: self.usual[0]}, order=self.order, usual=self.usual, method=self.method,
        )  # fmt: skip

    def estimated(self) -> float:
        """Returns what the usual placement costs, with collectives estimated."""
        known = self.program
        return mapping.cost_of(
            self.network, known.matrix, self.usual, calls=known.calls, slots=self.slots
        ).total

    @property
    def size(self) -> tuple[str, int, int, int]:
        """What decides how long a mapping takes."""
        pairs = len(self.program.matrix.sender)
        return self.method, len(self.usual), len(self.order), pairs

    def key(self) -> str:
        """Returns the key of the answer in wisdom."""
        matrix, calls = self.program.matrix, self.program.calls
        asked = {
            "ranks": matrix.ranks,
            "calls": [
                [call.kind.name, call.size, call.count, call.root, list(call.members)]
                for call in calls
            ],
            "slots": list(self.slots),
            "order": list(self.order),
            "usual": list(self.usual),
            "method": self.method,
            "finalists": mapping.FINALISTS,
        }
        digest = hashlib.sha256(json.dumps(asked).encode())
        columns = (matrix.sender, matrix.receiver, matrix.messages, matrix.nbytes, matrix.phase)
        for column in columns:
            digest.update(column.tobytes())
        return json.dumps(
            {
                "core": wisdom.core_digest(),
                "network": f"{self.network.fingerprint():016x}",
                "mapped": digest.hexdigest()[:16],
            },
            separators=(",", ":"),
        )


def place(problem: MappingProblem) -> Mapping:
    """Returns problem.solve(), or its earlier result. Raises UserError as mapping.place()."""
    key = problem.key()
    if found := _kept(problem, key):
        return found
    began = time.monotonic()
    made = problem.solve()
    if (spent := time.monotonic() - began) > LEAST_KEPT:
        value = json.dumps(_as_json(made), separators=(",", ":")).encode()
        wisdom.keep_seconds_of_mapping(*problem.size, spent, {key: value})
    return made


def seconds(problem: MappingProblem) -> float:
    """Returns how long place() will take, as far as it is known: nothing if its result is kept,
    else as long as the last mapping of such a size."""
    spent = wisdom.seconds_of_mapping(*problem.size)
    return 0.0 if not spent or _kept(problem, problem.key()) else spent


def _kept(problem: MappingProblem, key: str) -> Mapping | None:
    """Returns what is kept by the problem's key; None if nothing is, or it can't be read."""
    known = wisdom.load(wisdom.location()).get(key)
    if known is not None:
        with contextlib.suppress(ValueError, TypeError, LookupError):
            return _mapping(json.loads(known), problem)
    return None


def _as_json(found: Mapping) -> dict[str, Any]:
    return {
        "method": found.method,
        "placement": list(found.placement),
        "cost": _fields(found.cost, COST),
        "traffic": _fields(found.traffic, TRAFFIC),
        "planned": _fields(found.planned, COST) if found.planned else None,
        "usual": _as_json(found.usual) if found.usual else None,
    }


def _fields(values: Cost | TrafficSums, names: Sequence[str]) -> dict[str, float]:
    return {name: getattr(values, name) for name in names}


def _mapping(found: dict[str, Any], problem: MappingProblem) -> Mapping:
    """Raises ValueError, TypeError or LookupError if it isn't a mapping of so many ranks."""
    where = [int(host) for host in found["placement"]]
    if len(where) != len(problem.usual) or not set(where) <= set(problem.order):
        raise ValueError
    one = Mapping(
        where,
        Cost(**found["cost"]),
        TrafficSums(**found["traffic"]),
        str(found["method"]),
        Cost(**found["planned"]) if found["planned"] else None,
    )
    usual = found["usual"]
    return dataclasses.replace(one, usual=_mapping(usual, problem)) if usual else one
