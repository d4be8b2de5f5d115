"""Finds the compiled programs and libraries.

They are installed beside the Python files, under `bin/` and `lib/`. The environment variable
THALWEG_PREFIX names another prefix that `cmake --install` was given.
"""

import os
from pathlib import Path

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


def cache() -> Path:
    """Returns the folder of measured networks: $XDG_CACHE_HOME/thalweg, else ~/.cache/thalweg."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "thalweg"


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise UserError(
            f"{path.name} is not in {path.parent}: run script/setup, or set THALWEG_PREFIX"
        )
    return path
