"""Reads files that users name, and writes files that readers always find whole."""

import contextlib
import errno
import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from thalweg.errors import UserError
from thalweg.printable import short

LARGEST = 512 << 20
"""Most bytes of a file of text."""

_LONGEST_NAME = 255  # bytes, on common file systems
_ROOM = "make room, or name a file elsewhere"
_RIGHTS = "name a file where you may write"
_NAME = "name a file with a shorter name"
REMEDIES = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: _ROOM,
    errno.EROFS: _RIGHTS,
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.ENAMETOOLONG: _NAME,
}
"""What the user can do about errors of writing."""


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; also for names that no file can have, it is not."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether there is such a file; also for names that no file can have, it is not."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_same(one: Path, other: Path) -> bool:
    """Whether two names, however spelled or linked, are of one file or folder that is there."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False


def read_text(path: str | os.PathLike[str], name: str, advice: str = "") -> str:
    """Returns the text of a file.

    Raises UserError that begins with `name` if it can't be read or isn't text in UTF-8, and ends
    with `advice`.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise UserError(f"{name}: larger than {LARGEST >> 20} MiB{advice}")
        return content.decode()
    except PermissionError as error:
        raise UserError(f"{name}: {error.strerror}; name a file that you may read") from None
    except OSError as error:
        raise UserError(f"{name}: {error.strerror}{advice}") from None
    except UnicodeDecodeError:
        raise UserError(f"{name}: not a text file in UTF-8{advice}") from None
    except ValueError:
        raise UserError(f"{name}: no file can have this name{advice}") from None


def parse_json(text: str, where: str) -> Any:
    """Returns the content of a text in JSON; `where` names it in errors.

    Raises UserError naming the place of the error. Refused are also keys that stand twice in an
    object, numbers that aren't finite, and very deep lists.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise UserError(
            f"{where}: not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise UserError(f"{where}: lists and objects stand in each other too deeply") from None
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    except ValueError:  # more digits than Python converts
        raise UserError(f"{where}: a number is too large") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise UserError(f'the key "{short(key)}" stands twice in an object: remove one')
        found[key] = value
    return found


def _no_number(name: str) -> NoReturn:
    raise UserError(f"{name} is no number in JSON: write a finite number or null")


def check_output(
    path: Path, name: str, remedy: str = _RIGHTS, *, inputs: Iterable[Path | None] = ()
) -> None:
    """Checks before long work that a file can be written, and is none of those that are read.

    Raises UserError that begins with `name` if it is a folder, or its folder isn't there, or
    nothing can be written there, or if it is one of `inputs`, however that is spelled or linked.
    """
    with _possible(name):
        for each in inputs:
            if each and is_file(path) and is_same(path, each):
                raise UserError(f"{name}: would replace the input {each}; name another file")
        if path.is_dir():
            raise UserError(f"{name}: is a folder; name a file in it")
        if not _is_device(path):
            _check_folder(path.absolute().parent, path.parent, name, remedy)


def check_output_folder(path: Path, name: str) -> None:
    """Checks before long work that files can be written into a folder, which may have to be made.

    Raises UserError that begins with `name` if it is a file, or nothing can be written there.
    """
    with _possible(name):
        if path.is_dir():
            _check_folder(path, path, name, _RIGHTS)
        elif path.exists():
            raise UserError(f"{name}: is a file; name a folder")
        else:
            _check_folder(path.absolute().parent, path.parent, name, _RIGHTS)


def make_output_folder(folder: Path, name: str, file: str) -> None:
    """Makes the folder, and checks that such a file can be written there. Raises UserError."""
    with writing(name, "name another folder"):
        folder.mkdir(parents=True, exist_ok=True)
    check_output(folder / file, name)


@contextlib.contextmanager
def _possible(name: str) -> Iterator[None]:
    """Turns errors of a name that no file can have into UserError."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no file can have this name"
        raise UserError(f"{name}: {reason}") from None


def _check_folder(folder: Path, shown: Path, name: str, remedy: str) -> None:
    if not folder.is_dir():
        raise UserError(f"{name}: there is no folder {shown}; make it, or name another")
    if not os.access(folder, os.W_OK):
        raise UserError(f"{name}: can't be written: the folder {shown} is read-only; {remedy}")


def _is_device(path: Path) -> bool:
    """Whether the path is a device or a pipe, such as /dev/stdout."""
    return path.exists() and not path.is_file()


@contextlib.contextmanager
def writing(name: str, remedy: str = "") -> Iterator[None]:
    """Turns an error of writing into UserError that begins with `name` and ends with the remedy."""
    try:
        yield
    except OSError as error:
        raise UserError(write_error(name, error, remedy)) from None


def write_error(name: str, error: OSError, remedy: str = "") -> str:
    """Returns a sentence about an error of writing."""
    remedy = remedy or REMEDIES.get(error.errno or 0, "name another file")
    return f"{name}: can't be written: {error.strerror}; {remedy}"


def write_file(
    path: Path, name: str, content: str | bytes | Iterable[str], remedy: str = ""
) -> None:
    """Writes a whole file or none; content in parts is written as they come.

    Raises UserError that begins with `name` and ends with the remedy.
    """
    with writing(name, remedy):
        write_whole(path, content)


@contextlib.contextmanager
def locked(path: Path, wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Lets one process at a time go on, by a lock file beside the file, which stays empty.

    Calls `wait` before it waits for another process. The lock ends with its process, however that
    ends. Raises OSError.
    """
    with path.with_name(path.name + ".lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            wait()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Makes a folder that is removed afterwards. Raises UserError if there is no place for it."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="thalweg-")
    except OSError as error:
        raise UserError(
            f"no temporary folder can be made: {error.strerror}; TMPDIR names another place"
        ) from None
    with folder:
        yield Path(folder.name)


def write_whole(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Writes a temporary file beside the file and renames it.

    Readers find the old content or the new, even if the machine stops in between. Links are
    followed, and devices and pipes written as they are. Raises OSError.
    """
    if not path.name:
        raise IsADirectoryError(21, "Is a directory", str(path))
    parts: Iterable[str | bytes] = [content] if isinstance(content, str | bytes) else content
    data = (part.encode() if isinstance(part, str) else part for part in parts)
    if _is_device(path):  # what a pipe's link names isn't there
        with path.open("wb") as device:
            device.writelines(data)
        return
    path = Path(os.path.realpath(path))
    # Machines that share the folder may have a process of the same number.
    unique = os.urandom(8).hex()
    temporary = path.with_name(f"{path.name}.{unique}.new")
    if len(os.fsencode(temporary.name)) > _LONGEST_NAME:  # The file's own name may be legal.
        temporary = path.with_name(f".{unique}.new")
    try:
        with temporary.open("xb") as file:
            file.writelines(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
