"""The first sentences of a run's page."""

from pathlib import Path

import pytest
from recorded import Recording
from test_record import calls, member, part, write

from thalweg import record
from thalweg.analysis import findings, words
from thalweg.cli import main
from thalweg.collective import Kind
from thalweg.report import run_lead

BCAST, ALLREDUCE = 0, 1


def recorded(folder: Path, *calls_of_ranks: list[bytes]) -> record.Run:
    """The record of ranks on a host each, with these calls."""
    folder.mkdir(exist_ok=True)
    ranks = len(calls_of_ranks)
    parts = [
        part(rank, ranks, *each, member(5, rank, ranks, 0), host=rank)
        for rank, each in enumerate(calls_of_ranks)
    ]
    write(
        folder, ranks, *parts, hosts=[f"n{rank}" for rank in range(ranks)],
        placement=list(range(ranks)), collectives=["bcast", "allreduce"],
    )  # fmt: skip
    return record.read(folder)


def without_events(run: record.Run) -> str:
    return " ".join(run_lead.lead(run, run_lead.costs(run, None), None))


def test_the_rank_that_waits_least_is_named(tmp_path: Path) -> None:
    usual, late = [calls(5, 0, ALLREDUCE, [9000] * 3)], [calls(5, 0, ALLREDUCE, [1000] * 3)]
    assert "Rank 2 spent the least time" in without_events(
        recorded(tmp_path / "late", usual, usual, late, usual)
    )
    assert "the least time" not in without_events(
        recorded(tmp_path / "even", usual, usual, usual, usual)
    )


@pytest.mark.parametrize(
    "apart", [[], [calls(5, 0, BCAST, [10] * 3)], [calls(5, 0, ALLREDUCE, [9000])]]
)
def test_a_rank_that_makes_other_calls_waits_for_nobody(tmp_path: Path, apart: list[bytes]) -> None:
    usual = [calls(5, 0, ALLREDUCE, [9000] * 3), calls(5, 0, BCAST, [9000] * 3)]
    found = without_events(recorded(tmp_path, apart, usual, usual, usual))
    assert "the least time" not in found


def two_kinds(wait: int) -> Recording:
    """Bcasts that wait for their root, and allreduces without late ranks."""
    run = Recording(3)
    for number in range(20):
        begin = 10**9 + 10**7 * number
        times = {0: (begin + wait, begin + wait + 10_000)}
        times |= dict.fromkeys((1, 2), (begin, begin + wait + 20000))
        call = run.call(Kind.bcast, times, root=0)
        for rank in (1, 2):
            sent = begin + wait + 100
            run.message(call, 0, rank, (sent, sent + 100), (begin, begin + wait + 15_000))
        begin += 5 * 10**6
        call = run.call(Kind.allreduce, dict.fromkeys(range(3), (begin, begin + 30000)))
        for rank in (1, 2):
            run.message(call, rank, 0, (begin + 100, begin + 200), (begin, begin + 10_000), how=1)
            run.message(
                call, 0, rank, (begin + 10_100, begin + 10_200), (begin, begin + 25_000), step=1
            )
    return run


def test_lateness_to_other_collectives_is_none_of_what_is_compared(tmp_path: Path) -> None:
    found = findings.find(two_kinds(400_000).run())
    assert found.verdict.shares["program late"] > 0.5
    usual = [calls(5, 0, ALLREDUCE, [9000] * 20), calls(5, 0, BCAST, [90000] * 20)]
    costs = run_lead.costs(recorded(tmp_path, usual, usual, usual), found)
    assert costs.late is not None and costs.late < 0.1
    assert costs.own > 0.9 * costs.compared > 0


def test_uneven_work_is_no_clean_bill() -> None:
    made = Recording(2)
    for number in range(30):
        begin = 10**9 + 10**7 * number
        late = {0: 0, 1: 2_000_000}
        end = begin + late[1] + 50_000
        call = made.call(Kind.allreduce, {rank: (begin + late[rank], end) for rank in (0, 1)})
        for rank in (0, 1):
            sent = begin + late[rank] + 100
            made.message(
                call, rank, 1 - rank, (sent, sent + 100), (begin + late[1 - rank], end - 100), how=1
            )
    verdict = findings.find(made.run()).verdict
    assert not verdict.suspects
    said = " ".join(words.sentences(verdict))
    assert "waiting for ranks whose program came late" in said
    assert "uneven" in said and "Nothing is wrong" not in said


def test_two_runs_say_why_events_are_of_no_use(tmp_path: Path) -> None:
    usual = [calls(5, 0, ALLREDUCE, [9000] * 3)]
    for name in "ab":
        recorded(tmp_path / name, usual, usual, usual)
        two_kinds(1000).write(tmp_path / name)
    next(tmp_path.glob("b/rank-*1.events")).write_bytes(b"torn")
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "a"), str(tmp_path / "b"), "-o", str(page)]) == 0
    text = page.read_text()
    assert "The events can&#x27;t be used: " in text
    assert "run it again with --events" not in text
