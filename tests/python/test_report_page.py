"""The page of `thalweg report` in a browser: what it shows, and what can be done with it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import Page, browser
from recorded import Recording
from test_record import calls, link, member, messages, part, write

from thalweg import network, units
from thalweg.analysis import findings
from thalweg.cli import main
from thalweg.collective import Kind
from thalweg.report import elements, tree_parts
from thalweg.report import page as pages
from thalweg.report.elements import Axis, Layer, Section

HOSTS = ["<script>alert(1)</script>", "\"'[red]&amp;", "</script><b>bold", "d\x1b[31m"]
LATE = 3
LARGEST = 5_000_000
"""Most bytes of a page."""
SOON = 2.0
"""Seconds until a page is there."""


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser() as found:
        yield found


def tree_calls(ranks: int, count: int) -> Recording:
    """Allreduces along a flat tree, to which one rank comes late."""
    run = Recording(ranks)
    for number in range(count):
        begin = 10**9 + 1_000_000 * number
        late = {
            rank: 200_000 + 1000 * number if rank == LATE else 10 * rank for rank in range(ranks)
        }
        whole = begin + 300_000
        times = {rank: (begin + late[rank], whole + 2000 + 100 * rank) for rank in range(ranks)}
        call = run.call(Kind.allreduce, times)
        for rank in range(1, ranks):
            sent = begin + late[rank] + 500
            run.message(call, rank, 0, (sent, sent + 100), (begin, sent + 20_000), how=1)
            run.message(call, 0, rank, (whole, whole + 50), (sent, whole + 1000), step=1)
    return run


def record_of(folder: Path, hosts: list[str] = HOSTS, **more: object) -> Path:
    """A record of a rank on each host, with messages between neighbours."""
    folder.mkdir(exist_ok=True)
    ranks = len(hosts)
    parts = [
        part(
            rank, ranks, messages((rank + 1) % ranks, [(rank + 1, 0), (2, 40)]),
            calls(5, 0, 1, [4000 + 100 * rank] * 3), calls(5, 0, 0, [9000]),
            link((rank + 1) % ranks, [10, 20], [(30, 60)]), member(5, rank, ranks, 0), host=rank,
        )
        for rank in range(ranks)
    ]  # fmt: skip
    more = {
        "command": ["./run", "</script><i>", "[bold]"], "placement": list(range(ranks)),
        "collectives": ["bcast", "allreduce"],
    } | more  # fmt: skip
    return write(folder, ranks, *parts, hosts=hosts, **more)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run with a record and events."""
    folder = tmp_path_factory.mktemp("run")
    record_of(folder)
    tree_calls(len(HOSTS), 30).write(folder)
    file = folder / "report.html"
    assert main(["report", str(folder), "-o", str(file)]) == 0
    return file


def text_of(page: Page) -> str:
    return str(page.run("document.body.innerText"))


def test_it_asks_for_nothing_and_makes_no_errors(page: Page, report: Path) -> None:
    page.requests.clear()
    assert page.open(report) < 10 * SOON  # a busy machine is no failure
    asked = [each for each in page.requests if not each.startswith("data:")]
    assert asked == [report.absolute().as_uri()]
    assert page.errors == []
    assert not re.search(r"(src|href)=\"?http", report.read_text())


def test_the_first_screen_answers(page: Page, report: Path) -> None:
    page.open(report)
    words = text_of(page)
    assert "A rank spent" in words
    assert "saved" in words
    assert "of the limit" in words.lower()
    assert f"rank {LATE} comes late to the calls" in words


def test_names_are_shown_as_they_are(page: Page, report: Path) -> None:
    page.open(report)
    words = text_of(page)
    for name in (*HOSTS[:3], "d\\x1b[31m", "run </script><i> [bold]"):
        assert name in words
    assert page.run("document.querySelectorAll('b, i, script:not(#data)').length") == len(
        re.findall('<div class="step">', page.run("document.body.innerHTML"))
    ) + 1  # fmt: skip  # the names of steps, and the page's own script


