"""Lists of hosts and hostfiles, as people and launchers write them."""

from pathlib import Path

import pytest

from thalweg import hosts, inputs, network, probe
from thalweg.errors import UserError
from thalweg.hosts import Host, is_this_machine, parse, placement, read, short_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", [Host("a")]),
        ("a,b:2", [Host("a"), Host("b", 2)]),
        (" a , b ", [Host("a"), Host("b")]),
        ("node[0-2]", [Host("node0"), Host("node1"), Host("node2")]),
        ("n[08-10]:4", [Host("n08", 4), Host("n09", 4), Host("n10", 4)]),
        ("n[1,3],m", [Host("n1"), Host("n3"), Host("m")]),
        ("r[0-1]n[0-1]", [Host("r0n0"), Host("r0n1"), Host("r1n0"), Host("r1n1")]),
        ("10.0.0.1:2,me@b.example.org", [Host("10.0.0.1", 2), Host("me@b.example.org")]),
        ("[fe80::1]:2,[::2]", [Host("[fe80::1]", 2), Host("[::2]")]),
        ("a,a,b", [Host("a", 2), Host("b")]),
        ("a:2,b,a:1", [Host("a", 3), Host("b")]),
        ("n[0-2],n1", [Host("n0"), Host("n1", 2), Host("n2")]),
        ("Node1,node2,NODE1:3", [Host("Node1", 4), Host("node2")]),
        ("me@a,you@a,me@A", [Host("me@a", 2), Host("you@a")]),
    ],
)
def test_lists(text: str, expected: list[Host]) -> None:
    assert parse(text) == expected


def test_a_host_may_be_called_as_a_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("node1").write_text("step 1: 3.5 s\n")
    Path("hosts").write_text("other\n")
    with pytest.raises(
        UserError, match=r"node1, line 1.*if you mean the host node1, write it as node1:1"
    ):
        parse("node1")
    assert parse("node1:1") == [Host("node1")]
    assert parse("hosts") == parse("./hosts") == [Host("other")]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "'' is no host"),
        ("a,,b", "'' is no host"),
        ("a:0", "'a:0' is no host"),
        ("a:x", "'a:x' is no host"),
        ("a b", "'a b' is no host"),
        ("n[3-1]", "[3-1] is empty"),
        ("n[a-b]", "'n[a-b]' is no host"),
        ("n[1-]", "[1-]"),
    ],
)
def test_what_is_wrong_is_named(text: str, named: str) -> None:
    with pytest.raises(UserError) as error:
        parse(text)
    assert named in str(error.value)


def test_hostfiles_of_both_libraries(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# two of each\na\n\nb slots=2 max_slots=4\nc:3  # Hydra\nd slots=2\n")
    expected = [Host("a"), Host("b", 2), Host("c", 3), Host("d", 2)]
    assert read(file) == expected
    assert parse(str(file)) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\nb\na\n", [Host("a", 2), Host("b")]),
        ("a slots=2\nA:3\n", [Host("a", 5)]),
        ("a slots = 4\nb slots= 2 max-slots =3\n", [Host("a", 4), Host("b", 2)]),
        ("a slots=4 max_slots=3\n", [Host("a", 3)]),
        ("a slots=2 max-slots=3\nb\nA slots=2\n", [Host("a", 3), Host("b")]),
        ("a slots=2 max_slots=0\n", [Host("a", 2)]),
        ("a max_slots=4\n", [Host("a")]),
        ("a:2 binding=user:0,1 ifname=eth1\n", [Host("a", 2)]),
        ("// two of each\na slots=2 // the first\n# b\n", [Host("a", 2)]),
    ],
)
def test_hostfiles_that_launchers_take(tmp_path: Path, content: str, expected: list[Host]) -> None:
    file = tmp_path / "hosts"
    file.write_text(content)
    assert read(file) == expected


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("a\nb lots=2\n", "line 2: 'lots=2'"),
        ("a\nb slots=2 user = me\n", "line 2: 'user=me'"),
        ("a max_slots=many\n", "line 1: 'max_slots=many'"),
        ("a\nb = 2\n", "line 2: 'b=2' is no host"),
        ("a binding\n", "line 1: 'binding'"),
        ("a\n???\n", "line 2: '???'"),
        ("# nobody\n", "no hosts are listed"),
    ],
)
def test_a_bad_hostfile_is_named_with_its_line(tmp_path: Path, content: str, named: str) -> None:
    file = tmp_path / "hosts"
    file.write_text(content)
    with pytest.raises(UserError) as error:
        read(file)
    assert str(file) in str(error.value)
    assert named in str(error.value)


