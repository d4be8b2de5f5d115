"""`thalweg report`, and the drawings in it."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from thalweg import drawing, hierarchy, network, picture
from thalweg.cli import main
from thalweg.errors import UserError
from thalweg.lab import scenarios

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "three.json"
    path.write_text(json.dumps(scenarios.three_sites()["network"]))
    return path


def test_groups_are_stretches_of_the_order(file: Path) -> None:
    tree = hierarchy.build(network.read(file), size=1000)
    order = drawing.host_order(tree)
    assert sorted(order) == list(range(16))
    for level in tree.levels:
        for group in level.groups:
            places = sorted(order.index(host) for host in group)
            assert places == list(range(places[0], places[0] + len(group)))


def test_the_page_is_whole_and_shows_the_results(file: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    table = {"title": "A <table>", "columns": ["x"], "rows": [["1 & 2"]], "notes": ["so"]}
    results.write_text(json.dumps([table]))
    page = tmp_path / "page.html"
    assert main(["report", str(file), "--results", str(results), "-o", str(page)]) == 0
    text = page.read_text()
    assert "A &lt;table&gt;" in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert found
    sections = json.loads(found[1])["sections"]
    blocks = [block for section in sections for block in section["blocks"]]
    drawings = [ET.fromstring(block["svg"]) for block in blocks if block["kind"] == "drawing"]
    assert len(drawings) > 3
    tables = {block["caption"]: block["rows"] for block in blocks if block["kind"] == "table"}
    assert tables["A <table>"] == [["1 & 2"]]
    assert [row[:2] for row in tables["Plans: predicted times"]] == [
        [collective, size]
        for collective in ("bcast", "reduce", "allreduce")
        for size in (64_000, 1_000_000, 8_000_000)
    ]
    assert "lab-to-hall" in [row[0] for row in tables["Trunks"]]


def test_a_drawing_has_an_arc_per_pair(file: Path) -> None:
    net = network.read(file)
    tree = hierarchy.build(net, size=1000)
    sent = {(0, 5): 10.0, (5, 0): 20.0, (3, 4): 5.0}
    names = [host.name for host in net.hosts]
    drawn = drawing.arcs(tree, names, sent, dict.fromkeys(sent, "<b>"))
    root = ET.fromstring(drawn)
    assert len(root.findall(f"{SVG}path")) == len(sent)
    assert len(root.findall(f"{SVG}circle")) == 4  # the hosts that have an arc


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "NET", "--results", "none.json"], "none.json: No such file"),
        (["report", "NET", "NET"], "the folder of one run, or of two to compare, or one network"),
        (["report", "NET", "--network", "x.json"], "--network is for a run's page"),
        (["report", ".", "-n", "4"], "are for a network's page: leave them out"),
        (
            ["report", "NET", "-o", "no/such/page.html"],
            "no/such/page.html: there is no folder no/such",
        ),
        (["show", "NET", "--picture", "x.svg"], "--picture draws one view"),
        (["show", "NET", "--hierarchy", "--picture", "x.gif"], "must end with .svg or .png"),
        (
            ["show", "NET", "--hierarchy", "--picture", "no/x.png"],
            "picture no/x.png: there is no folder no",
        ),
        (["show", "NET", "--hierarchy", "--base", "1"], "must be at least 1.01"),
    ],
)
def test_what_is_wrong_is_said(
    file: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(file) if a == "NET" else a for a in arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_drawing_has_room_for_its_names(file: Path) -> None:
    tree = hierarchy.build(network.read(file), size=1000)
    short, long = (ET.fromstring(drawing.hierarchy(tree, [name] * 16)) for name in ("a", 40 * "a"))
    for side in ("width", "height"):
        assert int(long.attrib[side]) > int(short.attrib[side]) + 100


@pytest.mark.parametrize("view", [["--matrix", "latency"], ["--hierarchy"]])
def test_a_view_as_a_picture(file: Path, tmp_path: Path, view: list[str]) -> None:
    svg, png = tmp_path / "view.svg", tmp_path / "view.png"
    for path in (svg, png):
        assert main(["show", str(file), *view, "--picture", str(path)]) == 0
    root = ET.fromstring(svg.read_text())
    assert root.tag == f"{SVG}svg"
    sides = (int(root.attrib["width"]), int(root.attrib["height"]))
    assert size_of(png.read_bytes()) == (2 * sides[0], 2 * sides[1])
    without_text = re.sub("<text.*?</text>", "", svg.read_text())
    assert png.read_bytes() != picture.png(without_text)


def test_a_large_drawing_is_made_to_fit() -> None:
    wide = '<svg xmlns="http://www.w3.org/2000/svg" width="8192" height="4"></svg>'
    assert size_of(picture.png(wide)) == (4096, 2)


def test_text_without_a_font_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "FONTS", ("No Such Font",))
    with pytest.raises(UserError, match="No Such Font: install one"):
        picture.png('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"></svg>')


def size_of(png: bytes) -> tuple[int, int]:
    """Width and height in pixels, from the header."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])


def test_cbor_is_read_like_json(file: Path, tmp_path: Path) -> None:
    cbor = tmp_path / "net.cbor"
    network.write(network.read(file), cbor)
    assert network.read(cbor) == network.read(file)
    assert cbor.stat().st_size < 2 * 16 * 16 * 8 + 4000
    assert main(["show", str(cbor), "--hierarchy"]) == 0


def test_json_tells_links_and_hierarchy(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(file), "--json", "--size", "1KB"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["links"]) == 6
    assert all(link["long"] and link["fast"] for link in shown["links"])
    assert [len(level["groups"]) for level in shown["hierarchy"]["levels"]][-1] == 1
