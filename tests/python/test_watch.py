"""`thalweg run --watch`: what its lines say of a record that grows."""

import threading
import time
from pathlib import Path

import pytest
from test_record import TICK, calls, link, part, write

from thalweg import record, watch
from thalweg.cli import main
from thalweg.watch import Seen

SECOND = round(1e9 / TICK)  # ticks


def seen(folder: Path, times: list[int], receives: list[tuple[int, int]]) -> Seen:
    """Two ranks that make the same calls, and messages that rank 1 receives from rank 0's host."""
    folder.mkdir()
    sender = part(0, 2, calls(5, 0, 1, times), link(1, [0] * len(receives), []))
    receiver = part(1, 2, calls(5, 0, 1, times), link(0, [], receives), host=1)
    return watch.see(record.read(write(folder, 2, sender, receiver, hosts=["a", "b"])))


def test_the_first_line_is_about_all_calls(tmp_path: Path) -> None:
    now = seen(tmp_path / "now", [SECOND, SECOND], [])
    line = watch.describe(None, now, 4.0)
    assert line.startswith("2 collective calls so far, 2 planned; 50% of the time")
    assert "reduce below 16B: flat" in line, "sizes of four bits"
    assert "link" not in line


def test_later_lines_are_about_what_is_new(tmp_path: Path) -> None:
    before = seen(tmp_path / "before", [SECOND], [(0, 200)])
    # Each transfer is expected to take 100 ns, 200 ticks.
    now = seen(tmp_path / "now", [SECOND, SECOND // 2], [(0, 200), (0, 600)])
    line = watch.describe(before, now, 5.0)
    assert "2 collective calls so far" in line
    assert "10% of the time" in line
    assert "slowest link a -> b, 3.0 times what is expected" in line
    assert watch.describe(now, now, 5.0).endswith("planned; none since the last line")


def test_lines_come_while_the_block_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    running = threading.active_count()
    with watch.watching(folder, interval=0.01):
        time.sleep(0.05)
        assert watch.look(folder) is None, "there is no record yet"
        seen(folder, [SECOND], [])
        deadline = time.monotonic() + 30
        said = ""
        while "so far" not in said and time.monotonic() < deadline:
            time.sleep(0.01)
            said += capsys.readouterr().err
    assert "thalweg: 1 collective call so far, 1 planned" in said
    assert threading.active_count() == running


def test_a_run_that_is_watched_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--watch", "--no-record", "--", "true"]) == 2
    assert "leave out --no-record" in capsys.readouterr().err
