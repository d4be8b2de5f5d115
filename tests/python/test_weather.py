"""The weather's history in its file, and as text and picture."""

import json
import math
import os
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from four_hosts import NAMES, network

from thalweg import batch_job, host_names, paths, weather, weather_file, weather_text
from thalweg import network as networks
from thalweg.cli import main
from thalweg.weather import Entry

HOUR = 3600

pytestmark = pytest.mark.usefixtures("own_cache")


def entry(at: float, value: float = 1e6) -> Entry:
    return Entry(at, "sample", {("a", "b"): 1e-3}, {("a", "b"): value})


# The file ---------------------------------------------------------------------------------------


def test_what_is_added_is_read() -> None:
    net = network()
    net.hosts = [networks.Host("a", math.inf, 3e6), *net.hosts[1:]]
    added = [weather.of_network(net, 5), entry(7), Entry(6, "record", ratio={("c", "a"): 1.5})]
    for each in added:
        weather_file.add(reversed(NAMES), each)
    found = weather_file.load(NAMES)
    assert [each.source for each in found.entries] == ["probe", "record", "sample"]
    assert found.entries[0] == added[0]
    assert found.entries[0].ports["a"] == (math.inf, 3e6)
    assert found.entries[0].trunks == {"west->east": 8e6}
    assert found.series("bandwidth", ("a", "b")).times == [5, 7]
    assert found.series("ratio", ("c", "a")).values == [1.5]
    assert weather_file.load(["a", "b"]).entries == []


def test_histories_that_nobody_reads_any_more_are_dropped() -> None:
    long_ago = time.time() - 86_400 * (paths.UNUSED_DAYS + 1)
    known = [["a", "b"], ["a", "b", "c"], ["a", "b", "d"]]
    for hosts in known:
        weather_file.add(hosts, entry(7))
    for hosts in known:
        os.utime(weather_file.location(hosts), (long_ago, long_ago))
    weather_file.load(known[0])  # reading is use, too
    weather_file.add(known[1], entry(8))
    weather_file.add(["a", "b", "e"], entry(7))
    assert [weather_file.location(hosts).exists() for hosts in known] == [True, True, False]
    assert weather_file.location(["a", "b", "e"]).exists()


def test_inferred_pairs_are_not_kept() -> None:
    net = network()
    error = np.zeros((4, 4), np.float32)
    error[0, 1] = np.inf
    net.bandwidth_error = error
    assert ("a", "b") not in weather.of_network(net, 0).bandwidth
    assert ("b", "a") in weather.of_network(net, 0).bandwidth


@pytest.mark.parametrize("hosts", [65, 100, 128, 201, 281, 300])
def test_of_too_many_pairs_those_are_kept_that_have_each_host(hosts: int) -> None:
    names = [f"h{at:03}" for at in range(hosts)]
    net = networks.Network(
        [networks.Host(name) for name in names],
        np.full((hosts, hosts), 1e-3),
        np.full((hosts, hosts), 1e7),
    )
    for pairs in (entry := weather.of_network(net, 0)).latency, entry.bandwidth:
        assert len(pairs) == min(weather.MOST_PAIRS, hosts * (hosts - 1))
        for end in (0, 1):
            times = Counter(pair[end] for pair in pairs)
            assert set(times) == set(names)
            assert max(times.values()) - min(times.values()) <= 1


def test_a_head_that_was_cut_off_is_written_anew(capsys: pytest.CaptureFixture[str]) -> None:
    weather_file.add(NAMES, entry(1))
    path = weather_file.location(NAMES)
    whole = path.read_bytes()
    for end in range(whole.index(b"\n") + 1):
        path.write_bytes(whole[:end])
        assert weather_file.load(NAMES).entries == []
        weather_file.add(NAMES, entry(1))
        assert path.read_bytes() == whole
    assert capsys.readouterr().err == ""


def test_torn_and_damaged_lines_are_skipped() -> None:
    weather_file.add(NAMES, entry(1))
    path = weather_file.location(NAMES)
    whole = path.read_bytes()
    for end in range(whole.index(b"\n") + 1, len(whole)):
        path.write_bytes(whole[:end])
        weather_file.add(NAMES, entry(2))
        times = [each.at for each in weather_file.load(NAMES).entries]
        assert times[-1] == 2
        assert set(times) <= {1, 2}
    for damage in ('{"at": 1}', "[]", '{"at": NaN, "source": "probe"}', "{" * 5000, "\x00",
                   '{"at": 3, "source": "sample", "bandwidth": [[0, 9, 1]]}',
                   '{"at": 3, "source": "sample", "bandwidth": [[0, -1, 1]]}',
                   '{"at": 3, "source": "sample", "bandwidth": [[0, 1e999, 1]]}',
                   '{"at": 3, "source": "sample", "bandwidth": [[0, 1, 1' + "0" * 400 + "]]}",
                   '{"at": 3, "source": "sample", "ports": [[1e999, 1, 1]]}',
                   '{"at": 1' + "0" * 400 + ', "source": "sample"}',
                   '{"at": 1e15, "source": "sample"}', '{"at": -1, "source": "sample"}',
                   '{"at": 3, "source": "sample", "bandwidth": [[0, 1, 1e308]]}',
                   '{"at": 3, "source": "sample", "bandwidth": [[0, 1, 1e-308]]}',
                   '{"at": 3, "source": "sample", "ports": [[0, 1, 1e308]]}',
                   '{"at": 3, "source": "sample", "bandwidth": [[0, 1, -1]]}'):  # fmt: skip
        path.write_bytes(whole + damage.encode() + b"\n")
        assert [each.at for each in weather_file.load(NAMES).entries] == [1], damage


