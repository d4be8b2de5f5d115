from dataclasses import asdict

from bench import inside
from bench.page import Part


def test_a_verdict_is_compared_with_the_truth() -> None:
    case = inside.judge("late rank", 1)
    assert case.right and case.among
    assert case.named == f"late rank {case.culprit}"
    assert inside.judge("clean", 1).right


def test_the_page_counts_the_right_ones_and_lists_the_others() -> None:
    cases = [
        inside.Case(1, 8, "bcast", "rank 1", "late rank rank 1", True, True, 0.2),
        inside.Case(2, 8, "bcast", "rank 2", "", False, False, 0.0),
    ]
    part = Part({"fault": "late rank"}, {}, [asdict(case) for case in cases], "", "")
    found = inside.summary([part])
    assert [str(cell) for cell in found.rows[0]][:4] == ["late rank", "2", "1", "1"]
    assert "nothing" in [str(cell) for cell in inside.misses([part]).rows[0]]
