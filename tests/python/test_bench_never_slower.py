"""Cells drawn from a seed: native against Thalweg."""

from dataclasses import asdict

from bench import never_slower
from bench.measurement import Measurement
from bench.never_slower import Drawn
from bench.page import Part
from bench.samples import Cell, Sample, native, thalweg
from thalweg.lab import scenario


def draws(seed: int, name: str = "two-sites") -> list[Drawn]:
    truth = scenario.find(name)
    return [never_slower.draw(truth, "mpich-4.0", number, seed, 4.0) for number in range(100)]


def test_cells_are_the_same_for_the_same_seed() -> None:
    assert draws(1) == draws(1)
    assert draws(1) != draws(2)


def test_cells_of_all_kinds_are_drawn() -> None:
    found = draws(1)
    assert {each.collective for each in found} == set(never_slower.KINDS)
    assert min(each.nbytes for each in found) < 64
    assert max(each.nbytes for each in found) > 2_000_000
    assert any(each.root for each in found)
    for each in found:
        assert 8 <= each.nbytes <= 1 << 23
        assert never_slower.least_repetitions <= each.repetitions <= never_slower.most_repetitions
        before = each.calls * each.warm_ups
        assert never_slower.least_warm_ups <= before < never_slower.most_warm_up_calls + each.calls
    assert max(each.calls for each in found) < 5, "which take long enough"
    assert max(each.calls for each in draws(1, "even")) > 50
    assert min(each.calls for each in draws(1, "even")) == 1
    for each in found:
        if each.collective in ("reduce", "reduce_scatter", "scan"):
            assert each.cell(16, native).size % 8 == 0


def part(collective: str, nbytes: int, of_native: float, uneven: bool = True) -> Part:
    case = Drawn(0, collective, nbytes, 0, 1, 6, 7)
    cells = {variant: case.cell(4, variant) for variant in (native, thalweg)}
    measured = Measurement(dict.fromkeys(cells.values(), 7))
    times = {native: 1.0, thalweg: of_native}
    measured.add(
        [
            _sample(cell, repetition, times[variant] * (1 + 0.001 * (repetition % 3)))
            for variant, cell in cells.items()
            for repetition in range(-6, 7)
        ],
        lambda _: [],
    )
    facts = {**asdict(case), "ranks": 4, "uneven": uneven, "failed_launches": []}
    labels = never_slower.labels("cloud", "mpich-4.0", 0)
    return Part(labels, facts, measured.raw(), "2026-11-25", "abc")


def _sample(cell: Cell, repetition: int, time: float) -> Sample:
    raw = {**asdict(cell), "repetition": repetition, "time": time, "entry_skew": 0.0}
    return Sample(cell, repetition, time, 0.0, True, None, {**raw, "correct": True})


def test_a_cell_is_slower_only_beyond_the_bar() -> None:
    parts = [part("bcast", 8, each) for each in (0.5, 1.02, 1.2)]
    (table,) = never_slower.contents[never_slower.thorough](parts)
    assert [row[-1] for row in table.rows] == ["yes", "yes", "MISSED"]
    assert "so in 2 of 3 cells" in table.notes[1]
    assert len(table.notes) == 2, "small messages have no bar of their own"


def test_gains_are_of_large_messages_on_uneven_scenarios() -> None:
    parts = [
        part("bcast", 100_000, 0.5), part("reduce", 100_000, 0.125),
        part("bcast", 100_000, 0.01, uneven=False), part("barrier", 100_000, 0.01),
    ]  # fmt: skip
    (table,) = never_slower.contents[never_slower.thorough](parts)
    assert "native takes 4.00x as long in the geometric mean of 2 cells" in table.notes[2]
    assert table.notes[2].endswith("met.")


def test_plans_of_a_first_start_have_a_page_of_their_own() -> None:
    assert len({each.name for each in never_slower.subjects.values()}) == 2
    first = [part("bcast", 100_000, each) for each in (0.8, 1.2)]
    (table,) = never_slower.contents[never_slower.quick](first)
    assert [row[-1] for row in table.rows] == ["yes", "MISSED"]
    assert "1 of 2 cells meet it" in table.notes[0]


def test_cells_without_enough_valid_samples_say_why() -> None:
    failed = part("bcast", 8, 0.5)
    failed.facts["failed_launches"].append("it took too long")
    failed = Part(failed.labels, failed.facts, [], failed.date, failed.commit)
    (table,) = never_slower.contents[never_slower.thorough]([failed])
    assert table.rows[0][-1] == "it took too long"
