"""A sure forecast stands for a sample that isn't wanted, or that fails."""

import math
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from thalweg import drift, knowledge, paths, sampling, suspicion, weather_file
from thalweg import network as networks
from thalweg.caution import USUAL, Caution
from thalweg.errors import UserError
from thalweg.forecast import Forecast
from thalweg.hosts import Host
from thalweg.launcher import Launcher
from thalweg.weather import Entry, Series

NAMES = [f"n{at}" for at in range(4)]
HOSTS = [Host(name) for name in NAMES]
LAUNCHER = Launcher(Path("/bin/mpirun"), "openmpi", "4.1")
OFF = Caution(verify="off")


@pytest.fixture(autouse=True)
def failing(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """No sample succeeds; counts the attempts."""
    attempts: list[int] = []

    def fail(*_: object, **__: object) -> Entry:
        attempts.append(1)
        raise UserError("host n0 can't be reached")

    monkeypatch.setattr(sampling, "sample", fail)
    return attempts


@pytest.fixture
def path() -> Path:
    """The file in the cache: 80 Mbps everywhere, twenty days ago."""
    net = networks.even_network(4, 1e-3, 10e6)
    net.hosts = [networks.Host(name, 10e6, 10e6) for name in NAMES]
    net.message_costs = {"openmpi": networks.MessageCost()}
    net.measured_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 20 * 86400))
    result = paths.network(NAMES)
    result.parent.mkdir(parents=True)
    networks.write(net, result)
    return result


def measured(hours: int, rate: Callable[[random.Random], float], ago: float = 7200) -> None:
    """Adds an entry each hour in which n1 has this rate, in bytes per second."""
    noise = random.Random(3)
    for hour in range(hours):
        rates = {
            (a, b): rate(noise) if "n1" in (a, b) else 10e6 * noise.uniform(0.99, 1.01)
            for a in NAMES
            for b in NAMES
            if a != b
        }
        at = time.time() - ago - 3600 * (hours - hour)
        weather_file.add(NAMES, Entry(at, "sample", {}, rates))


def slow(noise: random.Random) -> float:
    return 2e6 * noise.uniform(0.99, 1.01)


@pytest.mark.parametrize("caution", [OFF, USUAL])
def test_a_sure_forecast_is_used_where_nothing_verifies_the_file(
    path: Path, failing: list[int], caution: Caution, capsys: pytest.CaptureFixture[str]
) -> None:
    before = path.read_bytes()
    measured(192, slow)
    known = knowledge.network(HOSTS, LAUNCHER, caution)
    said = " ".join(capsys.readouterr().err.split())
    assert "isn't verified; planning for its forecast, which differs: bandwidth of n1's" in said
    net = networks.read(known)
    np.testing.assert_allclose(net.bandwidth[1, [0, 2, 3]], 2e6, rtol=0.02)
    np.testing.assert_allclose(net.bandwidth[[0, 2, 3], 1], 2e6, rtol=0.02)
    assert net.bandwidth[0, 2] == pytest.approx(10e6)
    assert net.hosts[1].egress == pytest.approx(2e6, rel=0.02)
    assert path.read_bytes() == before
    assert len(failing) == (0 if caution is OFF else 1)


def test_the_copy_stays_as_long_as_the_forecast_fits_it(path: Path) -> None:
    measured(100, slow, 250 * 3600)
    known = knowledge.network(HOSTS, LAUNCHER, OFF)
    before = known.read_bytes()
    late = time.time() - 249 * 3600
    weather_file.add(NAMES, Entry(late, "sample", {}, {("n1", "n0"): 2.1e6}))
    assert knowledge.network(HOSTS, LAUNCHER, OFF) == known
    assert known.read_bytes() == before
    measured(100, lambda _: 5e6, 125 * 3600)
    assert knowledge.network(HOSTS, LAUNCHER, OFF) == known
    assert networks.read(known).bandwidth[1, 0] == pytest.approx(5e6, rel=0.1)
    measured(100, lambda _: 10e6)
    assert knowledge.network(HOSTS, LAUNCHER, OFF) == path


def test_the_copy_is_made_anew_in_its_place_when_the_file_was(path: Path) -> None:
    measured(100, slow)
    known = knowledge.network(HOSTS, LAUNCHER, OFF)
    anew = networks.read(path)
    anew.latency *= 2  # which no forecast contradicts
    networks.write(anew, path)
    os.utime(known, (time.time() - 60,) * 2)
    assert knowledge.network(HOSTS, LAUNCHER, OFF) == known
    assert networks.read(known).latency[1, 0] == anew.latency[1, 0]
    assert {*path.parent.iterdir()} == {path, known}


def test_a_forecast_that_is_not_sure_changes_nothing(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(suspicion.ENOUGH - 1, slow)
    assert knowledge.network(HOSTS, LAUNCHER, OFF) == path
    measured(192, lambda noise: 6e6 * math.exp(noise.uniform(-1, 1)))
    assert knowledge.network(HOSTS, LAUNCHER, OFF) == path
    assert "planning for its forecast" not in capsys.readouterr().err


def test_forecasts_may_need_a_number_of_values() -> None:
    measured(3, slow)
    weather_file.add(NAMES, Entry(time.time(), "sample", {}, {("n1", "n0"): 2e6}))
    history = weather_file.load(NAMES)
    assert {*drift.known(history, 0, least=4).bandwidth} == {("n1", "n0")}
    assert len(drift.known(history, 0, least=3).bandwidth) == 12
    assert {*drift.known(history, time.time() - 3600, least=2).bandwidth} == set()


def test_suspicions_need_forecasts_only_where_the_last_value_is_off(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(3, slow)
    forecasts: list[Series] = []
    forecast = Series.forecast

    def counted(series: Series, at: float) -> Forecast:
        forecasts.append(series)
        return forecast(series, at)

    monkeypatch.setattr(Series, "forecast", counted)
    found = suspicion.suspicious(networks.read(path), weather_file.load(NAMES), USUAL.threshold)
    assert {*found} == {(a, b) for a in range(4) for b in range(4) if a != b and 1 in (a, b)}
    assert len(forecasts) == len(found)


def test_a_network_that_was_heard_of_lately_is_used_as_it_is(
    path: Path, failing: list[int]
) -> None:
    measured(192, lambda _: 10e6, 60 - 3600)
    assert knowledge.network(HOSTS, LAUNCHER) == path
    assert failing == []
