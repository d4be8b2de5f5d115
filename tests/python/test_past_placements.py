"""What runs in each placement took, and what follows for the next one."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from test_past_runs import APP
from test_run_placement import HOSTS, USUAL, net, recorded_partners  # noqa: F401
from test_wisdom import keep

from thalweg import past_placements, record, run_placement, run_placement_text, wisdom
from thalweg.hosts import Host, short_name
from thalweg.network import Network
from thalweg.past_placements import ComparableRuns
from thalweg.run_placement import PlacementChoice

COMPARABLE = ComparableRuns(APP, 4, "mpich")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def other() -> list[str]:
    """A placement that costs what the best one does."""
    return ["west0", "west1", "east1", "east0"]


def ran(net: Network, when: int, seconds: float, hosts: list[str] = USUAL, **more: Any) -> None:  # noqa: F811
    folder = recorded_partners(f"{when:02}0000", hosts=hosts, seconds=seconds, **more)
    past_placements.keep(COMPARABLE, record.read(folder), net)


def chosen(
    net: Network,  # noqa: F811
    comparable: ComparableRuns = COMPARABLE,
    *,
    slots: int = 1,
) -> PlacementChoice:
    listed = [Host(host.name, slots) for host in HOSTS]
    choice = run_placement.choose(net, listed, USUAL, APP)
    assert choice and not choice.objection
    return past_placements.prefer(choice, comparable, net, listed)


def test_a_placement_that_proved_slower_is_not_used_again(net: Network) -> None:  # noqa: F811
    ran(net, 1, 20.0)
    best = list(chosen(net).chosen.hosts)
    assert best != USUAL
    ran(net, 2, 30.0, best, dilation=2)  # 15 s
    assert chosen(net).chosen.hosts == best
    ran(net, 3, 30.0, best)
    assert chosen(net).chosen.hosts == USUAL  # the median of both is more than 20 s
    found = chosen(net)
    assert found.before is None and found.moved == 0
    text = "\n".join(run_placement_text.lines(found))
    assert "stays: runs in it took 20s, in other placements 22.5s" in text
    ran(net, 4, 10.0, best)
    ran(net, 5, 10.0, best)
    assert chosen(net).chosen.hosts == best


def test_the_fastest_placement_stays_where_another_costs_hardly_less(
    net: Network,  # noqa: F811
    other: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    ran(net, 1, 20.0)
    ran(net, 2, 10.0, other)
    found = chosen(net)
    assert found.chosen.hosts == other and not found.objection and found.before
    assert 0 < found.best.total < found.usual.total
    assert "the fastest runs so far, which took 10s" in capsys.readouterr().err
    ran(net, 3, 40.0, other)
    assert chosen(net).chosen.hosts == USUAL


def test_a_placement_that_promises_more_is_tried(net: Network) -> None:  # noqa: F811
    bad = ["west0", "east1", "west1", "east0"]  # partners are at different sites, too
    ran(net, 1, 20.0)
    ran(net, 2, 30.0, bad)
    found = chosen(net)
    assert found.chosen.hosts not in (USUAL, bad)


@pytest.mark.parametrize(("usual", "again"), [(20.0, True), (14.0, False), (None, False)])
def test_a_placement_that_proved_faster_is_used_where_the_cost_is_against_it(
    net: Network,  # noqa: F811
    other: list[str],
    usual: float | None,
    again: bool,
) -> None:
    if usual:
        ran(net, 1, usual)
    ran(net, 2, 14.0, other)
    ran(net, 3, 15.0, other)
    listed = [Host(host.name, 1) for host in HOSTS]
    choice = run_placement.choose(net, listed, USUAL, APP)
    assert choice
    choice = dataclasses.replace(choice, objection="it saves 3 %", before=None)
    found = past_placements.prefer(choice, COMPARABLE, net, listed)
    assert list(found.chosen.hosts) == (other if again else USUAL)
    assert bool(found.before) == again and bool(found.objection) != again


def test_only_runs_that_compare_count(net: Network) -> None:  # noqa: F811
    ran(net, 1, 20.0)
    best = chosen(net).chosen.hosts
    ran(net, 2, 30.0, list(best))
    assert chosen(net).objection
    # Others were told their placement otherwise, or were bound to cores.
    assert not chosen(net, ComparableRuns(APP, 4, "openmpi-4")).objection
    assert not chosen(net, ComparableRuns(APP, 4, "mpich", bound=True)).objection
    assert not chosen(net, ComparableRuns([*APP, "more"], 4, "mpich")).objection
    # Runs were on a network on which placements cost something else.
    (key,) = wisdom.load(wisdom.location())
    for factor in (0.5, 2.0):
        kept = json.loads(wisdom.load(wisdom.location())[key])
        changed = [run | {"cost": run["cost"] * factor} for run in kept]
        keep(wisdom.location(), key, json.dumps(changed).encode())
        assert not chosen(net).objection
        keep(wisdom.location(), key, json.dumps(kept).encode())
        assert chosen(net).objection


def test_programs_are_told_apart_by_their_files(
    net: Network,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    ran(net, 1, 20.0)
    monkeypatch.chdir(tmp_path / "there")
    assert past_placements.load(COMPARABLE) == []
    # Nor has it the runs that an earlier version kept by the words that were typed.
    ((_, value),) = wisdom.load(wisdom.location()).items()
    old = json.dumps({"placements": "149640394ac5438a"}, separators=(",", ":"))
    keep(wisdom.location(), old, value)
    assert past_placements.load(COMPARABLE) == []
    whole = dataclasses.replace(COMPARABLE, program=[str(tmp_path / "here/app"), *APP[1:]])
    assert [run.seconds for run in past_placements.load(whole)] == [20.0]


def test_the_latest_runs_are_kept_by_host_names_without_domains(net: Network) -> None:  # noqa: F811
    for when in range(past_placements.MOST + 2):
        ran(net, when % 24, 1.0 + when, [f"{host}.local" for host in USUAL])
    kept = past_placements.load(COMPARABLE)
    assert len(kept) == past_placements.MOST and kept[0].seconds == 3.0
    assert kept[0].hosts == tuple(short_name(host) for host in USUAL)
    ran(net, 1, 1.0, ["north0", "east0", "west1", "east1"])  # no host of the network
    assert past_placements.load(COMPARABLE) == kept


@pytest.mark.parametrize(
    "damage", [b"{}", b"[1]", b'[{"hosts":["a"],"placement":[0],"seconds":1,"cost":1}]', b"\xff"]
)
def test_what_can_not_be_read_is_forgotten(net: Network, damage: bytes) -> None:  # noqa: F811
    ran(net, 1, 1.0)
    (key,) = wisdom.load(wisdom.location())
    keep(wisdom.location(), key, damage)
    assert past_placements.load(COMPARABLE) == []
