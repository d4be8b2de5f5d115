"""The run record as a reader sees it: sums, and files that are none."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thalweg import matrices, record
from thalweg.errors import UserError

CLASSES = len(record.SIZE_CLASSES)
RUN = 0xABCDEF
TICK = 0.5  # nanoseconds


def messages(to: int, counts: list[tuple[int, int]], kind: int = 1) -> bytes:
    """Messages and bytes to a rank, by size class; 6: blocks for neighbours."""
    counts = counts + [(0, 0)] * (CLASSES - len(counts))
    return struct.pack(
        f"<IIii{2 * CLASSES}Q", kind, 144, to, 0, *(m for m, _ in counts), *(b for _, b in counts)
    )


def one_sided(to: int, writes: tuple[int, int], reads: tuple[int, int]) -> bytes:
    """Accesses and bytes, to the memory of a rank and from it."""
    counts = [n if at == 3 else 0 for n in (*writes, *reads) for at in range(CLASSES)]
    return struct.pack(f"<IIii{4 * CLASSES}Q", 5, 16 + 32 * CLASSES, to, 0, *counts)


def calls(communicator: int, root: int, collective: int, times: list[int]) -> bytes:
    """Calls with these times, in ticks, of 8 bytes each."""
    return struct.pack(
        "<IIQiiHBBBBBBQQqqqqq", 2, 88, communicator, 2, root, 3, collective, 4, 1, 1, 0, 0,
        len(times), 8 * len(times), sum(times), min(times), max(times), 7000, 3000,
    )  # fmt: skip


def wide(value: int) -> tuple[int, int]:
    return value & (2**64 - 1), value >> 64


def link(host: int, sends: list[int], receives: list[tuple[int, int]]) -> bytes:
    """Transfers to and from a host: when sent; when posted and complete. In ticks."""
    ratios = [0] * len(record.RATIOS)
    ratios[6] = len(receives)
    return struct.pack(
        f"<IIiiQQQQQQQQqd{len(ratios)}Q", 3, 96 + 8 * len(ratios), host, 0,
        len(sends), 10 * len(sends), *wide(sum(sends)),
        len(receives), 10 * len(receives), *wide(sum(done for _, done in receives)),
        sum(done - posted for posted, done in receives), 100.0 * len(receives), *ratios,
    )  # fmt: skip


def member(communicator: int, rank: int, ranks: int, leader: int) -> bytes:
    return struct.pack("<IIQiiii", 4, 32, communicator, rank, ranks, leader, 0)


def part(
    rank: int,
    ranks: int,
    *entries: bytes,
    version: int = 1,
    run: int = RUN,
    host: int = 0,
    start: tuple[int, int] = (0, 0),
    clock: tuple[int, ...] = (0, 0, 0, 0, 0, 0),
    finished: int = 1,
) -> bytes:
    """A rank's record. `start`: ticks and nanoseconds; `clock`: two of times, offsets, errors."""
    body = b"".join(entries)
    return (
        struct.pack(
            "<8sIIiiQQqqd6qIiQ", b"THWGREC1", version, 128, rank, ranks, run, 128 + len(body),
            *start, TICK, *clock, finished, host, 0,
        )
        + body
    )  # fmt: skip


ROOM = bytes(500)
"""A rank's own file has room for more entries."""


def description(ranks: int, **more: Any) -> dict[str, Any]:
    clock = {"at_ns": [0, 1000], "offset_ns": [0, 0], "error_ns": [0, 0]}
    hosts = more.setdefault("hosts", ["a"])
    return {
        "schema": 1,
        "run": f"{RUN:016x}",
        "ranks": ranks,
        "placement": [0] * ranks,
        "clocks": [clock] * len(hosts),
        "collectives": ["bcast", "reduce"],
        "algorithms": ["x", "y", "flat"],
        "reasons": ["off"],
    } | more


def write(folder: Path, ranks: int, *parts: bytes, **more: Any) -> Path:
    (folder / "run.json").write_text(json.dumps(description(ranks, **more)))
    for number, content in enumerate(parts):
        (folder / f"rank-{number}.record").write_bytes(content)
    return folder


def test_rows_become_a_matrix(tmp_path: Path) -> None:
    first = part(
        0, 3, messages(2, [(1, 0), (2, 70)]), messages(1, [(0, 0), (4, 40)]), messages(3, [(5, 0)])
    )
    second = part(1, 3, messages(0, [(0, 0), (1, 8)]))
    matrix = record.read(write(tmp_path, 3, first + ROOM, second)).matrix
    assert list(zip(matrix.sender, matrix.receiver, strict=True)) == [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 0),
    ]
    counts, nbytes = matrix.dense()
    assert np.array_equal(counts, [[0, 4, 3], [1, 0, 0], [0, 0, 0]])
    assert np.array_equal(nbytes, [[0, 40, 70], [8, 0, 0], [0, 0, 0]])
    assert matrix.missing == [2]
    assert matrix.phase.tolist() == [1, 0, 2, 0]  # in the order of the entries


