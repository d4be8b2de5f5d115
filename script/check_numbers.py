"""Checks that the numbers of README.md and docs/papers.md are those of the pages that they cite.

In the README's table whose last column is "page", each row's times must be in the row of that page
that has the same scenario, build, collective and size, and its ratios must follow from them. In a
paragraph that cites a page of bench/results, and in a verdict of docs/papers.md beside one, each
multiple ("2.3 times", "2.3x") and time must be one of that page, rounded, and each "N of M" and
share must occur in it. What is in brackets and begins with "paper" is the paper's. A paragraph of
the README that cites no page has neither multiples nor "N of M". Usage: check_numbers.py [ROOT]
"""

import re
from collections.abc import Iterator
from pathlib import Path

from check import run

README = Path("README.md")
PAPERS = Path("docs") / "papers.md"
RESULTS = Path("bench") / "results"

PAGE = re.compile(r"`bench/results/([\w-]+\.md)`")
MULTIPLE = re.compile(r"(\d+(?:\.\d+)?)(?:x\b| times\b)")
SHOWN_MULTIPLE = re.compile(r"(\d+(?:\.\d+)?)x\b")
DURATION = re.compile(r"\b(\d+(?:\.\d+)?) (ms|us|s)\b")
COUNT = re.compile(r"\b\d+ of \d+\b")
SHARE = re.compile(r"\b[\d.]+ %")
OF_PAPER = re.compile(r"\(paper[^)]*\)")
SCENARIO = re.compile(r"`([\w-]+)`")
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
BYTES = {"KB": 10**3, "MB": 10**6}

Row = dict[str, str]
Table = tuple[int, list[Row]]


def tables(text: str) -> Iterator[Table]:
    """Yields the line of each table's first row, and its rows by column."""
    columns: list[str] | None = None
    rows: list[Row] = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            if columns and rows:
                yield number - len(rows), rows
            columns, rows = None, []
        elif columns is None:
            columns = cells
        elif not set(line) <= set("|- :"):
            rows.append(dict(zip(columns, cells, strict=False)))


def filled(rows: list[Row]) -> Iterator[Row]:
    """Fills cells that repeat the one above by leaving it out."""
    above: Row = {}
    for row in rows:
        above = {column: cell or above.get(column, "") for column, cell in row.items()}
        yield above


def seconds(text: str) -> float:
    value, unit = text.split()
    return float(value) * UNITS[unit]


def agrees(shown: str, value: float) -> bool:
    """Whether a shown number is the value to its last digit; those of pages have three digits."""
    digits = shown.rstrip("x")
    step = 10.0 ** -len(digits.partition(".")[2])
    return abs(float(digits) - value) <= step / 2 + 0.01 * value


def key(row: Row) -> tuple[str, str, str, int]:
    """Scenario, build, collective and bytes of a row of the README."""
    scenario = SCENARIO.search(row["network"])
    collective, _, size = row["collective"].partition(", ")
    value, unit = size.split()
    build = row["MPI"].replace("Open MPI ", "openmpi-").replace("MPICH ", "mpich-")
    return scenario[1] if scenario else "", build, collective, int(value) * BYTES[unit]


def row_faults(row: Row, page: str) -> Iterator[str]:
    scenario, build, collective, size = key(row)
    labels = {"scenario": scenario, "build": build, "collective": collective, "bytes": str(size)}
    found = next(
        (each for _, rows in tables(page) for each in rows if labels.items() <= each.items()), None
    )
    if not found:
        yield f"{row['page']} has no row for {', '.join(labels.values())}"
        return
    for column in ("native", "Thalweg"):
        if row[column] != found[column]:
            yield f"{column} is {row[column]}, in {row['page']} it is {found[column]}"
    native, ours, bound = (seconds(found[name]) for name in ("native", "Thalweg", "bound"))
    for column, value in (("faster", native / ours), ("of the bound", ours / bound)):
        if not agrees(row[column], value):
            yield f"{column} is {row[column]}, from {row['page']} follows {value:.2f}x"
    if "differs" in found.get("at 2d", ""):
        yield f"{row['page']} calls the row invalid: at twice the dilation {found['at 2d']}"


def paragraph_faults(paragraph: str, pages: dict[str, str]) -> Iterator[str]:
    text = " ".join(pages[name] for name in dict.fromkeys(PAGE.findall(paragraph)))
    said = OF_PAPER.sub("", PAGE.sub("", paragraph))
    multiples = [float(found) for found in SHOWN_MULTIPLE.findall(text)]
    for shown in MULTIPLE.findall(said):
        if not any(agrees(shown, value) for value in multiples):
            yield f"no multiple on the cited pages is {shown}"
    durations = [float(value) * UNITS[unit] for value, unit in DURATION.findall(text)]
    for shown, unit in DURATION.findall(said):
        if not any(agrees(shown, value / UNITS[unit]) for value in durations):
            yield f"no time on the cited pages is {shown} {unit}"
    for shown in [*COUNT.findall(said), *SHARE.findall(said)]:
        if shown not in text:
            yield f"the cited pages don't say {shown}"


def uncited_faults(paragraph: str) -> Iterator[str]:
    for shown in [*MULTIPLE.findall(paragraph), *COUNT.findall(paragraph)]:
        yield f"{shown} is a result, and no page is cited for it"


def verdict_faults(text: str, pages: dict[str, str]) -> Iterator[str]:
    for first, rows in tables(text):
        for number, row in enumerate(rows, first):
            if "verdict" in row and PAGE.search(row["page"]):
                for fault in cited_faults(f"{row['verdict']} {row['page']}", pages):
                    yield f"{PAPERS}:{number}: {fault}"


def cited_faults(paragraph: str, pages: dict[str, str]) -> Iterator[str]:
    missing = [name for name in PAGE.findall(paragraph) if name not in pages]
    if missing:
        yield from (f"no page {name}" for name in missing)
    else:
        yield from paragraph_faults(paragraph, pages)


def faults(root: Path) -> Iterator[str]:
    pages = {path.name: path.read_text() for path in (root / RESULTS).glob("*.md")}
    yield from readme_faults((root / README).read_text(), pages)
    if (root / PAPERS).exists():
        yield from verdict_faults((root / PAPERS).read_text(), pages)


def readme_faults(text: str, pages: dict[str, str]) -> Iterator[str]:
    for first, rows in tables(text):
        for number, row in enumerate(filled(rows), first):
            if not (cited := PAGE.search(row.get("page", ""))):
                continue
            for fault in row_faults(row | {"page": cited[1]}, pages.get(cited[1], "")):
                yield f"{README}:{number}: {fault}"
    line = 1
    for paragraph in text.split("\n\n"):
        if not paragraph.lstrip().startswith("|"):
            cites = PAGE.search(paragraph)
            found = cited_faults(paragraph, pages) if cites else uncited_faults(paragraph)
            yield from (f"{README}:{line}: {fault}" for fault in found)
        line += paragraph.count("\n") + 2


if __name__ == "__main__":
    run(faults, "The numbers of README.md and docs/papers.md are those of the pages they cite.")
