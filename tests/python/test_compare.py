import json
import random
from pathlib import Path

import numpy as np
import pytest
from recorded import Recording

from thalweg.analysis import compare, words
from thalweg.analysis.compare import Difference
from thalweg.cli import main
from thalweg.collective import Kind

CALLS = 60


def traced(seed: int, *, slow: float = 1.0, parent_of_2: int = 0) -> Recording:
    """Allreduces by a tree of three ranks. What rank 1's edge takes is multiplied by `slow`."""
    rng = random.Random(seed)
    made = Recording(3)
    for at in range(CALLS):
        t = 100_000 * at
        edge = {1: int(1000 * slow * rng.uniform(0.9, 1.1)), 2: int(1000 * rng.uniform(0.9, 1.1))}
        done = t + 20 + 2 * sum(edge.values())
        call = made.call(Kind.allreduce, {rank: (t, done + 5000 + rank) for rank in range(3)})
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
    assert match.whole.chance > compare.CHANCE
    assert not match.parts
    assert found.only_in == (0, 0)


def test_a_subtree_that_changed_without_being_reconfigured_is_named() -> None:
    match = compare.compare(traced(1).run(), traced(2, slow=1.5).run()).matches[0]
    assert match.whole.chance < compare.CHANCE
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
    found = [compare.chance(rng.normal(size=20), rng.normal(size=20)) for _ in range(1000)]
    assert np.mean(np.array(found) < 0.1) == pytest.approx(0.1, abs=0.03)
    # All ten samples of one below all ten of the other: 2 of the C(20, 10) orders, about 1e-5.
    assert compare.chance(np.arange(10.0), np.arange(10.0, 20)) == pytest.approx(2e-4, abs=2e-4)
    assert compare.chance(np.ones(9), np.ones(9)) == 1


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
    assert words.verdict_on(Difference(1000.0, 1250.0, 0.0)) == "1.25 times slower"
    assert words.verdict_on(Difference(1000.0, 800.0, 0.0)) == "1.25 times faster"
    assert words.verdict_on(Difference(1000.0, 0.0, 0.0)) == "only in A"
    assert words.verdict_on(Difference(0.0, 1000.0, 0.0)) == "only in B"
    assert words.verdict_on(Difference(0.0, 0.0, 1.0)) == "noise"
