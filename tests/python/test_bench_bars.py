from bench.bars import Bar, dilation_disagrees


def test_a_bar_that_is_met() -> None:
    assert Bar(times_bound=1.25, times_faster=2.5).missed([1.2] * 7, [3.0] * 7, 1.0) == []


def test_each_part_of_a_bar_is_judged_apart() -> None:
    bar = Bar(times_bound=1.25, times_faster=2.5)
    assert bar.missed([1.3] * 7, [3.9] * 7, 1.0) == ["1.30x bound"]
    assert bar.missed([1.2] * 7, [2.4] * 7, 1.0) == ["2.00x faster"]
    assert bar.missed([2.0] * 7, [2.0] * 7, 1.0) == ["2.00x bound", "1.00x faster"]


def test_without_a_bound_the_distance_to_it_is_not_shown() -> None:
    assert Bar(times_bound=1.25).missed([1.0] * 7, [1.0] * 7, None) == ["no bound"]


def test_never_slower_beyond_noise() -> None:
    bar = Bar(never_slower=True)
    noisy = [1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.02]
    assert bar.missed(noisy, noisy, None) == []
    assert bar.missed([1.5 * t for t in noisy], noisy, None) != []


def test_text_of_a_bar() -> None:
    assert Bar(1.25, 2.5).text() == "<= 1.25x bound, >= 2.5x faster"
    assert Bar(never_slower=True).text() == "not slower beyond noise"


def test_dilations_that_agree_and_disagree() -> None:
    assert dilation_disagrees([1.0] * 7, [1.04] * 7) == ""
    assert dilation_disagrees([1.0] * 7, [1.1] * 7) == "10.0 %"
