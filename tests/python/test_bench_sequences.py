"""The page of random sequences of calls."""

from bench import sequences
from bench.page import Part, Record


def part(what: str, sample: Record) -> Part:
    return Part({"what": what, "build": "mpich-4.0", "seed": 1}, {}, [sample], "", "")


def test_real_ranks_have_a_row_for_races_and_one_for_changes_of_plans() -> None:
    _, real = sequences.contents(
        [
            part("races on MPI", {}),
            part("changes of plans on MPI", {"attempts": 3, "adopted": 2}),
            part("changes of plans on MPI", {"failed": "rank 1: allreduce"}),
        ]
    )
    assert [(row[0], *row[-2:]) for row in real.rows] == [
        ("races", "right", "-"),
        ("changes of plans", "right", "2 of 3"),
        ("changes of plans", "wrong", "-"),
    ]


def test_sequences_of_simulated_ranks_are_summed_up() -> None:
    samples: list[Record] = [
        {"sequences": 5, "calls": 1000, "changes": 7},
        {"failed": "a rank hangs"},
    ]
    races = Part({"what": "races", "first": 0}, {}, samples, "", "")
    simulated, _ = sequences.contents([races])
    assert simulated.rows[0] == ["races", "5", "1,000", "7", "1"]
