"""A network against a scenario whose truth is known by construction."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bench import compare
from thalweg import network
from thalweg.errors import UserError
from thalweg.lab import scenario
from thalweg.lab.scenario import Scenario
from thalweg.network import Network, Trunk

THREE_SITES = scenario.find("three-sites")
"""Hosts 0..2, 3..7 and 8..15 at 100 Mbit/s, a trunk on each of the six links."""
LAB, HALL, CENTRE = range(3), range(3, 8), range(8, 16)


def changed(change: Callable[[dict[str, Any]], None], truth: Scenario = THREE_SITES) -> Network:
    """The scenario's network as a file would have it, but for a change."""
    document = json.loads(json.dumps(truth.document["network"]))
    change(document)
    return network.from_json(json.dumps(document), "changed")


@pytest.mark.parametrize("name", [*scenario.names(), *(f"drawn-{seed}" for seed in range(5))])
def test_a_scenario_agrees_with_itself(name: str) -> None:
    truth = scenario.find(name)
    hosts = range(len(truth.hosts))
    as_measured = truth.network  # a flow alone also passes the trunks
    as_measured.bandwidth = np.array([[truth.pair_rate(a, b) for b in hosts] for a in hosts])
    found = compare.compare(as_measured, truth)
    assert all(
        compare.within(errors, 1e-6) == 1.0
        for errors in (found.latency, found.bandwidth, found.egress, found.ingress)
    )
    assert not found.missed
    assert not found.false
    assert found.sites_exact in (True, None)


def test_the_share_within_the_tolerance() -> None:
    def slower(document: dict[str, Any]) -> None:
        document["latency"]["matrix"][0][1] *= 1.11
        document["latency"]["matrix"][0][2] *= 1.09
        document["hosts"][5]["egress"] = "80Mbps"
        document["hosts"][6]["ingress"] = None

    found = compare.compare(changed(slower), THREE_SITES)
    assert compare.within(found.latency) == pytest.approx(1 - 1 / 240)
    assert compare.within(found.latency, 0.05) == pytest.approx(1 - 2 / 240)
    assert compare.within(found.egress) == compare.within(found.ingress) == 15 / 16
    assert compare.within(found.bandwidth) == 1


def test_hosts_are_compared_by_name() -> None:
    # Backwards: host i of the file is host 15 - i of the scenario.
    def reverse(document: dict[str, Any]) -> None:
        document["hosts"].reverse()
        for quantity in ("latency", "bandwidth"):
            matrix = np.array(document[quantity]["matrix"], dtype=object)
            document[quantity]["matrix"] = matrix[::-1, ::-1].tolist()

    found = compare.compare(changed(reverse), THREE_SITES)
    assert compare.within(found.latency, 1e-6) == compare.within(found.bandwidth, 1e-6) == 1
    assert len(found.found) == 6
    assert found.sites_exact


def test_other_hosts_are_refused() -> None:
    with pytest.raises(UserError, match="hosts of the scenario three-sites"):
        compare.compare(scenario.find("even").network, THREE_SITES)


def test_bandwidth_is_what_one_flow_gets_alone() -> None:
    # A trunk of 40 Mbit/s limits a single flow, too.
    document = json.loads(json.dumps(THREE_SITES.document))
    document["network"]["trunks"][0]["capacity"] = "40Mbps"
    truth = scenario.parse(document)
    errors = compare.compare(THREE_SITES.network, truth).bandwidth
    assert compare.within(errors) == pytest.approx(1 - 3 * 5 / 240)


def with_trunks(*trunks: Trunk) -> Network:
    net: Network = THREE_SITES.network
    net.trunks = trunks
    return net


def test_trunks_are_equal_if_they_bind_the_same_flows() -> None:
    found = compare.compare(
        with_trunks(
            Trunk("any name", [2, 0, 1], list(HALL), 24e6),  # of lab-to-hall, 25e6
            Trunk("one host less", list(HALL), [0, 1], 15e6),
            Trunk("to all others", list(LAB), [*HALL, *CENTRE], 30e6),
        ),
        THREE_SITES,
    )
    (only,) = found.found
    assert (only.truth.name, only.measured.name) == ("lab-to-hall", "any name")
    assert only.error == pytest.approx(-0.04)
    assert {trunk.name for trunk in found.missed} == {
        "hall-to-lab", "lab-to-centre", "centre-to-lab", "hall-to-centre", "centre-to-hall",
    }  # fmt: skip
    assert {trunk.name for trunk in found.false} == {"one host less", "to all others"}


