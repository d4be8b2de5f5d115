"""Finds the compiled programs and libraries.

They are installed beside the Python files, under `bin/` and `lib/`. The environment variable
THALWEG_PREFIX names another prefix that `cmake --install` was given.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

from thalweg import __version__
from thalweg.cache_folder import ANOTHER_CACHE as ANOTHER_CACHE
from thalweg.cache_folder import cache as cache
from thalweg.cache_folder import surroundings as surroundings
from thalweg.errors import UserError
from thalweg.files import check_output, writing

UNUSED_DAYS = 60
"""Days for which plans, networks, histories and run records stay in the cache though unused."""


def package() -> Path:
    """Returns the folder that holds `bin/` and `lib/`."""
    if prefix := os.environ.get("THALWEG_PREFIX"):
        return Path(prefix).absolute() / "thalweg"
    return Path(__file__).parent


def binary(name: str) -> Path:
    """Returns the path of a program, such as "thalweg-switch".

    Raises UserError if it wasn't built.
    """
    return _existing(package() / "bin" / name)


def library(flavour: str) -> Path:
    """Returns the path of the runtime library for an MPI flavour: "openmpi" or "mpich".

    Raises UserError if it wasn't built.
    """
    return _existing(package() / "lib" / f"libthalweg-{flavour}.so")


def simulated_runtime() -> list[Path]:
    """Returns the files that are linked into a program for SMPI: the runtime, and what it calls.

    The latter is a library, which is found where it was linked. Raises UserError if they weren't
    built.
    """
    return [_existing(package() / "lib" / n) for n in ("thalweg-smpi.o", "libthalweg-smpi.so")]


def network(hosts: Iterable[str]) -> Path:
    """Returns where the cache has the network of a set of hosts: of this lab or this
    batch system's cluster, if we are in one."""
    import hashlib  # which brings OpenSSL with it: programs on one host start without

    key = json.dumps([__version__, [sorted(hosts), surroundings()]])
    return cache() / "networks" / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"


def make_cache(path: Path, name: str) -> None:
    """Makes the folder of a file in the cache, before long work. Raises UserError that begins with
    `name` if the file can't be written there."""
    with writing(name, ANOTHER_CACHE):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.exists()  # which fails in a folder that can't be entered
    check_output(path, name, ANOTHER_CACHE)


def mark_used(path: Path) -> None:
    """Notes that a file of the cache is used, for drop_unused(). When it was changed stays."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        changed = os.fstat(file.fileno()).st_mtime_ns
        os.utime(file.fileno(), ns=(time.time_ns(), changed))


def drop_unused(folder: Path) -> None:
    """Removes files of a folder of the cache that nothing has used for UNUSED_DAYS, as others may
    do at the same time."""
    oldest = time.time() - 86_400 * UNUSED_DAYS
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            with contextlib.suppress(OSError):
                status = path.stat()
                if path.is_file() and max(status.st_atime, status.st_mtime) < oldest:
                    path.unlink()


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise UserError(
            f"{path.name} is not in {path.parent}: run script/setup, or set THALWEG_PREFIX"
        )
    return path
