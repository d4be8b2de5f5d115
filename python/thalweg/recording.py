"""The launcher's part of the run record: its folder, and what only the launcher knows of the run.

docs/record.md describes the record; thalweg.record reads it.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg import __version__, console, inputs, paths
from thalweg import network as networks
from thalweg.errors import UserError
from thalweg.files import (
    is_file,
    make_output_folder,
    parse_json,
    read_text,
    write_error,
    write_whole,
)

KEPT = 5
"""Records of a program on its hosts that stay in the cache."""
KEPT_OF_PROGRAM = 20
"""Records of a program on any hosts that stay: each batch job may have others."""
LONGEST = 86400.0
"""Seconds after which a run without an end has probably been killed."""

_OWN = ("run.json", "summary.json", "record.bin", "plan.bin", "network.json")
_RANKS = ("rank-*.record", "rank-*.events")
_OPTION = re.compile(r"-[^-mcXW]*([mcXW])(.*)", re.DOTALL)
"""Options of the Python interpreter, of which the last has a value: there or in the next word."""
_LONG_OPTION = "--check-hash-based-pycs"
"""The interpreter's only long option that has a value in the next word."""
_SCRIPTS = {".bash", ".jl", ".lua", ".m", ".pl", ".py", ".r", ".R", ".rb", ".sh", ".tcl"}
_INTERPRETER = re.compile(
    r"(?:(?:ba|c|da|k|tc|z)?sh|julia|lua|octave|perl|R|Rscript|ruby|tclsh)[-.\d]*"
)
"""Names of programs whose first argument that is a file is a script, whatever it is called."""
_PYTHON = re.compile(r"python[\d.]*")
NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
)
"""A number by itself, with its sign, or digits in a word."""
_BREAK = re.compile(r"[\s;&|()<>'\"`=]+")
"""What separates the words of a command."""
_CONTAINER = re.compile("apptainer|ch-run|docker|podman|shifter|singularity")
"""Names of programs that start others among files that aren't those of this machine."""


@dataclass
class Recording:
    """A run record while its run goes on."""

    folder: Path
    network: Path | None
    plan: Path | None
    program: Sequence[str] = ()
    """The program and its arguments, as whole() returns them."""
    order: Sequence[str] | None = None
    """The host of each rank in the launcher's order, if the ranks are placed otherwise."""
    known: Sequence[str] = ()
    """The hosts that the run's weather is kept for, if it is."""
    begin: str = ""
    _began: float = 0

    def start(self) -> None:
        """Empties the folder of an earlier run's record, and copies network and plan there.

        Both are read first: they may be of that record. Raises OSError.
        """
        network = _as_json(self.network) if self.network else None
        plan = self.plan.read_bytes() if self.plan else None
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / "run.json").exists():
            for pattern in (*_OWN, *_RANKS):
                for path in self.folder.glob(pattern):
                    path.unlink(missing_ok=True)
        if network is not None:
            (self.folder / "network.json").write_bytes(network)
        if plan is not None:
            (self.folder / "plan.bin").write_bytes(plan)
        self.begin = _utc()
        self._began = time.monotonic()

    def finish(self, command: Sequence[str], launcher: str, status: int) -> None:
        """Adds what the launcher knows to run.json. A note on standard error says why it can't."""
        path = self.folder / "run.json"
        try:
            described = _described(path)
            described["launch"] = {
                "version": __version__,
                "launcher": launcher,
                "command": list(command),
                "program": list(self.program),
                "order": list(self.order) if self.order else None,
                "start": self.begin,
                "end": _utc(),
                "seconds": round(time.monotonic() - self._began, 3),
                "status": status,
                "hosts": list(self.known),
                "network": _hashed(self.folder / "network.json") if self.network else None,
                "plan": _hashed(self.folder / "plan.bin") if self.plan else None,
            }
            write_whole(path, json.dumps(described, indent=1) + "\n")
        except OSError as error:
            console.note(write_error(f"run record {path}", error))


def named(folder: Path) -> Path:
    """Returns the folder that the user named, as an absolute path.

    Raises UserError if no record can be written there.
    """
    make_output_folder(folder, f"run record {folder}", "run.json")
    return folder.absolute()


