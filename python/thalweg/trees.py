"""Declared trees: files that say which rank serves which others, and in which order.

docs/tree-file.md describes both forms: JSON, which may name hosts, and the text that ranks share.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, TypeGuard

from thalweg import units
from thalweg._core import algorithms as _core
from thalweg._core.algorithms import DeclaredTree
from thalweg.algorithms import Parameters, Skeleton
from thalweg.errors import UserError, user_errors
from thalweg.files import parse_json, read_text, write_file
from thalweg.network import Network
from thalweg.printable import short

__all__ = [
    "NAME",
    "DeclaredTree",
    "from_json",
    "from_text",
    "make",
    "read",
    "to_json",
    "write",
    "write_parameters",
]

NAME = "tree"
"""The algorithm that takes a declared tree."""
SCHEMA = 1
"""Version of the tree file."""
MOST_NAMED = 16
"""Most hosts that an error lists."""
_NUMBER = re.compile(r"[0-9]{1,18}")
KEYS = ("schema", "ranks", "root", "numbers", "children", "levels", "segment_size")


def read(path: str | PathLike[str], network: Network, placement: Sequence[int]) -> Parameters:
    """Reads the tree in a file, for a placement, as parameters of the algorithm.

    Raises UserError naming the file and the error in it.
    """
    text = read_text(path, f"tree file {path}")
    try:
        if text.lstrip().startswith("{"):
            return from_json(text, network, placement)
        return from_text(text, len(placement))
    except UserError as error:
        raise UserError(f"tree file {path}: {error}") from None


@user_errors()
def from_text(text: str, ranks: int) -> Parameters:
    """Reads the text form. Raises UserError naming the line and the rank at fault."""
    parameters = _core.parse_tree(text)
    _check_ranks(len(parameters.tree.parents), ranks)
    return parameters


def from_json(text: str, network: Network, placement: Sequence[int]) -> Parameters:
    """Reads the JSON form. Raises UserError naming the entry and the rank at fault."""
    return _Reader(_document(text), network, placement).parameters()


def to_json(skeleton: Skeleton) -> str:
    """Returns the JSON form of a skeleton that is one tree. Raises UserError if it isn't."""
    return _json_text(_tree_in(skeleton), skeleton.segment_size)


def _json_text(tree: DeclaredTree, segment_size: int) -> str:
    children = {str(rank): tree.children[rank] for rank in tree.order if tree.children[rank]}
    head: dict[str, Any] = {"schema": SCHEMA, "ranks": len(tree.order), "root": tree.order[0]}
    head["numbers"] = "ranks"  # The keys of `children` are text, and hosts may have such names.
    if segment_size:
        head["segment_size"] = f"{segment_size}B"
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    entries = ",\n".join(f"    {json.dumps(rank)}: {own}" for rank, own in children.items())
    body = ['  "children": {', entries, "  }"] if children else ['  "children": {}']
    return "\n".join(["{", *lines, *body, "}\n"])


def write(path: str | PathLike[str], skeleton: Skeleton) -> None:
    """Writes a skeleton's tree: as JSON if the name ends with .json, else as text.

    Raises UserError if it isn't one tree, or the file can't be written.
    """
    write_parameters(path, Parameters(segment_size=skeleton.segment_size, tree=_tree_in(skeleton)))


def write_parameters(path: str | PathLike[str], parameters: Parameters) -> None:
    """Writes a tree, as read() returns it, as write() does. Raises UserError."""
    output = Path(path)
    tree, segment_size = parameters.tree, parameters.segment_size
    is_json = output.suffix == ".json"
    text = _json_text(tree, segment_size) if is_json else _core.tree_text(tree, segment_size)
    write_file(output, f"tree file {output}", text)


@user_errors()
def make(children: Sequence[Sequence[int]], segment_size: int = 0) -> Parameters:
    """Returns a tree as parameters of the algorithm: the children of each rank, in order.

    Raises UserError if it isn't one tree.
    """
    entries = [(f"rank {rank}", rank, own) for rank, own in enumerate(children) if own]
    return Parameters(segment_size=segment_size, tree=_core.make_tree(len(children), entries))


@user_errors()
def _tree_in(skeleton: Skeleton) -> DeclaredTree:
    return _core.tree_in(skeleton)


def _check_ranks(found: int, wanted: int) -> None:
    if found != wanted:
        raise UserError(
            f"it is for {found} ranks, but the hosts have {wanted}: say -n {found}, or name other "
            "hosts"
        )


def _document(text: str) -> Mapping[str, Any]:
    """Reads the object in the file and checks its keys."""
    found = parse_json(text, "JSON form")
    if not isinstance(found, dict):
        raise UserError("must be an object, in braces")
    for key in found:
        if key not in KEYS:
            raise UserError(f'the key "{key}" is unknown: there are {", ".join(KEYS)}')
    if found.get("schema") != SCHEMA or not _is_whole(found["schema"]):
        raise UserError(f'"schema" must be {SCHEMA}, the version that this Thalweg reads')
    if not isinstance(found.get("children"), dict):
        raise UserError('"children" must be an object: who serves whom, {"0": [1, 2]}')
    if found.get("numbers", "ranks") not in ("ranks", "hosts"):
        raise UserError('"numbers" must be "ranks" or "hosts": what a number as text names')
    if not isinstance(found.get("levels", {}), dict):
        raise UserError('"levels" must be an object: a number for each host, {"west0": 2}')
    return found


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


