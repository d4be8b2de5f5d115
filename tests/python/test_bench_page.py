"""Pages that are measured in parts."""

import json
import lzma
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from bench import machine, report, trees
from bench.page import Page, Part, read_parts, write_parts
from bench.random_trees import Carlo
from bench.report import Content, Figure, Subject, Table
from bench.settings import Settings


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(report, "results", tmp_path / "results")
    monkeypatch.setattr(report, "drafts", tmp_path / "drafts")
    return tmp_path / "results"


def subject(*measures: str) -> Subject:
    return Subject("cells", "All cells", measures, ("size",))


def contents(parts: Sequence[Part]) -> list[Content]:
    table = Table("Times", ["size", "samples"])
    for part in parts:
        table.add(part.labels["size"], [sample["time"] for sample in part.samples])
    return [table, Figure("A drawing", "drawing", "<svg/>", ["a note"])]


def page(**settings: bool) -> Page:
    return Page(Settings([], **settings), subject(), contents)  # type: ignore[arg-type]


def add(to: Page, size: int, *times: float) -> None:
    to.add({"size": size}, {"bound": 1.0}, [{"time": time} for time in times])


def test_every_part_is_written_at_once(results: Path) -> None:
    measured = page()
    add(measured, 1, 0.5)
    assert "| 1 | [0.5] |" in (results / "cells.md").read_text()
    add(measured, 2, 0.7, 0.8)
    text = (results / "cells.md").read_text()
    assert "| 1 | [0.5] |" in text
    assert "| 2 | [0.7, 0.8] |" in text
    assert "![A drawing](drawing.svg)\n\n- a note" in text
    assert (results / "drawing.svg").read_text() == "<svg/>"


def test_another_run_keeps_what_it_does_not_measure(results: Path) -> None:
    first = page()
    add(first, 1, 0.5)
    add(first, 2, 0.7)
    second = page()
    add(second, 2, 0.9)
    assert [list(part.samples) for part in second.parts] == [
        [{"time": 0.5}], [{"time": 0.9}],
    ]  # fmt: skip
    third = page()
    assert [part.labels for part in third.parts] == [{"size": 1}, {"size": 2}]
    assert len(list(results.parent.glob("raw/*"))) == 1
    assert {file.name for file in results.iterdir()} == {"cells.md", "cells.json", "drawing.svg"}


