"""Plans kept between runs."""

import functools
import json
import multiprocessing
from collections.abc import Sequence
from pathlib import Path

import pytest

from thalweg import network as networks
from thalweg import planner, plans, wisdom
from thalweg.collective import Kind
from thalweg.network import Network
from thalweg.operations import Bcast
from thalweg.plans import Search, Setting


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "kept" / "wisdom"
    monkeypatch.setenv("THALWEG_WISDOM", str(file))
    return file


@pytest.fixture
def net() -> Network:
    return networks.even_network(3, 1e-4, 1e8)


def setting(net: Network, search: Search = plans.NORMAL) -> Setting:
    return Setting(net, [0, 1, 2], search=search)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was planned, rather than remembered."""
    calls: list[str] = []
    explain, make_table = planner.explain, planner.make_table

    def counted_explain(*arguments: object) -> object:
        calls.append("plan")
        return explain(*arguments)  # type: ignore[arg-type]

    def counted_table(*arguments: object) -> object:
        calls.append("table")
        return make_table(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(planner, "explain", counted_explain)
    monkeypatch.setattr(planner, "make_table", counted_table)
    return calls


def test_what_was_planned_is_remembered(path: Path, net: Network, made: list[str]) -> None:
    first = wisdom.plan(setting(net), Bcast(nbytes="8MB", root=1))
    again = wisdom.plan(setting(net), Bcast(nbytes="8MB", root=1))
    assert made == ["plan"]
    assert path.is_file()
    assert (again.algorithm, again.predicted) == (first.algorithm, first.predicted)
    assert (again.native.algorithm, again.native.time) == (
        first.native.algorithm,
        first.native.time,
    )
    assert again.reason == first.reason
    again.verify()

    table = wisdom.table(setting(net), [Kind.bcast])
    assert wisdom.table(setting(net), [Kind.bcast]) == table
    assert made == ["plan", "table"]


def test_how_long_tables_take_is_known_for_as_many_ranks(path: Path, net: Network) -> None:
    other = Setting(net, [0, 2, 1])
    unknown = 3 * wisdom.USUAL_SECONDS_PER_RANK
    assert wisdom.seconds_of_table(other) == unknown
    wisdom.table(setting(net))
    assert wisdom.seconds_of_table(setting(net)) == 0
    (key,) = [key for key in wisdom.load(path) if key.startswith('{"planning"')]
    assert 0 <= json.loads(wisdom.load(path)[key]) < 1000
    keep(path, key, b"2.5")
    assert wisdom.seconds_of_table(other) == 2.5
    assert wisdom.seconds_of_table(setting(net)) == 0
    assert wisdom.seconds_of_table(Setting(net, [0, 1])) == 2 * wisdom.USUAL_SECONDS_PER_RANK
    keep(path, key, b"[]")
    assert wisdom.seconds_of_table(other) == unknown


def test_what_differs_is_planned_anew(path: Path, net: Network, made: list[str]) -> None:
    wisdom.plan(setting(net), Bcast(nbytes="8KB"))
    wisdom.plan(setting(net), Bcast(nbytes="9KB"))
    wisdom.plan(setting(net), Bcast(nbytes="8KB", root=1))
    wisdom.plan(setting(net, Search("estimate")), Bcast(nbytes="8KB"))
    wisdom.plan(setting(net, Search("patient", 1, 0.01)), Bcast(nbytes="8KB"))
    wisdom.plan(setting(net, Search("patient", 2, 0.01)), Bcast(nbytes="8KB"))
    wisdom.plan(Setting(net, [0, 2, 1]), Bcast(nbytes="8KB"))
    wisdom.plan(setting(networks.even_network(3, 2e-4, 1e8)), Bcast(nbytes="8KB"))
    assert len(made) == len(wisdom.load(path)) == 8


def test_damaged_wisdom_is_reported_and_replaced(
    path: Path, net: Network, made: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    wisdom.plan(setting(net), Bcast(nbytes="8KB"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    wisdom.plan(setting(net), Bcast(nbytes="8KB"))
    assert "is ignored" in capsys.readouterr().err
    wisdom.plan(setting(net), Bcast(nbytes="8KB"))
    assert len(made) == 2
    assert capsys.readouterr().err == ""
    assert path.read_bytes() == whole


@pytest.mark.parametrize("content", [b"somebody's letters", b"THWGWISD\x02\0\0\0" + bytes(20)])
def test_a_foreign_file_is_left_as_it_is(
    content: bytes, path: Path, net: Network, capsys: pytest.CaptureFixture[str]
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    assert wisdom.plan(setting(net), Bcast(nbytes="8KB")).algorithm
    assert wisdom.plan(setting(net), Bcast(nbytes="8KB")).algorithm
    (line,) = capsys.readouterr().err.splitlines()
    assert "is ignored" in line and line.endswith(
        "delete it, or name another file by THALWEG_WISDOM"
    )
    assert path.read_bytes() == content


def test_where_nothing_can_be_kept_plans_are_made(
    tmp_path: Path,
    net: Network,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("THALWEG_WISDOM", str(tmp_path / "file" / "wisdom"))
    assert wisdom.plan(setting(net), Bcast(nbytes="8KB")).algorithm
    assert "isn't kept" in capsys.readouterr().err


def keep(path: Path, key: str, value: bytes) -> None:
    """Makes this the record of the key."""
    wisdom.change(path, key, lambda _: value)


def _append(name: str, known: bytes | None) -> bytes:
    return (known or b"") + name.encode() + b" "


def _add(path: Path, names: Sequence[str]) -> None:
    for name in names:
        keep(path, name, name.encode())
        wisdom.change(path, "all", functools.partial(_append, name))


def test_processes_lose_nothing_of_each_other(path: Path) -> None:
    names = [[f"{process}-{number}" for number in range(25)] for process in range(4)]
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_add, args=(path, each)) for each in names]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    expected = {name: name.encode() for each in names for name in each}
    known = wisdom.load(path)
    together = known.pop("all").decode().split()
    assert known == expected
    assert sorted(together) == sorted(expected)
    assert {file.name for file in path.parent.iterdir()} == {"wisdom", "wisdom.lock"}


def test_the_oldest_plans_are_dropped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wisdom, "LARGEST", 1000)
    for number in range(20):
        keep(path, str(number), bytes(100))
    assert list(wisdom.load(path)) == [str(number) for number in range(11, 20)]
    keep(path, "large", bytes(2000))
    assert list(wisdom.load(path)) == ["large"]


def test_a_file_that_stays_the_same_is_read_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(path, "key", b"1")
    reads: list[Path] = []
    read = Path.read_bytes

    def counted(file: Path) -> bytes:
        reads.append(file)
        return read(file)

    monkeypatch.setattr(Path, "read_bytes", counted)
    assert [wisdom.load(path) for _ in range(3)] == 3 * [{"key": b"1"}]
    assert reads == [path]
    keep(path, "other", b"22")  # which reads it for itself
    assert wisdom.load(path) == {"key": b"1", "other": b"22"}
    assert reads == 3 * [path]
    wisdom.forget()
    wisdom.load(path)
    assert reads == 4 * [path]


def test_libraries_are_told_apart_by_build_id_or_content(tmp_path: Path) -> None:
    library = tmp_path / "lib.so"
    library.write_bytes(b"\x7fELF" + wisdom.BUILD_ID + bytes(range(20)) + b"code")
    assert wisdom.digest(library) == "0001020304050607"
    library.write_bytes(b"\x7fELF" + wisdom.BUILD_ID + b"cut off")
    found = wisdom.digest(library)
    library.write_bytes(b"\x7fELF" + bytes(5000) + wisdom.BUILD_ID + bytes(20))
    assert len({found, wisdom.digest(library), "0001020304050607"}) == 3


def test_wisdom_lies_in_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THALWEG_WISDOM", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert wisdom.location() == Path("/somewhere/thalweg/wisdom")
