"""What is known of the running lab, from its lock."""

import subprocess
from pathlib import Path

import pytest

from thalweg.cli import main
from thalweg.lab import state


def test_a_lab_counts_as_running_as_long_as_a_process_has_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "ROOT", tmp_path)
    (tmp_path / "lock").write_text("another 12345\n")  # of a lab that has ended
    assert state.running() is None
    with state.marked_as_running("even") as lock:
        switch = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[lock])
    try:
        lab = state.running()
        assert lab == state.Lab("even", tmp_path / "even")
        assert state.switch_process() is None
    finally:
        switch.communicate()
    assert state.running() is None


def test_a_switch_that_has_gone_is_an_error_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "even").mkdir()
    (tmp_path / "even/state.json").write_text('{"dilation": 1}')
    monkeypatch.setattr(state, "running", lambda: state.Lab("even", tmp_path / "even"))
    assert main(["lab", "status"]) == 2
    assert "the switch of the lab even does not answer" in capsys.readouterr().err
