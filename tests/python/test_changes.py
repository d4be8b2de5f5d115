"""What a run's summary says of plans that followed the network, in words."""

import json
from pathlib import Path
from typing import Any

import pytest

from thalweg import changes
from thalweg.cli import main
from thalweg.preparation import Preparation

CAUSE: dict[str, Any] = {
    "what": "egress",
    "name": "the egress of host1",
    "from": ["host1"],
    "to": ["host0", "host2", "host3"],
    "factor": 8.0,
    "excess": 0.002,
}
CHANGE: dict[str, Any] = {
    "collective": "bcast",
    "root": 3,
    "size": 65536,
    "ranks": 4,
    "leader": 0,
    "call": 120,
    "epoch": 7,
    "adopted": 163,
    "seconds": {"usual": 0.01, "noticed": 0.05, "after": 0.012},
    "outcome": "adopted",
    "quantity": "bandwidth",
    "causes": [CAUSE],
    "plans": [
        {
            "collective": "bcast", "root": 3, "size": 65536, "before": "pipelined-chain",
            "after": "binomial", "predicted": {"before": 0.06, "after": 0.011},
        }
    ],
}  # fmt: skip


def test_the_line_says_what_changed_and_what_it_won() -> None:
    assert changes.line({"changes": [CHANGE]}) == (
        "plans changed once (bandwidth of the egress of host1: 8 times worse; "
        "calls take 12ms instead of 50ms, 76 % less)"
    )
    assert changes.line({}) == changes.line(None) == ""


def test_the_line_says_what_all_changes_won_and_what_was_predicted_wrongly() -> None:
    less = CHANGE | {"seconds": {"usual": 0.01, "noticed": 0.05, "after": 0.04}}
    back = CHANGE | {"outcome": "taken back", "seconds": less["seconds"] | {"after": 0.1}}
    open_ = CHANGE | {"seconds": less["seconds"] | {"after": 0.0}}
    assert changes.line({"changes": [less, back, CHANGE]}) == (
        "plans changed 3 times (won 20 % to 76 % of a call's time, 1 taken back; "
        "last: bandwidth of the egress of host1: 8 times worse; "
        "calls take 12ms instead of 50ms, 76 % less), 2 predictions off by more than 20 % "
        "(most: binomial for bcast of 64KiB with root 3: predicted 11ms, took 100ms)"
    )
    assert changes.line({"changes": [open_, open_]}).endswith(
        "not yet compared when the run ended)"
    )


def test_the_line_lists_losses_apart() -> None:
    def after(seconds: float) -> dict[str, Any]:
        return CHANGE | {"plans": [], "seconds": CHANGE["seconds"] | {"after": seconds}}

    back = after(0.2) | {"outcome": "taken back"}
    for found, said in [
        ([after(0.0465), after(0.075), after(0.025)],
         "won 7 % to 50 % of a call's time, 1 took 50 % more"),
        ([after(0.025), after(0.055), after(0.075), back],
         "won 50 % of a call's time, 2 took 10 % to 50 % more, 1 taken back"),
        ([after(0.075), after(0.075)], "2 took 50 % more"),
        ([after(0.05), after(0.05)], "won 0 % of a call's time"),
    ]:  # fmt: skip
        line = changes.line({"changes": found})
        assert line.startswith(f"plans changed {len(found)} times ({said}; last: "), line


def test_plans_that_the_run_ended_before_are_told_as_undecided() -> None:
    early = CHANGE | {"adopted": 0}
    open_ = early | {"outcome": "open"}
    assert changes.story(early) == changes.story(open_)
    assert changes.line({"changes": [early]}) == changes.line({"changes": [open_]})
    assert "(the run ended before that was decided; last" in changes.line(
        {"changes": [early, open_]}
    )


