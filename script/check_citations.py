"""Checks that the paths which documents and comments cite exist.

Looks at `code` that is a path and at [links](...) in every tracked Markdown file, and at names of
the project's files in all other tracked files. In tests, which make up files, only at docs/*.md.
Usage: check_citations.py [ROOT]
"""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from check import run, tracked_files

CODE = re.compile(r"`((?!/)[\w.*{},-]*/[\w./*{},-]*)(?::\d+)?`")
"""A slash and nothing that no path of the project has: no blank, no "~", no "<"."""
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
DOCUMENT = re.compile(r"\bdocs/[\w./-]+\.md\b")
FILE = re.compile(
    r"(?<![\w./-])(?:bench|bindings|docs|examples|python|script|src|tests)/[\w./-]+"
    r"\.(?:c|cpp|def|hpp|json|md|py)\b"
)
BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def expand(text: str) -> list[str]:
    """The paths that "a/{b,c}.d" stands for."""
    parts = BRACES.split(text)
    choices = [part.split(",") if index % 2 else [part] for index, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def exists(root: Path, base: Path, path: str) -> bool:
    """Whether the path, which may contain * and be relative to `base` or `root`, is there."""
    return any(
        any(folder.glob(path)) if "*" in path else (folder / path).exists()
        for folder in (base, root)
    )


def cited(file: Path, text: str) -> Iterator[tuple[int, str]]:
    """Line number and path of each citation. `file` is relative to the top of the repository."""
    patterns = [FILE]
    if file.suffix == ".md":
        patterns = [CODE, LINK]
    elif file.parts[0] == "tests":
        patterns = [DOCUMENT]
    for number, line in enumerate(text.splitlines(), 1):
        for pattern in patterns:
            for path in pattern.findall(line):
                if "://" not in path and not path.startswith("mailto:"):
                    yield number, path


def faults(root: Path, files: list[Path]) -> Iterator[str]:
    for file in files:
        try:
            text = file.read_text()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        name = file.relative_to(root)
        for number, citation in cited(name, text):
            for path in expand(citation):
                if not exists(root, file.parent, path):
                    yield f"{name}:{number}: cites {path}, which doesn't exist"


if __name__ == "__main__":
    run(lambda root: faults(root, tracked_files(root)), "citations: all there")
