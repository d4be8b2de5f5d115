"""Pictures of what a placement changes: by `thalweg place --picture`, and in a run's page."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from test_record import messages, part, write

from thalweg import inputs, mapping, network, past_runs, placement_picture, record
from thalweg.cli import main
from thalweg.placement_picture import NamedPlacement
from thalweg.report import bins, placement_parts

SVG = "{http://www.w3.org/2000/svg}"
SITE_OF = {"a": "west", "b": "west", "c": "east", "d": "east"}


@pytest.mark.parametrize("seed", range(3))
def test_traffic_is_that_of_the_mapping(seed: int) -> None:
    """src/mapping/ computes the same sums for its cost."""
    net = inputs.network(Path("two-sites"))
    rng = np.random.default_rng(seed)
    ranks = 30
    sender, receiver, nbytes = rng.integers(0, ranks, (3, 99))
    matrix = mapping.communication(ranks, sender, receiver, np.ones(99), nbytes)
    where = rng.integers(0, len(net.hosts), ranks).tolist()
    sums = mapping.traffic_of(net, matrix, where)
    hosts = [net.hosts[host].name for host in where]
    found = placement_picture.traffic(matrix, "bytes", hosts, placement_picture.sites(net))
    assert found == {
        "inside hosts": sums.intra_host,
        "between hosts of a site": sums.inter_host - sums.inter_site,
        "between sites": sums.inter_site,
    }
    assert placement_picture.traffic(matrix, "bytes", hosts, {}) == {
        "inside hosts": sums.intra_host,
        "between hosts": sums.inter_host,
    }


@pytest.mark.parametrize(("counts", "most"), [
    ([3, 1, 2, 2], 8), ([3, 1, 2, 2], 99), ([50, 1, 7, 30], 12), ([50, 1, 7, 30], 8),
    ([9] * 40, 64), ([700], 64),
])  # fmt: skip
def test_rows_keep_hosts_together(counts: list[int], most: int) -> None:
    rng = np.random.default_rng(1)
    hosts = rng.permutation(np.repeat([f"host{n}" for n in range(len(counts))], counts)).tolist()
    sites = ["even" if int(host[4:]) % 2 == 0 else "odd" for host in hosts]
    rows = bins.of_ranks(hosts, sites, most, [f"host{n}" for n in range(len(counts))])
    assert rows.count <= most
    assert sorted(set(rows.of.tolist())) == list(range(rows.count))
    hosts_of_rows = [
        {host for host, row in zip(hosts, rows.of, strict=True) if row == at}
        for at in range(rows.count)
    ]
    sizes = np.bincount(rows.of)
    if 2 * len(counts) <= most or len(hosts) <= most:
        assert all(len(each) == 1 for each in hosts_of_rows)
        order = [next(iter(each)) for each in hosts_of_rows]
        named = [name for name, count in rows.groups for _ in range(count)]
        assert named == order
        wanted = sorted(set(order), key=lambda host: (int(host[4:]) % 2, int(host[4:])))
        assert list(dict.fromkeys(order)) == wanted
        if len(hosts) > most:
            assert sizes.max() == -(-len(hosts) // (most - len(counts)))
    assert sum(count for _, count in rows.sites) == (rows.count if len(counts) > 1 else 0)


def test_both_matrices_show_hosts_and_sites_as_blocks() -> None:
    """A frame is around the cells inside a host; what is inside one before is so in the drawing."""
    matrix = mapping.communication(4, [0, 1, 2, 3], [2, 3, 0, 1], np.ones(4), np.full(4, 10.0))
    before = NamedPlacement("before: block", ["a", "b", "c", "d"])
    after = NamedPlacement("after: thalweg", ["a", "c", "a", "c"])
    root = ET.fromstring(placement_picture.placement(matrix, before, after, SITE_OF))
    frames = [rect.attrib for rect in root.iter(f"{SVG}rect") if rect.get("fill") == "none"]
    thin = [frame for frame in frames if frame["stroke-width"] == "1"]
    bold = [frame for frame in frames if frame["stroke-width"] == "2.5"]
    assert (len(thin), len(bold)) == (4 + 2, 2 + 2)
    cells = [rect.attrib for rect in root.iter(f"{SVG}rect") if len(rect)]
    assert len(cells) == 8
    inside = [
        any(all(float(f[side]) <= float(cell[side]) < float(f[side]) + float(f["width"])
                for side in ("x", "y")) for f in thin)
        for cell in cells
    ]  # fmt: skip
    assert inside == [False] * 4 + [True] * 4
    words = [each.text for each in root.iter(f"{SVG}text")]
    assert words.count("40B (100%)") == 2  # between sites before, inside hosts after
    assert {"before: block", "after: thalweg", "between sites"} <= set(words)


def test_place_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs, svg = tmp_path / "pairs.csv", tmp_path / "placed.svg"
    pairs.write_text("from,to,bytes\n0,2,1000\n1,3,1000\n")
    words = ["place", str(pairs), "--network", "two-sites", "-H", "west0:2,east0:2"]
    assert main([*words, "--picture", str(svg)]) == 0
    assert f"written to {svg}" in capsys.readouterr().out
    text = [each.text for each in ET.fromstring(svg.read_text()).iter(f"{SVG}text")]
    assert {"before: block", "after: thalweg", "west0", "east0"} <= set(text)
    assert main([*words, "--method", "block", "--picture", str(svg), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["picture"] == str(svg)
    assert "before: interleave" in svg.read_text()
    assert main([*words, "-o", str(svg)]) == 2
    assert "--picture draws" in capsys.readouterr().err
    assert main([*words, "--picture", "x.pdf"]) == 2


def recorded(folder: Path, **launch: object) -> Path:
    """A run of 4 ranks on west0 and east0, of which neighbours talk and are on the same host."""
    parts = [part(r, 4, messages(r ^ 1, [(1, 1000)]), host=r // 2) for r in range(4)]
    network.write(inputs.network(Path("two-sites")), folder / "network.json")
    placed = {"hosts": ["west0", "east0"], "placement": [0, 0, 1, 1]}
    return write(folder, 4, *parts, **placed, launch={"status": 0, "program": ["x"]} | launch)


@pytest.mark.parametrize(
    ("order", "shown"),
    [
        (["west0.net", "east0", "west0.net", "east0"], True),
        (["west0", "west0", "east0", "east0"], False),
        (["west0"], False),
        (None, False),
        (7, False),
    ],
)
def test_the_page_of_a_placed_run(tmp_path: Path, order: object, *, shown: bool) -> None:
    folder = recorded(tmp_path, order=order)
    assert (past_runs.launcher_order(record.read(folder)) is not None) == shown
    page = tmp_path / "report.html"
    assert main(["report", str(folder), "-o", str(page)]) == 0
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text())
    assert found
    sections = {each["title"]: each["blocks"] for each in json.loads(found[1])["sections"]}
    assert ("Placement" in sections) == shown
    if shown:
        blocks = {block.get("caption"): block for block in sections["Placement"]}
        assert "2 of 4 ranks" in blocks[None]["text"][0]
        assert blocks["Traffic over the hierarchy in numbers"]["rows"] == [
            ["inside hosts", 0, 4000],
            ["between hosts of a site", 0, 0],
            ["between sites", 4000, 0],
        ]
        drawn = blocks["Communication matrix and traffic, before and after"]["svg"]
        words = [each.text for each in ET.fromstring(drawn).iter(f"{SVG}text")]
        assert {"in the launcher's order", "as placed", "west0", "east0"} <= set(words)


def test_the_page_of_a_placed_run_without_messages(tmp_path: Path) -> None:
    parts = [part(rank, 2, host=rank) for rank in range(2)]
    placed = {"hosts": ["west0", "east0"], "placement": [0, 1]}
    write(tmp_path, 2, *parts, **placed, launch={"status": 0, "order": ["east0", "west0"]})
    (section,) = placement_parts.sections(record.read(tmp_path), None)
    (block,) = section.blocks
    assert section.title == "Placement"
    assert "2 of 2 ranks" in str(block) and "nothing point to point" in str(block)


def test_the_recorded_run_is_what_was_before(tmp_path: Path) -> None:
    folder, svg = recorded(tmp_path), tmp_path / "placed.svg"
    words = ["place", str(folder), "-H", "west0:2,east0:2", "--picture", str(svg)]
    assert main(words) == 0
    assert "before: the recorded run" in svg.read_text()
