"""Which link, port or host explains that messages between some hosts are slow."""

from collections.abc import Mapping

import numpy as np
import pytest

from thalweg import network
from thalweg.analysis import pairs
from thalweg.analysis.faults import Fault
from thalweg.analysis.pairs import Pairs

NETWORK = network.even_network(4, 1e-4, 1e9)
NAMES = [host.name for host in NETWORK.hosts]
ENDS = [(a, b) for a in NAMES for b in NAMES if a != b]


def measured(added: Mapping[tuple[str, str], float]) -> Pairs:
    expected = np.array([100.0 if NAMES.index(a) < 2 else 500.0 for a, _ in ENDS])
    more = np.array([added.get(pair, 0.0) for pair in ENDS])
    return Pairs(ENDS, expected, np.log1p(more / expected), more > 0)


def explained(added: Mapping[tuple[str, str], float]) -> set[tuple[str, str]]:
    members = pairs.explain(NETWORK, measured(added), np.full(len(ENDS), False)).members
    return {ENDS[at] for at in members}


def named(added: Mapping[tuple[str, str], float], left_out: int = -1) -> tuple[Fault, str]:
    unused = np.arange(len(ENDS)) == left_out
    best = pairs.explain(NETWORK, measured(added), unused)
    return best.fault, best.culprit


def test_what_all_pairs_take_beyond_their_network_is_found() -> None:
    expected = np.array([100.0, 100, 100, 500, 500, 500])
    took = expected + 35 + np.array([1, -1, 0, 2, 400, -2])
    assert pairs.in_common(expected, took) == pytest.approx(35, abs=2)
    assert pairs.in_common(expected, expected - 20) == 0


def test_one_slow_pair_is_its_link() -> None:
    a, b = NAMES[:2]
    assert named({(a, b): 400}) == (Fault.slow_link, f"{a} -> {b}")
    assert explained({(a, b): 400}) == {(a, b)}


def test_a_host_that_adds_the_same_to_all_is_a_slow_host() -> None:
    slow = NAMES[1]
    added = {pair: 200 + 10 * at for at, pair in enumerate(ENDS) if slow in pair}
    assert named(added) == (Fault.slow_host, slow)
    assert explained(added) == added.keys()


def test_a_host_all_of_whose_messages_are_slow_by_a_factor_has_a_slow_port() -> None:
    slow = NAMES[2]
    added = {pair: 1500.0 for pair in ENDS if pair[0] == slow}
    assert named(added) == (Fault.slow_link, f"egress of {slow}")


def test_only_slow_pairs_are_accused_alone() -> None:
    """Ports and trunks are few; of single pairs there are as many as the square of the hosts."""
    candidates = pairs._candidates(NETWORK, measured({ENDS[0]: 400}), np.full(len(ENDS), True))
    assert len(candidates) == 1 + 3 * len(NAMES)


def test_what_is_left_out_accuses_nobody() -> None:
    (a, b), other = ENDS[0], ENDS[5]
    assert named({(a, b): 4000, other: 400}, left_out=0) == (Fault.slow_link, " -> ".join(other))
