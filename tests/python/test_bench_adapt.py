"""Plans for a wrong network: the wrong files, and the page from invented samples."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from bench import adapt
from bench.page import Part
from bench.samples import native
from thalweg.lab import scenario
from thalweg.network import validate


@pytest.mark.parametrize("name", adapt.wrong)
@pytest.mark.parametrize("of", ["cloud", "two-sites"])
def test_a_wrong_file_is_a_network_of_the_same_hosts(name: str, of: str) -> None:
    net = scenario.find(of).network
    names = [host.name for host in net.hosts]
    latency, bandwidth = net.latency.copy(), net.bandwidth.copy()
    adapt.wrong[name](net, 1)
    validate(net)
    assert sorted(host.name for host in net.hosts) == sorted(names)
    assert ([host.name for host in net.hosts] == names) == (name != "names permuted")
    apart = ~np.eye(len(names), dtype=bool)
    if name == "names permuted":
        assert (net.bandwidth[apart] == bandwidth[apart]).all()
        return
    ratio = net.bandwidth[apart] / bandwidth[apart]
    if name == "ten times too fast":
        assert ratio == pytest.approx(adapt.FASTER)
        assert net.latency == pytest.approx(latency / adapt.FASTER)
    else:
        assert 1 / adapt.SPREAD <= ratio.min() < 0.5 and 2 < ratio.max() <= adapt.SPREAD


def part(times: Mapping[str, float]) -> Part:
    """One wrong file's runs; of one that is invalid the time is nonsense."""
    samples: list[dict[str, Any]] = []
    for variant, time in times.items():
        races = [{"winner": native}, {"winner": "plan"}] if "race" in variant else []
        samples += [{"variant": variant, "time": time, "invalid": [], "races": races}] * 3
        samples.append({"variant": variant, "time": 1e-9, "invalid": ["late"], "races": races})
    labels = {"scenario": "cloud", "build": "openmpi-4.1", "bytes": 32_768}
    return Part(labels, {"dilation": 4}, samples, "2026-11-23", "0" * 40)


def test_a_row_compares_with_the_right_file() -> None:
    name = "names permuted"
    times = {
        native: 4.0, adapt.right: 2.0, f"{name}, no race": 6.0, f"{name}, race": 2.2,
        f"{adapt.right}, thalweg run": 3.0, f"{name}, thalweg run": 3.3,
    }  # fmt: skip
    (table,) = adapt.contents([part(times)])
    (row,) = table.rows
    assert row[3] == name
    assert row[11:] == ["1.10x", "3 of 6", "3.00 s", "3.30 s", "1.10x", "<= 1.2x", "yes"]
    (table,) = adapt.contents([part(times | {f"{name}, thalweg run": 3.75})])
    assert table.rows[0][15:] == ["1.25x", "<= 1.2x", "MISSED"]
    (table,) = adapt.contents([part(times | {native: 2.5})])  # faster than with the right file
    assert table.rows[0][15:] == ["1.32x", "<= 1.2x", "MISSED"]


@pytest.mark.parametrize(
    ("racing", "found"),
    [(2.30, ["1.05x", "<= 1.02x", "MISSED"]), (2.24, ["1.02x", "<= 1.02x", "yes"])],
)
def test_a_race_may_cost_two_per_cent(racing: float, found: list[str]) -> None:
    name = "names permuted"
    times = {
        native: 4.0, adapt.right: 2.0, f"{name}, no race": 2.2, f"{name}, race": racing,
        f"{adapt.right}, thalweg run": 3.0, f"{name}, thalweg run": 3.3,
    }  # fmt: skip
    (table,) = adapt.contents([part(times)])
    assert table.rows[0][8:11] == found