def rows(page: Page, caption: str) -> list[list[str]]:
    """The body of a table as text."""
    found = page.run(
        f"[...document.querySelectorAll('table')].find((each) => each.caption.innerText === "
        f"{json.dumps(caption)}).querySelectorAll('tbody tr').values().map((row) => "
        "[...row.children].map((cell) => cell.innerText)).toArray()"
    )
    return [list(map(str, row)) for row in found]


RANKS = "Ranks, the latest first"


def mark(page: Page, tag: str, caption: str, name: str) -> None:
    """Gives the table, or the figure, with this caption an id."""
    part = "caption" if tag == "table" else "figcaption"
    page.run(
        f"[...document.querySelectorAll('{tag}')].find((each) => each.querySelector('{part}')?."
        f"innerText.startsWith({json.dumps(caption)})).id = '{name}'"
    )


def test_tables_are_sorted_by_their_heads(page: Page, report: Path) -> None:
    page.open(report)
    mark(page, "table", RANKS, "ranks")
    assert rows(page, RANKS)[0][0] == str(LATE)
    names = [str(rank) for rank in range(len(HOSTS))]
    for expected, order in (("descending", names[::-1]), ("ascending", names)):
        page.click("#ranks th:first-child button")
        assert page.run("document.querySelector('#ranks th').ariaSort") == expected
        assert [row[0] for row in rows(page, RANKS)] == order


def test_pointing_at_a_cell_shows_its_value(page: Page, report: Path) -> None:
    page.open(report)
    mark(page, "figure", "How late", "late")
    box = "#late canvas"
    page.click(box, 0.5 / 30, (LATE + 0.5) / len(HOSTS))
    assert page.run("document.getElementById('pointed').innerText") == f"rank {LATE}, call 0: 0s"
    page.click(box, 29.5 / 30, (LATE + 0.5) / len(HOSTS))
    shown = page.run("document.getElementById('pointed').innerText")
    # The others' median is rank 1's and 2's, whose pause is the same from call to call.
    late = page.run("document.querySelector('#late output').innerText")
    assert shown.startswith(f"rank {LATE}, call 29: ")
    assert late.startswith(f"Selected: rank {LATE}")


def selected(page: Page, name: str) -> list[str]:
    found = page.run(
        f"[...document.querySelectorAll('#{name} [aria-selected=true]')]"
        ".map((row) => row.children[0].innerText)"
    )
    return list(map(str, found))


def test_pictures_and_tables_select_each_other(page: Page, report: Path) -> None:
    page.open(report)
    mark(page, "figure", "How late", "late")
    mark(page, "table", RANKS, "ranks")
    page.click("#late canvas", 0.5, 1.5 / len(HOSTS))
    assert selected(page, "ranks") == ["1"]
    page.click("#late canvas", 0.7, 1.5 / len(HOSTS))  # again: no longer
    assert selected(page, "ranks") == []
    page.click("#ranks tbody tr:nth-child(1)")
    assert page.run("document.querySelectorAll('#late .selected').length") == 1
    assert f"rank {LATE}" in page.run("document.querySelector('#late output').innerText")


@pytest.mark.parametrize("goes_up", [True, False])
def test_edges_are_noted_as_far_as_they_have_columns(goes_up: bool) -> None:
    run = Recording(2)
    for number in range(3):
        at = 10**9 + 10**6 * number
        kind = Kind.allreduce if goes_up else Kind.bcast
        call = run.call(kind, dict.fromkeys(range(2), (at, at + 9000)))
        if goes_up:
            run.message(call, 1, 0, (at + 10, at + 20), (at, at + 1000), how=1)
        run.message(call, 0, 1, (at + 2000, at + 2100), (at, at + 3000), step=1)
    blocks = tree_parts.plans(findings.find(run.run()))
    (edges,) = [block for block in blocks if str(block.get("caption")).startswith("Edges of")]
    names = [name for name, _ in edges["columns"]]
    assert len(names) == len(set(names))
    assert ("waits at the parent" in names) == goes_up
    assert ("Waits at the parent" in edges["note"]) == goes_up


