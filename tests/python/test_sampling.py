"""Which pairs a short sample measures."""

import pytest
from four_hosts import network

from thalweg import network as networks
from thalweg import sampling


@pytest.mark.parametrize("hosts", [1, 2, 3, 16, 200])
def test_telling_pairs_are_few_and_different(hosts: int) -> None:
    net = networks.even_network(hosts, 1e-3, 1e7)
    pairs = sampling.telling_pairs(net)
    assert len(set(pairs)) == len(pairs) <= sampling.TELLING
    assert all(a != b for a, b in pairs)
    assert (len(pairs) > 0) == (hosts > 1)
    assert {(0, 2), (0, 3), (1, 2), (1, 3)} & set(sampling.telling_pairs(network()))
    assert set(sampling.telling_pairs(network(), among={0, 2})) == {(0, 2), (2, 0)}
