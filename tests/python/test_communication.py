"""What `thalweg show` says of a communication matrix."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from test_record import calls, part, write

from thalweg import communication, mapping, network
from thalweg.cli import main
from thalweg.communication import Quantity
from thalweg.mapping import Communication
from thalweg.report import bins

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def ring() -> Communication:
    """Each of 20 ranks sends 3 messages of 100 bytes in all to the next one."""
    ranks = np.arange(20)
    return mapping.communication(20, ranks, (ranks + 1) % 20, np.full(20, 3.0), np.full(20, 100.0))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_text("from,to,messages,bytes\n0,1,1,10\n1,0,1,1000\n2,0,8,100\n")
    return path


def test_a_ring_in_numbers(ring: Communication) -> None:
    found = communication.summary(ring, "bytes")
    assert (found.total, found.pairs) == (2000, 20)
    assert found.share == pytest.approx(1 / 19)
    # One pair in 19 has 100, the others nothing: mean 100/19, mean of squares 100**2/19.
    assert found.heterogeneity == pytest.approx(np.sqrt(100**2 / 19 - (100 / 19) ** 2) * 19 / 100)
    assert found.busiest_tenth == 1
    assert found.busiest_rank == 1


@pytest.mark.parametrize("ranks", [1, 2])
def test_nothing_sent_in_numbers(ranks: int) -> None:
    found = communication.summary(mapping.communication(ranks, [], [], [], []), "messages")
    assert set(vars(found).values()) == {0}


def test_equal_pairs_have_no_heterogeneity() -> None:
    sender, receiver = np.nonzero(~np.eye(11, dtype=bool))
    ones = np.ones(110)
    found = communication.summary(mapping.communication(11, sender, receiver, ones, ones), "bytes")
    assert found.heterogeneity == 0
    assert found.busiest_tenth == pytest.approx(0.1)


@pytest.mark.parametrize("most", [1, 3, 7, 20, 99])
def test_rows_of_ranks_in_order(ring: Communication, most: int) -> None:
    rows = bins.in_order(20, most)
    assert rows.count == min(most, 20)
    named = [rank for label in rows.labels for rank in span(label)]
    assert named == list(range(20))
    cells = bins.total(rows, ring.sender, ring.receiver, ring.nbytes)
    assert np.nansum(cells) == 2000


def span(label: str) -> range:
    first, _, last = label.partition("-")
    return range(int(first), int(last or first) + 1)


def test_colours_go_by_logarithm() -> None:
    cells = np.array([[np.nan, 1.0], [100.0, 10.0]])
    scale = communication.scale(cells)
    assert scale
    assert scale.share(cells).ravel() == pytest.approx([np.nan, 0, 1, 0.5], nan_ok=True)
    assert scale.at(0.5) == pytest.approx(10)
    close = communication.scale(np.array([[50.0, 100.0]]))
    assert close and close.at(0) == 10
    assert close.share(np.array([50.0])) == pytest.approx(np.log10(5))
    alone = communication.scale(np.array([[np.nan, 7.0]]))
    assert alone and alone.share(np.array([7.0])) == 1
    assert communication.scale(np.full((2, 2), np.nan)) is None


@pytest.mark.parametrize(("quantity", "rows"), [
    ("bytes", ["0   ..  ", "1 @@    ", "2 ++    "]),
    ("messages", ["0   ..  ", "1 ..    ", "2 @@    "]),
])  # fmt: skip
def test_a_heatmap_without_colours(
    file: Path, quantity: Quantity, rows: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """100 is halfway from 10 to 1000."""
    assert main(["show", str(file), "--matrix", quantity]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{quantity} from rank (row) to rank (column)"
    assert lines[2:5] == rows
    assert lines[5].endswith("blank: nothing")


def test_many_ranks_fit_a_narrow_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thalweg.console.PIPE_WIDTH", 60)
    path = tmp_path / "pairs.csv"
    path.write_text("from,to,bytes\n" + "".join(f"{a},{4095 - a},8\n" for a in range(4096)))
    assert main(["show", str(path), "--matrix", "bytes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    cells = [line for line in lines if re.match(r" *\d+-\d+ ", line)]
    assert 20 <= len(cells) <= 30
    assert max(map(len, cells)) <= 60
    # The other diagonal, of which rows of unequal numbers of ranks meet up to two columns each.
    found = [re.fullmatch(r" *\d+-\d+ +(?:\S\S){1,2} *", line) for line in cells]
    assert all(found), cells
    ends = [re.search(r" (?=\S*\s*$)", line) for line in cells]
    places = [end.start() for end in ends if end]
    assert places == sorted(places, reverse=True)


def test_json_has_numbers_and_pairs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(file), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["ranks"] == 3
    assert (shown["messages"]["total"], shown["bytes"]["total"]) == (10, 1110)
    assert shown["pairs"] == [[0, 1, 1, 10], [1, 0, 1, 1000], [2, 0, 8, 100]]


def test_a_matrix_as_a_picture(file: Path, tmp_path: Path) -> None:
    svg, png = tmp_path / "m.svg", tmp_path / "m.png"
    for path in (svg, png):
        assert main(["show", str(file), "--matrix", "bytes", "-o", str(path)]) == 0
    assert png.read_bytes().startswith(b"\x89PNG")
    root = ET.fromstring(svg.read_text())
    titles = {rect[0].text: rect.attrib["fill"] for rect in root.iter(f"{SVG}rect") if len(rect)}
    assert titles.keys() == {"0 to 1: 10B", "1 to 0: 1KB", "2 to 0: 100B"}
    assert titles["1 to 0: 1KB"] == "rgb(255,234,70)"  # the brightest
    words = [each.text for each in root.iter(f"{SVG}text")]
    assert {"10B", "100B", "1KB", "nothing"} <= set(words)


@pytest.mark.parametrize("called", [False, True])
def test_only_a_record_with_calls_is_said_to_keep_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, called: bool
) -> None:
    write(tmp_path, 2, part(0, 2, *([calls(5, 1, 1, [10])] if called else [])), part(1, 2))
    assert main(["show", str(tmp_path)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "sent nothing point to point" in shown
    assert ("collectives are kept as calls" in shown) == called


def test_collectives_of_monitoring_are_said_to_be_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rank in range(2):
        (tmp_path / f"out.{rank}.prof").write_text(
            f"# POINT TO POINT\nI\t{rank}\t{1 - rank}\t8 bytes\t2 msgs sent\n# OSC\n"
        )
    assert main(["show", str(tmp_path)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "sent nothing point to point." in shown and "kept as calls" not in shown
    assert "collectives (lines with I) are left out" in shown
    assert main(["place", str(tmp_path), "--network", "two-sites"]) == 0
    assert "lines with I) are left out" in " ".join(capsys.readouterr().err.split())


def test_nothing_sent_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, svg = tmp_path / "none.csv", tmp_path / "none.svg"
    path.write_text("0,0\n0,0\n")
    assert main(["show", str(path)]) == 0
    assert "sent nothing point to point" in capsys.readouterr().out
    assert main(["show", str(path), "-o", str(svg)]) == 0
    assert "nothing was sent" in svg.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "NET", "--matrix", "bytes"], "is a network, which sends nothing"),
        (["show", "two-sites", "--matrix", "messages"], "is a network, which sends nothing"),
        (["show", "PAIRS", "--matrix", "latency"], "is of a program, and latency of a network"),
        (["show", "PAIRS", "--hierarchy"], "is of a program, and hierarchy of a network"),
        (["show", "NET", "--matrix", "bytes", "--matrix", "latency"], "ask for one of them"),
        (["show", "none.csv", "--matrix", "bytes"], "none.csv: No such file"),
        (["show", "none", "--matrix", "bytes"], "none: No such file"),
        (["show", "SQUARE", "--matrix", "messages"], "has bytes, but no messages"),
        (["show", "ODD"], "must be a square of bytes"),
        (["show", "FOLDER"], "neither a run record, nor an OTF2 trace, nor"),
        (["show", "PAIRS", "--matrix", "bytes", "-o", "x.gif"], "must end with .svg or .png"),
        (
            ["show", "PAIRS", "--matrix", "bytes", "--matrix", "messages", "-o", "x.svg"],
            "--picture draws one matrix",
        ),
    ],
)
def test_what_is_wrong_is_said(
    file: Path, arguments: list[str], message: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    there = {name: tmp_path / name.lower() for name in ("NET", "FOLDER")}
    there |= {name: tmp_path / f"{name.lower()}.csv" for name in ("PAIRS", "SQUARE", "ODD")}
    network.write(network.even_network(2, 1e-3, 1e6), there["NET"])
    there["FOLDER"].mkdir()
    there["SQUARE"].write_text("0,5\n5,0\n")
    there["ODD"].write_text("0,5,1\n5,0,1\n")
    assert main([str(there.get(each, each)) for each in arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
