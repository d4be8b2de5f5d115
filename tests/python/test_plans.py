"""Plans as Python's users ask for them."""

import ast
import json
import re
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import thalweg
from thalweg import algorithms, network, operations, planner, schedule, units
from thalweg.cli import main
from thalweg.collective import Kind
from thalweg.errors import UserError
from thalweg.explain import WITHOUT_LIBRARY
from thalweg.lab import scenarios
from thalweg.network import Host, MessageCost, NativeTime, Network
from thalweg.schedule import How, Range, Schedule, Transfer

EXAMPLE = Path(__file__).parents[2] / "examples/my_algorithm.py"
GUIDE = Path(__file__).parents[2] / "docs/guide.md"
HOSTS = 6


def six_hosts() -> Network:
    net = network.even_network(HOSTS, 1e-3, 1e7)
    net.hosts = [Host(host.name, 1e7, 1e7) for host in net.hosts]
    net.message_costs = {"openmpi": MessageCost(send=5e-6, receive=5e-6), "mpich": MessageCost()}
    return net


def chain(ranks: int, segments: int = 1) -> Schedule:
    each = [Transfer(rank, rank + 1, rank, How.copy, [Range(0)]) for rank in range(ranks - 1)]
    return Schedule(1, each, segments=segments)


@pytest.mark.parametrize("kind", list(Kind))
def test_every_collective_is_planned(kind: Kind) -> None:
    plan = thalweg.plan(six_hosts(), operations.make(kind.name, "100KB"))
    assert plan.collective.kind is kind
    assert kind.name in repr(plan)
    assert plan.algorithm in plan.explain()
    assert plan.passes[0].pass_ == "candidates"
    if plan.is_native:  # nothing can do it, or nothing better
        with pytest.raises(UserError, match="has no schedule"):
            len(plan.schedule)
        return
    plan.verify()
    assert len(list(plan.schedule)) == len(plan.schedule) > 0
    assert plan.bound <= plan.predicted * (1 + 1e-9)
    assert plan.simulate().time == pytest.approx(plan.predicted, rel=0.05)
    assert plan.candidates[0].algorithm == plan.algorithm