def test_the_line_says_what_was_noticed_in_vain() -> None:
    vain = CHANGE | {"adopted": 0, "outcome": "nothing better"}
    improvement = vain | {"improvement": True, "outcome": "no memory"}
    assert changes.line({"changes": [vain]}) == (
        "plans stayed once (nothing better was found; last: call 120 of bcast of 64KiB with root 3 "
        "took 50ms instead of the usual 10ms)"
    )
    assert changes.line({"changes": [vain, improvement, CHANGE, vain], "dilation": 2}) == (
        "plans changed once (bandwidth of the egress of host1: 8 times worse; "
        "calls take 6ms instead of 25ms, 76 % less), 1 prediction off by more than 20 % "
        "(most: binomial for bcast of 64KiB with root 3: predicted 11ms, took 6ms); "
        "plans stayed 3 times (2 times nothing better was found, 1 time a rank had no memory for "
        "new plans; last: call 120 of bcast of 64KiB with root 3 took 25ms instead of the usual "
        "5ms)"
    )


def test_the_story_tells_when_why_what_and_what_came_of_it() -> None:
    assert changes.story(CHANGE) == [
        "bcast of 64KiB with root 3, 4 ranks: call 120 took 50ms instead of the usual 10ms",
        "  bandwidth of the egress of host1: 8 times worse",
        "  bcast of 64KiB with root 3: binomial replaces pipelined-chain, predicted 60ms -> 11ms",
        "  from the communicator's call 163 on: calls take 12ms instead of 50ms, 76 % less",
    ]
    slower = changes.story(CHANGE, dilation=2)
    assert slower[0].endswith("call 120 took 25ms instead of the usual 5ms")
    assert slower[-2].endswith("calls take 6ms instead of 25ms, 76 % less")
    assert slower[-1] == "  binomial was predicted to take 11ms, and took 6ms (-45 %)"
    vain = CHANGE | {"adopted": 0, "outcome": "no memory", "causes": []}
    assert changes.story(vain)[1:] == [
        "  no change of the network explains it",
        "  the plans stayed: a rank had no memory for new plans",
    ]
    back = changes.story(CHANGE | {"outcome": "taken back"})
    assert back[-1].endswith("taken back, since calls took 12ms instead of 50ms")


def test_the_story_says_what_is_not_known() -> None:
    seconds = {"usual": 0.0, "noticed": 0.0, "after": 0.0}
    (first, *_) = changes.story(CHANGE | {"improvement": True, "seconds": seconds})
    assert first.endswith("call 120: planned once more, for calls as they follow each other")
    (first, *_, last) = changes.story(CHANGE | {"seconds": seconds | {"noticed": 0.05}})
    assert first.endswith("call 120 took 50ms, which wasn't predicted")
    assert last.endswith("on: not yet compared when the run ended")
    same = [CHANGE["plans"][0] | {"after": "pipelined-chain"}]
    assert (
        ": another pipelined-chain replaces pipelined-chain, "
        in changes.story(CHANGE | {"plans": same})[2]
    )


def test_causes_are_named() -> None:
    between = CAUSE | {"name": "from the site of a0 to that of b0"}
    assert changes.cause_text(between, "latency") == (
        "latency from the site of a0 to that of b0: 2ms more"
    )
    assert changes.cause_text(CAUSE | {"factor": 0.5}, "bandwidth") == (
        "bandwidth of the egress of host1: 2 times better"
    )


def test_a_recovery_is_told() -> None:
    recovery = CHANGE | {
        "recovery": True, "seconds": {"usual": 0.012, "noticed": 0.012, "after": 0.01},
        "causes": [CAUSE | {"factor": 0.3}],
    }  # fmt: skip
    assert changes.story(recovery)[0].endswith(
        "call 120 took 12ms as before, but less with the plans before: "
        "the network may have recovered"
    )


def test_an_improvement_is_told() -> None:
    improvement = CHANGE | {
        "improvement": True, "seconds": {"usual": 0.05, "noticed": 0.05, "after": 0.03},
        "causes": [],
    }  # fmt: skip
    assert changes.story(improvement)[:2] == [
        "bcast of 64KiB with root 3, 4 ranks: "
        "call 120 took 50ms as usual: planned once more, for calls as they follow each other",
        "  the network is as it was known",
    ]
    assert "calls take 30ms instead of 50ms" in changes.line({"changes": [improvement]})


