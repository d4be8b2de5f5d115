"""Runs racing.cpp with plans that race: racing.py FLAVOUR BUILD_FOLDER RANKS SEED CALLS [threads].

Ranks record what they do, so that clocks are compared and rooted collectives race, too.
"""

import sys
import tempfile
from pathlib import Path

from behaviour import Case, races, said


def main() -> int:
    flavour, build_folder, ranks, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        case = Case(flavour, Path(build_folder), Path(folder))
        settings = races(case, int(ranks)) | {"THALWEG_RECORD": str(Path(folder) / "record")}
        program = [str(case.program(f"racing_{flavour}")), *arguments]
        stderr, summary = case.run(program, settings, ranks=int(ranks))
        assert said(stderr) == [], stderr
        raced = summary["races"]
        assert raced, summary
        assert any(found["seconds"].get("second", 0) > 0 for found in raced), raced
    return 0


if __name__ == "__main__":
    sys.exit(main())
