"""Where Thalweg keeps what it learns. `thalweg.paths` has it for everybody who needs other files,
too."""

import os
from collections.abc import Mapping
from pathlib import Path

from thalweg.errors import UserError

ANOTHER_CACHE = "make room, or set XDG_CACHE_HOME to a folder for all that is kept"
"""The remedy where nothing can be written in the cache folder."""


def cache() -> Path:
    """Returns the folder of all that is kept between runs: $XDG_CACHE_HOME/thalweg, else
    ~/.cache/thalweg. Raises UserError if there is no home folder."""
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "thalweg"
    try:
        return Path.home() / ".cache" / "thalweg"
    except RuntimeError:
        raise UserError("there is no home folder; set XDG_CACHE_HOME to a folder") from None


def surroundings(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Returns what tells hosts from others of the same names that share this cache: those of
    another lab, or of another cluster, where the batch system names its cluster."""
    lab = [environment.get(name, "") for name in ("THALWEG_LAB", "THALWEG_LAB_DILATION")]
    names = ("THALWEG_LAB_SCENARIO", "SLURM_CLUSTER_NAME", "SGE_CLUSTER_NAME")
    return lab + [environment[name] for name in names if environment.get(name)]
