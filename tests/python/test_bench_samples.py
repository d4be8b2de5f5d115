import json
from pathlib import Path

import pytest

from bench.samples import Cell, read

HEAD = {"type": "run", "library": "Open MPI v4.1.4", "ranks": 2}
LINE = {
    "type": "sample", "collective": "bcast", "size": 8, "root": 1, "variant": "native",
    "repetition": 0, "time": 0.5, "entry_skew": 0.001, "correct": True, "begin": None, "end": None,
}  # fmt: skip


def test_reads_a_launch(tmp_path: Path) -> None:
    path = tmp_path / "launch.jsonl"
    path.write_text(json.dumps(HEAD) + "\n" + json.dumps(LINE) + "\n")
    launch = read(path)
    assert (launch.library, launch.ranks) == ("Open MPI v4.1.4", 2)
    assert launch.samples[0].cell == Cell("bcast", 8, 1, "native")
    assert launch.samples[0].time == 0.5


def test_a_line_cut_off_by_a_killed_launch_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "launch.jsonl"
    path.write_text(json.dumps(HEAD) + "\n" + json.dumps(LINE)[:20])
    assert read(path).samples == []


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "launch.jsonl"
    path.touch()
    with pytest.raises(ValueError, match="failed before its first measurement"):
        read(path)


def test_argument_of_a_cell() -> None:
    cell = Cell("bcast", 8_000_000, 0, "pipelined-chain:segment_size=32KB,degree=2")
    assert cell.argument() == "bcast,8000000,0,pipelined-chain:segment_size=32KB,degree=2"


def counters(frames: int, byte_count: int) -> dict[str, object]:
    return {
        "dilation": 4, "hosts": ["a", "b"], "elapsed": 1.0 * frames, "busy": 0.5 * frames,
        "frames": frames, "pair_bytes": [[0, byte_count], [0, 0]], "late": 0,
        "drops": {"pair": 0, "trunk": 0, "ingress": 0}, "host_drops": [0, 0],
        "lateness": {"counts": [0, 0], "edges": [1e-6, 2e-6]}, "retransmits": [0, 0],
    }  # fmt: skip


def test_counters_are_those_of_the_repetition(tmp_path: Path) -> None:
    path = tmp_path / "launch.jsonl"
    line = {**LINE, "begin": counters(10, 1000), "end": counters(14, 7000)}
    path.write_text(json.dumps(HEAD) + "\n" + json.dumps(line) + "\n")
    (sample,) = read(path).samples
    assert sample.counted is not None
    assert (sample.counted.frames, sample.counted.bytes) == (4, 6000)
    assert sample.raw["lab"]["bytes"] == 6000
    assert "begin" not in sample.raw
