"""The page of N-body from invented samples."""

from bench import nbody
from bench.page import Part


def part(overhead: float) -> Part:
    times = {"computation": 1.0, "gather": 0.5, "bcast": 0.5, "other": 0.0, "steps": 2}
    samples = [
        {"variant": variant, "total": total, **times}
        for variant, total in (("native", 10.0), ("thalweg", 6.0))
        for _ in range(3)
    ]
    facts = {"bound": 0.1, "overhead": overhead}
    return Part(nbody.labels("cloud", "mpich-4.0"), facts, samples, "2026-11-26", "abc")


def test_overheads_may_cost_more_than_a_run_gains() -> None:
    def row(overhead: float) -> dict[str, str]:
        totals, _ = nbody.contents([part(overhead)])
        return dict(zip(totals.columns, totals.rows[0], strict=True))

    cheap, dear = row(2.0), row(24.0)
    assert cheap["faster"] == dear["faster"] == "1.67x"
    assert (cheap["saved, with overheads"], dear["saved, with overheads"]) == ("20 %", "-200 %")
    assert dear["probing pays after"] == "36 steps"  # of 4 / 6 s
