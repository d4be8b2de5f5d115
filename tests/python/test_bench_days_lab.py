"""The two days on the lab: the networks it imposes, and the page."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import days, days_lab, days_lab_page, report, session
from bench.builds import Build
from bench.measurement import Measurement
from bench.page import Page, Part
from bench.report import Figure, Table
from bench.samples import Cell, Sample
from bench.session import Session
from bench.settings import Settings
from thalweg.collective import Kind
from thalweg.errors import UserError

BUILD = Build("mpich-4.0", "mpich", Path("/usr/bin/mpiexec.mpich"))
MOMENTS = days_lab.drifted("cloud")
KEPT = {"mpich": 1.0, "cmpi": 0.7, "ours": 0.5}
ANEW = {"cmpi_anew": 0.63, "ours_anew": 0.4}


def part(hour: float, collective: str = "bcast", **times: float) -> Part:
    labels = {"scenario": "cloud", "build": "mpich-4.0", "collective": collective, "hour": hour}
    own = KEPT | (ANEW if hour else {}) | times
    samples = [
        {"variant": name, "repetition": 0, "time": time, "invalid": []}
        for name, time in own.items()
    ]  # fmt: skip
    simulated = {"hour": hour} | KEPT | ANEW | {"mpich": 1.4}
    facts = {"dilation": 4, "root": 4, "largest_group": 4, "simulated": simulated}
    return Part(labels, facts, samples, "2026-11-26", "abc")


def beside_paper(*parts: Part) -> tuple[dict[str, str], list[str]]:
    table = days_lab_page.contents(parts)[0]
    assert isinstance(table, Table)
    # "least" and "most" are there twice: the later ones are Thalweg's.
    return dict(zip(table.columns, table.rows[0], strict=True)), table.notes


def test_the_page_has_what_the_paper_has() -> None:
    row, notes = beside_paper(part(0.0), part(6.0))
    assert row["paper"] == "30.1 %" and row["CMPI"] == "30 %" and row["hours"] == "2"
    assert row["making it anew gains"] == "10 %" and row["planning anew gains"] == "20 %"
    assert row["Thalweg"] == "50 %" and row["varies by"] == "0 %"
    assert notes[-1].startswith("bcast: CMPI takes 30 % less time") and notes[-1].endswith("holds.")
    assert "4 ranks at most" in notes[2]


def test_an_hour_that_is_slower_or_unsteady_times_do_not_hold() -> None:
    _, notes = beside_paper(part(0.0), part(6.0, cmpi=1.1))
    assert "faster in 1 of 2 hours" in notes[-1] and "does not hold" in notes[-1]


def test_hours_without_a_valid_run_are_left_out() -> None:
    late = part(6.0)
    for sample in late.samples:
        sample["invalid"].append("late")
    row, _ = beside_paper(part(0.0), late)
    times = days_lab_page.contents([late, part(12.0), part(0.0)])[1]
    assert isinstance(times, Table)
    assert [(each[1], each[2]) for each in times.rows] == [
        ("lab", "0"), ("lab", "12"), ("simulator", "0"), ("simulator", "12"),
    ]  # fmt: skip
    assert row["hours"] == "1" and row["planning anew gains"] == "-"
    assert days_lab_page.contents([late]) == []


def test_the_figure_has_a_panel_for_each_collective() -> None:
    figure = days_lab_page.contents([part(0.0), part(0.0, "scatter")])[-1]
    assert isinstance(figure, Figure)
    assert ">bcast<" in figure.svg and ">scatter<" in figure.svg and "MPICH 4.0" in figure.svg


def test_the_timeline_leads_from_hour_to_hour() -> None:
    assert [moment.hour for moment in MOMENTS] == [6.0 * at for at in range(8)]
    found = days_lab.with_timeline(MOMENTS)
    steps = sorted({change["at"] for change in found.document["timeline"]})
    assert len(steps) == len(MOMENTS) - 1
    assert len(found.document["timeline"]) == len(steps) * 16 * 15
    assert len(found.plain["hosts"]) == 16 and len(found.trunks) == 8
    assert steps[0] == "1000000s"


def test_plans_are_for_the_network_that_the_lab_imposes() -> None:
    first, last = MOMENTS[0].network, MOMENTS[-1].network
    apart = ~np.eye(16, dtype=bool)
    assert not np.allclose(np.array(first.latency)[apart], np.array(last.latency)[apart])
    for moment in MOMENTS:
        for a, b in ((0, 1), (7, 3)):
            imposed = moment.scenario.latency(a, b)
            assert moment.network.latency[a, b] == pytest.approx(imposed, rel=1e-6)
        assert list(moment.network.message_costs) == ["mpich"]
    assert first.trunks and first.trunks == last.trunks


def test_groups_are_such_that_mpich_has_binomial_trees() -> None:
    for moment in MOMENTS:
        assert 1 < days_lab.largest_group(moment, Kind.bcast) < 8


def test_cmpi_is_forced_as_printed() -> None:
    assert days_lab.printed(Kind.bcast) == "hierarchical:adjust=printed"
    assert days_lab.printed(Kind.scatter) == "distance-tree:adjust=printed"


def test_what_is_simulated_is_what_runs() -> None:
    hour = days_lab.simulated(Kind.bcast, MOMENTS[0], MOMENTS[0])
    assert hour.cmpi == hour.cmpi_anew and hour.ours == hour.ours_anew
    assert hour.ours < min(hour.mpich, hour.cmpi)


def sample(cell: Cell, time: float) -> Sample:
    return Sample(cell, 0, time, 0.0, True, None, {})


def test_samples_have_the_names_of_the_page() -> None:
    cells = {"cmpi_anew": Cell("bcast", 1, 4, "x"), "ours_anew": Cell("bcast", 1, 4, "thalweg")}
    measured = Measurement()
    measured.valid[cells["cmpi_anew"]] = [sample(cells["cmpi_anew"], 1.0)]
    measured.invalid[cells["ours_anew"]] = [(sample(cells["ours_anew"], 2.0), ["late"])]
    found = days_lab.records(measured, cells)
    assert [(each["variant"], each["invalid"]) for each in found] == [
        ("cmpi_anew", []), ("ours_anew", ["late"]),
    ]  # fmt: skip
    assert json.dumps(found)


class FakeControl:
    left: int  # changes of the timeline

    def __init__(self, _folder: object) -> None:
        pass

    def __enter__(self) -> "FakeControl":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def advance(self) -> None:
        if not FakeControl.left:
            raise UserError("the lab's switch says: the timeline has no change left")
        FakeControl.left -= 1


def test_a_session_advances_to_the_next_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "Control", FakeControl)
    made = object.__new__(Session)
    made.lab = type("Lab", (), {"folder": None})()
    made.scenario, made._bounds = MOMENTS[0].scenario, {("bcast", 1, 0): 1.0}
    FakeControl.left = 1
    made.advance(MOMENTS[1].scenario)
    assert made.scenario is MOMENTS[1].scenario and not made._bounds
    with pytest.raises(UserError, match="no change left"):
        made.advance(MOMENTS[2].scenario)
    assert made.scenario is MOMENTS[1].scenario


def test_names_are_those_of_the_simulated_days() -> None:
    assert list(days_lab_page.names) == list(days.names)
    assert days_lab.labels("cloud", type("B", (), {"name": "b"})(), Kind.bcast, 6.0)["hour"] == 6.0


class FakeSession:
    """A lab that takes as long as the hour and the environment say."""

    ranks = 16
    dilation = 4.0
    folder: Path
    measured: list[tuple[str, str, tuple[str, ...]]]

    def __init__(self, found: Any, _dilation: float | None) -> None:
        self.scenario = found
        FakeSession.measured = []

    def __enter__(self) -> "FakeSession":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def advance(self, now: Any) -> None:
        self.scenario = now

    def measure(
        self, _build: Build, cells: list[Cell], _repetitions: int, environment: dict[str, str],
        _seed: int,
    ) -> Measurement:  # fmt: skip
        hour = next(m.hour for m in MOMENTS if m.scenario.plain == self.scenario.plain)
        plan = Path(environment["THALWEG_PLAN"]).name
        self.measured.append((f"{hour:g}", plan, tuple(cell.variant for cell in cells)))
        found = Measurement()
        found.valid = {cell: [sample(cell, 1.0)] for cell in cells}
        return found


def test_what_is_missing_is_measured_hour_by_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeSession.folder = tmp_path
    monkeypatch.setattr(days_lab, "Session", FakeSession)
    monkeypatch.setattr(days_lab, "drifted", lambda _name: MOMENTS[:3])
    monkeypatch.setattr(days_lab, "with_timeline", lambda moments: moments[0].scenario)
    monkeypatch.setattr(report, "results", tmp_path / "results")
    settings = Settings([BUILD], ["cloud"], repetitions=2, save=False)
    page = Page(settings, days_lab.subject, days_lab_page.contents)
    done = days_lab.labels("cloud", BUILD, Kind.bcast, 6.0)
    monkeypatch.setattr(page, "has", lambda labels: labels == done or "scatter" in labels.values())
    days_lab.measure_on("cloud", settings, page, BUILD)
    tree = days_lab.printed(Kind.bcast)
    assert FakeSession.measured == [
        ("0", "hour-0.plan", ("native", tree, "thalweg")),
        ("12", "hour-0.plan", ("native", tree, "thalweg")),
        ("12", "hour-12.plan", (tree, "thalweg")),
    ]
    assert [part.labels["hour"] for part in page.parts] == [0.0, 12.0]
    assert len(days_lab_page.contents(page.parts)) == 3
