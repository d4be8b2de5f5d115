"""Schedules as Python sees them; the C++ tests cover the rest."""

import json
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg import algorithms, network
from thalweg.collective import Collective, Kind, is_reduction, is_rooted, parse_kind
from thalweg.errors import UserError
from thalweg.schedule import (
    How,
    Layout,
    Range,
    Schedule,
    Transfer,
    from_json,
    in_order,
    read,
    sent,
    to_json,
    verify,
    write,
)


def test_a_schedule_is_verified() -> None:
    bcast = Collective(Kind.bcast, 3, root=1)
    first = Transfer(1, 0, 0, How.copy, [Range(0, 2)])
    second = Transfer(0, 2, 1, How.copy, [Range(0, 2)])
    schedule = Schedule(2, [first, second], segments=4, period=2, window=3)
    verify(bcast, schedule)
    assert [(t.from_, t.to, t.step) for t in schedule.transfers] == [(1, 0, 0), (0, 2, 1)]
    assert schedule.transfers[0].what[0].count == 2
    assert (schedule.chunks, schedule.segments, schedule.period) == (2, 4, 2)
    assert schedule.window == 3
    with pytest.raises(ValueError, match="step 1, 0 -> 2: register 0 of rank 0 lacks chunk 0"):
        verify(bcast, Schedule(2, [second]))


def test_a_layout_cuts_data_into_chunks() -> None:
    layout = Layout(10, 1, 2, [1, 3])
    assert (layout.interval(0, 0), layout.interval(0, 1)) == ((0, 2), (2, 10))
    with pytest.raises(ValueError, match="1 chunks from 2 of segment 0 aren't in a layout"):
        layout.interval(0, 2)


def test_chunks_of_several_blocks_are_one_interval_only_without_segments() -> None:
    whole, halves = Layout(12, 1, 4, blocks=2), Layout(12, 2, 4, blocks=2)
    assert whole.interval(0, 1, 2) == (3, 9)
    # A segment has half of each block: bytes 0 to 2 and 6 to 8.
    assert (halves.interval(0, 0, 2), halves.interval(0, 2, 2)) == ((0, 3), (6, 9))
    assert halves.interval(0, 4, 0) == (12, 12)
    for first, count in ((1, 2), (0, 4)):
        with pytest.raises(ValueError, match=f"{count} chunks from {first} are of several blocks"):
            halves.interval(0, first, count)


def test_collectives() -> None:
    assert parse_kind("allreduce") is Kind.allreduce
    with pytest.raises(UserError, match='"all" is not a collective: choose one of bcast'):
        parse_kind("all")
    assert is_rooted(Kind.gather) and not is_reduction(Kind.gather)
    scatter = Collective(Kind.scatter, 3, root=2)
    assert scatter.blocks == 3
    assert [scatter.after(rank, 1) for rank in range(3)] == [False, True, False]
    with pytest.raises(ValueError, match="there is no rank 3: the scatter has 3"):
        scatter.before(3, 0)
    with pytest.raises(ValueError, match="the bcast of 2 ranks can't have the root 2"):
        Collective(Kind.bcast, 2, root=2)


# Files -----------------------------------------------------------------------------------------

check = runpy.run_path(str(Path(__file__).parents[2] / "examples/check_schedule.py"))["check"]
"""The independent checker."""


def made_by_all_algorithms() -> Iterator[tuple[str, Collective, Schedule]]:
    for ranks in (2, 3, 5, 8, 13):
        net = network.even_network(ranks, 1e-3, 1e8)
        for algorithm in algorithms.all_algorithms():
            for kind in Kind:
                root = ranks // 2 if is_rooted(kind) else 0
                collective = Collective(kind, ranks, root, 0 if kind is Kind.barrier else 5000)
                if not algorithm.can_do(collective):
                    continue
                problem = algorithms.Problem(collective, net, list(range(ranks)))
                for parameters in algorithm.candidates(problem)[:2]:
                    skeleton = algorithm.build(problem, parameters)
                    made = algorithms.expand(kind, skeleton, collective.size)
                    yield f"{algorithm.name} {kind} {ranks}", collective, made


