"""The collective operations that can be planned: `Bcast(root=0, nbytes="8MB")`.

`nbytes` is a number of bytes or text such as "8MB". It counts what MPI's arguments count: the whole
vector of Bcast, Reduce, Allreduce, Scan and Exscan; one rank's block of Gather, Scatter, Allgather
and ReduceScatter; the data from one rank to one other of Alltoall. The collectives of blocks also
take a list, and are then the v-forms (MPI_Gatherv and so on): bytes by rank, or for Alltoall a row
for each sender with its bytes by receiver.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeGuard

from thalweg import units
from thalweg.collective import Collective, Kind, is_rooted, parse_kind
from thalweg.errors import UserError, user_errors
from thalweg.printable import short

__all__ = [
    "Allgather",
    "Allreduce",
    "Alltoall",
    "Barrier",
    "Bcast",
    "Exact",
    "Exscan",
    "Gather",
    "Operation",
    "Reduce",
    "ReduceScatter",
    "Scan",
    "Scatter",
    "make",
    "whole",
]

Size = int | str


class Operation:
    """An operation, which becomes a collective of a number of ranks."""

    kind: ClassVar[Kind]

    def collective(self, ranks: int) -> Collective:
        """Returns the operation on `ranks` ranks. Raises UserError if that is impossible."""
        raise NotImplementedError

    def _collective(
        self,
        ranks: int,
        root: int = 0,
        nbytes: Any = 0,
        blocks: Sequence[int] = (),
        in_place: bool = False,
    ) -> Collective:
        where = f"{type(self).__name__} on {ranks} ranks"
        root = whole(root, f"{where}: root")
        if ranks < 1 or not 0 <= root < ranks:
            raise UserError(
                f"{where}: there is no root {root}; choose one of the ranks, from 0 to {ranks - 1}"
            )
        size = 0 if blocks else _bytes(nbytes, where)
        with user_errors():
            return Collective(self.kind, ranks, root, size, in_place, blocks)


@dataclass(frozen=True)
class _Rooted(Operation):
    """An operation on one vector, with a root."""

    root: int = 0
    nbytes: Size = "1MB"

    def collective(self, ranks: int) -> Collective:
        return self._collective(ranks, self.root, self.nbytes)


@dataclass(frozen=True)
class _Unrooted(Operation):
    """An operation on one vector, without a root."""

    nbytes: Size = "1MB"

    def collective(self, ranks: int) -> Collective:
        return self._collective(ranks, nbytes=self.nbytes)


@dataclass(frozen=True)
class _RootedBlocks(Operation):
    """An operation on a block per rank, with a root."""

    root: int = 0
    nbytes: Size | Sequence[Size] = "1MB"

    def collective(self, ranks: int) -> Collective:
        if not _is_list(self.nbytes):
            return self._collective(ranks, self.root, self.nbytes)
        return self._collective(ranks, self.root, blocks=_row(self, self.nbytes, ranks))


@dataclass(frozen=True)
class _Blocks(Operation):
    """An operation on a block per rank, without a root."""

    nbytes: Size | Sequence[Size] = "1MB"

    def collective(self, ranks: int) -> Collective:
        if not _is_list(self.nbytes):
            return self._collective(ranks, nbytes=self.nbytes)
        return self._collective(ranks, blocks=_row(self, self.nbytes, ranks))


class Bcast(_Rooted):
    """MPI_Bcast: the root's vector to all."""

    kind = Kind.bcast


class Reduce(_Rooted):
    """MPI_Reduce: all ranks' vectors, combined, to the root."""

    kind = Kind.reduce


class Allreduce(_Unrooted):
    """MPI_Allreduce: all ranks' vectors, combined, to all."""

    kind = Kind.allreduce


class Scan(_Unrooted):
    """MPI_Scan: to each rank the vectors of the ranks up to it, combined."""

    kind = Kind.scan


class Exscan(_Unrooted):
    """MPI_Exscan: to each rank the vectors of the ranks before it, combined."""

    kind = Kind.exscan


class Gather(_RootedBlocks):
    """MPI_Gather, and with a list MPI_Gatherv: a block of each rank to the root."""

    kind = Kind.gather


class Scatter(_RootedBlocks):
    """MPI_Scatter, and with a list MPI_Scatterv: a block of the root's to each rank."""

    kind = Kind.scatter


