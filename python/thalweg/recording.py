"""The launcher's part of the run record: its folder, and what only the launcher knows of the run.

docs/record.md describes the record; thalweg.record reads it.
"""

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg import __version__, console, inputs, paths, programs
from thalweg import network as networks
from thalweg.errors import UserError
from thalweg.files import (
    is_folder,
    is_same,
    make_output_folder,
    parse_json,
    read_text,
    write_error,
    write_whole,
    writing,
)
from thalweg.record_folder import DESCRIPTION, EVENTS, MERGED, NETWORK, PARTS, PLAN, SUMMARY
from thalweg.units import timestamp

KEPT = 5
"""Records of a program on its hosts that stay in the cache, however they ended."""
KEPT_OF_PROGRAM = 20
"""Records of a program on any hosts that stay: each batch job may have others."""
LONGEST = 86400.0
"""Seconds after which a run without an end has probably been killed."""

_OWN = (DESCRIPTION, SUMMARY, MERGED, PLAN, NETWORK)
_RANKS = (PARTS, EVENTS)
_TRACE = (EVENTS, SUMMARY)
_SCHEMA: Mapping[str, Any] = {"schema": 1}
"""What any description of a run has."""
_IN_SUMMARIES = {"everything_native", "collectives"}
"""Keys that the summary of any run has."""


@dataclass
class Recording:
    """A run record while its run goes on."""

    folder: Path
    network: Path | None
    plan: Path | None
    program: Sequence[str] = ()
    """The program and its arguments, as programs.whole() returns them."""
    order: Sequence[str] | None = None
    """The host of each rank in the launcher's order, if the ranks are placed otherwise."""
    known: Sequence[str] = ()
    """The hosts that the run's weather is kept for, if it is."""
    begin: str = ""
    _began: float = 0

    def start(self) -> None:
        """Empties the folder of an earlier run's record, and copies network and plan there.

        Both are read first: they may be of that record. A description that says nothing yet marks
        the folder as a record, also if the run is killed before a rank has described it. Raises
        OSError.
        """
        network = _as_json(self.network) if self.network else None
        plan = self.plan.read_bytes() if self.plan else None
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / DESCRIPTION).exists():
            _remove(self.folder, (*_OWN, *_RANKS))
        write_whole(self.folder / DESCRIPTION, json.dumps(_SCHEMA) + "\n")
        if network is not None:
            (self.folder / NETWORK).write_bytes(network)
        if plan is not None:
            (self.folder / PLAN).write_bytes(plan)
        self.begin = timestamp(time.time())
        self._began = time.monotonic()

    def finish(self, command: Sequence[str], launcher: str, status: int) -> None:
        """Adds what the launcher knows to run.json. A note on standard error says why it can't."""
        path = self.folder / DESCRIPTION
        try:
            list(self.folder.iterdir())  # NFS forgets that rank 0's file wasn't there before.
            found = described(self.folder) or {**_SCHEMA}
            found["launch"] = {
                "version": __version__,
                "launcher": launcher,
                "command": list(command),
                "program": list(self.program),
                "order": list(self.order) if self.order else None,
                "start": self.begin,
                "end": timestamp(time.time()),
                "seconds": round(time.monotonic() - self._began, 3),
                "status": status,
                "hosts": list(self.known),
                "network": _hashed(self.folder / NETWORK) if self.network else None,
                "plan": _hashed(self.folder / PLAN) if self.plan else None,
            }
            write_whole(path, json.dumps(found, indent=1) + "\n")
        except OSError as error:
            console.note(write_error(f"run record {path}", error))


def empty_trace(folder: Path) -> None:
    """Removes what an earlier run left in the folder of a trace: it may have had more ranks, and
    this one may leave no summary. Raises UserError."""
    with writing(f"trace folder {folder}", "name another folder"):
        _remove(folder, _TRACE)


def _remove(folder: Path, patterns: Iterable[str]) -> None:
    for path in _found(folder, patterns):
        path.unlink(missing_ok=True)


