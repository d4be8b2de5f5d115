"""What a run leaves in its folder: record.py FLAVOUR CASE BUILD_FOLDER."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from itertools import pairwise

import numpy as np
from behaviour import Case
from launch import environment, run

from thalweg import events, record
from thalweg.clocks import RANK_0S

RANKS = 5


def launch(
    case: Case,
    name: str,
    *arguments: str,
    settings: Mapping[str, str] = {},
    below: Sequence[str] = (),
) -> str:
    """Runs a program with a record; returns what it prints. With arguments it may fail.

    `below`: libraries that are preloaded below the runtime.
    """
    own = environment(
        [case.library, *below, *case.others],
        {"THALWEG_RECORD": str(case.folder / "run")} | dict(settings),
    )
    program = [str(case.program(f"{name}_{case.flavour}")), *arguments]
    done = run(case.flavour, (RANKS, own, program), capture=True)
    assert "kill" in arguments or done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def check_matrix(found: record.CommunicationMatrix, printed: str) -> int:
    """Checks what `messages` sent, by what it printed; returns by how many functions it sends."""
    functions, empty = map(int, printed.split()[:2])
    counts, nbytes = found.dense()
    sender, receiver = np.indices((RANKS, RANKS))
    to_next = np.roll(np.eye(RANKS), 1, axis=1)
    assert (counts == functions + 1 + empty * to_next).all(), counts
    assert (nbytes == functions * 8 * (3 * sender + receiver) + 4).all(), nbytes
    assert not found.missing
    for largest, smallest, sent, total in zip(
        record.SIZE_CLASSES, (0, 1, *record.SIZE_CLASSES[1:-1]), found.messages.T, found.nbytes.T,
        strict=True,
    ):  # fmt: skip
        assert (total >= sent * np.uint64(smallest or 0)).all()
        if largest is not None:
            assert (total <= sent * np.uint64(largest)).all()
    return functions


def all_functions(case: Case) -> None:
    printed = launch(case, "messages")
    found = record.read(case.folder / "run")
    check_matrix(found.matrix, printed)
    assert not found.unfinished
    assert found.description["end"]
    assert sorted(path.name for path in found.folder.iterdir()) == [
        "record.bin",
        "run.json",
        "summary.json",
    ]


def elsewhere(case: Case) -> None:
    """Relative paths lead from where the program began, not from where it has gone."""
    there = case.folder / "there"
    there.mkdir()
    relative = {"THALWEG_RECORD": "run", "THALWEG_SUMMARY": "own.json"}
    with chdir(case.folder):
        printed = launch(case, "messages", "go", str(there), settings=relative)
    check_matrix(record.read(case.folder / "run").matrix, printed)
    assert json.loads((case.folder / "own.json").read_text())
    assert not list(there.iterdir())


def sizes(case: Case) -> None:
    """The size is known of calls in place and of blocks of different lengths, also on communicators
    that aren't set up."""
    launch(case, "sizes")
    found = record.read(case.folder / "run")
    # The root's group of an intercommunicator has a rank that neither gathers nor scatters.
    without = {("gather", "intercommunicator"): 1, ("scatter", "intercommunicator"): 1}
    reasons = set()
    for call in found.calls:
        reason = found.name_of("reasons", call["reason"])
        name = found.description["collectives"][call["collective"]]
        left_out = without.get((name, reason), 0) if call["rank"] == 1 else 0
        assert call["bytes"] == 24 * (call["calls"] - left_out), (name, reason, call)
        reasons.add(reason)
    assert reasons == {"not-set-up", "intercommunicator", "single-rank"}, reasons


def first_messages(case: Case) -> None:
    """Threads may send the first messages on a communicator at once."""
    sent = int(launch(case, "messages", "threads").split()[0])
    counts, _ = record.read(case.folder / "run").matrix.dense()
    assert (counts == sent * np.roll(np.eye(RANKS), 1, axis=1)).all(), counts


def looked_up_once(case: Case) -> None:
    """A communicator's ranks in MPI_COMM_WORLD are looked up once, for its calls and messages."""
    below = [str(case.program(f"libtranslations_{case.flavour}.so"))]
    settings = {"TEST_TRANSLATIONS": str(case.folder / "translations")}
    launch(case, "messages", settings=settings, below=below)
    found = [path.read_text().strip() for path in case.folder.glob("translations.*")]
    assert found == ["2"] * RANKS, found  # the half, and the other half across an intercommunicator


