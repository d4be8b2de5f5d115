"""A run as an OTF2 trace, which Vampir, Scalasca and Cube read.

Hosts are nodes, ranks are processes, collective calls are regions with OTF2's records of MPI
collectives, and the messages that a planned call is made of are sends and receives in it. Calls of
a rank that overlap are on further threads of its process.
"""

import errno
import shutil
from collections.abc import Mapping
from ctypes import c_void_p, cast
from pathlib import Path
from typing import Any

import _otf2
import otf2
import polars as pl
from _otf2.Config import conf
from numpy.typing import NDArray
from otf2.enums import (
    CollectiveOp,
    GroupType,
    LocationGroupType,
    LocationType,
    Paradigm,
    RegionRole,
)

from thalweg._core import exports
from thalweg.analysis.tables import Run
from thalweg.errors import UserError
from thalweg.exports.lanes import lanes
from thalweg.files import check_output_folder, write_error

_ENTER, _SEND, _RECEIVE, _LEAVE = range(4)
"""Otf2Event of src/exports/otf2.hpp; also the order of events at the same time."""
_COLUMNS = {
    "event": pl.UInt8, "time": pl.UInt64, "communicator": pl.UInt32, "peer": pl.UInt32,
    "size": pl.UInt64, "region": pl.UInt32, "operation": pl.UInt8,
}  # fmt: skip
_SECOND_NS = 10**9
_NO_ROOT = 2**32 - 1
_ROLES = {
    "barrier": RegionRole.BARRIER,
    "bcast": RegionRole.COLL_ONE2ALL,
    "scatter": RegionRole.COLL_ONE2ALL,
    "reduce": RegionRole.COLL_ALL2ONE,
    "gather": RegionRole.COLL_ALL2ONE,
}


def write(run: Run, path: Path) -> None:
    """Writes the archive: a new folder, whose anchor is `traces.otf2`.

    Cost: about 2 s for 10⁶ messages. Raises UserError if the folder is there already or can't be
    written; nothing is left behind then.
    """
    where = f"export {path}"
    check_output_folder(path, where)
    if path.exists():
        raise UserError(f"{where}: is there already; name a folder that OTF2 may make")
    archive: Any = None
    try:
        with otf2.writer.open(str(path), timer_resolution=_SECOND_NS) as archive:
            _Trace(archive, run).write()
    except (OSError, _otf2.Error) as error:
        if archive is not None:
            archive._handle = None  # or else the package tries again when it is collected
        shutil.rmtree(path, ignore_errors=True)
        if isinstance(error, OSError):
            raise UserError(write_error(where, error)) from None
        raise UserError(
            f"{where}: can't be written: OTF2 says {error}; make room, or name another folder"
        ) from None


