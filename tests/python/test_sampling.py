"""Which pairs a short sample measures."""

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from four_hosts import network

from thalweg import network as networks
from thalweg import sampling
from thalweg.errors import UserError
from thalweg.network import Network


@pytest.mark.parametrize("hosts", [1, 2, 3, 16, 200])
def test_telling_pairs_are_few_and_different(hosts: int) -> None:
    net = networks.even_network(hosts, 1e-3, 1e7)
    pairs = sampling.telling_pairs(net)
    assert len(set(pairs)) == len(pairs) <= sampling.TELLING
    assert all(a != b for a, b in pairs)
    assert (len(pairs) > 0) == (hosts > 1)
    assert {(0, 2), (0, 3), (1, 2), (1, 3)} & set(sampling.telling_pairs(network()))
    assert set(sampling.telling_pairs(network(), among={0, 2})) == {(0, 2), (2, 0)}


@pytest.mark.parametrize("among", [None, {1, 3, 4, 6}])
def test_pairs_of_many_hosts_are_chosen_as_those_of_few(
    among: set[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = networks.even_network(8, 1e-3, 1e7)
    net.bandwidth[:] = np.random.default_rng(1).integers(1, 5, (8, 8)) * 1e6
    one_by_one = sampling.telling_pairs(net, among=among)
    monkeypatch.setattr(sampling, "FEW", 0)
    assert sampling.telling_pairs(net, among=among) == one_by_one


def test_once_enough_pairs_are_chosen_no_more_hosts_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at: list[int] = []
    least = sampling._least

    def counted(hosts: Iterable[int], used: Sequence[int]) -> list[int]:
        looked_at.append(1)
        return least(hosts, used)

    monkeypatch.setattr(sampling, "_least", counted)
    sampling.telling_pairs(networks.even_network(200, 1e-3, 1e7))
    assert len(looked_at) <= 2 * sampling.TELLING


def test_the_part_of_a_network_has_its_ports_trunks_and_sites() -> None:
    part = sampling.part(network(), [1, 2])
    assert [(host.name, host.egress) for host in part.hosts] == [("b", 10e6), ("c", 10e6)]
    assert part.bandwidth[0, 1] == 5e6 and part.latency[1, 0] == 10e-3
    assert [(trunk.from_, trunk.to, trunk.capacity) for trunk in part.trunks] == [([0], [1], 8e6)]
    assert part.sites == [[0], [1]]
    assert sampling.part(network(), [0, 1]).trunks == []
    networks.validate(part)


def test_far_pairs_have_more_time() -> None:
    pairs = [(0, 1), (1, 2), (2, 3)]
    near, far, farther = (networks.even_network(4, each, 1e7) for each in (1e-5, 2e-2, 1.0))
    assert sampling.seconds_for(near, pairs) == pytest.approx(sampling.BUDGET, rel=1e-2)
    streams = sampling.seconds_for(far, pairs) - sampling.BUDGET
    assert streams == pytest.approx(3 * sampling.ROUND_TRIPS * 4e-2)
    assert sampling.seconds_for(farther, pairs) == sampling.LONGEST


def test_a_few_of_very_many_hosts_have_pairs_and_all_are_an_error_that_is_said() -> None:
    hosts = [networks.Host(f"n{host}") for host in range(8200)]
    net = Network.from_classes(hosts, [0] * len(hosts), np.array([[1e-3]]), np.array([[1e7]]))
    pairs = sampling.telling_pairs(net, among={4, 8199})
    assert pairs == [(4, 8199)]
    assert sampling.seconds_for(net, pairs) > sampling.BUDGET
    with pytest.raises(UserError, match="8192 hosts"):
        sampling.telling_pairs(net)


@pytest.mark.parametrize("hosts", [3, 4, 7, 12, 17, 32, 212])
def test_each_turn_has_another_host_until_all_had_theirs(hosts: int) -> None:
    found = [sampling._others(range(hosts), (0, 1), turn)[0] for turn in range(hosts - 2)]
    assert sorted(found) == list(range(2, hosts))
