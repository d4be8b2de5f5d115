"""A thread of the runtime carries out nonblocking collectives, if rank 0 is told so and the program
has MPI_THREAD_MULTIPLE: nonblocking.py FLAVOUR BUILD_FOLDER runs nonblocking.cpp."""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from behaviour import EACH_ONCE, WITHOUT_RELAYS, Case, events_module, planned, said
from launch import build, environment, run

ALL = EACH_ONCE | {"gather": 2, "scatter": 2, "allgather": 3, "alltoall": 4, "reduce_scatter": 2}
"""Calls of nonblocking.cpp's "each"."""
WANTED = WITHOUT_RELAYS | {"THALWEG_NONBLOCKING": "1"}


class Nonblocking:
    """One test per public method or so."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.program = str(case.program(f"nonblocking_{case.flavour}"))
        # An alltoallw is native under Open MPI.
        self.plans_types = not case.flavour.startswith("openmpi")
        self.all = ALL if self.plans_types else ALL | {"alltoall": 3}

    def run(
        self, name: str, ranks: int, settings: Mapping[str, str] = WANTED
    ) -> tuple[list[str], dict[str, Any]]:
        """What was said, and the summary's counts."""
        stderr, summary = self.case.run([self.program, name], settings, ranks=ranks)
        return said(stderr), summary.get("nonblocking", {})

    def each(self, ranks: int) -> None:
        heard, counts = self.run("each", ranks)
        assert heard == [] and planned({"collectives": counts}) == self.all, (heard, counts)

    def traced(self) -> None:
        """Events tell nonblocking calls, as many as the summary counts, from the others."""
        if (events := events_module()) is None:
            return
        shutil.rmtree(self.case.folder / "trace", ignore_errors=True)
        _, counts = self.run("persistent", 3)
        numbers = [
            part["calls"]
            for each in counts.values()
            for part in (each["planned"], *each["native"].values())
        ]
        rank, *_ = events.read_all(self.case.folder / "trace")
        found = (rank.calls["type"] == events.NONBLOCKING_CALL).sum()
        assert rank.dropped == 0 and found == sum(numbers) > 0, (found, counts)

    def without_threads(self) -> None:
        heard, counts = self.run("single", 3)
        assert "doesn't have MPI_THREAD_MULTIPLE" in "".join(heard), heard
        assert counts == {}, counts

    def unwanted(self) -> None:
        heard, counts = self.run("each", 3, {})
        assert heard == [] and counts == {}, (heard, counts)

    def rank_0_decides(self) -> None:
        case, path = self.case, self.case.folder / "one"
        own = environment([case.library, *case.others], {"THALWEG_SUMMARY": str(path)})
        first, rest = (1, own | WANTED, [self.program, "each"]), (2, own, [self.program, "each"])
        done = run(case.flavour, first, rest, capture=True)
        assert done.returncode == 0 and said(done.stderr) == [], done.stderr
        counts = json.loads(path.read_text())["nonblocking"]
        assert planned({"collectives": counts}) == self.all, counts

    def new_communicator(self) -> None:
        allreduce = self.run("new", 3)[1]["allreduce"]
        assert allreduce["planned"]["calls"] == 1, allreduce
        assert allreduce["native"]["not-set-up"]["calls"] == 1, allreduce

    def native(self) -> None:
        forced = WANTED | {"THALWEG_FORCE": "bcast=native;allreduce=ring"}
        bcast = self.run("each", 3, forced)[1]["bcast"]
        assert bcast["native"]["plan-native"]["calls"] == 1, bcast

    def uneven(self, ranks: int) -> None:
        """Blocks of different lengths: 40 calls of each form for each of 4 lengths."""
        _, counts = self.run("uneven", ranks)
        assert counts["gather"]["planned"]["calls"] == 160, counts
        assert counts["alltoall"]["planned"]["calls"] == (320 if self.plans_types else 160), counts

    def all_planned(self, name: str, ranks: int) -> None:
        _, counts = self.run(name, ranks)
        reasons = {reason for each in counts.values() for reason in each["native"]}
        expected = set() if self.plans_types else {"not-planned"}
        assert counts and reasons <= expected, counts

    def persistent(self) -> None:
        """Two broadcasts of five calls each on two communicators, in 20 rounds."""
        bcast = self.run("persistent", 4)[1]["bcast"]
        assert bcast["planned"]["calls"] == 80 and not bcast["native"], bcast

    def persistent_uneven(self, ranks: int) -> None:
        """Two forms, each twice, in 20 rounds."""
        alltoall = self.run("persistent-uneven", ranks)[1]["alltoall"]
        assert alltoall["planned"]["calls"] == (80 if self.plans_types else 40), alltoall
        assert bool(alltoall["native"]) != self.plans_types, alltoall

    def persistent_with_gaps(self) -> None:
        """16 in each of 5 rounds, and 4 of the 20 persistent ones."""
        allreduce = self.run("persistent-with-gaps", 3)[1]["allreduce"]
        assert allreduce["planned"]["calls"] == 5 * (16 + 4), allreduce

    def in_callbacks(self) -> None:
        """One while each of five communicators is freed, and an allreduce in MPI_Finalize."""
        _, counts = self.run("in-callbacks", 3)
        started = {name: each["planned"]["calls"] for name, each in counts.items()}
        wanted = dict.fromkeys(["bcast", "alltoall", "allgather", "barrier"], 1)
        assert started == wanted | {"allreduce": 2}, counts

    def more_than_tags(self) -> None:
        # MPICH 4.0 and Intel MPI mix up native ones, as without us.
        if build(self.case.flavour).name in ("mpich-4.0", "intel-2021"):
            return
        barrier = self.run("persistent-many", 3)[1]["barrier"]
        assert barrier["planned"]["calls"] > 0, barrier
        assert barrier["native"].keys() == {"tags-exhausted"}, barrier

    def one_message_at_a_time(self, name: str) -> None:
        self.run(name, 3, WANTED | {"THALWEG_WINDOW": "1"})


def tests(its: Nonblocking) -> list[Callable[[], None]]:
    return [
        *(partial(its.each, ranks) for ranks in (3, 8)),
        its.traced,
        its.without_threads,
        its.unwanted,
        its.rank_0_decides,
        its.new_communicator,
        its.native,
        *(partial(its.uneven, ranks) for ranks in (2, 5)),
        partial(its.all_planned, "arithmetic", 3),
        partial(its.all_planned, "progress", 4),
        partial(its.all_planned, "orders", 5),
        partial(its.all_planned, "freed", 4),
        partial(its.all_planned, "cached", 4),
        partial(its.all_planned, "spoilt", 3),
        partial(its.all_planned, "many", 3),
        partial(its.all_planned, "threads", 3),
        partial(its.all_planned, "memory", 2),
        its.persistent,
        *(partial(its.persistent_uneven, ranks) for ranks in (2, 5)),
        its.persistent_with_gaps,
        its.in_callbacks,
        its.more_than_tags,
        *(partial(its.one_message_at_a_time, name) for name in ("progress", "many")),
    ]


def main() -> int:
    flavour, build_folder = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        case = Case(flavour, Path(build_folder), Path(folder))
        for test in case.share(tests(Nonblocking(case))):
            test()
    return 0


if __name__ == "__main__":
    sys.exit(main())
