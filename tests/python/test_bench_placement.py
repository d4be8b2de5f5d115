"""The patterns, networks and optima of the page of placements."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import builds, kahip, placement, placement_cases, recording, report
from bench.page import Page, Part
from bench.placement import Size
from bench.placement_cases import matrix, network, patterns
from bench.placement_optimum import all_placements, costs_of, optimum
from bench.placement_page import Case, compared, contents
from bench.placement_programs import Kernel
from bench.settings import Settings
from thalweg import mapping

MADE_FOR = Settings(builds.available()).build_named(recording.native)


def tables(parts: list[Part]) -> list[report.Table]:
    return [each for each in contents(parts) if isinstance(each, report.Table)]


@pytest.mark.parametrize("pattern", patterns)
@pytest.mark.parametrize("ranks", [8, 9, 64])
def test_patterns_have_messages_of_all_ranks(pattern: str, ranks: int) -> None:
    drawn = matrix(pattern, ranks, 1)
    assert drawn.ranks == ranks
    assert set(drawn.sender.tolist()) | set(drawn.receiver.tolist()) == set(range(ranks))
    assert drawn.nbytes.tolist() == matrix(pattern, ranks, 1).nbytes.tolist()


@pytest.mark.parametrize("ranks", [1, 7, 12, 64, 128])
def test_grids_hold_all_ranks(ranks: int) -> None:
    for dimensions in (2, 3):
        assert np.prod(placement_cases.grid(ranks, dimensions)) == ranks


@pytest.mark.parametrize("seed", range(len(placement_cases.drawn_from)))
def test_costs_are_those_of_the_mapping(seed: int) -> None:
    _, net = network(seed, 4)
    program = matrix("random", 6, seed)
    (every,) = all_placements(6, 4, 2)
    some = every[:: len(every) // 50]
    costs = [mapping.cost_of(net, program, row.tolist()).total for row in some]
    assert costs_of(net, program, some) == pytest.approx(costs)


def test_all_placements_are_tried() -> None:
    (every,) = all_placements(4, 3, 2)
    kept = {tuple(row) for row in every.tolist()}
    assert len(kept) == len(every) == 54  # 81, less those with three or four on a host
    _, net = network(1, 3)
    program = matrix("random", 4, 1)
    assert optimum(net, program, 2) == pytest.approx(costs_of(net, program, every).min())


@pytest.mark.parametrize("seed", range(4))
def test_kahip_is_made_to_fit_the_slots_of_another_placement(seed: int) -> None:
    _, net = network(seed, 6)
    program = matrix("stencil-2d", 24, seed)
    usual = mapping.place(net, program, [4] * 6, method="random")
    found = kahip.place(net, program, usual.placement)
    assert found is not None
    assert sorted(found) == sorted(usual.placement)
    # Neighbours in a grid share hosts.
    assert mapping.traffic_of(net, program, found).inter_host < usual.traffic.inter_host
    assert kahip.place(net, program, [0] * 20 + [1] * 4) is None


def test_recorded_programs_have_a_table_of_their_own() -> None:
    drawn = Case(64, 8, "random", "uneven-8-1", 1e-3, {"thalweg": 1.0, "scotch": 2.0, "block": 4.0})
    found = Case(64, 8, "bt 32", "uneven-8-1", 1e-3, {"thalweg": 3.0, "scotch": 4.0, "block": 3.0})
    labels = placement.labels_of(Size(64, 8, 8, 1), Kernel("bt", 32, 1))
    parts = [
        Part({"ranks": 64, "hosts": 8}, {}, [asdict(drawn)], "", ""),
        Part(labels, {}, [asdict(found)], "", ""),
    ]
    by_size, *others, recorded = tables(parts)
    assert by_size.rows[0][:6] == ["64", "8", "1", "0.50x", "0.50x", "0.25x"]
    assert recorded.title == "Recorded matrices"
    assert recorded.rows[0][:8] == ["bt 32", "64", "8", "1", "0.75x", "0.75x", "1.00x", "1.00x"]
    assert recorded.rows[0][-1] == "5.00 ms, met" and recorded.rows[1][0] == "all"
    assert all("bt 32" not in row for table in (by_size, *others) for row in table.rows)


def test_halves_of_the_mapping_are_judged_and_drawn() -> None:
    costs = {"thalweg": 1.0, "scotch": 2.0, "block": 4.0, "random": 10.0,
             "cloudmap-intra": 3.0, "cloudmap-inter": 6.0, "intra-only": 2.0, "inter-only": 1.5,
             }  # fmt: skip
    case = Case(64, 8, "random", "uneven-8-1", 1e-3, costs, costs, costs)
    parts = [Part({"ranks": 64, "hosts": 8}, {}, [asdict(case)], "", "")]
    notes = " ".join(note for each in tables(parts) for note in each.notes)
    assert "at random, costs 0.30x of a random placement, random groups" in notes
    assert "0.60x, both together by Scotch, as CloudMap, 0.20x and by Thalweg 0.10x" in notes
    assert "So the better half saves 70 %, Scotch 80 % and Thalweg 90 %" in notes
    assert "at most 50 % of Scotch's): holds as to the order, not as to how much." in notes
    assert "keeps successive ranks together, cost 0.20x and 0.15x." in notes
    assert "it is never above these by construction" in notes
    assert "have 0.10x of a random placement's bytes between hosts and 0.10x of its" in notes
    drawn = [each.svg for each in contents(parts) if isinstance(each, report.Figure)]
    assert len(drawn) == 1 and "Figure 15: CommTime" in drawn[0]
    for half, verdict in ((1.5, "does not hold"), (7.0, "holds")):  # beside Scotch's
        other = asdict(case) | {"costs": costs | {"cloudmap-inter": half, "cloudmap-intra": 8.0}}
        (note,) = notes_on("Figure 13", other)
        assert f": {verdict}. Thalweg's forms" in note


def notes_on(figure: str, case: dict[str, Any]) -> list[str]:
    parts = [Part({"ranks": 64, "hosts": 8}, {}, [case], "", "")]
    return [note for each in tables(parts) for note in each.notes if note.startswith(figure)]


def test_figure_15_is_a_correlation() -> None:
    costs = dict.fromkeys(["thalweg", *compared], 1.0)
    between = {"thalweg": 1.0, "scotch": 2.0, "block": 3.0, "random": 4.0}
    for last, ends in ((6.0, "1.00 over 3 placements"), (1.0, "-1.00 over 3 placements")):
        step = (last - 2.0) / 4 if last > 2 else -0.5
        comm_time = {"random": 4.0} | {
            each: 2.0 + step * (between[each] - 1) for each in ("thalweg", "scotch", "block")
        }
        case = Case(64, 8, "random", "uneven-8-1", 1e-3, costs, between, comm_time)
        (note,) = notes_on("Figure 15", asdict(case))
        verdict = "holds" if step > 0 else "does not hold"
        assert f"Here its coefficient is {ends}" in note and note.endswith(f": {verdict}.")


def test_each_recorded_size_is_one_of_the_drawn_ones() -> None:
    assert set(placement.recorded) <= {size.ranks for size in placement.sizes}
    for kernels in placement.recorded.values():
        assert [each.name for each in kernels] == ["lu", "bt", "cg", "mg"]


@pytest.mark.skipif(not MADE_FOR, reason="Open MPI isn't installed")
def test_a_recorded_program_is_a_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert MADE_FOR
    monkeypatch.setattr(placement, "sizes", (Size(8, 4, 2, 8),))
    monkeypatch.setattr(placement, "recorded", {8: (Kernel("mg", 4, 1),)})
    settings = Settings([MADE_FOR], save=False, networks=2, anew=True)
    page = Page(settings, placement.subject, contents)
    placement.add_recorded(page, settings)
    (part,) = page.parts
    assert part.labels == {"ranks": 8, "hosts": 4, "recorded": "mg 4"}
    assert [case["network"] for case in part.samples] == [
        network(seed, 4)[0] for seed in (settings.seed, settings.seed + 1)
    ]
    for case in part.samples:
        assert 0 < case["costs"]["thalweg"] <= case["costs"]["block"]


def test_without_a_library_nothing_is_recorded() -> None:
    settings = Settings([], save=False, anew=True)
    page = Page(settings, placement.subject, contents)
    placement.add_recorded(page, settings)
    assert not page.parts
