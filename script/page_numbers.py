"""Addresses of numbers on the pages of bench/results, by which script/claims.py says where a number
that a document claims comes from.

A Source finds one or several numbers. An address names rows by the texts of some of their cells,
and a sentence by its words, so that it stays right when a page is made anew.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

RESULTS = Path("bench") / "results"
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
NUMBER = r"(?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?"
UNIT = r"(?:(?: (?:ms|us|s|%)|x)(?!\w))?"
WHOLE = re.compile(rf"({NUMBER})({UNIT})")
Row = list[tuple[str, str]]
"""Column and text of each cell."""


@dataclass(frozen=True)
class Number:
    """A value in seconds, per cent or as it stands; its unit is "s", "%", "x" or none."""

    value: float
    unit: str = ""


Slot = tuple[Number, ...]
"""What a number of a claim has to be: all of these, rounded."""


class UntraceableError(Exception):
    """An address leads to no number or to several."""


@dataclass
class Pages:
    """The pages of a work tree, and which of them were read since the last reset."""

    root: Path
    used: set[str] = field(default_factory=set)

    def text(self, name: str) -> str:
        """A page by its name; any other file by its path."""
        path = self.root / (name if "/" in name else RESULTS / f"{name}.md")
        if not path.exists():
            raise UntraceableError(f"there is no {name}")
        self.used.add(name)
        return path.read_text()

    def rows(self, name: str) -> Iterator[Row]:
        return rows(self.text(name))

    def summary(self, name: str) -> dict[str, object]:
        self.text(name)
        found: dict[str, object] = json.loads((self.root / RESULTS / f"{name}.json").read_text())
        return found


@dataclass(frozen=True)
class Source:
    """Where numbers come from."""

    find: Callable[[Pages], list[Slot]]


Claims = Mapping[str, Sequence[Source]]
"""What is known of the claims of a file, by how they begin or by their figure."""


def rows(text: str) -> Iterator[Row]:
    """Yields the rows of all tables, each preceded by the heading of its table.

    Of columns of the same name the second is "name (2)".
    """
    columns: list[str] = []
    heading = ""
    for line in text.splitlines():
        cells = [each.strip() for each in line.removeprefix("|").removesuffix("|").split("|")]
        if not line.startswith("|"):
            columns = []
            heading = line.lstrip("# ") if line.startswith("#") else heading
        elif not columns:
            columns = [
                name if name not in cells[:at] else f"{name} ({cells[:at].count(name) + 1})"
                for at, name in enumerate(cells)
            ]
        elif not set(line) <= set("|- :"):
            yield [("table", heading), *zip(columns, cells, strict=False)]


def digest(page: str) -> str:
    """What the summary of a page says of its text, as bench/report.py writes it."""
    return hashlib.sha256(page.encode()).hexdigest()[:16]


def number(shown: str, unit: str) -> Number:
    value, unit = float(shown.replace(",", "")), unit.strip()
    return Number(value * UNITS[unit], "s") if unit in UNITS else Number(value, unit)


def pattern(words: str) -> re.Pattern[str]:
    """Makes words a pattern, in which # is a number that is wanted and * is any number."""
    parts = {"#": f"({NUMBER})({UNIT})", "*": NUMBER}
    return re.compile(
        "".join(parts.get(part, re.escape(part)) for part in re.split("([#*])", words))
    )


def one(found: set[tuple[Number, ...]], where: str) -> tuple[Number, ...]:
    if len(found) != 1:
        raise UntraceableError(f"{where} has {'several numbers' if found else 'no number'}")
    return next(iter(found))


def read(words: str, text: str) -> list[tuple[Number, ...]]:
    """The numbers at the # of the words, for each place where the text has them."""
    return [
        tuple(number(*pair) for pair in zip(found[::2], found[1::2], strict=True))
        for found in (match.groups() for match in pattern(words).finditer(text))
    ]


def given(*texts: str) -> Source:
    """Settings and a paper's numbers, as they are printed."""
    found = [tuple(number(*each) for each in WHOLE.findall(text)) for text in texts]
    return Source(lambda _: found)


