"""The network that plans followed to, in a file; options of runs with which they can't."""

import time
from pathlib import Path

import pytest
from test_changes import CAUSE, CHANGE

from thalweg import hierarchy, inputs, kept_network, knowledge, weather, weather_file
from thalweg import network as networks
from thalweg.cli import main
from thalweg.errors import UserError
from thalweg.network import Trunk


def test_a_recovery_gives_the_network_back() -> None:
    recovery = CHANGE | {"recovery": True, "causes": [CAUSE | {"factor": 0.3}]}
    net = networks.even_network(4, 0.001, 1e8)
    net.trunks = [Trunk("out", [0, 1], [2, 3], 2e8, 0)]
    before = net.copy()
    kept_network.changed_network(net, [CHANGE])
    assert net != before
    net = before.copy()
    assert kept_network.changed_network(net, [CHANGE, recovery]) == [
        "bandwidth of the egress of host1: 8 times worse",
        "as before the last change of plans",
    ]
    assert net == before


def test_what_several_communicators_found_holds_once() -> None:
    def found(communicator: int, what: str, factor: float) -> dict[str, object]:
        cause = CAUSE | {"what": what, "name": f"{what} of host1", "factor": factor}
        if what == "ingress":
            cause |= {"from": cause["to"], "to": cause["from"]}
        return CHANGE | {"communicator": communicator, "causes": [cause]}

    net = networks.even_network(4, 0.001, 1e8)
    before = net.copy()
    lines = kept_network.changed_network(
        net,
        [
            found(1, "egress", 8),
            found(2, "egress", 8),
            found(3, "egress", 4),
            found(3, "egress", 2),
            found(4, "ingress", 3),
        ],
    )
    assert net.hosts[1].egress == before.hosts[1].egress / 8  # 4 and 2, of the same communicator
    assert net.hosts[1].ingress == before.hosts[1].ingress / 3
    assert net.bandwidth[1, 0] == pytest.approx(1e8 / 8)
    assert net.bandwidth[0, 1] == pytest.approx(1e8 / 3)
    assert len(lines) == 4


def test_an_improvement_leaves_the_network() -> None:
    net = networks.even_network(4, 0.001, 1e8)
    before = net.copy()
    improvement = CHANGE | {"improvement": True, "causes": []}
    assert kept_network.changed_network(net, [improvement]) == []
    assert net == before


def test_a_kept_network_has_what_the_causes_say_and_its_history(tmp_path: Path) -> None:
    net = networks.even_network(4, 0.001, 1e8)
    net.trunks = [Trunk("out", [0, 1], [2, 3], 2e8, 0)]
    net.measured_at = "2026-01-31T12:00:00Z"
    networks.write(net, tmp_path / "before.json")
    trunk = CAUSE | {
        "what": "trunk", "name": "trunk out", "from": ["host0", "host1"], "to": ["host2", "host3"],
    }  # fmt: skip
    later = CHANGE | {
        "quantity": "latency",
        "causes": [CAUSE | {"from": ["host2"], "to": ["host0"]}],
    }
    summary = {
        "changes": [
            CHANGE,
            CHANGE | {"causes": [trunk]},
            later,
            CHANGE | {"outcome": "taken back"},
            CHANGE | {"adopted": 0, "outcome": "nothing better"},
        ]
    }
    ended = time.time()
    source, keep = tmp_path / "before.json", tmp_path / "after.json"
    said = kept_network.what_came_of_it(source, summary, keep, planned=True)
    assert said and said.startswith(f"{keep} is the network with what the run found: ")
    assert said.count(";") == 2  # between three causes
    after = networks.read(keep)
    networks.validate(after)
    assert after.hosts[1].egress == net.hosts[1].egress / 8
    assert after.hosts[1].ingress == net.hosts[1].ingress
    assert after.trunks[0].capacity == 2e8 / 8
    assert after.bandwidth[1, 0] == pytest.approx(1e8 / 8)
    assert after.bandwidth[1, 2] == pytest.approx(1e8 / 64)  # both causes
    assert after.bandwidth[0, 1] == pytest.approx(1e8)
    assert after.latency[2, 0] == pytest.approx(0.003)
    assert after.latency[0, 2] == pytest.approx(0.001)
    assert "a run found: bandwidth of the egress of host1" in after.measured_with
    assert ended < weather.seconds(after.measured_at) <= time.time() + 1


