"""What the files of a run record must say, and that they are of one run."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from thalweg import record_folder, shape
from thalweg.errors import UserError
from thalweg.files import is_file, parse_json, read_text
from thalweg.record_file import EntryKind, RankRecord
from thalweg.shape import WHOLE

MOST = 1 << 53
"""Most messages, and bytes, of a rank: what a double counts exactly."""


def read_description(folder: Path) -> dict[str, Any]:
    """Reads run.json. Raises UserError if it isn't there, or isn't as docs/record.md says."""
    path = folder / record_folder.DESCRIPTION
    if not is_file(path):
        raise UserError(
            f"{folder}: not a run record; make one with `thalweg run --record {folder}`"
        )
    found = parse_json(read_text(path, str(path)), str(path))
    if not isinstance(found, dict) or found.get("schema") != 1:
        raise UserError(f"{path}: not the description of a run that this Thalweg can read")
    lacking = {"run", "ranks", "hosts", "placement", "clocks"} - found.keys()
    if lacking:
        raise UserError(
            f"{path}: no rank has described its run here; look on the machine of world rank 0, "
            "unless the program didn't load the runtime library"
            if "launch" in found
            else f'{path}: lacks "{min(lacking)}"; record the run again'
        )
    if wrong := shape.fault(found, _DESCRIPTION):
        raise UserError(f"{path}: {wrong}, as docs/record.md says; record the run again")
    for name, good in _CHECKS.items():
        if not good(found):
            raise UserError(
                f'{path}: "{name}" must be as docs/record.md says; record the run again'
            )
    return found


_CLOCK = {"at_ns": [WHOLE], "offset_ns": [WHOLE], "error_ns": [WHOLE]}
_DESCRIPTION = {
    "run": str, "ranks": WHOLE, "hosts": [str], "placement": [WHOLE],
    "clocks": [_CLOCK],
    "launch?": {"program?": [str], "start?": str, "hosts?": [str]},
    "command?": [str], "library?": str,
    "collectives?": [str], "algorithms?": [str], "reasons?": [str],
}  # fmt: skip


def _is_clock(clock: Mapping[str, Any]) -> bool:
    return len(clock) == len(_CLOCK) and len(set(map(len, clock.values()))) == 1


_CHECKS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "run": lambda found: re.fullmatch("[0-9a-f]{1,16}", found["run"]) is not None,
    "ranks": lambda found: found["ranks"] > 0,
    "placement": lambda found: (
        len(found["placement"]) == found["ranks"]
        and set(found["placement"]) <= set(range(len(found["hosts"])))
    ),
    "clocks": lambda found: (
        len(found["clocks"]) == len(found["hosts"]) and all(map(_is_clock, found["clocks"]))
    ),
}


def check_one_run(
    folder: Path, description: Mapping[str, Any], parts: Sequence[RankRecord]
) -> None:
    """Raises UserError unless the parts, sorted by rank, are of the run that is described."""
    ranks, hosts = description["ranks"], len(description["hosts"])

    def refuse(why: str) -> NoReturn:
        raise UserError(f"{folder}: {why}; record the run again")

    for part in parts:
        if int(part.header["run"]) != int(description["run"], 16):
            raise UserError(
                f"{folder}: holds files of different runs (rank {part.rank}'s is of another one "
                "than run.json); give each run a folder of its own"
            )
        if part.header["world_size"] != ranks or not 0 <= part.rank < ranks:
            refuse(f"rank {part.rank} doesn't fit {ranks} ranks")
        for counted in ("messages", "bytes"):
            if part.entries[EntryKind.messages][counted].astype(float).sum() > MOST:
                refuse(f"rank {part.rank}'s record counts more than {MOST} {counted}")
        for to in part.entries[EntryKind.messages]["to"]:
            if not 0 <= to <= ranks:
                refuse(f"rank {part.rank}'s record names rank {to}, beyond {ranks}")
        for host in (part.header["host"], *part.entries[EntryKind.link]["host"]):
            if not 0 <= host < hosts:
                refuse(f"rank {part.rank}'s record names host {host}, beyond {hosts}")
    for part, other in pairwise(parts):
        if part.rank == other.rank:
            raise UserError(f"{folder}: two records of rank {part.rank}; remove the wrong one")
