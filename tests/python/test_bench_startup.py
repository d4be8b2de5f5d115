"""What `thalweg run` adds to a program's start: the page, and runs in a lab that isn't there."""

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import startup, startup_page
from bench.builds import Build
from bench.page import Part
from bench.report import Table
from bench.session import LaunchFailedError
from bench.settings import Settings
from bench.split import split
from bench.startup_page import alone, known, recorded, unseen
from thalweg.lab import counters, launch

LAUNCHER = """#!/bin/bash
# Stands for the launcher and, as the interpreter, for `thalweg run`.
now() { cut -d' ' -f1 /proc/uptime; }
if [[ " $* " == *" thalweg run "* ]]; then
  mkdir -p "$XDG_CACHE_HOME/thalweg"
  [[ -e $XDG_CACHE_HOME/thalweg/seen ]] && verb=using || verb=measuring
  touch "$XDG_CACHE_HOME/thalweg/seen"
  echo "thalweg: $verb the network of 2 hosts" >&2
  echo "thalweg: no run of a program" >&2
fi
[[ $* == *another* && -n $FAILS ]] && exit 3
echo "{\\"begun\\": $(now), \\"done\\": $(now)}" >"${@: -1}"
"""


def part(at: int, dilation: float, **begun: float) -> Part:
    """A lab with a run of each kind; the program takes a second, and its end a tenth."""
    labels = {"scenario": "s", "build": "b", "dilation": dilation, "round": at}
    samples = [
        {
            "variant": name.replace("_", " "), "begun": time, "done": time + 1, "ended": time + 1.1,
            "asked": 0.5, "answered": time - 2, "planning": 0.25, "invalid": [],
        }
        for name, time in begun.items()
    ]  # fmt: skip
    return Part(labels, {}, samples, "2026-11-26", "abc")


def rows(*parts: Part) -> list[dict[str, str]]:
    table, _ = startup_page.contents(parts)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def lab(at: int, dilation: float, *, machine: float, network: float) -> Part:
    """A lab in which `thalweg run` takes so much more than the launcher, on hosts never seen."""
    own = 1 + 0.1 * dilation
    return part(
        at, dilation, launcher_alone=own, hosts_never_seen=own + machine + dilation * network
    )


def test_work_of_the_machine_is_not_divided_by_the_dilation() -> None:
    found = split((4, 2 + 4 * 0.5), (8, 2 + 8 * 0.5))
    assert found.machine == pytest.approx(2)
    assert found.network == pytest.approx(0.5)
    (row,) = rows(*(lab(0, each, machine=2, network=0.5) for each in (4, 8)))
    assert (row["machine"], row["network"], row["added"]) == ("2.00 s", "0.50 s", "2.50 s")
    assert (row["launcher alone"], row["thalweg run"]) == ("1.40 s", "5.40 s")
    assert (row["started on"], row["met"], row["added until exit"]) == (unseen, "yes", "2.50 s")


def test_the_median_of_rounds_is_held_against_the_bar() -> None:
    labs = [
        lab(at, dilation, machine=machine, network=0.5)
        for at, machine in enumerate((1.0, 2.75, 3.0))
        for dilation in (8, 4)
    ]
    (row,) = rows(*labs)
    assert (row["rounds"], row["added"], row["met"]) == ("3", "3.25 s", "MISSED")
    assert row["range"] == "1.50 s to 3.50 s"


def test_a_round_of_one_dilation_does_not_count() -> None:
    assert rows(lab(0, 4, machine=1, network=1), lab(1, 8, machine=1, network=1)) == []


def test_steps_are_beyond_those_of_the_launcher() -> None:
    labs = [lab(0, dilation, machine=3, network=0.25) for dilation in (4, 8)]
    _, table = startup_page.contents(labs)
    assert table.rows == [["s", "b", unseen, "0.50 s", "2.90 s", "0.25 s", "0.35 s", "0.00 s"]]


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """A lab whose hosts run nothing but a script, and a build that is that script."""
    script = tmp_path / "script"
    script.write_text(LAUNCHER)
    script.chmod(0o755)
    monkeypatch.setattr(startup, "Session", FakeSession)
    monkeypatch.setattr(startup, "_invalid", lambda *_: [])
    monkeypatch.setattr(counters, "read", lambda _: None)
    monkeypatch.setattr(launch, "environment", lambda _: {})
    monkeypatch.setattr(launch, "command", lambda _lab, _host, words: list(words))
    monkeypatch.setattr(startup, "_program", lambda session, _, name: session.folder / name)
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setattr(FakeSession, "folder", tmp_path, raising=False)
    return Build("openmpi-4.1", "openmpi", script)


class FakeSession(contextlib.AbstractContextManager["FakeSession"]):
    ranks = 2
    folder: Path

    def __init__(self, name: str, dilation: float) -> None:
        self.name, self.dilation = name, dilation
        self.lab = SimpleNamespace(hosts=["a", "b"])

    def __exit__(self, *_: object) -> None:
        pass


def measured(build: Build, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[Part]:
    """What a run adds to its page, which isn't written."""
    pages: list[Sequence[Part]] = []
    usual = startup_page.contents

    def contents(parts: Sequence[Part]) -> list[Table]:
        pages.append(parts)
        return usual(parts)

    monkeypatch.setattr(startup_page, "contents", contents)
    settings = Settings([build], ["two-sites"], save=False, anew=True, **options)
    startup.run(settings)
    return list(pages[-1])


def test_runs_take_turns_in_both_labs(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(build, monkeypatch, repetitions=1)
    assert [each.labels["dilation"] for each in found] == [4, 8]
    for each in found:
        variants = [sample["variant"] for sample in each.samples]
        by_us = [unseen, known, recorded]
        assert variants == [alone, *by_us, *by_us, alone, alone, *by_us]
        for sample in each.samples:
            assert -0.02 <= sample["begun"] <= sample["done"] + 0.02 <= sample["ended"] + 0.04
            said = [line.split()[1] for line in sample["said"][:1]]
            assert said == {alone: [], unseen: ["measuring"]}.get(sample["variant"], ["using"])
            assert (sample["asked"] is None) == (sample["variant"] == alone)


def test_a_turn_ends_with_a_run_that_fails(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILS", "yes")
    for each in measured(build, monkeypatch, repetitions=1):
        assert {sample["variant"] for sample in each.samples} == {alone, unseen, known}
        assert all(sample["invalid"] for sample in each.samples if sample["variant"] == known)


def test_a_command_that_takes_too_long_is_ended() -> None:
    with pytest.raises(LaunchFailedError, match="longer than"):
        startup._follow(["sleep", "60"], {}, 0.1)
