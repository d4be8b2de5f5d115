"""Mapping: placements through the Python API, and `thalweg place`."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from test_record import calls, member, messages, part, write

from thalweg import mapping, network, paths, placement, printable
from thalweg.cli import main
from thalweg.collective import Kind
from thalweg.errors import UserError
from thalweg.mapping import Communication
from thalweg.matrices import Program
from thalweg.network import Network


def couples(ranks: int = 8) -> Communication:
    """Each rank of the first half talks to one of the second."""
    half = ranks // 2
    return mapping.communication(
        ranks, list(range(half)), list(range(half, ranks)), [10] * half, [1e6] * half
    )


def net(hosts: int = 4) -> Network:
    return network.even_network(hosts, 1e-4, 1e8)


def test_options_offer_all_that_the_library_has() -> None:
    assert get_args(mapping.Method) == tuple(mapping.METHODS)
    assert get_args(mapping.Metric) == tuple(mapping.COSTS)


@pytest.mark.skipif(not mapping.has_scotch(), reason="they are by Scotch")
def test_cloudmap_s_halves_are_placements_to_compare_with() -> None:
    """Grouping alone joins the couples; placing drawn groups alone doesn't."""
    intra = mapping.place(net(), couples(), [2] * 4, method="cloudmap-intra", seed=1)
    inter = mapping.place(net(), couples(), [2] * 4, method="cloudmap-inter", seed=1)
    assert intra.traffic.inter_host == 0 < inter.traffic.inter_host
    assert Counter(inter.placement) == Counter(intra.placement)


def test_ranks_that_talk_share_a_host() -> None:
    found = mapping.place(net(), couples(), [2] * 4)
    assert found.traffic.inter_host == 0
    assert found.cost.total == 0
    assert all(found.placement[rank] == found.placement[rank + 4] for rank in range(4))
    block = mapping.place(net(), couples(), [2] * 4, method="block")
    assert block.placement == [0, 0, 1, 1, 2, 2, 3, 3]
    assert block.traffic.comm_time == pytest.approx(4e6 / 1e8)
    # Half of the ranks wait for 1 MB, the others for nothing. Nothing flows back, so that ten
    # messages are in transit together.
    mean = 0.5 ** (1 / 2)
    assert block.cost.pairs == pytest.approx(mean * (1e-4 + 1e6 / 1e8))
    latency = mapping.place(net(), couples(), [2] * 4, method="block", cost="latency")
    assert latency.cost.total == pytest.approx(mean * 10 * 1e-4)


def test_ranks_wait_side_by_side_within_a_phase() -> None:
    def pairs(phase: list[int] | None) -> float:
        matrix = mapping.communication(8, [0, 1], [4, 5], [10, 10], [0, 0], phase)
        return mapping.cost_of(net(2), matrix, [0, 0, 0, 0, 1, 1, 1, 1]).pairs

    one = 1e-4 / 8**0.5
    assert pairs([0, 0]) == pairs(None) == pytest.approx(2**0.5 * one)
    assert pairs([0, 1]) == pytest.approx(2 * one)
    with pytest.raises(UserError, match="from rank 0 to rank 4 is in phase -1"):
        pairs([-1, 0])


def test_the_cost_of_a_placement_made_elsewhere() -> None:
    cost = mapping.cost_of(net(), couples(), [0] * 8)
    assert cost.total == 0
    assert mapping.traffic_of(net(), couples(), [0] * 8).intra_host == 4e6
    with pytest.raises(UserError, match="7 ranks doesn't fit a matrix of 8"):
        mapping.cost_of(net(), couples(), [0] * 7)


def test_a_placement_costs_the_same_however_it_was_found_on_hosts_with_unequal_slots() -> None:
    four = net()
    four.hosts = [network.Host(host.name, math.inf, math.inf) for host in four.hosts]
    for host in range(3):  # The last host, on which no rank may be, is reached much faster.
        four.bandwidth[host, 3] = four.bandwidth[3, host] = 1e10
    calls = [mapping.Call(Kind.alltoall, 10**6, 10.0)]
    slots = [3, 4, 1, 0]
    found = mapping.place(four, couples(), slots, calls=calls)

    def cost(slots: list[int] | None = None) -> mapping.Cost:
        return mapping.cost_of(four, couples(), found.placement, calls=calls, slots=slots)

    assert cost(slots) == found.cost
    assert cost().collectives < found.cost.collectives
    with pytest.raises(UserError, match="4 slots for 8 ranks"):
        cost([1] * 4)
    with pytest.raises(UserError, match="more ranks are placed on it"):
        cost([0, 4, 4, 0])


