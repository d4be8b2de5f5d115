"""Reads from OTF2 traces what ranks sent each other point to point.

Traces of EZTrace and those that the package writes were tried; Score-P's weren't. The plain
functions of the package are used, since its objects refuse traces whose definitions repeat each
other, as EZTrace writes them.
"""

import contextlib
from collections.abc import Iterator
from ctypes import CFUNCTYPE, c_char_p, c_int, c_uint64, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import _otf2
from _otf2.Config import conf

from thalweg.errors import UserError

_NO_MESSAGE_OF_ITS_OWN = CFUNCTYPE(
    c_int, c_void_p, c_char_p, c_uint64, c_char_p, c_int, c_char_p, c_void_p
)(lambda _user, _file, _line, _function, code, _format, _arguments: code)


@dataclass
class Traffic:
    """What a trace says of its ranks: by ordered pair of ranks, messages and bytes."""

    ranks: int = 0
    pairs: dict[tuple[int, int], list[int]] = field(default_factory=dict)


def read(path: Path) -> Traffic:
    """Reads a trace's anchor file (.otf2).

    A rank is a process of the trace, whichever of its threads sent; ranks are numbered as in
    MPI_COMM_WORLD. Collectives and one-sided messages don't count. Cost: about 5 us an event.
    Raises UserError if it isn't a trace, is damaged, or isn't one of an MPI program.
    """
    where = f"trace {path}"
    conf.lib["OTF2_Error_RegisterCallback"](_NO_MESSAGE_OF_ITS_OWN, None)
    try:
        with _opened(path) as reader:
            definitions = _read_definitions(reader)
            traffic = definitions.traffic(where)
            _read_messages(reader, definitions, traffic)
    except _otf2.Error as error:
        raise UserError(
            f"{where}: OTF2 can't read it ({error.name}); name the trace's .otf2, and copy it whole"
        ) from None
    except _UnknownReferenceError as error:
        raise UserError(f"{where}: an event names {error}, which isn't defined") from None
    return traffic


class _UnknownReferenceError(Exception):
    pass


@dataclass
class _Definitions:
    """The definitions of a trace that tell who an event's sender and receiver are."""

    group_of: dict[int, int] = field(default_factory=dict)
    """The process of each location."""
    world: list[int] = field(default_factory=list)
    """Each rank's location."""
    members: dict[int, list[int]] = field(default_factory=dict)
    """The ranks of each group of ranks."""
    alone: set[int] = field(default_factory=set)
    """The groups that hold whichever rank an event is of, as MPI_COMM_SELF's does."""
    communicators: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The group of each communicator; of one between groups, both."""
    ranks: dict[int, int] = field(default_factory=dict)
    """Each location's rank."""
    unknown: set[int] = field(default_factory=set)
    """Locations of which it isn't known whose they are."""

    def traffic(self, where: str) -> Traffic:
        """Numbers the ranks. Raises UserError if there are none."""
        if not self.world:
            raise UserError(
                f"{where}: has no ranks; was the program traced with its MPI calls, and the trace "
                "copied whole?"
            )
        rank_of = {self.group_of.get(location): rank for rank, location in enumerate(self.world)}
        self.ranks = {
            location: rank_of[group]
            for location, group in self.group_of.items()
            if group in rank_of
        }
        # Ranks may share a group, as those of MPI libraries by threads do.
        self.ranks |= {location: rank for rank, location in enumerate(self.world)}
        shared = len(rank_of) < len(self.world)
        self.unknown = {*self.group_of} - {*self.world} if shared else set()
        return Traffic(len(self.world))

    def pair(self, location: int, communicator: int, receiver: int) -> tuple[int, int]:
        """Returns the ranks of the two ends of a message."""
        try:
            if location in self.unknown:
                raise UserError(
                    f"location {location} sends messages, and is in a group with several ranks: "
                    "whose messages these are can't be known"
                )
            sender = self.ranks[location]
            if self.alone.intersection(self.communicators[communicator]):
                return sender, sender
            groups = [self.members[group] for group in self.communicators[communicator]]
            if len(groups) == 2 and sender in groups[0]:
                groups.reverse()
            return sender, groups[0][receiver]
        except (KeyError, IndexError):
            raise _UnknownReferenceError(
                f"receiver {receiver} of communicator {communicator}"
            ) from None


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    reader = _otf2.Reader_Open(str(path))
    try:
        _otf2.Reader_SetSerialCollectiveCallbacks(reader)
        yield reader
    finally:
        _otf2.Reader_Close(reader)


