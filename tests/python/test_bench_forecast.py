"""The page of forecasts against the best single predictor."""

from bench import forecast
from bench.page import Part


def part(kind: str, values: int, ratios: list[float]) -> Part:
    samples = [
        {"seed": seed, "error": 0.2 * ratio, "best_error": 0.2, "best": "mean 5"}
        for seed, ratio in enumerate(ratios)
    ]
    labels = {"trace": forecast.name_of(kind), "values": values, "first": 0}
    return Part(labels, {}, samples, "", "")


def test_a_kind_of_trace_has_its_ratio_and_its_bar() -> None:
    parts = [part("", 2000, [1.0, 1.0]), part("dj", 2000, [0.9, 1.1]), part("", 300, [1.04])]
    (table,) = forecast.contents(parts)
    assert table.rows == [
        ["2,000", "noise only", "2", "1.000x", "0 %", "1.000x", "<= 1.05x", "yes"],
        ["2,000", "daily course, jumps", "2", "0.995x", "50 %", "1.100x", "<= 1.05x", "MISSED"],
        ["300", "noise only", "1", "1.040x", "0 %", "1.040x", "<= 1.05x", "yes"],
    ]
    assert table.notes[-2].startswith("1 of 4 traces of 2,000 values exceed the bar; the worst")
    assert table.notes[-1].startswith("0 of 1 traces of 300 values")


def test_traces_of_further_seeds_join_those_of_their_kind() -> None:
    (table,) = forecast.contents([part("s", 300, [1.0]), part("s", 300, [1.2])])
    assert [row[2] for row in table.rows] == ["2"]


def test_a_trace_is_the_same_for_the_same_seed() -> None:
    first, second = (forecast.compare("djs", 300, 7) for _ in range(2))
    assert first == second
    assert first["error"] > 0 < first["best_error"]
    assert forecast.trace(1, 50, "") != forecast.trace(2, 50, "")