@pytest.mark.parametrize(
    "content", [b"\n", b"something else", b'{"weather": 2, "hosts": []}\n', b"\xff\xfe"]
)
def test_a_foreign_file_is_ignored_and_kept(
    content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = weather_file.location(NAMES)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert weather_file.load(NAMES).entries == []
    assert weather_file.load(NAMES, recent=True).entries == []
    assert capsys.readouterr().err.count("is ignored") == 1
    for _ in range(2):
        weather_file.add(NAMES, entry(1))
    assert path.read_bytes() == content
    assert capsys.readouterr().err == "", "it was said"


def test_many_may_add_at_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: weather_file.add(NAMES, entry(at)), range(200)))
    assert [each.at for each in weather_file.load(NAMES).entries] == list(range(200))


def test_recent_entries_are_read_from_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(100):
        weather_file.add(NAMES, entry(at))
    monkeypatch.setattr(weather_file, "RECENT", 1000)
    times = [each.at for each in weather_file.load(NAMES, recent=True).entries]
    assert times == list(range(100 - len(times), 100))
    assert 1 < len(times) < 20
    monkeypatch.setattr(weather_file, "LARGEST", 2000)
    weather_file.add(NAMES, entry(100))
    times = [each.at for each in weather_file.load(NAMES).entries]
    assert times == list(range(101 - len(times), 101))
    assert len(times) == pytest.approx(51, abs=2)


def test_without_a_place_work_goes_on(own_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own_cache / "thalweg").write_text("")
    weather_file.add(NAMES, entry(1))
    assert weather_file.load(NAMES).entries == []
    assert "can't be written" in capsys.readouterr().err


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
        weather_file.add(NAMES, entry(1e9 + HOUR * at, 1e6 if at < 20 else 4e6))
    listed = ",".join(NAMES)
    drawing = tmp_path / "w.svg"
    assert main(["weather", "-H", listed, "--picture", str(drawing)]) == 0
    shown = capsys.readouterr().out
    assert "4 hosts (a, b, c, d): 30 entries (30 by sample)" in shown
    assert "bandwidth from a to b changed from 8Mbps to 32Mbps" in shown
    assert drawing.read_text().count("#0072b2") == 2
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


@pytest.fixture
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No lab and no batch job names hosts."""
    monkeypatch.setattr(batch_job, "listed", lambda _: [])
    monkeypatch.setattr(batch_job, "is_unlisted", lambda _: False)
    monkeypatch.delenv("THALWEG_LAB_HOSTS", raising=False)


@pytest.mark.usefixtures("_alone")
def test_where_no_hosts_are_named_those_that_have_a_history_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["weather"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert "none have a history yet" in line and "name hosts with -H" in line
    for ago, hosts in ((20, ["b", "a"]), (10, [f"n{at}" for at in range(6)])):
        weather_file.add(
            hosts, entry(1) if "a" in hosts else Entry(1, "sample", {("n0", "n1"): 1e-3})
        )
        os.utime(weather_file.location(hosts), (time.time() - ago, time.time() - ago))
    folder = weather_file.location(NAMES).parent
    for name, content in (
        ("1", b'{"weather": 1, "hosts": ["a", 3]}\n'),
        ("2", b"\xff"),
        ("3", b""),
    ):
        (folder / f"{name}.jsonl").write_bytes(content)
    assert main(["weather"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  6 hosts (n0, n1, n2, n3, …)",
        "  2 hosts (a, b)",
        "name hosts with -H, or a network file",
    ]
    assert main(["weather", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["histories"]
    assert (len(first["hosts"]), second) == (6, {"hosts": ["a", "b"]})
    monkeypatch.setattr(weather_text, "MOST_ROWS", 1)
    assert main(["weather"]) == 0
    assert "1 more: --json has all." in capsys.readouterr().out
    monkeypatch.setenv("THALWEG_LAB", "another")
    assert main(["weather"]) == 0
    assert "none have a history yet" in capsys.readouterr().out


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize("options", [["--watch", "10min"], ["--picture", "w.svg"]])
def test_without_hosts_nothing_is_watched_or_drawn(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["weather", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no hosts are named" in line and "name hosts with -H, or a network file" in line


def test_one_host_that_is_named_alone_has_no_network(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weather", "-H", "x"]) == 0
    line = "1 host (x): nothing is known; one host alone has no network"
    assert capsys.readouterr().out.splitlines() == [line]


def test_hosts_of_another_cluster_with_the_same_names_are_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [(paths.network(NAMES), weather_file.location(NAMES), host_names.location())]
    for cluster in ("one", "other"):
        monkeypatch.setenv("SLURM_CLUSTER_NAME", cluster)
        found.append((paths.network(NAMES), weather_file.location(NAMES), host_names.location()))
    assert all(len({*files}) == len(found) for files in zip(*found, strict=True))