def test_a_hostfile_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read(tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not a text file"):
        read(tmp_path / "binary")


def test_ranks_fill_the_slots_of_one_host_after_the_other() -> None:
    hosts = [Host("a", 2), Host("b"), Host("c", 3)]
    assert placement(hosts, 4) == ["a", "a", "b", "c"]
    with pytest.raises(UserError, match=r"7 ranks need 7 slots, but the hosts give 6.*such as a:3"):
        placement(hosts, 7)
    with pytest.raises(UserError, match="or 4 slots for each, such as a:4"):
        placement(hosts, 10)


def test_lists_may_be_longer_than_their_hosts_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse(",".join(["a"] * 40_000)) == [Host("a", 40_000)]
    monkeypatch.setattr(hosts, "MOST_RANKS", 3)
    with pytest.raises(UserError, match="more than 3 hosts are listed"):
        parse("n[0-99999999]")
    monkeypatch.setattr(hosts, "MOST_ENTRIES", 5)
    assert parse("a,a,a,a,a") == [Host("a", 5)]
    with pytest.raises(UserError, match="more than 3 hosts are listed"):
        parse("a,a,a,a,a,a")


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("node1", "node1"),
        ("me@Node1.Example.org", "node1"),
        ("10.0.0.1", "10.0.0.1"),
        ("me@10.0.0.1", "10.0.0.1"),
        ("10.example.org", "10"),
        ("[fe80::1]", "[fe80::1]"),
        ("[::FFFF:10.0.0.1]", "[::ffff:10.0.0.1]"),
        ("fe80::1%eth0.2", "fe80::1%eth0.2"),
    ],
)
def test_names_without_domains(name: str, short: str) -> None:
    assert short_name(name) == short


def test_this_machine_is_known_in_capitals(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts._own_names.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr("socket.gethostname", lambda: "Here")
        assert is_this_machine("hERE") and is_this_machine("LOCALHOST")
    hosts._own_names.cache_clear()
    assert not is_this_machine("there")


@pytest.mark.parametrize(
    ("own", "names", "others"),
    [
        ("node02.cluster.local", ["node02", "Node02.Cluster.local", "me@node02"],
         ["node02.other.org", "node0", "node02.cluster"]),
        ("node02", ["node02", "node02.cluster.local"], ["node020", "node2"]),
    ],
)  # fmt: skip
def test_this_machine_is_known_with_and_without_its_domain(
    monkeypatch: pytest.MonkeyPatch, own: str, names: list[str], others: list[str]
) -> None:
    hosts._own_names.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr("socket.gethostname", lambda: own)
        patched.setattr("socket.getfqdn", lambda: own)
        assert all(map(is_this_machine, names))
        assert not any(map(is_this_machine, others))
    hosts._own_names.cache_clear()


def test_this_machine_is_known_by_its_addresses() -> None:
    assert is_this_machine("127.0.0.1")
    assert is_this_machine("me@127.0.0.1")
    assert not is_this_machine("192.0.2.1")  # of no machine (RFC 5737)
    assert not is_this_machine("[2001:db8::1]")


def test_lines_without_slots_are_found(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# a\na slots=2\nb\nc:3\nd slots = 1 # x\n\ne max_slots=4\n")
    assert hosts.without_slots(file) == ["b", "e"]


def test_hosts_that_are_listed_again_after_others_are_found(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("n[0-1]\nb:2\nb\n\nN0 slots=2 # x\n")
    assert hosts.scattered(file) == {"n0"}
    assert hosts.scattered("a,a:2,b,n[0-1]") == set()
    assert hosts.scattered("a,b,n[0-1],A:2,n1") == {"a", "n1"}


def test_hosts_of_a_network_are_known_in_capitals(tmp_path: Path) -> None:
    net = network.even_network(3, 1e-4, 1e8)
    net.hosts = [network.Host(name, 1e8, 1e8) for name in ("Node1", "node2", "node1")]
    assert inputs.placement(net, ["NODE2", "Node1", "node1"]) == [1, 0, 2]
    with pytest.raises(UserError, match="host node3 is not in the network"):
        inputs.placement(net, ["node3"])
    network.write(net, file := tmp_path / "net.json")
    assert probe.in_order_of(file, [Host("node1"), Host("Node1")]) == [Host("Node1"), Host("node1")]
    net.hosts = [*net.hosts[:2], network.Host("node3", 1e8, 1e8)]
    network.write(net, file)
    listed = [Host("new"), Host("NODE2", 2), Host("node1")]
    assert probe.in_order_of(file, listed) == [Host("node1"), Host("NODE2", 2), Host("new")]