def one_sided(case: Case) -> None:
    """Accesses to other ranks' memory are counted apart from messages."""
    writes, reads, write_one, read_one, empty = map(int, launch(case, "one_sided").split()[:5])
    run_record = record.read(case.folder / "run")
    found = run_record.one_sided
    assert (found.rank * RANKS + found.target).tolist() == list(range(RANKS**2))
    assert (found.writes.sum(axis=1) == writes + write_one + empty).all(), found.writes
    assert (found.reads.sum(axis=1) == reads + read_one).all(), found.reads
    doubles = 1 + 3 * found.rank + found.target
    assert (found.written.sum(axis=1) == 8 * (writes * doubles + write_one)).all(), found.written
    assert (found.read.sum(axis=1) == 8 * (reads * doubles + read_one)).all(), found.read
    assert not run_record.matrix.messages.any()


def neighbor_blocks(case: Case) -> None:
    """Blocks for neighbours are counted by destination, also where nothing is planned."""
    launch(case, "neighbor_blocks")
    found = record.read(case.folder / "run")
    counts, nbytes = found.neighbor_blocks.dense()
    expected = np.zeros((2, RANKS, RANKS))
    for rank in range(RANKS):
        for step in (1, 2):
            expected[:, rank, (rank + step) % RANKS] += 3, 8 * (3 + step + rank + 2)
        for other in {rank - 1, rank + 1} & set(range(RANKS)):
            expected[:, rank, other] += 1, 40
    assert (counts == expected[0]).all(), counts
    assert (nbytes == expected[1]).all(), nbytes
    assert not found.matrix.messages.any()


def killed(case: Case) -> None:
    settings = {"THALWEG_EVENTS": "1MB"}
    printed = launch(case, "messages", "kill", settings=settings)
    found = record.read(case.folder / "run")
    functions = check_matrix(found.matrix, printed)
    assert 1 in found.unfinished
    assert found.description["end"] is None
    for rank in events.read_all(found.folder):
        # A barrier for each function and shift, and one at the end.
        assert len(rank.calls) >= functions * RANKS, rank


def calls(case: Case) -> None:
    """Calls, communicators and links agree with the summary and with the events."""
    program = "random_collectives", "7", "100"
    launch(case, *program, settings={"THALWEG_EVENTS": "all"})
    found = record.read(case.folder / "run")
    summary = json.loads((found.folder / "summary.json").read_text())
    own = found.calls[found.calls["rank"] == 0]
    for number, name in enumerate(found.description["collectives"]):
        its = own[(own["collective"] == number) & (own["planned"] == 1)]
        counted = summary["collectives"].get(name, {}).get("planned", {"calls": 0, "bytes": 0})
        assert its["calls"].sum() == counted["calls"], name
        assert its["bytes"].sum() == counted["bytes"], name
        compared = counted.get("compared", {"seconds": 0.0, "native": 0.0})
        predicted = its[its["native"] > 0]
        for field, expected in (("seconds", compared["seconds"]), ("native", compared["native"])):
            assert np.isclose(predicted[field].sum(), expected, rtol=1e-3), (name, field)
    assert (found.calls["least"] <= found.calls["most"]).all()
    assert list(range(RANKS)) in found.communicators.values()
    known = {0, *found.communicators}
    assert set(found.calls["communicator"].tolist()) <= known
    for members in found.communicators.values():
        assert -1 not in members and len(set(members)) == len(members)
    check_links(found, events.read_all(found.folder))


def check_links(found: record.Run, traces: list[events.RankEvents]) -> None:
    hosts = np.array(found.placement)
    assert found.links["transfers"].sum() > 0
    for link in found.links:
        its = [
            (trace, trace.transfers[
                (trace.transfers["direction"] == events.RECEIVE)
                & (hosts[trace.transfers["peer"]] == link["from"])
            ])
            for trace in traces
            if hosts[trace.rank] == link["to"]
        ]  # fmt: skip
        assert sum(len(received) for _, received in its) == link["transfers"], link
        assert sum(received["size"].sum() for _, received in its) == link["bytes"], link
        # Events are on the aligned clock; its drift matters in a run as short as this one.
        observed = sum(
            (received["done_ns"] - received["posted_ns"]).sum() * 1e-9 / (1 + trace.clock.drift)
            for trace, received in its
        )
        assert np.isclose(observed, link["observed"], rtol=1e-3, atol=1e-6), (observed, link)
        # Clocks of this machine are one: but for their error no message arrives before it is sent.
        assert link["one_way"] > -link["one_way_error"], link


