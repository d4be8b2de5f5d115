"""What the page of predictions counts."""

from bench.prediction import Tally


def test_the_count_names_the_sizes_that_it_is_of() -> None:
    tally = Tally(held=2, missed=["even openmpi-4.1 bcast"])
    tally.sizes.add(1_000_000)
    assert tally.text() == "2 of 3 predictions at 1MB within 20 %."
    tally.sizes.add(8_000_000)
    assert "at 1MB and 8MB" in tally.text()
