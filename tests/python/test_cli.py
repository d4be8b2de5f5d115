"""The command line's manners: exit status, messages, help."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import thalweg
from thalweg import __version__, network
from thalweg.cli import main
from thalweg.commands import Commands


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["fly"], "No such command 'fly'"),
        (["show"], "Missing argument 'NET|RUN|MATRIX'"),
        (["show", "none.json"], "network none.json: No such file"),
        (["plan", "none.json", "--collective", "bcast"], "network none.json: No such file"),
        (["plan", "net.json", "--draw", "x.svg"], "a drawing, a schedule or a tree is of one"),
        (["plan", "net.json", "--size", "8MB"], "is of one collective"),
        (["plan", "net.json", "--root", "3"], "is of one collective"),
        (["plan", "net.json", "--schedule", "s", "--tree", "t"], "leave out SIZE"),
        (["plan", "net.json", "--schedule", "s", "--root", "3"], "leave out SIZE"),
        (
            ["plan", "net.json", "bcast", "--tree", "t", "--sizes", "1KB-2KB", "--root", "3"],
            "leave out what is of a single plan",
        ),
        (["probe", "-H", "a,b:0"], "'b:0' is no host"),
        (["probe", "-H", "a", "--hostfile", "b"], "both --hosts and --hostfile"),
        (["probe", "-H", "a", "--budget", "soon"], "soon"),
        (["run", "-n", "2", "--", "no-such-program"], "no-such-program: no such program"),
        (["run", "-n", "3", "-H", "a,b", "--mpi", "openmpi", "x"], "3 ranks need 3 slots"),
        (["env", "--plan", "none.bin"], "plan none.bin: no such file"),
        (["run", "--launcher", "/bin/true", "x"], "neither of Open MPI"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("thalweg: ")
    assert complaint in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize("arguments", [[], ["lab"]])
def test_help_in_place_of_a_command_is_no_error_message(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert "Usage: thalweg" in said.out + said.err
    assert "thalweg:" not in said.err


def test_modules_are_imported_when_they_are_named() -> None:
    documents = (Path(__file__).parents[2] / "docs").glob("*.md")
    text = " ".join(path.read_text() for path in documents)
    script = "import sys, thalweg; thalweg.__getattr__(sys.argv[1])"
    for name in {*re.findall(r"`thalweg\.([a-z]\w+)", text)}:
        subprocess.run([sys.executable, "-c", script, name], check=True)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        thalweg.nothing  # noqa: B018


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"thalweg {__version__}\n"


@pytest.mark.parametrize("name", [name for name in Commands() if name != "lab"])
def test_every_command_has_help_with_an_example_and_json(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Example:" in text
    assert "--json" in text


def test_doctor_says_whether_it_can_run_here(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert status == (0 if report["ready"] else 1)
    assert {finding["state"] for finding in report["findings"]} <= {"ok", "note", "missing"}
    assert any(finding["name"] == "cores" for finding in report["findings"])


def test_commands_are_listed_with_their_help_but_not_imported() -> None:
    script = "import sys; from thalweg.cli import main; main(['--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *text, modules = done.stdout.splitlines()
    listed = " ".join(" ".join(text).replace("│", " ").split())
    for name, command in Commands().items():
        first = " ".join(command.help.split("\n\n")[0].split())
        assert f"{name} {first}" in listed
    assert not {"numpy", "polars", "thalweg.commands.analyse"} & set(modules.split())


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("arguments", "status"), [("--version", 0), ("show absent.json", 2)])
def test_what_goes_to_a_closed_stream_goes_nowhere(
    closed: str, arguments: str, status: int, tmp_path: Path
) -> None:
    command = f'"$0" -m thalweg {arguments} {closed}'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable], cwd=tmp_path, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert done.returncode == status
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("options", "lines"), [([], 0), (["--json"], 1)])
@pytest.mark.parametrize("hosts", [4, 200])
def test_a_command_whose_output_is_not_read_to_its_end_exits_with_141(
    options: list[str], lines: int, hosts: int, tmp_path: Path
) -> None:
    if hosts < 200 and lines:
        pytest.skip("all of it comes at once")
    file = tmp_path / "net.json"
    network.write(network.even_network(hosts, 1e-3, 1e8), file)
    words = [sys.executable, "-m", "thalweg", "show", str(file), *options]
    own = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=own
    ) as process:
        assert process.stdout and process.stderr
        for _ in range(lines):
            assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_a_network_is_measured_into_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert main(["probe", "-H", "a,b", "-o", str(tmp_path / "pipe")]) == 2
    assert "is no file" in capsys.readouterr().err
