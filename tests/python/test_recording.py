"""The launcher's part of the run record; the launcher is a script that leaves what a run would."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from test_run import launcher, plan_beside  # noqa: F401

from thalweg import inputs, knowledge, paths, programs, record, recording
from thalweg import network as networks
from thalweg.cli import main
from thalweg.errors import UserError

DESCRIPTION = {"schema": 1, "run": "5", "ranks": 2}


@pytest.fixture
def recorder(launcher: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:  # noqa: F811
    """A launcher whose program leaves the description of its run."""
    launcher.write_text(
        launcher.read_text().replace(
            "echo from",
            'for word in "$@"; do\n'
            f"  [[ $word == THALWEG_RECORD=* ]] && echo '{json.dumps(DESCRIPTION)}' "
            '>"${word#*=}/run.json"\ndone\necho from',
        )
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return launcher


def run(recorder: Path, *options: str, program: Sequence[str] = ("./app", "x")) -> list[str]:
    """Runs on two hosts; returns the words that the launcher got."""
    words = ["run", "-n", "2", "-H", "a,b", "--launcher", str(recorder), *options]
    assert main([*words, "--plan", str(plan_beside(recorder)), "--", *program]) == 7
    return recorder.with_name("arguments").read_text().splitlines()


def kept(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache/thalweg/records").glob("*/*"))


def test_run_json_has_what_only_the_launcher_knows(recorder: Path, tmp_path: Path) -> None:
    network = tmp_path / "net.json"
    network.write_text("{}")
    words = run(recorder, "--record", str(tmp_path / "it"), "--network", str(network))
    assert f"THALWEG_RECORD={tmp_path / 'it'}" in words
    found = json.loads((tmp_path / "it/run.json").read_text())
    assert found | DESCRIPTION == found
    launch = found["launch"]
    assert launch["status"] == 7
    assert launch["command"][-2:] == ["./app", "x"]
    assert launch["start"] <= launch["end"]
    plan = recorder.with_name("a.plan")
    assert launch["plan"] == {"file": "plan.bin", "sha256": recording.digest(plan.read_bytes())}
    assert launch["network"] == {"file": "network.json", "sha256": recording.digest(b"{}")}
    assert (tmp_path / "it/network.json").read_text() == "{}"
    assert (tmp_path / "it/plan.bin").read_bytes() == plan.read_bytes()


@pytest.mark.parametrize("where", ["the cache", "a named folder", "another machine"])
def test_the_user_is_told_where_the_cache_has_the_record(
    recorder: Path, tmp_path: Path, where: str, capfd: pytest.CaptureFixture[str]
) -> None:
    if where != "another machine":
        leave = 'for word in "$@"; do [[ $word == THALWEG_RECORD=* ]] && touch "${word#*=}"/'
        said = recorder.read_text()
        recorder.write_text(said.replace("echo from", f"{leave}rank-0.record; done\necho from"))
    run(recorder, *(["--record", str(tmp_path / "it")] if where == "a named folder" else []))
    named = [f"the run record is in {folder}" for folder in kept(tmp_path)]
    shown = capfd.readouterr().err
    assert len(named) == (where != "a named folder")
    assert ("the run record is in" in shown) == (where == "the cache")
    assert where != "the cache" or named[0] in shown.splitlines()[-1]


@pytest.mark.parametrize("given", ["two-sites", "net.cbor"])
def test_the_copy_of_the_network_is_json(recorder: Path, tmp_path: Path, given: str) -> None:
    net = inputs.network(Path("two-sites"))
    if given != "two-sites":
        given = str(tmp_path / given)
        networks.write(net, given)
    run(recorder, "--record", str(tmp_path / "it"), "--network", given)
    copy = tmp_path / "it/network.json"
    assert copy.read_text() == networks.to_json(net)
    launch = json.loads((tmp_path / "it/run.json").read_text())["launch"]
    assert launch["network"]["sha256"] == recording.digest(copy.read_bytes())


def test_the_cache_keeps_the_last_records_of_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    other = recording.usual(["./other"], ["a", "b"])
    found = []
    for number in range(recording.KEPT + 2):
        made = recording.usual(["./app", str(number)], ["b", "a"])
        assert made
        (made / "run.json").write_text('{"launch": {"status": 0}}')
        found.append(made.rename(made.with_name(f"20000101T00000{number}-1")))
    assert other in kept(tmp_path)
    assert set(kept(tmp_path)) - {other} == set(found[-recording.KEPT :])


def test_the_cache_keeps_the_last_record_of_each_number_of_ranks_that_went_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    clock = iter(range(100, 200))
    monkeypatch.setattr("thalweg.recording.time.strftime", lambda *_: f"20260101T000{next(clock)}")

    def record_on(ranks: int, status: int = 0) -> Path:
        folder = recording.usual(["./app", str(ranks)], ["a", "b"])
        assert folder
        description = {"ranks": ranks, "launch": {"status": status}}
        (folder / "run.json").write_text(json.dumps(description))
        return folder

    series = (16, 24, 32, 40, 48, 64, 80)
    _, second = ([record_on(ranks) for ranks in series] for _ in range(2))
    failed = [record_on(16, status=1) for _ in range(recording.KEPT + 1)]
    assert set(kept(tmp_path)) == {*second, *failed[1:]}
    more = [record_on(ranks) for ranks in range(100, 100 + recording.KEPT_OF_PROGRAM + 1)]
    assert set(kept(tmp_path)) == set(more)


def test_the_cache_keeps_the_last_records_of_a_program_on_any_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    clock = iter(range(100, 200))
    monkeypatch.setattr("thalweg.recording.time.strftime", lambda *_: f"20260101T000{next(clock)}")
    found = []
    for number in range(recording.KEPT_OF_PROGRAM + 3):
        folder = recording.usual(["./app"], [f"node{number}"])
        assert folder
        (folder / "run.json").write_text('{"launch": {"status": 0}}')
        found.append(folder)
    assert [folder.exists() for folder in found[:4]] == [False, False, True, True]
    assert all(folder.exists() for folder in found[2:])


def test_records_of_runs_that_go_on_stay_until_they_are_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = []
    for number in range(recording.KEPT + 2):
        made = recording.usual(["./app"], ["a"])
        assert made
        found.append(made.rename(made.with_name(f"20000101T00000{number}-1")))
    assert set(found) == set(kept(tmp_path))
    os.utime(found[0], (0, 0))
    (found[1] / "run.json").write_text("{")
    os.utime(found[1], (0, 0))  # made long ago, and written into since
    assert recording.usual(["./app"], ["a"])
    assert set(kept(tmp_path)) & set(found) == set(found[1:])


def test_records_that_nothing_has_used_for_long_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    long_ago = time.time() - 86_400 * (paths.UNUSED_DAYS + 1)
    found = []
    for name, read, written in (
        ("over", long_ago, long_ago),
        ("read", time.time(), long_ago),
        ("going-on", long_ago, time.time()),
    ):
        folder = recording.usual([f"./{name}"], ["a"])
        assert folder
        (folder / "run.json").write_text("{}")
        os.utime(folder / "run.json", (read, written))
        for path in (folder, folder.parent):
            os.utime(path, (long_ago, long_ago))
        found.append(folder)
    assert recording.usual(["./new"], ["a"])
    assert [folder.is_dir() for folder in found] == [False, True, True]
    assert not found[0].parent.exists()


def test_a_program_is_recorded_by_the_whole_paths_of_its_files(
    recorder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("run.sh", "run"):
        Path(name).touch(mode=0o644)
    for name in ("run.sh", "./run"):
        run(recorder, "--record", str(tmp_path / "it"), program=("bash", name, "run.dat", "x"))
        program = json.loads((tmp_path / "it/run.json").read_text())["launch"]["program"]
        assert program[1:] == [str(tmp_path / name), "run.dat", "x"]
        assert program[0].startswith("/") and program[0].endswith("/bash")
        assert programs.whole(program) == program
        assert programs.identity(program) == programs.identity(["bash", name, "run.dat", "x"])


@pytest.mark.parametrize(
    ("words", "other"),
    [
        (["bash", "a.sh"], ["bash", "b.sh"]),
        (["env", "./a"], ["env", "./b"]),
        (["env", "bash", "a.sh"], ["env", "bash", "b.sh"]),
        (["python3", "-m", "a"], ["python3", "-m", "b"]),
        (["python3", "-c", "import a"], ["python3", "-c", "import b"]),
        (["bash", "-c", "exec a 1"], ["bash", "-c", "exec b 1"]),
        (["env", "X=1", "sh", "-c", "exec a"], ["env", "X=1", "sh", "-c", "exec b"]),
        (["apptainer", "exec", "i.sif", "a", "1"], ["apptainer", "exec", "i.sif", "b", "1"]),
        (["docker", "run", "i", "/opt/a"], ["docker", "run", "i", "/opt/b"]),
        (["env", "podman", "run", "i", "/opt/a.py"], ["env", "podman", "run", "i", "/opt/b.py"]),
    ],
)
def test_wrapped_programs_do_not_remove_each_others_records(
    words: list[str], other: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("bin").mkdir()
    for name in ("a", "b", "a.sh", "b.sh", "bin/podman"):
        Path(name).touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    found = []
    for number, program in enumerate([words, *[other] * (recording.KEPT + 1)]):
        made = recording.usual(program, ["a", "b"])
        assert made
        (made / "run.json").write_text('{"launch": {"status": 0}}')
        found.append(made.rename(made.with_name(f"20000101T00000{number}-1")))
    assert [folder.exists() for folder in found[:3]] == [True, False, True]
    assert recording.of_program(words) == found[:1]


def test_no_record_leaves_none(recorder: Path, tmp_path: Path) -> None:
    words = run(recorder, "--no-record")
    assert not [word for word in words if word.startswith("THALWEG_RECORD")]
    assert not kept(tmp_path)


def test_ranks_of_one_host_are_recorded_only_where_asked_for(
    recorder: Path, tmp_path: Path
) -> None:
    words = ["run", "-n", "2", "-H", "a:2", "--launcher", str(recorder)]
    assert main([*words, "./app"]) == 7
    assert not kept(tmp_path)
    assert main([*words, "--record", str(tmp_path / "it"), "./app"]) == 7
    assert "launch" in json.loads((tmp_path / "it/run.json").read_text())


def test_events_are_kept_in_the_record(recorder: Path) -> None:
    assert "THALWEG_EVENTS=64MB" in run(recorder, "--events", "64MB")
    assert "THALWEG_EVENTS=all" in run(recorder, "--events", "all")


def test_a_folder_is_emptied_of_the_record_before(recorder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "it"
    folder.mkdir()
    names = ["run.json", "rank-7.record", "rank-7.events", "record.bin", "mine.txt"]
    for name in names:
        (folder / name).write_text('{"schema": 1}')
    run(recorder, "--record", str(folder))
    left = {path.name for path in folder.iterdir()}
    assert left == {"run.json", "plan.bin", "summary.json", "mine.txt"}


@pytest.mark.parametrize("option", ["--record", "--trace"])
@pytest.mark.parametrize("name", ["run.json", "summary.json", "plan.bin", "network.json"])
def test_files_that_no_run_left_stay(
    recorder: Path, tmp_path: Path, option: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder := tmp_path / "it").mkdir()
    (folder / name).write_text('{"mine": 1}')
    words = ["run", "-n", "2", "-H", "a:2", "--launcher", str(recorder), option, str(folder)]
    is_refused = option == "--record" or name == "summary.json"
    assert main([*words, "./app"]) == (2 if is_refused else 7)
    said = "".join(capsys.readouterr().err.split())
    assert (f"wouldreplace{folder / name},which" in said) == is_refused
    assert (folder / name).read_text() == '{"mine": 1}'


def test_a_folder_of_a_killed_run_may_be_recorded_in_again(recorder: Path, tmp_path: Path) -> None:
    plan = plan_beside(recorder)
    recording.Recording(tmp_path / "it", None, plan).start()  # which never ends
    run(recorder, "--record", str(tmp_path / "it"))
    assert json.loads((tmp_path / "it/run.json").read_text())["launch"]["status"] == 7


def test_a_folder_of_a_trace_may_be_recorded_in(recorder: Path, tmp_path: Path) -> None:
    run(recorder, "--no-record", "--trace", str(tmp_path / "it"))
    assert not (tmp_path / "it/run.json").exists()
    run(recorder, "--record", str(tmp_path / "it"))
    assert (tmp_path / "it/run.json").exists()


def test_a_network_and_a_plan_of_the_record_before_stay(recorder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "it"
    network = tmp_path / "net.json"
    network.write_text("{}")
    run(recorder, "--record", str(folder), "--network", str(network))
    plan = (folder / "plan.bin").read_bytes()
    words = ["run", "-n", "2", "-H", "a,b", "--launcher", str(recorder), "--record", str(folder)]
    words += ["--network", str(folder / "network.json"), "--plan", str(folder / "plan.bin")]
    assert main([*words, "./app"]) == 7
    assert (folder / "network.json").read_text() == "{}"
    assert (folder / "plan.bin").read_bytes() == plan


@pytest.mark.parametrize("hosts", ["a:2", "a,b"])
def test_a_record_does_not_replace_a_network_that_the_run_does_without(
    recorder: Path, tmp_path: Path, hosts: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """On one host none is needed; where the user's doesn't fit, another one is planned for."""
    net = networks.even_network(2, 1e-4, 1e8)
    net.hosts = [networks.Host(name, 1e8, 1e8) for name in ("a", "b")]
    networks.write(net, copy := tmp_path / "copy.json")
    folder = tmp_path / "it"
    folder.mkdir()
    networks.write(net, network := folder / "network.json")
    (folder / "run.json").write_text('{"schema": 1}')
    monkeypatch.setattr(knowledge, "given", lambda *_: copy)
    words = ["run", "-n", "2", "-H", hosts, "--launcher", str(recorder), "--record", str(folder)]
    before = network.read_bytes()
    assert main([*words, "--network", str(folder / "../it/network.json"), "./app"]) == 2
    assert "would replace the input" in " ".join(capsys.readouterr().err.split())
    assert network.read_bytes() == before


def test_what_was_never_described_says_how_it_ended(launcher: Path, tmp_path: Path) -> None:  # noqa: F811
    run(launcher, "--record", str(tmp_path / "it"))
    assert json.loads((tmp_path / "it/run.json").read_text())["launch"]["status"] == 7
    with pytest.raises(UserError, match="no rank has described its run here"):
        record.read(tmp_path / "it")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--no-record", "--record", "x"], "leave out one"),
        (["--no-record", "--events", "1MB"], "leave out one"),
        (["--events", "much"], "much"),
        (["--record", "/proc/none"], "run record /proc/none: can't be written"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    recorder: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "-n", "2", "-H", "a,b", "--launcher", str(recorder), *options]
    assert main([*words, "--plan", str(plan_beside(recorder)), "--", "./app"]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_run_goes_on_where_the_cache_has_no_place(
    recorder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    words = run(recorder)
    assert not [word for word in words if word.startswith("THALWEG_RECORD")]
    assert "the run isn't recorded" in " ".join(capsys.readouterr().err.split())
