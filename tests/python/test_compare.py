import itertools
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from recorded import Recording, allreduces

from thalweg.analysis import compare, words
from thalweg.analysis.compare import Difference
from thalweg.cli import main
from thalweg.collective import Kind
from thalweg.report import comparison

CALLS = 60


def traced(
    seed: int, *, slow: float = 1.0, parent_of_2: int = 0, sizes: Sequence[int] = (8,)
) -> Recording:
    """Allreduces by a tree of three ranks. What rank 1's edge takes is multiplied by `slow`. Those
    of each size take the same times."""
    made = Recording(3)
    for number in range(CALLS * len(sizes)):
        of_size, at = divmod(number, CALLS)
        if at == 0:
            rng = random.Random(seed)
        t = 100_000 * number
        edge = {1: int(1000 * slow * rng.uniform(0.9, 1.1)), 2: int(1000 * rng.uniform(0.9, 1.1))}
        done = t + 20 + 2 * sum(edge.values())
        times = {rank: (t, done + 5000 + rank) for rank in range(3)}
        call = made.call(Kind.allreduce, times, size=sizes[of_size])
        ready = {1: t + 5, 2: t + 5}
        if parent_of_2 == 1:
            made.message(call, 2, 1, (t + 5, t + 6), (t + 1, t + 5 + edge[2]), how=1)
            ready[1] = t + 10 + edge[2]
        else:
            made.message(call, 2, 0, (t + 5, t + 6), (t + 1, t + 5 + edge[2]), how=1, step=1)
        made.message(
            call, 1, 0, (ready[1], ready[1] + 1), (t + 1, ready[1] + edge[1]), how=1, step=1
        )
        made.message(call, 0, 1, (done, done + 1), (t + 1, done + edge[1]), step=2)
        top, begin = (1, done + edge[1] + 10) if parent_of_2 == 1 else (0, done + 2)
        made.message(call, top, 2, (begin, begin + 1), (t + 1, begin + edge[2]), step=3)
    return made


def test_runs_that_differ_by_chance_only_are_the_same() -> None:
    found = compare.compare(traced(1).run(), traced(2).run())
    assert len(found.matches) == 1
    match = found.matches[0]
    assert match.whole.p_value > compare.SIGNIFICANCE
    assert not match.parts
    assert found.only_in == (0, 0)


def test_a_subtree_that_changed_without_being_reconfigured_is_named() -> None:
    match = compare.compare(traced(1).run(), traced(2, slow=1.5).run()).matches[0]
    assert match.whole.p_value < compare.SIGNIFICANCE
    assert match.stages["two_way"].ratio == pytest.approx(1.25, abs=0.05)
    edge = [part for part in match.parts if part.stage == "two_way"]
    assert [part.node for part in edge] == [1]
    assert edge[0].difference.ratio == pytest.approx(1.5, abs=0.05)
    assert not edge[0].reconfigured


def test_what_was_reconfigured_is_told_from_what_was_not() -> None:
    match = compare.compare(traced(1).run(), traced(2, slow=2, parent_of_2=1).run()).matches[0]
    reconfigured = {(part.node, part.stage): part.reconfigured for part in match.parts}
    assert reconfigured[1, "two_way"] is False  # its parent is still the root
    assert reconfigured[0, "arrival_wait"] is True


def test_chance_is_uniform_where_nothing_differs() -> None:
    rng = np.random.default_rng(1)
    found = [compare.p_value(rng.normal(size=20), rng.normal(size=20)) for _ in range(1000)]
    assert np.mean(np.array(found) < 0.1) == pytest.approx(0.1, abs=0.03)
    assert compare.p_value(np.ones(9), np.ones(9)) == 1


@pytest.mark.parametrize("samples", [1, 3, 5, 20])
def test_samples_without_overlap_have_two_of_all_orders(samples: int) -> None:
    a = np.arange(float(samples))
    expected = 2 / math.comb(2 * samples, samples)
    assert compare.p_value(a, a + samples) == pytest.approx(expected)
    assert compare.p_value(a + samples, a) == pytest.approx(expected)


