"""Tables on the screen, Markdown and JSON files in bench/results/."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from bench import machine
from bench.settings import Settings

results = machine.repository / "bench" / "results"
console = Console()


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


def finish(
    settings: Settings, name: str, heading: str, tables: Sequence[Table], data: dict[str, Any]
) -> None:
    """Prints the tables and, unless the settings say otherwise, writes them.

    bench/results/<name>.md is the latest result, <date>-<name>.json the raw data.
    """
    for table in tables:
        table.print()
    if not settings.save:
        return
    results.mkdir(exist_ok=True)
    date = datetime.datetime.now(datetime.UTC)
    raw = results / f"{date:%Y-%m-%d}-{name}.json"
    document: dict[str, Any] = {"name": name, "date": date.isoformat(timespec="seconds")}
    document |= {"machine": machine.describe(), **data}
    raw.write_text(_one_sample_per_line(document))
    text = [f"# {heading}", "", _provenance(document, raw.name), ""]
    page = results / f"{name}.md"
    page.write_text("\n".join(text) + "\n" + "\n".join(table.markdown() for table in tables))
    console.print(f"wrote {page} and {raw}")


def _provenance(document: dict[str, Any], raw: str) -> str:
    on = document["machine"]
    return (
        f"Measured {document['date'][:10]} by `script/bench {document['name']}` at commit "
        f"`{on['commit']}` on {on['cores']} cores of {on['cpu']}, kernel {on['kernel']}. "
        f"Raw samples, lab counters and versions: [{raw}]({raw})."
    )


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