def usual(program: Sequence[str], hosts: Sequence[str]) -> Path | None:
    """Returns a new folder in the cache for a run of the program on the hosts.

    Of earlier ones the last stay, KEPT with this one and KEPT_OF_PROGRAM on any hosts, and those
    that may still go on. A program that is new here is an occasion to remove the records of those
    that nothing has used for paths.UNUSED_DAYS. None, with a note, if there is no place.
    """
    group = _records() / f"{_key(_code(program))}-{_key(sorted(set(hosts)))}"
    folder = group / f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}"
    try:
        folder.mkdir(parents=True)
        of_hosts = sorted(group.iterdir(), reverse=True)
        for old in {*of_hosts[KEPT:], *of_program(program)[KEPT_OF_PROGRAM:]}:
            if _is_over(old):
                shutil.rmtree(old, ignore_errors=True)
        if len(of_hosts) == 1:
            _drop_unused()
    except OSError as error:
        console.note(write_error(f"run record {folder}", error, "the run isn't recorded"))
        return None
    return folder


def _drop_unused() -> None:
    """Removes the records of each program on hosts of which none was written or read for
    paths.UNUSED_DAYS: all are over. Another process may begin one meanwhile, which stays."""
    oldest = time.time() - 86_400 * paths.UNUSED_DAYS
    for group in list(_records().iterdir()):
        with contextlib.suppress(OSError):
            if group.stat().st_mtime >= oldest:
                continue
            found = list(group.iterdir())
            if max(map(_used_at, found), default=0.0) < oldest:
                for folder in found:
                    shutil.rmtree(folder, ignore_errors=True)
                group.rmdir()


def _used_at(folder: Path) -> float:
    """Returns when a record was written or read last. Raises OSError."""
    files = [path.stat() for path in folder.iterdir()]
    return max([folder.stat().st_mtime, *(max(f.st_atime, f.st_mtime) for f in files)])


def _is_over(folder: Path) -> bool:
    """Whether the run of a record has ended, or wrote nothing for so long that it was killed."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if json.loads((folder / "run.json").read_text()).get("launch"):
            return True
    try:
        newest = max(each.stat().st_mtime for each in (folder, *folder.iterdir()))
        return time.time() - newest > LONGEST
    except OSError:
        return False


def of_program(program: Sequence[str]) -> list[Path]:
    """Returns the records in the cache of runs of the program, on any hosts, the latest first."""
    found = _records().glob(f"{_key(_code(program))}-*/*/run.json")
    return sorted((path.parent for path in found), key=lambda path: path.name, reverse=True)


def _records() -> Path:
    return paths.cache() / "records"


def _key(named: str | Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:12]


# What a program is -------------------------------------------------------------------------------


def whole(words: Sequence[str]) -> list[str]:
    """Returns a program with its arguments so that they name the same files from any folder: words
    that are programs or scripts by their whole paths, the others as they are."""
    at, file = _main(words)
    found = [file_of(word) or word for word in words]
    if "/" in words[0]:  # it may be on other hosts only
        found[0] = _path(words[0])
    if file:
        found[at] = file
    return found


def file_of(word: str) -> str:
    """Returns the whole path of a file that is a program or a script; "" if the word is something
    else."""
    return _file_of(word, os.environ.get("PATH", ""), _folder())


@functools.lru_cache(maxsize=1 << 14)
def _file_of(word: str, _path_variable: str, _folder: str) -> str:
    """Looks once: a program may have thousands of arguments, and as many in each record."""
    found = shutil.which(word)
    if not found and Path(word).suffix in _SCRIPTS and is_file(Path(word)):
        found = word
    return _path(found) if found else ""


def _folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it was removed
        return ""


def identity(words: Sequence[str]) -> list[str]:
    """Returns a program with its arguments so that it is the same from any folder: the files that
    have its code in one text, and its arguments as of whole()."""
    return [_code(words), *arguments(whole(words))]


def arguments(words: Sequence[str]) -> list[str]:
    """Returns a program's arguments, of a Python script those of both."""
    return [words[at] for at in places(words)]


def places(words: Sequence[str]) -> list[int]:
    """Returns which words arguments() returns."""
    at, file = _of_python(words) if _is_python(words) else (0, "")
    script = at if file else 0
    return [place for place in range(1, len(words)) if place != script]


def main_word(words: Sequence[str]) -> int:
    """Returns which word says what code runs: of an interpreter its script or module, of another
    program that starts one the first argument that is a program or a script; else 0.

    Arguments of a program that isn't on the PATH may be words, such as "sort", that are programs
    there: it starts none of them.
    """
    return _main(words)[0]


def main_file(words: Sequence[str]) -> str:
    """Returns the file, or the Python module, that has the program's own code."""
    return words[main_word(words)]


def hides_code(words: Sequence[str]) -> bool:
    """Whether it can't be told from here what code runs: that of a container, or of an interpreter
    without a script, also where another program starts these."""
    return _hiding(words) is not None


def _hiding(words: Sequence[str]) -> int | None:
    """Returns which word is the program of hides_code(); None if there is none."""
    for at in sorted({0, main_word(words)}):
        name = Path(words[at]).name
        if _CONTAINER.fullmatch(name):
            return at
        runs_commands = _runs_any_file(name) or _PYTHON.fullmatch(name)
        if runs_commands and not main_word(words[at:]):
            return at
    return None