def clocks(case: Case) -> None:
    """On one machine the true offset and drift are zero, which lies within the errors."""
    launch(case, "semantics", "calls", settings={"THALWEG_EVENTS": "1MB"})
    found = record.read(case.folder / "run")
    assert len(found.hosts) == 3
    assert (found.clocks[0].offset_ns, found.clocks[0].error_ns) == ((0, 0), (0, 0))
    for host, clock in enumerate(found.clocks):
        assert len(clock.at_ns) == 2
        for offset, error in zip(clock.offset_ns, clock.error_ns, strict=True):
            assert abs(offset) <= error, clock
            assert (error > 0) == (host > 0)
        assert abs(clock.drift) <= clock.drift_error or host == 0
    # So they are taken for the one clock that they are.
    for trace in events.read_all(found.folder):
        assert trace.clock == RANK_0S


def arithmetic(case: Case) -> None:
    """Calls that are recorded raise nothing in the program's floating-point environment, though
    their times are compared with the network's."""
    plan = case.folder / "plan"
    subprocess.run([case.program("make_plan"), str(RANKS), plan], check=True)
    launch(case, "unusual", "exceptions", settings={"THALWEG_PLAN": str(plan)})
    assert (record.read(case.folder / "run").links["predicted"] > 0).any()


def long(case: Case) -> None:
    """Clocks are compared while a program runs, after so many calls that wait for all ranks, on
    whatever communicators of all ranks."""
    # Both make two calls in each round.
    faulty = case.build / "bench" / f"thalweg-bench-faulty-{case.flavour}"
    for program in (
        [str(faulty), "--calls", "4000", "--between", "0"],
        [str(case.program(f"lifetimes_{case.flavour}")), "duplicates"],
    ):
        folder = case.folder / Path(program[0]).name
        own = environment([case.library, *case.others], {"THALWEG_RECORD": str(folder)})
        done = run(case.flavour, (2, own, program), capture=True)
        assert done.returncode == 0, done.stderr
        for clock in record.read(folder).clocks:
            # In MPI_Init, after 1,024 calls, at most four times as many later, in MPI_Finalize.
            assert 4 <= len(clock.at_ns) <= 2 + 32
            assert all(before < after for before, after in pairwise(clock.at_ns))
            assert all(
                abs(offset) <= error
                for offset, error in zip(clock.offset_ns, clock.error_ns, strict=True)
            )


def no_plan(case: Case) -> None:
    """A program that nothing is planned for is recorded in silence."""
    printed = launch(case, "messages", settings={"THALWEG_FORCE": ""})
    assert "thalweg:" not in printed
    found = record.read(case.folder / "run")
    check_matrix(found.matrix, printed)
    assert found.description["everything_native"] == "no-plan"
    reasons = {found.name_of("reasons", call["reason"]) for call in found.calls}
    assert reasons == {"no-plan"}


def no_place(case: Case) -> None:
    """A program goes on where nothing can be recorded; rank 0 says so, once."""
    (case.folder / "run").write_text("a file")
    said = notes_with_events(case)
    assert said and len(said) == len(set(said)) <= 2, said
    assert all("can't be written" in line and str(case.folder / "run") in line for line in said)
    assert all("THALWEG_RECORD" in line for line in said), said


def no_place_for_events(case: Case) -> None:
    """The variable that asked for events is named."""
    (case.folder / "run" / "rank-0.events").mkdir(parents=True)
    (note,) = notes_with_events(case)
    assert "THALWEG_RECORD: " in note and "rank-0.events" in note, note


def notes_with_events(case: Case) -> list[str]:
    """What rank 0 says of a run that records events."""
    said = launch(case, "messages", settings={"THALWEG_EVENTS": "1MB"}).splitlines()
    return [line for line in said if line.startswith("thalweg:") and "THALWEG_FORCE" not in line]


CASES: Mapping[str, Callable[[Case], None]] = {
    "all-functions": all_functions,
    "first-messages": first_messages,
    "looked-up-once": looked_up_once,
    "elsewhere": elsewhere,
    "killed": killed,
    "sizes": sizes,
    "one-sided": one_sided,
    "neighbor-blocks": neighbor_blocks,
    "arithmetic": arithmetic,
    "calls": calls,
    "clocks": clocks,
    "long": long,
    "no-plan": no_plan,
    "no-place": no_place,
    "no-place-for-events": no_place_for_events,
}

if __name__ == "__main__":
    flavour, name, build = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        CASES[name](Case(flavour, Path(build), Path(folder)))
