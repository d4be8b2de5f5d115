"""`thalweg report`, and the drawings in it."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from thalweg import drawing, hierarchy, network
from thalweg.cli import main
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
    assert "1 &amp; 2" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    for part in text.split("<svg")[1:]:
        ET.fromstring("<svg" + part.split("</svg>")[0] + "</svg>")
    for name in ("bcast of 64KB", "reduce of 1MB", "allreduce of 8MB", "lab-to-hall"):
        assert name in text


def test_a_drawing_has_an_arc_per_pair(file: Path) -> None:
    net = network.read(file)
    tree = hierarchy.build(net, size=1000)
    sent = {(0, 5): 10.0, (5, 0): 20.0, (3, 4): 5.0}
    names = [host.name for host in net.hosts]
    picture = drawing.transfers(tree, names, sent, dict.fromkeys(sent, "<b>"))
    root = ET.fromstring(picture)
    assert len(root.findall(f"{SVG}path")) == len(sent)
    assert len(root.findall(f"{SVG}circle")) == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "NET", "--results", "none.json"], "none.json: No such file"),
        (["report", "NET", "-o", "no/such/page.html"], "no/such/page.html: No such file"),
        (["show", "NET", "--svg", "x.svg"], "--svg draws one picture"),
        (["show", "NET", "--hierarchy", "--base", "1"], "must be at least 1.01"),
    ],
)
def test_what_is_wrong_is_said(
    file: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(file) if a == "NET" else a for a in arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_view_as_a_picture(file: Path, tmp_path: Path) -> None:
    for view in (["--matrix", "latency"], ["--hierarchy"]):
        svg = tmp_path / "view.svg"
        assert main(["show", str(file), *view, "--svg", str(svg)]) == 0
        assert ET.fromstring(svg.read_text()).tag == f"{SVG}svg"


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
