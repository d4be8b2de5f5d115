"""The part of a run's page about changes of plans and races."""

import json
import re
from pathlib import Path
from typing import Any

from browser import browser
from test_changes import CHANGE
from test_races import RACE
from test_report_page import record_of, text_of

from thalweg import changes, races
from thalweg.cli import main
from thalweg.report import story_parts

VAIN = CHANGE | {"adopted": 0, "outcome": "nothing better", "call": 300}
SUMMARY: dict[str, Any] = {"changes": [CHANGE, VAIN], "races": [RACE]}


def blocks_of(summary: dict[str, Any]) -> list[dict[str, Any]]:
    (section,) = story_parts.sections(summary)
    return list(section.blocks)


def test_changes_are_told_in_order() -> None:
    short, first, second, *_ = blocks_of(SUMMARY)
    line = changes.line(SUMMARY)
    assert short["text"] == [
        f"P{line[1:]}.",
        f"R{races.line(SUMMARY)[1:]}.",
        "Calls of what lost the races cost 500us in all.",
    ]
    noticed, explained, *replaced = changes.story(CHANGE)
    name = "bcast of 64KiB with root 3, 4 ranks"
    assert first["caption"] == second["caption"] == name
    assert first["steps"] == [
        ["Noticed", noticed.removeprefix(f"{name}: "), 1],
        ["Explained", explained.strip(), None],
        ["Plans replaced", replaced[0].strip(), None],
        ["Since then", replaced[1].strip(), 0.24],
    ]
    assert [step[0] for step in second["steps"]] == ["Noticed", "Explained", "Plans stayed"]
    assert second["steps"][0][1] == "call 300 took 50ms instead of the usual 10ms"
    assert second["steps"][-1][1] == "nothing better was found"


def test_what_was_taken_back_or_recovered_is_told() -> None:
    back = CHANGE | {"outcome": "taken back", "seconds": CHANGE["seconds"] | {"after": 0.1}}
    recovery = CHANGE | {"recovery": True, "causes": [], "plans": []}
    _, first, second = blocks_of({"changes": [back, recovery], "dilation": 2})
    title, remark, share = first["steps"][-1]
    assert (title, share) == ("Taken back", 1)
    assert "taken back, since calls took 50ms instead of 25ms" in remark
    assert remark.endswith("binomial was predicted to take 11ms, and took 50ms (+355 %)")
    assert second["steps"][1][1] == "the network is as it was before the last change of plans"
    assert second["steps"][2][1] == "by those before the last change"


def test_of_many_changes_the_first_are_told() -> None:
    blocks = blocks_of({"changes": [CHANGE] * 30})
    assert sum(block["kind"] == "path" for block in blocks) == story_parts.MOST_TOLD
    assert "the first 20 of 30; thalweg explain tells all" in blocks[-1]["text"][0]


def test_races_say_who_won_by_how_much_and_what_was_predicted_wrongly() -> None:
    untried = RACE | {"winner": "plan", "seconds": {"plan": 0.001, "native": 0}, "calls": 1}
    _, table, verdicts = blocks_of({"races": [untried, RACE], "dilation": 2})
    assert "sizes differ by less than a sixteenth race together" in table["note"]
    names = [column[0] for column in table["columns"]]
    first, second = (dict(zip(names, row, strict=True)) for row in table["rows"])
    assert first == {
        "calls": "allreduce of 1MiB, 4 ranks", "number": 100, "winner": "native",
        "faster by": 0.5, "plan": 0.002, "native": 0.001, "plan, predicted": 0.001,
        "native, predicted": 0.0019, "predicted wrongly": "plan +100 %, native -47 %",
        "races": 2, "lost to racing": 0.00025,
    }  # fmt: skip
    assert (second["faster by"], second["native"]) == (None, None)
    assert verdicts["rows"][-2:] == [
        ["allreduce of 1MiB, 4 ranks", 43, "plan stays", 0.001, 0.001],
        ["allreduce of 1MiB, 4 ranks", 90, "native takes over", 0.002, 0.001],
    ]


def test_the_page_tells_it(tmp_path: Path) -> None:
    folder = record_of(tmp_path / "run")
    (folder / "summary.json").write_text(json.dumps(SUMMARY))
    file = tmp_path / "x.html"
    assert main(["report", str(folder), "-o", str(file)]) == 0
    with browser() as page:
        for width in (400, 1200):
            page.open(file, width)
            assert page.run("document.documentElement.scrollWidth") == width
        words = text_of(page)
        assert page.errors == []
    assert "Changes of plans, and races" in words
    for told in ("binomial replaces pipelined-chain", "nothing better was found", "takes over"):
        assert told in words


def test_a_page_without_them_has_no_such_part(tmp_path: Path) -> None:
    folder = record_of(tmp_path / "run")
    file = tmp_path / "x.html"
    summary = folder / "summary.json"
    for content, warned in (("{}", False), ('{"races": [3]}', True)):
        summary.write_text(content)
        assert main(["report", str(folder), "-o", str(file)]) == 0
        text = file.read_text()
        assert "Changes of plans, and races" not in text
        said = re.search(r'"warning">Which plans raced or changed can.*?be said', text)
        assert bool(said) == warned