def _read_definitions(reader: Any) -> _Definitions:
    found = _Definitions()

    def location(_: Any, number: int, _name: Any, _type: Any, _events: Any, group: int) -> None:
        found.group_of[number] = group

    def group(
        _: Any, number: int, _name: Any, kind: Any, paradigm: Any, _flags: Any, members: Any
    ) -> None:
        if paradigm == _otf2.PARADIGM_MPI and kind == _otf2.GROUP_TYPE_COMM_LOCATIONS:
            found.world = list(members)
        elif paradigm == _otf2.PARADIGM_MPI and kind == _otf2.GROUP_TYPE_COMM_GROUP:
            found.members[number] = list(members)
        elif paradigm == _otf2.PARADIGM_MPI and kind == _otf2.GROUP_TYPE_COMM_SELF:
            found.alone.add(number)

    def communicator(_: Any, number: int, _name: Any, group: int, *_rest: Any) -> None:
        found.communicators[number] = (group,)

    def between(_: Any, number: int, _name: Any, one: int, other: int, *_rest: Any) -> None:
        found.communicators[number] = (one, other)

    callbacks = _otf2.GlobalDefReaderCallbacks_New()
    _otf2.GlobalDefReaderCallbacks_SetLocationCallback(callbacks, location)
    _otf2.GlobalDefReaderCallbacks_SetGroupCallback(callbacks, group)
    _otf2.GlobalDefReaderCallbacks_SetCommCallback(callbacks, communicator)
    _otf2.GlobalDefReaderCallbacks_SetInterCommCallback(callbacks, between)
    definitions = _otf2.Reader_GetGlobalDefReader(reader)
    _otf2.Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks, None)
    _otf2.GlobalDefReaderCallbacks_Delete(callbacks)
    _otf2.Reader_ReadAllGlobalDefinitions(reader, definitions)
    _otf2.Reader_CloseGlobalDefReader(reader, definitions)
    return found


def _read_messages(reader: Any, definitions: _Definitions, traffic: Traffic) -> None:
    sums: dict[tuple[int, int, int], list[int]] = {}

    def message(
        location: int, _time: Any, _: Any, _attributes: Any, receiver: int, communicator: int,
        _tag: Any, size: int, *_rest: Any,
    ) -> None:  # fmt: skip
        found = sums.setdefault((location, communicator, receiver), [0, 0])
        found[0] += 1
        found[1] += size

    def nonblocking(*event: Any) -> None:  # the package keeps one callback a function alive
        message(*event)

    events = _open_events(reader, list(definitions.group_of))
    callbacks = _otf2.GlobalEvtReaderCallbacks_New()
    _otf2.GlobalEvtReaderCallbacks_SetMpiSendCallback(callbacks, message)
    _otf2.GlobalEvtReaderCallbacks_SetMpiIsendCallback(callbacks, nonblocking)
    _otf2.Reader_RegisterGlobalEvtCallbacks(reader, events, callbacks, None)
    _otf2.GlobalEvtReaderCallbacks_Delete(callbacks)
    _otf2.Reader_ReadAllGlobalEvents(reader, events)
    _otf2.Reader_CloseGlobalEvtReader(reader, events)
    _otf2.Reader_CloseEvtFiles(reader)
    for (location, communicator, receiver), (messages, nbytes) in sums.items():
        pair = definitions.pair(location, communicator, receiver)
        of_pair = traffic.pairs.setdefault(pair, [0, 0])
        of_pair[0] += messages
        of_pair[1] += nbytes


def _open_events(reader: Any, locations: list[int]) -> Any:
    """Returns the reader of all locations' events; local definitions map its numbers."""
    for location in locations:
        _otf2.Reader_SelectLocation(reader, location)
    with contextlib.suppress(_otf2.Error):  # a trace may have none
        _otf2.Reader_OpenDefFiles(reader)
        for location in locations:
            if local := _otf2.Reader_GetDefReader(reader, location):
                _otf2.Reader_ReadAllLocalDefinitions(reader, local)
                _otf2.Reader_CloseDefReader(reader, local)
        _otf2.Reader_CloseDefFiles(reader)
    _otf2.Reader_OpenEvtFiles(reader)
    for location in locations:
        _otf2.Reader_GetEvtReader(reader, location)
    return _otf2.Reader_GetGlobalEvtReader(reader)
