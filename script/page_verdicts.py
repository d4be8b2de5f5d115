"""Compares the first words of the verdicts in docs/papers.md with the verdicts of their pages."""

import re
from collections.abc import Iterator
from pathlib import Path

RESULTS = Path("bench/results")
PAGE = re.compile(r"`bench/results/([\w-]+)\.md`")
ON_PAGE = re.compile(
    r"^- (Figure \w+)[^:\n]*:.*: (?:this )?(does not hold|holds[^.:\n]*)\.$", re.MULTILINE
)
WHOLE, PART, NOT = "holds", "holds in part", "does not hold"


def on_pages(root: Path, pages: list[str], figure: str) -> set[str]:
    """What pages say of a figure: that it holds, in part, or doesn't."""
    texts = [file.read_text() for page in pages if (file := root / RESULTS / f"{page}.md").exists()]
    said = [words for text in texts for name, words in ON_PAGE.findall(text) if name == figure]
    return {words if words in (WHOLE, NOT) else PART for words in said}


def in_list(verdict: str) -> str:
    """What the first words of a verdict say."""
    if re.match(r"Contradicts|Does not hold|Not as", verdict):
        return NOT
    return WHOLE if re.match(r"Holds[:.,]", verdict) else PART


def verdict_faults(root: Path, row: dict[str, str]) -> Iterator[str]:
    """Compares a row of the list of figures; pages that differ hold in part."""
    found = on_pages(root, PAGE.findall(row["page"]), row["figure or table"])
    if not found:
        return
    wanted = found.pop() if len(found) == 1 else PART
    if in_list(row["verdict"]) != wanted:
        begin = " ".join(row["verdict"].split()[:3])
        yield f"{row['figure or table']} begins {begin!r}, its pages say that it {wanted}"
