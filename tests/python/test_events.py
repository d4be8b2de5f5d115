"""Events files: written here byte by byte as docs/events-file.md says, and read back."""

import struct
from pathlib import Path

import pytest
from test_record import RUN, part
from test_record import write as write_record

from thalweg import clocks, events, runs
from thalweg.errors import UserError


def mapped(
    count: int, room: int, events: bytes, clock: tuple[int, ...] = (0,) * 6, *, rank: int = 0,
    begin: int = 50_000, run: int = 1, version: int = 2,
) -> bytes:  # fmt: skip
    """A file as the runtime leaves it: ticks of 2 ns, of which 1000 is at `begin` nanoseconds."""
    return (
        struct.pack(
            "<8sIIiiqQQqqd6qQ",
            b"THWGEVT1",
            64,
            version,
            rank,
            2,
            0,
            count,
            room,
            1000,
            begin,
            2.0,
            *clock,
            run,
        )
        + events
    )


def transfer(call: int, peer: int, size: int, times: tuple[int, int, int]) -> bytes:
    return struct.pack("<BBBBIiiiiqqqq8x", 1, 1, 2, 0, call, peer, 3, 4, 5, size, *times)


def call(number: int, planned: int, reason: int, enter: int, exit_: int, kind: int = 2) -> bytes:
    return struct.pack(
        "<BBBBIiiqqqiiIH2xi4x",
        kind,
        0,
        planned,
        reason,
        number,
        1,
        2,
        800,
        enter,
        exit_,
        5,
        0,
        7,
        3,
        8,
    )


