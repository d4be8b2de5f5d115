"""What the checks of the sources share: which files there are, and how a check reports and ends."""

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path


def tracked_files(root: Path) -> list[Path]:
    """Returns the files that git tracks."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z"], capture_output=True, text=True, check=True
    )
    return [root / name for name in listed.stdout.split("\0") if name]


def run(faults: Callable[[Path], Iterable[str]], all_well: str) -> None:
    """Prints a line for each fault of the work tree, or that all is well, and exits.

    The work tree is the command's only argument; without it, the one that the check lies in.
    """
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    found = list(faults(root))
    print("\n".join(found) or all_well)
    sys.exit(bool(found))