def test_a_rank_itself_is_none_of_those_that_it_sent_to_before() -> None:
    sender, receiver = np.array([0, 1, 0, 0, 1]), np.array([0, 2, 2, 1, 0])
    assert record.contacts(sender, receiver).tolist() == [0, 0, 0, 1, 1]
    assert record.contacts(sender[:0], receiver[:0]).tolist() == []


def test_a_merged_file_holds_the_parts_of_all_ranks(tmp_path: Path) -> None:
    parts = [part(rank, 4, messages(0, [(rank, 0)]), finished=rank % 2) for rank in range(3)]
    write(tmp_path, 4, launch={"status": 9})
    (tmp_path / "record.bin").write_bytes(b"".join(parts))
    run = record.read(tmp_path)
    assert [part.rank for part in run.parts] == [0, 1, 2]
    assert run.missing == [3]
    assert run.unfinished == [0, 2]
    assert run.status == 9
    assert run.matrix.messages[:, 0].tolist() == [0, 1, 2]


def test_calls_have_seconds_and_names(tmp_path: Path) -> None:
    run = record.read(
        write(
            tmp_path,
            2,
            part(0, 2, calls(5, 1, 1, [1000, 3000]), calls(6, 0, 0, [10])),
            part(1, 2, calls(5, 1, 1, [500])),
        )
    )
    assert run.calls["rank"].tolist() == [0, 0, 1]
    assert run.calls["calls"].tolist() == [2, 1, 1]
    assert run.calls["bytes"].tolist() == [16, 8, 8]
    assert run.calls["seconds"] == pytest.approx([4000 * TICK * 1e-9, 5e-9, 250e-9])
    assert run.calls["least"][0] == pytest.approx(500e-9)
    assert run.calls["most"][0] == pytest.approx(1500e-9)
    assert run.calls["native"] == pytest.approx(7e-6)
    first = run.calls[0]
    assert run.name_of("collectives", first["collective"]) == "reduce"
    assert run.name_of("algorithms", first["algorithm"]) == "flat"
    assert run.name_of("algorithms", 0) == "native"
    assert record.DATATYPES[first["datatype"]] == "predefined"


def test_what_a_lab_dilated_is_divided_again(tmp_path: Path) -> None:
    write(tmp_path, 1, part(0, 1, calls(5, 1, 1, [1000, 3000])), dilation=8)
    run = record.read(tmp_path)
    assert run.calls["seconds"] == pytest.approx(4000 * TICK * 1e-9 / 8)
    assert run.calls["native"] == pytest.approx(7e-6)  # what is predicted isn't dilated
    assert run.wall == pytest.approx(1e-6 / 8)
    for unusable in (0.5, "4", None):
        write(tmp_path, 1, dilation=unusable)
        assert record.read(tmp_path).dilation == 1


def test_a_long_run_ends_with_its_last_comparison_of_clocks(tmp_path: Path) -> None:
    clock = {"at_ns": [10**9, 98 * 10**9, 601 * 10**9], "offset_ns": [0] * 3, "error_ns": [0] * 3}
    ended = {"clocks": [clock], "end": "2026-01-01T00:10:00Z"}
    assert record.read(write(tmp_path, 1, part(0, 1), **ended)).wall == pytest.approx(600)
    unfinished = ended | {"end": None}
    assert record.read(write(tmp_path, 1, part(0, 1), **unfinished)).wall == 0  # not known


def test_each_call_counts_once_whatever_sizes_its_ranks_have(tmp_path: Path) -> None:
    """Two ranks of three have blocks of one class, the third of another."""
    own = [calls(7, 0, 1, [1000] * 12) for _ in range(3)]
    own[2] = own[2][:27] + bytes([9]) + own[2][28:]
    parts = [part(rank, 3, own[rank], member(7, rank, 3, 0)) for rank in range(3)]
    run = record.read(write(tmp_path, 3, *parts))
    assert run.calls["size_class"].tolist() == [4, 4, 9]
    assert sum(each.count for each in matrices.calls_of(run)) == pytest.approx(12)


def test_communicators_are_put_together_from_their_members(tmp_path: Path) -> None:
    found = record.read(
        write(
            tmp_path,
            4,
            part(0, 4, member(7, 1, 3, 2)),
            part(1, 4, member(8, 0, 1, 1)),
            part(2, 4, member(7, 0, 3, 2)),
        )
    ).communicators
    assert found == {7: [2, 0, -1], 8: [1]}


