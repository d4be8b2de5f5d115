"""The page about tables at sizes between those that were planned."""

from dataclasses import asdict, replace

from bench import families, regret
from bench.page import Part
from thalweg import planner
from thalweg.collective import Kind

CASE = regret.Case(
    "star-8-2", "mpich", "allreduce", 1024, 0, "ring", 1.5, "recursive doubling", 1.0
)


def test_sizes_lie_about_powers_of_two_and_fit_into_all_blocks() -> None:
    whole, blocks = list(regret.sizes(1)), list(regret.sizes(16))
    assert whole[:4] == [7, 8, 9, 12]
    assert max(whole) == 3 << 21
    assert blocks == [size for size in whole if 16 * size < 1 << 23]


def test_a_table_without_rows_is_native() -> None:
    drawn = families.drawn(2, 6)
    options = planner.Options(library=drawn.library)
    kinds = [Kind.allreduce]
    table = planner.make_table(drawn.network, drawn.placement, kinds, options, 1 << 12)
    planned = regret.judge(drawn, table, Kind.allreduce, 1 << 10)
    assert planned.regret == planned.row_time / planned.plan_time - 1
    assert planned.row_time > 0 < planned.plan_time
    native = regret.judge(drawn, planner.Table(drawn.placement, []), Kind.allreduce, 1 << 10)
    assert native.row == "native"
    assert native.plan_time == planned.plan_time


def test_the_page_counts_by_collective_and_lists_the_worst_first() -> None:
    cases = [
        CASE,
        replace(CASE, row_time=1.1),
        replace(CASE, row_time=0.9),
        replace(CASE, collective="bcast", row_time=3.0),
    ]
    summary, worst = regret.contents([Part({}, {}, [asdict(each) for each in cases], "", "")])
    assert summary.rows == [
        ["allreduce", "3", "2", "1", "16.7 %", "50 %"],
        ["bcast", "1", "1", "1", "200.0 %", "200 %"],
    ]
    assert [row[-1] for row in worst.rows] == ["200 %", "50 %", "10 %", "-10 %"]