def test_a_plan_says_all_about_itself() -> None:
    bcast = thalweg.Bcast(root=2, nbytes="10MB")
    plan = thalweg.plan(six_hosts(), bcast, algorithm="pipelined-chain")
    assert plan.algorithm == "pipelined-chain"
    assert plan.parameters.segment_size == plan.skeleton.segment_size > 0
    assert plan.schedule.segments == -(-10_000_000 // plan.skeleton.segment_size)
    # What leaves the root within the last latency but one reaches one of the five others only.
    assert plan.bound == pytest.approx(10e6 / 1e7 + (2 - 1 / 5) * 1e-3, rel=1e-4)
    assert "10MB" in plan.bound_reason
    assert plan.critical_path[-1].end == pytest.approx(plan.predicted)
    text = plan.explain()
    assert text.startswith("bcast of 10MB on 6 ranks: pipelined-chain\n")
    for part in ("bound: 1s, set by", "THALWEG_FORCE=bcast=", "slowest", "passes: candidates"):
        assert part in text
    timeline = plan.simulate(timeline=True).timeline
    assert len(timeline) == 5 * plan.schedule.segments


def test_the_network_may_be_given_in_any_form(tmp_path: Path) -> None:
    scenario = scenarios.two_sites()
    path = tmp_path / "net.json"
    path.write_text(json.dumps(scenario["network"]))
    forms: list[Any] = [network.read(path), path, str(path), scenario, scenario["network"]]
    times = [thalweg.plan(each, thalweg.Bcast(nbytes=1000)).predicted for each in forms]
    assert len(set(times)) == 1
    assert thalweg.plan("two-sites", thalweg.Bcast(nbytes=1000)).predicted == times[0]
    with pytest.raises(UserError, match="network no-sites: No such file"):
        thalweg.plan("no-sites", thalweg.Bcast())


def test_ranks_are_placed_as_asked() -> None:
    net = six_hosts()

    def placed(**where: Any) -> list[int]:
        return thalweg.plan(net, thalweg.Bcast(nbytes=8), **where).placement

    assert placed() == [0, 1, 2, 3, 4, 5]
    assert placed(ranks=3) == [0, 1, 2]
    assert placed(ranks=8) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert placed(hosts="host4:2,host1") == [4, 4, 1]
    assert placed(hosts=["host4:2", "host[0-1]"], ranks=3) == [4, 4, 0]
    assert placed(placement=[5, 0, 5]) == placed(placement=["host5", "host0", "host5"]) == [5, 0, 5]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"hosts": "host[1-0]"}, "hosts: the range [1-0] is empty"),
        ({"hosts": "host9"}, "host host9 is not in the network"),
        ({"placement": ["host9"]}, "host host9 is not in the network"),
        ({"placement": [0, 9]}, "placement of rank 1: there is no host number 9"),
        ({"placement": [0], "hosts": "host1"}, "leave out hosts and ranks"),
        ({"placement": []}, "there are no ranks to plan for"),
        ({"library": "other"}, "was measured with mpich, openmpi, not other"),
        ({"algorithm": "rnig"}, 'no algorithm is called "rnig"'),
        ({"algorithm": "ring"}, "ring can't do a bcast"),
        ({"effort": "much"}, "much"),
        ({"seed": -1}, "seed -1: must be from 0"),
        ({"budget": -1}, "-1"),
        ({"budget": "long"}, "long"),
        ({"schedule": chain(5)}, "rank 5 lacks"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UserError) as raised:
        thalweg.plan(six_hosts(), thalweg.Bcast(nbytes=8), **arguments)
    assert complaint in str(raised.value)


def test_efforts_and_seeds_give_the_same_again() -> None:
    search: dict[str, Any] = {"effort": "patient", "seed": 7, "budget": 0.1}
    plans = [thalweg.plan(six_hosts(), thalweg.Bcast(), **search) for _ in range(2)]
    assert plans[0].schedule == plans[1].schedule
    assert thalweg.plan(six_hosts(), thalweg.Bcast(), effort="estimate").predicted > 0


def test_native_has_no_schedule(tmp_path: Path) -> None:
    net = six_hosts()
    net.native_times = [NativeTime("openmpi", "bcast", 1000, 1e-5)]
    plan = thalweg.plan(net, thalweg.Bcast(nbytes=1000), library="openmpi")
    assert plan.is_native
    assert plan.predicted == pytest.approx(1e-5)
    with pytest.raises(UserError, match="has no schedule; name an algorithm"):
        plan.verify()
    assert not thalweg.plan(net, thalweg.Bcast(nbytes=1000), algorithm="binomial").is_native
    plan.save(tmp_path / "native.plan")
    read = planner.from_bytes((tmp_path / "native.plan").read_bytes())
    assert read.tables[0].entries == []


# Schedules of one's own ------------------------------------------------------------------------


def test_a_schedule_of_ones_own_becomes_a_plan(tmp_path: Path) -> None:
    net = six_hosts()
    made = chain(HOSTS, segments=50)
    plan = thalweg.plan(net, thalweg.Bcast(nbytes="1MB"), schedule=made)
    assert plan.algorithm == "listed"
    assert plan.schedule == made
    assert plan.bound < plan.predicted == pytest.approx(plan.simulate().time)
    assert [candidate.algorithm for candidate in plan.candidates] == ["listed", "native"]
    plan.save(tmp_path / "my.plan")
    (table,) = planner.from_bytes((tmp_path / "my.plan").read_bytes()).tables
    assert table.placement == list(range(HOSTS))
    for size in (1, 1_000_000, 1 << 40):
        entry = table.find(Kind.bcast, 0, size)
        assert entry is not None
        assert entry.skeleton == plan.skeleton
    assert table.find(Kind.bcast, 1, 1000) is None
    again = algorithms.expand(Kind.bcast, table.entries[0].skeleton, 1_000_000)
    assert again == made