def test_the_schedules_of_every_algorithm_pass_an_independent_check() -> None:
    count = 0
    for name, collective, made in made_by_all_algorithms():
        text = to_json(collective, made)
        assert from_json(text, name) == (collective, made)
        document = json.loads(text)
        check(document)
        count += 1
        if collective.kind is not Kind.barrier:  # where a message may be repeated
            del document["transfers"][len(document["transfers"]) // 2]
            with pytest.raises(AssertionError):
                check(document)
    assert count > 100


def test_the_independent_check_knows_the_defaults_of_a_file() -> None:
    transfers = [{"step": step, "from": 0, "to": step + 1, "what": [[0]]} for step in range(2)]
    document = {
        "schema": 1,
        "collective": {"kind": "bcast", "ranks": 3},
        "chunks": 1,
        "transfers": transfers,
    }
    verify(*from_json(json.dumps(document), "it"))
    check(document)


@pytest.mark.parametrize(
    ("second", "complaint"),
    [
        ({"from": 1, "to": 2, "how": "combine_left"}, "wrong order"),
        ({"from": 0, "to": 2, "how": "copy"}, "meets other data"),
    ],
)
def test_the_independent_check_refuses_what_isnt_defined(
    second: dict[str, object], complaint: str
) -> None:
    """Rank 2 combines what comes from rank 0, and then from rank 1 or a copy besides."""
    first: dict[str, object] = {"from": 0, "to": 2, "how": "combine_left"}
    transfers = [{"step": 0, "what": [[0]]} | each for each in (first, second)]
    document = {
        "schema": 1,
        "collective": {"kind": "reduce", "ranks": 3, "root": 2, "size": 8},
        "chunks": 1,
        "transfers": transfers,
    }
    with pytest.raises(ValueError):
        verify(*from_json(json.dumps(document), "it"))
    with pytest.raises(AssertionError, match=complaint):
        check(document)


ALLTOALL_IN_PLACE = Collective(Kind.alltoall, 3, size=9, in_place=True)


def rounds_in_place() -> Schedule:
    """Each pair of ranks swaps its blocks, all at once."""
    swaps = [
        Transfer(a, b, 0, How.copy, [Range(a * 3 + b)])
        for a in range(3)
        for b in range(3)
        if a != b
    ]
    return Schedule(9, in_order(swaps))


def scan_along_a_chain(ranks: int) -> tuple[Collective, Schedule]:
    chain = [Transfer(r, r + 1, r, How.combine_left, [Range(0, 2)]) for r in range(ranks - 1)]
    return Collective(Kind.scan, ranks, size=10), Schedule(2, chain, segments=3, weights=[1, 3])


def test_alltoall_in_place_and_scan_are_checked_too() -> None:
    for collective, made in [(ALLTOALL_IN_PLACE, rounds_in_place()), scan_along_a_chain(5)]:
        verify(collective, made)
        text = to_json(collective, made)
        assert from_json(text, "it") == (collective, made)
        check(json.loads(text))


@given(st.data())
def test_what_the_checker_refuses_isnt_verified_either(data: st.DataObject) -> None:
    """Schedules that are right but for one number: verify() is at least as strict."""
    net = network.even_network(5, 1e-3, 1e8)
    collective = Collective(Kind.allreduce, 5, size=100)
    problem = algorithms.Problem(collective, net, list(range(5)))
    ring = algorithms.find("ring").build(problem, algorithms.Parameters())
    document = json.loads(to_json(collective, algorithms.expand(Kind.allreduce, ring, 100)))
    wrong = data.draw(st.sampled_from(document["transfers"]))
    change = data.draw(st.sampled_from(["from", "to", "step", "how", "chunk"]))
    if change == "how":
        wrong["how"] = data.draw(st.sampled_from(list(How.__members__)))
    elif change == "chunk":
        wrong["what"][0][0] = data.draw(st.integers(0, 4))
    else:
        wrong[change] = data.draw(st.integers(0, 7 if change == "step" else 4))
    try:
        check(document)
    except AssertionError:
        with pytest.raises((ValueError, UserError)):
            verify(*from_json(json.dumps(document), "it"))


ranges = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(1, 3)).map(lambda r: Range(*r)),
    min_size=1,
    max_size=3,
)
transfers = st.builds(
    Transfer,
    st.integers(0, 5),
    st.integers(0, 5),
    st.integers(0, 9),
    st.sampled_from(How),
    ranges,
    st.integers(0, 3),
    st.integers(0, 255),
)


