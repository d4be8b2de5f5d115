"""The network that a run starts from: used as it is, verified, calibrated or measured anew."""

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from four_hosts import NAMES, network

from thalweg import host_names, inputs, knowledge, paths, probe, sampling, weather_file
from thalweg import network as networks
from thalweg.caution import USUAL, Caution, Start, check_threshold
from thalweg.errors import UserError
from thalweg.files import locked
from thalweg.hosts import Host
from thalweg.launcher import Launcher
from thalweg.network import Network
from thalweg.weather import Entry

HOSTS = [Host(name) for name in NAMES]
LAUNCHER = Launcher(Path("/bin/mpirun"), "openmpi", "4.1")

pytestmark = pytest.mark.usefixtures("own_cache")


class Sampler:
    """Stands for a sample of the true network."""

    def __init__(self, truth: Network) -> None:
        self.truth = truth
        self.asked: list[list[tuple[int, int]]] = []
        self.most: int | None = None
        """For how many pairs' bandwidth there is time; None: all."""

    def __call__(
        self, net: Network, pairs: list[tuple[int, int]], _: Launcher, *,
        hosts: list[str] | None = None, **_more: object,
    ) -> Entry:  # fmt: skip
        self.asked.append(list(pairs))
        names = [host.name for host in net.hosts]
        place = {host.name: at for at, host in enumerate(self.truth.hosts)}
        true = [(place[names[a]], place[names[b]]) for a, b in pairs]
        result = Entry(
            time.time(), "sample",
            {(NAMES[a], NAMES[b]): float(self.truth.latency[a, b]) for a, b in true},
            {
                (NAMES[a], NAMES[b]): float(self.truth.bandwidth[a, b])
                for a, b in true[: self.most]
            },
        )  # fmt: skip
        weather_file.add(hosts or names, result)
        return result


@pytest.fixture
def sampler(monkeypatch: pytest.MonkeyPatch) -> Sampler:
    made = Sampler(network())
    monkeypatch.setattr(sampling, "sample", made)
    return made


@pytest.fixture
def prober(monkeypatch: pytest.MonkeyPatch, sampler: Sampler) -> list[Path]:
    """Stands for the probe; returns the files that it has written."""
    written: list[Path] = []

    def run(_hosts: object, path: Path, _launcher: Launcher, **_: object) -> None:
        written.append(path)
        sampler.truth.message_costs = {"openmpi": networks.MessageCost()}
        sampler.truth.measured_at = now_text()
        networks.write(sampler.truth, path)

    monkeypatch.setattr(probe, "run", run)
    return written


def keep(net: Network) -> Path:
    net.message_costs = {"openmpi": networks.MessageCost()}
    path = paths.network(NAMES)
    path.parent.mkdir(parents=True, exist_ok=True)
    networks.write(net, path)
    return path


def now_text(ago: float = 0) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago))


def test_a_network_that_is_fresh_is_used_as_it_is(sampler: Sampler) -> None:
    net = network()
    net.measured_at = now_text()
    path = keep(net)
    before = path.read_bytes()
    assert knowledge.network(HOSTS, LAUNCHER) == path
    assert (sampler.asked, path.read_bytes()) == ([], before)


@pytest.mark.parametrize("start", ["quick", "full"])
def test_networks_that_no_run_takes_any_more_are_dropped(
    prober: list[Path], sampler: Sampler, start: Start
) -> None:
    net = network()
    net.measured_at = now_text()
    used = keep(net)
    unused = [used.with_name(name) for name in ("0.json", "0.json.lock", "0.1f.json")]
    long_ago = time.time() - 86_400 * (paths.UNUSED_DAYS + 1)
    for path in (used, *unused):
        path.touch()
        os.utime(path, (long_ago, long_ago))
    knowledge.network(HOSTS, LAUNCHER)
    assert used.stat().st_mtime == pytest.approx(long_ago)  # copies of it must be younger
    assert not prober and all(path.exists() for path in unused)
    others = [Host(f"{name}x") for name in NAMES]
    sampler.truth.hosts = [networks.Host(host.name, 1e9, 1e9) for host in others]
    found = knowledge.network(others, LAUNCHER, Caution(start=start))
    assert prober and found.is_file() and used.is_file()
    assert not any(path.exists() for path in unused)