class _Reader:
    """Resolves a document's host names to ranks."""

    def __init__(
        self, document: Mapping[str, Any], network: Network, placement: Sequence[int]
    ) -> None:
        self._document = document
        self._network = network
        self._ranks_on: dict[str, list[int]] = {}
        """Ranks by host."""
        hosts = network.hosts
        for rank, host in enumerate(placement):
            self._ranks_on.setdefault(hosts[host].name, []).append(rank)
        self._count = len(placement)
        self._leads: set[str] = set()
        """Hosts in the document: the lowest of their ranks stands for them."""
        self._named: set[int] = set()
        """Ranks that the document names by number."""

    def parameters(self) -> Parameters:
        if "ranks" in self._document:
            ranks = self._document["ranks"]
            if not _is_whole(ranks):
                raise UserError('"ranks" must be a whole number')
            _check_ranks(ranks, self._count)
        served = [
            (f'children of "{key}"', self._rank(key, "children"), self._listed(key, own))
            for key, own in self._document["children"].items()
        ]
        if "root" in self._document:
            self._rank(self._document["root"], "root")
        entries = self._with_hosts(served)
        with user_errors():
            tree = _core.make_tree(self._count, entries)
        if "root" in self._document:
            root = self._rank(self._document["root"], "root")
            if tree.order[0] != root:
                raise UserError(
                    f'"root" is rank {root}, but rank {tree.order[0]} is nobody\'s child: '
                    "correct one of them"
                )
        return Parameters(segment_size=self._segment_size(), tree=tree)

    def _segment_size(self) -> int:
        size = self._document.get("segment_size", 0)
        if _is_whole(size) and 0 <= size < 2**63:
            return size
        if not isinstance(size, str):
            raise UserError('"segment_size" must be a size such as "64KiB", below 2^63 bytes')
        return units.parse_size(size)

    def _rank(self, name: Any, where: str) -> int:
        """Returns the rank of a number, also as text, or of a host."""
        if isinstance(name, str) and self._is_number(name, where):
            name = int(name)
        if _is_whole(name):
            if not 0 <= name < self._count:
                raise UserError(
                    f"{where}: there is no rank {short(str(name))} among {self._count}: "
                    f"use 0 to {self._count - 1}"
                )
            self._named.add(name)
            return name
        if not isinstance(name, str) or name not in self._ranks_on:
            hosts = ", ".join(islice(self._ranks_on, MOST_NAMED))
            more = f" and {len(self._ranks_on) - MOST_NAMED} more"
            raise UserError(
                f"{where}: {short(json.dumps(name))} is neither a rank nor a host that has ranks: "
                f"the hosts are {hosts}{more * (len(self._ranks_on) > MOST_NAMED)}"
            )
        self._leads.add(name)
        return self._ranks_on[name][0]

    def _is_number(self, name: str, where: str) -> bool:
        """Whether a text is the number of a rank, and not the name of a host.

        Raises UserError if it may be either, and the document doesn't say which.
        """
        meant = self._document.get("numbers")
        if meant == "hosts" or not _NUMBER.fullmatch(name):
            return False
        ranks = self._ranks_on.get(name)
        number = int(name)
        if meant == "ranks" or ranks is None:
            return True
        if ranks == [number] or number >= self._count:
            return False
        raise UserError(
            f'{where}: "{name}" is a rank, and a host whose first rank is {ranks[0]}: add '
            '"numbers": "ranks" if such texts are ranks, or "numbers": "hosts"'
        )

    def _listed(self, key: str, own: Any) -> list[int]:
        where = f'children of "{key}"'
        if not isinstance(own, list):
            raise UserError(f"{where}: must be a list of ranks and hosts")
        return [self._rank(each, where) for each in own]

    def _with_hosts(
        self, served: list[tuple[str, int, list[int]]]
    ) -> list[tuple[str, int, list[int]]]:
        """Adds the unnamed ranks of named hosts below the host's first."""
        levels = dict(self._document.get("levels", {}))
        entries = {parent: (where, own) for where, parent, own in served}
        if len(entries) < len(served):
            twice = next(p for _, p, _ in served if sum(p == q for _, q, _ in served) > 1)
            raise UserError(f"children: rank {twice} has two entries: put them into one list")
        for host in sorted(self._leads, key=lambda name: self._ranks_on[name][0]):
            first, *others = self._ranks_on[host]
            height = levels.pop(host, 1)
            if not _is_whole(height) or height < 1:
                raise UserError(f'levels of "{host}": must be a whole number of at least 1')
            inside = [first, *(rank for rank in others if rank not in self._named)]
            for parent, own in _of_height(inside, height):
                where, before = entries.get(parent, (f'ranks of "{host}"', []))
                # Messages that leave the host come first: they take longest.
                entries[parent] = (where, [*before, *own])
        for host in levels:
            raise UserError(
                f'levels of "{host}": the tree doesn\'t name this host: name it in children, or '
                "leave it out here"
            )
        return [(where, parent, own) for parent, (where, own) in entries.items()]


def _has_room(degree: int, height: int, ranks: int) -> bool:
    """Whether a tree of `height` levels below its root has room for so many ranks."""
    if degree == 1:
        return height + 1 >= ranks
    room = width = 1
    while height > 0 and room < ranks:
        width *= degree
        room += width
        height -= 1
    return room >= ranks


def _of_height(ranks: Sequence[int], height: int) -> list[tuple[int, list[int]]]:
    """Returns each rank that has children, with them, in a tree of at most `height` levels below
    the first rank. All ranks but the last parent have equally many, as few as that takes."""
    degree = 1
    while not _has_room(degree, height, len(ranks)):
        degree += 1
    found = []
    for at, rank in enumerate(ranks):
        own = list(ranks[at * degree + 1 : (at + 1) * degree + 1])
        if own:
            found.append((rank, own))
    return found
