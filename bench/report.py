"""Tables and figures on the screen; Markdown, JSON and SVG files in bench/results/."""

from __future__ import annotations

import datetime
import hashlib
import json
import lzma
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from bench import compact, machine
from bench.settings import Settings
from thalweg.files import write_whole

results = machine.repository / "bench" / "results"
drafts = machine.repository / ".cache" / "bench" / "drafts" / "results"
unfinished = "unfinished"
"""Key of a summary, and of a raw file, whose run is still going on or was interrupted."""
most_named = 8
"""Most parts of a page that are named one by one."""
# Wide where nobody looks through a window: a log.
console = Console(width=None if sys.stdout.isatty() else 200)


@dataclass
class Table:
    """Rows of text under a title; `notes` follow it as sentences."""

    title: str
    columns: Sequence[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        """Adds a row; as many cells as columns."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} cells for {len(self.columns)} columns")
        self.rows.append([str(cell) for cell in cells])

    def print(self) -> None:
        table = RichTable(
            *self.columns,
            title=self.title,
            box=box.SIMPLE_HEAD,
            collapse_padding=True,
            pad_edge=False,
        )
        for row in self.rows:
            table.add_row(*row)
        console.print(table)
        for note in self.notes:
            console.print(note)

    def markdown(self) -> str:
        """The table as GitHub's Markdown."""
        lines = [f"## {self.title}", "", _line(self.columns), _line(["---"] * len(self.columns))]
        lines += [_line(row) for row in self.rows]
        lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines).rstrip() + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


@dataclass
class Figure:
    """A drawing that a page shows; its file lies beside the page."""

    title: str
    name: str  # of the file, without .svg
    svg: str
    notes: list[str] = field(default_factory=list)

    def print(self) -> None:
        console.print(f"{self.title}: {self.name}.svg")

    def markdown(self) -> str:
        """The drawing, as GitHub's Markdown shows it."""
        lines = [f"## {self.title}", "", f"![{self.title}]({self.name}.svg)", ""]
        return "\n".join([*lines, *(f"- {note}" for note in self.notes)]).rstrip() + "\n"


Content = Table | Figure


@dataclass(frozen=True)
class Subject:
    """The subject of a page."""

    name: str
    """Name of its files."""
    heading: str
    measures: Sequence[str]
    """Files and folders of the sources that decide what comes out."""
    cell: Sequence[str]
    """Keys of a sample: those with the same values are summarised together."""
    made: str = "Measured"
    """Either "Measured" or "Simulated"."""
    command: str = ""
    """Subcommand of script/bench, if it is not the name."""


def finish(
    settings: Settings, subject: Subject, contents: Sequence[Content], data: dict[str, Any]
) -> None:
    """Prints the contents and, unless the settings say otherwise, writes them."""
    for content in contents:
        content.print()
    if settings.save:
        where = folder(settings)
        write(where, subject, contents, data)
        console.print(f"wrote {where / subject.name}.md")


def folder(settings: Settings) -> Path:
    """Returns the folder of pages; the folder `raw` beside it has the samples."""
    return drafts if settings.draft else results


def raw_file(where: Path, name: str) -> Path:
    """The file of the samples of a page in `where`, compressed JSON; committed with the page, so
    that its measurement can go on elsewhere."""
    return where.parent / "raw" / f"{name}.json.xz"


def read_raw(where: Path, name: str) -> dict[str, Any] | None:
    """Returns the samples of the last run of this name; None if there are none."""
    file = raw_file(where, name)
    if not file.exists():
        return None
    document: dict[str, Any] = json.loads(lzma.decompress(file.read_bytes()))
    return document


def write(where: Path, subject: Subject, contents: Sequence[Content], data: dict[str, Any]) -> None:
    """Writes a page, its figures and its summary to the folder `where`, the samples beside it."""
    document: dict[str, Any] = {"name": subject.name, "date": now()}
    document |= {"machine": machine.describe(), **data}
    where.mkdir(parents=True, exist_ok=True)
    raw = raw_file(where, subject.name)
    raw.parent.mkdir(parents=True, exist_ok=True)
    write_whole(raw, lzma.compress(json.dumps(document).encode()))
    write_whole(where / f"{subject.name}.json", summary(subject, document))
    head = f"# {subject.heading}\n\n{provenance(subject, document)}\n\n"
    page = head + "\n".join(content.markdown() for content in contents)
    write_whole(where / f"{subject.name}.md", page)
    seal(where / f"{subject.name}.md")
    for content in contents:
        if isinstance(content, Figure):
            write_whole(where / f"{content.name}.svg", content.svg)