@given(st.lists(transfers, max_size=10), st.integers(1, 9), st.integers(1, 4), st.integers(0, 3))
def test_any_schedule_comes_back_from_its_file(
    each: list[Transfer], segments: int, period: int, window: int
) -> None:
    made = Schedule(18, in_order(each), segments, period, [1, 0, 2, 0, 3, 1], window)
    collective = Collective(Kind.gather, 3, 1, block_sizes=[5, 0, 7])
    assert from_json(to_json(collective, made), "it") == (collective, made)
    assert list(made) == made.transfers
    assert len(made) == len(each)


@given(
    st.integers(0, 10_000), st.integers(1, 40), st.lists(st.integers(1, 9), min_size=5, max_size=5)
)
def test_bytes_sent_are_those_of_all_segments(size: int, segments: int, weights: list[int]) -> None:
    collective = Collective(Kind.allreduce, 2, size=size)
    there = Transfer(0, 1, 0, How.combine_left, [Range(1, 2), Range(0, 2, 4)])
    back = Transfer(1, 0, 1, How.copy, [Range(3)])
    local = Transfer(1, 1, 2, How.copy, [Range(3)], 0, 1)
    made = Schedule(5, [there, back, local], segments, weights=weights)
    layout = made.layout(collective)
    slow: dict[tuple[int, int], int] = {}
    for ends, chunks in (((0, 1), (1, 2, 0, 4)), ((1, 0), (3,))):
        for segment in range(segments):
            for chunk in chunks:
                begin, end = layout.interval(segment, chunk)
                slow[ends] = slow.get(ends, 0) + end - begin
    found = sent(collective, made)
    for ends, expected in slow.items():
        assert abs(found.get(ends, 0) - expected) <= 4 * segments
    if segments == 1:
        assert found == {ends: count for ends, count in slow.items() if count or not size}


GOOD = to_json(Collective(Kind.bcast, 2), Schedule(1, [Transfer(0, 1, 0, How.copy, [Range(0)])]))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("{", "[", "it: not JSON"),
        (GOOD, "[]", "it: must be an object"),
        ('"schema": 1', '"schema": 2', "schema 2 is unknown; this Thalweg reads schema 1"),
        ('"chunks": 1,', "", "it: lacks chunks"),
        ('"chunks": 1', '"chunks": 1.5', "it: chunks must be a whole number"),
        ('"chunks": 1', '"chunks": true', "it: chunks must be a whole number"),
        ('"chunks": 1', '"chunks": 0', "it: a schedule needs at least 1 chunk"),
        ('"chunks": 1', '"chunks": 10000000000000000000', "it: chunks is too large"),
        ('"chunks"', '"colour": 3, "chunks"', "it: the key colour is unknown"),
        ('"segments": 1', '"segments": 0', "at least 1 segment"),
        ('"bcast"', '"cast"', '"cast" is not a collective'),
        ('"ranks": 2', '"ranks": 0', "impossible"),
        ('"from": 0', '"from": -1', "transfers[0]: from must be a whole number"),
        ('"from": 0', '"from": 3000000000', "transfers[0]: from is too large"),
        ('"copy"', '"move"', "transfers[0]: how must be one of copy, combine_left"),
        ("[[0, 1, 1]]", "[]", "what needs ranges [first, count, stride]"),
        ("[[0, 1, 1]]", "[[]]", "what needs ranges [first, count, stride]"),
        ("[[0, 1, 1]]", "[3]", "what must be a list"),
        ("[[0, 1, 1]]", "7", "what must be a list"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(old: str, new: str, complaint: str) -> None:
    assert old in GOOD
    with pytest.raises(UserError) as raised:
        from_json(GOOD.replace(old, new, 1), "it")
    assert complaint in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_a_file_that_isnt_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.json: No such file"):
        read(tmp_path / "none.json")
    with pytest.raises(UserError, match="no/it: can't be written: No such file"):
        write(tmp_path / "no/it", *scan_along_a_chain(2))
    write(tmp_path / "it", *scan_along_a_chain(4))
    assert read(tmp_path / "it") == scan_along_a_chain(4)
