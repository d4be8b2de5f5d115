"""Networks and their files as Python sees them; the C++ tests cover the rest."""

import gc
import math
import re
from pathlib import Path

import numpy as np
import pytest

from thalweg import inputs, network, units
from thalweg.errors import UserError
from thalweg.network import Host, MessageCost, NativeTime, Network, Trunk

DOCUMENT = Path(__file__).parents[2] / "docs" / "network-file.md"


def blocks(language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)
    return [text for name, text in fenced if name == language]


@pytest.fixture
def example() -> Network:
    text = blocks("json")[0]
    return network.from_json(text, "net.json")


def test_the_documented_example_says_what_it_seems_to(example: Network) -> None:
    assert [host.name for host in example.hosts] == ["west0", "west1", "east0"]
    assert example.hosts[0].egress == units.parse_rate("100Mbps")
    assert example.hosts[2].ingress == np.inf
    expected = np.array([[0, 0.05, 10], [0.05, 0, 10], [12, 12.5, 0]]) / 1000
    np.testing.assert_allclose(example.latency, expected, rtol=1e-15)
    expected = np.array([[np.inf, 12.3e6, 4e6], [12.3e6, np.inf, 4e6], [4e6, 4e6, np.inf]])
    np.testing.assert_array_equal(example.bandwidth, expected)
    assert example.latency_error[0, 1] == np.float32(0.02)
    assert example.latency_error[0, 0] == np.inf
    assert example.bandwidth_error.shape == (0, 0)
    (trunk,) = example.trunks
    assert (trunk.name, trunk.from_, trunk.to) == ("west->east", [0, 1], [2])
    assert trunk.capacity == units.parse_rate("1Gbps")
    assert example.sites == [[0, 1], [2]]
    assert example.message_costs["openmpi"].send == 2e-6
    assert example.message_costs["openmpi"].eager_limit == 65536
    (native,) = example.native_times
    assert (native.collective, native.size, native.time) == ("bcast", 8_000_000, 3.1)
    assert (example.clock, example.measured_with) == ("shared", "thalweg probe")


def test_the_documented_errors_are_the_real_ones() -> None:
    text = blocks("json")[0]
    (errors,) = blocks("")
    misspelt = [
        text.replace("[null, 0.05, 10]", "[null, 0.05, -1]"),
        text.replace('"to": ["east0"]', '"to": ["esat0"]'),
        text.replace('"openmpi": {', '"openmp": {'),
        text.replace('"west1", "egress"', '"west1", "egres"'),
    ]
    for wrong, message in zip(misspelt, errors.splitlines(), strict=True):
        with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
            network.from_json(wrong, "net.json")


def test_files_keep_everything(example: Network, tmp_path: Path) -> None:
    network.write(example, tmp_path / "net.json")
    copy = network.read(tmp_path / "net.json")
    assert copy == example
    assert copy.fingerprint() == example.fingerprint()
    assert network.to_json(copy) == (tmp_path / "net.json").read_text()


def test_users_errors_are_told_apart(example: Network, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.json: can't be read: No such file"):
        network.read(tmp_path / "none.json")
    with pytest.raises(UserError, match="can't be written: No such file"):
        network.write(example, tmp_path / "none" / "net.json")
    example.latency[0, 2] = -1
    with pytest.raises(UserError, match=r"latency west0 -> east0 is -1s: must be"):
        network.write(example, tmp_path / "net.json")
    with pytest.raises(UserError, match="is not a time"):
        units.parse_time("1 parsec")


def test_nanoseconds_are_told_as_times_unless_they_are_unknown() -> None:
    assert [units.ns_to_text(ns) for ns in (2500, 3e6, 0, None)] == ["2.5us", "3ms", "0s", "-"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "lists and objects stand in each other too deeply"),
        ('{"network": {"hosts": [], "hosts": []}}', 'the key "hosts" stands twice in one object'),
    ],
)
def test_a_hostile_file_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text(text)
    with pytest.raises(UserError, match=rf"net\.json: {message}"):
        inputs.network(tmp_path / "net.json")