def test_an_old_network_that_fits_is_verified_once(sampler: Sampler) -> None:
    path = keep(network())
    before = path.read_bytes()
    for _ in range(2):
        knowledge.network(HOSTS, LAUNCHER)
    assert len(sampler.asked) == 1
    assert path.read_bytes() == before
    knowledge.network(HOSTS, LAUNCHER, Caution(verify="off"))
    knowledge.network(HOSTS, LAUNCHER, Caution(verify="always"))
    assert len(sampler.asked) == 2


def test_an_old_network_that_does_not_fit_is_calibrated(
    sampler: Sampler, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = sampler.truth
    truth.bandwidth[0, 1:] /= 10
    path = keep(network())
    knowledge.network(HOSTS, LAUNCHER)
    assert "a's egress: 10 times worse" in capsys.readouterr().err
    np.testing.assert_allclose(networks.read(path).bandwidth[0, 1:], truth.bandwidth[0, 1:])
    count = len(sampler.asked)
    knowledge.network(HOSTS, LAUNCHER)
    assert len(sampler.asked) == count


def test_a_slow_link_in_a_record_is_looked_at_once(sampler: Sampler) -> None:
    net = network()
    net.measured_at = now_text(60)
    keep(net)
    for ago, slow in ((50, 1.2), (40, 9.0), (30, 1.1), (20, 1.3), (10, 1.2)):
        ratio = {("b", "c"): slow, ("a", "b"): 9.0, ("c", "d"): 1.2}
        weather_file.add(NAMES, Entry(time.time() - ago, "record", ratio=ratio))
    knowledge.network(HOSTS, LAUNCHER)
    assert sampler.asked == []
    ratio = {("b", "c"): 1.2, ("a", "b"): 9.5, ("c", "d"): 8.0}
    weather_file.add(NAMES, Entry(time.time(), "record", ratio=ratio))
    for _ in range(2):
        knowledge.network(HOSTS, LAUNCHER)
    assert sampler.asked == [[(2, 3)]]


def test_records_of_runs_do_not_put_a_sample_off(sampler: Sampler) -> None:
    keep(network())
    weather_file.add(NAMES, Entry(time.time(), "record", ratio={("a", "b"): 1.0}))
    for _ in range(2):
        knowledge.network(HOSTS, LAUNCHER)
    assert len(sampler.asked) == 1


def test_what_a_run_found_is_sampled_and_does_not_put_a_sample_off(sampler: Sampler) -> None:
    net = network()
    pairs = sampling.telling_pairs(net)
    same = {(NAMES[a], NAMES[b]): float(net.bandwidth[a, b]) for a, b in pairs}
    keep(net)
    weather_file.add(NAMES, Entry(time.time(), "run", bandwidth=same))
    knowledge.network(HOSTS, LAUNCHER)
    assert sampler.asked == [pairs]

    net.measured_at = now_text(60)
    keep(net)
    knowledge.network(HOSTS, LAUNCHER)
    assert len(sampler.asked) == 1
    weather_file.add(NAMES, Entry(time.time(), "run", bandwidth={("c", "d"): 1e6}))
    knowledge.network(HOSTS, LAUNCHER)
    assert sampler.asked[1:] == [[(2, 3)]]


def test_what_a_sample_had_no_time_for_is_said_and_comes_first_in_the_next(
    sampler: Sampler, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(network())
    sampler.most = 2
    for _ in range(2):
        knowledge.network(HOSTS, LAUNCHER, Caution(verify="always"))
    first, second = sampler.asked
    assert first == sampling.telling_pairs(network())
    assert second == first[2:] + first[:2]
    said = " ".join(capsys.readouterr().err.split())
    assert f"the bandwidth of {len(first) - 2} of {len(first)} sampled pairs isn't verified" in said


def test_one_slow_link_does_not_make_another_network(
    sampler: Sampler, prober: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    sampler.truth.bandwidth[2, 3] /= 8
    net = network()
    net.measured_at = now_text(60)
    path = keep(net)
    for ago in (50, 40, 30, 20, 10):
        weather_file.add(NAMES, Entry(time.time() - ago, "record", ratio={("c", "d"): 1.2}))
    weather_file.add(NAMES, Entry(time.time(), "record", ratio={("c", "d"): 9.0}))
    assert knowledge.network(HOSTS, LAUNCHER) == path
    assert sampler.asked[0] == [(2, 3)] and prober == []
    assert "bandwidth of c to d: 8 times worse" in " ".join(capsys.readouterr().err.split())


def test_a_sample_that_fails_does_not_stop_a_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> Entry:
        raise UserError("host a can't be reached")

    monkeypatch.setattr(sampling, "sample", fail)
    path = keep(network())
    assert knowledge.network(HOSTS, LAUNCHER) == path
    assert "isn't verified: host a can't be reached" in capsys.readouterr().err


def wrong_names(net: Network) -> None:
    net.hosts = [net.hosts[at] for at in (0, 2, 1, 3)]


def wrong_rates(net: Network) -> None:
    net.bandwidth *= 10


def given(tmp_path: Path, net: Network) -> Path:
    path = tmp_path / "given.json"
    networks.write(net, path)
    return path


@pytest.mark.parametrize("spoil", [wrong_names, wrong_rates])
def test_instead_of_another_networks_file_the_hosts_own_is_used(
    spoil: Callable[[Network], None], sampler: Sampler, prober: list[Path], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    net = network()
    spoil(net)
    path = given(tmp_path, net)
    before = path.read_bytes()
    for _ in range(2):
        known = knowledge.given(path, HOSTS, LAUNCHER, USUAL)
        assert known == paths.network(NAMES)
        assert knowledge.is_quick(networks.read(known))
        said = " ".join(capsys.readouterr().err.split())
        assert "doesn't fit" in said and "`--verify off` takes it as it is" in said
    assert (len(sampler.asked), len(prober)) == (1, 1)
    assert path.read_bytes() == before
    assert knowledge.given(path, HOSTS, LAUNCHER, Caution(verify="off")) == path
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("measured_with", ["a probe", f"a probe{knowledge.QUICKLY}"])
def test_of_a_file_that_hardly_differs_a_copy_is_calibrated(
    measured_with: str, sampler: Sampler, prober: list[Path], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    net = network()
    net.measured_with = measured_with
    net.bandwidth[0, 1:] *= 3
    path = given(tmp_path, net)
    before = path.read_bytes()
    known = knowledge.given(path, HOSTS, LAUNCHER, USUAL)
    assert known != path
    assert "a's egress: 3 times worse" in capsys.readouterr().err
    copy = networks.read(known)
    assert knowledge.is_quick(copy) == knowledge.is_quick(net)
    np.testing.assert_allclose(copy.bandwidth[0, 1:], sampler.truth.bandwidth[0, 1:])
    assert (path.read_bytes(), prober) == (before, [])
    count = len(sampler.asked)
    assert knowledge.given(path, HOSTS, LAUNCHER, USUAL) == known
    assert len(sampler.asked) == count, "what was heard of lately isn't sampled again"


def test_a_calibrated_copy_stays_as_long_as_it_fits(sampler: Sampler, tmp_path: Path) -> None:
    net = network()
    net.bandwidth[0, 1:] *= 3
    path = given(tmp_path, net)
    copy = knowledge.given(path, HOSTS, LAUNCHER, USUAL)
    made = networks.read(copy)
    made.measured_at = now_text(3600)
    networks.write(made, copy)
    before = copy.read_bytes()
    for verify in ("auto", "always"):
        assert knowledge.given(path, HOSTS, LAUNCHER, Caution(verify=verify)) == copy
        assert copy.read_bytes() == before, "plans and races for it are found again"
    sampler.truth.bandwidth[0, 1:] /= 2
    knowledge.given(path, HOSTS, LAUNCHER, Caution(verify="always"))
    np.testing.assert_allclose(networks.read(copy).bandwidth[0, 1:], sampler.truth.bandwidth[0, 1:])


def test_of_a_scenario_that_differs_a_copy_is_calibrated_and_used_again(
    sampler: Sampler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network()
    net.bandwidth[0, 1:] *= 3
    document = json.dumps({"network": json.loads(networks.to_json(net))})
    monkeypatch.setattr(inputs, "_scenario", lambda name: document if name == "mine" else "")
    monkeypatch.chdir(tmp_path)
    first = knowledge.given(Path("mine"), HOSTS, LAUNCHER, USUAL)
    assert first != Path("mine")
    before = first.read_bytes()
    assert knowledge.given(Path("mine"), HOSTS, LAUNCHER, USUAL) == first
    assert first.read_bytes() == before


def test_the_copy_of_another_file_of_the_same_name_is_not_used(
    sampler: Sampler, tmp_path: Path
) -> None:
    net = network()
    net.bandwidth[0, 1:] *= 3
    path = given(tmp_path, net)
    first = knowledge.given(path, HOSTS, LAUNCHER, USUAL)
    net.latency[2, 3] *= 1.1  # which is within the threshold
    networks.write(net, other := tmp_path / "other.json")
    os.utime(other, (0, 0))
    path.unlink()
    path.symlink_to(other)
    second = knowledge.given(path, HOSTS, LAUNCHER, USUAL)
    assert networks.read(second).latency[2, 3] == net.latency[2, 3]
    assert second != first


def test_a_file_of_two_hosts_is_sampled_once_an_hour(sampler: Sampler, tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    two = networks.even_network(2, 1e-3, 10e6)
    two.hosts = [networks.Host(name, 10e6, 10e6) for name in NAMES[:2]]
    networks.write(two, path)
    for _ in range(3):
        assert knowledge.given(path, HOSTS[:2], LAUNCHER, USUAL) == path
    assert len(sampler.asked) == 1


def test_a_file_that_fits_is_used_as_it_is(
    sampler: Sampler, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = given(tmp_path, network())
    assert knowledge.given(path, HOSTS, LAUNCHER, USUAL) == path
    assert capsys.readouterr().err == ""


def test_a_file_is_verified_for_hosts_that_are_spelled_otherwise(
    sampler: Sampler, tmp_path: Path
) -> None:
    path = given(tmp_path, network())
    spelled = [Host(host.name.upper()) for host in HOSTS]
    assert knowledge.given(path, spelled, LAUNCHER, USUAL) == path
    assert len(sampler.asked) == 1


def test_a_network_that_was_measured_quickly_is_measured_fully_where_that_is_wanted(
    sampler: Sampler, prober: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    net = network()
    net.measured_at = now_text()
    net.measured_with = f"a probe{knowledge.QUICKLY}"
    path = keep(net)
    assert knowledge.network(HOSTS, LAUNCHER) == path
    assert knowledge.is_quick(networks.read(path)) and not prober
    for _ in range(2):
        assert knowledge.network(HOSTS, LAUNCHER, Caution(start="full")) == path
    assert prober == [path]
    assert not knowledge.is_quick(networks.read(path))
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("was measured quickly; the network is measured anew") == 1


def test_the_advice_after_a_quick_measurement_can_be_followed(
    prober: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = knowledge.network(HOSTS, LAUNCHER)
    assert knowledge.is_quick(networks.read(path))
    said = " ".join(capsys.readouterr().err.split())
    assert "`thalweg run --start full` measures the network fully" in said
    assert knowledge.network(HOSTS, LAUNCHER, Caution(start="full")) == path
    assert not knowledge.is_quick(networks.read(path))


@pytest.mark.parametrize("start", ["quick", "full"])
def test_a_known_network_that_became_another_is_measured_anew(
    start: Start, sampler: Sampler, prober: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    net = network()
    wrong_rates(net)
    path = keep(net)
    assert knowledge.network(HOSTS, LAUNCHER, Caution(start=start)) == path
    assert knowledge.is_quick(networks.read(path)) == (start == "quick")
    assert len(prober) == 1
    assert "doesn't fit" in capsys.readouterr().err
    np.testing.assert_allclose(networks.read(path).bandwidth, sampler.truth.bandwidth)


def test_thresholds() -> None:
    assert check_threshold("20%") == pytest.approx(0.2)
    assert check_threshold("0.2%") == pytest.approx(0.002)
    assert check_threshold("20") == pytest.approx(0.2)
    for unclear in ("0.2", "0.99"):
        with pytest.raises(UserError, match=f"{unclear}: may be {unclear} % or "):
            check_threshold(unclear)
    for bad in ("0%", "x", "-1%", "nan%"):
        with pytest.raises(UserError, match="percentage"):
            check_threshold(bad)


RENAMED = ["a", "b", "c", "rebuilt"]


@pytest.fixture
def rebuilt(prober: list[Path], monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Lets the host listed as d be another one, which the probe notices if others are expected."""
    measure = probe.run

    def run(
        hosts: list[Host], path: Path, launcher: Launcher, base: Path | None = None, **_: Any
    ) -> None:
        host_names.remember([host.name for host in hosts], RENAMED)
        if base:
            raise probe.OtherHostsError("host d calls itself rebuilt, not d")
        measure(hosts, path, launcher)
        net = networks.read(path)
        net.hosts = [networks.Host(name) for name in RENAMED]
        networks.write(net, path)

    def sample(*_: object, **__: object) -> Entry:
        run(HOSTS, Path(), LAUNCHER, base=Path("base"))
        raise AssertionError

    monkeypatch.setattr(probe, "run", run)
    monkeypatch.setattr(sampling, "sample", sample)
    return prober


@pytest.mark.parametrize("start", ["quick", "full"])
@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_hosts_that_were_replaced_are_measured_anew(
    flavour: str, start: Start, rebuilt: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    keep(network())
    launcher = Launcher(Path("/bin/mpirun"), flavour, "4.1")
    new = paths.network(RENAMED)
    assert knowledge.network(HOSTS, launcher, Caution(start=start)) == new
    assert knowledge.is_quick(networks.read(new)) == (start == "quick")
    assert "calls itself rebuilt, not d" in " ".join(capsys.readouterr().err.split())
    assert len(rebuilt) == 1
    assert knowledge.network(HOSTS, LAUNCHER, Caution(verify="off")) == new


def test_a_file_of_hosts_that_were_replaced_is_not_used(
    rebuilt: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = given(tmp_path, network())
    known = knowledge.given(path, HOSTS, LAUNCHER, USUAL)
    assert known == paths.network(RENAMED)
    said = " ".join(capsys.readouterr().err.split())
    assert "doesn't fit: host d calls itself rebuilt" in said and "`--verify off`" in said


def large(hosts: int, rate: float = 10e6) -> Network:
    return Network.from_classes(
        [networks.Host(f"n{host}", 10e6, 10e6) for host in range(hosts)], [0] * hosts,
        np.array([[1e-3]]), np.array([[rate]]),
    )  # fmt: skip


@pytest.mark.parametrize("rate", [10e6, 30e6])
def test_of_a_file_of_very_many_hosts_the_listed_ones_are_verified(
    rate: float, sampler: Sampler, prober: list[Path], tmp_path: Path
) -> None:
    sampler.truth.hosts = [networks.Host(name) for name in NAMES]
    net = large(9000, rate)
    net.hosts = [*sampler.truth.hosts, *net.hosts[4:]]
    sampler.truth.bandwidth[:] = 10e6
    sampler.truth.latency[:] = 1e-3
    path = given(tmp_path, net)
    known = knowledge.given(path, HOSTS, LAUNCHER, USUAL)
    assert sampler.asked and all(pair < (4, 4) for pair in sampler.asked[0])
    assert (known == path) == (rate == 10e6)
    if rate != 10e6:
        copy = networks.read(known)
        assert [host.name for host in copy.hosts] == NAMES
        assert copy.bandwidth[0, 1] == 10e6


def test_more_hosts_than_can_be_verified_are_planned_for(
    sampler: Sampler, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = given(tmp_path, net := large(8200))
    listed = [Host(host.name) for host in net.hosts]
    assert knowledge.given(path, listed, LAUNCHER, USUAL) == path
    assert "the network isn't verified" in capsys.readouterr().err
    assert sampler.asked == []


ALIASES = [Host(f"alias-{name}") for name in NAMES]


def test_hosts_are_known_by_the_names_that_a_probe_saw(
    prober: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = probe.run

    def run(hosts: list[Host], path: Path, launcher: Launcher, **more: Any) -> None:
        measure(hosts, path, launcher, **more)
        host_names.remember([host.name for host in hosts], NAMES)

    monkeypatch.setattr(probe, "run", run)
    own = paths.network(NAMES)
    assert knowledge.network(ALIASES, LAUNCHER) == own
    assert knowledge.network(ALIASES[::-1], LAUNCHER) == own
    assert knowledge.network(HOSTS, LAUNCHER) == own
    assert len(prober) == 1
    # Other names of the same hosts are measured once, and what was known stays.
    before = own.read_bytes()
    others = [Host(f"me@{name}.example.org") for name in NAMES]
    assert knowledge.network(others, LAUNCHER) == own
    assert own.read_bytes() == before and len(prober) == 2
    assert list(own.parent.glob("*.json")) == [own]


def test_a_network_kept_for_other_hosts_is_measured_anew(
    prober: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    keep(network()).rename(paths.network([host.name for host in ALIASES]))
    assert knowledge.network(ALIASES, LAUNCHER) == paths.network(NAMES)
    assert len(prober) == 1
    assert "other hosts than those that are listed" in " ".join(capsys.readouterr().err.split())


def test_a_damaged_network_in_the_cache_is_measured_anew(
    prober: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = keep(network())
    path.write_text("")
    assert knowledge.network(HOSTS, LAUNCHER) == path
    assert len(prober) == 1
    assert "the network is measured anew" in " ".join(capsys.readouterr().err.split())
    assert list(path.parent.glob("*.json")) == [path]


def test_of_runs_at_once_one_measures(prober: list[Path]) -> None:
    path = paths.network(NAMES)
    path.parent.mkdir(parents=True)
    found: list[Path] = []
    waiting = threading.Thread(target=lambda: found.append(knowledge.network(HOSTS, LAUNCHER)))
    with locked(path):
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
        net = network()
        net.message_costs = {"openmpi": networks.MessageCost()}
        net.measured_at = now_text()
        networks.write(net, path)
    waiting.join(30)
    assert found == [path]
    assert not prober


def test_samples_reach_hosts_as_the_user_calls_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def run(hosts: list[Host], _: Path, __: Launcher, **___: object) -> None:
        asked.append([host.name for host in hosts])
        raise UserError("that suffices")

    monkeypatch.setattr(probe, "run", run)
    net = network()
    net.message_costs = {"openmpi": networks.MessageCost()}
    networks.write(net, file := tmp_path / "net.json")
    listed = [Host(f"me@{name.upper()}") for name in NAMES]
    always = Caution(verify="always")
    assert knowledge.given(file, listed, LAUNCHER, always) == file
    assert set(asked[0]) <= {host.name for host in listed}
    host_names.remember(["paris"], [NAMES[0]])
    with pytest.raises(UserError, match="that suffices"):
        sampling.sample(net, [(0, 1)], LAUNCHER)
    assert asked[-1] == ["paris", NAMES[1]]


def test_of_runs_at_once_on_a_known_network_one_samples(sampler: Sampler) -> None:
    path = keep(network())
    with locked(path):
        other = threading.Thread(target=knowledge.network, args=(HOSTS, LAUNCHER))
        other.start()
        other.join(0.5)
        assert other.is_alive()
        assert sampler.asked == []
        pairs = sampling.telling_pairs(network())
        weather_file.add(NAMES, Entry(time.time(), "sample", {}, rates(pairs)))
    other.join()
    assert sampler.asked == []


def rates(pairs: list[tuple[int, int]], times: float = 1.0) -> dict[tuple[str, str], float]:
    return {(NAMES[a], NAMES[b]): times * float(network().bandwidth[a, b]) for a, b in pairs}


def test_pairs_that_do_not_tell_do_not_put_a_sample_off(sampler: Sampler) -> None:
    keep(network())
    telling = sampling.telling_pairs(network())
    others = [(a, b) for a in range(4) for b in range(4) if a != b and (a, b) not in telling]
    weather_file.add(NAMES, Entry(time.time(), "sample", {}, rates(others)))
    knowledge.network(HOSTS, LAUNCHER)
    assert [set(asked) for asked in sampler.asked] == [set(telling)]


def test_what_was_found_before_a_file_was_measured_does_not_count(
    sampler: Sampler, tmp_path: Path
) -> None:
    pairs = sampling.telling_pairs(network())
    for ago in range(50, 1, -1):
        weather_file.add(NAMES, Entry(time.time() - 60 * ago, "sample", {}, rates(pairs)))
    net = network()
    net.bandwidth[:] /= 5
    net.measured_at = now_text(10)
    net.message_costs = {"openmpi": networks.MessageCost()}
    weather_file.add(NAMES, Entry(time.time() - 5, "probe", {}, rates(pairs, 0.2)))
    path = tmp_path / "net.json"
    networks.write(net, path)
    assert knowledge.given(path, HOSTS, LAUNCHER, USUAL) == path
    assert sampler.asked == []


def test_what_the_future_has_does_not_count(sampler: Sampler, tmp_path: Path) -> None:
    pairs = sampling.telling_pairs(network())
    weather_file.add(NAMES, Entry(time.time() + 86_400, "sample", {}, rates(pairs, 0.1)))
    net = network()
    net.measured_at = now_text(-86_400)
    path = keep(net)
    for _ in range(2):
        assert knowledge.network(HOSTS, LAUNCHER) == path
    assert len(sampler.asked) == 1


def test_a_copy_that_cannot_be_written_does_not_stop_a_run(
    sampler: Sampler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = tmp_path / "net.json"
    net = network()
    net.message_costs = {"openmpi": networks.MessageCost()}
    networks.write(net, path)
    sampler.truth.bandwidth[0, 1:] /= 10

    def fail(*_: object) -> None:
        raise UserError("network x can't be written: no space")

    monkeypatch.setattr(networks, "write", fail)
    assert knowledge.given(path, HOSTS, LAUNCHER, USUAL) == path
    assert "no space; planning for" in capsys.readouterr().err
