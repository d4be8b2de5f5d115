"""Runs clang-tidy over the C++ files that the build compiles, except the tests.

Nearly all of its time goes to the headers of the standard library. It therefore looks at several
files at once, as if they were one, and at ever fewer where it finds something in them together,
such as a name that two of them define.
A file that passed is looked at again when it, a header that it includes or .clang-tidy changes.
Usage: tidy.py BUILD [FILE...]
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "bindings", "bench", "examples")
PASSED = ROOT / ".cache" / "tidy"
MOST_FILES = 12  # in a batch: more save little, and both cores shall have enough to do
# What may differ between files that are looked at together, or is of no interest.
OTHER_OPTIONS = re.compile(r" -(?:[co] \S+|D\S+_EXPORTS)")
# Checks that go by what is in the main file.
NOT_TOGETHER = ("bugprone-suspicious-include", "misc-unused-using-decls")
DEFINED = re.compile(
    r"^(?![ #}/]|namespace|using namespace)"
    r"(?:(?:class|struct|enum|enum class) (\w+)|[^({=;\n]*?(?<!:)\b(\w+) ?[({=;])",
    re.MULTILINE,
)
USING = re.compile(r"\busing [\w:]*?(\w+)::(\w+);")
NO_CODE = re.compile(r'//.*|#include.*|"(?:\\.|[^"\\\n])*"')
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


def key(file: Path, options: str) -> str:
    """Changes when the verdict on the file may change."""
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes() + options.encode())
    for part in sorted(with_headers(file, set())):
        digest.update(f"{part}\0{part.read_text()}\0".encode())
    return digest.hexdigest()


@dataclass
class Batch:
    """Files that can be one: compiled with the same options, and hardly a name defined twice."""

    options: str
    files: list[Path] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def takes(self, options: str, names: set[str]) -> bool:
        return options == self.options and len(self.files) < MOST_FILES and not names & self.names


def defined(file: Path) -> set[str]:
    """The names that lines without indentation seem to define."""
    return {name or other for name, other in DEFINED.findall(file.read_text())}


def make_batches(compiled: Iterable[tuple[Path, str]]) -> list[Batch]:
    batches: list[Batch] = []
    for file, options in compiled:
        names = defined(file)
        batch = next((each for each in batches if each.takes(options, names)), None)
        if batch is None:
            batches.append(batch := Batch(options))
        batch.files.append(file)
        batch.names |= names
    return batches


def findings(file: Path, options: str, without: Iterable[str] = ()) -> str:
    """What clang-tidy has to say on a file, "" if nothing."""
    command = ["clang-tidy-14", f"--config-file={ROOT / '.clang-tidy'}", "--quiet"]
    command += ["--checks=" + ",".join(f"-{check}" for check in without), str(file), "--"]
    result = subprocess.run(
        command + shlex.split(options)[1:], capture_output=True, text=True, check=False
    )
    return (result.stdout or result.stderr) if result.returncode else ""


def unused_names(file: Path) -> str:
    """What misc-unused-using-decls would say: of several files it mistakes the names."""
    text = NO_CODE.sub("", file.read_text())
    unused = [
        name
        for scope, name in USING.findall(text)
        if name != scope  # a base's constructors
        and not re.search(rf"(?<!::)\b{name}\b", text)
    ]
    return "".join(f"{file}: error: `using` names {name}, and nothing does\n" for name in unused)


def bad_files(batch: Batch) -> set[Path]:
    """The files with findings; prints these."""
    files, options = batch.files, batch.options
    if len(files) == 1:
        return report(files[0], options, findings(files[0], options))
    with tempfile.NamedTemporaryFile("w", suffix=files[0].suffix) as whole:
        whole.writelines(f'#include "{file}"\n' for file in files)
        whole.flush()
        together = findings(Path(whole.name), options, NOT_TOGETHER)
    if not together:
        return set().union(*(report(file, options, unused_names(file)) for file in files))
    half = len(files) // 2
    return bad_files(Batch(options, files[:half])) | bad_files(Batch(options, files[half:]))


def report(file: Path, options: str, found: str) -> set[Path]:
    """Prints what was found in a file, or notes that it passed. @return it, if it is bad"""
    if not found:
        (PASSED / key(file, options)).touch()
        return set()
    print(found, flush=True)
    return {file}


def compiled_files(build: Path) -> dict[Path, str]:
    """What the build compiles, and how; for one of the MPI libraries that a file is compiled for,
    since nearly all that can be found is found with each."""
    result: dict[Path, str] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["file"]).resolve()
        if file.is_relative_to(ROOT) and file.relative_to(ROOT).parts[0] in FOLDERS:
            options = OTHER_OPTIONS.sub("", entry["command"])
            result[file] = min(options, result.get(file, options))
    return result


def main(arguments: list[str]) -> int:
    compiled = {
        f: options for f, options in compiled_files(Path(arguments[0])).items() if f.is_file()
    }
    if arguments[1:]:
        asked = {Path(name).resolve() for name in arguments[1:]}
        compiled = {file: options for file, options in compiled.items() if file in asked}
    PASSED.mkdir(parents=True, exist_ok=True)
    unknown = sorted(each for each in compiled.items() if not (PASSED / key(*each)).exists())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bad: set[Path] = set().union(*pool.map(bad_files, make_batches(unknown)))
    print(f"clang-tidy: {len(bad)} of {len(compiled)} files with findings")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
