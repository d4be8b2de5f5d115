"""Events of runs that tests make up, as thalweg.events would read them."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from thalweg import events, network
from thalweg.analysis import tables
from thalweg.analysis.tables import Names, Run
from thalweg.collective import Kind
from thalweg.events import RankEvents


class Recording:
    """Collects calls and messages; times are nanoseconds."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self._calls: dict[int, list[tuple[object, ...]]] = defaultdict(list)
        self._transfers: dict[int, list[tuple[object, ...]]] = defaultdict(list)
        self._count = 0

    def call(
        self, kind: Kind, times: dict[int, tuple[int, int]], *, root: int = 0, size: int = 8,
        planned: bool = True, ranks: int | None = None, members: Sequence[int] = (),
        off_core: Mapping[int, int] = {}, tag: int = 1, sequence: int | None = None,
        nonblocking: bool = False,
    ) -> int:  # fmt: skip
        """`times`: entry and exit by rank; `members`: the world's ranks in the communicator's
        order, if that is recorded; `off_core`: as in a record, by rank. Returns the call's
        number."""
        number = self._count
        self._count += 1
        for rank, (enter, leave) in times.items():
            self._calls[rank].append(
                (events.NONBLOCKING_CALL if nonblocking else 2, kind.value, planned, 0, number,
                 root, ranks or len(times), size, enter, leave, tag, 0,
                 number if sequence is None else sequence, int(planned), off_core.get(rank, 0), 8,
                 1 + members.index(rank) if members else 0)
            )  # fmt: skip
        return number

    def message(
        self, call: int, sender: int, receiver: int, sent: tuple[int, int],
        received: tuple[int, int] | tuple[int, int, int], *, step: int = 0, size: int = 8,
        how: int = 0, segment: int = 0,
    ) -> None:  # fmt: skip
        """`sent`: posted and done; `received`: posted, done and, if later, applied."""
        applied = received[-1]
        for rank, peer, direction, times in (
            (sender, receiver, events.SEND, (*sent, sent[1])),
            (receiver, sender, events.RECEIVE, (*received[:2], applied)),
        ):
            self._transfers[rank].append(
                (1, direction, 0, how, call, peer, step, segment, 1, size, *times, b"")
            )

    def events(self) -> list[RankEvents]:
        return [
            RankEvents(
                rank, self.ranks, 0,
                np.array(self._transfers[rank], events.TRANSFER),
                np.array(self._calls[rank], events.CALL),
            )
            for rank in range(self.ranks)
        ]  # fmt: skip

    def run(self, **known: object) -> Run:
        return tables.build(self.events(), Names(["drawn"], ["off"]), **known)  # type: ignore[arg-type]

    def write(self, folder: Path, *, ranks: int | None = None) -> Path:
        """Writes the files that the runtime would."""
        folder.mkdir(exist_ok=True)
        for each in self.events():
            count = len(each.transfers) + len(each.calls)
            header = np.zeros(1, events.HEADER)
            header["magic"], header["record_size"] = events.MAGIC, events.TRANSFER.itemsize
            header["version"], header["count"], header["room"] = 2, count, max(count, 1)
            header["world_rank"], header["world_size"] = each.rank, ranks or self.ranks
            header["scale"]["ns_per_tick"], header["clock"]["error_ns"] = 1, -1
            records = each.transfers.tobytes() + each.calls.tobytes()
            content = header.tobytes() + (records or bytes(events.TRANSFER.itemsize))
            (folder / f"rank-{each.rank}.events").write_bytes(content)
        summary = {"library": "openmpi", "algorithms": ["drawn"], "reasons": ["off"]}
        (folder / "summary.json").write_text(json.dumps(summary))
        return folder


def allreduces(trees: Sequence[Mapping[int, int]], segments: int = 1) -> Recording:
    """Allreduces, each by the tree below rank 0 that the parents of the other ranks are."""
    made = Recording(1 + len(trees[0]))
    for at, parent_of in enumerate(trees):
        t = 10_000 * at
        call = made.call(Kind.allreduce, dict.fromkeys(range(made.ranks), (t, t + 9000)))
        for child, parent in parent_of.items():
            depth, above = 1, parent
            while above != 0:
                depth, above = depth + 1, parent_of[above]
            for segment in range(segments):
                up, down = (t + 1000 * segment + 100 * each for each in (5 - depth, 5 + depth))
                made.message(
                    call, child, parent, (up, up + 1), (t + 1, up + 50 + child), step=5 - depth,
                    segment=segment, how=1,
                )  # fmt: skip
                made.message(
                    call, parent, child, (down, down + 1), (t + 2, down + 50), step=5 + depth,
                    segment=segment,
                )  # fmt: skip
    return made


def small_tree(offset: int = 0) -> Recording:
    """Ranks 1 and 2 below rank 0, an allreduce. `offset` is added to the clock of rank 2."""
    made = Recording(3)
    call = made.call(Kind.allreduce, {0: (10, 60), 1: (0, 52), 2: (5 + offset, 49 + offset)})
    made.message(call, 1, 0, (1, 2), (11, 20), step=0, how=1)
    made.message(call, 2, 0, (6 + offset, 7 + offset), (11, 30, 33), step=0, how=1)
    made.message(call, 0, 1, (35, 36), (3, 50), step=1)
    made.message(call, 0, 2, (37, 38), (8 + offset, 48 + offset), step=1)
    return made


def even(latency: float = 100e-9, rate: float = 1e9) -> dict[str, object]:
    """Two hosts with 100 ns and a byte a nanosecond."""
    return {"network": network.even_network(2, latency, rate), "placement": [0, 1]}
