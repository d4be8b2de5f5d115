"""`thalweg weather --watch`: pairs in turn, the share of the time, failures, signals."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from thalweg import network as networks
from thalweg import paths, probe, sampling, weather_watch
from thalweg.cli import main
from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.launcher import Launcher
from thalweg.network import Network
from thalweg.weather import Entry

NAMES = ["a", "b", "c", "d"]
LAUNCHER = Launcher(Path("/bin/mpirun"), "openmpi", "4.1")


@pytest.fixture(autouse=True)
def cached(own_cache: Path) -> Path:
    """The network of NAMES in the cache."""
    net = networks.even_network(4, 1e-3, 10e6)
    net.hosts = [networks.Host(name, 10e6, 10e6) for name in NAMES]
    net.message_costs = {"openmpi": networks.MessageCost()}
    path = paths.network(NAMES)
    path.parent.mkdir(parents=True)
    networks.write(net, path)
    return path


class Machine:
    """A clock, and samples that take their time on it."""

    def __init__(self, fixed: float, each: float, startup: float = 2.0) -> None:
        self.now = 1000.0
        self.fixed, self.each, self.startup = fixed, each, startup
        self.begins: list[float] = []
        self.asked: list[Sequence[tuple[int, int]]] = []
        self.budgets: list[float] = []
        self.measured = 0.0
        self.fails: Callable[[int], bool] = lambda _: False

    def clock(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds

    def sample(
        self, _: Network, pairs: Sequence[tuple[int, int]], __: Launcher, *,
        budget: float, measured_for: Callable[[float], None], **_more: object,
    ) -> Entry:  # fmt: skip
        self.begins.append(self.now)
        self.asked.append(pairs)
        self.budgets.append(budget)
        taken = self.fixed + self.each * len(pairs)
        self.measured += taken
        self.now += self.startup + taken
        measured_for(taken)
        if self.fails(len(self.asked)):
            raise UserError("host a can't be reached")
        return Entry(0, "sample", {}, {(NAMES[a], NAMES[b]): 1e6 for a, b in pairs})

    def watch(self, every: float, share: float, times: int) -> None:
        weather_watch.watch(
            NAMES, None, LAUNCHER, every=every, share=share, times=times,
            clock=self.clock, pause=self.pause,
        )  # fmt: skip


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Machine]:
    def made(*costs: float) -> Machine:
        result = Machine(*costs)
        monkeypatch.setattr(sampling, "sample", result.sample)
        return result

    return made


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 1.0])
@pytest.mark.parametrize("every", [10.0, 600.0])
@pytest.mark.parametrize("costs", [(0.0, 0.001), (0.0, 0.05), (0.3, 0.4), (3.0, 1.0)])
def test_samples_keep_to_their_share(
    machine: Callable[..., Machine], share: float, every: float, costs: tuple[float, float]
) -> None:
    there = machine(*costs)
    there.watch(every, share, 60)
    last = there.fixed + there.each * len(there.asked[-1])
    # Each sample is paid for before the next one begins.
    assert there.measured - last <= share * (there.begins[-1] - there.begins[0]) * (1 + 1e-9)
    pauses = [b - a for a, b in zip(there.begins, there.begins[1:], strict=False)]
    assert min(pauses) >= every * (1 - 1e-9)
    if sum(costs) <= every * share:
        assert max(pauses[1:]) <= every + there.startup, "no longer than necessary"
        few = there.fixed + there.each > every * share / 2
        assert few or len(there.asked[-1]) > 1, "what is left of the share is used"


def test_a_sample_gets_no_more_time_than_its_share(machine: Callable[..., Machine]) -> None:
    there = machine(0.0, 0.05)
    there.watch(600, 0.0005, 1)
    there.watch(600, 0.1, 1)
    there.watch(1, 0.001, 1)
    assert there.budgets == pytest.approx([0.3, sampling.BUDGET, 0.05])


def test_pairs_come_in_turn_and_each_host_meets_several(machine: Callable[..., Machine]) -> None:
    there = machine(0.0, 1.0)
    there.watch(1, 1.0, 12)
    assert [len(asked) for asked in there.asked[1:]] == [1] * 11
    pairs = {pair for asked in there.asked for pair in asked}
    for host in range(4):
        assert any(a == host for a, _ in pairs) and any(b == host for _, b in pairs)
        assert len({other for pair in pairs if host in pair for other in pair}) > 2
    with pytest.raises(UserError, match="isn't known"):
        weather_watch.watch(["x", "y"], None, LAUNCHER, every=1, share=1, times=1)
    with pytest.raises(UserError, match="only one host: nothing to sample; name several with -H"):
        weather_watch.watch(["x"], None, LAUNCHER, every=1, share=1, times=1)
    with pytest.raises(UserError, match="time between"):
        there.watch(0, 1, 1)


def test_shares() -> None:
    assert weather_watch.parse_share("0.1%") == pytest.approx(0.001)
    for bad in ("0%", "x", "-1%", "nan%"):
        with pytest.raises(UserError, match="percentage"):
            weather_watch.parse_share(bad)


# Failures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("times", "said"), [(1, "the sample failed"), (2, "all 2 samples failed")])
def test_without_any_sample_the_command_fails(
    machine: Callable[..., Machine], times: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    machine(0.0, 0.0, 0.0).fails = lambda _: True
    given = ["weather", "-H", ",".join(NAMES), "--watch", "1ms", "--times", str(times)]
    assert main(given) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["thalweg: no sample: host a can't be reached"] * times + [f"thalweg: {said}"]


def test_a_wait_for_a_silent_host_counts_for_no_more_than_a_sample_may_take(
    machine: Callable[..., Machine],
) -> None:
    there = machine(40.0, 0.0)
    there.fails = lambda number: number == 1
    there.watch(600, 0.001, 2)
    assert there.begins[1] - there.begins[0] == pytest.approx(3 * there.budgets[0] / 0.001)
    assert len(there.asked[1]) == len(there.asked[0])


def test_the_longest_pause_is_one_that_clocks_can_wait(machine: Callable[..., Machine]) -> None:
    there = machine(0.05, 0.0)
    there.watch(600, 1e-12, 2)
    there.watch(1e11, 0.1, 2)
    pauses = [b - a for a, b in zip(there.begins, there.begins[1:], strict=False)]
    assert max(pauses) <= weather_watch.LONGEST_PAUSE + 3


def test_one_sample_of_two_suffices(
    machine: Callable[..., Machine], capsys: pytest.CaptureFixture[str]
) -> None:
    machine(0.0, 0.0, 0.0).fails = lambda number: number == 1
    given = ["weather", "-H", ",".join(NAMES), "--watch", "1ms", "--times", "2"]
    assert main(given) == 0
    assert "no sample: host a can't be reached" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["-H", "zz", "--watch", "10min"], "and hosts are given; leave out one"),
        (["--watch", "10min", "--json"], "--json doesn't go with --watch"),
        (["--watch", "10min", "--picture", "w.svg"], "--picture doesn't go with --watch"),
        (["--share", "1%"], "--share is for samples; add --watch 10min"),
        (["--times", "2"], "--times is for samples; add --watch 10min"),
        (["--mpi", "mpich"], "--mpi is for samples; add --watch 10min"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    given: list[str], said: str, cached: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["weather", str(cached), *given]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def a_launcher(folder: Path, script: str) -> Path:
    """A launcher that starts no ranks."""
    path = folder / "mpirun"
    version = "case $1 in --version) echo 'mpirun (Open MPI) 4.1.4'; exit;; esac"
    path.write_text(f"#!/bin/sh\n{version}\n{script}\n")
    path.chmod(0o755)
    return path


def test_what_counts_is_the_time_of_measuring(tmp_path: Path) -> None:
    step = '{"event": "progress", "done": 1, "total": 2, "phase": "latency"}'
    script = f"sleep 1\necho '{step}'\nsleep 0.3\nexit 1"
    path = a_launcher(tmp_path, script)
    taken: list[float] = []
    begin = time.monotonic()
    with pytest.raises(UserError, match="status 1"):
        probe.run(
            [Host("localhost")], tmp_path / "net.json", Launcher(path, "openmpi", "4.1"),
            hurried=True, measured_for=taken.append,
        )  # fmt: skip
    assert len(taken) == 1
    assert 0.3 <= taken[0] < time.monotonic() - begin - 1
    path = a_launcher(tmp_path, "sleep 1\nexit 1")
    with pytest.raises(UserError, match="status 1"):
        probe.run(
            [Host("localhost")], tmp_path / "net.json", Launcher(path, "openmpi", "4.1"),
            hurried=True, measured_for=taken.append,
        )  # fmt: skip
    assert taken[1] == 0


@contextmanager
def watching(cached: Path, folder: Path, *before: str) -> Iterator["subprocess.Popen[str]"]:
    """A watch in the middle of a sample, which leaves no files when it is ended.

    The launcher is a script that says that it measures, and then nothing.
    """
    launcher = a_launcher(folder, """echo '{"event": "step"}'\nexec sleep 60""")
    command = [sys.executable, "-m", "thalweg", "weather", str(cached), "--watch", "10min"]
    samples = folder / "thalweg" / "samples"
    with subprocess.Popen(
        [*before, *command, "--launcher", str(launcher)], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=os.environ,
    ) as process:  # fmt: skip
        try:
            end = time.monotonic() + 60
            while time.monotonic() < end and not list(samples.glob("*.part")):
                assert process.poll() is None, process.communicate()[1]
                time.sleep(0.05)
            assert list(samples.iterdir())
            yield process
        finally:
            process.kill()
    assert list(samples.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_watch_that_is_ended_cleans_up(cached: Path, tmp_path: Path, number: int) -> None:
    # The tests may themselves run under nohup.
    with watching(cached, tmp_path, "env", "--default-signal=HUP") as process:
        process.send_signal(number)
        assert process.wait(30) == 128 + number


def test_a_watch_under_nohup_goes_on_without_its_terminal(cached: Path, tmp_path: Path) -> None:
    with watching(cached, tmp_path, "nohup") as process:
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM
