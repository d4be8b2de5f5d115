"""What commands say where nothing can be written, and what they leave behind."""

import contextlib
import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from recorded import small_tree

from thalweg import knowledge, probe, sampling, weather, weather_file
from thalweg import network as networks
from thalweg.cli import main
from thalweg.errors import UserError
from thalweg.files import write_whole
from thalweg.hosts import Host
from thalweg.journal import Journal
from thalweg.launcher import Launcher

COMMANDS = {
    "plan": "plan {net} --no-wisdom -n 6 bcast 8MB -o {file}",
    "table": "plan {net} --no-wisdom -n 2 -o {file}",
    "picture": "plan {net} --no-wisdom -n 6 bcast 8MB --draw {file}.svg",
    "schedule": "plan {net} --no-wisdom -n 6 bcast 8MB --export {file}",
    "tree": "plan {net} --no-wisdom -n 6 bcast 64KB --write-tree {file}",
    "network": "show {net} --matrix latency --picture {file}.svg",
    "export": "export {net} -o {file}",
    "perfetto": "export {run} --format perfetto -o {file}",
    "otf2": "export {run} --format otf2 -o {file}",
    "csv": "export {run} --format csv -o {file}",
    "timemap": "timemap {run} -o {file}.svg",
    "report": "report {net} -n 2 -o {file}",
    "place": "place {matrix} --network {net} -o {file}",
    "placement": "place {matrix} --network {net} --picture {file}.svg",
    "rankfile": "place {matrix} --network {net} -H host0:2,host1:2 --write mpich-4 -o {file}",
    "matrix": "show {matrix} --picture {file}.svg",
    "weather": "weather {net} --picture {file}.svg",
    "tune": "tune {run} --network {net} -H host0,host1,host2 --no-wisdom -o {file}",
    "pages": "man {folder}",
}


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "net.json"
    networks.write(networks.even_network(6, 1e-4, 1e8), path)
    return path


@pytest.fixture
def words(
    net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, Path], list[str]]:
    """Returns the words of a command that writes the file, or into the folder, of this name."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    known = networks.read(net)
    weather_file.add([host.name for host in known.hosts], weather.of_network(known, 1e9))
    run = small_tree().write(tmp_path / "run")
    matrix = tmp_path / "matrix.csv"
    matrix.write_text("from,to,messages,bytes\n0,3,9,900\n1,2,9,900\n")

    def of(command: str, file: Path) -> list[str]:
        text = COMMANDS[command]
        return text.format(net=net, run=run, matrix=matrix, file=file, folder=file).split()

    return of


@contextlib.contextmanager
def full(folder: Path) -> Iterator[str]:
    """No file may grow, as where there is no space; the error that this gives."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield "too large"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[str]:
    """Makes a folder read-only, for root, too; the error that this gives."""
    mount = ["mount", "-t", "tmpfs", "-o", "ro", "thalweg-test", str(folder)]
    mounted = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    if not mounted:
        folder.chmod(0o555)
    try:
        if os.access(folder, os.W_OK):
            pytest.skip("root writes everywhere, and can't mount here")
        yield "read-only"
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=True)
        folder.chmod(0o755)