def test_a_tree_its_edges_and_its_timemap_select_each_other(page: Page, report: Path) -> None:
    page.open(report)
    mark(page, "table", "Edges of allreduce", "edges")
    page.click("#edges tbody tr:nth-child(2)")
    keys = page.run(
        "[...document.querySelectorAll('.drawing .selected')].map((e) => e.dataset.key)"
    )
    assert keys == ["rank 2", "rank 2"]


def test_keys_lead_through_a_heatmap_and_a_table(page: Page, report: Path) -> None:
    page.open(report)
    mark(page, "figure", "Communication matrix", "matrix")
    mark(page, "table", "Pairs of ranks", "pairs")
    page.run("document.querySelector('#matrix .plot').focus()")
    page.press(*(3 * ["ArrowRight"]), "ArrowDown")  # the first one enters the picture
    assert "rank 1, rank 2: 40B" in page.run("document.querySelector('#matrix output').innerText")
    page.press("Enter")
    assert selected(page, "pairs") == ["1"]
    page.press("Escape")
    assert selected(page, "pairs") == []
    page.run("document.querySelector('#pairs tr[tabindex=\"0\"]').focus()")
    page.press("ArrowDown", "Enter")
    assert len(selected(page, "pairs")) == 1
    assert page.run("document.querySelectorAll('#matrix .selected').length") == 1
    assert page.run("document.activeElement.tagName") == "TR"


def test_everything_has_a_name_for_who_hears_it(page: Page, report: Path) -> None:
    page.open(report)
    page.press("Tab")
    assert page.run("document.activeElement.innerText") == "Skip to the contents"
    assert page.run("document.documentElement.lang") == "en"
    nameless = page.run(
        "[...document.querySelectorAll('.plot, .drawing svg, nav, section')]"
        ".filter((e) => !e.ariaLabel && !e.getAttribute('aria-labelledby')).length"
    )
    assert nameless == 0
    label = page.run("document.querySelector('.plot').ariaLabel")
    assert re.search(r"From .+ to .+\. Arrow keys", label)


def background(page: Page) -> list[int]:
    found = page.run("getComputedStyle(document.body).backgroundColor")
    return [int(part) for part in re.findall(r"\d+", str(found))]