def seal(page: Path) -> None:
    """Writes a digest of the page to its summary, so that neither is changed without the other."""
    path = page.with_suffix(".json")
    document = json.loads(path.read_text())
    digest = hashlib.sha256(page.read_bytes()).hexdigest()[:16]
    write_whole(path, _one_per_line(document | {"page": digest}, "parts", "cells"))


def now() -> str:
    """Date and time as kept in raw files."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def summary(subject: Subject, document: dict[str, Any]) -> str:
    """Returns the committed summary of a raw document, as JSON."""
    short = {key: value for key, value in document.items() if key != "samples"}
    short |= {"measures": list(subject.measures), "statistics": list(compact.statistics)}
    if "parts" in short:
        short["parts"] = [
            {key: part[key] for key in ("labels", "date", "commit", "machine", "facts")}
            for part in short["parts"]
        ]
    cell = tuple(dict.fromkeys((*subject.cell, "variant")))
    cells = compact.compact(document["samples"], cell)
    return _one_per_line(short | {"cells": cells}, "parts", "cells")


def provenance(subject: Subject, document: dict[str, Any]) -> str:
    """Says when, by what and from which sources a page was made, and which parts are old."""
    on = document["machine"]
    whole = {"date": document["date"], "commit": on["commit"], "machine": machine.in_words()}
    parts = document.get("parts") or [{"labels": {}, **whole}]
    machines = list(dict.fromkeys(part["machine"] for part in parts))
    days = sorted({part["date"][:10] for part in parts})
    commits = list(dict.fromkeys(part["commit"].removesuffix(machine.changed) for part in parts))
    sentences = [
        f"{subject.made} {' to '.join(dict.fromkeys([days[0], days[-1]]))} by "
        f"`script/bench {subject.command or subject.name}` at commit "
        f"{', '.join(f'`{commit}`' for commit in commits)} on {', and '.join(machines)}.",
        f"Quartiles and counters: [{subject.name}.json]({subject.name}.json).",
    ]
    if unclean := [part for part in parts if part["commit"].endswith(machine.changed)]:
        sentences.append(
            f"{_named(unclean, parts)} made from a work tree with uncommitted changes, which "
            "may have been no more than this page itself."
        )
    last = machine.last_change(subject.measures)
    if old := [part for part in parts if last and not _is_after(part, last)]:
        sentences.append(
            f"{_named(old, parts)} made before the last change to the sources that decide what "
            f"comes out (commit `{last}`; `measures` in the summary names the sources)."
        )
    return " ".join(sentences)


def _is_after(part: dict[str, Any], last: str) -> bool:
    return machine.includes(part["commit"].removesuffix(machine.changed), last)


def _named(some: Sequence[dict[str, Any]], parts: Sequence[dict[str, Any]]) -> str:
    """Some of the parts as the subject of a sentence, by their labels where they are few."""
    names = ["/".join(str(value) for value in part["labels"].values()) for part in some]
    if len(some) == len(parts):
        return "All of it was"
    if len(some) > most_named:
        return f"{len(some)} of {len(parts)} parts were"
    return f"The part {names[0]} was" if len(names) == 1 else f"The parts {', '.join(names)} were"


def _one_per_line(document: dict[str, Any], *lists: str) -> str:
    """JSON with one line per element of the long lists, for readable differences."""
    text = json.dumps({**document, **{key: None for key in lists if key in document}}, indent=1)
    for key in lists:
        if key in document:
            lines = ",\n".join("  " + json.dumps(each) for each in document[key])
            text = text.replace(f'"{key}": null', f'"{key}": [\n{lines}\n ]', 1)
    return text + "\n"


def seconds(value: float) -> str:
    """Prints a time with three significant digits: "1.20 s", "43.1 ms", "812 ms"."""
    scale, unit = next(
        (pair for pair in ((1.0, "s"), (1e-3, "ms")) if value >= pair[0]), (1e-6, "us")
    )
    scaled = value / scale
    decimals = 2 if scaled < 10 else 1 if scaled < 100 else 0
    return f"{scaled:.{decimals}f} {unit}"


def times(value: float) -> str:
    """Prints a ratio: "2.51x"."""
    return f"{value:.2f}x"


def judged(holds: bool, *, in_part: bool = False) -> str:
    """How a verdict on a paper's statement ends."""
    return "holds" if holds else "holds in part" if in_part else "does not hold"


def percent(value: float) -> str:
    """Prints a share: "84 %"."""
    return f"{100 * value:.0f} %"
