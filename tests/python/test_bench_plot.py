import re
import xml.etree.ElementTree as ElementTree

import pytest

from bench.plot import BarPanel, Line, LinePanel, Stack, bar_chart, line_chart, ticks

SVG = "{http://www.w3.org/2000/svg}"


def titles(drawing: str, tag: str) -> list[tuple[ElementTree.Element, str]]:
    """The elements that say something when pointed at."""
    found = []
    for element in ElementTree.fromstring(drawing).iter(SVG + tag):
        title = element.find(SVG + "title")
        if title is not None and title.text:
            found.append((element, title.text))
    return found


@pytest.mark.parametrize(
    ("most", "expected"),
    [(10, [0, 2, 4, 6, 8, 10]), (0.7, [0, 0.2, 0.4, 0.6, 0.8]), (9000, [0, 2000, 4000, 6000, 8000,
     10000]), (0, [0, 1])],
)  # fmt: skip
def test_ticks_are_round_and_reach_the_most(most: float, expected: list[float]) -> None:
    assert ticks(most) == pytest.approx(expected)


def panel(*lines: Line) -> LinePanel:
    return LinePanel("bcast", "size", "MB/s", [(1, "1"), (2, "2"), (4, "4")], lines)


def test_a_line_is_on_a_logarithmic_and_a_linear_axis() -> None:
    drawing = line_chart([panel(Line("n = 1", [(1, 0), (2, 50), (4, 100)], "red"))])
    (x1, y1), (x2, y2), (x3, y3) = (
        (float(circle.attrib["cx"]), float(circle.attrib["cy"]))
        for circle, _ in titles(drawing, "circle")
    )
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2)
    assert y2 - y1 == pytest.approx(y3 - y2, abs=0.2)
    assert y3 < y1  # upwards


def test_the_legend_names_each_line_once() -> None:
    one, two = (Line(label, [(1, 1)], "red") for label in ("n < 1", "n = 2"))
    drawing = line_chart([panel(one), panel(one, two)])
    words = re.findall(r">([^<>]+)</text>", drawing)
    assert [word for word in words if word.startswith("n")] == ["n &lt; 1", "n = 2"]


def test_the_parts_of_a_stack_stand_on_each_other() -> None:
    stacks = [Stack("native\nMPICH", {"work": 1, "talk": 3}), Stack("Thalweg", {"work": 1})]
    drawing = bar_chart([BarPanel("CG", "s", stacks)], {"work": "blue", "talk": "red"})
    work, talk = (rect for rect, title in titles(drawing, "rect") if title.startswith("native"))
    assert float(talk.attrib["height"]) == pytest.approx(3 * float(work.attrib["height"]), abs=0.3)
    top_of_work = float(talk.attrib["y"]) + float(talk.attrib["height"])
    assert top_of_work == pytest.approx(float(work.attrib["y"]), abs=0.2)


def test_nothing_measured_is_an_empty_chart() -> None:
    ElementTree.fromstring(line_chart([panel()]))
    ElementTree.fromstring(bar_chart([BarPanel("CG", "s", [])], {"work": "blue"}))