def test_a_trunk_that_cannot_be_filled_is_neither_missed_nor_false() -> None:
    # In two-sites eight hosts at 100 Mbit/s can't fill 1 Gbit/s.
    truth = scenario.find("two-sites")
    without = changed(lambda document: document.pop("trunks"), truth)
    assert not compare.compare(without, truth).missed
    # Three hosts at 12.5e6 B/s: a trunk of nearly as much binds nothing, one of 0.9 of it does.
    for capacity, false in ((36e6, 0), (33e6, 1)):
        measured = with_trunks(Trunk("within", list(LAB), [8, 9, 10], capacity))
        assert len(compare.compare(measured, THREE_SITES).false) == false


def test_the_narrowest_of_two_trunks_with_the_same_flows_counts() -> None:
    measured = with_trunks(
        Trunk("narrow", list(LAB), list(HALL), 20e6), Trunk("wide", list(LAB), list(HALL), 25e6)
    )
    found = compare.compare(measured, THREE_SITES)
    assert [each.measured.name for each in found.found] == ["narrow"]
    assert not found.false


def test_sites_are_compared_as_sets() -> None:
    def swap(document: dict[str, Any]) -> None:
        document["sites"] = [sorted(site, reverse=True) for site in reversed(document["sites"])]

    def mix(document: dict[str, Any]) -> None:
        lab, hall, centre = document["sites"]
        document["sites"] = [lab[:2], [*hall, lab[2]], centre]

    def forget(document: dict[str, Any]) -> None:
        del document["sites"]

    assert compare.compare(changed(swap), THREE_SITES).sites_exact is True
    assert compare.compare(changed(mix), THREE_SITES).sites_exact is False
    assert compare.compare(changed(forget), THREE_SITES).sites_exact is False
    cloud = scenario.find("cloud")
    assert compare.compare(cloud.network, cloud).sites_exact is None


def test_no_sites_are_one_site() -> None:
    truth = scenario.parse({**scenario.document("even"), "name": "one"})
    document = json.loads(json.dumps(truth.document))
    document["network"]["sites"] = [[host.name for host in truth.hosts]]
    one_site = scenario.parse(document)
    assert compare.compare(truth.network, one_site).sites_exact is True


def test_senders_that_fill_a_trunk() -> None:
    by_name = {trunk.name: trunk.senders for trunk in compare.trunks(THREE_SITES)}
    # 100 Mbit/s each, to 95 %: 200 takes 2; 150 and 120 take 2 as well; 250 takes 3, 400 takes 4.
    assert by_name == {
        "lab-to-hall": 2, "hall-to-lab": 2, "lab-to-centre": 3, "centre-to-lab": 2,
        "hall-to-centre": 3, "centre-to-hall": 4,
    }  # fmt: skip
    assert {trunk.senders for trunk in compare.trunks(scenario.find("wan-2x16"))} == {10}


def test_the_fastest_senders_fill_a_trunk_first() -> None:
    rate = np.array([[0, 0, 4, 1], [0, 0, 2, 3], [0] * 4, [0] * 4], dtype=float)
    flows = frozenset({(0, 2), (0, 3), (1, 2), (1, 3)})
    assert compare.filling(4.0, flows, rate) == 1
    assert compare.filling(4.2, flows, rate) == 1  # 95 % of it is 3.99
    assert compare.filling(5.0, flows, rate) == 2
    assert compare.filling(99.0, flows, rate) == 2


def test_json_names_what_is_wrong() -> None:
    document = compare.compare(with_trunks(), THREE_SITES).to_json()
    assert json.loads(json.dumps(document)) == document
    assert len(document["missed"]) == 6
    assert document["latency"] == 1
