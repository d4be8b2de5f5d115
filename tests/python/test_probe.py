"""The probe's Python side, with stand-ins for the launcher and for the program it starts."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from thalweg import host_names, probe, processes, reachable, weather_file
from thalweg import network as networks
from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.launcher import Launcher

NETWORK = {"schema": 1, "hosts": [{"name": "a"}, {"name": "b"}]}
HOSTS = [Host("a"), Host("b")]
STARTED = "".join(json.dumps({"event": "started", "host": h}) + "\n" for h in "ab")
END = json.dumps({"event": "network", "text": json.dumps(NETWORK)})


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A prefix with a probe that is never started, and an agent that reaches all but some hosts."""
    binary = tmp_path / "thalweg" / "bin" / "thalweg-probe-openmpi"
    binary.parent.mkdir(parents=True)
    binary.touch()
    monkeypatch.setenv("THALWEG_PREFIX", str(tmp_path))
    monkeypatch.setenv("OMPI_MCA_plm_rsh_agent", str(script(tmp_path / "agent", (
        "case $1 in\n"
        " asleep*) sleep 600;;\n"
        " gone*) echo No route to $1 >&2; exit 255;;\n"
        "esac"
    ))))  # fmt: skip
    monkeypatch.delenv("THALWEG_LAB_DILATION", raising=False)
    return tmp_path


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def launcher_that(stage: Path, body: str) -> Launcher:
    return Launcher(script(stage / "mpirun", body), "openmpi", "4.1.4")


def say(text: str) -> str:
    return f"cat <<'END'\n{text}\nEND"


def test_what_the_program_measured_is_written(stage: Path) -> None:
    launcher = launcher_that(stage, f'echo "$@" > {stage}/arguments\n{say(STARTED + END)}')
    probe.run(HOSTS, stage / "net.json", launcher, budget=7, dilation=2)
    assert json.loads((stage / "net.json").read_text()) == NETWORK
    arguments = (stage / "arguments").read_text()
    for expected in ("-H a:1,b:1", "THALWEG=off", "-n 2", "--budget 7s", "--dilation 2",
                     "--hosts a,b"):  # fmt: skip
        assert expected in arguments


def test_nothing_is_written_after_an_error_and_the_error_is_passed_on(stage: Path) -> None:
    error = json.dumps({"event": "error", "text": "b did not answer a within 20s"})
    with pytest.raises(UserError, match=r"^b did not answer a within 20s$"):
        probe.run(HOSTS, stage / "net.json", launcher_that(stage, say(STARTED + error)))
    assert not (stage / "net.json").exists()


@pytest.mark.usefixtures("own_cache")
def test_names_of_other_hosts_than_expected_are_kept(stage: Path) -> None:
    text = "host a calls itself new, not a"
    error = json.dumps({"event": "error", "text": text, "hosts": ["new", "b"]})
    with pytest.raises(probe.OtherHostsError, match=f"^{text}$"):
        probe.run(HOSTS, stage / "net.json", launcher_that(stage, say(STARTED + error)))
    assert host_names.own(["a", "b"]) == ["new", "b"]


def test_after_a_hurried_probe_unreachable_hosts_explain_its_error(stage: Path) -> None:
    hosts, launcher = [Host("a"), Host("gone1")], launcher_that(stage, "echo no room >&2; exit 3")
    with pytest.raises(
        UserError,
        match=r"^host gone1 can't be reached: No route to gone1; the launcher ended with status 3; "
        r"a, gone1 did not start$",
    ):
        probe.run(hosts, stage / "net.json", launcher, hurried=True)


def test_hosts_that_cannot_be_reached_are_all_named(stage: Path) -> None:
    hosts = [Host("a"), Host("gone1"), Host("asleep1"), Host("gone2")]
    with pytest.raises(UserError) as error:
        probe.run(hosts, stage / "net.json", launcher_that(stage, "exit 1"), patience=0.5)
    text = str(error.value)
    assert "host gone1 can't be reached: No route to gone1" in text
    assert "host gone2 can't be reached: No route to gone2" in text
    assert "host asleep1 did not answer" in text
    assert "within 0.5 s" in text
    assert "host a " not in text