def test_only_scenarios_are_read_by_python(
    example: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    monkeypatch.setattr(inputs, "parse_json", lambda text, where: read.append(where))
    network.write(example, tmp_path / "net.json")
    inputs.network(tmp_path / "net.json")
    assert not read
    with pytest.raises(UserError):  # a scenario that isn't taken for one
        inputs.network(Path("two-sites"))
    assert read == ["two-sites"]


def test_matrices_are_views(example: Network) -> None:
    view = example.latency
    view[0, 1] = 7
    assert example.latency[0, 1] == 7
    assert example.transfer_time(0, 1, 0) == 7
    example.latency = np.full((3, 3), 2.0)
    assert (view == 2).all()
    del example
    gc.collect()
    assert (view == 2).all()


def test_a_network_is_made_of_its_parts() -> None:
    made = Network([Host("a", 2.0, 3.0), Host("b")], np.zeros((2, 2)), np.ones((2, 2)))
    made.trunks = [Trunk("t", [0], [1], 5.0)]
    made.sites = [[1], [0]]
    made.message_costs = {"mpich": MessageCost(send=1e-6)}
    made.native_times = [NativeTime("mpich", "bcast", 8, 0.5)]
    made.latency_error = np.full((2, 2), 0.5, np.float32)
    made.clock = "ptp"
    made.measured_at = "2026-01-31T12:00:00Z"
    assert network.from_json(network.to_json(made), "text") == made
    assert made.find("b") == 1
    assert made.find("c") is None


def test_a_copy_has_the_same_content_and_stays_as_it_is(example: Network) -> None:
    copy = example.copy()
    assert copy == example
    example.latency[0, 1] = 7
    example.trunks = []
    assert copy.latency[0, 1] < 1
    assert len(copy.trunks) == 1


def test_a_part_of_a_network_changes_whatever_the_order_of_its_hosts(example: Network) -> None:
    (trunk,) = example.trunks
    slower, other = example.copy(), example.copy()
    slower.change_part("sites", "bandwidth", [1, 0], [2], factor=4)
    assert slower.trunks[0].capacity == trunk.capacity / 4
    assert slower.bandwidth[0, 2] == example.bandwidth[0, 2] / 4
    assert slower.bandwidth[2, 0] == example.bandwidth[2, 0]
    other.change_part("trunk", "bandwidth", trunk.from_, trunk.to, factor=4, trunk=trunk.name)
    assert other == slower
    with pytest.raises(ValueError, match=r'"door" is unknown: must be "trunk", .* or "pair"'):
        example.change_part("door", "bandwidth", [0], [1])
    with pytest.raises(ValueError, match="there is no host number 3"):
        example.change_part("pair", "latency", [0], [3])
    once, twice = example.copy(), example.copy()
    once.change_part("sites", "bandwidth", [0, 1], [2], factor=4)
    twice.change_part("sites", "bandwidth", [1, 0, 1, 0], [2, 2], factor=4)
    assert twice == once
    before = example.copy()
    for factor in (0, -2, math.inf, math.nan):
        with pytest.raises(ValueError, match=r"factor is .*: give a positive number"):
            example.change_part("pair", "bandwidth", [0], [1], factor=factor)
    with pytest.raises(ValueError):
        example.change_part("pair", "latency", [0], [1], excess=math.nan)
    with pytest.raises(ValueError, match="no trunk is called 'x'"):
        example.change_part("trunk", "bandwidth", trunk.from_, trunk.to, factor=4, trunk="x")
    assert example == before


def test_a_network_keeps_its_shape() -> None:
    even = network.even_network(3, 0.01, 1e6)
    with pytest.raises(ValueError, match="a matrix of 2 by 2 numbers doesn't fit"):
        even.latency = np.zeros((2, 2))
    with pytest.raises(ValueError, match="keeps its number of hosts: give it 3, not 1"):
        even.hosts = [Host("a")]
    with pytest.raises(ValueError, match="host a is listed twice"):
        Network([Host("a"), Host("a")], np.zeros((2, 2)), np.ones((2, 2)))
