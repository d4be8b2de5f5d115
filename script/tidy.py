"""Runs clang-tidy over the C++ files that the build compiles, except the tests.

A file that passed is looked at again when it, a header that it includes or .clang-tidy changes.
Usage: tidy.py BUILD [FILE...]
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "bindings", "bench", "examples")
PASSED = ROOT / ".cache" / "tidy"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def with_headers(file: Path, seen: set[Path]) -> set[Path]:
    """The file and the project's headers that it includes, directly or not."""
    if file in seen or not file.is_file():
        return seen
    seen.add(file)
    for name in INCLUDE.findall(file.read_text()):
        for folder in (file.parent, ROOT / "src", ROOT / file.relative_to(ROOT).parts[0]):
            with_headers((folder / name).resolve(), seen)
    return seen


def key(file: Path) -> str:
    """Changes when the verdict on the file may change."""
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for part in sorted(with_headers(file, set())):
        digest.update(f"{part}\0{part.read_text()}\0".encode())
    return digest.hexdigest()


def passes(build: Path, file: Path) -> bool:
    """Whether clang-tidy has nothing to say; prints what it says."""
    stamp = PASSED / key(file)
    if stamp.exists():
        return True
    command = ["clang-tidy-14", "-p", str(build), "--quiet", str(file)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        print(result.stdout or result.stderr, flush=True)
        return False
    stamp.touch()
    return True


def main(arguments: list[str]) -> int:
    build = Path(arguments[0])
    entries = json.loads((build / "compile_commands.json").read_text())
    files = {Path(entry["file"]).resolve() for entry in entries}
    files = {f for f in files if f.is_file() and f.is_relative_to(ROOT)}
    files = {f for f in files if f.relative_to(ROOT).parts[0] in FOLDERS}
    if arguments[1:]:
        files &= {Path(name).resolve() for name in arguments[1:]}
    PASSED.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(lambda file: passes(build, file), sorted(files)))
    print(f"clang-tidy: {verdicts.count(False)} of {len(verdicts)} files with findings")
    return int(not all(verdicts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
