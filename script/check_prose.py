"""Checks that comments, docstrings and documents avoid slips that make them hard to read.

Reports comments that begin with "Of", "That of" or "Those of", "way" where a path is meant, and
"so many times" where a number is meant. Ignores quoted words. Usage: check_prose.py [ROOT]
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from check import run, tracked_files

C_SUFFIXES = {".c", ".h", ".cpp", ".hpp"}
GENERATED = Path("bench") / "results"

FRAGMENT = re.compile(r"(Of|That of|Those of)\b")
PLACEHOLDER = re.compile(r"\bso many times\b", re.IGNORECASE)
WAY = re.compile(r"\bways?\b", re.IGNORECASE)
IDIOM = re.compile(
    r"\b(?:one|the other|either|this|that|the same|in a|no|any|some|by the|the usual)[ -]ways?\b"
    r"|\bways? (?:to|of|in which)\b",
    re.IGNORECASE,
)
QUOTED = re.compile(r'"[^"]*"|`[^`]*`')
C_COMMENT = re.compile(r"(?:^|\s)//[/!]?<?\s?(.*)")

Text = tuple[int, str]  # the line where it begins, and the words


def c_comments(source: str) -> Iterator[Text]:
    """Yields the comments of a C or C++ file; adjacent lines are one comment."""
    joined: list[str] = []
    begin = 0
    for number, line in enumerate(source.splitlines(), 1):
        found = C_COMMENT.search(line)
        alone = line.lstrip().startswith("//")
        if joined and not alone:
            yield begin, " ".join(joined)
            joined = []
        if found and not joined:
            begin = number
        if found:
            joined.append(found[1])
    if joined:
        yield begin, " ".join(joined)


def python_comments(source: str) -> Iterator[Text]:
    """Yields the comments and docstrings of a Python file."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.lineno, str(node.value.value)


def lines(source: str) -> Iterator[Text]:
    """Yields the lines of a Markdown file outside of its code blocks."""
    in_code = False
    for number, line in enumerate(source.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield number, line


def slips(text: str, *, is_comment: bool) -> Iterator[str]:
    """Says what is wrong with a text."""
    text = QUOTED.sub('""', text)
    if is_comment and (found := FRAGMENT.match(text)):
        yield f'begins with "{found[1]}": write a sentence or a noun phrase'
    if PLACEHOLDER.search(text):
        yield 'says "so many times": name the number'
    idioms = [match.span() for match in IDIOM.finditer(text)]
    for found in WAY.finditer(text):
        if not any(begin <= found.start() and found.end() <= end for begin, end in idioms):
            yield f'says "{found[0]}": write "path", "link" or "direction"'


def faults(root: Path, files: list[Path]) -> Iterator[str]:
    """Yields one line per slip."""
    for file in files:
        name = file.relative_to(root)
        if not file.is_file() or name.is_relative_to(GENERATED):
            continue
        if file.suffix in C_SUFFIXES:
            texts = c_comments(file.read_text())
        elif file.suffix == ".py":
            texts = python_comments(file.read_text())
        elif file.suffix == ".md":
            texts = lines(file.read_text())
        else:
            continue
        for number, text in sorted(texts):
            for slip in slips(text, is_comment=file.suffix != ".md"):
                yield f"{name}:{number}: {slip}"


if __name__ == "__main__":
    run(lambda root: faults(root, tracked_files(root)), "prose: no known slips")