def test_ranks_are_told_to_adapt_only_if_they_race(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = tmp_path / "my.plan"
    plan.write_bytes(b"a plan")
    prepared = Preparation.__new__(Preparation)
    object.__setattr__(prepared, "plan", plan)
    object.__setattr__(prepared, "launcher", type("L", (), {"flavour": "openmpi"})())
    for own in ("", "1", "0"):
        monkeypatch.setenv("THALWEG_ADAPT", own)
        assert prepared.environment()["THALWEG_ADAPT"] == "0"
        assert prepared.environment(adapt=True)["THALWEG_ADAPT"] == "1"
        assert prepared.environment(adapt=True, race=False)["THALWEG_ADAPT"] == "0"


def test_explain_tells_of_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vain = CHANGE | {"adopted": 0, "outcome": "nothing better", "ranks": 16, "root": 15}
    (tmp_path / "summary.json").write_text(json.dumps({"changes": [CHANGE, vain]}))
    assert main(["explain", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        *changes.story(CHANGE),
        *changes.story(vain),
        f"no race in run {tmp_path} came to a verdict",
    ]
    assert main(["explain", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"] == [CHANGE, vain]


@pytest.mark.parametrize(
    ("quantity", "lost", "value", "said"),
    [
        ("bandwidth", "factor", None, 'lacks "factor"'),
        ("bandwidth", "factor", 0, '."factor" must be more than 0'),
        ("latency", "excess", None, 'lacks "excess"'),
    ],
)
def test_a_cause_without_what_changed_is_said(
    quantity: str, lost: str, value: float | None, said: str,
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    cause = {name: each for name, each in CAUSE.items() if name != lost}
    cause |= {} if value is None else {lost: value}
    summary = {"changes": [CHANGE | {"quantity": quantity, "causes": [cause]}]}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert main(["explain", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert '"changes"[0]."causes"[0]' in line and said in line


def test_explain_names_the_option_only_where_plans_did_not_follow_the_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*question: str) -> str:
        assert main(["explain", str(tmp_path), *question]) == 0
        return capsys.readouterr().out.splitlines()[-1]

    unnoticed = "; no change of the network was noticed"
    unknown = f"{unnoticed}, or plans didn't follow it (--adapt on)"
    summary, described = tmp_path / "summary.json", tmp_path / "run.json"
    summary.write_text("{}")
    assert told().endswith(unknown), "a trace doesn't say how it was launched"
    without = "; plans follow the network only with --adapt on"
    for found, expected in (
        ({"launch": {"command": ["mpirun", "-n", "2", "./app"]}}, without),
        ({"launch": {"command": ["mpirun", "-x", "THALWEG_ADAPT=0", "./app"]}}, without),
        ({"launch": {"command": ["mpiexec", "-genv", "THALWEG_ADAPT", "0", "./app"]}}, without),
        ({"launch": {"command": ["mpirun", "-x", "THALWEG_ADAPT=1", "./app"]}}, unnoticed),
        ({"launch": {"command": ["mpiexec", "-genv", "THALWEG_ADAPT", "1", "./app"]}}, unnoticed),
        ({"launch": {"command": ["mpirun", "--mca", "list", "A=1;THALWEG_ADAPT=1"]}}, unnoticed),
        ({"launch": None}, unknown),
        ([], unknown),
    ):
        described.write_text(json.dumps(found))
        assert told().endswith(expected)
    summary.write_text(json.dumps({"everything_native": "THALWEG is off"}))
    assert told().endswith("; everything was native (THALWEG is off)")
    described.unlink()
    summary.write_text(json.dumps({"changes": [CHANGE]}))
    assert told("reduce").endswith("; no change of the network was noticed in such calls")


def test_the_help_of_explain_says_that_it_tells_of_changes_and_races(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explain", "--help"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "change of the network was noticed" in words
    assert "raced against" in words
