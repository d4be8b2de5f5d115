"""The weather's history, its text and picture, what doesn't fit, and what a run does about it."""

import json
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from thalweg import drift, knowledge, paths, probe, sampling, weather, weather_text
from thalweg import network as networks
from thalweg.caution import USUAL, Caution, check_threshold
from thalweg.cli import main
from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.launcher import Launcher
from thalweg.network import Network, Trunk
from thalweg.weather import Entry

NAMES = ["a", "b", "c", "d"]
LAUNCHER = Launcher(Path("/bin/mpirun"), "openmpi", "4.1")
HOUR = 3600


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("THALWEG_LAB", "THALWEG_LAB_DILATION"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def network() -> Network:
    """Two sites of two hosts: 10 MB/s inside, 5 MB/s through a trunk between them."""
    net = networks.even_network(4, 1e-3, 10e6)
    net.hosts = [networks.Host(name, 10e6, 10e6) for name in NAMES]
    net.bandwidth[:2, 2:] = net.bandwidth[2:, :2] = 5e6
    net.latency[:2, 2:] = net.latency[2:, :2] = 10e-3
    net.trunks = [Trunk("west->east", [0, 1], [2, 3], 8e6)]
    net.sites = [[0, 1], [2, 3]]
    net.measured_at = "2026-01-31T12:00:00Z"
    return net


def entry(at: float, value: float = 1e6) -> Entry:
    return Entry(at, "sample", {("a", "b"): 1e-3}, {("a", "b"): value})


# The file ----------------------------------------------------------------------------------------


def test_what_is_added_is_read() -> None:
    net = network()
    net.hosts = [networks.Host("a", math.inf, 3e6), *net.hosts[1:]]
    added = [weather.of_network(net, 5), entry(7), Entry(6, "record", ratio={("c", "a"): 1.5})]
    for each in added:
        weather.add(reversed(NAMES), each)
    found = weather.load(NAMES)
    assert [each.source for each in found.entries] == ["probe", "record", "sample"]
    assert found.entries[0] == added[0]
    assert found.entries[0].ports["a"] == (math.inf, 3e6)
    assert found.entries[0].trunks == {"west->east": 8e6}
    assert found.series("bandwidth", ("a", "b")).times == [5, 7]
    assert found.series("ratio", ("c", "a")).values == [1.5]
    assert weather.load(["a", "b"]).entries == []


def test_inferred_pairs_are_not_kept() -> None:
    net = network()
    error = np.zeros((4, 4), np.float32)
    error[0, 1] = np.inf
    net.bandwidth_error = error
    assert ("a", "b") not in weather.of_network(net, 0).bandwidth
    assert ("b", "a") in weather.of_network(net, 0).bandwidth


def test_torn_and_damaged_lines_are_skipped() -> None:
    weather.add(NAMES, entry(1))
    path = weather.location(NAMES)
    whole = path.read_bytes()
    for end in range(whole.index(b"\n") + 1, len(whole)):
        path.write_bytes(whole[:end])
        weather.add(NAMES, entry(2))
        times = [each.at for each in weather.load(NAMES).entries]
        assert times[-1] == 2
        assert set(times) <= {1, 2}
    for damage in ('{"at": 1}', "[]", '{"at": NaN, "source": "probe"}', "{" * 5000, "\x00",
                   '{"at": 3, "source": "sample", "bandwidth": [[0, 9, 1]]}',
                   '{"at": 3, "source": "sample", "bandwidth": [[0, 1, -1]]}'):  # fmt: skip
        path.write_bytes(whole + damage.encode() + b"\n")
        assert [each.at for each in weather.load(NAMES).entries] == [1], damage


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"something else", b'{"weather": 2, "hosts": []}\n', b"\xff\xfe"]
)
def test_a_foreign_file_is_ignored_and_kept(
    content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = weather.location(NAMES)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert weather.load(NAMES).entries == []
    assert capsys.readouterr().err.count("is ignored") == 1
    weather.add(NAMES, entry(1))
    if content:
        assert path.read_bytes() == content
        assert capsys.readouterr().err.count("isn't kept") == 1


def test_many_may_add_at_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: weather.add(NAMES, entry(at)), range(200)))
    assert [each.at for each in weather.load(NAMES).entries] == list(range(200))


def test_recent_entries_are_read_from_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(100):
        weather.add(NAMES, entry(at))
    monkeypatch.setattr(weather, "RECENT", 1000)
    times = [each.at for each in weather.load(NAMES, recent=True).entries]
    assert times == list(range(100 - len(times), 100))
    assert 1 < len(times) < 20
    monkeypatch.setattr(weather, "LARGEST", 2000)
    weather.add(NAMES, entry(100))
    times = [each.at for each in weather.load(NAMES).entries]
    assert times == list(range(101 - len(times), 101))
    assert len(times) == pytest.approx(51, abs=2)


