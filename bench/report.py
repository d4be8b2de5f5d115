"""Tables and figures on the screen, Markdown, JSON and SVG files in bench/results/."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from bench import machine
from bench.settings import Settings

results = machine.repository / "bench" / "results"
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


def finish(
    settings: Settings, name: str, heading: str, contents: Sequence[Content], data: dict[str, Any]
) -> None:
    """Prints the contents and, unless the settings say otherwise, writes them."""
    for content in contents:
        content.print()
    if settings.save:
        raw = write(name, heading, contents, data, new_raw_file(name))
        console.print(f"wrote {results / name}.md and {raw}")


def new_raw_file(name: str) -> Path:
    """<date>-<name>.json, for a run that begins today."""
    return results / f"{now()[:10]}-{name}.json"


def last_raw_file(name: str) -> Path | None:
    """The raw data of the last run of this name; None if there is none."""
    day = "[0-9]" * 4 + "-[0-9][0-9]" * 2
    return max(results.glob(f"{day}-{name}.json"), default=None)


def write(
    name: str, heading: str, contents: Sequence[Content], data: dict[str, Any], raw: Path
) -> Path:
    """Writes bench/results/<name>.md, its figures, and the raw data that they were made from.

    Of the data, "made" (Measured, Simulated) and "command" (of script/bench) are for the page.
    """
    results.mkdir(exist_ok=True)
    document: dict[str, Any] = {"name": name, "date": now()}
    document |= {"machine": machine.describe(), **data}
    _replace(raw, _one_sample_per_line(document))
    text = [f"# {heading}", "", _provenance(document, raw.name), ""]
    page = "\n".join(text) + "\n" + "\n".join(content.markdown() for content in contents)
    (results / f"{name}.md").write_text(page)
    for content in contents:
        if isinstance(content, Figure):
            (results / f"{content.name}.svg").write_text(content.svg)
    return raw


def now() -> str:
    """Date and time as kept in raw files."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _provenance(document: dict[str, Any], raw: str) -> str:
    on = document["machine"]
    runs = document.get("parts") or [{"date": document["date"], "commit": on["commit"]}]
    days = sorted({run["date"][:10] for run in runs})
    commits = ", ".join(f"`{commit}`" for commit in dict.fromkeys(run["commit"] for run in runs))
    return (
        f"{document.get('made', 'Measured')} {' to '.join(dict.fromkeys([days[0], days[-1]]))} by "
        f"`script/bench {document.get('command', document['name'])}` at commit {commits} "
        f"on {on['cores']} cores of {on['cpu']}, kernel {on['kernel']}. "
        f"Raw samples, lab counters and versions: [{raw}]({raw})."
    )


def _replace(path: Path, text: str) -> None:
    """Writes a file that is whole at any time: hours of measuring may be in it."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


def _one_sample_per_line(document: dict[str, Any]) -> str:
    """JSON with one line per element of the long list "samples", for readable differences."""
    samples = document.get("samples", [])
    head = json.dumps({**document, "samples": None}, indent=1)
    lines = ",\n".join("  " + json.dumps(sample) for sample in samples)
    return head.replace('"samples": null', f'"samples": [\n{lines}\n ]') + "\n"


def seconds(value: float) -> str:
    """A time with three significant digits: "1.20 s", "43.1 ms", "812 ms"."""
    scale, unit = next(
        (pair for pair in ((1.0, "s"), (1e-3, "ms")) if value >= pair[0]), (1e-6, "us")
    )
    scaled = value / scale
    decimals = 2 if scaled < 10 else 1 if scaled < 100 else 0
    return f"{scaled:.{decimals}f} {unit}"


def times(value: float) -> str:
    """A ratio: "2.51x"."""
    return f"{value:.2f}x"


def percent(value: float) -> str:
    """A share: "84 %"."""
    return f"{100 * value:.0f} %"
