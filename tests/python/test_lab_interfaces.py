"""What a host's interface is told, and what the check measures."""

import itertools
from typing import Any

import pytest

from thalweg.errors import UserError
from thalweg.lab import check, interfaces, scenario, tcp


def changed(**more: Any) -> scenario.Scenario:
    return scenario.parse({**scenario.document("even"), **more})


def classes(lines: list[str]) -> dict[str, int]:
    """Ceil in bit/s by class."""
    found = {}
    for line in lines:
        words = line.split()
        if words[0] == "class":
            found[words[words.index("classid") + 1]] = int(
                words[words.index("ceil") + 1].removesuffix("bit")
            )
    return found


def test_an_even_host_has_one_rate_divided_by_the_dilation() -> None:
    lines = interfaces._shaping(scenario.find("even"), 4, 3)
    assert classes(lines) == {"1:ffff": 25_000_000, "1:1": 25_000_000}
    assert not any(line.startswith("filter") for line in lines)


def test_slower_pairs_have_classes_of_their_own() -> None:
    found = scenario.find("cloud")
    for host in range(16):
        limits = classes(interfaces._shaping(found, 2, host))
        egress = found.hosts[host].egress or 0
        assert limits["1:ffff"] == pytest.approx(egress * 4)
        for target in range(16):
            rate = found.plain["bandwidth"][host][target]
            if target != host and rate < egress:
                assert limits[interfaces._class_of(target)] == pytest.approx(rate * 4, abs=1)
            else:
                assert interfaces._class_of(target) not in limits


def test_changes_of_rates_reach_the_hosts_in_time() -> None:
    found = changed(
        timeline=[
            {"at": "2s", "hosts": ["node1"], "egress": "50Mbps"},
            {"at": "1s", "from": ["node0"], "to": ["node2", "node3"], "bandwidth": "10Mbps"},
            {"at": "3s", "from": "all", "to": "all", "latency": "1ms"},
        ]
    )
    events = interfaces.changes(found, 4)
    assert [(each["at"], each["host"]) for each in events] == [(4.0, "node0"), (8.0, "node1")]
    assert "class change dev eth0 parent 1:ffff classid 1:12 htb" in str(events[0]["arguments"])
    at_first = classes(interfaces._shaping(found, 4, 0))
    assert at_first["1:12"] == at_first["1:13"] == 25_000_000, "there before they are slow"


def test_a_host_makes_the_changes_of_an_instant_in_one_command() -> None:
    pairs = [
        ("node0", "node1", "10Mbps"),
        ("node0", "node2", "20Mbps"),
        ("node3", "node0", "5Mbps"),
    ]
    found = changed(
        timeline=[{"at": "1s", "from": [a], "to": [b], "bandwidth": rate} for a, b, rate in pairs]
    )
    events = interfaces.changes(found, 2)
    assert [(each["at"], each["host"]) for each in events] == [(2.0, "node0"), (2.0, "node3")]
    told = classes(str(events[0]["arguments"]).replace("\\n", "\n").splitlines())
    assert (told["1:11"], told["1:12"]) == (5_000_000, 10_000_000)


def test_a_host_without_a_limit_is_as_fast_as_its_pairs() -> None:
    document = scenario.document("even")
    network = document["network"]
    hosts = [{**host, "egress": None} for host in network["hosts"]]
    fast = [[40_000.0 for _ in hosts] for _ in hosts]
    fast[0][1] = 0.48
    rates = {"unit": "Mbps", "matrix": fast}
    found = scenario.parse({**document, "network": {**network, "hosts": hosts, "bandwidth": rates}})
    limits = classes(interfaces._shaping(found, 100, 0))
    assert limits["1:12"] == 400_000_000
    assert limits["1:11"] == 4800
    for line in interfaces._shaping(found, 1000, 0):
        assert "rate 0bit" not in line and (
            " rate " not in line or int(line.split(" rate ")[1].split("bit")[0]) >= 8
        )


def test_addresses_are_different() -> None:
    hosts = range(interfaces.MOST_HOSTS)
    assert len({interfaces.address(n) for n in hosts}) == interfaces.MOST_HOSTS
    assert len({interfaces.hardware_address(n) for n in hosts}) == interfaces.MOST_HOSTS


def test_tcp_settings_are_defaults_with_changes() -> None:
    assert tcp.settings({}, "x")["no_metrics_save"] == "1"
    assert tcp.settings({"slow_start_after_idle": 0}, "x")["slow_start_after_idle"] == "0"
    assert tcp.settings({"sack": False, "rmem": [4096, 9000, 10000]}, "x")["sack"] == "0"
    assert tcp.settings({"rmem": [4096, 9000, 10000]}, "x")["rmem"] == "4096 9000 10000"
    for wrong in (None, 5, [1]):
        with pytest.raises(UserError, match="x: tcp: must be an object"):
            tcp.settings(wrong, "x")
    for value in (None, 1.5, "1; reboot", [1, None]):
        with pytest.raises(UserError, match="x: tcp: ecn: must be a word, a number or a list"):
            tcp.settings({"ecn": value}, "x")
    with pytest.raises(UserError, match=r"x: tcp: unknown key 'speed'"):
        tcp.settings({"speed": 1}, "x")
    with pytest.raises(UserError, match="no congestion control 'warp'"):
        tcp.settings({"congestion_control": "warp"}, "x")


@pytest.mark.parametrize("name", ["two-sites", "cloud", "even"])
def test_the_sample_has_every_kind_of_pair(name: str) -> None:
    found = scenario.find(name)
    sample = check.sample(found)
    assert 2 <= len(sample) <= check.SAMPLE
    latencies = {found.latency(*pair) for pair in itertools.permutations(range(16), 2)}
    seen = {found.latency(*pair) for pair in sample}
    assert min(latencies) in seen
    assert max(latencies) in seen


@pytest.mark.parametrize("name", ["two-sites", "cloud", "even"])
def test_pairs_measured_together_do_not_disturb_each_other(name: str) -> None:
    found = scenario.find(name)
    pairs = list(itertools.permutations(range(16), 2))
    rounds = list(check._rounds(found, pairs))
    assert sorted(pair for each in rounds for pair in each) == pairs
    for each in rounds:
        assert len({host for pair in each for host in pair}) == 2 * len(each)
        if len(each) > 1:
            for trunk in found.trunks:
                crossing = check._crossing(trunk, each)
                demand = sum(found.pair_rate(*pair) for pair in crossing)
                assert demand <= (trunk.capacity or demand)