def _code(words: Sequence[str]) -> str:
    """What tells programs apart: the program's file, and that of main_word(), whatever links lead
    there; a module by its name; of hidden code what the command line has."""
    at, file = _main(words)
    found = [shutil.which(words[0]) or words[0], *([file] if file else [])]
    files = " ".join(os.path.realpath(each) for each in found)
    code = f"{files} {words[at]}" if at and not file else files
    hiding = _hiding(words)
    return code if hiding is None else " ".join([code, *_hidden(whole(words)[hiding + 1 :])])


def _hidden(words: Sequence[str]) -> list[str]:
    """Returns what of a command line may say which hidden code runs: commands, names, and what
    paths end in if that may be a program; and this folder if any of it depends on that. Which word
    a container starts can't be told without knowing which of its options have values.

    Numbers don't count, as in thalweg.past_runs, nor whether there are files, which a run may make.
    """
    found = [name for word in words if (name := _name_of_code(word))]
    return [*found, _folder()] if any(map(_depends_on_folder, words)) else found


def _name_of_code(word: str) -> str:
    if any(map(str.isspace, word)):
        return NUMBER.sub("0", word)
    if word.startswith("-") or "=" in word:
        return ""
    path = Path(word)
    if "/" in word and path.suffix and path.suffix not in _SCRIPTS:
        return ""
    return NUMBER.sub("0", path.name)


def _depends_on_folder(word: str) -> bool:
    """Whether a command names a file by a relative path, or a script of this folder; other words
    only if they begin with dots, since a container has folders of its own."""
    if not any(map(str.isspace, word)):
        return word.startswith(("./", "../"))
    return any(
        re.match(r"[\w.+][\w.+-]*/", part)
        or (Path(part).suffix in _SCRIPTS and not part.startswith(("/", "-", "$", "~")))
        for part in _BREAK.split(word)
    )


def _main(words: Sequence[str]) -> tuple[int, str]:
    """Returns main_word() and the whole path of its file; "" for a module, and where it is 0."""
    if _is_python(words):
        return _of_python(words)
    runs_any_file, starts_any = _runs_any_file(words[0]), is_on_path(words[0])
    for at, word in enumerate(words[1:], 1):
        if runs_any_file and is_file(Path(word)):
            return at, _path(word)
        if (file := file_of(word)) and (starts_any or not is_on_path(word)):
            rest = words[at:]
            its, its_file = _main(rest) if _is_python(rest) or _runs_any_file(word) else (0, "")
            return (at + its, its_file) if its else (at, file)
    return 0, ""


def is_on_path(word: str) -> bool:
    """Whether a program is the one that its name alone would start."""
    found = shutil.which(Path(word).name)
    return found is not None and _path(found) == file_of(word)


def _is_python(words: Sequence[str]) -> bool:
    return Path(words[0]).name.startswith("python")


def _runs_any_file(word: str) -> bool:
    return _INTERPRETER.fullmatch(Path(word).name) is not None


def _of_python(words: Sequence[str]) -> tuple[int, str]:
    """The same of the Python interpreter; 0 if it was told neither a script nor a module."""
    at = 1
    while at < len(words) and words[at] != "-":
        if not words[at].startswith("-"):
            return at, _path(words[at])
        option = _OPTION.match(words[at])
        value_is_next = words[at] == _LONG_OPTION or (option is not None and not option[2])
        value = at + int(value_is_next)
        if option and option[1] in "mc":
            return (value if option[1] == "m" and value < len(words) else 0), ""
        at = value + 1
    return 0, ""


def _path(name: str) -> str:
    """The whole path of a file by its own name, to which a link may lead: programs may go by the
    name that they are called by."""
    folder, file = os.path.split(name)
    return str(Path(os.path.realpath(folder)) / file)


def _described(path: Path) -> dict[str, Any]:
    """What world rank 0 wrote; if it ran elsewhere, or never began, only that."""
    try:
        found = parse_json(read_text(path, str(path)), str(path))
    except UserError:
        found = None
    return found if isinstance(found, dict) else {"schema": 1}


def _as_json(network: Path) -> bytes:
    """Returns a network's file, as JSON also where it is CBOR or a scenario of the lab."""
    if network.suffix == ".cbor" or not network.exists():
        return networks.to_json(inputs.network(network)).encode()
    return network.read_bytes()


def _hashed(path: Path) -> Mapping[str, str]:
    from thalweg.record import digest  # with numpy, which no start waits for

    return {"file": path.name, "sha256": digest(path.read_bytes())}


def _utc() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
