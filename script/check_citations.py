"""Checks that the paths which documents and comments cite exist.

Looks at `code` and [links](...) of every tracked Markdown file, and at docs/*.md cited anywhere.
Usage: check_citations.py [ROOT]
"""

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CODE = re.compile(r"`([^`\s]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
DOCUMENT = re.compile(r"\bdocs/[\w./-]+\.md\b")
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


def cited(file: Path, text: str, folders: set[str]) -> Iterator[tuple[int, str]]:
    """Line number and path of each citation. `folders` are those at the top of the repository."""
    for number, line in enumerate(text.splitlines(), 1):
        if file.suffix == ".md":
            for path in LINK.findall(line):
                if "://" not in path and not path.startswith("mailto:"):
                    yield number, path
            for path in CODE.findall(line):
                if path.split("/")[0] in folders and "/" in path and not set("<>$…") & set(path):
                    yield number, path.split(":")[0]
        else:
            for path in DOCUMENT.findall(line):
                yield number, path


def faults(root: Path, files: list[Path]) -> Iterator[str]:
    folders = {file.relative_to(root).parts[0] for file in files if file.parent != root}
    for file in files:
        try:
            text = file.read_text()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        for number, citation in cited(file, text, folders):
            for path in expand(citation):
                if not exists(root, file.parent, path):
                    yield f"{file.relative_to(root)}:{number}: cites {path}, which doesn't exist"


def main(arguments: list[str]) -> int:
    root = Path(arguments[0] if arguments else Path(__file__).parent.parent).resolve()
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z"], capture_output=True, text=True, check=True
    )
    found = list(faults(root, [root / name for name in listed.stdout.split("\0") if name]))
    print("\n".join(found) or "citations: all there")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
