import itertools
import random

import pytest

from bench.critical_path import Link, Transfer, by_hop, critical_path


def links(_sender: int, _receiver: int) -> Link:
    return Link(latency=1.0, rate=100.0)


def pair(
    sender: int, receiver: int, posted: tuple[float, float], done: tuple[float, float],
    segment: int = 0, size: int = 200,
) -> list[Transfer]:  # fmt: skip
    return [
        Transfer(sender, receiver, True, 0, segment, size, posted[0], done[0]),
        Transfer(receiver, sender, False, 0, segment, size, posted[1], done[1]),
    ]


def test_one_message_is_wire_latency_excess_and_exit() -> None:
    # 200 bytes at 100 B/s: 2 s; latency 1 s; posted at 0.5, there at 4: 0.5 s late; exit 4.25.
    path = critical_path(pair(0, 1, (0.5, 0.0), (0.6, 4.0)), 0.0, 1, 4.25, links)
    hops = by_hop(path)
    assert hops[0, 1] == pytest.approx({
        "wire": 2.0, "latency": 1.0, "below the link's rate": 0.5, "rank": 0.0,
    })  # fmt: skip
    assert hops[1, 1]["rank"] == pytest.approx(0.25)
    assert hops[0, 0]["rank"] == pytest.approx(0.5)


def test_the_second_message_on_a_link_pays_no_latency() -> None:
    transfers = pair(0, 1, (0, 0), (0.1, 3.0)) + pair(0, 1, (0, 0), (0.2, 5.5), segment=1)
    hop = by_hop(critical_path(transfers, 0.0, 1, 5.5, links))[0, 1]
    assert hop["wire"] == pytest.approx(4.0)
    assert hop["latency"] == pytest.approx(1.0)
    assert hop["below the link's rate"] == pytest.approx(0.5)


def test_a_relay_that_posts_late_is_the_ranks_own_time() -> None:
    # 0 -> 1 arrives at 3; 1 posts its send at 4; 2 has it at 7.
    transfers = pair(0, 1, (0, 0), (0.1, 3.0)) + pair(1, 2, (4.0, 0.0), (4.1, 7.0))
    hops = by_hop(critical_path(transfers, 0.0, 2, 7.0, links))
    assert hops[1, 1]["rank"] == pytest.approx(1.0)
    assert hops[0, 1]["wire"] == hops[1, 2]["wire"] == pytest.approx(2.0)


def test_a_receiver_that_posts_late_is_to_blame() -> None:
    transfers = pair(0, 1, (0.0, 2.0), (0.1, 5.0))
    hops = by_hop(critical_path(transfers, 0.0, 1, 5.0, links))
    assert hops[1, 1]["rank"] == pytest.approx(2.0)
    assert (0, 0) not in hops


@pytest.mark.parametrize("seed", range(20))
def test_causes_add_up_to_the_whole(seed: int) -> None:
    rng = random.Random(seed)
    transfers: list[Transfer] = []
    for segment in range(10):
        for rank in range(4):
            posted = (rng.uniform(0, 5), rng.uniform(0, 5))
            begun = max(posted)
            done = (begun + rng.uniform(0, 1), begun + rng.uniform(0, 4))
            transfers += pair(rank, rank + 1, posted, done, segment)
    path = critical_path(transfers, 0.0, 4, 12.0, links)
    assert sum(stretch.length for stretch in path) == pytest.approx(12.0)
    assert all(
        later.begin == pytest.approx(earlier.end) for later, earlier in itertools.pairwise(path)
    )
