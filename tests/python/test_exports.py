"""Runs in other programs' formats, opened by their own readers."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from otf2 import events
from otf2 import reader as otf2_reader
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from recorded import small_tree

from bench import faulty_runs
from thalweg.analysis import tables as analysis_tables
from thalweg.analysis.tables import Run
from thalweg.cli import main
from thalweg.exports import otf2, perfetto, tables
from thalweg.exports.lanes import lanes


@pytest.fixture(scope="module")
def run() -> Run:
    return faulty_runs.simulate("clean", 3, calls=4).run


def parsed(run: Run, path: Path):  # type: ignore[no-untyped-def]
    perfetto.write(run, path)
    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString(path.read_bytes())
    return trace


def test_perfetto_shows_hosts_their_ranks_and_lanes(tmp_path: Path, run: Run) -> None:
    tracks = {
        packet.track_descriptor.uuid: packet.track_descriptor
        for packet in parsed(run, tmp_path / "trace").packet
        if packet.HasField("track_descriptor")
    }
    hosts = [each.process.process_name for each in tracks.values() if each.HasField("process")]
    assert hosts == list(dict.fromkeys(run.hosts))
    for rank, host in enumerate(run.hosts):
        own = next(each for each in tracks.values() if each.name == f"rank {rank}")
        assert tracks[own.parent_uuid].process.process_name == host
        assert any(
            each.name == "calls" and each.parent_uuid == own.uuid for each in tracks.values()
        )


def test_slices_of_a_track_do_not_overlap_and_have_the_runs_times(tmp_path: Path, run: Run) -> None:
    trace = parsed(run, tmp_path / "trace")
    names = {
        each.iid: each.name for packet in trace.packet for each in packet.interned_data.event_names
    }
    kind = perfetto_trace_pb2.TrackEvent
    opened: dict[int, tuple[int, int]] = {}
    slices = []
    times = [packet.timestamp for packet in trace.packet if packet.HasField("track_event")]
    assert times == sorted(times)
    for packet in trace.packet:
        event = packet.track_event
        if event.type == kind.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in opened
            opened[event.track_uuid] = (packet.timestamp, event.name_iid)
        elif event.type == kind.TYPE_SLICE_END:
            begin, name = opened.pop(event.track_uuid)
            slices.append((begin, packet.timestamp, names[name]))
    assert not opened
    assert len(slices) == len(run.calls) + 2 * len(run.messages)
    first = run.calls.row(0, named=True)
    assert any(
        begin == first["enter"] and end == first["exit"] and name.startswith(first["kind"])
        for begin, end, name in slices
    )


def test_arrows_lead_from_sends_to_arrivals(tmp_path: Path, run: Run) -> None:
    ends: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for packet in parsed(run, tmp_path / "trace").packet:
        for flow in packet.track_event.flow_ids:
            ends[flow].append((packet.timestamp, "send"))
        for flow in packet.track_event.terminating_flow_ids:
            ends[flow].append((packet.timestamp, "arrival"))
    assert len(ends) == len(run.messages)
    for both in ends.values():
        assert [name for _, name in sorted(both)] == ["send", "arrival"]


def test_lanes_are_as_few_as_overlaps_allow() -> None:
    assert lanes([0, 1, 5, 6, 20], [10, 4, 6, 8, 30]) == [0, 1, 1, 2, 0]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_are_read_back_as_they_were(kind: str, tmp_path: Path, run: Run) -> None:
    (tables.write_csv if kind == "csv" else tables.write_parquet)(run, tmp_path / "out")
    for name, table in tables.tables(run).items():
        file = tmp_path / "out" / f"{name}.{kind}"
        read = pl.read_csv(file, schema=table.schema) if kind == "csv" else pl.read_parquet(file)
        filled = table.with_columns(pl.col(pl.String).replace("", None)) if kind == "csv" else table
        assert read.equals(filled) or read.equals(table)


@pytest.mark.parametrize("kind", ["perfetto", "otf2", "csv", "parquet"])
def test_the_command_writes_every_format(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(small_tree().write(tmp_path / "run"))
    assert main(["export", folder, "--format", kind, "-o", str(tmp_path / "out")]) == 0
    assert "written to" in capsys.readouterr().out
    assert (tmp_path / "out").exists()


def test_tables_need_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(small_tree().write(tmp_path / "run"))
    (tmp_path / "file").write_text("")
    assert main(["export", folder, "--format", "csv", "-o", str(tmp_path / "file")]) == 2
    assert "name a folder" in capsys.readouterr().err


def test_otf2_reads_hosts_calls_and_messages_back(tmp_path: Path, run: Run) -> None:
    otf2.write(run, tmp_path / "trace")
    calls = []
    sends: dict[tuple[int, int], int] = defaultdict(int)
    receives: dict[tuple[int, int], int] = defaultdict(int)
    with otf2_reader.open(str(tmp_path / "trace/traces.otf2")) as trace:
        locations = list(trace.definitions.locations)
        assert [each.group.system_tree_parent.name for each in locations] == list(run.hosts)
        ranks = {location: rank for rank, location in enumerate(locations)}
        opened: dict[Any, tuple[int, str]] = {}
        count: dict[Any, int] = defaultdict(int)
        for location, event in trace.events:
            count[location] += 1
            if isinstance(event, events.Enter):
                assert location not in opened
                opened[location] = (event.time, event.region.name)
            elif isinstance(event, events.Leave):
                begin, name = opened.pop(location)
                calls.append((ranks[location], begin, event.time, name))
            elif isinstance(event, events.MpiSend):
                peer = ranks[event.communicator.location(event.receiver)]
                sends[ranks[location], peer] += event.msg_length
            elif isinstance(event, events.MpiRecv):
                peer = ranks[event.communicator.location(event.sender)]
                receives[peer, ranks[location]] += event.msg_length
        assert all(location.number_of_events == count[location] for location in locations)
    assert not opened
    expected = run.calls.select(
        "rank", "enter", "exit", "MPI_" + pl.col("kind").str.to_titlecase()
    ).rows()
    assert sorted(calls) == sorted(expected)
    pairs = run.messages.group_by("sender", "receiver").agg(pl.col("size").sum())
    assert sends == receives == {(a, b): size for a, b, size in pairs.iter_rows()}


def test_otf2_has_the_ranks_of_communicators_and_their_roots(tmp_path: Path) -> None:
    """Ranks 3 and 1, in this order, are a communicator; its root is 1, its second member."""
    calls = pl.DataFrame(
        {
            "call": 0, "rank": [1, 3], "communicator": 4, "kind": "bcast", "planned": False,
            "algorithm": "", "reason": "off", "root": 1, "ranks": 2, "member": [1, 0], "size": 8,
            "enter": [10, 20], "exit": [30, 30], "off_core": 0,
        }
    ).cast({"rank": pl.Int32})  # fmt: skip
    messages = pl.DataFrame(schema=dict.fromkeys(analysis_tables.MESSAGE_COLUMNS, pl.Int64))
    otf2.write(Run(calls, messages, 4, ("a", "a", "b", "b")), tmp_path / "trace")
    with otf2_reader.open(str(tmp_path / "trace/traces.otf2")) as trace:
        locations = list(trace.definitions.locations)
        ends = [e for _, e in trace.events if isinstance(e, events.MpiCollectiveEnd)]
    assert [end.root for end in ends] == [1, 1]
    assert [end.communicator.location(at) for end in ends[:1] for at in (0, 1)] == [
        locations[3], locations[1],
    ]  # fmt: skip


def test_calls_of_a_rank_that_overlap_are_beside_each_other_in_otf2(tmp_path: Path) -> None:
    calls = pl.DataFrame(
        {
            "call": [0, 1], "rank": 0, "communicator": 0, "kind": "barrier", "planned": False,
            "algorithm": "", "reason": "off", "root": -1, "ranks": 1, "member": 0, "size": 0,
            "enter": [10, 20], "exit": [30, 40], "off_core": 0,
        }
    ).cast({"rank": pl.Int32})  # fmt: skip
    messages = pl.DataFrame(schema=dict.fromkeys(analysis_tables.MESSAGE_COLUMNS, pl.Int64))
    otf2.write(Run(calls, messages, 1, ("a",)), tmp_path / "trace")
    with otf2_reader.open(str(tmp_path / "trace/traces.otf2")) as trace:
        names = [where.name for where, e in trace.events if isinstance(e, events.Enter)]
    assert names == ["rank 0", "rank 0, calls 2"]


def test_otf2_makes_a_new_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(small_tree().write(tmp_path / "run"))
    assert main(["export", folder, "--format", "otf2", "-o", folder]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["export", folder, "--format", "otf2", "-o", str(tmp_path / "no/it")]) == 2
    assert "there is no folder" in capsys.readouterr().err
