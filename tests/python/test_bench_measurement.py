from bench.measurement import Measurement, judge_by_itself
from bench.samples import Cell, Sample

CELL = Cell("bcast", 8, 0, "native")


def sample(
    time: float = 1.0, skew: float = 0.0, correct: bool = True, repetition: int = 0
) -> Sample:
    return Sample(CELL, repetition, time, skew, correct, None, {"time": time})


def test_a_good_sample_is_valid() -> None:
    assert judge_by_itself(sample()) == []


def test_wrong_results_and_late_ranks_are_refused() -> None:
    assert judge_by_itself(sample(correct=False)) == ["the result was wrong"]
    assert judge_by_itself(sample(time=1, skew=0.051)) == ["ranks entered too far apart"]
    assert judge_by_itself(sample(time=1, skew=0.049)) == []


def test_no_result_without_enough_valid_repetitions() -> None:
    measurement = Measurement({CELL: 3})
    measurement.add(
        [sample(1.0), sample(2.0, skew=1), sample(3.0, correct=False), sample(4.0)],
        judge_by_itself,
    )
    assert measurement.times(CELL) == [1.0, 4.0]
    assert measurement.summary(CELL) is None
    assert measurement.reasons(CELL) == "ranks entered too far apart 1x, the result was wrong 1x"
    measurement.add([sample(2.0)], judge_by_itself)
    summary = measurement.summary(CELL)
    assert summary is not None
    assert summary.median == 2.0


def test_reasons_that_differ_in_numbers_are_counted_together() -> None:
    measurement = Measurement({CELL: 3})
    measurement.add(
        [sample(1.5), sample(2.0), sample(3.0, correct=False)],
        lambda each: [f"{each.time:g} ms late"] if each.correct else ["wrong"],
    )
    assert measurement.reasons(CELL) == "1.5 ms late 2x, wrong 1x"


def test_warm_ups_are_kept_but_not_counted() -> None:
    measurement = Measurement({CELL: 1})
    measurement.add([sample(9.0, repetition=-1), sample(1.0)], judge_by_itself)
    assert measurement.times(CELL) == [1.0]
    assert len(measurement.raw(scenario="even")) == 2
    assert all(record["scenario"] == "even" for record in measurement.raw(scenario="even"))


def test_what_is_kept_can_be_restored() -> None:
    measurement = Measurement({CELL: 3})
    measurement.add(
        [record(-1, 9.0), record(0, 1.0), record(1, 2.0, correct=False), record(2, 3.0)],
        judge_by_itself,
    )
    measurement.failed_launches.append("too long")
    after = Measurement.restored({CELL: 3}, measurement.raw())
    assert after.times(CELL) == [1.0, 3.0]
    assert after.reasons(CELL) == "the result was wrong 1x"
    assert [sample.time for sample in after.warm_ups] == [9.0]
    assert not after.complete(CELL)


def record(repetition: int, time: float, correct: bool = True) -> Sample:
    """A sample with all that its line in a raw file has."""
    raw = {
        "collective": "bcast", "size": 8, "root": 0, "variant": "native", "time": time,
        "repetition": repetition, "entry_skew": 0.0, "correct": correct,
    }  # fmt: skip
    return Sample(CELL, repetition, time, 0.0, correct, None, raw)
