"""Verdicts of docs/papers.md begin with what their pages say of a figure."""

from pathlib import Path

import pytest

from page_verdicts import RESULTS, verdict_faults

PAGE = """
- Figure 1: it is faster in 9 of 9: holds.
- Figure 2, 64 ranks: it is faster in 2 of 9: does not hold.
- Figure 3: it is faster in 6 of 9: holds as to the order, not as to how much.
- Figure 4, drawn: it has a coefficient of 0.96 (good: at least 0.9): holds.
- Figure 4, recorded: it has a coefficient of 0.8 (good: at least 0.9): does not hold.
- Figure 5 shows a network: there is none here.
"""


@pytest.mark.parametrize(
    ("figure", "right", "wrong"),
    [
        ("1", ["Holds: it is faster.", "Holds. On the lab"], ["Holds in part.", "Contradicts it"]),
        ("2", ["Contradicts the paper:", "Does not hold:"], ["Holds for long ones:", "Holds."]),
        ("3", ["Holds in part:", "Holds for costs as to the order"], ["Holds: all", "Not as in"]),
        ("4", ["Holds for drawn patterns"], ["Holds:", "Contradicts"]),
        ("5", ["Nothing is said.", "Holds."], []),
    ],
)
def test_first_words_are_the_pages(
    tmp_path: Path, figure: str, right: list[str], wrong: list[str]
) -> None:
    (tmp_path / RESULTS).mkdir(parents=True)
    (tmp_path / RESULTS / "made.md").write_text(PAGE)

    def faults(verdict: str) -> list[str]:
        row = {
            "figure or table": f"Figure {figure}",
            "page": "`bench/results/made.md`, `bench/results/missing.md`",
            "verdict": verdict,
        }
        return list(verdict_faults(tmp_path, row))

    assert not [found for verdict in right for found in faults(verdict)]
    assert all(len(faults(verdict)) == 1 for verdict in wrong)
