"""Puts a page together: the template, its style and scripts, and the data, each once."""

import json
import re
import string
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from thalweg import __version__
from thalweg.drawing import SCALE, escape
from thalweg.printable import printable
from thalweg.report.elements import Page, Section

SCRIPTS = ("units.js", "links.js", "table.js", "heatmap.js", "page.js")
"""In the order in which they use each other."""


def write(page: Page) -> str:
    """Returns the page as HTML. Text from outside, such as names of hosts, is shown as it is."""
    ids = _ids(page.sections)
    data = {
        "scale": [list(colour) for colour in SCALE],
        "sections": [
            {"id": name, "title": section.title, "blocks": list(section.blocks)}
            for name, section in zip(ids, page.sections, strict=True)
        ],
    }
    return string.Template(_asset("page.html")).substitute(
        title=escape(page.title),
        style=_asset("page.css"),
        warnings="".join(f'<p class="warning">{escape(each)}</p>' for each in page.warnings),
        lead="".join(f"<p>{escape(sentence)}</p>" for sentence in page.lead),
        facts="".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(remark)}</small>"
            "</dd></div>"
            for name, value, remark in page.facts
        ),
        links="".join(
            f'<li><a href="#{name}">{escape(section.title)}</a></li>'
            for name, section in zip(ids, page.sections, strict=True)
        ),
        about="".join(f"<p>{escape(sentence)}</p>" for sentence in page.about),
        version=escape(__version__),
        data=as_script(data),
        script="\n".join(_asset(name) for name in SCRIPTS),
    )


def _ids(sections: Sequence[Section]) -> list[str]:
    """Names of sections in the page's address: letters of their titles, each once."""
    found: list[str] = []
    for section in sections:
        name = re.sub(r"[^a-z]+", "-", section.title.lower()).strip("-") or "section"
        found.append(name if name not in found else f"{name}-{len(found)}")
    return found


def as_script(data: Any) -> str:
    """Returns JSON that can stand in a script element, whatever text is in it."""
    text = json.dumps(_printable(data), separators=(",", ":"), allow_nan=False)
    # "</script>" and "<!--" would end or change the element.
    return text.replace("<", "\\u003c")


def _printable(data: Any) -> Any:
    if isinstance(data, str):
        return printable(data)
    if isinstance(data, dict):
        return {key: _printable(value) for key, value in data.items()}
    return [_printable(each) for each in data] if isinstance(data, list | tuple) else data


def _asset(name: str) -> str:
    return files("thalweg.report").joinpath("assets", name).read_text("utf-8")
