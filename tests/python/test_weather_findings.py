"""What a history tells: changes of pairs, hosts, trunks and sites, and the slowest host by hour."""

import random
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest

from thalweg import network as networks
from thalweg import weather_findings, weather_text
from thalweg.network import Network, Trunk
from thalweg.weather import Entry, History, Pair
from thalweg.weather_findings import JointChange

HOUR = 3600
BEGIN = 86_400 * 20_000
NAMES = [f"n{at}" for at in range(8)]
ALL = [(a, b) for a in NAMES for b in NAMES if a != b]
SPAN = "n3 is slowest at 12 to 16 h (UTC)"

Factor = Callable[[Pair, int], float]
"""A pair's value over the usual one, at an hour since the beginning."""


def history(
    days: int,
    factor: Factor,
    chosen: Callable[[int], Iterable[Pair]],
    latency: Factor | None = None,
) -> History:
    """A measurement each hour, as samples have it: latency in both directions, bandwidth in one."""
    noise = random.Random(1)
    entries = []
    for hour in range(24 * days):
        pairs = list(chosen(hour))
        both = dict.fromkeys(pairs + [(b, a) for a, b in pairs])
        entries.append(
            Entry(
                BEGIN + HOUR * hour + 60, "sample",
                {
                    pair: 1e-3 * noise.uniform(0.98, 1.02) * (latency(pair, hour) if latency else 1)
                    for pair in both
                },
                {pair: 1e7 * noise.uniform(0.98, 1.02) * factor(pair, hour) for pair in pairs},
            )
        )  # fmt: skip
    return History(NAMES, entries)


def all_pairs(_: int) -> Iterable[Pair]:
    return ALL


def eight_pairs(hour: int) -> Iterable[Pair]:
    return random.Random(hour).sample(ALL, 8)


def in_the_afternoon(value: float) -> Factor:
    """A daily course of n3."""
    return lambda pair, hour: value if "n3" in pair and 12 <= hour % 24 < 16 else 1


def steady(_: Pair, __: int) -> float:
    return 1


def told(known: History, net: Network | None = None) -> list[str]:
    parts = weather_text.parts(known, weather_findings.lines(known, known.entries[-1].at), net)
    return [part for part in parts if isinstance(part, str)][2:]


def joined(known: History, net: Network | None = None) -> Sequence[JointChange]:
    found = weather_findings.lines(known, known.entries[-1].at)
    return weather_findings.joint(weather_findings.changed(found), found, net)


# The slowest host by hour ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "value"), [(eight_pairs, 0.2), (all_pairs, 0.5), (eight_pairs, 0.5)]
)
def test_the_slowest_host_of_an_hour_is_named_where_latency_stays(
    chosen: Callable[[int], Iterable[Pair]], value: float
) -> None:
    lines = [line for line in told(history(14, in_the_afternoon(value), chosen)) if "slow" in line]
    assert lines == [f"{SPAN}: its bandwidth is {value} times its usual"]


def test_latency_is_judged_apart() -> None:
    known = history(7, steady, all_pairs, in_the_afternoon(3))
    assert f"{SPAN}: its latency is 3 times its usual" in told(known)
    (*rows,) = weather_text.as_json(known, weather_findings.lines(known, 0))["worst"]
    assert {(row["hour"], row["host"], row["quantity"]) for row in rows} == {
        (hour, "n3", "latency") for hour in range(12, 16)
    }
    assert rows[0]["factor"] == pytest.approx(3, rel=0.05)


def test_hours_are_joined_over_midnight_and_by_how_slow_they_are() -> None:
    slow = {22: 0.8, 23: 0.5, 0: 0.4, 1: 0.8, 9: 0.5}
    known = history(
        7, lambda pair, hour: slow.get(hour % 24, 1) if "n3" in pair else 1, all_pairs
    )  # fmt: skip
    assert [line for line in told(known) if "slowest" in line] == [
        "n3 is slowest at 9 to 10 h (UTC): its bandwidth is 0.5 times its usual",
        "n3 is slowest at 22 to 2 h (UTC): its bandwidth is 0.4 to 0.8 times its usual",
    ]


def test_hosts_that_were_measured_with_each_other_only_are_both_named() -> None:
    known = history(7, in_the_afternoon(0.2), lambda _: [("n2", "n3"), ("n0", "n1")])
    (line,) = [line for line in told(known) if "slowest" in line]
    assert line.startswith("the egress of n2 or the ingress of n3 is slowest at 12 to 16 h")
    both = history(7, in_the_afternoon(0.2), lambda _: [("n2", "n3"), ("n3", "n2")])
    (line,) = [line for line in told(both) if "slowest" in line]
    assert line.startswith("n2 or n3 is slowest at 12 to 16 h")


@pytest.mark.parametrize("hosts", [NAMES[1:4], NAMES])
@pytest.mark.parametrize(("end", "name"), [(0, "egress"), (1, "ingress")])
def test_outgoing_and_incoming_pairs_are_judged_apart(
    hosts: Sequence[str], end: int, name: str
) -> None:
    pairs = [pair for pair in ALL if {*pair} <= {*hosts}]

    def factor(pair: Pair, hour: int) -> float:
        return 0.5 if pair[end] == "n3" and 12 <= hour % 24 < 16 else 1

    known = history(7, factor, lambda _: pairs)
    assert [line for line in told(known) if "slowest" in line] == [
        f"the {name} of {SPAN}: its bandwidth is 0.5 times its usual"
    ]
    rows = weather_text.as_json(known, weather_findings.lines(known, 0))["worst"]
    assert {row["host"] for row in rows} == {"n3"}


