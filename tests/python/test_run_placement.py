"""Where `thalweg run` starts ranks, and what it says of that."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from test_past_runs import APP, recorded
from test_record import messages, part, write
from test_run import launcher  # noqa: F401
from test_wisdom import keep

from thalweg import (
    inputs,
    kept_mapping,
    knowledge,
    launch_files,
    mapping,
    past_runs,
    paths,
    planning,
    preparation,
    programs,
    record,
    recording,
    run_placement,
    run_placement_text,
    wisdom,
)
from thalweg.caution import Caution
from thalweg.cli import main
from thalweg.collective import Kind
from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.kept_mapping import MappingProblem
from thalweg.launcher import Launcher
from thalweg.mapping import Mapping
from thalweg.matrices import Program
from thalweg.network import Host as Site
from thalweg.network import Network
from thalweg.plans import ESTIMATE, NORMAL
from thalweg.preparation import Request
from thalweg.run_placement import PlacementChoice
from thalweg.units import time_to_text

HOSTS = [Host(name) for name in ("west0", "east0", "west1", "east1")]
USUAL = [host.name for host in HOSTS]
# In the launcher's order ranks 0 and 1 are at different sites, and so are 2 and 3.
PARTNERS = "from,to,messages,bytes\n0,1,1000,1e8\n1,0,1000,1e8\n2,3,1000,1e8\n3,2,1000,1e8\n"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def net() -> Network:
    return inputs.network(Path("two-sites"))


@pytest.fixture
def partners(tmp_path: Path) -> Path:
    path = tmp_path / "partners.csv"
    path.write_text(PARTNERS)
    return path


def site(host: str) -> str:
    return host[:4]


def recorded_partners(
    when: str, *, hosts: list[str] = USUAL, dilation: float = 1, receivers: Sequence[int] = (1,),
    sizes: Sequence[tuple[int, int]] = ((1000, 10**8),), **launch: Any,
) -> Path:  # fmt: skip
    """A run of APP on these hosts with the messages of PARTNERS, or to the ranks whose numbers
    differ from the sender's in the bits of `receivers`."""
    made = recording.usual(APP, hosts)
    assert made
    folder = made.rename(made.with_name(f"20260101T{when}-1"))
    sent = [b"".join(messages(rank ^ to, list(sizes)) for to in receivers) for rank in range(4)]
    parts = [part(rank, 4, sent[rank], host=rank) for rank in range(4)]
    return write(
        folder, 4, *parts, hosts=hosts, placement=[0, 1, 2, 3], dilation=dilation,
        launch={"status": 0, "program": APP, "start": when} | launch,
    )  # fmt: skip


