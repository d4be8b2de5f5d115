"""The scenarios that come with Thalweg, and how scenario files are found."""

import itertools
import json
from pathlib import Path

import pytest

from bench import compare
from thalweg.errors import UserError
from thalweg.lab import scenario, scenarios

HOSTS = {"wan-2x16": 32, "switches-2x16": 32,
         "blade-10x1": 10, "now-30x2": 30, "4w-8x4": 8, "8w-4x8": 4}  # fmt: skip


def pairs(hosts: int) -> list[tuple[int, int]]:
    return list(itertools.permutations(range(hosts), 2))


@pytest.mark.parametrize("name", scenarios.BUILT_IN)
def test_every_scenario_is_valid_and_has_its_name(name: str) -> None:
    found = scenario.find(name)
    assert found.name == name
    assert len(found.hosts) == HOSTS.get(name, 16)
    assert found.description


def test_two_sites_is_as_described() -> None:
    found = scenario.find("two-sites")
    assert [host.name for host in found.hosts][7:9] == ["west7", "east0"]
    for a, b in pairs(16):
        assert found.latency(a, b) == pytest.approx(1e-4 if (a < 8) == (b < 8) else 1e-2)
        assert found.pair_rate(a, b) == pytest.approx(12.5e6)
    assert {trunk.capacity for trunk in found.trunks} == {125e6}


@pytest.mark.parametrize(("name", "latency"), [("wan-2x16", 10e-3), ("switches-2x16", 0.15e-3)])
def test_the_hosts_of_a_site_exceed_the_trunk(name: str, latency: float) -> None:
    found = scenario.find(name)
    assert found.latency(0, 16) == found.latency(31, 15) == pytest.approx(latency)
    assert len(found.trunks) == 2
    for trunk in found.trunks:
        assert 16 * (found.hosts[0].egress or 0) == pytest.approx(1.6 * (trunk.capacity or 0))


def test_three_sites_are_unequal_and_asymmetric() -> None:
    found = scenario.find("three-sites")
    assert [len(site) for site in found.plain["sites"]] == [3, 5, 8]
    assert len({trunk.capacity for trunk in found.trunks}) == 6
    assert found.latency(0, 3) != found.latency(3, 0)


def test_grid_has_clusters_in_organisations() -> None:
    found = scenario.find("grid")
    assert [len(site) for site in found.plain["sites"]] == [2] * 8
    near = [found.latency(2 * a, 2 * a + 2) for a in range(0, 8, 2)]
    far = [found.latency(a, b) for a, b in pairs(16) if a // 4 != b // 4]
    assert max(near) < 4e-3
    assert max(far) > 5 * min(far)


def test_even_is_even() -> None:
    found = scenario.find("even")
    assert len({(found.latency(*pair), found.pair_rate(*pair)) for pair in pairs(16)}) == 1


def test_cloud_is_uneven_asymmetric_and_repeatable() -> None:
    found = scenario.find("cloud")
    latencies = [found.latency(*pair) for pair in pairs(16)]
    assert max(latencies) > 5 * min(latencies)
    undirected = [pair for pair in pairs(16) if pair[0] < pair[1]]
    differing = sum(found.latency(a, b) != found.latency(b, a) for a, b in undirected)
    # 120 pairs, each with probability 0.58: the standard deviation is 0.045 of them.
    assert 0.44 < differing / len(undirected) < 0.72
    bandwidth = found.plain["bandwidth"]
    differing = sum(bandwidth[a][b] != bandwidth[b][a] for a, b in undirected)
    assert 0.07 < differing / len(undirected) < 0.30
    assert not found.plain["sites"], "nobody is told the racks"
    assert scenarios.cloud() == scenarios.cloud()
    assert scenarios.cloud(seed=8) != scenarios.cloud()


def test_a_pair_is_no_faster_than_what_it_passes() -> None:
    found = scenario.find("cloud")
    for a, b in pairs(16):
        rate = found.pair_rate(a, b)
        assert rate <= (found.hosts[a].egress or rate)
        assert rate <= (found.hosts[b].ingress or rate)
        assert rate <= found.plain["bandwidth"][a][b]


def test_a_written_scenario_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    document = scenario.document("cloud")
    del document["name"]
    path.write_text(json.dumps(document))
    found = scenario.find(str(path))
    assert found.name == "mine"
    assert found.plain["latency"] == scenario.find("cloud").plain["latency"]


def test_unknown_names_and_bad_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no scenario 'nowhere'.*two-sites, cloud, even, grid"):
        scenario.find("nowhere")
    document = scenario.document("even")
    document["network"]["latency"]["matrix"][2][3] = -1
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document))
    with pytest.raises(UserError, match=r"bad\.json: network.*node2.*node3"):
        scenario.read(path)
    path.write_text("{")
    with pytest.raises(UserError, match=r"bad\.json: not JSON"):
        scenario.read(path)
    with pytest.raises(UserError, match=r"cannot be read"):
        scenario.read(tmp_path / "absent.json")


@pytest.mark.parametrize("seed", range(20))
def test_drawn_scenarios_are_valid_and_without_doubt(seed: int) -> None:
    found = scenario.find(f"drawn-{seed}")
    assert found.name == f"drawn-{seed}"
    sites = found.plain["sites"]
    assert 1 <= len(sites) <= 4
    assert all(len(site) >= 2 for site in sites)
    assert len(found.hosts) == sum(map(len, sites)) <= 16
    site = {host: at for at, hosts in enumerate(sites) for host in hosts}
    inside, across = ([found.latency(a, b) for a, b in pairs(len(found.hosts))
                       if (site[a] == site[b]) == same] for same in (True, False))  # fmt: skip
    assert not across or min(across) > 5 * max(inside)
    assert len(compare.compare(found.network, found).found) == len(found.trunks)


def test_drawn_scenarios_differ_by_seed_only() -> None:
    assert scenario.document("drawn-3") == scenario.document("drawn-3")
    assert scenario.document("drawn-3") != scenario.document("drawn-4")
    sizes = {len(scenario.find(f"drawn-{seed}").plain["sites"]) for seed in range(10)}
    assert sizes == {1, 2, 3, 4}
    with pytest.raises(UserError, match="nor drawn-SEED"):
        scenario.find("drawn-x")


def test_a_scenario_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "windows.json"
    path.write_text("\ufeff" + json.dumps(scenario.document("two-sites")), "utf-8")
    assert scenario.read(path).network.hosts
