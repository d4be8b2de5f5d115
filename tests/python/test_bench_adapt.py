"""Plans for a wrong network: the wrong files, and the page from invented samples."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from bench import adapt
from bench.adapt_page import FASTER, SPREAD, contents, right, whole
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
        assert ratio == pytest.approx(FASTER)
        assert net.latency == pytest.approx(latency / FASTER)
    else:
        assert 1 / SPREAD <= ratio.min() < 0.5 and 2 < ratio.max() <= SPREAD


def part(times: Mapping[str, float], dilation: float = 4) -> Part:
    """One wrong file's runs; of one that is invalid the time is nonsense, of a failed one None."""
    samples: list[dict[str, Any]] = []
    for variant, time in times.items():
        races = [{"winner": native}, {"winner": "plan"}] if "race" in variant else []
        samples += [{"variant": variant, "time": time, "invalid": [], "races": races}] * 3
        samples.append({"variant": variant, "time": 1e-9, "invalid": ["late"], "races": races})
        samples.append({"variant": variant, "time": None, "invalid": ["failed: no reason"]})
    labels = {
        "scenario": "cloud", "build": "openmpi-4.1", "bytes": 32_768, "dilation": dilation,
    }  # fmt: skip
    return Part(labels, {}, samples, "2026-11-30", "0" * 40)


NAME = "names permuted"


@pytest.mark.parametrize(
    ("racing", "found"),
    [
        (2.30, ["1.05x", "<= 1.02x", "MISSED", "1.15x", "3 of 6"]),
        (2.24, ["1.02x", "<= 1.02x", "yes", "1.12x", "3 of 6"]),
    ],
)
def test_a_race_may_cost_two_per_cent(racing: float, found: list[str]) -> None:
    sums = {native: 4.0, right: 2.0, f"{NAME}, no race": 2.2, f"{NAME}, race": racing}
    table, _ = contents([part(sums)])
    (row,) = table.rows
    assert row[3] == NAME
    assert row[8:] == found
    assert "8 of 20" in table.notes[-1]  # invalid and failed


def commands(alone: float, knowing: float, wrong: float) -> list[Part]:
    """Whole commands of which 1 s is the network's time, by what they take in total."""
    totals = {native: alone, right: knowing, NAME: wrong}
    sums = {f"{NAME}, {how}": 1.0 for how in ("race", "no race")}
    return [
        part(sums | {f"{file}, {whole}": total - 1 + dilation for file, total in totals.items()},
             dilation)
        for dilation in (8, 4)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("alone", "wrong", "found"),
    [
        (4.0, 3.3, ["1.10x", "<= 1.2x", "yes"]),
        (4.0, 3.75, ["1.25x", "<= 1.2x", "MISSED"]),
        (2.5, 3.3, ["1.32x", "<= 1.2x", "MISSED"]),  # the launcher alone is the faster
    ],
)
def test_work_of_this_machine_counts_undivided(
    alone: float, wrong: float, found: list[str]
) -> None:
    _, table = contents(commands(alone, 3.0, wrong))
    (row,) = table.rows
    assert row[10:] == found
    assert row[7:10] == [f"{total - 1:.2f} s" for total in (alone, 3.0, wrong)]
    assert row[5] == "3.00 s"
