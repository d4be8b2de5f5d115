"""`thalweg man` and shell completion."""

import shutil
import subprocess
from pathlib import Path

import pytest

from thalweg.cli import main


def test_every_command_has_a_page_that_man_can_read(tmp_path: Path) -> None:
    assert main(["man", str(tmp_path)]) == 0
    pages = {path.stem: path.read_text() for path in tmp_path.glob("*.1")}
    assert {"thalweg", "thalweg-probe", "thalweg-run", "thalweg-lab-up"} <= set(pages)
    assert r"\-\-budget" in pages["thalweg-probe"]
    assert "Example: thalweg probe" in pages["thalweg-probe"].replace("\\", "")
    assert "[bold]" not in "".join(pages.values())
    if troff := shutil.which("troff"):
        for path in tmp_path.glob("*.1"):
            done = subprocess.run(
                [troff, "-man", "-ww", "-Tutf8", str(path)],
                capture_output=True,
                text=True,
                check=True,
            )
            assert not done.stderr, (path, done.stderr)


def test_a_folder_that_cannot_be_made_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["man", str(tmp_path / "file" / "man1")]) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("pro", ["probe"]),
        ("explain net.json all", ["allreduce", "allgather", "alltoall"]),
        ("plan net.json --eff", ["--effort"]),
        ("plan net.json --effort p", ["patient"]),
    ],
)
def test_the_shell_can_complete(
    typed: str,
    offered: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("_THALWEG_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"thalweg {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    with pytest.raises(SystemExit):
        main([])
    assert capsys.readouterr().out.split() == offered