@pytest.mark.usefixtures("own_cache")
def test_what_a_run_found_enters_the_weather(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = networks.even_network(4, 0.001, 1e8)
    net.trunks = [Trunk("out", [0, 1], [2, 3], 2e8, 0)]
    source = tmp_path / "net.json"
    networks.write(net, source)
    names = [f"{host.name}.cluster" for host in net.hosts[:3]]  # the fourth one isn't theirs
    cause = CAUSE | {"from": ["host2"], "to": ["host0"]}
    latency = CHANGE | {"quantity": "latency", "causes": [cause]}
    summary = {"changes": [CHANGE, latency, CHANGE | {"outcome": "taken back"}]}
    kept_network.learn(source, summary, names, 1e9)
    (entry,) = weather_file.load(names).entries
    first, second, third = names
    assert (entry.at, entry.source) == (1e9, "run")
    assert entry.latency == {(third, first): pytest.approx(0.003)}
    slow = pytest.approx(1e8 / 8)
    assert entry.bandwidth == {(second, first): slow, (second, third): slow}
    assert list(entry.ports) == [second]
    assert entry.ports[second][0] == pytest.approx(net.hosts[1].egress / 8)
    assert entry.trunks == {}

    recovery = CHANGE | {"recovery": True, "causes": [CAUSE]}
    improvement = CHANGE | {"improvement": True, "causes": []}
    for nothing in ([CHANGE, recovery], [improvement], [CHANGE | {"adopted": 0}], []):
        kept_network.learn(source, {"changes": nothing}, names, 2e9)
    kept_network.learn(source, None, names, 2e9)
    kept_network.learn(None, summary, names, 2e9)
    assert len(weather_file.load(names).entries) == 1
    assert capsys.readouterr().err == ""

    kept_network.learn(tmp_path / "none.json", summary, names, 2e9)
    networks.write(networks.even_network(1, 0.001, 1e8), source)
    kept_network.learn(source, summary, names, 2e9)
    unread, foreign = capsys.readouterr().err.splitlines()
    assert "the weather doesn't learn what this run found of the network: " in unread
    assert "which --network lacks" in foreign


@pytest.mark.usefixtures("own_cache")
def test_where_the_weather_can_not_be_kept_one_line_says_so(
    tmp_path: Path, own_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = networks.even_network(4, 0.001, 1e8)
    networks.write(net, tmp_path / "net.json")
    names = [host.name for host in net.hosts]
    path = weather_file.location(names)
    path.parent.mkdir(parents=True)
    path.write_text("something else\n")
    for at in (1e9, 2e9):
        kept_network.learn(tmp_path / "net.json", {"changes": [CHANGE]}, names, at)
    (line,) = capsys.readouterr().err.splitlines()
    assert f"weather {path} isn't kept" in line
    assert path.read_text() == "something else\n"
    assert own_cache in path.parents


def test_a_trunk_to_several_sites_keeps_its_capacity_where_one_of_them_is_slower() -> None:
    for to in (1, 2, 3):
        net = networks.even_network(8, 0.001, 1e7)
        names = [host.name for host in net.hosts]
        net.trunks = [
            Trunk("uplink", [0, 1], [2, 3, 4, 5, 6, 7], 2e7, 0),
            Trunk("direct", [0, 1], [2 * to, 2 * to + 1], 2e7, 0),
        ]
        cause = CAUSE | {"what": "sites", "name": "from the site of host0 to that of another one",
                         "from": names[:2], "to": names[2 * to:2 * to + 2]}  # fmt: skip
        kept_network.changed_network(net, [CHANGE | {"causes": [cause]}])
        assert [trunk.capacity for trunk in net.trunks] == [2e7, 2e7 / 8]
        assert net.bandwidth[0, 2 * to] == pytest.approx(1e7 / 8)


def test_the_cause_of_one_trunk_is_not_that_of_another_between_the_same_hosts() -> None:
    net = networks.even_network(4, 0.001, 1e8)
    net.trunks = [Trunk(name, [0, 1], [2, 3], 2e8, 0) for name in ("one", "other")]
    cause = CAUSE | {"what": "trunk", "name": "trunk one", "from": ["host0", "host1"],
                     "to": ["host2", "host3"]}  # fmt: skip
    kept_network.changed_network(net, [CHANGE | {"causes": [cause]}])
    assert [trunk.capacity for trunk in net.trunks] == [2e8 / 8, 2e8]


@pytest.mark.usefixtures("own_cache")
def test_networks_with_too_many_hosts_take_on_no_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = networks.even_network(hierarchy.MOST_HOSTS + 1, 0.001, 1e8)
    source, keep = tmp_path / "net.json", tmp_path / "kept.json"
    networks.write(net, source)
    found = {"changes": [CHANGE]}
    kept_network.learn(source, found, ["host0", "host1"], 1e9)
    why = "the network has 8,193 hosts, and only one of up to 8,192 takes on what a run found of it"
    assert f"the weather doesn't learn what this run found of the network: {why}" in (
        capsys.readouterr().err
    )
    said = kept_network.what_came_of_it(source, found, keep, planned=True)
    assert said == f"{why}: give --network one of the run's own hosts; {keep} isn't written"
    assert not keep.exists()

    nothing = {"changes": [CHANGE | {"outcome": "taken back"}]}
    kept_network.learn(source, nothing, ["host0", "host1"], 1e9)
    assert capsys.readouterr().err == ""
    said = kept_network.what_came_of_it(source, nothing, keep, planned=True)
    assert "is the network as it was" in (said or "")
    assert networks.read(keep) == net


def test_a_network_that_was_measured_quickly_is_kept_as_such(tmp_path: Path) -> None:
    net = networks.even_network(4, 0.001, 1e8)
    net.measured_with = f"a probe{knowledge.QUICKLY}"
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    networks.write(net, before)
    kept_network.what_came_of_it(before, {"changes": [CHANGE]}, after, planned=True)
    assert knowledge.is_quick(networks.read(after))


def test_the_network_of_a_scenario_is_kept(tmp_path: Path) -> None:
    keep = tmp_path / "after.json"
    said = kept_network.what_came_of_it(Path("two-sites"), {}, keep, planned=True)
    assert said and "is the network as it was" in said
    after = networks.read(keep)
    assert networks.to_json(after) == networks.to_json(inputs.network(Path("two-sites")))


def test_a_network_that_can_not_be_read_is_said_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"network none\.json: No such file"):
        kept_network.check_options(
            tmp_path / "kept.json", adapts=True, races=True, recorded=True,
            network=Path("none.json"), has_plan=False,
        )  # fmt: skip


def test_a_network_of_other_hosts_is_refused() -> None:
    with pytest.raises(UserError, match="with a host host1, which --network lacks"):
        kept_network.changed_network(networks.even_network(1, 0.001, 1e8), [CHANGE])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--keep-network", "k.json"], "only with --adapt on"),
        (["--adapt", "on", "--race", "off"], "leave out --race off"),
        (["--adapt", "on", "--race", "off", "--keep-network", "k.json"], "leave out --race off"),
        (
            ["--adapt", "on", "--keep-network", "k.json", "--plan", "p"],
            "name the network that --plan is for, by --network",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *options, "--", "no-such-program"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.mark.parametrize("name", ["THALWEG_RACE", "THALWEG_ADAPT"])
@pytest.mark.parametrize("word", ["", "0", "off", "no", "false"])
def test_an_environment_that_has_it_off_is_named(
    name: str, word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, word)
    assert main(["run", "--adapt", "on", "--", "no-such-program"]) == 2
    assert f"unset {name}" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["1", "on", "yes", "true"])
def test_an_environment_that_has_it_on_is_taken(
    word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THALWEG_RACE", word)
    assert main(["run", "--adapt", "on", "--", "no-such-program"]) == 2
    assert "THALWEG_RACE" not in capsys.readouterr().err


def test_it_is_said_if_nothing_could_follow_the_network(tmp_path: Path) -> None:
    net, keep = tmp_path / "net.json", tmp_path / "kept.json"
    networks.write(networks.even_network(4, 0.001, 1e8), net)
    told = kept_network.what_came_of_it
    native = {"everything_native": "no-plan"}
    for planned, summary, kept, said in (
        (False, None, None, "--adapt on: nothing was planned, so no plans followed the network"),
        (False, None, keep, f"nothing was planned, so no plans followed the network; {keep} isn't"),
        (True, None, None, None),
        (True, None, keep, f"what changed isn't known; {keep} isn't written"),
        (
            True,
            native,
            keep,
            f"everything was native (no-plan), so no plans followed the network; {keep}",
        ),
        (True, {}, None, None),
    ):
        found = told(net, summary, kept, planned=planned)
        assert said in (found or "") if said else found is None
        assert not keep.exists()
    assert told(net, {}, keep, planned=True) == (
        f"{keep} is the network as it was: no plans were kept that follow a change of it"
    )
    assert networks.read(keep) == networks.read(net)
    assert told(net, {"changes": [CHANGE]}, keep, planned=True) == (
        f"{keep} is the network with what the run found: "
        "bandwidth of the egress of host1: 8 times worse"
    )
