"""Checks that docs/architecture.md says of each file of the parts with file tables what it is for.

A file is known by its name without ending, as code; Python modules named as a module of src/ are
known by that. Usage: check_architecture.py [ROOT]
"""

import re
from collections.abc import Iterator
from pathlib import Path

from check import run, tracked_files

DOCUMENT = Path("docs/architecture.md")
PARTS = (
    "python/thalweg/*.py",
    "python/thalweg/analysis/*.py",
    "src/probe/*.hpp",
    "src/runtime/*/*.hpp",
)
NAMED = re.compile(r"`(?:[\w/]+/)?(\w+)(?:\.\w+)?`")


def faults(root: Path) -> Iterator[str]:
    named = {*NAMED.findall((root / DOCUMENT).read_text())}
    named |= {folder.name for folder in (root / "src").iterdir()}
    for file in tracked_files(root):
        path = file.relative_to(root)
        if not any(path.match(part) for part in PARTS) or path.stem.startswith("_"):
            continue
        if path.stem not in named:
            yield f"{DOCUMENT}: doesn't say what {path} is for"


if __name__ == "__main__":
    run(faults, f"{DOCUMENT} names all files of the parts that it describes.")