def test_a_page_whose_samples_are_elsewhere_is_begun_anew(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(page(), 1, 0.5)
    report.raw_file(results, "cells").unlink()
    assert page().parts == []
    assert "no samples of cells.md" in " ".join(capsys.readouterr().out.split())


def test_a_page_that_is_rendered_keeps_its_machine(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured_on() -> str:
        return str(json.loads((results / "cells.json").read_text())["machine"])

    monkeypatch.setattr(machine, "describe", lambda: {"commit": "measured"})
    add(page(), 1, 0.5)
    monkeypatch.setattr(machine, "describe", lambda: {"commit": "today"})
    for _ in range(2):
        page(render=True).finish()
        assert "measured" in measured_on()
    add(page(), 2, 0.5)
    assert "today" in measured_on()


def test_a_run_anew_begins_with_nothing() -> None:
    add(page(), 1, 0.5)
    assert page(anew=True).parts == []


def test_a_run_goes_on_with_what_todays_sources_have_not_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "commit", lambda: "before")
    add(page(), 1, 0.5)
    monkeypatch.setattr(machine, "commit", lambda: "today")
    add(page(), 2, 0.7)
    monkeypatch.setattr(machine, "is_current", lambda commit, _paths: commit == "today")
    resumed = page(resume=True)
    assert [resumed.has({"size": size}) for size in (1, 2, 3)] == [False, True, False]
    assert not page().has({"size": 2}), "what isn't resumed measures again"
    assert not page(resume=True, anew=True).has({"size": 2})


def test_a_summary_says_that_its_run_did_not_end(results: Path) -> None:
    def is_unfinished() -> bool:
        return report.unfinished in json.loads((results / "cells.json").read_text())

    run = page()
    add(run, 1, 0.5)
    assert is_unfinished()
    run.finish()
    assert not is_unfinished()
    page(resume=True).finish()
    assert not is_unfinished()
    page(resume=True, builds_are_set=True).finish()
    assert is_unfinished(), "options leave out parts, which may be missing"
    page(render=True).finish()
    assert is_unfinished()
    page(resume=True).finish()
    assert not is_unfinished()


@pytest.mark.parametrize(
    "option",
    [
        {"builds_are_set": True},
        {"scenarios_are_set": True},
        {"sizes": [1000]},
        {"programs": ["cg"]},
        {"trees": 1000},
        {"plans": ["quick"]},
        {"senders": [4]},
        {"networks": 2},
        {"hosts": 16},
        {"calls": 1000},
        {"collectives": ["bcast"]},
    ],
)
def test_options_that_leave_out_parts_make_a_partial_page(option: dict[str, Any]) -> None:
    assert Settings([], **option).is_partial


def test_options_that_leave_out_nothing_make_a_whole_page() -> None:
    assert not Settings([], ["cloud"], seed=2, dilation=8.0, budget=5.0, simulate=True).is_partial


def test_seeds_begin_at_the_given_one() -> None:
    assert Settings([]).seeds(3) == range(1, 4)
    assert Settings([], seed=5, networks=2).seeds(3) == range(5, 7)


def test_a_quick_run_writes_nothing(results: Path) -> None:
    quick = page(save=False)
    add(quick, 1, 0.5)
    quick.finish()
    assert list(results.parent.iterdir()) == []


def test_a_draft_is_written_elsewhere(results: Path) -> None:
    add(page(draft=True), 1, 0.5)
    assert (results.parent / "drafts/cells.md").is_file()
    assert not results.exists()


def test_parts_are_read_as_written() -> None:
    parts = [
        Part({"scenario": "a", "size": 1}, {"bound": 2.0}, [{"time": 1.0}], "2026-01-01", "c0"),
        Part({"scenario": "b", "size": 1}, {"bound": None}, [], "2026-01-02", "c1"),
    ]
    read = read_parts(json.loads(json.dumps(write_parts(parts))))
    assert [part.head() for part in read] == [part.head() for part in parts]
    assert read[0].samples == [{"time": 1.0}]
    assert read[1].samples == []


def test_a_sample_keeps_what_is_called_like_a_label() -> None:
    samples = [{"network": "even-8-1", "time": 1.0}, {"network": "even-8-1", "time": 2.0}]
    parts = [Part({"network": 1}, {}, samples, "2026-01-01", "c0")]
    (read,) = read_parts(json.loads(json.dumps(write_parts(parts))))
    assert read == parts[0]


def test_the_page_says_when_and_from_what_it_was_made(results: Path) -> None:
    add(page(), 1, 0.5)
    raw = report.raw_file(results, "cells")
    document = json.loads(lzma.decompress(raw.read_bytes()))
    made = {"date": "2026-01-01T00:00:00", "commit": "0123", "machine": "1 core of a Z80"}
    document["parts"][0] |= made
    raw.write_bytes(lzma.compress(json.dumps(document).encode()))
    second = page()
    add(second, 2, 0.5)
    text = (results / "cells.md").read_text()
    assert "Measured 2026-01-01 to 20" in text
    assert "at commit `0123`, `" in text
    assert "on 1 core of a Z80, and " in text


def test_the_summary_has_no_samples(results: Path) -> None:
    measured = page()
    add(measured, 1, 0.5, 0.7, 0.9)
    add(measured, 2, 0.25)
    document = json.loads((results / "cells.json").read_text())
    assert "samples" not in document
    assert [part["labels"] for part in document["parts"]] == [{"size": 1}, {"size": 2}]
    geometric_mean = (0.5 * 0.7 * 0.9) ** (1 / 3)
    assert document["cells"][0] == {
        "size": 1, "samples": 3, "time": [0.5, 0.6, 0.7, 0.8, 0.9, round(geometric_mean, 4)]
    }  # fmt: skip
    assert document["cells"][1] == {"size": 2, "samples": 1, "time": 0.25}


def test_the_summary_has_labels_beside_what_samples_call_alike(results: Path) -> None:
    measured = page()
    names, sizes = ("old", "new"), (3.0, 5.0)
    runs = [{"variant": name, "time": 0.5, "size": size} for name in names for size in sizes]
    measured.add({"size": 1}, {}, runs)
    document = json.loads((results / "cells.json").read_text())
    assert [(cell["size"], cell["variant"]) for cell in document["cells"]] == [
        (1, "old"), (1, "new")
    ]  # fmt: skip
    assert all(cell["own.size"][:5] == [3.0, 3.5, 4.0, 4.5, 5.0] for cell in document["cells"])


def drawn_trees() -> list[Part]:
    """Parts as script/bench trees measures them."""
    density = [[0.1, 0.4], [0.2, 0.6]]
    carlo = Carlo(
        "bcast", "binomial", False, 100, 0.1, 0.2, 0.3, 0.15, 0.25, 0.9, 0.05, "flat", density
    )
    times = {"hlot": 0.4, "mpich-g2": 0.3, "magpie": 0.5, "Thalweg": 0.2}
    gains = [asdict(trees.Gain(2, size, times)) for size in trees.short_sizes]
    labels = {"carlo": "bcast", "generator": "binomial", "segmented": False}
    return [
        Part(labels, {}, [asdict(carlo)], "2026-11-21", "commit"),
        Part({"clusters": 2}, {}, gains, "2026-11-21", "commit"),
    ]


def test_parts_of_different_labels_are_read_as_they_were_written() -> None:
    assert read_parts(write_parts(drawn_trees())) == drawn_trees()
