"""Which earlier run stands for the one to come."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from test_record import messages, part, write

from thalweg import past_runs, programs, record, recording

APP = ["./app", "--size=100", "in/a.dat"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def recorded(
    when: str, program: list[str], *, hosts: str = "ab", ranks: int = 2, finished: int = 1,
    parts: int = 2, **launch: Any,
) -> Path:  # fmt: skip
    """A record in the cache of a run at this time of day."""
    made = recording.usual(program, list(hosts))
    assert made
    folder = made.rename(made.with_name(f"20260101T{when}-1"))
    written = [
        part(rank, ranks, messages(1 - rank, [(1, 0)]), finished=finished) for rank in range(parts)
    ]
    return write(folder, ranks, *written, launch={"status": 0, "program": program} | launch)


@pytest.mark.parametrize(
    ("words", "general"),
    [
        (["--size=100", "-n", "1.5e-3"], ["--size=0", "-n", "0"]),
        (["in/a.dat", "/b", "--in=../c=1/d"], ["/", "/", "--in=../c=/"]),
        (["step12", "faster", ""], ["step0", "faster", ""]),
        (["-5", ".5", "1.e-5", "+3", "0x1F", "2-3"], ["0", "0", "0", "0", "0", "0-0"]),
        (["--a=1,f=/d", "-n4", "x-1e3.dat"], ["--a=0,f=/", "-n0", "x-0.dat"]),
    ],
)
def test_numbers_and_paths_are_no_part_of_a_pattern(words: list[str], general: list[str]) -> None:
    assert past_runs.pattern(["./app", *words]) == general


def test_what_a_program_starts_is_part_of_its_pattern(tmp_path: Path) -> None:
    program, script = tmp_path / "solver", tmp_path / "b.jl"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    script.touch()
    (tmp_path / "mesh.dat").touch()
    words = ["--cpunodebind=0", str(program), str(script), str(tmp_path / "mesh.dat")]
    kept = ["--cpunodebind=0", str(program), str(script), "/"]
    assert past_runs.pattern(programs.whole(["env", *words])) == kept
    assert past_runs.pattern(programs.whole(["env", "sh"]))[0].startswith("/")


@pytest.mark.parametrize(
    ("words", "other", "alike"),
    [
        (["bash", "./job_a"], ["bash", "./job_b"], False),
        (["bash", "-c", "./solver_a 10"], ["bash", "-c", "./solver_b 10"], False),
        (["env", "bash", "-c", "in/a b"], ["env", "bash", "-c", "in/c b"], False),
        (["apptainer", "exec", "/i/a", "/i/solver"], ["apptainer", "exec", "/i/a", "/i/b"], False),
        (
            ["env", "podman", "exec", "/i/a", "/i/x"],
            ["env", "podman", "exec", "/i/a", "/i/y"],
            False,
        ),
        (["apptainer", "exec", "/i/a", "--n=3"], ["apptainer", "exec", "/i/a", "--n=4"], True),
        (["bash", "./job_a", "in/a.dat"], ["bash", "./job_a", "out/b.dat"], True),
        (["python3", "-m", "step1", "in/a"], ["python3", "-m", "step2", "in/a"], False),
    ],
)
def test_another_programs_record_does_not_stand_for_a_wrapped_one(
    words: list[str], other: list[str], *, alike: bool, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("bin").mkdir()
    for name, mode in (("job_a", 0o644), ("job_b", 0o644), ("bin/podman", 0o755)):
        Path(name).touch(mode=mode)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    recorded("010000", programs.whole(words))
    assert past_runs.find(words, 2)
    assert (past_runs.find(other, 2) is not None) == alike


@pytest.mark.parametrize(
    "words",
    [
        ["bash", "run.sh", "1"],
        ["bash", "run", "1"],
        ["env", "FOO=1", "./solver"],
        ["./solver"],
        ["bash", "-c", "exec ./solver 1"],
        ["env", "FOO=1", "sh", "-c", "exec python3 run.py"],
    ],
)
def test_programs_of_different_folders_differ_however_they_are_started(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for file, mode in (("run.sh", 0o644), ("run", 0o644), ("solver", 0o755)):
            (tmp_path / name / file).touch(mode=mode)
    monkeypatch.chdir(tmp_path / "a")
    first = recorded("010000", programs.whole(words))
    assert [run.folder for run in past_runs.same(words, 2)] == [first]
    monkeypatch.chdir(tmp_path / "b")
    assert past_runs.find(words, 2) is None
    (tmp_path / "link").symlink_to(tmp_path / "a")
    monkeypatch.chdir(tmp_path / "link")
    assert [run.folder for run in past_runs.same(words, 2)] == [first]


def test_the_same_arguments_come_before_the_same_pattern_and_late_ones_before_early_ones() -> None:
    similar = [APP[0], "--size=7", "other/b"]
    first = recorded("010000", APP)
    for words in (APP, similar):
        found = past_runs.find(words, 2)
        assert found and found.folder == first
    second = recorded("020000", APP, hosts="xy")
    third = recorded("030000", similar)
    for words, folder in [(APP, second), (similar, third), ([APP[0], "--size=8", "c/d"], third)]:
        found = past_runs.find(words, 2)
        assert found and found.folder == folder


@pytest.mark.parametrize("words", [["./app", "x"], ["python3", "-u", "./app", "x"]])
def test_a_program_is_known_by_its_file(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "app").touch(mode=0o755)
    monkeypatch.chdir(tmp_path / "here")
    first = recorded("010000", words)
    monkeypatch.chdir(tmp_path / "there")
    for path in (tmp_path / "here/app", Path("../here/app")):
        named = [str(path) if word == "./app" else word for word in words]
        assert [run.folder for run in past_runs.same(named, 2)] == [first]
        assert not list(past_runs.same([*named, "y"], 2))
    assert past_runs.find(words, 2) is None


def test_other_runs_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "KEPT", 50)
    recorded("010000", APP, ranks=3, parts=3)
    recorded("020000", APP, status=1)
    recorded("030000", [APP[0], "--fast"])
    recorded("040000", ["./other", *APP[1:]])
    recorded("050000", APP, finished=0)
    recorded("060000", APP, parts=1)
    (recorded("070000", APP) / "rank-1.record").write_bytes(b"cut")
    (recorded("080000", APP) / "run.json").write_text("{")
    (recorded("090000", APP) / "run.json").write_text("[]")
    assert len(recording.of_program(APP)) == 8
    assert past_runs.find(APP, 2) is None
    good = recorded("000000", APP)
    found = past_runs.find(APP, 2)
    assert found and found.folder == good
    assert json.loads((good / "run.json").read_text())["launch"]["program"] == APP


def test_a_record_of_another_folder_is_like_a_run_with_the_same_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run.sh").touch(mode=0o755)
    monkeypatch.chdir(tmp_path / "a")
    run = record.read(recorded("010000", programs.whole(["bash", "run.sh", "10"])))
    monkeypatch.chdir(tmp_path / "b")
    assert past_runs.is_like(run, ["bash", "run.sh", "10"])
    assert not past_runs.is_like(run, ["bash", "run.sh", "20"])
    assert list(past_runs.same(["bash", "run.sh", "10"], run.ranks)) == []


def test_a_word_that_is_a_program_by_chance_does_not_make_programs_alike() -> None:
    assert not past_runs.same_name(["ls", "--all", "true"], ["cat", "--all", "true"])
    assert past_runs.same_name(["ls", "--all", "true"], ["/bin/ls", "--all", "true"])
