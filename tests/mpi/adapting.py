"""Runs adapting.cpp with plans for a wrong network: adapting.py FLAVOUR FOLDER SECONDS [rooted].

One host's port is a thousand times faster than the plan's network has it, which the ranks notice.
"""

import sys
import tempfile
from pathlib import Path

from behaviour import Case, adapts, said

RANKS = 3
OUTCOMES = {"adopted", "taken back", "nothing better", "open"}


def main() -> int:
    flavour, build_folder, seconds, *rooted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        case = Case(flavour, Path(build_folder), Path(name))
        settings = adapts(case, RANKS)
        program = [str(case.program(f"adapting_{flavour}")), seconds, *rooted]
        stderr, summary = case.run(program, settings, ranks=RANKS)
        # On a busy machine there are few calls in a second, so that noticing takes longer.
        if not rooted and not summary.get("changes"):
            program[1] = str(4 * int(seconds))
            stderr, summary = case.run(program, settings, ranks=RANKS)
        assert said(stderr) == [], stderr
        # Rooted calls may be over before three seconds of their own have passed.
        assert rooted or summary["changes"], summary
        for change in summary.get("changes", []):
            assert change["outcome"] in OUTCOMES, change
            assert change["seconds"]["noticed"] > 0, change
        if not rooted:  # where nothing may be noticed anyway
            _, summary = case.run(program, settings | {"THALWEG_ADAPT": "0"}, ranks=RANKS)
            assert "changes" not in summary, summary
    return 0


if __name__ == "__main__":
    sys.exit(main())