def test_plans_go_into_a_file_together(tmp_path: Path) -> None:
    net = six_hosts()
    bcasts = [thalweg.plan(net, thalweg.Bcast(root=root)) for root in (3, 1)]
    reduce = thalweg.plan(net, thalweg.Reduce(), algorithm="binomial")
    thalweg.save(tmp_path / "it", [*bcasts, reduce])
    (table,) = planner.from_bytes((tmp_path / "it").read_bytes()).tables
    assert [(e.kind, e.root) for e in table.entries] == [
        (Kind.bcast, 1), (Kind.bcast, 3), (Kind.reduce, 0),
    ]  # fmt: skip
    fewer = thalweg.plan(net, thalweg.Reduce(), ranks=3)
    wrong: list[tuple[Sequence[thalweg.Plan], str]] = [
        ([], "no plan to write"),
        ([reduce, fewer], "same network and placement"),
        ([reduce, reduce], "two plans are for the same collective and root"),
    ]
    for plans, complaint in wrong:
        with pytest.raises(UserError, match=complaint):
            thalweg.save(tmp_path / "it", plans)
    with pytest.raises(UserError, match="no/it: can't be written: No such file"):
        reduce.save(tmp_path / "no/it")


@pytest.mark.parametrize(
    ("operation", "algorithm"),
    [
        (thalweg.Gather(), "flat"),
        (thalweg.Scatter(), "flat"),
        (thalweg.Alltoall(), "pairwise"),
        (thalweg.Barrier(), "dissemination"),
    ],
)
def test_a_plan_serves_calls_whose_sizes_nobody_knows(
    tmp_path: Path, operation: thalweg.Operation, algorithm: str
) -> None:
    plan = thalweg.plan(six_hosts(), operation, algorithm=algorithm)
    plan.save(tmp_path / "it")
    (table,) = planner.from_bytes((tmp_path / "it").read_bytes()).tables
    for size in (0, 1, 10**9):
        found = table.find(plan.collective.kind, 0, size)
        assert found is not None and found.skeleton == plan.skeleton


def test_the_example_is_short_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    body = ast.parse(EXAMPLE.read_text()).body
    (own,) = [node for node in body if getattr(node, "name", "") == "bcast_over_sites"]
    assert own.end_lineno is not None
    assert own.end_lineno - own.lineno < 20
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["it", "two-sites", "-H", "west[0-2],east[0-2]"])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert "thalweg run -n 6 --plan my.plan" in capsys.readouterr().out
    (table,) = planner.from_bytes(Path("my.plan").read_bytes()).tables
    assert [entry.skeleton.algorithm for entry in table.entries] == ["listed"]


@pytest.mark.parametrize("sites", [[[0]], [[2, 0], [1]], [[0, 1, 2], [3, 4], [5]], [[5, 4], [3]]])
def test_the_examples_algorithm_is_right(sites: list[list[int]]) -> None:
    made = runpy.run_path(str(EXAMPLE))["bcast_over_sites"]
    ranks = sum(map(len, sites))
    rank = {old: new for new, old in enumerate(sorted(each for site in sites for each in site))}
    renamed = [[rank[each] for each in site] for site in sites]
    for root in range(ranks):
        bcast = thalweg.Bcast(root).collective(ranks)
        schedule.verify(bcast, made(renamed, root))


def test_the_guides_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("net.json").write_text(json.dumps(scenarios.two_sites()["network"]))
    exec(compile(program, GUIDE, "exec"), {})
    assert "bcast of 8MB on 16 ranks" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"net.json", "tree.png", "bcast.plan"}


# The command line ------------------------------------------------------------------------------


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    network.write(six_hosts(), tmp_path / "net.json")
    return "net.json"