def test_without_a_place_work_goes_on(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (cache / "thalweg").write_text("")
    weather.add(NAMES, entry(1))
    assert weather.load(NAMES).entries == []
    assert "can't be written" in capsys.readouterr().err


# What doesn't fit --------------------------------------------------------------------------------


def found(**bandwidth: float) -> Entry:
    """A sample of rates in MB/s by pair, such as ab=10."""
    return Entry(0, "sample", {}, {(key[0], key[1]): 1e6 * v for key, v in bandwidth.items()})


def names_of(entry: Entry) -> list[str]:
    return [cause.name for cause in drift.causes(network(), entry, "bandwidth", 0.2)]


def test_the_smallest_set_of_causes_is_found() -> None:
    assert names_of(found(ab=9, ac=5.5, bd=4.5)) == []
    assert names_of(found(ab=2, ac=5, cb=5)) == ["a to b"]
    assert names_of(found(ab=1, ac=0.5, cb=5, bd=5)) == ["a's egress"]
    assert names_of(found(ba=1, ca=0.5, ab=10)) == ["a's ingress"]
    assert names_of(found(ac=1, bd=1, ab=10, cd=10)) == ["trunk west->east"]
    assert names_of(found(ac=1, bd=1, cd=2, ab=10)) == ["trunk west->east", "c to d"]
    assert names_of(found(ab=1, ac=5, xy=3)) == ["a to b"]


def test_latency_counts_from_a_tenth_of_a_millisecond_on() -> None:
    quick = Entry(0, "sample", {("a", "b"): 1.09e-3, ("a", "c"): 10.05e-3})
    assert drift.misfits(network(), quick, 0.001) == drift.misfits(network(), quick, 0.2) == []
    (slow,) = drift.misfits(network(), Entry(0, "sample", {("a", "b"): 2e-3}))
    assert (slow.pair, slow.quantity, slow.factor) == (("a", "b"), "latency", 0.5)


def test_only_what_does_not_fit_is_calibrated_anew() -> None:
    net = network()
    result, lines = drift.calibrated(net, found(ab=1, ac=0.5, cb=5))
    expected = np.array(net.bandwidth)
    expected[0, 1:] = [1e6, 0.5e6, 0.5e6]
    np.testing.assert_allclose(result.bandwidth, expected)
    np.testing.assert_array_equal(result.latency, net.latency)
    assert [host.egress for host in result.hosts] == pytest.approx([1e6, 10e6, 10e6, 10e6])
    assert [host.ingress for host in result.hosts] == [10e6] * 4
    assert lines == ["bandwidth of a's egress: 10 times worse"]
    faster, _ = drift.calibrated(net, found(ab=40))
    assert (faster.hosts[0].egress, faster.hosts[1].ingress) == (40e6, 40e6)
    trunk, _ = drift.calibrated(net, found(ac=1, bd=1))
    assert trunk.trunks[0].capacity == pytest.approx(1.6e6)
    networks.validate(trunk)


def test_thresholds() -> None:
    assert check_threshold("20%") == pytest.approx(0.2)
    for bad in ("0%", "x", "-1%", "nan%"):
        with pytest.raises(UserError, match="percentage"):
            check_threshold(bad)


@pytest.mark.parametrize("hosts", [1, 2, 3, 16, 200])
def test_telling_pairs_are_few_and_different(hosts: int) -> None:
    net = networks.even_network(hosts, 1e-3, 1e7)
    pairs = sampling.telling_pairs(net)
    assert len(set(pairs)) == len(pairs) <= sampling.TELLING
    assert all(a != b for a, b in pairs)
    assert (len(pairs) > 0) == (hosts > 1)
    assert {(0, 2), (0, 3), (1, 2), (1, 3)} & set(sampling.telling_pairs(network()))
    assert set(sampling.telling_pairs(network(), among={0, 2})) == {(0, 2), (2, 0)}


# What a run does ---------------------------------------------------------------------------------


class Sampler:
    """Stands for a sample of the true network."""

    def __init__(self, truth: Network) -> None:
        self.truth = truth
        self.asked: list[list[tuple[int, int]]] = []

    def __call__(
        self, net: Network, pairs: list[tuple[int, int]], _: Launcher, *,
        hosts: list[str] | None = None,
    ) -> Entry:  # fmt: skip
        self.asked.append(list(pairs))
        names = [host.name for host in net.hosts]
        place = {host.name: at for at, host in enumerate(self.truth.hosts)}
        true = [(place[names[a]], place[names[b]]) for a, b in pairs]
        result = Entry(
            time.time(), "sample",
            {(NAMES[a], NAMES[b]): float(self.truth.latency[a, b]) for a, b in true},
            {(NAMES[a], NAMES[b]): float(self.truth.bandwidth[a, b]) for a, b in true},
        )  # fmt: skip
        weather.add(hosts or names, result)
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
    path.parent.mkdir(parents=True)
    networks.write(net, path)
    return path


def now_text(ago: float = 0) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago))


HOSTS = [Host(name) for name in NAMES]


