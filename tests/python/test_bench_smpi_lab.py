"""The page of programs on the lab and simulated, and how programs are built for both."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import smpi_lab, smpi_model
from bench.builds import Build
from bench.page import Part
from bench.session import LaunchFailedError
from bench.settings import Settings
from thalweg.lab import counters, scenario

IS = smpi_model.programs["is"]


def part(program: str, lab: dict[str, list[float]], simulated: dict[str, float]) -> Part:
    labels = {"scenario": "cloud", "build": "mpich-4.0", "program": program}
    facts = {"ranks": 16, "dilation": 8, "simulated": simulated, "computing": 0.16}
    samples = [
        {"variant": variant, "round": turn, "time": time, "late": 0.01, "invalid": []}
        for variant, times in lab.items() for turn, time in enumerate(times)
    ]  # fmt: skip
    return Part(labels, facts, samples, "2026-11-26", "abc")


def rows(table: Any) -> list[dict[str, str]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_simulated_times_are_held_against_the_median_of_the_lab() -> None:
    lab = {"native": [1.0, 1.1, 5.0], "thalweg": [0.5, 0.5, 0.5]}
    compared, gains = smpi_lab.contents([part("cg", lab, {"native": 1.0, "thalweg": 0.6})])
    native, ours = rows(compared)
    assert native["variant"] == "native" and ours["variant"] == "Thalweg"
    assert native["simulated over lab"] == "0.91x" and native["within 10 %"] == "yes"
    assert ours["simulated over lab"] == "1.20x" and ours["within 10 %"] == "MISSED"
    assert "Within 10 % of the lab: 1 of 2 (wanted: all): MISSED." in compared.notes
    (gain,) = rows(gains)
    assert gain["gain, lab"] == "2.20x" and gain["gain, simulated"] == "1.67x"
    # 0.16 s on one core are 0.02 s of a lab whose time is dilated 8 times.
    assert gain["computing, at most"] == "1.8 %" and gain["late frames"] == "1.0 %"


def test_invalid_runs_are_left_out_and_counted() -> None:
    made = part("is", {"native": [1.0, 9.0], "thalweg": [1.0]}, {"native": 1.0, "thalweg": 1.0})
    made.samples[1]["invalid"].append("late")
    compared, gains = smpi_lab.contents([made])
    assert rows(compared)[0]["most"] == "1.00 s" and rows(compared)[0]["runs"] == "1"
    assert rows(gains)[0]["invalid runs"] == "1"
    assert "1 of 1" not in compared.notes[-1] and compared.notes[-1].endswith(": met.")


def test_what_has_no_valid_run_has_a_row_and_is_missed() -> None:
    made = part("cg", {"native": [1.0], "thalweg": [1.0]}, {"native": 1.0, "thalweg": 1.0})
    made.samples[1]["invalid"].append("late")
    compared, gains = smpi_lab.contents([made])
    assert [row["within 10 %"] for row in rows(compared)] == ["yes", "MISSED: no valid run"]
    assert compared.notes[-1] == "Within 10 % of the lab: 1 of 2 (wanted: all): MISSED."
    assert rows(gains)[0]["gain, lab"] == "-" and rows(gains)[0]["invalid runs"] == "1"


def test_a_wrong_result_is_missed_whatever_other_runs_took() -> None:
    made = part("cg", {"native": [1.0], "thalweg": [1.0]}, {"native": 1.0, "thalweg": 1.0})
    wrong = {"variant": "thalweg", "round": 1, "invalid": [smpi_lab.wrong_result]}
    compared, _ = smpi_lab.contents([replace(made, samples=[*made.samples, wrong])])
    assert [row["within 10 %"] for row in rows(compared)] == ["yes", "MISSED: wrong result"]


def test_the_time_is_what_the_program_printed_unless_it_is_wrong() -> None:
    assert smpi_model.seconds_of("hello\nspan 0.250000000 s\n", "cg") == 0.25
    for said in ("nothing", "WRONG\nspan 1.0 s\n", "Verification = UNSUCCESSFUL\nspan 1.0 s\n"):
        with pytest.raises(ValueError, match="cg printed"):
            smpi_model.seconds_of(said, "cg")


def test_programs_are_those_of_the_simulation_alone() -> None:
    assert list(smpi_model.programs) == list(smpi_lab.run_seconds)
    assert smpi_lab.chosen(Settings([], programs=["is", "cg"])) == ["cg", "is"]
    assert IS.words(32) == ["32", "S"]


def test_options_replace_those_of_the_model_without_costs() -> None:
    names = [each.removeprefix("--cfg=").split(":")[0] for each in smpi_model.options()]
    assert len(names) == len(set(names))
    assert "smpi/os" in names and "network/latency-factor" not in names
    assert "--cfg=network/model:SMPI" in smpi_model.options()
    assert "--cfg=smpi/lat-factor:0:1;19457:3" in smpi_model.options()


def test_headers_let_a_program_for_smpi_compile_without(tmp_path: Path) -> None:
    folder = smpi_model.without_smpi(tmp_path)
    assert (folder / "smpi" / "mpi.h").read_text() == "#include <mpi.h>\n"
    assert "TRACE_smpi_set_category" in (folder / "simgrid" / "instr.h").read_text()


BUILD = Build("mpich-4.0", "mpich", Path("/usr/bin/mpiexec.mpich"))


class FakeSession:
    """A lab whose programs take 8 s of this machine, and fail at every third run."""

    lab = None
    dilation = 8.0
    scenario = scenario.find("cloud")

    def __init__(self) -> None:
        self.environments: list[dict[str, str]] = []

    def run(self, _build: Build, _words: list[str], environment: dict[str, str]) -> str:
        self.environments.append(environment)
        if len(self.environments) % 3 == 0:
            raise LaunchFailedError("cg ended with status 1")
        return "span 8.000000000 s\n"


class FakeModel:
    plan = Path("plan.bin")


def counted(**other: Any) -> counters.Counters:
    usual: dict[str, Any] = {
        "dilation": 8.0, "hosts": ("a", "b"), "elapsed": 0.0, "busy": 0.0, "frames": 0,
        "pair_bytes": ((0, 0), (0, 0)), "drops": {}, "late": 0, "lateness": (0, 0),
        "lateness_edges": (1e-5, 1e-3), "host_drops": (0, 0), "retransmits": (0, 0),
        "steal": 0.0, "run_queue_delay": 0.0,
    }  # fmt: skip
    return counters.Counters(**usual | other)


def test_runs_take_turns_until_there_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "read", lambda _lab: counted())
    session: Any = FakeSession()
    model: Any = FakeModel()
    found = smpi_lab.in_turn(session, BUILD, model, ["cg"], 2)
    assert len(smpi_lab.valid(found, "native")) >= 2 <= len(smpi_lab.valid(found, "thalweg"))
    ended = [each for each in found if not each["invalid"]]
    assert [each["time"] for each in ended] == [1.0] * len(ended)
    assert found[2]["invalid"] == ["cg ended with status 1"] and "time" not in found[2]
    assert [bool(each) for each in session.environments[:4]] == [False, True, False, True]
    assert session.environments[1]["THALWEG_PLAN"] == "plan.bin"


def test_runs_that_stay_invalid_end(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter(range(1000))
    monkeypatch.setattr(
        counters, "read", lambda _lab: counted(elapsed=(at := next(readings)), busy=at, frames=at)
    )
    session: Any = FakeSession()
    model: Any = FakeModel()
    found = smpi_lab.in_turn(session, BUILD, model, ["cg"], 3)
    assert not smpi_lab.valid(found, "native") and len(session.environments) == 2 * 2 * 3
    assert "the switch was busy" in found[0]["invalid"][0]


@pytest.mark.parametrize("said", ["span 8.0 s\nWRONG\n", "Verification = UNSUCCESSFUL\n"])
def test_a_wrong_result_is_a_sample(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setattr(counters, "read", lambda _lab: counted())
    monkeypatch.setattr(FakeSession, "run", lambda *_: said)
    session: Any = FakeSession()
    model: Any = FakeModel()
    found = smpi_lab.in_turn(session, BUILD, model, ["cg"], 1)
    assert [each["invalid"] for each in found] == [[smpi_lab.wrong_result]] * 4
