"""Which names are of the same host, whatever users call it."""

import socket
import threading
from collections import Counter
from typing import Any

import pytest

from thalweg import host_names, inputs
from thalweg.errors import UserError
from thalweg.network import Host, even_network

pytestmark = pytest.mark.usefixtures("own_cache")

FULL = ["a.example.org", "b.example.org", "c.example.org"]


@pytest.fixture(autouse=True)
def resolver(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Stands for the resolver: the address of each name; returns what it is to know."""
    known: dict[str, str] = {}

    def addresses(name: str, *_: object, **__: object) -> list[Any]:
        if name in known.values():
            return [(0, 0, 0, "", (name, 0))]
        if name not in known:
            raise socket.gaierror
        return [(0, 0, 0, "", (known[name], 0))]

    def names(_: str) -> tuple[str, list[str], list[str]]:
        raise socket.herror

    monkeypatch.setattr(socket, "getaddrinfo", addresses)
    monkeypatch.setattr(socket, "gethostbyaddr", names)
    monkeypatch.setattr(host_names, "_answers", {})
    return known


@pytest.mark.parametrize(
    ("listed", "hosts", "places"),
    [
        (["b", "a", "b"], ["a", "b"], [1, 0, 1]),
        (["B", "A"], ["a", "b"], [1, 0]),
        (["a", "A"], ["A", "a"], [1, 0]),
        (["me@b.example.org", "a.example.org"], FULL, [1, 0]),
        (["me@B", "c"], FULL, [1, 2]),
        (["a", "c", "b"], FULL, [0, 2, 1]),
        (FULL, ["c", "b", "a"], [2, 1, 0]),
        (["n1.lyon", "n1.paris"], ["n1.paris", "n1.lyon"], [1, 0]),
        (["n1.paris.example.org"], ["n1.lyon", "n1.paris"], [1]),
        (["a.cluster", "b.cluster"], ["a.local", "b.local"], [0, 1]),
        (["10.0.0.1", "10.0.0.2"], ["10.0.0.2", "10.0.0.1"], [1, 0]),
        (["[fd00::1]"], ["fd00::1", "fd00::2"], [0]),
    ],
)
def test_names_of_hosts(listed: list[str], hosts: list[str], places: list[int]) -> None:
    assert host_names.places(listed, hosts) == places
    net = even_network(len(hosts), 1e-4, 1e8)
    net.hosts = [Host(name) for name in hosts]
    assert inputs.placement(net, listed) == places
    assert inputs.own_names(net, listed) == [hosts[at] for at in places]


@pytest.mark.parametrize(
    ("listed", "hosts", "said"),
    [
        (["d"], FULL, "host d is not in the network of a.example.org, b.example.org, c.example"),
        (["n1"], ["n1.paris", "n1.lyon"], "host n1 may be n1.paris or n1.lyon of the network"),
        (["b", "me@b"], ["a", "b"], "b and me@b are the same host, b of the network"),
        (["n1.lyon", "n1"], ["n1", "n2"], "n1.lyon and n1 are the same host"),
        (["10.0.0.3"], ["10.0.0.1", "10.0.0.2"], "host 10.0.0.3 is not in the network"),
        (["10"], ["10.0.0.1"], "host 10 is not in the network"),
    ],
)
def test_names_that_tell_no_host(listed: list[str], hosts: list[str], said: str) -> None:
    with pytest.raises(UserError) as error:
        host_names.places(listed, hosts)
    assert said in str(error.value)


def test_addresses_tell_hosts(resolver: dict[str, str]) -> None:
    resolver |= {"a.example.org": "10.0.0.1", "b.example.org": "10.0.0.2", "web": "10.0.0.2"}
    assert host_names.places(["10.0.0.1", "me@web"], FULL[:2]) == [0, 1]


def test_an_address_decides_between_hosts_of_one_short_name(resolver: dict[str, str]) -> None:
    resolver |= {"n1": "10.0.0.2", "n1.paris": "10.0.0.1", "n1.lyon": "10.0.0.2"}
    assert host_names.places(["n1"], ["n1.paris", "n1.lyon"]) == [1]


def test_loopback_is_this_machine(
    resolver: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver |= {"localhost": "127.0.0.1", "other": "127.0.1.1", "this": "127.0.1.1"}
    monkeypatch.setattr(socket, "gethostname", lambda: "this")
    assert host_names.places(["localhost"], ["other", "this"]) == [1]


@pytest.mark.usefixtures("own_cache")
def test_this_machine_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    host_names.remember(["localhost", "127.0.0.1", "alias"], ["this", "this", "other.example.org"])
    assert host_names.recall() == {"alias": "other.example.org"}
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    assert host_names.own(["localhost", "alias"]) == ["another", "other.example.org"]


def test_names_that_an_address_has(
    resolver: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver |= {"web": "10.0.0.2"}
    monkeypatch.setattr(socket, "gethostbyaddr", lambda _: ("x.example.org", ["b"], []))
    assert host_names.places(["web"], FULL) == [1]


def test_a_resolver_that_hangs_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, answered, over = list[str](), list[str](), threading.Event()

    def hang(name: str, *_: object, **__: object) -> list[Any]:
        asked.append(name)
        over.wait(30)
        answered.append(name)
        return []

    monkeypatch.setattr(host_names, "PATIENCE", 0.1)
    monkeypatch.setattr(socket, "getaddrinfo", hang)
    for _ in range(3):
        with pytest.raises(UserError, match="host web is not in the network"):
            host_names.places(["web"], FULL)
    assert max(Counter(asked).values()) == 1
    assert not answered
    over.set()


def test_what_a_probe_saw_is_remembered() -> None:
    host_names.remember(["paris", "lyon", "c"], ["n1", "n2", "c"])
    assert host_names.places(["lyon", "c", "paris"], ["n1", "n2", "c"]) == [1, 2, 0]
    assert host_names.own(["lyon", "c"]) == ["n2", "c"]
    assert host_names.reachable(["n2", "c"]) == ["lyon", "c"]
    # An alias may become another host's.
    host_names.remember(["paris"], ["n3.example.org"])
    assert host_names.places(["paris"], ["n1", "n3"]) == [1]
    host_names.remember(["paris"], ["paris"])
    assert host_names.own(["paris", "lyon"]) == ["paris", "n2"]


def test_what_is_remembered_decides_between_hosts_of_one_short_name() -> None:
    host_names.remember(["n1"], ["n1.lyon"])
    assert host_names.places(["n1"], ["n1.paris", "n1.lyon"]) == [1]


@pytest.mark.parametrize("content", ["", "[]", '{"names": 1}', "\0", "[" * 10**5])
def test_a_damaged_memory_is_none(content: str) -> None:
    host_names.location().parent.mkdir(parents=True)
    host_names.location().write_text(content)
    assert host_names.own(["paris"]) == ["paris"]
    host_names.remember(["paris"], ["n1"])
    assert host_names.own(["paris"]) == ["n1"]


def test_each_lab_has_a_memory_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    host_names.remember(["paris"], ["n1"])
    monkeypatch.setenv("THALWEG_LAB", "two-sites")
    assert host_names.own(["paris"]) == ["paris"]


def test_a_memory_that_can_not_be_written_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    host_names.location().parent.parent.mkdir()
    host_names.location().parent.write_text("")
    host_names.remember(["paris"], ["n1"])
    assert "can't be written" in " ".join(capsys.readouterr().err.split())


def test_matches_ask_nobody_and_leave_out_what_is_not_sure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", None)
    hosts = ["n1.paris", "n1.lyon", "n2"]
    assert host_names.matches(["n1", "n2", "n3"], hosts) == [None, 2, None]
    assert host_names.matches(["n2.lyon", "n2.paris"], hosts) == [None, None]
    assert host_names.matches(["n2.lyon", "n2"], hosts) == [None, 2]
    assert host_names.as_in(["n2.lyon", "n1"], hosts) == ["n2", "n1"]
    assert host_names.matches(["n2.lyon"], ["n2.paris"]) == [0]
    assert host_names.matches(["n2.lyon"], ["n2.paris"], domains=True) == [None]
    assert host_names.matches(["n2.lyon"], ["n2"], domains=True) == [0]


def test_what_another_run_saw_at_the_same_time_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    recall, others = host_names.recall, [True]

    def meanwhile() -> dict[str, str]:
        known = recall()
        if others.pop() if others else False:  # between what this run reads and what it writes
            host_names.remember(["lyon"], ["n2"])
        return known

    monkeypatch.setattr(host_names, "recall", meanwhile)
    host_names.remember(["paris"], ["n1"])
    assert recall() == {"lyon": "n2", "paris": "n1"}
