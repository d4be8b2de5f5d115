"""The check of docs/architecture.md finds each file that it doesn't name."""

import subprocess
from pathlib import Path

from check_architecture import DOCUMENT, faults

TEXT = (
    "| `hosts`, `src/runtime/adapt/race.hpp` | hosts; races |\n| the word names | without code |\n"
)


def test_files_that_are_not_named(tmp_path: Path) -> None:
    for name in (
        DOCUMENT,
        "python/thalweg/hosts.py",
        "python/thalweg/names.py",
        "python/thalweg/_private.py",
        "python/thalweg/planner.py",
        "python/thalweg/commands/plan.py",
        "src/planner/planner.hpp",
        "src/runtime/adapt/race.hpp",
        "src/runtime/adapt/watch.hpp",
        "src/runtime/adapt/watch.cpp",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXT)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    assert sorted(faults(tmp_path)) == [
        f"{DOCUMENT}: doesn't say what python/thalweg/names.py is for",
        f"{DOCUMENT}: doesn't say what src/runtime/adapt/watch.hpp is for",
    ]