def test_links_have_one_way_times_by_aligned_clocks(tmp_path: Path) -> None:
    """Host b's clock is 1 ms behind and loses 1 in 1000; its ticks begin elsewhere."""

    def ticks_b(true_ns: int) -> int:
        """Its time t of rank 0's clock: t = own + 1e6 + 0.001 own, from own = 0 on."""
        own = round((true_ns - 1_000_000) / 1.001)
        return 12_000_000 + round((own - 2_000_000) / TICK)

    sent = [5_000_000, 6_000_000, 9_000_000]  # by a, in rank 0's time
    taken = 40_000
    clock_b = (0, 100_000_000, 1_000_000, 1_100_000, 500, 300)
    run = record.read(
        write(
            tmp_path,
            2,
            part(0, 2, link(1, [round(t / TICK) for t in sent], []), host=0),
            part(
                1,
                2,
                link(0, [], [(ticks_b(t), ticks_b(t + taken)) for t in sent]),
                host=1,
                start=(12_000_000, 2_000_000),
                clock=clock_b,
            ),
            hosts=["a", "b"],
        )
    )
    (found,) = run.links
    assert (found["from"], found["to"], found["transfers"], found["bytes"]) == (0, 1, 3, 30)
    assert found["one_way"] == pytest.approx(taken * 1e-9, abs=2e-9)
    assert 300e-9 <= found["one_way_error"] <= 500e-9
    assert found["observed"] == pytest.approx(3 * taken / 1.001 * 1e-9, abs=1e-8)
    assert found["predicted"] == pytest.approx(300e-9)
    assert found["ratios"].sum() == 3


def test_one_way_times_need_both_ends(tmp_path: Path) -> None:
    (found,) = record.read(
        write(tmp_path, 2, part(1, 2, link(0, [], [(1, 2)]), host=1), hosts=["a", "b"])
    ).links
    assert found["transfers"] == 1
    assert np.isnan(found["one_way"])


def test_mappings_have_blocks_for_neighbours_and_what_is_done_to_others_memory(
    tmp_path: Path,
) -> None:
    blocks = messages(2, [(0, 0), (5, 70)], kind=6)
    first = part(0, 3, messages(1, [(2, 20)]), blocks, one_sided(1, (3, 30), (4, 400)))
    second = part(1, 3, one_sided(3, (9, 90), (9, 90)), one_sided(2, (1, 8), (0, 0)))
    matrix = matrices.of_record(record.read(write(tmp_path, 3, first, second, part(2, 3))))
    found = zip(matrix.sender, matrix.receiver, matrix.messages, matrix.nbytes, strict=True)
    assert sorted(found) == [(0, 1, 5, 50), (0, 2, 5, 70), (1, 0, 4, 400), (1, 2, 1, 8)]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "no rank left a record here"),
        ([b"nonsense"], "not a rank's record"),
        ([bytes(200)], "half written: its rank ended before it recorded anything"),
        ([part(0, 2, version=9)], r"another version of Thalweg \(9, this one reads 1\)"),
        ([part(0, 2)[:50]], "cut off or damaged"),
        ([part(0, 2, messages(1, [(1, 1)]))[:-1]], "cut off or damaged"),
        ([part(0, 2, struct.pack("<II", 1, 4))], "cut off or damaged"),
        ([part(0, 2, struct.pack("<II", 9, 400))], "cut off or damaged"),
        ([part(5, 2)], "rank 5 doesn't fit 2 ranks"),
        ([part(0, 4)], "rank 0 doesn't fit 2 ranks"),
        ([part(0, 2, messages(7, [(1, 1)]))], "names rank 7, beyond 2"),
        ([part(0, 2, link(3, [1], []))], "names host 3, beyond 1"),
        ([part(0, 2), part(1, 2, run=7)], "holds files of different runs"),
        ([part(0, 2), part(0, 2)], "two records of rank 0"),
    ],
)
def test_what_is_no_record_is_refused_in_one_line(
    tmp_path: Path, parts: list[bytes], message: str
) -> None:
    with pytest.raises(UserError, match=message) as error:
        record.read(write(tmp_path, 2, *parts))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "not a run record; make one with `thalweg run --record "),
        ("{", "not JSON"),
        ("[]", "not the description of a run"),
        ('{"schema": 7}', "not the description of a run"),
        ('{"schema": 1, "run": "1"}', 'lacks "clocks"'),
        ('{"schema": 1, "launch": {}}', "no rank has described its run here"),
        (json.dumps(description(2, placement=[0])), '"placement" must be'),
        (json.dumps(description(2, run="x")), '"run" must be'),
        (json.dumps(description(2, clocks=[{}])), r'"clocks"\[0\] lacks "at_ns"'),
        (json.dumps(description(2, hosts=[1])), r'"hosts"\[0\] must be text'),
        (
            json.dumps(description(2, placement=[[0], 1])),
            r'"placement"\[0\] must be a whole number',
        ),
        (json.dumps(description(2, reasons=3)), '"reasons" must be a list'),
        (json.dumps(description(2, launch=5)), '"launch" must be'),
    ],
)
def test_descriptions_that_are_none_are_refused_in_one_line(
    tmp_path: Path, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(UserError, match=message) as error:
        record.read(tmp_path)
    assert "\n" not in str(error.value)


def test_entries_of_kinds_to_come_are_left_out(tmp_path: Path) -> None:
    run = record.read(
        write(tmp_path, 1, part(0, 1, struct.pack("<IIQ", 77, 16, 0), messages(0, [(2, 0)])))
    )
    assert run.matrix.messages[0, 0] == 2
