"""The page of two simulated days."""

from dataclasses import asdict, replace

from bench import days
from bench.days import Hour
from bench.page import Part
from bench.report import Table
from thalweg.collective import Kind

HOUR = Hour(0.0, mpich=2.0, cmpi=1.0, cmpi_anew=0.99, ours=0.5, ours_anew=0.5)


def part(cloud: int, kind: Kind, placement: str, cmpi: float) -> Part:
    hours = [Hour(hour, 1.0, cmpi, 0.9 * cmpi, 0.5, 0.4) for hour in (0.0, 2.0)]
    labels = days.labels(cloud, kind, placement)
    return Part(labels, {}, [asdict(each) for each in hours], "", "")


def test_the_page_of_days_says_whether_gains_stay() -> None:
    hours = [HOUR, replace(HOUR, hour=2.0, cmpi=2.5)]
    labels = days.labels(1, Kind.bcast, "block")
    table, _, times, _ = days.contents([Part(labels, {}, list(map(asdict, hours)), "", "")])
    assert isinstance(table, Table)
    assert table.rows[0][3:6] == ["12 %", "-25 %", "50 %"]
    assert "faster in 1 of 2 calls" in table.notes[-1]
    assert "vary by more than 10 %" in table.notes[-1]
    assert isinstance(times, Table)
    assert times.rows[0][:4] == ["bcast", "block", "2.00 s", "1.75 s"]


def test_other_clouds_have_a_table_also_where_some_are_missing() -> None:
    parts = [
        part(2, Kind.bcast, "block", 1.5),
        part(1, Kind.bcast, "block", 0.75),
        part(1, Kind.scatter, "random", 1.25),
    ]
    usual, clouds, *_ = days.contents(parts)
    assert isinstance(usual, Table)
    assert isinstance(clouds, Table)
    assert [row[3] for row in usual.rows] == ["25 %", "-25 %"]
    assert [row[3:] for row in clouds.rows] == [
        ["25 %", "-50 %", "10 % to 10 %"],
        ["-25 %", "-", "10 % to 10 %"],
    ]
    assert days.contents([]) == []