def test_collectives_are_planned_for_the_usual_placement_too() -> None:
    two_sites = net(4)
    for a, b in ((0, 1), (0, 3), (2, 1), (2, 3)):
        two_sites.latency[a, b] = two_sites.latency[b, a] = 1e-2
    two_sites.sites = [[0, 2], [1, 3]]
    calls = [mapping.Call(Kind.allreduce, 8, 100.0)]
    found = mapping.place(two_sites, couples(), [4] * 4, calls=calls)
    usual = found.usual
    assert found.planned and usual and usual.planned
    assert usual.placement == [0, 0, 0, 0, 1, 1, 1, 1]
    assert found.total == found.planned.total < usual.total
    # What stays unless another placement costs less.
    best = mapping.place(two_sites, couples(), [4] * 4, calls=calls, usual=found.placement)
    assert best.placement == found.placement
    assert best.usual and best.usual.total == best.total == found.total
    alone = mapping.place(two_sites, couples(), [4] * 4, calls=calls, finalists=1)
    assert alone.planned is None and alone.usual is None and alone.total == alone.cost.total
    silent = mapping.place(two_sites, couples(), [4] * 4, usual=[0, 1, 2, 3] * 2)
    assert silent.usual and silent.usual.planned is None and silent.total <= silent.usual.total


def test_calls_of_very_many_ranks_are_not_said_to_be_planned() -> None:
    silent = mapping.communication(200, [], [], [], [])
    calls = [mapping.Call(Kind.bcast, 1_000_000, 300.0)]
    found = placement.place(net(4), Program(silent, calls), [50] * 4, range(4))
    for each in (found.found, *found.others.values()):
        assert each.planned is None and each.total == each.cost.total
    assert all("planned" not in costs for costs in placement.as_json(found)["costs"].values())


def test_pinned_ranks_stay_and_others_follow() -> None:
    found = mapping.place(net(), couples(), [2] * 4, pinned={5: 3})
    assert found.placement[5] == found.placement[1] == 3