def test_an_hour_that_was_slow_on_few_days_is_not_named() -> None:
    known = history(2, in_the_afternoon(0.2), all_pairs)
    assert not [line for line in told(known) if "slowest" in line]
    once = history(7, lambda pair, hour: 0.2 if "n3" in pair and hour == 60 else 1, all_pairs)
    assert not [line for line in told(once) if "slowest" in line]


def test_a_host_that_has_become_slow_for_good_is_not_slow_at_an_hour() -> None:
    known = history(10, lambda pair, hour: 0.3 if "n3" in pair and hour >= 138 else 1, all_pairs)
    assert not [line for line in told(known) if "slowest" in line]


# Changes -----------------------------------------------------------------------------------------


def test_a_change_of_a_pair_is_told_with_its_time() -> None:
    known = history(2, lambda _, hour: 4 if hour >= 30 else 1, lambda _: [("n0", "n1")])
    (change,) = weather_findings.changed(weather_findings.lines(known, 2e9))
    assert (change.at, change.line.pair, change.lasting) == (
        BEGIN + 30 * HOUR + 60, ("n0", "n1"), True,
    )  # fmt: skip
    assert (change.before, change.after) == pytest.approx((1e7, 4e7), rel=0.01)
    (line,) = [line for line in told(known) if "changed" in line]
    assert line.startswith("2024-10-05 06:01: bandwidth from n0 to n1 changed from ")


@pytest.mark.parametrize("chosen", [all_pairs, eight_pairs])
def test_a_lasting_change_of_a_host_is_shown_before_a_daily_course(
    chosen: Callable[[int], Iterable[Pair]],
) -> None:
    daily = in_the_afternoon(0.5)
    known = history(
        14, lambda p, hour: daily(p, hour) * (0.4 if "n1" in p and hour >= 245 else 1), chosen
    )
    lines = [line for line in told(known) if "changed" in line]
    assert any("bandwidth of all pairs of n1 changed to 0.4 times" in line for line in lines)
    if chosen is all_pairs:
        assert lines[0].startswith("2024-10-14 05:01")
        assert [line.split("changed")[0][-3:-1] for line in lines] == ["n1", "n3", "n3"]
        assert all("the last of 14 times since 2024-10-04 1" in line for line in lines[1:])


@pytest.mark.parametrize(
    ("ends", "name"),
    [((0,), "of the egress of n1"), ((1,), "of the ingress of n1"), ((0, 1), "of all pairs of n1")],
)
def test_changes_of_one_host_are_one(ends: tuple[int, ...], name: str) -> None:
    def factor(pair: Pair, hour: int) -> float:
        return 0.4 if hour >= 30 and any(pair[end] == "n1" for end in ends) else 1

    (change,) = joined(history(3, factor, all_pairs))
    assert (change.where, len(change.changes)) == (name, 7 * len(ends))


def test_changes_of_two_hosts_at_once_and_of_some_pairs_are_told_apart() -> None:
    def hosts(pair: Pair, hour: int) -> float:
        return 0.4 if hour >= 30 and {"n1", "n5"} & set(pair) else 1

    def some(pair: Pair, hour: int) -> float:
        return 0.4 if hour >= 30 and pair in (("n1", "n2"), ("n1", "n3"), ("n6", "n7")) else 1

    assert {change.where for change in joined(history(3, hosts, all_pairs))} == {
        "of all pairs of n1", "of all pairs of n5",
    }  # fmt: skip
    assert {change.where for change in joined(history(3, some, all_pairs))} == {
        "of 2 of the 7 pairs from n1", "from n6 to n7",
    }  # fmt: skip


@pytest.mark.parametrize("declared", ["trunk", "sites", "nothing"])
def test_changes_over_a_trunk_or_between_sites_are_one(declared: str) -> None:
    net = networks.even_network(8, 1e-3, 1e7)
    net.hosts = [networks.Host(name, 1e7, 1e7) for name in NAMES]
    if declared != "nothing":
        net.sites = [[0, 1, 2, 3], [4, 5, 6, 7]]
    if declared == "trunk":
        net.trunks = [Trunk("west->east", [0, 1, 2, 3], [4, 5, 6, 7], 2e7)]

    def factor(pair: Pair, hour: int) -> float:
        return 0.4 if hour >= 30 and pair[0] < "n4" <= pair[1] else 1

    places = {change.where for change in joined(history(3, factor, all_pairs), net)}
    assert (
        places
        == {
            "trunk": {"of all pairs over trunk west->east"},
            "sites": {"of all pairs from the site of n0 to that of n4"},
            "nothing": {f"of 4 of the 7 pairs from n{at}" for at in range(4)},
        }[declared]
    )


def test_what_is_left_out_is_of_least_weight_and_counted() -> None:
    hours = np.linspace(20, 700, 28)
    pairs = ALL[:28]
    begins = dict(zip(pairs, hours, strict=True))
    size = {pair: 0.5 if at % 7 else 0.1 for at, pair in enumerate(pairs)}

    def factor(pair: Pair, hour: int) -> float:
        return size[pair] if hour >= begins[pair] else 1

    lines = [line for line in told(history(32, factor, lambda _: pairs)) if "chang" in line]
    assert len(lines) == weather_text.MOST_ROWS + 1
    assert lines[-1] == "4 more changes of less weight: --json has all."
    assert sum(" to 7.9" in line or " to 8" in line for line in lines) == 4
    assert lines[:-1] == sorted(lines[:-1], reverse=True)


def test_an_outage_passes_and_a_second_one_that_stays_lasts() -> None:
    def factor(_: Pair, hour: int) -> float:
        return 0.2 if 50 <= hour < 65 or hour >= 75 else 1

    known = history(6, factor, lambda _: [("n0", "n1")])
    changes = weather_findings.changed(weather_findings.lines(known, 2e9))
    assert [change.lasting for change in changes] == [True, False, False]
