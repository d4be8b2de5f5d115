"""Runs in other programs' formats, opened by their own readers."""

from collections import defaultdict
from pathlib import Path

import polars as pl
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from test_analysis import small_tree

from bench import faulty_runs
from thalweg.analysis.tables import Run
from thalweg.cli import main
from thalweg.exports import perfetto, tables


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
    assert perfetto._lanes([0, 1, 5, 6, 20], [10, 4, 6, 8, 30]) == [0, 1, 1, 2, 0]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_are_read_back_as_they_were(kind: str, tmp_path: Path, run: Run) -> None:
    (tables.write_csv if kind == "csv" else tables.write_parquet)(run, tmp_path / "out")
    for name, table in tables.tables(run).items():
        file = tmp_path / "out" / f"{name}.{kind}"
        read = pl.read_csv(file, schema=table.schema) if kind == "csv" else pl.read_parquet(file)
        filled = table.with_columns(pl.col(pl.String).replace("", None)) if kind == "csv" else table
        assert read.equals(filled) or read.equals(table)


@pytest.mark.parametrize("kind", ["perfetto", "csv", "parquet"])
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
