"""What a program is: which files and which words of a command line say what code runs."""

import functools
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from thalweg.files import is_file, is_folder

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
    return [code(words), *arguments(whole(words))]


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


def code(words: Sequence[str]) -> str:
    """Returns what tells programs apart: the program's file, and that of main_word(), whatever
    links lead there; a module by its name, with this folder if it is here; of hidden code what the
    command line has."""
    at, file = _main(words)
    found = [shutil.which(words[0]) or words[0], *([file] if file else [])]
    files = " ".join(os.path.realpath(each) for each in found)
    known = f"{files} {_of_module(words[at])}" if at and not file else files
    hiding = _hiding(words)
    return known if hiding is None else " ".join([known, *_hidden(whole(words)[hiding + 1 :])])


def _of_module(word: str) -> str:
    """Returns a Python module as it is named, alone or behind its option, with this folder if
    it has it."""
    option = _OPTION.match(word)
    package = (option[2] if option else word).partition(".")[0]
    is_here = is_folder(Path(package)) or is_file(Path(f"{package}.py"))
    return f"{word} {_folder()}" if is_here else word


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