class Allgather(_Blocks):
    """MPI_Allgather, and with a list MPI_Allgatherv: a block of each rank to all."""

    kind = Kind.allgather


class ReduceScatter(_Blocks):
    """MPI_Reduce_scatter_block, and with a list MPI_Reduce_scatter: to each rank its block of all
    ranks' vectors, combined."""

    kind = Kind.reduce_scatter


@dataclass(frozen=True)
class Alltoall(Operation):
    """MPI_Alltoall, and with rows of a list MPI_Alltoallv: a block from each rank to each."""

    nbytes: Size | Sequence[Sequence[Size]] = "1MB"
    in_place: bool = False
    """MPI_IN_PLACE: the block from a rank takes the place of the block for it."""

    kind = Kind.alltoall

    def collective(self, ranks: int) -> Collective:
        if not isinstance(self.in_place, bool):
            raise UserError(f"Alltoall: in_place {self.in_place!r} must be True or False")
        if not _is_list(self.nbytes):
            return self._collective(ranks, nbytes=self.nbytes, in_place=self.in_place)
        if len(self.nbytes) != ranks or not all(_is_list(row) for row in self.nbytes):
            raise UserError(
                f"Alltoall on {ranks} ranks: nbytes must have a row for each sender, with its "
                f"bytes to each rank; it has {len(self.nbytes)} entries"
            )
        blocks = [size for row in self.nbytes for size in _row(self, row, ranks)]
        return self._collective(ranks, blocks=blocks, in_place=self.in_place)


@dataclass(frozen=True)
class Barrier(Operation):
    """MPI_Barrier: nobody leaves before all have entered."""

    kind = Kind.barrier

    def collective(self, ranks: int) -> Collective:
        return self._collective(ranks)


@dataclass(frozen=True)
class Exact(Operation):
    """A given collective, with its own number of ranks only."""

    exactly: Collective

    def collective(self, ranks: int) -> Collective:
        if ranks != self.exactly.ranks:
            raise UserError(f"{self.exactly} needs {self.exactly.ranks} ranks, not {ranks}")
        return self.exactly


OPERATIONS: dict[Kind, Callable[..., Operation]] = {
    operation.kind: operation
    for operation in (
        Bcast, Reduce, Allreduce, Gather, Scatter, Allgather,
        Alltoall, ReduceScatter, Scan, Exscan, Barrier,
    )
}  # fmt: skip
"""The operations by the kind of collective."""


def make(name: str, nbytes: str, root: int = 0) -> Operation:
    """Returns the operation of this name: make("bcast", "8MB"). Commas separate sizes of blocks.

    The root counts only if the operation has one, and the size if it has data. Raises UserError
    listing the known names.
    """
    kind = parse_kind(name)
    if kind is Kind.barrier:
        return Barrier()
    size = [part.strip() for part in nbytes.split(",")] if "," in nbytes else nbytes
    return OPERATIONS[kind](**{"root": root} if is_rooted(kind) else {}, nbytes=size)


def _row(operation: Operation, sizes: Sequence[Size], ranks: int) -> list[int]:
    where = f"{type(operation).__name__} on {ranks} ranks"
    if len(sizes) != ranks:
        raise UserError(f"{where}: nbytes has {len(sizes)} sizes; give one for each of the ranks")
    return [_bytes(size, where) for size in sizes]


def _is_list(sizes: object) -> TypeGuard[Sequence[Any]]:
    """Whether these are sizes of blocks: a list, a tuple or an array of NumPy."""
    return not isinstance(sizes, str | bytes) and hasattr(sizes, "__len__")


def _bytes(size: Any, where: str) -> int:
    if isinstance(size, str):
        return units.parse_size(size)
    count = whole(size, f"{where}: nbytes", 'a whole number or text such as "8MB"')
    if not 0 <= count < 2**63:
        raise UserError(f"{where}: nbytes {count} must be at least 0 and below 2^63")
    return count


def whole(number: Any, name: str, wanted: str = "a whole number") -> int:
    """Converts a whole number of Python, NumPy and so on, but no truth value.

    Raises UserError: "root True must be a whole number".
    """
    is_flag = isinstance(number, bool) or type(number).__name__ in ("bool_", "bool")
    try:
        if not is_flag:
            return operator.index(number)
    except TypeError:
        pass
    raise UserError(f"{name} {short(repr(number))} must be {wanted}")