def test_once_hosts_have_failed_no_more_are_tried(
    stage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reachable, "AT_ONCE", 3)
    hosts = [*(Host(f"a{at}") for at in range(5)), *(Host(f"gone{at}") for at in range(10))]
    launcher = launcher_that(stage, "exit 1")
    probe.check_reachable(launcher, hosts[:5])
    with pytest.raises(UserError) as error:
        probe.check_reachable(launcher, hosts)
    *named, rest = str(error.value).split("; ")
    assert 1 <= len(named) <= 3
    assert all("No route to gone" in each for each in named)
    assert rest == f"{10 - len(named)} other hosts not tried"


def test_ctrl_c_while_hosts_are_tried_ends_at_once_and_leaves_nothing(
    stage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[str]] = []
    popen = subprocess.Popen

    def start(*words: Any, **options: Any) -> subprocess.Popen[str]:
        started.append(popen(*words, **options))
        return started[-1]

    def interrupt(*_: Any) -> None:
        while not started:
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(threading.Thread, "join", interrupt)
    hosts = [Host(f"asleep{host}") for host in range(100)]
    with pytest.raises(KeyboardInterrupt):
        probe.check_reachable(launcher_that(stage, "exit 1"), hosts)
    assert 1 <= len(started) <= 64
    assert all(process.wait(5) != 0 for process in started)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("hurried", [False, True], ids=["before", "after"])
def test_signals_while_hosts_are_tried_leave_no_process(
    stage: Path, hurried: bool, number: int
) -> None:
    os.mkfifo(stage / "fifo")
    script(stage / "agent", f"exec >{stage}/fifo; touch {stage}/begun; exec sleep 60")
    launcher_that(stage, "exit 3")
    code = (
        "from pathlib import Path\n"
        "from thalweg import probe\n"
        "from thalweg.hosts import Host\n"
        "from thalweg.launcher import Launcher\n"
        "launcher = Launcher(Path('mpirun').absolute(), 'openmpi', '4.1.4')\n"
        f"probe.run([Host('asleep')], Path('net.json'), launcher, hurried={hurried})\n"
    )
    command = ["env", "--default-signal=HUP,TERM", sys.executable, "-c", code]
    held = os.open(stage / "fifo", os.O_RDONLY | os.O_NONBLOCK)  # by the agent while it runs
    with subprocess.Popen(command, cwd=stage, stdin=subprocess.DEVNULL) as process:
        try:
            while not (stage / "begun").exists():
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(number)
            assert process.wait(30) == 128 + number
            assert select.select([held], [], [], 10)[0]
            assert os.read(held, 1) == b""
        finally:
            process.kill()
            os.close(held)


def test_hosts_that_do_not_start_are_named_and_nothing_is_left(
    stage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "STARTUP", 0.5)
    monkeypatch.setattr(probe, "STARTUP_OF_HOST", 0.25)
    monkeypatch.setattr(processes, "GRACE", 0.5)
    only_a = STARTED.splitlines()[0]
    # A launcher that ignores requests to end, with a child in a group of its own.
    stubborn = f"trap '' TERM\n{say(only_a)}\nsetsid sleep 601 &\necho $! > {stage}/pid\nsleep 602"
    with pytest.raises(UserError, match=r"^b did not start the probe within 1 s$"):
        probe.run(HOSTS, stage / "net.json", launcher_that(stage, stubborn))
    pid = int((stage / "pid").read_text())
    deadline = time.monotonic() + 5
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()


def test_a_launcher_that_fails_is_quoted(stage: Path) -> None:
    launcher = launcher_that(stage, "echo ----- >&2; echo out of slots >&2; exit 3")
    with pytest.raises(UserError) as error:
        probe.run(HOSTS, stage / "net.json", launcher)
    assert str(error.value) == (
        "the launcher ended with status 3; a, b did not start: out of slots"
    )


def test_lines_that_are_no_events_do_not_disturb(stage: Path) -> None:
    noise = 'Warning: no InfiniBand\n{"not": "an event"}\n[1, 2]\n'
    launcher = launcher_that(stage, say(noise + STARTED + noise + END))
    probe.run(HOSTS, stage / "net.json", launcher)
    assert json.loads((stage / "net.json").read_text()) == NETWORK


