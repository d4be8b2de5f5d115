"""Every figure and table of the five papers: the pages that show them, made one after another.

docs/papers.md has a row for each, with the verdict. A page is left out while its sources are those
of today; an interrupted one goes on where it was. What needs the lab is listed, and made by --lab.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from bench import machine, report
from bench.report import Table
from bench.settings import Settings
from thalweg.errors import UserError


@dataclass(frozen=True)
class Maker:
    """What makes a page: `script/bench <command>`."""

    page: str
    command: str
    on_lab: bool = False


makers = {
    maker.page: maker
    for maker in (
        Maker("cmpi", "cmpi"),
        Maker("cmpi-smpi", "cmpi-smpi"),
        Maker("trees", "trees"),
        Maker("grid", "grid"),
        Maker("wan-simulated", "wan --simulate"),
        Maker("breakdown-simulated", "breakdown --simulate"),
        Maker("placement", "placement"),
        Maker("placement-smpi", "placement-smpi"),
        Maker("days", "days"),
        Maker("cloudmap", "cloudmap"),
        Maker("probe", "probe", on_lab=True),
        Maker("wan", "wan", on_lab=True),
        Maker("breakdown", "breakdown", on_lab=True),
        Maker("days-lab", "days-lab", on_lab=True),
        Maker("placement-lab", "placement-lab", on_lab=True),
        Maker("inside-figures", "inside-figures", on_lab=True),
    )
}

none = ()
"""Pages of a figure that isn't made: docs/papers.md says why."""
pages_of: dict[str, dict[str, Sequence[str]]] = {
    "CMPI": {
        "Figure 1": none,
        "Figure 2": ("cmpi",),
        "Figure 3": none,
        "Figure 4": none,
        "Figure 5": ("cmpi",),
        "Figure 6": ("cmpi",),
        "Figure 7": ("cmpi",),
        "Figure 8": ("cmpi",),
        "Figure 9": ("trees",),
        "Figure 10": ("days", "days-lab"),
        "Figure 11": ("breakdown-simulated", "breakdown"),
        "Appendix A": none,
        "Appendix B": ("cmpi", "cmpi-smpi"),
    },
    "Matsuda": {
        "Figure 1": none,
        "Figure 2": none,
        "Figure 3": none,
        "Figure 4": none,
        "Figure 5": none,
        "Figure 6": ("wan-simulated", "wan"),
        "Figure 7": ("wan-simulated", "wan"),
        "Table 1": ("wan-simulated", "wan"),
        "Table 2": none,
    },
    "HLOT": {
        "Figure 1": none,
        "Figure 2": none,
        "Figure 3": none,
        "Figure 4": none,
        "Figure 5": ("grid",),
        "Figure 6a": ("grid",),
        "Figure 6b": ("grid", "trees"),
        "Figure 7": ("grid", "trees"),
    },
    "Bongo": {
        "Figure 1": none,
        "Figure 2a": ("inside-figures",),
        "Figure 2b": ("inside-figures",),
        "Figure 3a": ("inside-figures",),
        "Figure 3b": ("inside-figures",),
        "Sections 3 and 4": ("inside-figures",),
    },
    "CloudMap": {
        "Figure 1": ("cloudmap",),
        "Figure 2": ("cloudmap",),
        "Figure 3": ("cloudmap",),
        "Figure 4": ("cloudmap",),
        "Figure 5": none,
        "Figure 6": ("placement-lab", "placement-smpi", "cloudmap"),
        "Figure 7": ("placement-lab", "placement-smpi", "cloudmap"),
        "Figure 8": ("placement", "placement-smpi", "cloudmap"),
        "Figure 9": ("cloudmap",),
        "Figure 10": ("cloudmap", "placement-lab"),
        "Figure 11": ("placement", "placement-smpi", "cloudmap"),
        "Figure 12": ("cloudmap",),
        "Figure 13": ("placement", "placement-lab"),
        "Figure 14": none,
        "Figure 15": ("placement", "placement-lab"),
        "Table I": none,
        "Table II": ("placement", "probe"),
    },
}
"""Figures and tables of each paper, and the pages that show what they show."""


def run(settings: Settings) -> None:
    """Makes the pages of the papers; each in a process of its own, as its own command does."""
    papers = settings.papers or list(pages_of)
    wanted = dict.fromkeys(
        page for paper in papers for pages in pages_of[paper].values() for page in pages
    )
    failed = []
    for page in wanted:
        maker = makers[page]
        if maker.on_lab and not settings.lab:
            continue
        if is_finished(settings, page) and not settings.anew:
            report.console.print(f"{page}.md is of today's sources")
            continue
        report.console.print(f"[bold]script/bench {maker.command}[/bold]")
        try:
            make(maker, settings)
        except UserError as error:
            report.console.print(f"[red]{error}[/red]")
            failed.append(page)
    listing(settings, papers).print()
    if failed:
        raise UserError(f"{', '.join(failed)} failed, for the reasons above; the rest is made")


def make(maker: Maker, settings: Settings) -> None:
    done = subprocess.run([sys.executable, "-m", "bench", *arguments(maker, settings)], check=False)
    if done.returncode:
        raise UserError(
            f"script/bench {maker.command} failed: once its fault is mended, the same command "
            "goes on with what is missing"
        )


def arguments(maker: Maker, settings: Settings) -> list[str]:
    options = {
        "--quick": not settings.save,
        "--draft": settings.draft,
        "--anew": settings.anew,
        "--resume": not settings.anew,
    }
    return [*maker.command.split(), *(name for name, given in options.items() if given)]


def is_finished(settings: Settings, page: str) -> bool:
    """Whether all parts of the page that is there were made with today's sources."""
    path = report.folder(settings) / f"{page}.json"
    if not path.exists():
        return False
    summary = json.loads(path.read_text())
    parts = summary.get("parts") or [{"commit": summary["machine"]["commit"]}]
    return not summary.get(report.unfinished) and all(
        machine.is_current(part["commit"], summary["measures"]) for part in parts
    )


def listing(settings: Settings, papers: Sequence[str]) -> Table:
    """Tables each figure with its pages, and what it takes to make them."""
    table = Table("The papers' figures and tables", ["paper", "figure", "page", "command", "state"])
    for paper in papers:
        for figure, pages in pages_of[paper].items():
            if not pages:
                table.add(paper, figure, "-", "-", "not made: docs/papers.md says why")
            for page in pages:
                command = f"script/bench {makers[page].command}"
                table.add(paper, figure, f"{page}.md", command, state(settings, page))
    return table


def state(settings: Settings, page: str) -> str:
    if is_finished(settings, page):
        return "of today's sources"
    there = (report.folder(settings) / f"{page}.md").exists()
    needed = ", needs the lab: --lab" if makers[page].on_lab else ""
    return ("older than its sources" if there else "missing") + needed
