import pytest

from bench.progress import Progress, duration


class Clock:
    """Says the time that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_rest_is_estimated_from_what_was_taken() -> None:
    clock = Clock()
    progress = Progress({"a": 60, "b": 120, "c": 240}, clock)
    assert progress.announcement("a") == "part 1 of 3: a: about 60 s; then about 6 min for the rest"
    with progress.part("a"):
        clock.now += 120
    # Twice as long as expected: so will the others be.
    assert progress.announcement("b") == (
        "part 2 of 3: b: about 4 min; then about 8 min for the rest"
    )
    with progress.part("b"):
        clock.now += 60  # 180 s for what was expected to take 180 s
    assert progress.announcement("c") == "part 3 of 3: c: about 4 min"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5, "about 5 s"), (89, "about 89 s"), (100, "about 2 min"), (3600, "about 1 h 0 min"),
     (7800, "about 2 h 10 min")],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
