"""Runs adapting.cpp with plans for another network: adapting.py FLAVOUR FOLDER SECONDS [rooted].

One host's port is a thousand times faster than the plan's network has it, which the ranks notice.
With "rooted" all paths are slower than there: ranks may leave such calls early, so that one that
takes less than predicted says nothing.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from behaviour import Case, adapts, said

RANKS = 3
OUTCOMES = {"adopted", "taken back", "nothing better", "open"}
LONGER = (1, 4, 12)
"""A drift lasts for three seconds of calls, of which there are few in a second on a busy machine;
so where nothing was noticed the program runs longer."""


def changes(case: Case, program: list[str], settings: dict[str, str]) -> list[dict[str, Any]]:
    """The attempts to replace plans."""
    stderr, summary = case.run(program, settings, ranks=RANKS)
    assert said(stderr) == [], stderr
    found: list[dict[str, Any]] = summary.get("changes", [])
    assert not found or settings["THALWEG_ADAPT"] == "1", summary
    return found


def is_slower(change: dict[str, Any]) -> bool:
    """Whether calls were noticed to take longer than usual; 0 is usual until they are as
    predicted."""
    seconds = change["seconds"]
    return not change["improvement"] and bool(seconds["noticed"] > seconds["usual"])


def main() -> int:
    flavour, build_folder, seconds, *rooted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        case = Case(flavour, Path(build_folder), Path(name))
        settings = adapts(case, RANKS, "fast" if rooted else "wrong")
        program = str(case.program(f"adapting_{flavour}"))
        is_wanted: Callable[[dict[str, Any]], bool] = is_slower if rooted else bool
        for longer in LONGER:
            lasting = str(longer * int(seconds))
            found = changes(case, [program, lasting, *rooted], settings)
            if any(map(is_wanted, found)):
                break
        assert any(map(is_wanted, found)), found
        for change in found:
            assert change["outcome"] in OUTCOMES, change
            assert change["seconds"]["noticed"] > 0, change
        changes(case, [program, seconds, *rooted], settings | {"THALWEG_ADAPT": "0"})
    return 0


if __name__ == "__main__":
    sys.exit(main())
