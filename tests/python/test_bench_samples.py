import json
from pathlib import Path

import pytest

from bench.samples import Cell, read

HEAD = {"type": "run", "library": "Open MPI v4.1.4", "ranks": 2}
LINE = {
    "type": "sample", "collective": "bcast", "size": 8, "root": 1, "variant": "native",
    "repetition": 0, "time": 0.5, "entry_skew": 0.001, "correct": True,
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