def test_the_matrix_of_groups_adds_up_their_ranks() -> None:
    groups = couples().between([0, 0, 0, 0, 1, 1, 2, 2], 3)
    assert groups.sender.tolist() == [0, 0]
    assert groups.receiver.tolist() == [1, 2]
    assert groups.nbytes.tolist() == [2e6, 2e6]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slots": [1] * 4}, "4 slots for 8 ranks"),
        ({"slots": [2] * 3}, "slots of 3 hosts"),
        ({"pinned": {9: 0}}, "rank 9 is pinned"),
        ({"pinned": {0: 9}}, "host number 9"),
        ({"method": "magic"}, '"magic" is unknown'),
        ({"cost": "magic"}, '"magic" is unknown'),
        ({"previous": [0]}, "earlier placement of 1 ranks"),
        ({"migration": math.nan}, "moving a rank"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        mapping.place(net(), couples(), **({"slots": [2] * 4} | change))  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_a_matrix_of_no_numbers_is_refused(bad: float) -> None:
    with pytest.raises(UserError, match=r"from rank 0 to rank 1 has .*at least 0"):
        mapping.communication(2, [0], [1], [1], [bad])


@pytest.mark.parametrize("sender", [0.5, math.nan, "0"])
def test_ranks_of_a_matrix_are_whole_numbers(sender: object) -> None:
    with pytest.raises(UserError, match="ranks that aren't whole numbers"):
        mapping.communication(2, [sender], [1], [1], [1])  # type: ignore[arg-type]
    assert mapping.communication(2, [0.0], [1.0], [1], [1]).ranks == 2


@pytest.mark.parametrize("ranks", [-2, 0])
def test_a_matrix_of_no_ranks_is_refused(ranks: int) -> None:
    with pytest.raises(UserError, match=f"a matrix of {ranks} ranks"):
        mapping.communication(ranks, [0], [1], [1], [1])


def test_a_matrix_of_more_than_can_be_sent_is_refused() -> None:
    with pytest.raises(UserError, match="more than 4611686018427387904 bytes"):
        mapping.communication(2, [0, 0], [1, 1], [1, 1], [1e308, 1e308])
    with pytest.raises(UserError, match="more than 4611686018427387904 messages"):
        mapping.communication(2, [0], [1], [1e19], [1])


def test_ranges_of_ranks() -> None:
    assert printable.ranges([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"


# The command ------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A network file and a matrix of 8 ranks."""
    file = tmp_path / "net.json"
    network.write(net(), file)
    matrix = tmp_path / "matrix.csv"
    pairs = "".join(f"{rank},{rank + 4},10,1000000\n" for rank in range(4))
    matrix.write_text("from,to,messages,bytes\n" + pairs)
    return str(matrix), str(file)


def test_place_shows_hosts_and_costs(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    matrix, net_file = files
    out = tmp_path / "hosts.txt"
    hosts = "host0:2,host1:2,host2:2,host3:2"
    assert main(["place", matrix, "--network", net_file, "-H", hosts, "-o", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "thalweg" in shown and "block" in shown and "interleave" in shown
    by_rank = out.read_text().split()
    assert by_rank[:4] == by_rank[4:]


def test_place_prints_json_and_chooses_hosts(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    matrix, net_file = files
    assert main(["place", matrix, "--network", net_file, "-H", "host1:8,host2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["placement"] == ["host1"] * 8
    assert document["costs"]["thalweg"]["total"] == 0
    assert document["costs"]["interleave"]["total"] > 0


def test_what_goes_between_sites_is_not_known_without_sites(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    matrix, net_file = files
    words = ["place", matrix, "--network", net_file]

    def in_text_and_json() -> tuple[str, object]:
        assert main(words) == 0
        (row,) = (x.split() for x in capsys.readouterr().out.splitlines() if x.startswith("block"))
        assert main([*words, "--json"]) == 0
        return row[-2], json.loads(capsys.readouterr().out)["costs"]["block"]["inter_site"]

    assert in_text_and_json() == ("0B", 0)
    without = net()
    without.sites = []
    network.write(without, Path(net_file))
    assert in_text_and_json() == ("-", None)


def test_slots_may_be_many_more_than_ranks(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    matrix, net_file = files
    words = ["place", matrix, "--network", net_file, "-H", "host2:9999999999,host1:9999999999"]
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["costs"]["thalweg"]["total"] == 0
    assert document["costs"]["block"]["hosts"] == 1


@pytest.mark.parametrize(
    ("method", "expected"),
    [("block", [2, 2, 2, 0, 0, 0, 1, 1]), ("interleave", [2, 0, 1, 2, 0, 1, 2, 0])],
)
def test_launchers_follow_the_order_of_the_list(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], method: str, expected: list[int]
) -> None:
    matrix, net_file = files
    words = ["place", matrix, "--network", net_file, "--method", method, "--json"]
    assert main([*words, "-H", "host2:3,host0:3,host1:3"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["placement"] == [f"host{host}" for host in expected]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-H", "host0:2,host1:2"], "8 ranks need 8 slots, but the hosts give 4"),
        (["-H", "nowhere:8"], "host nowhere is not in the network"),
        (["-H", "host0:8", "--pin", "0=host1"], "1 of the ranks are pinned to host1"),
        (["-H", "host0:1,host1:7", "--pin", "0=host0", "--pin", "1=host0"], "list host0:2 with -H"),
        (["-n", "4"], "is of 8 ranks, not of 4"),
        (["--pin", "x"], "must be a rank and its host"),
        (["--pin", "0="], "must be a rank and its host"),
        (["--pin", "9" * 5000 + "=host0"], "must be a rank and its host"),
        (["--pin", "9=host0"], "rank 9 is pinned, but there are only 8 ranks"),
        (["--pin", "0=nowhere"], "host nowhere is not in the network"),
        (["--migration", "1s"], "needs a run record"),
        (["--pin", "0=host1", "--pin", "0=host2"], "rank 0 is pinned to two hosts"),
        (["--bind", "none.xml"], "topology none.xml: no such file"),
        (["--bind", ""], "must be"),
    ],
)
def test_place_refuses_in_one_line(
    files: tuple[str, str],
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    matrix, net_file = files
    assert main(["place", matrix, "--network", net_file, *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1


def test_a_matrix_has_no_native_collectives(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    matrix, net_file = files
    assert main(["place", matrix, "--network", net_file, "--native", "openmpi-4.1"]) == 0
    assert f"{matrix} has no collectives, so that --native" in capsys.readouterr().err


def test_a_lists_last_ranks_may_be_silent(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    matrix, net_file = files
    assert main(["place", matrix, "--network", net_file, "-n", "10", "--json"]) == 0
    shown = capsys.readouterr()
    assert len(json.loads(shown.out)["placement"]) == 10
    assert "the others of 10 are taken as silent" in " ".join(shown.err.split())


def test_a_recorded_runs_hosts_have_the_slots_that_it_used(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    hosts = [0] * 6 + [1] * 2
    parts = [part(r, 8, messages(r ^ 1, [(1, 1000)]), host=hosts[r]) for r in range(8)]
    write(folder, 8, *parts, hosts=["host3", "host1"], placement=hosts)
    words = ["place", str(folder), "--network", files[1], "--json"]
    assert main(words) == 0
    placed = json.loads(capsys.readouterr().out)["placement"]
    assert Counter(placed) == {"host3": 6, "host1": 2}
    # On a network that hasn't these hosts all are taken.
    write(folder, 8, *parts, hosts=["north", "south"], placement=hosts)
    assert main([*words, "--method", "block"]) == 0
    placed = json.loads(capsys.readouterr().out)["placement"]
    assert placed == ["host0", "host0", "host1", "host1", "host2", "host2", "host3", "host3"]


@pytest.mark.parametrize("called", [False, True])
def test_place_says_which_columns_leave_collectives_out(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], *, called: bool
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    parts = [
        part(r, 2, *([calls(5, 1, 1, [10])] if called else []), member(5, r, 2, 0), host=r)
        for r in range(2)
    ]
    write(folder, 2, *parts, hosts=["host0", "host1"], placement=[0, 1])
    assert main(["place", str(folder), "--network", files[1]]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert ("sent point to point, without collectives" in shown) == called


def test_place_wants_a_network(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["place", files[0]]) == 2
    assert "name one with --network" in capsys.readouterr().err


def test_place_takes_what_the_cache_has_of_the_listed_hosts(
    files: tuple[str, str], own_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix, net_file = files
    words = ["place", matrix, "--json", "-H", "host[0-1]:4"]
    assert main(words) == 2
    remedy = "or measure it: `thalweg probe -H 'host[0-1]:4' -o net.json`"
    assert remedy in " ".join(capsys.readouterr().err.split())
    measured = net(2)
    measured.measured_at = "2026-01-31T12:00:00Z"
    kept = paths.network(["host0", "host1"])
    kept.parent.mkdir(parents=True)
    network.write(measured, kept)
    assert main(words) == 0
    shown = capsys.readouterr()
    assert Counter(json.loads(shown.out)["placement"]) == {"host0": 4, "host1": 4}
    assert f"using the network measured at 2026-01-31T12:00:00Z ({kept})" in shown.err
    assert kept.is_relative_to(own_cache)
    assert main([*words, "--network", net_file]) == 0
    assert "using the network" not in capsys.readouterr().err


def test_without_plans_finalists_are_compared_by_the_librarys_collectives() -> None:
    """Open MPI's recursive doubling pairs ranks at distances 1, 2 and 4: in blocks of two, one of
    three is on the same host."""
    calls = [mapping.Call(Kind.allreduce, 8, 10.0)]
    matrix = mapping.communication(8, [0], [7], [1], [8])
    near, far = [0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 2, 3, 3, 2, 1, 0]
    costs = [
        mapping.cost_of(net(), matrix, each, calls=calls, native="openmpi-4.1").collectives
        for each in (near, far)
    ]
    assert costs == pytest.approx([20e-4, 30e-4], rel=0.01)
    found = mapping.place(net(), matrix, [2] * 4, calls=calls, usual=far, native="openmpi-4.1")
    assert found.usual and found.usual.total == pytest.approx(30e-4, rel=0.05)
    assert found.total == pytest.approx(20e-4, rel=0.05)
