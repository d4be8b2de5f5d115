"""What runs found to have changed contradicts a network until a sample has looked at it."""

import time
from pathlib import Path

import pytest
from four_hosts import NAMES, network
from test_changes import CAUSE, CHANGE
from test_knowledge import (
    HOSTS,
    LAUNCHER,
    Sampler,
    given,
    keep,
    now_text,
    rates,
    sampler,  # noqa: F401
)

from thalweg import kept_network, knowledge, sampling, verification, weather_file
from thalweg import network as networks
from thalweg.caution import USUAL
from thalweg.weather import Entry

pytestmark = pytest.mark.usefixtures("own_cache")

TELLING = sampling.telling_pairs(network())
ALL = [(a, b) for a in range(4) for b in range(4) if a != b]
OTHERS = [pair for pair in ALL if pair not in TELLING]


def found_by_run(pairs: list[tuple[int, int]]) -> None:
    weather_file.add(NAMES, Entry(time.time(), "run", bandwidth=rates(pairs, 0.1)))


@pytest.fixture
def heard_of(tmp_path: Path) -> Path:
    """A user's file that a sample of this hour fits."""
    weather_file.add(NAMES, Entry(time.time() - 60, "sample", bandwidth=rates(TELLING)))
    return given(tmp_path, network())


def test_what_a_run_found_against_a_users_file_is_sampled_once(
    sampler: Sampler,  # noqa: F811
    heard_of: Path,
) -> None:
    assert knowledge.given(heard_of, HOSTS, LAUNCHER, USUAL) == heard_of
    assert sampler.asked == []
    found_by_run(OTHERS)
    for _ in range(3):
        assert knowledge.given(heard_of, HOSTS, LAUNCHER, USUAL) == heard_of
    (asked,) = sampler.asked
    count = min(len(OTHERS), sampling.TELLING // 2)
    assert set(asked[:count]) <= set(OTHERS)
    assert set(asked[count:]) <= set(TELLING)


def test_what_a_run_found_and_a_sample_confirms_is_not_sampled_again(
    sampler: Sampler,  # noqa: F811
    heard_of: Path,
) -> None:
    for pair in OTHERS:
        sampler.truth.bandwidth[pair] /= 10
    found_by_run(OTHERS)
    copy = knowledge.given(heard_of, HOSTS, LAUNCHER, USUAL)
    assert copy != heard_of
    pair = sampler.asked[0][0]
    assert pair in OTHERS
    expected = sampler.truth.bandwidth_between(*pair)
    assert networks.read(copy).bandwidth_between(*pair) == pytest.approx(expected, rel=1e-3)
    count = len(sampler.asked)
    assert knowledge.given(heard_of, HOSTS, LAUNCHER, USUAL) == copy
    assert len(sampler.asked) == count


def test_one_sample_refutes_all_that_a_run_found(sampler: Sampler) -> None:  # noqa: F811
    net = network()
    net.measured_at = now_text(60)
    path = keep(net)
    found_by_run(ALL)
    for _ in range(3):
        assert knowledge.network(HOSTS, LAUNCHER) == path
    assert [len(asked) for asked in sampler.asked] == [sampling.TELLING]


def test_a_kept_network_is_judged_by_what_is_measured_after_its_run(
    sampler: Sampler,  # noqa: F811
    heard_of: Path,
    tmp_path: Path,
) -> None:
    cause = CAUSE | {"from": ["a"], "to": ["b", "c", "d"]}
    summary = {"changes": [CHANGE | {"causes": [cause]}]}
    kept = tmp_path / "kept.json"
    kept_network.learn(heard_of, summary, NAMES, int(time.time()))
    kept_network.what_came_of_it(heard_of, summary, kept, planned=True)
    found = networks.read(kept)
    assert len(weather_file.load(NAMES).entries) == 2
    assert weather_file.load(NAMES).since(verification.measured_at(found)).entries == []
    sampler.truth = found
    assert knowledge.given(kept, HOSTS, LAUNCHER, USUAL) == kept
    assert len(sampler.asked) == 1
