"""What a run leaves in its folder: record.py FLAVOUR CASE BUILD_FOLDER."""

import sys
import tempfile
from pathlib import Path

import numpy as np
from behaviour import Case
from launch import environment, run

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
from thalweg import record

RANKS = 5


def messages(case: Case, *arguments: str) -> int:
    """Runs the program that sends by all functions; returns their number."""
    own = environment([case.library, *case.others], {"THALWEG_RECORD": str(case.folder / "run")})
    program = [str(case.program(f"messages_{case.flavour}")), *arguments]
    done = run(case.flavour, (RANKS, own, program), capture=True)
    assert arguments or done.returncode == 0, done.stderr
    return int(done.stdout.split()[0])


def check_matrix(case: Case, functions: int) -> None:
    found = record.read_matrix(case.folder / "run")
    counts, nbytes = found.dense()
    sender, receiver = np.indices((RANKS, RANKS))
    assert (counts == functions + 1).all(), counts
    assert (nbytes == functions * 8 * (3 * sender + receiver) + 4).all(), nbytes
    assert not found.missing
    for largest, smallest, sent, total in zip(
        record.SIZE_CLASSES, (0, 1, *record.SIZE_CLASSES[1:-1]), found.messages.T, found.nbytes.T,
        strict=True,
    ):  # fmt: skip
        assert (total >= sent * np.uint64(smallest or 0)).all()
        if largest is not None:
            assert (total <= sent * np.uint64(largest)).all()


def all_functions(case: Case) -> None:
    check_matrix(case, messages(case))


def killed(case: Case) -> None:
    check_matrix(case, messages(case, "kill"))


if __name__ == "__main__":
    flavour, name, build = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        {"all-functions": all_functions, "killed": killed}[name](
            Case(flavour, Path(build), Path(folder))
        )