def shown(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_plan_writes_what_is_asked(net: str, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--draw", "it.svg", "--export", "it.json", "-o", "it.plan"]
    found = shown(["plan", net, "bcast", "8MB", "--root", "3", *files], capsys)
    assert found["files"] == ["it.svg", "it.json", "it.plan"]
    assert (found["collective"], found["size"], found["root"]) == ("bcast", 8_000_000, 3)
    assert found == shown(
        ["plan", net, "--collective", "bcast", "--size", "8MB", "--root", "3", *files], capsys
    )
    collective, made = schedule.read("it.json")
    schedule.verify(collective, made)
    assert "<svg" in Path("it.svg").read_text()
    given = shown(["plan", net, "--schedule", "it.json", "-o", "given.plan"], capsys)
    assert given["files"] == ["given.plan"]
    (plan,) = given["plans"]
    assert (plan["algorithm"], plan["root"]) == ("listed", 3)
    assert plan["predicted"] == pytest.approx(found["predicted"], rel=0.01)


def test_several_schedules_make_a_file(net: str, capsys: pytest.CaptureFixture[str]) -> None:
    for root in ("0", "1"):
        assert main(["plan", net, "reduce", "1MB", "--root", root, "--export", f"{root}.json"]) == 0
    assert main(["plan", net, "--schedule", "0.json", "--schedule", "1.json", "-o", "both"]) == 0
    assert "written to both" in capsys.readouterr().out
    (table,) = planner.from_bytes(Path("both").read_bytes()).tables
    assert [(entry.kind, entry.root) for entry in table.entries] == [
        (Kind.reduce, 0),
        (Kind.reduce, 1),
    ]


def test_native_is_told_in_every_table(net: str, capsys: pytest.CaptureFixture[str]) -> None:
    native = shown(["explain", net, "allreduce", "1MB", "--mpi", "openmpi"], capsys)["plan"][
        "native"
    ]
    assert native["algorithm"] == "openmpi-4.1: rabenseifner"
    assert 0 < native["to_beat"] < 0.95 * native["time"] * (1 - native["uncertainty"]) * 1.001
    assert main(["explain", net, "allreduce", "1MB", "--mpi", "openmpi"]) == 0
    text = capsys.readouterr().out
    assert f"native: {units.time_to_text(native['time'])} ± {native['uncertainty']:.0%}" in text
    assert text.count(native["algorithm"]) >= 2  # in its line, and among the candidates

    document = shown(["plan", net, "--effort", "estimate", "--mpi", "openmpi"], capsys)
    assert document["reason"] is None
    rows = document["entries"]
    assert {row["collective"] for row in rows} == {kind.name for kind in Kind}
    for row in rows:
        assert row["native"]["algorithm"].startswith("openmpi-4.1: ")
        assert row["times"]
        for times in row["times"]:
            assert times["native"] > 0
            if row["algorithm"] == "native":
                assert times["predicted"] == times["native"]
    assert main(["plan", net, "--effort", "estimate", "--mpi", "openmpi"]) == 0
    assert "openmpi-4.1: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("where", "why"),
    [
        (["-n", "1"], "a single rank has nothing to send"),
        (["-H", "host2:4"], "all ranks are on host2"),
    ],
)
def test_it_is_said_that_there_is_nothing_to_plan(
    net: str, where: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.bin"
    asked, why = ["plan", net, *where], f"{why}: nothing to plan, all collectives are native"
    assert main([*asked, "-o", str(file)]) == 0
    assert capsys.readouterr().out.splitlines() == [why, f"written to {file}"]
    assert file.exists()
    document = shown(asked, capsys)
    assert (document["entries"], document["reason"]) == ([], why)
    assert len(document["placement"]) == int(where[1][-1])


@pytest.mark.parametrize(
    "command", [["plan", "bcast", "1KB"], ["plan"], ["explain", "bcast", "1KB"]], ids=" ".join
)
def test_whose_native_times_count_without_a_library_is_said(
    net: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    network.write(network.even_network(HOSTS, 1e-3, 1e7), net)
    name, *collective = command
    asked = [name, net, *collective, "--effort", "estimate"]
    assert main(asked) == 0
    assert capsys.readouterr().out.count(WITHOUT_LIBRARY) == 1
    assert main([*asked, "--mpi", "mpich"]) == 0
    assert WITHOUT_LIBRARY not in capsys.readouterr().out
    assert WITHOUT_LIBRARY not in str(shown(asked, capsys))


def test_plan_takes_an_algorithm(net: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", net, "bcast", "1KB", "--effort", "estimate"]
    for name in ("binomial", "chain", "native"):
        assert shown([*asked, "--algorithm", name], capsys)["algorithm"] == name
    usual = shown(asked, capsys)["algorithm"]
    assert shown([*asked, "--no-wisdom"], capsys)["algorithm"] == usual
    assert shown([*asked, "--algorithm", "binomial", "--write-tree", "it.tree"], capsys)["files"]
    assert shown([*asked, "--tree", "it.tree"], capsys)["algorithm"] == "tree"


def test_explain_all_collectives(net: str, capsys: pytest.CaptureFixture[str]) -> None:
    for kind in Kind:
        size = [] if kind is Kind.barrier else ["64KB"]
        found = shown(["explain", net, kind.name, *size, "--effort", "estimate"], capsys)
        assert found["collective"] == kind.name
        native, plan = found["plan"]["native"], found["plan"]
        if plan["algorithm"] == "native":
            assert plan["predicted"] == native["time"]
        else:
            assert plan["algorithm"] == found["candidates"][0]["algorithm"]
        assert (plan["algorithm"] != "native") == (plan["predicted"] <= native["to_beat"])
    found = shown(["explain", net, "gather", "1KB,2KB,0,0,0,3KB"], capsys)
    assert found["block_sizes"] == [1000, 2000, 0, 0, 0, 3000]


def test_what_isnt_there_cant_be_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(tmp_path / "none.json")]) == 2
    assert "none.json: No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["explain"], "explain what? Name a collective"),
        (["explain", "cast"], '"cast" is not a collective'),
        (["explain", "bcast", "--collective", "reduce"], "bcast and --collective reduce differ"),
        (["explain", "bcast", "1KB", "--root", "6"], "there is no root 6"),
        (["explain", "gather", "1KB,2KB"], "give one for each of the ranks"),
        (["plan", "bcast", "--effort", "much"], "much"),
        (["plan", "bcast", "--budget", "long"], "long"),
        (["plan", "--draw", "it.svg"], "of one collective: name it"),
        (["plan", "bcast", "--draw", "it.gif"], "must end with .svg or .png"),
        (["plan", "--schedule", "none.json"], "schedule none.json: No such file"),
        (["plan", "bcast", "1KB", "--schedule", "it.json"], "leave out SIZE"),
        (["plan", "reduce", "--schedule", "it.json"], "is of a bcast, not of a reduce"),
        (["plan", "-n", "5", "--schedule", "it.json"], "is for 6 ranks, but the hosts have 5"),
        (["plan", "--schedule", "it.json", "--schedule", "it.json", "--draw", "x.svg"], "once"),
        (["plan", "--schedule", "it.json", "--schedule", "it.json", "--write-tree", "t"], "once"),
        (["plan", "--schedule", "bad.json"], "schedule bad.json: step 4, 4 -> 5: register 0"),
    ],
)
def test_wrong_commands_are_refused(
    net: str, arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bcast = thalweg.Bcast(nbytes=1000).collective(HOSTS)
    schedule.write("it.json", bcast, chain(HOSTS))
    each = chain(HOSTS).transfers
    schedule.write("bad.json", bcast, Schedule(1, [*each[:3], each[4]]))
    assert main([arguments[0], net, *arguments[1:]]) == 2
    said = capsys.readouterr().err
    assert complaint in said
