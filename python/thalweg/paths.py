"""Finds the compiled programs and libraries.

They are installed beside the Python files, under `bin/` and `lib/`. The environment variable
THALWEG_PREFIX names another prefix that `cmake --install` was given.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path

from thalweg import __version__
from thalweg.cache_folder import ANOTHER_CACHE as ANOTHER_CACHE
from thalweg.cache_folder import cache as cache
from thalweg.cache_folder import lab as lab
from thalweg.errors import UserError


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
    """Returns where the cache has the network of a set of hosts: of this lab, if we are in one."""
    import hashlib  # which brings OpenSSL with it: programs on one host start without

    key = json.dumps([__version__, [sorted(hosts), lab()]])
    return cache() / "networks" / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise UserError(
            f"{path.name} is not in {path.parent}: run script/setup, or set THALWEG_PREFIX"
        )
    return path