def test_a_network_that_is_fresh_is_used_as_it_is(sampler: Sampler) -> None:
    net = network()
    net.measured_at = now_text()
    path = keep(net)
    before = path.read_bytes()
    assert knowledge.network(HOSTS, LAUNCHER) == knowledge.Known(path)
    assert (sampler.asked, path.read_bytes()) == ([], before)


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
        weather.add(NAMES, Entry(time.time() - ago, "record", ratio=ratio))
    knowledge.network(HOSTS, LAUNCHER)
    assert sampler.asked == []
    ratio = {("b", "c"): 1.2, ("a", "b"): 9.5, ("c", "d"): 8.0}
    weather.add(NAMES, Entry(time.time(), "record", ratio=ratio))
    for _ in range(2):
        knowledge.network(HOSTS, LAUNCHER)
    assert sampler.asked == [[(2, 3)]]


def test_one_slow_link_does_not_make_another_network(
    sampler: Sampler, prober: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    sampler.truth.bandwidth[2, 3] /= 8
    net = network()
    net.measured_at = now_text(60)
    path = keep(net)
    for ago in (50, 40, 30, 20, 10):
        weather.add(NAMES, Entry(time.time() - ago, "record", ratio={("c", "d"): 1.2}))
    weather.add(NAMES, Entry(time.time(), "record", ratio={("c", "d"): 9.0}))
    assert knowledge.network(HOSTS, LAUNCHER) == knowledge.Known(path)
    assert sampler.asked[0] == [(2, 3)] and prober == []
    assert "bandwidth of c to d: 8 times worse" in " ".join(capsys.readouterr().err.split())


def test_a_sample_that_fails_does_not_stop_a_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> Entry:
        raise UserError("host a can't be reached")

    monkeypatch.setattr(sampling, "sample", fail)
    path = keep(network())
    assert knowledge.network(HOSTS, LAUNCHER).network == path
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
        assert known == knowledge.Known(paths.network(NAMES), quick=True)
        said = " ".join(capsys.readouterr().err.split())
        assert "doesn't fit" in said and "`--verify off` takes it as it is" in said
    assert (len(sampler.asked), prober) == (1, [known.network])
    assert path.read_bytes() == before
    assert knowledge.given(path, HOSTS, LAUNCHER, Caution(verify="off")) == knowledge.Known(path)
    assert capsys.readouterr().err == ""


def test_of_a_file_that_hardly_differs_a_copy_is_calibrated(
    sampler: Sampler, prober: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = network()
    net.bandwidth[0, 1:] *= 3
    path = given(tmp_path, net)
    before = path.read_bytes()
    known = knowledge.given(path, HOSTS, LAUNCHER, USUAL)
    assert known.network != path and not known.quick
    assert "a's egress: 3 times worse" in capsys.readouterr().err
    copy = networks.read(known.network)
    np.testing.assert_allclose(copy.bandwidth[0, 1:], sampler.truth.bandwidth[0, 1:])
    assert (path.read_bytes(), prober) == (before, [])
    count = len(sampler.asked)
    assert knowledge.given(path, HOSTS, LAUNCHER, USUAL) == known
    assert len(sampler.asked) == count, "what was heard of lately isn't sampled again"


def test_a_file_that_fits_is_used_as_it_is(
    sampler: Sampler, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = given(tmp_path, network())
    assert knowledge.given(path, HOSTS, LAUNCHER, USUAL) == knowledge.Known(path)
    assert capsys.readouterr().err == ""


def test_a_known_network_that_became_another_is_measured_anew(
    sampler: Sampler, prober: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    net = network()
    wrong_rates(net)
    path = keep(net)
    assert knowledge.network(HOSTS, LAUNCHER) == knowledge.Known(path, quick=True)
    assert prober == [path]
    assert "doesn't fit" in capsys.readouterr().err
    np.testing.assert_allclose(networks.read(path).bandwidth, sampler.truth.bandwidth)


# Text and picture --------------------------------------------------------------------------------


def test_sparklines() -> None:
    assert weather_text.sparkline([]) == ""
    assert weather_text.sparkline([1, 8]) == "▁█"
    assert weather_text.sparkline([5, 5, 5]) == "▅▅▅"
    assert weather_text.sparkline([*range(1, 9)]) == weather_text.BARS
    assert len(weather_text.sparkline([1.0, 2.0] * 500)) == weather_text.WIDTH


def test_the_command_shows_draws_and_prints_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for at in range(30):
        weather.add(NAMES, entry(1e9 + HOUR * at, 1e6 if at < 20 else 4e6))
    listed = ",".join(NAMES)
    drawing = tmp_path / "w.svg"
    assert main(["weather", "-H", listed, "--picture", str(drawing)]) == 0
    shown = capsys.readouterr().out
    assert "4 hosts (a, b, c, d): 30 entries (30 by sample)" in shown
    assert "bandwidth from a to b changed from 8Mbps to 32Mbps" in shown
    assert drawing.read_text().count("<polyline") == 2
    assert main(["weather", "-H", listed, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["quantity"] for row in found["series"]] == ["latency", "bandwidth"]
    assert found["changes"][0]["after"] == pytest.approx(4e6)
    assert main(["weather", "-H", "x,y"]) == 0
    assert "nothing is known" in capsys.readouterr().out


def test_without_weather_nothing_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawing = tmp_path / "w.svg"
    assert main(["weather", "-H", "x,y", "--picture", str(drawing)]) == 2
    assert "there is no weather to draw yet" in capsys.readouterr().err
    assert not drawing.exists()