def _found(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return [path for pattern in patterns for path in folder.glob(pattern)]


def check_record(folder: Path, read: Iterable[Path | None]) -> None:
    """Raises UserError if a record in the folder would replace one of the files, or the record,
    that a run reads, however they are spelled or linked, or a file that is of no record."""
    name = f"run record {folder}"
    _check_inputs(folder, name, (*_OWN, *_RANKS), read)
    if described(folder).get("schema") != _SCHEMA["schema"]:
        _refuse_others(folder, name, _OWN)


def check_trace(folder: Path, read: Iterable[Path | None]) -> None:
    """Does what check_record() does for a trace in the folder."""
    name = f"trace folder {folder}"
    _check_inputs(folder, name, _TRACE, read)
    _refuse_others(folder, name, (SUMMARY,))


def _check_inputs(
    folder: Path, name: str, patterns: Iterable[str], read: Iterable[Path | None]
) -> None:
    replaced = _found(folder, patterns) if is_folder(folder) else []
    for each in filter(None, read):
        if replaced and any(is_same(each, path) for path in (folder, *replaced)):
            raise UserError(f"{name}: would replace the input {each}; name another folder")


def _refuse_others(folder: Path, name: str, files: Iterable[str]) -> None:
    """Raises UserError for one of the files in the folder that no run has left there. Without a
    record beside it that may be a run's only if it is a summary, as in the folder of a trace."""
    for path in _found(folder, files) if is_folder(folder) else []:
        if path.name != SUMMARY or not _is_summary(path):
            raise UserError(
                f"{name}: would replace {path}, which isn't of a run; choose another folder"
            )


def _is_summary(path: Path) -> bool:
    """Whether a run left a summary.json: it has what a summary has, or events are beside it."""
    return any(path.parent.glob(EVENTS)) or _content(path).keys() >= _IN_SUMMARIES


def named(folder: Path, read: Iterable[Path | None] = ()) -> Path:
    """Returns the folder that the user named, as an absolute path.

    Raises UserError if no record can be written there, or as check_record() does.
    """
    check_record(folder, read)
    make_output_folder(folder, f"run record {folder}", DESCRIPTION)
    return folder.absolute()


def usual(program: Sequence[str], hosts: Sequence[str]) -> Path | None:
    """Returns a new folder in the cache for a run of the program on the hosts.

    KEPT stay with this one, those by which later runs may be placed, and those that may still go
    on; of the program on any hosts the last KEPT_OF_PROGRAM. A program that is new here is an
    occasion to remove the records of those that nothing has used for paths.UNUSED_DAYS. None, with
    a note, if there is no place.
    """
    group = _records() / f"{_key(programs.code(program))}-{_key(sorted(set(hosts)))}"
    folder = group / f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}"
    try:
        folder.mkdir(parents=True)
        of_hosts = sorted(group.iterdir(), reverse=True)
        if len(of_hosts) > KEPT:
            telling = _latest_by_ranks(of_hosts)
            _remove_over(old for old in of_hosts[KEPT:] if old not in telling)
        _remove_over(of_program(program)[KEPT_OF_PROGRAM:])
        if len(of_hosts) == 1:
            _drop_unused()
    except OSError as error:
        console.note(write_error(f"run record {folder}", error, "the run isn't recorded"))
        return None
    return folder


def _latest_by_ranks(folders: Iterable[Path]) -> set[Path]:
    """Returns the first record of a run that went well, of each number of ranks."""
    found: dict[int, Path] = {}
    for folder in folders:
        if ranks := went_well_on(described(folder)):
            found.setdefault(ranks, folder)
    return set(found.values())


def _remove_over(folders: Iterable[Path]) -> None:
    """Removes records but those of runs that may still go on."""
    for folder in folders:
        if _is_over(folder):
            shutil.rmtree(folder, ignore_errors=True)


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
    if launch_of(described(folder)):
        return True
    try:
        newest = max(each.stat().st_mtime for each in (folder, *folder.iterdir()))
        return time.time() - newest > LONGEST
    except OSError:
        return False


def of_program(program: Sequence[str]) -> list[Path]:
    """Returns the records in the cache of runs of the program, on any hosts, the latest first; none
    where the cache can't be read."""
    found: list[Path] = []
    with contextlib.suppress(OSError):
        found = list(_records().glob(f"{_key(programs.code(program))}-*/*/{DESCRIPTION}"))
    return sorted((path.parent for path in found), key=lambda path: path.name, reverse=True)


def _records() -> Path:
    return paths.cache() / "records"


def _key(named: str | Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:12]


def described(folder: Path) -> dict[str, Any]:
    """Returns what a record's run.json says: what world rank 0 wrote, if it ran here, and from the
    run's end on what the launcher knows. Empty if nothing can be read there."""
    return _content(folder / DESCRIPTION)


def _content(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file; empty if nothing can be read there."""
    try:
        found = parse_json(read_text(path, str(path)), str(path))
    except UserError:
        return {}
    return found if isinstance(found, dict) else {}


def is_described(folder: Path) -> bool:
    """Whether a rank has described its run in a record, which until then has the launcher's part
    only."""
    return bool(described(folder).keys() - {*_SCHEMA, "launch"})


def launch_of(description: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns what the launcher knew of a run, of what described() returns; empty if it isn't
    there."""
    found = description.get("launch")
    return found if isinstance(found, dict) else {}


def went_well_on(description: Mapping[str, Any]) -> int:
    """Returns on how many ranks a run went well, of what described() returns; 0 if it didn't, or if
    that isn't known."""
    ranks = description.get("ranks")
    went_well = launch_of(description).get("status") == 0
    return ranks if went_well and isinstance(ranks, int) else 0


def files(folder: Path) -> list[Path]:
    """Returns a record's files of the ranks' data: record.bin, then those that aren't in it."""
    merged = folder / MERGED
    return [*([merged] if merged.exists() else []), *sorted(folder.glob(PARTS))]


def _as_json(network: Path) -> bytes:
    """Returns a network's file, as JSON also where it is CBOR or a scenario of the lab."""
    if network.suffix == ".cbor" or not network.exists():
        return networks.to_json(inputs.network(network)).encode()
    return network.read_bytes()


def _hashed(path: Path) -> Mapping[str, str]:
    return {"file": path.name, "sha256": digest(path.read_bytes())}


def digest(content: bytes) -> str:
    """Returns the hash by which a record names networks and plans."""
    return hashlib.sha256(content).hexdigest()