def test_light_and_dark_and_print(page: Page, report: Path, tmp_path: Path) -> None:
    page.colours("light")
    page.open(report)
    assert min(background(page)) > 200
    page.colours("dark")
    assert max(background(page)) < 60
    choose = "(e) => {{ e.value = '{}'; e.dispatchEvent(new Event('change')); }}"
    for value in ("light", "dark"):
        page.run(f"({choose.format(value)})(document.getElementById('theme'))")
        assert (min(background(page)) > 200) == (value == "light")
    page.call("Emulation.setEmulatedMedia", media="print", features=[])
    assert min(background(page)) > 200  # paper is white, whatever the screen is
    page.call("Emulation.setEmulatedMedia", media="", features=[])
    page.pdf(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    assert page.errors == []


@pytest.mark.parametrize("width", [400, 1200])
def test_nothing_is_wider_than_the_screen(page: Page, report: Path, width: int) -> None:
    page.open(report, width)
    assert page.run("document.documentElement.scrollWidth") == width


def test_values_are_printed_as_elsewhere(page: Page) -> None:
    script = pages._asset("units.js")
    rng = np.random.default_rng(1)
    values = [*(10.0 ** rng.uniform(-9, 4, 60)), 0.0, 1e-9, 0.9999, 0.99951, 59.99, 60.0, 3600.0]
    times = [elements.numbers(np.array([value]))[0] for value in values]
    shown = page.run(f"(() => {{{script}; return {times}.map((x) => format(x, 'time'))}})()")
    assert shown == [units.time_to_text(float(time or 0)) for time in times]
    rates = [value for value in times if value]
    shown = page.run(f"(() => {{{script}; return {rates}.map((x) => format(1e6 * x, 'rate'))}})()")
    assert shown == [units.rate_to_text(1e6 * rate) for rate in rates]
    sizes = [0, 1, 999, 1000, 1024, 1025, 976 << 10, 999_000, 999_500, 1 << 20, 3 << 20, 8_000_000]
    sizes += [8_388_608, 1_048_577, 10**9, 1 << 34, 1 << 40, *(2 * rng.integers(1, 10**7, 20))]
    kept = elements.numbers(np.array(sizes, float))
    shown = page.run(f"(() => {{{script}; return {kept}.map((x) => format(x, 'size'))}})()")
    assert shown == [units.size_to_text(int(size)) for size in sizes]


def test_numbers_are_rounded_once(page: Page) -> None:
    """0.0915496 s is 91.5 ms; rounded to four digits before, it would be 91.6 ms."""
    (kept,) = elements.numbers(np.array([0.0915496]))
    script = pages._asset("units.js")
    assert page.run(f"(() => {{{script}; return format({kept}, 'time')}})()") == "91.5ms"


def test_a_value_that_is_not_there_is_no_colour(page: Page, tmp_path: Path) -> None:
    """Cells have the scale's ends at its ends, and none where there is no value."""
    values = np.array([[np.nan, 1.0], [100.0, 10.0]])
    names = ["a", "b"]
    block = elements.heatmap("x", Axis("from", names), Axis("to", names),
                             [Layer("y", "time", values)])  # fmt: skip
    made = pages.write(elements.Page("x", [], [], [Section("x", [block])]))
    (tmp_path / "x.html").write_text(made)
    page.open(tmp_path / "x.html")
    pixels = page.run(
        "[...document.querySelector('canvas').getContext('2d').getImageData(0, 0, 2, 2).data]"
    )
    assert pixels[3] == 0
    assert pixels[4:8] == [0, 32, 77, 255]
    assert pixels[8:12] == [255, 234, 70, 255]
    assert page.run("document.querySelectorAll('.value').length") == 3


def test_without_events_it_says_how_to_get_the_rest(page: Page, tmp_path: Path) -> None:
    folder = record_of(tmp_path / "run", launch={"status": 3}, everything_native="single-host")
    assert main(["report", str(folder), "-o", str(tmp_path / "x.html")]) == 0
    page.open(tmp_path / "x.html")
    words = text_of(page)
    assert "--events 64MB" in words
    assert "ended with status 3" in words
    assert "THALWEG_ONE_HOST=1" in words
    assert "Time in collectives by rank" in words
    assert page.errors == []


def test_two_runs_are_compared(page: Page, tmp_path: Path) -> None:
    slow, fast = tmp_path / "slow", tmp_path / "fast"
    tree_calls(4, 40).write(slow)
    tree_calls(4, 40).write(fast)
    assert main(["report", str(slow), str(fast), "-o", str(tmp_path / "x.html")]) == 0
    page.open(tmp_path / "x.html")
    words = text_of(page)
    assert "No collective of the two runs differs by more than noise" in words
    assert "Timemaps of allreduce" in words
    assert page.errors == []


def test_thousands_of_ranks_are_binned(page: Page, tmp_path: Path) -> None:
    """A record of 4,096 ranks on 1,024 hosts, each of which talks to 26 others."""
    ranks, hosts = 4096, 1024
    rng = np.random.default_rng(7)
    parts = []
    for rank in range(ranks):
        to = rng.choice(ranks, 26, replace=False)
        sent = [messages(int(other), [(0, 0), (int(rng.integers(1, 99)), 999)]) for other in to]
        parts.append(part(rank, ranks, *sent, calls(5, 0, 1, [1000 + rank]), host=rank // 4))
    (tmp_path / "record.bin").write_bytes(b"".join(parts))
    names = [f"node{host}" for host in range(hosts)]
    write(tmp_path, ranks, hosts=names, placement=[rank // 4 for rank in range(ranks)])
    network.write(network.even_network(16, 1e-4, 1e8), tmp_path / "network.json")
    file = tmp_path / "x.html"
    assert main(["report", str(tmp_path), "-o", str(file)]) == 0
    assert file.stat().st_size < LARGEST
    page.open(file)
    sides = page.run("[...document.querySelectorAll('canvas')].map((c) => c.height)")
    assert max(sides) <= 192
    assert page.errors == []
