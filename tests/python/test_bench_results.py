"""What is committed of results, and of which sources it speaks."""

import subprocess
from pathlib import Path

import pytest

from bench import machine, report, sources
from bench.compact import compact
from bench.report import Subject

LARGEST = 450_000
"""Bytes of a file that is committed: the page of predictions, with 400 cells, is the largest."""
RESULTS = sorted(path for path in report.results.iterdir() if path.is_file())


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_results_are_small(path: Path) -> None:
    assert path.stat().st_size <= LARGEST


@pytest.mark.parametrize(
    "path", [path for path in RESULTS if path.suffix == ".md"], ids=lambda path: path.name
)
def test_pages_name_their_commit_and_summary(path: Path) -> None:
    _, _, provenance, *_ = path.read_text().splitlines()
    assert "at commit `" in provenance
    assert machine.changed not in provenance
    assert f"({path.stem}.json)" in provenance
    if machine.changed in path.with_suffix(".json").read_text():
        assert "uncommitted changes" in provenance


@pytest.mark.parametrize("path", sorted({*sources.run_on_lab, *sources.probed}))
def test_sources_are_there(path: str) -> None:
    assert (machine.repository / path).exists()


def test_samples_of_a_cell_are_summarised() -> None:
    def sample(variant: str, time: float, **more: object) -> dict[str, object]:
        return {"variant": variant, "repetition": 7, "time": time, **more}

    samples = [
        sample("native", 99.0, invalid=None),
        sample("native", 1.0, invalid=[], lab={"late": 0}, exits=[1, 2]),
        sample("native", 2.00001, invalid=[], lab={"late": 4}, library="MPICH"),
        sample("native", 4.0, invalid=[], lab={"late": 2}, library="MPICH"),
        sample("native", 50.0, invalid=["late", "wrong"]),
        sample("planned", 3.0, plan="flat"),
        sample("planned", 3.0, plan="chain"),
    ]
    native, planned = compact(samples, ["variant"])
    assert native == {
        "variant": "native", "samples": 3, "invalid": {"late": 1, "wrong": 1},
        "time": [1.0, 1.5, 2.0, 3.0, 4.0, 2.0], "lab.late": [0.0, 1.0, 2.0, 3.0, 4.0],
        "library": "MPICH",
    }  # fmt: skip
    assert planned == {
        "variant": "planned", "samples": 2, "time": 3.0, "plan": {"flat": 1, "chain": 1}
    }  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a commit of each of src/a and src/b, in this order."""
    monkeypatch.setattr(machine, "repository", tmp_path)
    git(tmp_path, "init", "--quiet")
    for name in ("a", "b"):
        change(tmp_path, f"src/{name}", name)
        commit(tmp_path)
    return tmp_path


def change(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    done = subprocess.run(
        ["git", "-C", str(root), *identity, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(root: Path) -> str:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "x")
    return git(root, "rev-parse", "--short=12", "HEAD")


def test_changes_are_seen_except_those_of_results(repository: Path) -> None:
    assert machine.changes() == []
    change(repository, "bench/results/page.md", "written")
    assert machine.changes() == []
    change(repository, "src/a", "changed")
    change(repository, "src/c", "new")
    assert machine.changes() == ["src/a", "src/c"]


def test_a_page_says_what_is_older_than_its_sources(repository: Path) -> None:
    second = git(repository, "rev-parse", "--short=12", "HEAD")
    first = git(repository, "rev-parse", "--short=12", "HEAD~")
    on = {"cores": 2, "cpu": "CPU", "kernel": "K", "commit": second}
    measured = {"date": "2026-01-01", "machine": "2 cores of CPU, kernel K"}
    parts = [
        {"labels": {"at": label}, "commit": of, **measured}
        for label, of in (("x", first), ("y", second), ("z", f"{second}{machine.changed}"))
    ]
    document = {"machine": on, "date": "2026-01-01", "parts": parts}

    def provenance(*measures: str) -> str:
        return report.provenance(Subject("n", "N", measures, ()), document)

    assert f"at commit `{first}`, `{second}` on 2 cores of CPU" in provenance("src/a")
    assert "The part z was made from a work tree with uncommitted" in provenance("src/a")
    assert "before the last change" not in provenance("src/a")
    older = "was made before the last change to the sources that decide what comes out (commit "
    assert f"The part x {older}`{second}`" in provenance("src/a", "src/b")
    change(repository, "src/a", "changed")
    last = commit(repository)
    assert f"All of it {older}`{last}`" in provenance("src/a")
