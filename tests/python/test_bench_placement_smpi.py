"""Programs in several placements, simulated by SMPI."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from bench import builds, recording, uneven
from bench.page import Part
from bench.placement_gains import block_planned, planned, speedup_of, timed
from bench.placement_programs import Kernel, compared
from bench.placement_smpi import Case, Programs, instances
from bench.placement_smpi_page import contents
from bench.settings import Settings

MADE_FOR = Settings(builds.available()).build_named(recording.native)
LABELS = {"scenario": "uneven-pairs", "time": "morning", "hosts": 8, "slots": 8,
          "program": "cg", "size": 96}  # fmt: skip


def part(taken: dict[str, float], **labels: Any) -> Part:
    facts = {"cost": dict.fromkeys(compared, 3.0) | {"thalweg": 2.0}}
    samples = [{"variant": each, "simulated": time} for each, time in taken.items()]
    return Part(LABELS | labels, facts, samples, "2026-11-28", "abc")


def test_a_gain_is_over_the_fastest_rival_and_of_plans_where_they_were_run() -> None:
    native = dict.fromkeys(compared, 4.0) | {"scotch": 3.0, "thalweg": 2.0}
    assert speedup_of(native) == 1.5
    assert speedup_of(native | {"interleave": 2.5}) == 1.25
    assert speedup_of(native | {planned: 1.0, block_planned: 0.5}) == 3.0


def test_what_cloudmap_compares_is_told_of_programs_that_scotch_can_map() -> None:
    native = dict.fromkeys(compared, 4.0) | {"scotch": 5.0, "thalweg": 2.0}
    silent = {name: 1.0 for name in compared if name != "scotch"}
    (table,) = contents([part(native), part(silent, program="nbody", size=100)])
    said = "64 ranks on 8 hosts, over CloudMap's baseline (interleave), geometric means of 1 "
    (note,) = [each for each in table.notes if each.startswith(said)]
    assert note.endswith("Scotch's placements, with which it places, 0.80x, Thalweg's 2.00x.")


def test_the_page_says_what_is_gained_and_lost_by_size() -> None:
    fast = dict.fromkeys(compared, 4.0) | {"thalweg": 2.0}
    slow = dict.fromkeys(compared, 1.0) | {"thalweg": 1.25}
    (table,) = contents([part(slow, hosts=32), part(fast), part(fast, program="bt", size=32)])
    assert [row[0] for row in table.rows] == ["8", "8", "32"]
    column = table.columns.index("gain")
    assert [row[column] for row in table.rows] == ["2.00x", "2.00x", "0.80x"]
    assert [row[column + 1] for row in table.rows] == ["1.50x"] * 3
    notes = " ".join(table.notes)
    assert "this isn't the model that [smpi-lab.md](smpi-lab.md) holds against the lab" in notes
    assert "64 ranks on 8 hosts, geometric means: gain 2.00x" in notes
    assert "2 of 2 programs gain 1.5x or more" in notes
    assert "in 1 of 3 rows: cg 96 on uneven-pairs in the morning, 32 hosts, 0.80x." in notes


def test_larger_clouds_are_drawn_like_the_labs() -> None:
    assert {(each.hosts, each.slots) for each in instances} == {(8, 8), (32, 8), (8, 32)}
    for name, (spread, _, _) in uneven.spreads.items():
        small, large = (uneven.network(name, "morning", hosts) for hosts in (8, 32))
        assert (len(small.hosts), len(large.hosts)) == (8, 32)
        for net in (small, large):
            latencies = [net.latency_between(a, b) for a, b in ((0, 1), (3, 2), (5, 7))]
            assert all(0.0005 <= each <= 0.0005 * spread * 1.001 for each in latencies)


@pytest.mark.skipif(
    not (MADE_FOR and shutil.which("smpirun")), reason="SimGrid or Open MPI isn't installed"
)
def test_a_program_is_recorded_placed_and_simulated(tmp_path: Path) -> None:
    assert MADE_FOR
    kernel = Kernel("bt", 16, 1)
    programs = Programs(MADE_FOR, tmp_path)
    recorded = programs.recorded(kernel, 16)
    assert recorded.matrix.ranks == 16 and programs.recorded(kernel, 16) is recorded
    net = uneven.network("uneven-pairs", "morning", 4)
    case = Case(net, 4, timed, *programs.built(kernel), tmp_path)
    facts, samples = case.simulate(kernel, recorded)
    taken = {each["variant"]: each["simulated"] for each in samples}
    assert facts["cost"]["thalweg"] <= facts["cost"]["block"]
    assert "gain" not in facts  # it follows from the samples, by today's list of rivals
    # Ranks that all are elsewhere take another time; the same placement, exactly the same.
    assert taken["block"] != taken["interleave"]
    assert case.simulate(kernel, recorded)[1] == samples