@pytest.mark.parametrize("known", [False, True])
def test_a_program_shorter_than_the_measurement_runs_natively(
    launcher: Path,  # noqa: F811
    known: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def measured(*_: object) -> Path:
        raise UserError("the network is measured, or verified")

    monkeypatch.setattr(knowledge, "network", measured)
    request = Request(4, "a0,b0,a1,b1", launcher=str(launcher), place=True)
    if known:
        path = paths.network(["a0", "b0", "a1", "b1"])
        path.parent.mkdir(parents=True)
        path.touch()

    def is_native(request: Request, words: Sequence[str] = APP) -> bool:
        try:
            found = preparation.prepare(request, words)
        except UserError as error:
            assert "measured" in str(error)
            return False
        assert (found.network, found.plan) == (None, None)
        return True

    assert not is_native(request)
    recorded_partners("120000", seconds=knowledge.QUICK_START * 1.1)
    assert not is_native(request)
    recorded_partners("130000", seconds=knowledge.QUICK_START * 0.9)
    assert is_native(request) != known
    assert ("`--start full` measures it" in " ".join(capsys.readouterr().err.split())) != known
    assert not is_native(request, [*APP, "more"])
    assert not is_native(replace(request, caution=Caution(start="full")))
    assert not is_native(replace(request, started_by_user=True))


def test_a_run_that_seems_short_is_recorded_since_it_may_be_long(launcher: Path) -> None:  # noqa: F811
    recorded_partners("120000", seconds=knowledge.QUICK_START * 0.9)
    words = ["run", "-n", "4", "-H", "a0,b0,a1,b1", "--launcher", str(launcher)]
    assert main([*words, "--no-record", "--", *APP]) == 7
    assert len(recording.of_program(APP)) == 1
    assert main([*words, "--", *APP]) == 7
    last, before = recording.of_program(APP)
    assert before.name == "20260101T120000-1"
    assert f"THALWEG_RECORD={last}" in launcher.with_name("arguments").read_text().splitlines()
    assert recording.launch_of(recording.described(last))["status"] == 7


def test_ranks_that_talk_come_to_one_site_and_rank_0_stays(net: Network, partners: Path) -> None:
    choice = run_placement.choose(net, HOSTS, USUAL, APP, partners)
    assert choice and not choice.objection
    chosen = choice.chosen.hosts
    assert chosen[0] == "west0" and sorted(chosen) == sorted(USUAL)
    assert site(chosen[0]) == site(chosen[1]) and site(chosen[2]) == site(chosen[3])
    assert choice.best.total < choice.usual.total
    assert (choice.usual.traffic.inter_site, choice.best.traffic.inter_site) == (4e8, 0)
    assert choice.moved == sum(a != b for a, b in zip(chosen, USUAL, strict=True))
    text = "\n".join(run_placement_text.lines(choice))
    assert f"{choice.moved} of 4 ranks start on another host" in text
    assert "sent point to point between sites" in text and "400MB" in text


def test_what_goes_between_sites_is_not_known_without_sites(net: Network, partners: Path) -> None:
    net.sites = []
    choice = run_placement.choose(net, HOSTS, USUAL, APP, partners)
    assert choice and not choice.objection
    (row,) = (line for line in run_placement_text.lines(choice) if "between sites" in line)
    assert row.split()[-2:] == ["-", "-"]
    shown = run_placement_text.as_json(choice)
    assert shown["launcher"]["inter_site"] is shown["best"]["inter_site"] is None


def test_hosts_are_chosen_where_there_are_more_slots_than_ranks(
    net: Network, partners: Path
) -> None:
    listed = [Host("west0"), Host("east0"), Host("east1"), Host("west1"), Host("west2", 2)]
    choice = run_placement.choose(net, listed, [host.name for host in listed[:4]], APP, partners)
    assert choice and {site(host) for host in choice.chosen.hosts} == {"west"}


def test_ranks_stay_in_blocks_where_the_launcher_needs_that(net: Network, tmp_path: Path) -> None:
    matrix = tmp_path / "mixed.csv"
    pairs = [(0, 3), (1, 6), (2, 5), (4, 7)]
    rows = [f"{a},{b},100,1e8\n{b},{a},100,1e8" for a, b in pairs]
    matrix.write_text("\n".join(["from,to,messages,bytes", *rows]))
    listed = [Host(name, 2) for name in USUAL]
    usual = [name for name in USUAL for _ in range(2)]
    choice = run_placement.choose(net, listed, usual, APP, matrix, in_blocks=True)
    assert choice
    hosts = choice.best.hosts
    changes = sum(a != b for a, b in pairwise(hosts))
    assert changes == len(set(hosts)) - 1


def test_hosts_of_different_slots_are_filled_in_another_order(net: Network, tmp_path: Path) -> None:
    matrix = tmp_path / "first.csv"
    pairs = [(0, 1), (0, 2), (0, 3), (4, 5)]
    rows = [f"{a},{b},10000,1e5\n{b},{a},10000,1e5" for a, b in pairs]
    matrix.write_text("\n".join(["from,to,messages,bytes", *rows]))
    listed = [Host("west0", 1), Host("east0", 2), Host("west1", 3)]
    usual = ["west0"] + ["east0"] * 2 + ["west1"] * 3
    choice = run_placement.choose(net, listed, usual, APP, matrix, in_blocks=True)
    assert choice and not choice.objection
    assert list(choice.best.hosts) == ["west0"] + ["west1"] * 3 + ["east0"] * 2
    told = launch_files.order("mpich-4", listed, choice.best.hosts, tmp_path / "hosts")
    assert list(told.options) == ["-hosts", "west0:1,west1:3,east0:2"]


HALVES = "from,to,messages,bytes\n0,2,100,1e7\n1,3,100,1e7\n0,1,10,1000\n"


def launcher_of_blocks(monkeypatch: pytest.MonkeyPatch) -> Launcher:
    mpich = Launcher(Path("mpiexec"), "mpich", "4.0")
    monkeypatch.setitem(vars(mpich), "form", "mpich-4")
    return mpich


def test_it_is_said_what_the_restriction_to_blocks_costs(
    net: Network, partners: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpich = launcher_of_blocks(monkeypatch)

    def chosen(listed: list[Host], usual: list[str]) -> PlacementChoice:
        found = planning.choose(net, listed, usual, mpich, APP, partners)
        assert found
        return found

    partners.write_text(HALVES)
    listed, usual = [Host("west0", 2), Host("east0", 2)], ["west0"] * 2 + ["east0"] * 2
    choice = chosen(listed, usual)
    assert "saves 0%" in choice.objection
    restriction, objection = run_placement_text.lines(choice)
    assert "so only such blocks are placed: a rank's communication costs " in restriction
    assert "a newer MPICH (-rankmap)" in restriction and "--write mpich-4" in restriction
    assert objection.startswith("the launcher's order stays: ")
    assert run_placement_text.as_json(choice)["restriction"] == restriction
    free = run_placement.choose(net, listed, usual, APP, partners)
    assert free and not free.restriction and not free.objection
    assert f"instead of {time_to_text(free.best.total)}, which" in restriction
    # Where blocks are as good as any other placement there is nothing to say.
    partners.write_text(PARTNERS)
    assert not chosen(listed, usual).restriction
    choice = chosen(HOSTS, USUAL)
    assert not choice.restriction and not choice.objection


def test_only_what_the_launcher_can_be_told_is_chosen(
    net: Network, partners: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpich = Launcher(Path("mpiexec"), "mpich", "4.2")
    monkeypatch.setitem(vars(mpich), "form", "mpich")
    partners.write_text(HALVES)
    listed, usual = [Host("west0", 2), Host("east0", 2)], ["west0"] * 2 + ["east0"] * 2
    free = planning.choose(net, listed, usual, mpich, APP, partners)
    assert free
    file = Path("hosts")
    assert "-rankmap" in launch_files.order("mpich", listed, free.chosen.hosts, file).options
    monkeypatch.setattr(launch_files, "LONGEST", 3)
    with pytest.raises(UserError, match="-rankmap"):
        launch_files.order("mpich", listed, free.chosen.hosts, file)
    told = planning.choose(net, listed, usual, mpich, APP, partners)
    assert told
    assert "-rankmap" not in launch_files.order("mpich", listed, told.chosen.hosts, file).options


@pytest.mark.parametrize(
    ("slow", "stays", "said"),
    [
        ([], False, True),
        (["thalweg"], False, False),
        (["inter-only"], True, True),
        (["inter-only", "thalweg"], True, False),
    ],
)
def test_a_choice_of_blocks_is_weighed_by_its_own_mapping(
    net: Network, monkeypatch: pytest.MonkeyPatch, slow: list[str], stays: bool, said: bool
) -> None:
    recorded_partners("010000", seconds=20.0, receivers=(2, 2, 1), sizes=[(10**4, 10**6)])
    now, place = 0.0, mapping.place

    def timed(*positional: Any, method: str, **named: Any) -> Mapping:
        nonlocal now
        now += 1e6 * (method in slow)
        return place(*positional, method=method, **named)

    monkeypatch.setattr(mapping, "place", timed)
    monkeypatch.setattr("thalweg.planning.time.monotonic", lambda: now)
    listed, usual = [Host(name, 2) for name in USUAL], ["west0"] * 2 + ["east0"] * 2
    choice = planning.choose(net, listed, usual, launcher_of_blocks(monkeypatch), APP, None)
    assert choice and bool(choice.objection) == stays
    assert bool(choice.restriction) == said
    if said:  # by the placement that is chosen
        costs = f"communication costs {time_to_text(choice.chosen.total)} instead of "
        assert costs in choice.restriction


def test_an_earlier_run_gives_the_matrix(net: Network) -> None:
    assert run_placement.choose(net, HOSTS, USUAL, APP) is None
    recorded_partners("010000", seconds=200.0)
    choice = run_placement.choose(net, HOSTS, USUAL, APP)
    assert choice and choice.source == "the run of 010000" and not choice.objection
    assert choice.before and choice.before.description["launch"]["start"] == "010000"
    # Long runs gain too little; in a dilated lab they are shorter than they seem.
    recorded_partners("020000", seconds=1e5)
    choice = run_placement.choose(net, HOSTS, USUAL, APP)
    assert choice and "less than 1%" in choice.objection and choice.chosen is choice.usual
    recorded_partners("030000", seconds=1e5, dilation=1e3)
    choice = run_placement.choose(net, HOSTS, USUAL, APP)
    assert choice and not choice.objection


def test_placing_must_not_take_longer_than_a_run_saves(net: Network, partners: Path) -> None:
    recorded_partners("010000", seconds=200.0)
    choice = run_placement.choose(net, HOSTS, USUAL, APP)
    assert choice and not choice.objection
    gain = choice.usual.total - choice.best.total
    assert run_placement.weigh(choice, APP, gain) is choice
    weighed = run_placement.weigh(choice, APP, 1000 * gain)
    assert weighed.chosen is choice.usual and weighed.before is None
    (line,) = run_placement_text.lines(weighed)
    assert f"take {time_to_text(1000 * gain)}, more than the {time_to_text(gain)} that" in line
    # Runs with other arguments may save more, and of a matrix it isn't known.
    assert run_placement.weigh(choice, [APP[0], "--size=7", "b/c"], 1000 * gain) is choice
    named = run_placement.choose(net, HOSTS, USUAL, APP, partners)
    assert named and run_placement.weigh(named, APP, 1000 * gain) is named
    # Where a lab is dilated, this machine's time passes faster than the network's.
    recorded_partners("020000", seconds=200.0, dilation=2000)
    choice = run_placement.choose(net, HOSTS, USUAL, APP)
    assert choice and run_placement.weigh(choice, APP, 1000 * gain) is choice


@pytest.mark.parametrize(
    ("recorded", "run", "alike"),
    [
        (["/opt/lammps"], ["./lammps"], True),
        (["/opt/lammps"], ["./mine"], False),
        (["python3", "-u", "a/app.py"], ["python3", "-u", "app.py"], True),
        (["python3", "app.py"], ["python3", "mine.py"], False),
        (["python3", "-m", "app"], ["python3", "-m", "mine"], False),
    ],
)
def test_a_named_record_is_weighed_only_if_it_is_of_the_same_program(
    net: Network, recorded: list[str], run: list[str], alike: bool
) -> None:
    folder = recorded_partners("010000", seconds=200.0, program=recorded)
    choice = run_placement.choose(net, HOSTS, USUAL, run, folder)
    assert choice and not choice.objection
    assert bool(run_placement.weigh(choice, run, 1e6).objection) == alike


def test_plans_are_quick_until_the_runs_have_taken_as_long_as_thorough_ones_do(
    net: Network, capsys: pytest.CaptureFixture[str]
) -> None:
    def plan(program: Sequence[str] = APP) -> Path:
        return planning.make_plan(net, USUAL, "mpich", program=program)

    thorough = plan()
    (key,) = [key for key in wisdom.load(wisdom.location()) if '"planning"' in key]
    recorded_partners("010000", seconds=4.0)
    assert plan() == thorough  # which is kept
    wisdom.location().unlink()
    keep(wisdom.location(), key, b"9")
    quick = planning.make_plan(net, USUAL, "mpich", quick=True)
    assert capsys.readouterr().err == ""
    assert plan() == quick != thorough
    assert "quick plans: so far this program is recorded" in capsys.readouterr().err
    assert planning._setting(net, USUAL, "mpich", APP, None).search == ESTIMATE
    assert planning._setting(net, USUAL, "mpich", [*APP, "unrecorded"], None).search == ESTIMATE
    assert planning._setting(net, USUAL, "mpich", (), None).search == NORMAL
    assert planning._setting(net, USUAL, "mpich", APP, quick=False).search == NORMAL
    recorded_partners("020000", seconds=6.0, dilation=10)
    assert plan() == thorough


def test_planning_counts_where_it_is_known_how_long_it_takes(
    net: Network, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded_partners("000000", seconds=900.0)
    recorded_partners("010000", seconds=200.0)
    mpich = Launcher(Path("mpiexec"), "mpich", "4.2")
    monkeypatch.setitem(vars(mpich), "form", "mpich")

    def chosen() -> PlacementChoice:
        found = planning.choose(net, HOSTS, USUAL, mpich, APP, None)
        assert found
        return found

    assert not chosen().objection
    planning.make_plan(net, USUAL, "mpich")
    assert not chosen().objection  # the other placement is planned for as fast
    (key,) = [key for key in wisdom.load(wisdom.location()) if '"planning"' in key]
    keep(wisdom.location(), key, b"1000")
    found = chosen()
    assert found.chosen is found.usual
    said = " ".join(capsys.readouterr().err.split())
    assert "order stays: mapping and planning for another placement take 16.7min, more than" in said
    planning.make_plan(net, found.best.hosts, "mpich")
    assert not chosen().objection  # it is remembered


def test_a_mapping_that_takes_longer_than_ranks_communicate_is_left_out(
    net: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded_partners("000000", seconds=900.0)
    monkeypatch.setattr(kept_mapping, "LEAST_KEPT", -1.0)
    assert run_placement.choose(net, HOSTS, USUAL, APP)
    (key,) = [key for key in wisdom.load(wisdom.location()) if '"mapping"' in key]
    keep(wisdom.location(), key, b"1e6")
    assert run_placement.choose(net, HOSTS, USUAL, APP), "the placement is kept"
    wisdom.location().unlink()
    keep(wisdom.location(), key, b"1e6")
    with pytest.raises(UserError, match=r"^mapping took .* more than the .* that all of a rank's"):
        run_placement.choose(net, HOSTS, USUAL, APP)
    assert json.loads(wisdom.load(wisdom.location())[key]) == 9e5, "it will be tried again"
    larger = ["./app", "--size=200", "in/a.dat"]
    assert run_placement.choose(net, HOSTS, USUAL, larger), "another run may take longer"


def count_mappings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns a list to which each mapping adds its method."""
    place = mapping.place
    methods: list[str] = []

    def counted(*positional: Any, method: str, **named: Any) -> Mapping:
        methods.append(method)
        return place(*positional, method=method, **named)

    monkeypatch.setattr(mapping, "place", counted)
    return methods


def test_a_placement_is_kept_while_nothing_changes_that_it_depends_on(
    net: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods = count_mappings(monkeypatch)
    monkeypatch.setattr(kept_mapping, "LEAST_KEPT", -1.0)

    def chosen(listed: list[Host] = HOSTS) -> PlacementChoice:
        found = run_placement.choose(net, listed, USUAL, APP)
        assert found
        return found

    recorded_partners("010000", seconds=200.0)
    first = chosen()
    recorded_partners("020000", seconds=100.0)  # sends the same
    again = chosen()
    assert len(methods) == 1
    assert (again.best, again.usual) == (first.best, first.usual)
    assert again.best.mapping.method == "thalweg" and not again.objection
    chosen([*HOSTS, Host("west2")])
    chosen([*HOSTS[:3], Host("east1", 2)])
    assert len(methods) == 3
    recorded_partners("030000", seconds=100.0, sizes=[(1000, 10**7)])
    chosen()
    assert len(methods) == 4
    latency = net.latency[0, 1]
    net.latency[0, 1] = 2 * latency
    chosen()
    assert len(methods) == 5
    net.latency[0, 1] = latency
    chosen()
    assert len(methods) == 5
    for count, damage in enumerate((b"{", b"[]", b'{"placement":[0,0,0,99]}'), 6):
        for key in [key for key in wisdom.load(wisdom.location()) if '"mapped"' in key]:
            keep(wisdom.location(), key, damage)
        assert chosen().best.hosts and len(methods) == count


def test_a_placement_that_is_kept_has_its_planned_collectives(
    net: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_mapping, "LEAST_KEPT", -1.0)
    calls = [mapping.Call(Kind.allreduce, 1000, 50.0), mapping.Call(Kind.bcast, 8, 2.0, 1, [1, 2])]
    sent = mapping.communication(4, [0, 1], [1, 0], [1000] * 2, [1e8] * 2)
    slots = [int(host.name in USUAL) for host in net.hosts]
    where = inputs.placement(net, USUAL)
    asked = MappingProblem(net, Program(sent, calls), slots, where, where)
    made = kept_mapping.place(asked)
    assert made.planned and made.usual and made.usual.planned
    monkeypatch.setattr(mapping, "place", None)
    assert kept_mapping.place(asked) == made
    other = replace(asked, program=Program(sent, calls[:1]))
    assert other.key() != asked.key() != replace(asked, method="inter-only").key()


@pytest.mark.parametrize(
    ("seconds", "known", "methods"),
    [
        (20.0, None, ["inter-only", "thalweg"]),
        (1e9, None, ["inter-only"]),  # Not even no communication at all would show.
        (20.0, 1e9, ["inter-only"]),
    ],
)
def test_blocks_are_compared_only_where_it_may_matter(
    net: Network,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    known: float | None,
    methods: list[str],
) -> None:
    recorded_partners("010000", seconds=seconds, receivers=(2, 2, 1), sizes=[(10**4, 10**6)])
    listed, usual = [Host(name, 2) for name in USUAL], ["west0"] * 2 + ["east0"] * 2
    if known:
        sent = run_placement.known_program(APP, 4, None)
        assert sent
        pairs = len(sent.matrix.sender)
        wisdom.keep_seconds_of_mapping("thalweg", 4, len(listed), pairs, known)
    counted = count_mappings(monkeypatch)
    assert planning.choose(net, listed, usual, launcher_of_blocks(monkeypatch), APP, None)
    assert counted == methods


def test_what_gains_nothing_stays_in_the_launchers_order(net: Network, partners: Path) -> None:
    west = [Host(f"west{number}") for number in range(4)]
    names = [host.name for host in west]
    choice = run_placement.choose(net, west, names, APP, partners)
    assert choice and "saves 0% of the communication's cost" in choice.objection
    assert choice.chosen.hosts == names and choice.moved == 0
    (line,) = run_placement_text.lines(choice)
    assert line.startswith("the launcher's order stays: ")
    partners.write_text("from,to,messages,bytes\n3,0,0,0\n")
    choice = run_placement.choose(net, HOSTS, USUAL, APP, partners)
    assert choice and choice.objection == "nothing is known to be sent between hosts"


def test_matrices_that_do_not_fit(net: Network, partners: Path) -> None:
    with pytest.raises(UserError, match="is of 4 ranks, but the run has 3; record a run with -n 3"):
        run_placement.choose(net, HOSTS[:3], USUAL[:3], APP, partners)
    with pytest.raises(UserError, match="host north is not in the network"):
        run_placement.choose(net, [Host("north")], ["north"] * 4, APP, partners)
    mine, other = recorded("010000", APP), recorded("020000", ["/bin/other"])
    script = recorded("030000", ["python3", "a.py"])
    assert run_placement.another_program(partners, APP) == ""
    assert run_placement.another_program(mine, APP) == ""
    assert "the record of another program, /bin/other" in run_placement.another_program(other, APP)
    assert run_placement.another_program(script, ["python3", "b/a.py"]) == ""
    assert "program, a.py: " in run_placement.another_program(script, ["python3", "b.py"])


def test_a_named_record_of_another_wrapped_program_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "a.sh", "b.sh"):
        Path(name).touch(mode=0o755)
    script = recorded("010000", programs.whole(["bash", "a.sh"]))
    said = run_placement.another_program(script, ["bash", "b.sh"])
    assert f"another program, {tmp_path / 'a.sh'}: " in said
    assert run_placement.another_program(script, ["bash", "./a.sh"]) == ""
    plain = recorded("020000", programs.whole(["./a"]))
    assert run_placement.another_program(plain, ["env", "./a"]) == ""
    sorting = recorded("025000", programs.whole(["./a", "sort"]))
    assert "/a: " in run_placement.another_program(sorting, ["./b", "sort"])
    module = recorded("030000", ["python3", "-m", "app"])
    assert "another program, app: " in run_placement.another_program(
        module, ["python3", "-m", "mine"]
    )


def test_the_last_ranks_of_a_list_may_be_silent(
    net: Network, launcher: Path, partners: Path, capfd: pytest.CaptureFixture[str],  # noqa: F811
) -> None:  # fmt: skip
    partners.write_text("from,to,messages,bytes\n0,1,1000,1e8\n1,0,1000,1e8\n")
    choice = run_placement.choose(net, HOSTS, USUAL, APP, partners)
    assert choice and len(choice.chosen.hosts) == 4
    assert run_command(launcher, "--matrix", str(partners)) == 7
    said = " ".join(capfd.readouterr().err.split())
    assert "names no rank beyond 1; the others of 4 are taken as silent" in said


def placed_run(choice: PlacementChoice, when: str, **launch: Any) -> record.Run:
    return record.read(recorded_partners(when, hosts=list(choice.chosen.hosts), **launch))


def test_afterwards_the_run_is_compared_with_the_one_in_the_launchers_order(net: Network) -> None:
    recorded_partners("010000", seconds=40.0, dilation=2)
    choice = run_placement.choose(net, HOSTS, USUAL, APP)
    assert choice
    placed = placed_run(choice, "020000", seconds=30.0, dilation=2)
    text = run_placement_text.outcome(choice, placed)
    assert text.startswith("the run took 15s, in the launcher's order 20s (010000): 5s less, ")
    slower = run_placement_text.outcome(choice, placed_run(choice, "030000", seconds=50.0))
    assert "30s more, where a rank's communication was to take" in slower
    assert "collectives took a rank 0s, then 0s" in slower
    # The next one takes its matrix from a run that was placed, and is compared with the same.
    again = run_placement.choose(net, HOSTS, USUAL, APP)
    assert again and again.source == "the run of 030000"
    assert again.before and again.before.description["launch"]["start"] == "010000"
    assert again.best.hosts == choice.best.hosts
    elsewhere = record.read(recorded_partners("040000", seconds=1.0))
    assert "otherwise than it was told" in run_placement_text.outcome(choice, elsewhere)
    assert "isn't recorded" in run_placement_text.outcome(choice, placed_run(choice, "050000"))
    assert past_runs.find(APP, 4)


def run_command(launcher: Path, *options: str) -> int:  # noqa: F811
    hosts = ",".join(USUAL)
    words = ["run", "-n", "4", "-H", hosts, "--network", "two-sites", "--launcher", str(launcher)]
    return main([*words, *options, "--", *APP])


def test_the_launcher_is_told(
    launcher: Path, partners: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str],  # noqa: F811
) -> None:  # fmt: skip
    folder = tmp_path / "record"
    options = ("--matrix", str(partners), "--record", str(folder), "--json")
    assert run_command(launcher, *options) == 7
    result = json.loads(capfd.readouterr().out)
    words = launcher.with_name("arguments").read_text().splitlines()
    hosts = words[words.index("-H") + 1].split(",")
    assert hosts == [f"{name}:1" for name in result["placement"]["hosts"]]
    assert result["placement"]["objection"] is None and result["placement"]["moved"] > 0
    assert result["placement"]["best"]["cost"] < result["placement"]["launcher"]["cost"]
    assert json.loads((folder / "run.json").read_text())["launch"]["order"] == USUAL
    # Without an earlier run, and where it isn't wanted, the order is the launcher's.
    for option, said in ([], "is recorded: the launcher's order stays"), (["--no-placement"], ""):
        assert run_command(launcher, *option) == 7
        words = launcher.with_name("arguments").read_text().splitlines()
        assert words[words.index("-H") + 1] == ",".join(f"{name}:1" for name in USUAL)
        assert said in " ".join(capfd.readouterr().err.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--matrix", "x.csv", "--no-placement"], "leave out one"),
        (["--matrix", "x.csv", "--plan", "x.plan"], "leave out one"),
        (["--matrix", "none.csv"], "matrix none.csv: No such file"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    launcher: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]  # noqa: F811
) -> None:  # fmt: skip
    assert run_command(launcher, *options) == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("openmpi-4", "--mca rmaps seq --hostfile"),
        ("mpich", "mpiexec -f"),
        ("slurm", "srun -m arbitrary -n 4"),
        ("cray", "MPICH_RANK_REORDER_METHOD=3"),
    ],
)
def test_place_writes_what_a_launcher_needs(
    form: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix = tmp_path / "halves.csv"
    matrix.write_text("from,to,messages,bytes\n0,2,9,1e8\n1,3,9,1e8\n0,1,1,10\n")
    words = ["place", str(matrix), "--network", "two-sites", "-H", "west0:2,east0:2"]
    file = tmp_path / "its file"
    assert main([*words, "--write", form, "-o", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "start with: " in printed and said in printed and f"'{file}'" in printed
    first, second = ("west0", "east0") if "west0" in file.read_text()[:5] else ("east0", "west0")
    expected = {
        "openmpi-4": f"{first}\n{second}\n" * 2,
        "mpich": "west0:2\neast0:2\n",
        "slurm": f"{first}\n{second}\n" * 2,
        "cray": "0,2,1,3\n",
    }[form]
    assert file.read_text() in (expected, expected.replace("0,2,1,3", "1,3,0,2"))


def test_place_says_what_form_the_launcher_here_takes(
    launcher: Path, partners: Path, monkeypatch: pytest.MonkeyPatch,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("PATH", f"{launcher.parent}:/usr/bin:/bin")
    words = ["place", str(partners), "--network", "two-sites", "-H", "west0:2,east0:2", "--json"]
    for form in ("openmpi", "openmpi-4"):
        assert main([*words, "--write", form]) == 0
        shown = capsys.readouterr()
        assert json.loads(shown.out)["command"].startswith("mpirun ")
        said = "thalweg: mpirun here is Open MPI 4.1.4: use --write openmpi-4 for it\n"
        assert shown.err.count(said) == (form == "openmpi")


def test_place_needs_no_file_for_ranks_in_blocks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix = tmp_path / "pairs.csv"
    matrix.write_text("from,to,messages,bytes\n0,1,9,1e8\n2,3,9,1e8\n0,2,1,10\n")
    words = ["place", str(matrix), "--network", "two-sites", "-H", "west0:2,east0:2"]
    assert main([*words, "--write", "openmpi", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["file"] is None
    assert result["command"].startswith("mpirun --map-by slot -H ")


def test_the_launcher_is_told_hosts_as_they_are_listed(
    launcher: Path, partners: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str],  # noqa: F811
) -> None:  # fmt: skip
    folder = tmp_path / "record"
    aliases = {name: f"me@{name.upper()}.example.org" for name in USUAL}
    options = ["--network", "two-sites", "--launcher", str(launcher), "--json"]
    options += ["-H", ",".join(aliases.values()), "--record", str(folder)]
    for more in ["--matrix", str(partners)], ["--no-placement"]:
        assert main(["run", *options, *more, "--", *APP]) == 7
        result = json.loads(capfd.readouterr().out)
        words = launcher.with_name("arguments").read_text().splitlines()
        chosen = result["placement"]["hosts"] if result["placement"] else USUAL
        assert words[words.index("-H") + 1] == ",".join(f"{aliases[name]}:1" for name in chosen)
        if result["placement"]:
            assert result["placement"]["moved"] and set(chosen) == set(USUAL)
            assert json.loads((folder / "run.json").read_text())["launch"]["order"] == USUAL


@pytest.mark.parametrize(("first", "second"), [("n1.paris", "n1.lyon"), ("10.0.0.1", "10.0.0.2")])
def test_hosts_with_domains_and_addresses_are_told_apart(
    net: Network, first: str, second: str
) -> None:
    hosts = [first, second, "n2", "n3"]
    other = [second, first, "n2", "n3"]
    run = record.read(recorded_partners("010000", hosts=other, order=hosts))
    assert past_runs.in_order(APP, hosts) is None
    assert past_runs.in_order(APP, other)
    assert past_runs.launcher_order(run) == hosts
    assert not past_runs.is_on(run, [first, first, "n2", "n3"])
    names = dict(zip(USUAL, hosts, strict=True))
    net.hosts = [Site(names.get(host.name, host.name)) for host in net.hosts]
    listed = [Host(name) for name in hosts]
    choice = run_placement.choose(net, listed, hosts, APP)
    assert choice and choice.before is None
    ignored = record.read(recorded_partners("020000", hosts=hosts, seconds=1.0))
    assert choice.moved
    assert "otherwise than it was told" in run_placement_text.outcome(choice, ignored)


def test_a_run_is_on_hosts_with_their_domains_or_without(net: Network) -> None:
    full = [f"{name}.example.org" for name in USUAL]
    recorded_partners("010000", hosts=full, seconds=1.0)
    assert past_runs.in_order(APP, USUAL)
    assert not past_runs.in_order(APP, [f"{name}.example.net" for name in USUAL])


def test_place_writes_hosts_as_they_are_listed(partners: Path, tmp_path: Path) -> None:
    listed = [f"{name}.example.org" for name in USUAL]
    words = ["place", str(partners), "--network", "two-sites", "-H", ",".join(listed)]
    assert main([*words, "-o", str(tmp_path / "hosts.txt")]) == 0
    written = (tmp_path / "hosts.txt").read_text().split()
    assert sorted(written) == sorted(listed) and site(written[0]) == site(written[1])