def test_hosts_are_launched_in_the_order_of_the_base(stage: Path) -> None:
    base = stage / "base.json"
    net = networks.even_network(2, 1e-3, 1e8)
    net.hosts = [networks.Host("a"), networks.Host("b")]
    networks.write(net, base)
    launcher = launcher_that(stage, f'echo "$@" > {stage}/arguments\n{say(STARTED + END)}')
    probe.run([Host("b"), Host("a")], stage / "net.json", launcher, base=base)
    arguments = (stage / "arguments").read_text()
    assert "-H a:1,b:1" in arguments
    assert f"--base {base}" in arguments


@pytest.mark.parametrize("name", ["net.json", "net.cbor"])
def test_what_was_measured_is_read_once_and_taken_as_a_network(
    stage: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    read: list[str] = []

    def from_json(text: str, where: str) -> networks.Network:
        read.append(where)
        return networks.from_json(text, where)

    monkeypatch.setattr(probe, "from_json", from_json)
    made = networks.even_network(2, 1e-3, 1e8)
    event = json.dumps({"event": "network", "text": networks.to_json(made)})
    names = [host.name for host in made.hosts]
    hosts, output = [Host(name) for name in names], stage / name
    started = "\n".join(json.dumps({"event": "started", "host": name}) for name in names)
    probe.run(hosts, output, launcher_that(stage, say(f"{started}\n{event}")))
    assert read == [str(output)]
    assert networks.to_json(networks.read(output)) == networks.to_json(made)
    assert probe.in_order_of(output, hosts[::-1]) == hosts


def test_a_base_that_is_no_network(stage: Path) -> None:
    (stage / "base.json").write_text("{}")
    with pytest.raises(UserError, match=r"base\.json.*; or probe without --base"):
        probe.run(HOSTS, stage / "n", launcher_that(stage, ""), base=stage / "base.json")


def test_an_output_that_cannot_be_written(stage: Path) -> None:
    with pytest.raises(UserError, match="can't be written"):
        probe.run(HOSTS, stage / "no" / "net.json", launcher_that(stage, say(STARTED + END)))


STEP = '{"event": "step", "what": "measuring latency", "key": [1], "spent": 5, "replies": [[2]]}'
LATER = STEP.replace("latency", "bandwidth")


def interrupted(stage: Path) -> Path:
    """A probe of both hosts that fails after one step. Its journal."""
    with pytest.raises(UserError):
        probe.run(HOSTS, stage / "net.json", launcher_that(stage, say(f"{STARTED}{STEP}")))
    return stage / "net.json.part"


def test_what_an_interrupted_probe_measured_is_told_to_the_one_that_resumes(stage: Path) -> None:
    journal = interrupted(stage)
    body = f'echo "$@" > {stage}/arguments\ncp {journal} {stage}/told\n{say(f"{STARTED}{LATER}")}'
    with pytest.raises(UserError):  # interrupted again, a step later
        probe.run(HOSTS, stage / "net.json", launcher_that(stage, body), resume=True)
    assert f"--resume {journal}" in (stage / "arguments").read_text()
    assert [json.loads(line) for line in (stage / "told").read_text().splitlines()[1:]] == [
        json.loads(STEP)
    ]
    assert [json.loads(line) for line in journal.read_text().splitlines()[1:]] == [
        json.loads(STEP), json.loads(LATER)
    ]  # fmt: skip


def test_a_probe_continues_a_recent_one_by_itself(
    stage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launcher = launcher_that(stage, f'echo "$@" > {stage}/arguments\n{say(f"{STARTED}{STEP}")}')

    def asked(within: float) -> str:
        with pytest.raises(UserError):
            probe.run(HOSTS, stage / "net.json", launcher, resume_within=within)
        return (stage / "arguments").read_text()

    assert "--resume" not in asked(3600), "there is nothing to continue"
    assert "such a run within 60 min continues" in " ".join(capsys.readouterr().err.split())
    assert "--resume" in asked(3600)
    assert "--resume" not in asked(0)
    journal = stage / "net.json.part"
    os.utime(journal, (time.time() - 4000,) * 2)
    assert "--resume" not in asked(3600), "what was measured may have changed"
    journal.write_text(journal.read_text().replace('"a"', '"c"', 1))
    assert "--resume" not in asked(3600), "it is of other hosts"


def test_a_complete_probe_leaves_no_journal(stage: Path) -> None:
    journal = interrupted(stage)
    body = say(STARTED + STEP + chr(10) + END)
    probe.run(HOSTS, stage / "net.json", launcher_that(stage, body), resume=True)
    assert json.loads((stage / "net.json").read_text()) == NETWORK
    assert not journal.exists()


def test_only_the_same_probe_can_be_resumed(stage: Path) -> None:
    launcher = launcher_that(stage, say(STARTED + END))
    with pytest.raises(UserError, match="no interrupted probe to resume"):
        probe.run(HOSTS, stage / "net.json", launcher, resume=True)
    interrupted(stage)
    with pytest.raises(UserError, match="of a probe of other hosts"):
        probe.run(HOSTS[:1], stage / "net.json", launcher, resume=True)
    (stage / "net.json.part").write_text("")
    with pytest.raises(UserError, match="is empty"):
        probe.run(HOSTS, stage / "net.json", launcher, resume=True)


@pytest.mark.parametrize(
    ("started", "expected"),
    [
        (["a.example.org"], "me@b.example.org, c"),
        (["c", "a"], "me@b.example.org"),
        (["a", "b", "c"], ""),
        (["vm7"], "2 of the hosts a, me@b.example.org, c"),
        ([], "a, me@b.example.org, c"),
    ],
)
def test_who_has_not_been_heard_of(started: list[str], expected: str) -> None:
    assert probe.unheard(["a", "me@b.example.org", "c"], started) == expected


def test_of_many_hosts_the_first_are_named() -> None:
    hosts = [f"vm{3 * host}" for host in range(5000)]
    assert probe.unheard(hosts, []) == "vm0, vm3, vm6 and 4997 more"
    assert probe.unheard(hosts, ["x"]) == "4999 of the hosts vm0, vm3, vm6 and 4997 more"


def test_a_launcher_that_does_not_start_is_named(
    stage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "check_reachable", lambda *_: None)
    for launcher, reason in (
        (Launcher(stage / "gone", "openmpi", "4.1.4"), "No such file or directory; name another"),
        (launcher_that(stage, "exit"), "Argument list too long; list fewer hosts"),
    ):
        if "fewer" in reason:
            monkeypatch.setenv("LONG", "x" * 200_000)
        with pytest.raises(UserError, match=f"launcher {launcher.path} can't be started: {reason}"):
            probe.run(HOSTS, stage / "net.json", launcher, budget=1)


def test_the_names_of_very_many_hosts_are_as_many_as_fit_an_argument(
    stage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "check_reachable", lambda *_: None)
    names = [f"node{number:041}" for number in range(5000)]
    launcher = launcher_that(stage, f'echo "$@" > {stage}/arguments\n{say(STARTED + END)}')
    probe.run([Host(name) for name in names], stage / "net.json", launcher)
    words = (stage / "arguments").read_text().split()
    listed = words[words.index("--hosts") + 1].split(",")
    assert listed == names[: len(listed)]
    assert 1000 < len(listed) < 5000
    # Open MPI makes one variable of a program's arguments.
    assert len(" ".join(words)) < 131_072


def test_dilation_comes_from_the_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    assert probe.lab_dilation({}) == 1
    assert probe.lab_dilation({"THALWEG_LAB_DILATION": "4"}) == 4
    with pytest.raises(UserError, match="THALWEG_LAB_DILATION is 'x'"):
        probe.lab_dilation({"THALWEG_LAB_DILATION": "x"})


def test_what_hosts_call_themselves_is_kept(stage: Path, own_cache: Path) -> None:
    net = networks.even_network(2, 1e-4, 1e8)
    end = json.dumps({"event": "network", "text": networks.to_json(net)})
    launcher = launcher_that(stage, f'echo "$@" > {stage}/arguments\n{say(STARTED + end)}')
    probe.run([Host("paris"), Host("me@lyon")], stage / "net.json", launcher)
    assert host_names.own(["me@lyon", "paris"]) == ["host1", "host0"]
    assert weather_file.load(["host0", "host1"]).entries
    # Ranks are launched in the order of the base, by the names that are listed.
    listed = [Host("me@lyon"), Host("paris")]
    probe.run(listed, stage / "other.json", launcher, base=stage / "net.json")
    assert "-H paris:1,me@lyon:1" in (stage / "arguments").read_text()
