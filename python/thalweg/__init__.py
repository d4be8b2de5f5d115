"""Thalweg makes unmodified MPI programs faster on networks that nobody gave you a map of."""

import os
from pathlib import Path

__version__ = "0.1.0"

# The compiled files of another build: `cmake --install BUILD --prefix DIR`, THALWEG_PREFIX=DIR.
if prefix := os.environ.get("THALWEG_PREFIX"):
    __path__.insert(0, str(Path(prefix) / "thalweg"))
del prefix