class _Trace:
    """A trace while it is written."""

    def __init__(self, archive: Any, run: Run) -> None:
        self._archive, self._definitions, self._run = archive, archive.definitions, run
        self._functions = _functions()
        self._calls = _on_lanes(run.calls)
        self._groups = self._make_groups()
        self._ranks = [self._location(rank, 0) for rank in range(run.ranks)]
        self._regions = {
            kind: self._region(kind) for kind in self._calls["kind"].unique(maintain_order=True)
        }
        self._operations = {kind: _operation(kind).value for kind in self._regions}
        self._communicators = self._make_communicators()

    def write(self) -> None:
        events = self._events()
        columns = {
            name: events[name].cast(kind).rechunk().to_numpy() for name, kind in _COLUMNS.items()
        }
        at = 0
        counts = events.group_by("rank", "lane", maintain_order=True).len()
        for rank, lane, count in counts.iter_rows():
            location = self._location(rank, lane) if lane else self._ranks[rank]
            own = {name: column[at : at + count] for name, column in columns.items()}
            self._write_location(location, own)
            at += count

    # Definitions -------------------------------------------------------------------------------

    def _make_groups(self) -> list[Any]:
        """Returns a process for each rank."""
        root = self._definitions.system_tree_node("network", class_name="network")
        nodes = {
            host: self._definitions.system_tree_node(host, class_name="node", parent=root)
            for host in dict.fromkeys(self._run.hosts)
        }
        return [
            self._definitions.location_group(
                f"rank {rank}", LocationGroupType.PROCESS, system_tree_parent=nodes[host]
            )
            for rank, host in enumerate(self._run.hosts)
        ]

    def _location(self, rank: int, lane: int) -> Any:
        name = f"rank {rank}" + (f", calls {lane + 1}" if lane else "")
        return self._definitions.location(name, LocationType.CPU_THREAD, group=self._groups[rank])

    def _region(self, kind: str) -> Any:
        return self._definitions.region(
            f"MPI_{kind.capitalize()}",
            region_role=_ROLES.get(kind, RegionRole.COLL_ALL2ALL),
            paradigm=Paradigm.MPI,
        )

    def _make_communicators(self) -> dict[int, Any]:
        """Returns the communicators by the run's numbers."""
        self._definitions.group(
            "ranks", GroupType.COMM_LOCATIONS, Paradigm.MPI, members=tuple(self._ranks)
        )
        return {
            number: self._definitions.comm(
                f"communicator {number}",
                self._definitions.group(
                    f"ranks of communicator {number}", GroupType.COMM_GROUP, Paradigm.MPI,
                    members=tuple(self._ranks[rank] for rank in own["rank"]),
                ),
            )
            for (number,), own in self._run.members().group_by("communicator", maintain_order=True)
        }  # fmt: skip

    # Events ------------------------------------------------------------------------------------

    def _events(self) -> pl.DataFrame:
        """Returns the events of all ranks and lanes in the order in which OTF2 wants them."""
        members = self._calls.select("call", "rank", peer="member")
        calls = self._calls.join(
            members, left_on=["call", "root"], right_on=["call", "rank"], how="left"
        ).with_columns(
            self._references("communicator", self._communicators),
            self._references("kind", self._regions).alias("region"),
            pl.col("kind").replace_strict(self._operations, return_dtype=pl.UInt8)
            .alias("operation"),
            pl.col("peer").fill_null(_NO_ROOT),
            began="enter",
        )  # fmt: skip
        own_calls = calls.select("call", "rank", "began", "communicator")
        parts = [
            calls.with_columns(time="enter", event=pl.lit(_ENTER)),
            calls.with_columns(time="exit", event=pl.lit(_LEAVE)),
        ]
        for event, own, other, time in (
            (_SEND, "sender", "receiver", "send_posted"),
            (_RECEIVE, "receiver", "sender", "receive_done"),
        ):
            ends = self._run.messages.select(
                "call", other, "size", rank=own, time=time, lane=pl.lit(0), event=pl.lit(event),
                region=pl.lit(0), operation=pl.lit(0),
            )  # fmt: skip
            ends = ends.join(members, left_on=["call", other], right_on=["call", "rank"])
            parts.append(ends.join(own_calls, on=["call", "rank"]))
        columns = [*_COLUMNS, "rank", "lane", "began"]
        found = pl.concat([part.select(columns) for part in parts], how="vertical_relaxed")
        return found.sort("rank", "lane", "time", "began", "event")

    @staticmethod
    def _references(column: str, definitions: Mapping[Any, Any]) -> pl.Expr:
        """Returns OTF2's numbers of the definitions that a column names."""
        numbers = {name: definition._ref for name, definition in definitions.items()}
        return pl.col(column).replace_strict(numbers, return_dtype=pl.UInt32)

    def _write_location(self, location: Any, events: Mapping[str, NDArray[Any]]) -> None:
        """Writes through OTF2's C functions, and counts for the package what it would count."""
        writer = self._archive.event_writer_from_location(location)
        count = exports.write_otf2(self._functions, _address(writer.handle), **events)
        if count is None:
            raise OSError(errno.EIO, f"the events of {location.name} are incomplete")
        location._number_of_events_written = count
        self._archive._update_timestamps(int(events["time"][0]))
        self._archive._update_timestamps(int(events["time"][-1]))


def _functions() -> exports.Otf2Functions:
    """Returns the C functions that write an event."""
    names = {
        "enter": "Enter", "collective_begin": "MpiCollectiveBegin",
        "collective_end": "MpiCollectiveEnd", "leave": "Leave", "send": "MpiSend",
        "receive": "MpiRecv",
    }  # fmt: skip
    return exports.Otf2Functions(
        **{ours: _address(conf.lib[f"OTF2_EvtWriter_{its}"]) for ours, its in names.items()}
    )


def _address(pointer: Any) -> int:
    return cast(pointer, c_void_p).value or 0


def _operation(kind: str) -> Any:
    """Returns OTF2's name; a neighbourhood's collective is the same one among all, to OTF2."""
    return getattr(CollectiveOp, kind.removeprefix("neighbor_").upper(), CollectiveOp.BARRIER)


def _on_lanes(calls: pl.DataFrame) -> pl.DataFrame:
    """Adds the lane; a call may begin at the very time at which the one before ends."""
    ordered = calls.sort("rank", "enter", "exit")
    last = pl.max_horizontal("enter", pl.col("exit") - 1).alias("last")
    found: list[int] = []
    for _, own in ordered.select("rank", "enter", last).group_by("rank", maintain_order=True):
        found += lanes(own["enter"].to_list(), own["last"].to_list())
    return ordered.with_columns(pl.Series("lane", found, pl.Int64))