@pytest.mark.parametrize("fault", [full, read_only])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_so_in_one_sentence_and_leaves_nothing(
    command: str,
    fault: Callable[[Path], contextlib.AbstractContextManager[str]],
    words: Callable[[str, Path], list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    with fault(folder) as reason:
        assert main(words(command, folder if command == "pages" else folder / "file")) == 2
        assert list(folder.iterdir()) == []
    said = capsys.readouterr()
    assert said.out == ""
    complaint = said.err.splitlines()[-1]
    assert str(folder) in complaint
    assert "can't be written: " in complaint
    assert reason in complaint.lower() or "OTF2 says" in complaint
    assert "; " in complaint


def long_name(folder: Path) -> Path:
    return folder / ("x" * 300)


def inside_a_file(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file" / "file"


def a_folder(folder: Path) -> Path:
    for name in ("file", "file.svg"):
        (folder / name).mkdir()
    return folder / "file"


def full_device(folder: Path) -> Path:
    for name in ("file", "file.svg"):
        (folder / name).symlink_to("/dev/full")
    return folder / "file"


@pytest.mark.parametrize("place", [long_name, inside_a_file, a_folder, full_device])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_in_one_sentence_that_there_is_no_such_file_to_write(
    command: str,
    place: Callable[[Path], Path],
    words: Callable[[str, Path], list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if command in ("pages", "csv") and place is a_folder:
        pytest.skip("it writes into a folder")
    folder = tmp_path / "out"
    folder.mkdir()
    assert main(words(command, place(folder))) == 2
    (complaint,) = capsys.readouterr().err.splitlines()
    assert str(folder) in complaint


def test_a_run_says_which_part_of_the_cache_cannot_be_written(
    net: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    launcher = script(tmp_path / "mpirun", "echo 'mpirun (Open MPI) 4.1.4'")
    names = ",".join(host.name for host in networks.read(net).hosts[:2])
    run = ["run", "-n", "2", "-H", names, "--launcher", str(launcher)]
    with full(tmp_path):
        assert main([*run, "--network", str(net), "--", "./app"]) == 2
    *notes, complaint = capsys.readouterr().err.splitlines()
    assert complaint.startswith(f"thalweg: plan {tmp_path}/cache/thalweg/plans/")
    assert complaint.endswith("set XDG_CACHE_HOME to a folder for all that is kept")
    assert any("THALWEG_WISDOM names another file" in note for note in notes)
    (tmp_path / "cache" / "blocked").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache" / "blocked"))
    for arguments in (["--network", str(net)], []):
        assert main([*run, *arguments, "--", "./app"]) == 2
        complaint = capsys.readouterr().err.splitlines()[-1]
        assert f"{tmp_path}/cache/blocked" in complaint
        assert "can't be written: Not a directory" in complaint


@contextlib.contextmanager
def not_entered(folder: Path) -> Iterator[str]:
    """Makes a folder one that can't be entered, for root, too; the error that this gives."""
    own = Path.stat

    def stat(path: Path, **options: bool) -> os.stat_result:
        if folder in path.parents:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return own(path, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "stat", stat)
        yield "permission denied"


def cache_not_entered(folder: Path) -> contextlib.AbstractContextManager[str]:
    return not_entered(folder.parent)


@pytest.mark.parametrize("fault", [read_only, not_entered, cache_not_entered])
@pytest.mark.parametrize("start", ["quick", "full"])
def test_a_run_measures_nothing_that_the_cache_cannot_keep(
    start: str,
    fault: Callable[[Path], contextlib.AbstractContextManager[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(probe, "run", lambda *_, **__: pytest.fail("hosts are measured"))
    folder = tmp_path / "cache" / "thalweg" / "networks"
    folder.mkdir(parents=True)
    launcher = script(tmp_path / "mpirun", "echo 'mpirun (Open MPI) 4.1.4'")
    run = ["run", "-H", "host0,host1", "--launcher", str(launcher), "--start", start]
    with fault(folder) as reason:
        assert main([*run, "--", "./app"]) == 2
    (complaint,) = capsys.readouterr().err.splitlines()
    assert complaint.startswith(f"thalweg: network {folder}/")
    assert "can't be written: " in complaint
    assert reason in complaint.lower()
    assert complaint.endswith("set XDG_CACHE_HOME to a folder for all that is kept")


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "plan file"), (b"no plan", "plan file"), (b"THWGPLAN\x63" + bytes(27), "version")],
)
def test_a_run_refuses_a_plan_that_is_none(
    content: bytes, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "a.plan"
    plan.write_bytes(content)
    launcher = script(tmp_path / "mpirun", "echo 'mpirun (Open MPI) 4.1.4'")
    run = ["run", "-n", "2", "-H", "a,b", "--launcher", str(launcher), "--plan", str(plan)]
    assert main([*run, "--", "./app"]) == 2
    (complaint,) = capsys.readouterr().err.splitlines()
    assert complaint.startswith(f"thalweg: plan {plan}: ")
    assert reason in complaint


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_output_that_cannot_be_printed(net: Path) -> None:
    show = [sys.executable, "-m", "thalweg", "show", str(net)]
    with Path("/dev/full").open("wb") as nowhere:
        done = subprocess.run(show, check=False, stdout=nowhere, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == (
        "thalweg: standard output: can't be written: No space left on device; make room, or name "
        "a file elsewhere\n"
    )


# The probe -------------------------------------------------------------------------------------

STEP = {"event": "step", "what": "measuring latency", "key": [1], "spent": 5, "replies": [[2]]}
SUBJECT = {"hosts": ["a"]}


def test_a_journal_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "net.json", SUBJECT)
    with full(tmp_path), pytest.raises(UserError, match=r"net\.json\.part: can't be written: "):
        journal.add(json.dumps(STEP))
    journal.close(complete=False)
    assert list(tmp_path.iterdir()) == []


def test_a_journal_keeps_all_whole_steps_where_there_is_no_space(tmp_path: Path) -> None:
    first = Journal(tmp_path / "net.json", SUBJECT)
    first.add(json.dumps(STEP))
    first.close(complete=False)
    whole = first.path.read_text()
    first.path.write_text(whole + json.dumps(STEP)[:20])  # where the disk became full
    second = Journal(tmp_path / "net.json", SUBJECT)
    second.resume()
    with full(tmp_path), pytest.raises(UserError, match="can't be written"):
        second.add(json.dumps(STEP))
    second.close(complete=False)
    third = Journal(tmp_path / "net.json", SUBJECT)
    third.resume()
    third.add(json.dumps(STEP))
    third.close(complete=False)
    assert third.path.read_text() == whole + json.dumps(STEP) + "\n"


def test_a_probe_that_goes_another_path_drops_the_steps_that_it_did_not_go_by(
    tmp_path: Path,
) -> None:
    first = Journal(tmp_path / "net.json", SUBJECT)
    for number in range(3):
        first.add(f"old {number}", number)
    first.close(complete=False)
    second = Journal(tmp_path / "net.json", SUBJECT)
    second.resume()
    for number in (1, 2):
        second.add(f"new {number}", number)
    second.close(complete=False)
    assert second.path.read_text().splitlines()[1:] == ["old 0", "new 1", "new 2"]


def test_a_measured_network_that_cannot_be_written_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = tmp_path / "thalweg" / "bin" / "thalweg-probe-openmpi"
    binary.parent.mkdir(parents=True)
    binary.touch()
    monkeypatch.setenv("THALWEG_PREFIX", str(tmp_path))
    events = [{"event": "started", "host": "localhost"}, STEP, {"event": "network", "text": "{}"}]
    lines = "\n".join(map(json.dumps, events))
    launcher = script(tmp_path / "mpirun", f"cat <<'END'\n{lines}\nEND")
    output = tmp_path / "net.json"
    output.mkdir()  # so that the network can't get its name
    with pytest.raises(UserError, match=r"net\.json: can't be written: Is a directory"):
        probe.run([Host("localhost")], output, Launcher(launcher, "openmpi", "4.1.4"))
    journal = output.with_name("net.json.part")
    assert json.loads(journal.read_text().splitlines()[1]) == STEP


@pytest.mark.usefixtures("capsys")  # a file that is written to could not grow
def test_where_the_cache_is_full_the_remedy_is_another_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = tmp_path / "thalweg" / "bin" / "thalweg-probe-openmpi"
    binary.parent.mkdir(parents=True)
    binary.touch()
    monkeypatch.setenv("THALWEG_PREFIX", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    launcher = Launcher(script(tmp_path / "mpirun", f"echo '{json.dumps(STEP)}'"), "openmpi", "4.1")
    with full(tmp_path), pytest.raises(UserError, match=r"\.part: can't be written: .*XDG_CACHE"):
        knowledge.network([Host("localhost")], launcher)


# Files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cause", [full, read_only])
def test_notes_on_the_cache_say_how_another_is_named(
    cause: Callable[[Path], contextlib.AbstractContextManager[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pair = networks.even_network(2, 1e-3, 1e7)
    launcher = Launcher(tmp_path / "mpirun", "openmpi", "4.1.4")
    (tmp_path / "thalweg").mkdir()
    with cause(tmp_path / "thalweg"):
        weather_file.add(["host0", "host1"], weather.of_network(pair, 1e9))
        with pytest.raises(UserError, match="XDG_CACHE_HOME"):
            sampling.sample(pair, [(0, 1)], launcher)
    assert "XDG_CACHE_HOME" in capsys.readouterr().err


def test_a_file_may_have_the_longest_name(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_whole(path, "text")
    assert path.read_text() == "text"
    assert list(tmp_path.iterdir()) == [path]


def test_machines_with_processes_of_one_number_may_write_a_file_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sync = tmp_path / "file", os.fsync

    def write_another(file: int) -> None:
        monkeypatch.setattr(os, "fsync", sync)
        write_whole(path, "other")
        assert path.read_text() == "other"
        sync(file)

    monkeypatch.setattr(os, "fsync", write_another)
    write_whole(path, "own")
    assert path.read_text() == "own"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_many_parts_is_written_as_a_whole_or_not(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def parts(count: int) -> Iterator[str]:
        for part in range(count):
            assert not path.exists()
            yield f"{part}\n"
        if count < 3:
            raise UserError("no more")

    with pytest.raises(UserError, match="no more"):
        write_whole(path, parts(2))
    assert list(tmp_path.iterdir()) == []
    write_whole(path, parts(3))
    assert path.read_text() == "0\n1\n2\n"


def test_devices_and_links_stay_what_they_are(tmp_path: Path) -> None:
    write_whole(Path("/dev/null"), "text")
    assert Path("/dev/null").is_char_device()
    reader, writer = os.pipe()
    with os.fdopen(reader), os.fdopen(writer, "w"):
        write_whole(Path(f"/proc/self/fd/{writer}"), "text")
        assert os.read(reader, 10) == b"text"
    link = tmp_path / "link"
    link.symlink_to("file")
    write_whole(link, "text")
    assert link.is_symlink()
    assert (tmp_path / "file").read_text() == "text"