def test_transfers_and_calls_come_apart_with_aligned_clocks(tmp_path: Path) -> None:
    path = tmp_path / "rank-1.events"
    ring = (
        transfer(0, 0, 400, (10, 20, 30)) + call(0, 1, 0, 5, 40) + transfer(1, 0, 500, (50, 60, 70))
    )
    path.write_bytes(mapped(12, 3, ring, (0, 0, 1000, 0, 0, -1), rank=1, begin=2000))
    read = events.read(path)
    assert (read.rank, read.ranks, read.dropped) == (1, 2, 9)
    assert read.transfers["size"].tolist() == [400, 500]
    assert read.transfers["posted_ns"].tolist() == [1020, 1100]
    assert read.transfers["applied_ns"].tolist() == [1060, 1140]
    assert read.transfers["direction"].tolist() == [events.RECEIVE] * 2
    assert read.transfers[["peer", "step", "segment", "tag"]][0].tolist() == (0, 3, 4, 5)
    assert read.calls[["size", "enter_ns", "exit_ns"]].tolist() == [(800, 1010, 1080)]
    assert read.calls[["planned", "root", "ranks", "leader", "sequence", "algorithm", "window"]][
        0
    ].tolist() == ((1, 1, 2, 0, 7, 3, 8))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not an events file"),
        (b"x" * 200, "not an events file"),
        (mapped(count=0, room=1, events=bytes(64), version=3), "version 3"),
        (mapped(count=0, room=1, events=b"")[:-1], "cut off in its header"),
        (mapped(count=1, room=2, events=call(0, 1, 0, 5, 40)), "cut off, or damaged"),
        (mapped(count=0, room=0, events=b""), "cut off, or damaged"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "rank-0.events"
    path.write_bytes(content)
    with pytest.raises(UserError, match=complaint):
        events.read(path)


def test_nonblocking_calls_are_calls_of_a_type_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.events"
    unknown = bytes([4]) + bytes(63)
    ring = call(0, 1, 0, 1000, 1100) + unknown + call(1, 1, 0, 1000, 1100, kind=3)
    path.write_bytes(mapped(3, 3, ring))
    read = events.read(path)
    assert read.calls["type"].tolist() == [2, events.NONBLOCKING_CALL]
    assert read.calls["call"].tolist() == [0, 1]
    assert read.calls["exit_ns"].tolist() == [50_200, 50_200]


def test_all_ranks_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no events"):
        events.read_all(tmp_path)
    (tmp_path / "rank-1.events").write_bytes(mapped(0, 1, bytes(64), rank=1))
    with pytest.raises(UserError, match="rank 0"):
        events.read_all(tmp_path)
    (tmp_path / "rank-0.events").write_bytes(mapped(0, 1, bytes(64), rank=0))
    assert [it.rank for it in events.read_all(tmp_path)] == [0, 1]
    with pytest.raises(UserError, match="summary"):
        events.read_summary(tmp_path)


def test_collectives_of_neighbourhoods_have_the_numbers_after_all_others() -> None:
    assert events.COLLECTIVES[10:] == ("barrier", "neighbor_allgather", "neighbor_alltoall")


def test_a_ring_is_read_from_its_oldest_event_on(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.events"
    half_written = bytes(64)
    ring = [
        call(4, 1, 0, 1400, 1450),
        call(5, 1, 0, 1500, 1550),
        half_written,
        call(3, 1, 0, 1300, 1350),
    ]
    fast = (50_000, 60_000, 10, 20, 5, 6)  # gains a nanosecond per 1000
    path.write_bytes(mapped(7, 4, b"".join(ring), fast))
    read = events.read(path)
    assert read.dropped == 3
    assert read.calls["call"].tolist() == [3, 4, 5]
    own = [50_000 + 2 * (ticks - 1000) for ticks in (1300, 1400, 1500)]
    aligned = [time + 10 + (time - 50_000) * 10 / 10_000 for time in own]
    assert read.calls["enter_ns"].tolist() == pytest.approx(aligned, abs=0.5)
    assert 5 <= float(read.clock.error(own[0])) <= 6


def test_a_ring_that_is_not_full_has_only_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.events"
    path.write_bytes(mapped(1, 4, call(0, 1, 0, 1000, 1100) + bytes(3 * 64), (0, 0, 0, 0, -1, -1)))
    read = events.read(path)
    assert (read.dropped, len(read.calls), len(read.transfers)) == (0, 1, 0)
    assert read.calls["exit_ns"].tolist() == [50_200]
    assert read.clock == clocks.UNKNOWN


def test_the_error_of_a_clock_is_that_at_its_own_times(tmp_path: Path) -> None:
    """Rank 1's machine was started ten days before rank 0's."""
    ahead, error, lasts = 10 * 86_400 * 10**9, 20_000, 100 * 10**9
    last = call(0, 1, 0, 1000, 1000 + lasts // 2)
    for rank, boot, wrong in ((0, 0, 0), (1, ahead, error)):
        clock = (boot, boot + lasts, -boot, -boot, wrong, wrong)
        content = mapped(1, 1, last, clock, rank=rank, begin=boot)
        (tmp_path / f"rank-{rank}.events").write_bytes(content)
    found = events.read_all(tmp_path)
    assert [each.calls["exit_ns"].tolist() for each in found] == [[lasts], [lasts]]
    assert [each.clock_error_ns for each in found] == [0, pytest.approx(error)]
    assert runs.read(tmp_path).clock_error_ns == pytest.approx(error)


def test_the_error_of_a_clock_that_was_never_compared_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.events"
    path.write_bytes(mapped(1, 1, call(0, 1, 0, 1000, 1100), (0, 0, 0, 0, -1, -1)))
    assert events.read(path).clock_error_ns == float("inf")


def test_events_of_different_runs_are_refused(tmp_path: Path) -> None:
    for rank, run in ((0, RUN), (1, 99)):
        content = mapped(1, 1, call(0, 1, 0, 1000, 1100), rank=rank, run=run)
        (tmp_path / f"rank-{rank}.events").write_bytes(content)
    with pytest.raises(UserError, match="events of different runs"):
        events.read_all(tmp_path)


@pytest.mark.parametrize("run", [RUN, 99])
def test_events_that_an_earlier_run_left_in_a_record_are_refused(tmp_path: Path, run: int) -> None:
    write_record(tmp_path, 2, part(0, 2), part(1, 2))
    for rank in range(2):
        content = mapped(1, 1, call(0, 1, 0, 1000, 1100), rank=rank, run=run)
        (tmp_path / f"rank-{rank}.events").write_bytes(content)
    if run == RUN:
        assert runs.read(tmp_path).ranks == 2
    else:
        with pytest.raises(UserError, match=r"of another run than run\.json"):
            runs.read(tmp_path)
