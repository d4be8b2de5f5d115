"""Races of a run: what is said of them, and what later runs are told."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from recorded import Recording
from test_record import calls, part, write

from thalweg import races
from thalweg.cli import main
from thalweg.collective import Kind
from thalweg.hosts import MOST_RANKS
from thalweg.launch_files import LONGEST
from thalweg.preparation import Preparation

RACE: dict[str, Any] = {
    "collective": "allreduce",
    "ranks": 4,
    "leader": 0,
    "root": 0,
    "band": 1 << 20,
    "size": 1 << 20,
    "calls": 100,
    "races": 2,
    "winner": "native",
    "seconds": {"plan": 0.004, "native": 0.002},
    "predicted": {"plan": 0.001, "native": 0.0019},
    "lost": 0.0005,
    "verdicts": [
        {"call": 43, "winner": "plan", "seconds": {"plan": 0.002, "native": 0.002}},
        {"call": 90, "winner": "native", "seconds": {"plan": 0.004, "native": 0.002}},
    ],
}

STORY = [
    "allreduce of 1MiB, 4 ranks: native at the end, 100 calls, 2 races, 500us lost to racing",
    "  call 43: plan stays: plan 2ms, native 2ms",
    "  call 90: native takes over: plan 4ms, native 2ms",
    "  plan was predicted to take 1ms, and took 4ms (+300 %)",
]


SECOND: dict[str, Any] = RACE | {
    "winner": "second",
    "algorithms": {"plan": "ring", "native": "", "second": "rabenseifner"},
    "seconds": {"plan": 0.004, "native": 0, "second": 0.003},
    "verdicts": [
        {"call": 43, "winner": "second", "seconds": {"plan": 0.004, "native": 0, "second": 0.003}}
    ],
}
"""Won by the second plan; native was never tried."""
UNPLANNED: dict[str, Any] = RACE | {
    "band": 24,
    "winner": "second",
    "seconds": {"native": 0.002, "second": 0.001},
    "predicted": {"native": 0.002, "second": 0},
    "verdicts": [
        {"call": 43, "winner": "native", "seconds": {"native": 0.002, "second": 0}},
        {"call": 90, "winner": "second", "seconds": {"native": 0.002, "second": 0.001}},
    ],
}
"""A call that is native by plan."""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "my.plan"
    path.write_bytes(b"a plan")
    return path


def test_the_line_names_what_gained_most_and_what_was_predicted_wrongly() -> None:
    other = RACE | {"collective": "bcast", "calls": 1, "predicted": {"plan": 0.004, "native": 0}}
    third = RACE | {"winner": "plan", "predicted": {"plan": 0.0039, "native": 0.0005}}
    assert races.line({"races": [other, RACE, third]}) == (
        "race: 1 won by plans, 2 by native (most: allreduce of 1MiB, 4 ranks: plan 4ms, native 2ms)"
        ", 2 predictions off by more than 20 % "
        "(most: plan for allreduce of 1MiB, 4 ranks: predicted 1ms, took 4ms)"
    )
    assert races.line({"races": [other]}).endswith("4 ranks: plan 4ms, native 2ms)")
    assert races.line({}) == races.line(None) == ""


def test_a_story_says_what_took_over_and_where_predictions_were_wrong() -> None:
    assert races.story(RACE) == STORY
    # In a lab that is four times slower the plan took what was predicted, native a quarter of it.
    (slow,) = races.wrong_predictions(RACE, dilation=4)
    assert slow.sentence() == "native was predicted to take 1.9ms, and took 500us (-74 %)"
    first = races.story(RACE | {"collective": "barrier", "calls": 1, "races": 1})[0]
    assert first.startswith("barrier, 4 ranks: native at the end, 1 call, 1 race, 500us")


def test_what_native_won_is_kept_for_the_same_plan(plan: Path) -> None:
    assert races.recall(plan) == ""
    elsewhere = RACE | {"ranks": 3, "band": 1 << 21}
    races.keep(plan, {"races": [RACE, elsewhere]}, 4)
    assert races.recall(plan) == "allreduce:0:1048576"
    races.keep(plan, {"races": []}, 4)
    assert races.recall(plan) == "allreduce:0:1048576"
    plan.write_bytes(b"another plan")
    assert races.recall(plan) == ""
    plan.write_bytes(b"a plan")
    races.keep(plan, {"races": [RACE | {"winner": "plan"}]}, 4)
    assert races.recall(plan) == ""


def test_of_several_communicators_most_calls_count(plan: Path) -> None:
    few = RACE | {"winner": "plan", "calls": 30}
    many = RACE | {"winner": "second", "calls": 300}
    for found in ([few, many, RACE], [many, RACE, few]):
        races.keep(plan, {"races": found}, 4)
        assert races.recall(plan) == "allreduce:0:1048576:second"
    races.keep(plan, {"races": [many, few | {"calls": 301}]}, 4)
    assert races.recall(plan) == ""


def test_what_raced_against_changed_plans_is_not_kept(plan: Path) -> None:
    other = RACE | {"collective": "bcast"}
    replaced = {"collective": "allreduce", "root": 0, "size": (1 << 20) + 5000}
    drift = {"leader": 0, "ranks": 4, "adopted": 90, "improvement": False, "plans": [replaced]}
    improvement = drift | {"improvement": True}
    races.keep(plan, {"races": [RACE, other], "changes": [drift]}, 4)
    assert races.recall(plan) == ""
    races.keep(plan, {"races": [RACE, other], "changes": [improvement]}, 4)
    assert races.recall(plan) == "bcast:0:1048576"
    races.keep(
        plan, {"races": [RACE], "changes": [drift | {"adopted": 0}, drift | {"ranks": 3}]}, 4
    )
    assert races.recall(plan) == "bcast:0:1048576,allreduce:0:1048576"


def test_the_latest_winners_are_kept(plan: Path) -> None:
    def raced(bands: Iterable[int]) -> dict[str, Any]:
        return {"races": [RACE | {"band": band} for band in bands]}

    races.keep(plan, raced(range(1, races.MOST_RACED + 1)), 4)
    races.keep(plan, raced([1, races.MOST_RACED + 1]), 4)
    kept = [int(each.split(":")[2]) for each in races.recall(plan).split(",")]
    assert kept == [*range(3, races.MOST_RACED + 1), 1, races.MOST_RACED + 1]


def test_what_is_kept_of_races_is_one_argument_of_a_launcher(plan: Path) -> None:
    longest = max((kind.name for kind in Kind), key=len)
    shape = SECOND | {"collective": longest, "root": MOST_RANKS - 1}
    found = [shape | {"band": 2**60 + at} for at in range(2 * races.MOST_RACED)]
    races.keep(plan, {"races": found}, 4)
    assert len(races.recall(plan)) < LONGEST


def test_second_plans_are_named_and_kept(plan: Path) -> None:
    assert races.story(SECOND)[1:] == [
        "  call 43: second plan (rabenseifner) takes over: plan 4ms, native not tried, "
        "second plan (rabenseifner) 3ms",
        "  plan was predicted to take 1ms, and took 4ms (+300 %)",
    ]
    assert "native stays: native 2ms" in "".join(races.story(UNPLANNED))
    told = races.line({"races": [SECOND, UNPLANNED]})
    assert told.startswith(
        "race: 0 won by plans, 0 by native, 2 by second plans (most: allreduce of 1MiB, 4 ranks: "
        "plan 4ms, native not tried, second plan (rabenseifner) 3ms)"
    )
    assert races.advantage(SECOND) == pytest.approx(0.25)
    assert races.advantage(UNPLANNED) == pytest.approx(0.5)
    races.keep(plan, {"races": [SECOND, UNPLANNED, RACE | {"band": 300}]}, 4)
    assert races.recall(plan) == "allreduce:0:1048576:second,allreduce:0:24:second,allreduce:0:300"
    back = UNPLANNED | {"winner": "native"}
    races.keep(plan, {"races": [SECOND | {"winner": "plan"}, back]}, 4)
    assert races.recall(plan) == "allreduce:0:300"


def test_a_verdict_compares_the_two_that_were_timed_in_turn() -> None:
    """The plan lost an earlier race, when the network was faster."""
    seconds = {"plan": 0.01, "native": 0.03, "second": 0.02}
    verdict = {"call": 90, "winner": "second", "loser": "native", "seconds": seconds}
    race = SECOND | {"seconds": seconds, "verdicts": [verdict]}
    assert races.advantage(race) == pytest.approx(1 / 3)
    assert (
        "second plan (rabenseifner) takes over: native 30ms, second plan (rabenseifner) 20ms"
        in ("".join(races.story(race)))
    )


def test_what_an_earlier_run_left_takes_over_from_nothing() -> None:
    (verdict,) = RACE["verdicts"][1:]
    known = RACE | {"began": "native", "verdicts": [verdict]}
    assert "  call 90: native stays: plan 4ms, native 2ms" in races.story(known)
    assert "  call 90: native takes over: plan 4ms, native 2ms" in races.story(
        RACE | {"verdicts": [verdict]}
    )


def test_calls_of_several_sizes_are_named_and_not_compared_with_a_prediction() -> None:
    several = RACE | {"largest": 3 << 19}
    assert races.name(several) == "allreduce of 1MiB to 1.57MB, 4 ranks"
    assert races.story(several) == [STORY[0].replace("1MiB", "1MiB to 1.57MB"), *STORY[1:-1]]


def test_what_a_winner_saves_is_of_the_verdict() -> None:
    """What is known of others later may be from long before."""
    assert races.advantage(RACE | {"seconds": {"plan": 0.004, "native": 0.008}}) == 0.5


def test_runs_are_told(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THALWEG_RACE", raising=False)
    prepared = Preparation.__new__(Preparation)
    object.__setattr__(prepared, "plan", plan)
    object.__setattr__(prepared, "launcher", type("L", (), {"flavour": "openmpi"})())
    races.keep(plan, {"races": [RACE]}, 4)
    told = prepared.environment()
    assert (told["THALWEG_RACE"], told["THALWEG_RACED"]) == ("1", "allreduce:0:1048576")
    assert prepared.environment(race=False)["THALWEG_RACE"] == "0"
    monkeypatch.setenv("THALWEG_RACE", "0")
    assert prepared.environment()["THALWEG_RACE"] == "0"


def test_explain_shows_the_races_of_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.json"
    summary.write_text(json.dumps({"races": [RACE]}))
    assert main(["explain", str(tmp_path)]) == 0
    *told, no_changes = capsys.readouterr().out.splitlines()
    assert told == STORY
    assert no_changes.startswith(f"no change of plans was tried in run {tmp_path}; ")
    assert main(["explain", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["races"] == [RACE]
    assert main(["explain", str(tmp_path), "allreduce", "1500KB"]) == 0
    assert capsys.readouterr().out.splitlines()[:-1] == STORY
    for other in (["bcast"], ["allreduce", "2MiB"]):
        assert main(["explain", str(tmp_path), *other]) == 0
        assert capsys.readouterr().out.startswith(f"no race of a {other[0]}")
    assert main(["explain", str(tmp_path), "broadcast"]) == 2
    assert "broadcast" in capsys.readouterr().err
    assert main(["explain", str(tmp_path), "bcast", "--root", "1"]) == 2
    assert "--root is for a network, not for the folder of a run" in capsys.readouterr().err
    summary.write_text("{}")
    assert main(["explain", str(tmp_path)]) == 0
    assert "no race" in capsys.readouterr().out
    summary.write_text("{")
    assert main(["explain", str(tmp_path)]) == 2
    assert "summary.json: not JSON" in capsys.readouterr().err
    for wrong, at_fault in (
        ("[" * 100_000, "too deeply"),
        ("3", "it must be an object"),
        (json.dumps({"races": [3]}), '"races"[0] must be an object'),
        (json.dumps({"races": [RACE | {"seconds": {}}]}), '"races"[0]."seconds" lacks "native"'),
        (
            json.dumps({"races": [RACE | {"predicted": {"native": 1}}]}),
            '"races"[0]."predicted" lacks "plan"',
        ),
        (
            json.dumps({"races": [RACE | {"winner": "second"}]}),
            '"races"[0] lacks the "seconds" of its "winner"',
        ),
        (
            json.dumps({"races": [RACE | {"verdicts": [RACE["verdicts"][0] | {"winner": "x"}]}]}),
            '"races"[0]."verdicts"[0] lacks the "seconds" of its "winner"',
        ),
        (json.dumps({"changes": [{}]}), '"changes"[0] lacks "collective"'),
    ):
        summary.write_text(wrong)
        assert main(["explain", str(tmp_path)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert at_fault in line


def test_races_that_are_only_counted_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = {"races": [RACE], "more_races": {"plan": 1100, "native": 100, "second": 0}}
    told = "1,200 more, of which plans won 1,100 and native 100"
    assert races.more(summary) == told
    assert f"), {told}, " in races.line(summary)
    assert races.more({"more_races": {"plan": 0, "native": 2, "second": 3}}) == (
        "5 more, of which native won 2 and second plans 3"
    )
    assert races.more({"races": [RACE]}) == races.more(None) == ""
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert main(["explain", str(tmp_path)]) == 0
    assert told in capsys.readouterr().out
    assert main(["explain", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["more_races"] == summary["more_races"]


def killed(folder: Path) -> Path:
    """The record of a run of which a rank was killed, with events."""
    write(
        folder,
        2,
        part(0, 2, calls(5, 0, 0, [9000])),
        part(1, 2, calls(5, 0, 0, [9000]), host=1, finished=0),
        hosts=["a", "b"],
        placement=[0, 1],
    )
    run = Recording(2)
    for at in range(8):
        run.call(Kind.bcast, {rank: (1000 * at, 1000 * at + 500 + rank) for rank in range(2)})
    run.write(folder)
    (folder / "summary.json").unlink(missing_ok=True)
    return folder


@pytest.mark.parametrize("question", [[], ["allreduce", "1MB"], ["--json"]])
def test_explain_says_that_a_run_was_killed_and_what_can_be_done(
    question: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = killed(tmp_path)
    assert main(["explain", str(folder), *question]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "the record of a run that didn't end, or hasn't yet, and so has no summary" in line
    advised = re.findall("`thalweg ([^`]+)`", line)
    assert [each.split()[0] for each in advised] == ["report", "show", "analyse"]
    for command in advised:
        output = ["-o", str(tmp_path / "x.html")] if command.startswith("report") else []
        assert main([*command.split(), *output]) == 0


def test_explain_says_that_a_summary_or_all_but_a_trace_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = killed(tmp_path)
    write(folder, 2, part(0, 2), part(1, 2))
    assert main(["explain", str(folder)]) == 2
    assert "without its summary.json, which world rank 0 wrote" in capsys.readouterr().err
    (folder / "run.json").unlink()
    assert main(["explain", str(folder)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "the trace of a run that didn't end" in line
    assert "thalweg show" not in line
    for file in folder.glob("rank-*"):
        file.unlink()
    assert main(["explain", str(folder)]) == 2
    assert "is neither a network file nor the folder of a run" in capsys.readouterr().err
