"""What of a network no longer fits a sample, by the fewest causes."""

import numpy as np
import pytest
from four_hosts import network

from thalweg import drift
from thalweg import network as networks
from thalweg.weather import PairValues


def found(**bandwidth: float) -> PairValues:
    """A sample of rates in MB/s by pair, such as ab=10."""
    return PairValues({}, {(key[0], key[1]): 1e6 * v for key, v in bandwidth.items()})


def names_of(sample: PairValues) -> list[str]:
    return [cause.name for cause in drift.causes(network(), sample, "bandwidth", 0.2)]


def test_the_smallest_set_of_causes_is_found() -> None:
    assert names_of(found(ab=9, ac=5.5, bd=4.5)) == []
    assert names_of(found(ab=2, ac=5, cb=5)) == ["a to b"]
    assert names_of(found(ab=1, ac=0.5, cb=5, bd=5)) == ["a's egress"]
    assert names_of(found(ba=1, ca=0.5, ab=10)) == ["a's ingress"]
    assert names_of(found(ac=1, bd=1, ab=10, cd=10)) == ["trunk west->east"]
    assert names_of(found(ac=1, bd=1, cd=2, ab=10)) == ["trunk west->east", "c to d"]
    assert names_of(found(ab=1, ac=5, xy=3)) == ["a to b"]
    # One got better, the other worse.
    assert names_of(found(ab=7.9, ac=6.3)) == ["a to b", "a to c"]


def test_latency_counts_from_a_tenth_of_a_millisecond_on() -> None:
    quick = PairValues({("a", "b"): 1.09e-3, ("a", "c"): 10.05e-3})
    assert drift.misfits(network(), quick, 0.001) == drift.misfits(network(), quick, 0.2) == []
    (slow,) = drift.misfits(network(), PairValues({("a", "b"): 2e-3}))
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


def test_ports_of_a_large_network_are_described_without_their_pairs() -> None:
    hosts = 300
    large = networks.even_network(hosts, 1e-3, 1e9)
    names = [host.name for host in large.hosts]
    slow = {(names[0], other): 1e8 for other in names[1:4]}
    (cause,) = drift.causes(large, PairValues({}, slow), "bandwidth", 0.2)
    assert cause.name == f"{names[0]}'s egress"
    assert (0, hosts - 1) in cause
    assert (1, 0) not in cause
    result, _ = drift.calibrated(large, PairValues({}, slow))
    expected = np.array(large.bandwidth)
    expected[0, 1:] = 1e8
    np.testing.assert_allclose(result.bandwidth, expected)


def test_a_pair_between_two_worse_ports_gets_what_one_of_them_leaves() -> None:
    even = networks.even_network(4, 1e-3, 10e6)
    names = [host.name for host in even.hosts]
    pairs = [(a, b) for a in range(4) for b in range(4) if (a < 2) != (b < 2)]
    slow = PairValues({}, {(names[a], names[b]): 2e6 for a, b in pairs})
    result, _ = drift.calibrated(even, slow)
    assert result.bandwidth[0, 1] == result.bandwidth[1, 0] == pytest.approx(2e6)
    assert result.bandwidth[2, 3] == 10e6
    assert [host.egress for host in result.hosts] == pytest.approx([2e6, 2e6, 10e6, 10e6])


def test_hundreds_of_causes_are_found_among_thousands_of_hosts() -> None:
    even = networks.even_network(2000, 1e-3, 10e6)
    names = [host.name for host in even.hosts]
    pairs = [(a, (a + step) % 2000) for a in range(2000) for step in (1, 700)]
    slow = {
        (names[a], names[b]): 5e6 if a < 300 or b < 300 else 10e6 for a, b in pairs
    }  # fmt: skip
    found_causes = drift.causes(even, PairValues({}, slow), "bandwidth", 0.2)
    assert len(found_causes) >= 300
    assert {cause.factor for cause in found_causes} == {0.5}
