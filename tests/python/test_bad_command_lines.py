"""Bad command lines, and files named on them: each is refused with one sentence."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from thalweg import preparation, printable
from thalweg.cli import main
from thalweg.errors import UserError


def document(names: list[str]) -> dict[str, Any]:
    latency = [[0.0 if a == b else 1.0 for b in names] for a in names]
    bandwidth = [[None if a == b else 100 for b in names] for a in names]
    return {
        "schema": 1,
        "measured": {"at": names[0], "with": names[1]},
        "hosts": [{"name": name} for name in names],
        "latency": {"unit": "ms", "matrix": latency},
        "bandwidth": {"unit": "Mbps", "matrix": bandwidth},
        "sites": [names[:2], names[2:]],
        "trunks": [{"name": names[3], "from": names[:2], "to": names[2:], "capacity": "10Mbps"}],
        "native_times": [{"library": "mpich", "collective": "bcast", "size": 8, "time": "1ms"}],
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.json").write_text(json.dumps(document(["h0", "h1", "h2", "h3"])))
    (tmp_path / "binary").write_bytes(b"\xff\x00\x80")
    (tmp_path / "utf16").write_text("h0\n", encoding="utf-16")
    (tmp_path / "empty").touch()
    return tmp_path


COMMANDS = [
    ("show", "net.json"),
    ("show", "net.json", "--hierarchy", "--picture", "x.svg"),
    ("explain", "net.json", "bcast", "8MB"),
    ("plan", "net.json", "bcast", "8MB", "--draw", "x.svg"),
    ("plan", "net.json", "--effort", "estimate"),
    ("export", "net.json"),
    ("report", "net.json"),
    ("probe", "--plan", "net.json"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    "names",
    [
        ["[red]x[/red]", "[/]", "[bold]", "a[/nope]"],
        ["\x1b[31mred", "b\nnewline", "c\ttab\r", "d\x07\u202e\x9b31m"],
        ["[link=file:///x]", "<b>", "&amp;", "'\""],
    ],
    ids=["markup", "escapes", "html"],
)
def test_names_are_printed_as_they_are(
    folder: Path, capsys: pytest.CaptureFixture[str], names: list[str], command: tuple[str, ...]
) -> None:
    (folder / "net.json").write_text(json.dumps(document(names)))
    assert main(command) == 0
    captured = capsys.readouterr()
    outputs = (folder / name for name in ("x.svg", "report.html", "platform.xml"))
    written = [path.read_text() for path in outputs if path.exists()]
    for text in (captured.out, captured.err, *written):
        lines = text.splitlines()
        assert all(printable.printable(line) == line for line in lines)
        assert "newline" not in {line.strip() for line in lines}
    if command == COMMANDS[0]:
        for name in names:
            assert printable.printable(name) in captured.out


HUGE = "9" * 5000
_RUN = ["run", "-n", "2", "-H", "h0,h1", "--launcher", "mpirun.openmpi"]
REFUSED: list[tuple[list[str], str]] = [
    (["plan", "net.json", "bcast", "-n", "100000"], "100000 ranks are too many"),
    (["plan", "net.json", "-n", "1" + "0" * 400], "ranks are too many"),
    (["explain", "net.json", "bcast", "-n", "100000"], "100000 ranks are too many"),
    (["report", "net.json", "-n", "100000"], "100000 ranks are too many"),
    (["plan", "net.json", "bcast", "-H", "a[0-999999999]"], "more than 32768 hosts are listed"),
    (["plan", "net.json", "bcast", "-H", "a[0-999][0-999][0-999]"], "more than 32768 hosts"),
    (["plan", "net.json", "bcast", "-H", "a" + "[0]" * 5000], "has more than 8 ranges"),
    (["plan", "net.json", "bcast", "-H", "h0:" + HUGE], "is no host"),
    (["plan", "net.json", "bcast", "-H", ""], "'' is no host"),
    (["plan", "net.json", "bcast", "-H", "h[3-0]"], r"the range \[3-0\] is empty"),
    (["plan", "net.json", "bcast", "-H", "zz"], "host zz is not in the network of h0, h1"),
    (["plan", "net.json", "bcast", "-H", "./hosts"], "1000000000 ranks are too many"),
    (["plan", "net.json", "bcast", "-H", "./empty"], "empty: no hosts are listed"),
    (["plan", "net.json", "bcast", "-H", "./binary"], "not a text file in UTF-8"),
    (["plan", "net.json", "bcast", "-H", "./utf16"], "not a text file in UTF-8"),
    (["probe", "--hostfile", "/dev/zero"], "larger than 512 MiB"),
    (["probe", "--hostfile", "."], "hostfile .: Is a directory"),
    (["probe", "--plan", HUGE], "must be a number of hosts from 1 to 4096"),
    (["plan", "net.json", "bcast", "1e999"], '"1e999" is not a size'),
    (["plan", "net.json", "bcast", "--size=-1"], '"-1" is not a size'),
    (["plan", "net.json", "bcast", "nan"], '"nan" is not a size'),
    (["plan", "net.json", "bcast", "10XB"], '"10XB" is not a size'),
    (["plan", "net.json", "bcast", "9000000TB"], "more than the 256 PiB"),
    (["plan", "net.json", "bcast", "--budget=-1s"], '"-1s" is not a time'),
    (["plan", "net.json", "bcast", "--root", "99"], "there is no root 99"),
    (["plan", "net.json", "bcast", "-o", "."], "is a folder; name a file in it"),
    (["plan", "net.json", "bcast", "-o", "/nowhere/x"], "there is no folder /nowhere"),
    (["plan", "net.json", "bcast", "--draw", "x.jpg"], "must end with .svg or .png"),
    (["show", "net.json", "--base", "0"], "base k must be at least 1.01"),
    (
        ["place", "pairs.csv", "--network", "net.json", "--seed", "9" * 23],
        "seed 9+: must be from 0",
    ),
    (["place", "pairs.csv", "--network", "net.json", "--seed", str(2**64)], "seed .*: must be fr"),
    (["place", "pairs.csv", "--network", "net.json", "-H", ""], "-H: '' is no host"),
    (["probe", "-H", ""], "-H: '' is no host"),
    (["plan", "two-sites", "bcast", "-H", "zz"], "of west0, .*, west7 and 8 more; probe it"),
    (["report", "pairs.csv"], "pairs.csv: a report is about the folder of a run, or of two to"),
    (["show", "empty"], "network empty: is empty; make one with `thalweg probe`"),
    (["show", "binary"], "not a text file in UTF-8; `thalweg probe` writes one"),
    (["show", "."], "neither a run record, nor an OTF2 trace, nor"),
    (["show", "letter"], "not JSON: parse error at line 1, column 2"),
    (["show", "deep"], "lists and objects stand in each other too deeply"),
    (["show", "x" * 5000], "File name too long"),
    (["show", "x" * 5000, "--matrix", "bytes"], "File name too long"),
    (["place", "x" * 5000], "File name too long"),
    (["report", "x" * 5000], "File name too long"),
    (["explain", "x" * 5000, "bcast"], "File name too long"),
    (["weather", "x" * 5000], "File name too long"),
    (["plan", "net.json", "-o", "x" * 5000], "File name too long"),
    (["export", "x" * 5000], "File name too long"),
    ([*_RUN, "--plan", "x" * 5000, "--", "/bin/true"], "no such file"),
    ([*_RUN, "--matrix", "x" * 5000, "--", "/bin/true"], "File name too long"),
    (["lab", "up", "x" * 5000], "there is no scenario"),
    (["show", "[/].json"], r"network \[/\].json: No such file"),
    (["plan", "net.json", "--schedule", "deep"], "stand in each other too deeply"),
    (["plan", "net.json", "--schedule", "twice"], 'the key "chunks" stands twice'),
    (["plan", "net.json", "--schedule", "period"], "last segment may begin at step"),
    (["plan", "net.json", "bcast", "--tree", "deep"], "line 1"),
    (["plan", "net.json", "bcast", "--tree", "list"], r"\[1\] is neither a rank nor a host"),
    (["plan", "net.json", "bcast", "--tree", "size"], '"segment_size" must be a size'),
    (["report", "net.json", "--results", "deep"], "stand in each other too deeply"),
    (["report", "net.json", "--results", "net.json"], "must be a list of tables"),
    (["lab", "show", "drawn-" + HUGE], "there is no scenario"),
    (["lab", "show", "net.json"], "net.json is a file: name a scenario, two-sites, "),
    (["probe"], "only this machine is known, .*: name hosts with -H or --hostfile"),
    (["probe", "-H", "h0", "--plan", "4"], "-H doesn't go with --plan"),
    (["probe", "--hostfile", "hosts", "-o", "hosts"], "would replace the input hosts"),
    (["probe", "--plan", "-4"], "--plan -4: must be a number of hosts from 1 to 4096"),
    (["explain", "net.json", "bcast", "-8MB"], "-8MB: a size or a number can't be negative"),
    (["plan", "net.json", "allreduce", "--root", "3"], "allreduce has no root: leave out --root 3"),
    (["explain", "net.json", "scan", "--root", "3"], "scan has no root: leave out --root 3"),
    (["plan", "net.json", "barrier", "8"], "barrier sends no data: leave out the size 8"),
    (["plan", "net.json", "--algorithm", "chain"], "is for planning one collective"),
    (["plan", "net.json", "bcast", "--algorithm", "nope"], 'no algorithm is called "nope"'),
    (["plan", "net.json", "bcast", "--algorithm", "bruck"], "algorithm bruck can't do a bcast"),
    (["plan", "net.json", "bcast", "--algorithm", "tree"], "--algorithm tree makes no plan here"),
    (
        ["plan", "net.json", "bcast", "--algorithm", "native", "--write-tree", "x"],
        "own collective has no schedule; name an algorithm .*--algorithm of `thalweg plan`",
    ),
    (["export", "net.json", "--network", "x"], "--network is for the formats of a run, not for si"),
    (["export", "net.json", "--format", "smpi", "-H", "h0"], "-H is for the formats of a run"),
    (["export", "net.json", "--format", "csv"], "simgrid and smpi are the formats for networks"),
    (["analyse", "net.json"], "net.json is a file, not the folder of a run"),
    (["compare", "net.json", "net.json"], "net.json is a file, not the folder of a run"),
    (["explain", "folder", "bcast"], "folder is neither a network file nor the folder of a run"),
    (["plan", "folder", "bcast"], "network folder: is a folder; name a network file$"),
    (["plan", "recorded", "bcast"], "name a network file, such as recorded/network.json"),
    (["explain", "pairs.csv", "bcast"], "pairs.csv: isn't a network file; `thalweg probe` writes"),
    (["report", "net.json", "nope"], "nope: no such folder; name the folders of two runs"),
    (["place", "pairs.csv", "--network", "net.json", "--native", "foo"], "--native foo: must be"),
]


@pytest.mark.parametrize(("command", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_a_command_refuses_in_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], command: list[str], message: str
) -> None:
    (folder / "hosts").write_text("h0 slots=1000000000\n")
    (folder / "deep").write_text("[" * 100_000)
    (folder / "pairs.csv").write_text("from,to,bytes\n0,1,8\n")
    (folder / "letter").write_text("{\u0663}")  # the error breaks off within it
    made = {"schema": 1, "collective": {"kind": "bcast", "ranks": 4}, "chunks": 1, "transfers": []}
    (folder / "folder").mkdir()
    (folder / "recorded").mkdir()
    (folder / "recorded/network.json").touch()
    (folder / "twice").write_text(json.dumps(made)[:-1] + ', "chunks": 2}')
    (folder / "period").write_text(json.dumps(made | {"segments": 3, "period": 2**31 - 1}))
    tree = {"schema": 1, "children": {"0": [1, 2, 3]}}
    (folder / "list").write_text(json.dumps(tree | {"children": {"0": [[1]]}}))
    (folder / "size").write_text(json.dumps(tree | {"segment_size": 10**30}))
    assert main(command) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    assert re.search(message, lines[0]), lines[0]


_KEEP = ["run", "--adapt", "on", "--keep-network"]
REPLACING = [
    ["plan", "net.json", "bcast", "1KB", "-o", "net.json"],
    ["plan", "net.json", "-o", "link"],
    ["plan", "net.json", "bcast", "1KB", "--tree", "tree.json", "--write-tree", "tree.json"],
    ["plan", "net.json", "bcast", "1KB", "--export", "../NAME/net.json"],
    ["place", "pairs.csv", "--network", "net.json", "-o", "./net.json"],
    ["place", "pairs.csv", "--network", "net.json", "-o", "pairs.csv"],
    ["place", "pairs.csv", "--network", "drawn.svg", "--picture", "drawn.svg"],
    ["show", "drawn.svg", "--hierarchy", "--picture", "drawn.svg"],
    ["weather", "drawn.svg", "--picture", "drawn.svg"],
    ["export", "net.json", "-o", "link"],
    ["export", "run", "--format", "perfetto", "--network", "net.json", "-o", "net.json"],
    ["report", "net.json", "-o", "link"],
    ["timemap", "drawn.svg", "-o", "drawn.svg"],
    ["tune", "run", "--network", "net.json", "-o", "net.json"],
    ["tune", "run", "-H", "hosts", "-o", "./hosts"],
    ["report", "recorded", "-H", "./hosts", "-o", "hosts"],
    ["export", "run", "--format", "perfetto", "-H", "hosts", "-o", "hosts"],
    ["place", "pairs.csv", "-H", "placement.slurm", "--write", "slurm"],
    ["place", "pairs.csv", "-H", "jobs.hosts", "--write", "cray", "-o", "jobs"],
    [*_KEEP, "hosts", "--hostfile", "./hosts", "./app"],
    [*_KEEP, "hosts", "-H", "hosts", "./app"],
    [*_KEEP, "pairs.csv", "--matrix", "../NAME/pairs.csv", "./app"],
    [*_KEEP, "inside.xml", "--bind", "inside.xml", "./app"],
    [*_KEEP, "plan.bin", "--network", "net.json", "--plan", "plan.bin", "./app"],
    ["run", "--matrix", "recorded", "--record", "../NAME/recorded", "./app"],
    ["run", "--matrix", "recorded", "--trace", "./recorded", "./app"],
]


@pytest.mark.parametrize("command", REPLACING, ids=" ".join)
def test_no_command_replaces_what_it_reads(
    folder: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    (folder / "pairs.csv").write_text("from,to,bytes\n0,1,8\n")
    (folder / "drawn.svg").write_text((folder / "net.json").read_text())
    (folder / "tree.json").write_text(json.dumps({"schema": 1, "children": {"0": [1, 2, 3]}}))
    (folder / "link").symlink_to("net.json")
    for name in ("hosts", "placement.slurm", "jobs.hosts"):
        (folder / name).write_text("h0\nh1\n")
    (folder / "inside.xml").touch()
    (folder / "plan.bin").touch()
    (folder / "recorded").mkdir()
    for name in ("run.json", "summary.json", "record.bin"):
        (folder / "recorded" / name).touch()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert main([word.replace("NAME", folder.name) for word in command]) == 2
    assert "would replace the input" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in before} == before


def test_a_network_that_may_not_be_read(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert main(["show", "net.json"]) == 2
    said = capsys.readouterr().err
    assert said.endswith("net.json: Permission denied; name a file that you may read\n")


def test_a_high_tree_is_a_chain(folder: Path) -> None:
    tree = {"schema": 1, "children": {"h0": ["h1", "h2", "h3"]}, "levels": {"h0": 10**9}}
    (folder / "tree.json").write_text(json.dumps(tree))
    assert main(["plan", "net.json", "bcast", "1KB", "-n", "16", "--tree", "tree.json"]) == 0


def test_many_slots_are_fine_for_few_ranks(folder: Path) -> None:
    (folder / "hosts").write_text("h0 slots=1000000000\nh1\n")
    assert main(["plan", "net.json", "bcast", "1KB", "-H", "./hosts", "-n", "2"]) == 0


@pytest.mark.parametrize(
    ("file", "message"), [(os.devnull, "no hosts are listed"), ("/nowhere", "No such file")]
)
def test_the_hosts_of_a_batch_job_are_checked(file: str, message: str) -> None:
    with pytest.raises(UserError, match=f"PBS_NODEFILE {file}: {message}"):
        preparation.choose_hosts(preparation.Request(), {"PBS_NODEFILE": file})


@pytest.mark.parametrize("nodes", ["n[1-", "n[3-0]", "n0,,n1"])
def test_the_hosts_of_a_slurm_job_are_checked(nodes: str) -> None:
    with pytest.raises(UserError, match=f"^SLURM_JOB_NODELIST {re.escape(nodes)}: "):
        preparation.choose_hosts(preparation.Request(), {"SLURM_JOB_NODELIST": nodes})