def note(page: str, words: str) -> Source:
    """The numbers at the # of a sentence of a page, or of another file, named by its path."""

    def find(pages: Pages) -> list[Slot]:
        return [(each,) for each in one(set(read(words, pages.text(page))), f"{page}, {words!r},")]

    return Source(find)


def matching(pages: Pages, page: str, column: str, labels: tuple[str, ...]) -> Iterator[str]:
    """Cells of the column in all rows with these labels: "text", "column=text" or "table=title"."""
    for row in pages.rows(page):
        named = {text for _, text in row} | {f"{name}={text}" for name, text in row}
        if named.issuperset(labels):
            yield from (text for name, text in row if name == column)


def cell(page: str, column: str, *labels: str, says: str = "#") -> Source:
    """The number of a column in the row with these labels; rows that agree count as one."""

    def find(pages: Pages) -> list[Slot]:
        found = {
            numbers
            for text in matching(pages, page, column, labels)
            for numbers in (read(says, text) if says != "#" else whole(text))
        }
        return [(each,) for each in one(found, f"{page}, {column}, {' '.join(labels)}")]

    return Source(find)


def whole(text: str) -> list[tuple[Number, ...]]:
    found = WHOLE.fullmatch(text)
    return [(number(found[1], found[2]),)] if found else []


def cells(page: str, columns: str | list[str], *labels: str | list[str]) -> list[Source]:
    """One cell for each element of the list that stands for the column or for a label."""
    given_lists = [each for each in (columns, *labels) if isinstance(each, list)]
    picked = [
        [each[at] if isinstance(each, list) else each for each in (columns, *labels)]
        for at in range(len(given_lists[0]))
    ]
    return [cell(page, column, *rest) for column, *rest in picked]


def column(page: str, name: str, *labels: str, says: str = "#") -> Source:
    """All numbers of a column, in the rows with these labels, to reduce to one by a formula."""

    def find(pages: Pages) -> list[Slot]:
        texts = list(matching(pages, page, name, labels))
        return [(each,) for text in texts for found in read(says, text) for each in found]

    return Source(find)


def formula(of: Callable[..., float], *sources: Source, unit: str | None = None) -> Source:
    """A number that follows from those of the sources, in their unit unless another is named."""

    def find(pages: Pages) -> list[Slot]:
        found = [each for source in sources for slot in source.find(pages) for each in slot]
        if not found:
            raise UntraceableError("a formula has no number to start from")
        return [
            (Number(of(*(each.value for each in found)), found[0].unit if unit is None else unit),)
        ]

    return Source(find)


def least(*sources: Source) -> Source:
    return formula(lambda *values: min(values), *sources)


def most(*sources: Source) -> Source:
    return formula(lambda *values: max(values), *sources)


def negative(source: Source) -> Source:
    """A loss, where the page has a negative gain, or the reverse."""
    return formula(lambda value: -value, source)


def all_of(*sources: Source) -> Source:
    """Several numbers that are the same when rounded."""
    return Source(lambda pages: [tuple(n for s in sources for slot in s.find(pages) for n in slot)])


def kinds(page: str, name: str, *labels: str) -> Source:
    """How many different texts a column has."""
    return Source(lambda p: [(Number(len(set(matching(p, page, name, labels)))),)])


def those_with(text: str, name: str, *labels: str, pages: tuple[str, ...]) -> Source:
    """How many rows of the pages have this text in the column, and how many there are."""

    def find(tree: Pages) -> list[Slot]:
        found = [each for page in pages for each in matching(tree, page, name, labels)]
        return [(Number(found.count(text)),), (Number(len(found)),)]

    return Source(find)


def fewest_samples(page: str, **labels: object) -> Source:
    """The least number of valid samples of the cells with these labels in a page's summary."""

    def find(pages: Pages) -> list[Slot]:
        of: list[dict[str, object]] = pages.summary(page)["cells"]  # type: ignore[assignment]
        counts = [each["samples"] for each in of if labels.items() <= each.items()]
        if not counts:
            raise UntraceableError(f"{page}.json has no cells {labels}")
        return [(Number(min(int(str(count)) for count in counts)),)]

    return Source(find)