def test_chance_counts_the_samples_that_differ_as_much() -> None:
    """Against all ways to take three of seven values, some of which are equal."""
    values = np.array([1.0, 2, 2, 3, 5, 5, 8])
    ranks = np.array([1, 2.5, 2.5, 4, 5.5, 5.5, 7])
    ways = list(itertools.combinations(range(7), 3))
    apart = [abs(ranks[list(way)].sum() - 3 * ranks.mean()) for way in ways]
    for way, own in zip(ways, apart, strict=True):
        rest = np.delete(values, way)
        expected = np.mean(np.array(apart) >= own - 1e-9)
        assert compare.p_value(values[list(way)], rest) == pytest.approx(expected)


def times_of(calls: int, took: int) -> Recording:
    made = Recording(2)
    for at in range(calls):
        made.call(Kind.barrier, dict.fromkeys(range(2), (10**6 * at, 10**6 * at + took + at)))
    return made


@pytest.mark.parametrize(("calls", "verdict"), [(4, "too few calls"), (5, "100 times slower")])
def test_too_few_calls_to_tell_are_said_to_be_so(
    calls: int, verdict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = (times_of(calls, took) for took in (1000, 100_000))
    (match,) = compare.compare(a.run(), b.run()).matches
    assert words.verdict_on(match.whole) == verdict
    sides = [comparison.Side(name, None, made.run()) for name, made in (("A", a), ("B", b))]
    lead = " ".join(comparison.page(*sides).lead)
    assert ("came too rarely" in lead) == ("ten or more" in lead) == (calls == 4)
    assert ("100 times slower" in lead) == (calls == 5)
    assert "by more than noise" not in lead
    folders = [str(made.write(tmp_path / name)) for name, made in (("a", a), ("b", b))]
    assert main(["compare", *folders, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["calls"][0]["whole"]["noise"] is (None if calls == 4 else False)
    assert main(["compare", *folders]) == 0
    assert verdict in capsys.readouterr().out


def of_sizes(calls: Sequence[int], took: int) -> Recording:
    """So many calls of 1 byte, of 2, and so on."""
    made = Recording(2)
    sizes = [size for size, count in enumerate(calls, 1) for _ in range(count)]
    for at, size in enumerate(sizes):
        times = dict.fromkeys(range(2), (10**6 * at, 10**6 * at + took + at))
        made.call(Kind.allreduce, times, size=size, planned=False)
    return made


@pytest.mark.parametrize(
    ("calls", "tested"),
    [([5], 1), ([5, 5], 2), ([6] * 2, 2), ([6] * 4, 4), ([6] * 5, 5), ([5, *[1] * 9], 1)],
)
def test_chances_hold_among_all_kinds_of_calls_that_may_differ(
    calls: list[int], tested: int
) -> None:
    """Times that don't overlap: the chance is that of two of all orders, times the number of kinds,
    but for kinds that came too rarely whatever the chance of the others is."""
    found = compare.compare(of_sizes(calls, 1000).run(), of_sizes(calls, 100_000).run())
    wholes = {match.size: match.whole for match in found.matches}
    assert len(wholes) == len(calls)
    for size, count in enumerate(calls, 1):
        expected = min(tested * 2 / math.comb(2 * count, count), 1)
        assert wholes[size].p_value == pytest.approx(expected)
        assert wholes[size].has_enough_calls == (expected < compare.SIGNIFICANCE)


def test_chances_of_stages_and_nodes_hold_among_those_of_all_kinds_of_calls() -> None:
    def p_values(match: compare.Match) -> list[float]:
        edges = [part.difference.p_value for part in match.parts if part.stage == "two_way"]
        return [match.stages["two_way"].p_value, *edges]

    once, twice = (
        compare.compare(*(traced(seed, slow=seed, sizes=sizes).run() for seed in (1, 2))).matches
        for sizes in ([8], [8, 16])
    )
    assert len(p_values(once[0])) == 2
    for match in twice:
        assert p_values(match) == pytest.approx([2 * each for each in p_values(once[0])], abs=0)


def test_a_tree_that_changed_during_a_run_is_not_compared_by_its_nodes() -> None:
    """As where plans follow the network: chains 0-1-2, then 0-2-1, would be a circle together."""
    chains = [{1: 0, 2: 1}, {2: 0, 1: 2}]
    mixed = allreduces([chains[0]] * 3 + [chains[1]] * 3).run()
    (match,) = compare.compare(mixed, mixed).matches
    assert not match.stages and not match.parts


def test_communicators_are_matched_by_their_members() -> None:
    """Run A also has a call of a communicator that has no tag yet."""
    a, b = traced(1), traced(2)
    a.call(Kind.bcast, {1: (0, 5), 2: (0, 6)}, planned=False, tag=-77)
    found = compare.compare(a.run(), b.run())
    assert [match.calls for match in found.matches] == [(CALLS, CALLS)]
    assert found.only_in == (1, 0)


def test_calls_on_communicators_that_come_and_go_are_matched() -> None:
    """Run A has five communicators of three calls each, run B three of five."""
    a, b = Recording(2), Recording(2)
    for made, took, calls in ((a, 1000, 3), (b, 2000, 5)):
        for at in range(15):
            times = dict.fromkeys(range(2), (10**6 * at, 10**6 * at + took + at))
            made.call(Kind.barrier, times, tag=at // calls)
    found = compare.compare(a.run(), b.run())
    (match,) = found.matches
    assert match.calls == (15, 15)
    assert match.whole.p_value < compare.SIGNIFICANCE
    assert found.only_in == (0, 0)


def test_communicators_with_other_members_are_not_matched() -> None:
    a, b = Recording(3), Recording(3)
    for made, members in ((a, (0, 1)), (b, (0, 2))):
        made.call(Kind.bcast, dict.fromkeys(members, (0, 5)), tag=3)
    assert compare.compare(a.run(), b.run()).only_in == (1, 1)


def test_calls_that_only_one_run_has_are_counted() -> None:
    more = traced(1)
    more.call(Kind.barrier, dict.fromkeys(range(3), (10**9, 10**9 + 5)))
    assert compare.compare(more.run(), traced(2).run()).only_in == (1, 0)


def test_the_command_says_it_in_words_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = str(traced(1).write(tmp_path / "a"))
    b = str(traced(2, slow=1.5).write(tmp_path / "b"))
    assert main(["compare", a, b]) == 0
    text = capsys.readouterr().out
    assert "times slower" in text
    assert "two way at rank 1: " in text
    assert "although nothing was reconfigured there" in text
    assert main(["compare", a, a, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["calls"][0]["whole"]["noise"] is True
    assert found["calls"][0]["calls"] == [CALLS, CALLS]


def test_runs_without_common_calls_are_said_to_be_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Recording(2)
    made.call(Kind.bcast, {0: (0, 5), 1: (1, 6)})
    folders = [str(traced(1).write(tmp_path / "a")), str(made.write(tmp_path / "b"))]
    assert main(["compare", *folders]) == 0
    assert "no calls in common" in capsys.readouterr().out


def test_a_stage_that_one_run_hardly_has_is_named_by_the_other() -> None:
    assert words.verdict_on_stage(Difference(1000.0, 1250.0, 0.0)) == "1.25 times slower"
    assert words.verdict_on_stage(Difference(1000.0, 800.0, 0.0)) == "1.25 times faster"
    assert words.verdict_on_stage(Difference(1000.0, 0.0, 0.0)) == "only in A"
    assert words.verdict_on_stage(Difference(0.0, 1000.0, 0.0)) == "only in B"
    assert words.verdict_on_stage(Difference(0.0, 0.0, 1.0)) == "noise"


def test_calls_of_both_runs_are_in_both_however_much_they_differ() -> None:
    assert words.verdict_on(Difference(1000.0, 1250.0, 0.0)) == "1.25 times slower"
    assert words.verdict_on(Difference(1000.0, 1_234_567.0, 0.0)) == "1200 times slower"
    assert words.verdict_on(Difference(1_234_567.0, 0.0, 0.0)) == "1200000 times faster"


def test_what_most_calls_went_by_is_named() -> None:
    made = Recording(2)
    for at in range(10):
        times = dict.fromkeys(range(2), (1000 * at, 1000 * at + 100))
        made.call(Kind.allreduce, times, planned=at > 2)
    (match,) = compare.compare(made.run(), made.run()).matches
    assert match.algorithms == ("drawn", "drawn")
    assert match.calls == (10, 10)
