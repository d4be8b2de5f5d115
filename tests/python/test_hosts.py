"""Lists of hosts and hostfiles, as people and launchers write them."""

from pathlib import Path

import pytest

from thalweg.errors import UserError
from thalweg.hosts import Host, parse, placement, read


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
    ],
)
def test_lists(text: str, expected: list[Host]) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a,b,a", "host a is listed twice"),
        ("a:2,b,a:1", "host a is listed twice"),
        ("n[0-2],n1", "host n1 is listed twice"),
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
    ("content", "named"),
    [
        ("a\nb\na\n", "host a is listed twice"),
        ("a\nb lots=2\n", "line 2: 'lots=2'"),
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
    with pytest.raises(UserError, match="such as a:5"):
        placement(hosts, 9)
