"""Runs clang-tidy over the C++ files that the build compiles, except the tests.

Nearly all of its time goes to the headers of the standard library. It therefore looks at several
files at once, as if they were one, and at ever fewer where it finds something in them together,
such as a name that two of them define.
A file that passed is looked at again when it, a header that it includes, .clang-tidy or a package
of this machine changes. What passed is kept beside the trees, as ccache keeps what was compiled: a
clone has it from another one.
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
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "bindings", "bench", "examples")
PASSED = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "thalweg-tidy"
DAYS_KEPT = 30  # what passed, since it was last asked for
MOST_FILES = 16  # in a batch: more save little, and both cores shall have enough to do
# What may differ between files that are looked at together, or is of no interest.
OTHER_OPTIONS = re.compile(r" -(?:[co] \S+|D\S+_EXPORTS|[fgO]\S*)")
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
MACRO = re.compile(r"\b[A-Z][A-Z0-9_]+\b")
# Declares names without defining them, which are then looked for in all namespaces of a batch.
SIMGRID = re.compile(r"^#include <simgrid/", re.MULTILINE)


@cache
def text_of(file: Path) -> str:
    return file.read_text()


@cache
def macros_of(file: Path) -> set[str]:
    """The names that may be those of macros."""
    return set(MACRO.findall(text_of(file)))


def with_headers(file: Path, seen: set[Path]) -> set[Path]:
    """The file and the project's headers that it includes, directly or not."""
    if file in seen or not file.is_file():
        return seen
    seen.add(file)
    for name in INCLUDE.findall(text_of(file)):
        for folder in (file.parent, ROOT / "src", ROOT / file.relative_to(ROOT).parts[0]):
            with_headers((folder / name).resolve(), seen)
    return seen


@cache
def surroundings() -> bytes:
    """What the verdicts on all files may depend on besides their text: this program, what it is
    told, and the versions of clang-tidy and of all that has headers."""
    files = (Path(__file__), ROOT / ".clang-tidy", ROOT / "requirements.lock")
    packages = subprocess.run(["dpkg-query", "-W"], capture_output=True, check=True).stdout
    return b"\0".join([*(file.read_bytes() for file in files), packages])


def key(file: Path, options: str) -> str:
    """Changes when the verdict on the file may change; the same in every clone."""
    digest = hashlib.sha256(surroundings() + options.replace(str(ROOT), ".").encode())
    for part in sorted(with_headers(file, set())):
        digest.update(f"{part.relative_to(ROOT)}\0{text_of(part)}\0".encode())
    return digest.hexdigest()


def has_passed(file: Path, options: str) -> bool:
    mark = PASSED / key(file, options)
    if not mark.exists():
        return False
    mark.touch()
    return True


def forget_old() -> None:
    """Removes what nobody has asked for in a while."""
    oldest = time.time() - DAYS_KEPT * 24 * 3600
    for mark in PASSED.iterdir():
        with suppress(FileNotFoundError):  # another clone's was quicker
            if mark.stat().st_mtime < oldest:
                mark.unlink()


@dataclass
class Batch:
    """Files that can be one: hardly a name is defined twice, and no macro means two things."""

    commands: dict[Path, str]  # by file: how it is compiled
    options: dict[str, None]  # a set in order
    names: set[str] = field(default_factory=set)
    macros: set[str] = field(default_factory=set)  # that the files may look at
    simgrid: bool = False

    @property
    def suffix(self) -> str:
        return next(iter(self.commands)).suffix

    @property
    def defines(self) -> dict[str, str]:
        given = (option[2:].partition("=") for option in self.options if option.startswith("-D"))
        return {name: value for name, _, value in given}

    def takes(self, other: "Batch") -> bool:
        differ = {name for name, _ in self.defines.items() ^ other.defines.items()}
        in_both = self.defines.keys() & other.defines.keys()
        return (
            self.suffix == other.suffix
            and self.simgrid == other.simgrid
            and len(self.commands) + len(other.commands) <= MOST_FILES
            and not self.names & other.names
            and not differ & (in_both | self.macros | other.macros)
        )

    def add(self, other: "Batch") -> None:
        self.commands |= other.commands
        self.options |= other.options
        self.names |= other.names
        self.macros |= other.macros


def batch_of(file: Path, command: str) -> Batch:
    """A batch of one file."""
    words = iter(shlex.split(command)[1:])
    options = (f"{word}{next(words)}" if word == "-isystem" else word for word in words)
    parts = with_headers(file, set())
    macros = set().union(*map(macros_of, parts))
    simgrid = any(SIMGRID.search(text_of(part)) for part in parts)
    return Batch({file: command}, dict.fromkeys(options), defined(file), macros, simgrid)


def defined(file: Path) -> set[str]:
    """The names that lines without indentation seem to define."""
    return {name or other for name, other in DEFINED.findall(text_of(file))}


def make_batches(compiled: Iterable[tuple[Path, str]]) -> list[Batch]:
    """Batches, the largest first."""
    batches: list[Batch] = []
    for own in (batch_of(file, command) for file, command in compiled):
        batch = next((each for each in batches if each.takes(own)), None)
        if batch is None:
            batches.append(own)
        else:
            batch.add(own)
    return sorted(batches, key=lambda batch: -len(batch.commands))


def findings(file: Path, options: Iterable[str], without: Iterable[str] = ()) -> str:
    """What clang-tidy has to say on a file, "" if nothing."""
    command = ["clang-tidy-14", f"--config-file={ROOT / '.clang-tidy'}", "--quiet"]
    command += ["--checks=" + ",".join(f"-{check}" for check in without), str(file), "--"]
    result = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
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
    commands = batch.commands
    if len(commands) == 1:
        ((file, command),) = commands.items()
        return report(file, command, findings(file, batch.options))
    with tempfile.NamedTemporaryFile("w", suffix=batch.suffix) as whole:
        whole.writelines(f'#include "{file}"\n' for file in commands)
        whole.flush()
        together = findings(Path(whole.name), batch.options, NOT_TOGETHER)
    if not together:
        return set().union(*(report(*each, unused_names(each[0])) for each in commands.items()))
    each = list(commands.items())
    half = len(each) // 2
    parts = (Batch(dict(part), batch.options) for part in (each[:half], each[half:]))
    return set().union(*map(bad_files, parts))


def report(file: Path, command: str, found: str) -> set[Path]:
    """Prints what was found in a file, or notes that it passed. @return it, if it is bad"""
    if not found:
        (PASSED / key(file, command)).touch()
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
    unknown = sorted(each for each in compiled.items() if not has_passed(*each))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bad: set[Path] = set().union(*pool.map(bad_files, make_batches(unknown)))
    forget_old()
    print(f"clang-tidy: {len(bad)} of {len(compiled)} files with findings")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
