from pathlib import Path

import pytest
from recorded import Recording, allreduces, small_tree

from bench import faulty_runs
from thalweg.analysis import timemaps
from thalweg.analysis.faults import Fault
from thalweg.cli import main
from thalweg.collective import Kind


def test_a_curve_goes_to_the_root_and_back_in_the_time_of_the_call() -> None:
    run = small_tree().run()
    shape = timemaps.tree_shapes(run)["shape"][0]
    found = {curve.rank: curve for curve in timemaps.curves(run, shape)}
    assert {rank: c.times[-1] - c.times[0] for rank, c in found.items()} == {0: 50, 1: 52, 2: 44}
    for curve in found.values():
        assert list(curve.times) == sorted(curve.times)
        at = curve.heights.index(0)
        assert curve.times[at] == 0
        assert curve.heights[0] == curve.heights[-1] == 1
    # Rank 1: down 1, half of 34, wait 10, combining 3; then 2, 0, half of 34, 2.
    assert found[1].times == pytest.approx([-31, -31, -30, -13, -3, 0, 2, 2, 19, 21, 21])


def test_without_arrival_waits_only_the_tree_is_left() -> None:
    run = small_tree().run()
    shape = timemaps.tree_shapes(run)["shape"][0]
    lengths = {
        c.rank: c.times[-1] - c.times[0] for c in timemaps.curves(run, shape, arrival_wait=False)
    }
    assert lengths == {0: 50 - 20, 1: 52 - 10, 2: 44}


def test_representatives_are_spread_from_the_slowest_to_the_fastest() -> None:
    made = [timemaps.Curve(rank, (0, rank), (1, 1), ("", "")) for rank in range(100)]
    assert [curve.rank for curve in timemaps.representatives(made, 3)] == [99, 49, 0]
    assert len(timemaps.representatives(made, 200)) == 100


@pytest.mark.parametrize(("kind", "rows"), [(Fault.late_rank, 1), (Fault.rotating_straggler, 3)])
def test_a_fixed_straggler_is_a_line_and_a_rotating_one_is_scattered(kind: str, rows: int) -> None:
    simulated = faulty_runs.simulate(kind, 2)
    found = timemaps.lateness(simulated.run)
    often = (found.late > found.late.max() / 4).sum(axis=1)
    worst = [found.ranks[row][0] for row in often.argsort()[::-1] if often[row]]
    assert len(worst) >= rows
    if kind == Fault.late_rank:
        assert f"rank {worst[0]}" == simulated.fault.culprit
        assert often.max() > 0.9 * often.sum()
    else:
        assert often.max() < 0.5 * often.sum()


def test_many_ranks_and_calls_are_binned_by_the_most() -> None:
    made = Recording(8)
    for at in range(10):
        times = dict.fromkeys(range(8), (100 * at, 100 * at + 50))
        times[5] = (100 * at + at, 100 * at + 50)
        made.call(Kind.barrier, times)
    found = timemaps.lateness(made.run(), rows=4, columns=5)
    assert found.ranks == ((0, 1), (2, 3), (4, 5), (6, 7))
    assert found.calls[0] == (0, 1)
    assert found.late[2].tolist() == [1, 3, 5, 7, 9]
    assert found.late[[0, 1, 3]].max() == 0


def test_pictures_are_written_as_svg_and_png(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = (str(small_tree().write(tmp_path / name)) for name in "ab")
    svg, png = tmp_path / "map.svg", tmp_path / "map.png"
    assert main(["timemap", a, b, "-o", str(svg)]) == 0
    text = svg.read_text()
    assert text.count("<polyline") == 6
    assert "b: allreduce of 8B" in text
    assert main(["timemap", a, "--rank", "1", "--no-arrival-wait", "-o", str(svg)]) == 0
    assert svg.read_text().count("<polyline") == 1
    assert main(["timemap", a, "--lateness", "-o", str(png)]) == 0
    assert png.read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--collective", "bcast"], "there are allreduce of 8B"),
        (["--rank", "7"], "ranks 0 to 2 are"),
        (["-o", "map.txt"], "must end with .svg or .png"),
    ],
)
def test_what_cannot_be_drawn_is_explained(
    arguments: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    folder = str(small_tree().write(tmp_path / "run"))
    assert main(["timemap", folder, *arguments]) == 2
    assert complaint in capsys.readouterr().err


def test_calls_whose_tree_changed_are_not_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, changed in (("parents", {2: 0, 1: 2}), ("same", {1: 0, 2: 1})):
        folder = allreduces([{1: 0, 2: 1}] * 3 + [changed] * 3).write(tmp_path / name)
        output = tmp_path / f"{name}.svg"
        status = main(["timemap", str(folder), "-o", str(output)])
        assert (status, output.exists()) == ((0, True) if name == "same" else (2, False))
    assert "no such calls along a tree" in capsys.readouterr().err


def test_a_rank_that_has_no_part_in_the_calls_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = small_tree().write(tmp_path / "run")
    assert main(["timemap", str(folder), "-o", str(tmp_path / "x.svg"), "--rank", "7"]) == 2
    assert "rank 7 isn't in these calls; ranks 0 to 2 are" in capsys.readouterr().err
