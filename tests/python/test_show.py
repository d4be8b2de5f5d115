"""What `thalweg show` derives from a network."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from thalweg import description, hierarchy, network, picture
from thalweg.cli import main
from thalweg.network import Host, Network, Trunk


@pytest.fixture
def net() -> Network:
    """a and b form one site, c another; a's latency to b is twice b's to a."""
    latency = np.array([[0, 2e-3, 10e-3], [1e-3, 0, 14e-3], [10e-3, 12e-3, 0]])
    bandwidth = np.where(np.eye(3, dtype=bool), 1e9, 1e6)
    hosts = [Host("a1", egress=5e6), Host("a2", egress=7e6), Host("c")]
    result = Network(hosts, latency, bandwidth)
    result.sites = [[0, 1], [2]]
    result.trunks = [Trunk("up", [0, 1], [2], 2e6)]
    return result


def test_medians_between_sites_leave_out_the_diagonal(net: Network) -> None:
    medians = description.between(net, "latency")
    assert medians[0] == pytest.approx([1.5e-3, 12e-3])
    assert medians[1, 0] == pytest.approx(11e-3)
    assert np.isnan(medians[1, 1])


def test_asymmetry_finds_the_worst_pair(net: Network) -> None:
    ratio, i, j = description.asymmetry(net.latency)
    assert ratio == pytest.approx(2.0)
    assert (i, j) == (0, 1)
    assert description.asymmetry(net.bandwidth)[0] == pytest.approx(1.0)


def test_directions_that_are_both_unlimited_are_alike() -> None:
    inf = np.inf
    values = np.array([[inf, inf, 4.0], [inf, inf, 1.0], [2.0, 1.0, inf]])
    assert description.asymmetry(values) == (2, 0, 2)
    assert description.asymmetry(np.full((2, 2), inf)) == (1, 0, 0)
    values[1, 2] = inf  # one direction only
    assert description.asymmetry(values) == (inf, 1, 2)


def test_the_worst_pair_is_named_where_there_is_one(net: Network) -> None:
    assert "a1 -> a2 is 2 times" in description.asymmetry_text(net)
    even = network.even_network(2, 1e-3, 1e6)
    assert description.asymmetry_text(even).endswith("0.0% in latency, 0.0% in bandwidth.")


def test_goodness_is_logarithmic() -> None:
    values = np.array([[0, 1.0, 10.0], [100.0, 0, 1.0], [1.0, 1.0, 0]])
    scores = picture.goodness(values, lower_is_better=True)
    assert [scores[0, 1], scores[0, 2], scores[1, 0]] == pytest.approx([1, 0.5, 0])


@pytest.mark.filterwarnings("error")
def test_latencies_may_be_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = np.zeros((3, 3))
    assert (picture.goodness(values, lower_is_better=True) == 1).all()
    values[0, 1] = 1e-3
    scores = picture.goodness(values, lower_is_better=True)
    assert [scores[0, 1], scores[1, 0]] == [0, 1]
    file = tmp_path / "net.json"
    network.write(network.even_network(3, 0.0, 1e8), file)
    assert main(["show", str(file)]) == 0
    assert "host0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a"], "a"),
        (["vm1", "vm2", "vm3", "vm7"], "vm1..vm3, vm7"),
        (["vm9", "vm10"], "vm9..vm10"),
        (["a", "b", "c", "d", "e", "f"], "a, b, c and 3 more"),
    ],
)
def test_names_in_short(names: list[str], text: str) -> None:
    assert description.span(names) == text


def test_json_has_no_infinities(
    net: Network, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net.trunks = [*net.trunks, Trunk("down", [2], [0, 1], np.inf)]
    network.write(net, tmp_path / "net.json")
    assert main(["show", str(tmp_path / "net.json"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [host["egress"] for host in shown["hosts"]] == [5e6, 7e6, None]
    assert shown["sites"] == [["a1", "a2"], ["c"]]
    assert shown["between_sites"]["latency"][1][1] is None
    assert shown["trunks"] == [
        {"name": "up", "from": ["a1", "a2"], "to": ["c"], "capacity": 2e6},
        {"name": "down", "from": ["c"], "to": ["a1", "a2"], "capacity": None},
    ]


def test_a_person_sees_sites_trunks_and_matrices(
    net: Network, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network.write(net, tmp_path / "net.json")
    assert main(["show", str(tmp_path / "net.json")]) == 0
    text = capsys.readouterr().out
    assert "3 hosts, 2 sites" in text
    assert "a1..a2" in text
    assert "40Mbps to 56Mbps" in text
    assert main(["show", str(tmp_path / "net.json"), "--matrix", "latency"]) == 0
    assert "14ms" in capsys.readouterr().out


def test_letters_tell_cells_apart_where_there_are_no_colours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    apart = np.repeat([0, 1], 10)
    latency = np.where(apart[:, None] == apart, 1e-3, 3e-3)
    np.fill_diagonal(latency, 0)
    net = Network([Host(f"h{i}", 1e8, 1e8) for i in range(20)], latency, np.full((20, 20), 1e8))
    network.write(net, tmp_path / "net.json")
    assert main(["show", str(tmp_path / "net.json"), "--matrix", "latency"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (row,) = (line.split(maxsplit=1)[1].strip() for line in lines if line.startswith("h12 "))
    assert row == 10 * ".." + 2 * "@@" + " -" + 7 * "@@"
    assert lines[-1].strip() == "@@ 1ms  .. 3ms"


@pytest.mark.parametrize("hosts", [64, 500])
def test_matrices_of_many_hosts_fit_a_narrow_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, hosts: int
) -> None:
    monkeypatch.setattr("thalweg.console.PIPE_WIDTH", 80)
    apart = np.arange(hosts) < hosts // 2
    latency = np.where(apart[:, None] == apart, 1e-3, 1e-2)
    np.fill_diagonal(latency, 0)
    names = [f"{'west' if first else 'east'}{host}" for host, first in enumerate(apart)]
    even = np.full((hosts, hosts), 1e8)
    net = Network([Host(name, 1e8, 1e8) for name in names], latency, even)
    network.write(net, tmp_path / "net.json")
    assert main(["show", str(tmp_path / "net.json"), "--matrix", "latency"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "hosts a cell" in lines[0]
    rows = [line.split()[-1] for line in lines if line.startswith(("west", "east"))]
    assert 20 <= len(rows) <= 40
    assert set(map(len, rows)) == {2 * len(rows)}
    assert rows[0].startswith("@") and rows[0].endswith(".")
    assert rows[-1].startswith(".") and rows[-1].endswith("@")
    assert lines[-1].strip() == "@@ 1ms  .. 10ms"


def test_values_are_shown_only_where_they_fit(
    net: Network, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    network.write(net, tmp_path / "net.json")
    monkeypatch.setattr("thalweg.console.PIPE_WIDTH", 14)
    assert main(["show", str(tmp_path / "net.json"), "--matrix", "latency"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == ["a1", "a2", "c"]
    assert "@@" in lines[2]


def test_json_leaves_large_matrices_out_unless_they_are_asked_for(
    net: Network, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    network.write(net, tmp_path / "net.json")

    def shown(*options: str) -> tuple[bool, bool]:
        assert main(["show", str(tmp_path / "net.json"), "--json", *options]) == 0
        found = json.loads(capsys.readouterr().out)
        return found["latency"] is not None, found["bandwidth"] is not None

    assert shown() == (True, True)
    monkeypatch.setattr("thalweg.console.MOST_PAIRS", 8)
    assert shown() == (False, False)
    assert shown("--matrix", "latency") == (True, False)


@pytest.mark.parametrize("view", [["--matrix", "latency"], ["--hierarchy"]], ids=" ".join)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_views_of_too_many_hosts_are_refused(
    view: list[str], form: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "net.json")
    network.write(network.even_network(hierarchy.MOST_HOSTS + 1, 1e-3, 1e8), file)
    assert main(["show", file, *view, *form]) == 2
    assert "is shown for up to 8,192, not for 8,193: leave out" in capsys.readouterr().err


def test_a_matrix_of_many_hosts_has_rows_of_several() -> None:
    net = network.even_network(500, 1e-3, 1e8)
    latency = net.latency.copy()
    latency[:250, 250:] = 1e-2
    net.latency = latency
    drawn = picture.svg(net, "latency", hierarchy.build(net, size=1000))
    assert drawn.count("<rect") < 200**2
    assert "1ms" in drawn and "10ms" in drawn


def test_a_median_takes_exceptions_off_what_is_usual() -> None:
    def counted(*pairs: tuple[float, int]) -> float:
        values, counts = (np.array(each) for each in zip(*pairs, strict=True))
        return hierarchy.median(values, counts)

    exceptions = [(each, count) for _ in range(300) for each, count in ((0.5, 1), (1.0, -1))]
    assert counted((1.0, 1056), (3.0, 1394), *exceptions) == 3
    assert counted((1.0, 1056), (3.0, 1394)) == 3
    assert counted((1.0, 1394), (3.0, 1056), *exceptions) == 1
    assert counted((2.0, 300), *((each * 2, count) for each, count in exceptions)) == 1
    assert math.isnan(hierarchy.median(np.array([]), np.array([], int)))
