"""`thalweg analyse`: its output, and what it says about runs that can't be analysed."""

import json
from pathlib import Path

import pytest
from recorded import Recording, small_tree

from thalweg import network, record, runs
from thalweg.cli import main
from thalweg.collective import Kind


def test_text_begins_with_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", str(small_tree().write(tmp_path / "run"))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Planned collectives took the ranks 146ns together")
    text = "\n".join(lines)
    for part in ("allreduce of 8B, 3 ranks", "Wait at N x N", "Stages of allreduce", "0 <- 2"):
        assert part in text


def test_json_has_every_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net = tmp_path / "net.json"
    network.write(network.even_network(3, 1e-6, 1e9), net)
    folder = str(small_tree().write(tmp_path / "run"))
    assert main(["analyse", folder, "--network", str(net), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ranks"] == 3
    assert found["calls"][0]["algorithm"] == "drawn"
    assert sum(row["mean"] for row in found["breakdown"]) == pytest.approx(146e-9 / 3)
    assert {row["state"] for row in found["waits"]} == {"Wait at N x N", "N x N Completion"}
    assert len(found["links"]) == 4
    assert found["suspects"] == []


def test_a_run_of_native_calls_has_wait_states(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Recording(2)
    made.call(Kind.bcast, {0: (500, 600), 1: (0, 700)}, planned=False)
    assert main(["analyse", str(made.write(tmp_path / "run"))]) == 0
    text = capsys.readouterr().out
    assert "No blocking collective was planned" in text
    assert "Late Broadcast" in text
    assert "native (off)" in text


def with_nonblocking(*, blocking: bool) -> Recording:
    made = Recording(2)
    made.call(Kind.bcast, {0: (500, 900_000), 1: (0, 700)}, nonblocking=True)
    if blocking:
        call = made.call(Kind.bcast, {0: (500, 600), 1: (0, 700)})
        made.message(call, 0, 1, (510, 520), (10, 690))
    return made


def test_nonblocking_calls_are_left_out_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(with_nonblocking(blocking=True).write(tmp_path / "run"))
    assert main(["analyse", folder]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Nonblocking calls are left out, up to 1 of a rank: " in text
    assert "took the ranks 800ns together" in text
    assert main(["analyse", folder, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["nonblocking"], found["left_out"], len(found["calls"])) == (1, 0, 1)


def test_a_run_of_nonblocking_calls_alone_can_only_be_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(with_nonblocking(blocking=False).write(tmp_path / "run"))
    assert main(["analyse", folder]) == 2
    assert "has only nonblocking calls" in " ".join(capsys.readouterr().err.split())
    tables = tmp_path / "tables"
    assert main(["export", folder, "--format", "csv", "-o", str(tables)]) == 0
    assert "bcast" in (tables / "calls.csv").read_text()


def test_a_run_without_calls_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyse", str(Recording(2).write(tmp_path / "run"))]) == 2
    assert "no collective call" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("prepare", "complaint"),
    [
        (lambda folder: folder.rename(folder.parent / "elsewhere"), "no such folder"),
        (lambda folder: (folder / "rank-1.events").unlink(), "rank 1 are missing"),
        (lambda folder: (folder / "rank-1.events").write_bytes(b"x" * 100), "not an events file"),
        (lambda folder: Recording(2).write(folder), "several runs"),
        (lambda folder: (folder / "summary.json").write_text("{"), "not JSON"),
        (
            lambda folder: (folder / "summary.json").write_text('{"algorithms": 3}'),
            '"algorithms" must be a list, as the summary of a run has it',
        ),
    ],
)
def test_bad_runs_are_explained_in_one_sentence(
    prepare: object, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = small_tree().write(tmp_path / "run")
    prepare(folder)  # type: ignore[operator]
    assert main(["analyse", str(folder)]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert complaint in error
    assert "Traceback" not in error


def test_hosts_must_fit_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net = tmp_path / "net.json"
    network.write(network.even_network(2, 1e-6, 1e9), net)
    folder = str(small_tree().write(tmp_path / "run"))
    assert main(["analyse", folder, "--network", str(net), "-H", "nowhere:3"]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_hosts_tell_who_shares_one_where_no_network_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = small_tree().write(tmp_path / "run")
    assert runs.read(folder, hosts="a:2,b").hosts == ("a", "a", "b")
    assert runs.read(folder).hosts == ("rank 0", "rank 1", "rank 2")
    for wrong, complaint in (("nonsense[", "'nonsense['"), ("a,b", "3 ranks need 3 slots")):
        assert main(["analyse", str(folder), "-H", wrong]) == 2
        assert complaint in " ".join(capsys.readouterr().err.split())


def test_a_run_record_knows_its_hosts_and_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = small_tree().write(tmp_path / "run")
    net = network.even_network(3, 1e-6, 1e9)
    network.write(net, folder / "network.json")
    (folder / "run.json").write_text("{}")
    names = [host.name for host in net.hosts]
    unknown: dict[str, list[int]] = {"at_ns": [], "offset_ns": [], "error_ns": []}
    described = {
        "run": "1", "ranks": 3, "hosts": [names[2], names[0]], "placement": [0, 1, 1],
        "clocks": [unknown, unknown],
    }  # fmt: skip
    monkeypatch.setattr(record, "read", lambda _: record.Run(folder, described, ()))
    found = runs.read(folder)
    assert found.hosts == (names[2], names[0], names[0])
    assert found.placement == (2, 0, 0)
