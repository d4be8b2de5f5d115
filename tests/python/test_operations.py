"""The operations that plans are asked for."""

from typing import Any

import numpy as np
import pytest

import thalweg
from thalweg import operations
from thalweg.collective import Collective, Kind, is_rooted
from thalweg.errors import UserError
from thalweg.operations import Operation


def test_there_is_one_for_every_kind() -> None:
    assert set(operations.OPERATIONS) == set(Kind)
    for kind in Kind:
        made = operations.make(kind.name, "2KB", root=2)
        assert getattr(thalweg, type(made).__name__) is type(made)
        collective = made.collective(5)
        root = 2 if is_rooted(kind) else 0
        size = 0 if kind is Kind.barrier else 2000
        assert collective == Collective(kind, 5, root, size)


def test_unequal_blocks() -> None:
    gather = thalweg.Gather(root=1, nbytes=["1KB", 0, 500]).collective(3)
    assert gather.block_sizes == [1000, 0, 500]
    assert (gather.root, gather.size, gather.total) == (1, 500, 1500)
    assert operations.make("allgather", "1KB, 2KB").collective(2).block_sizes == [1000, 2000]
    alltoall = thalweg.Alltoall(nbytes=[[0, 1], ["1KB", 0]], in_place=True).collective(2)
    assert alltoall.block_sizes == [0, 1, 1000, 0]
    assert alltoall.in_place


def test_numbers_of_any_kind() -> None:
    assert thalweg.Bcast(root=np.int64(1), nbytes=np.int32(7)).collective(2).size == 7  # type: ignore[arg-type]
    assert repr(thalweg.Bcast(nbytes="8MB")) == "Bcast(root=0, nbytes='8MB')"
    assert thalweg.Barrier() == thalweg.Barrier()


@pytest.mark.parametrize(
    ("operation", "complaint"),
    [
        (thalweg.Bcast(root=4), "Bcast on 4 ranks: there is no root 4"),
        (thalweg.Bcast(root=-1), "there is no root -1"),
        (thalweg.Bcast(nbytes="much"), "much"),
        (thalweg.Bcast(nbytes=-1), "Bcast on 4 ranks: nbytes -1 must be at least 0"),
        (thalweg.Scan(nbytes=1.5), 'nbytes 1.5 must be a whole number or text such as "8MB"'),  # type: ignore[arg-type]
        (thalweg.Reduce(root="x"), "root 'x' must be a whole number"),  # type: ignore[arg-type]
        (thalweg.Allreduce(nbytes=[1, 2, 3, 4]), "must be a whole number"),  # type: ignore[arg-type]
        (thalweg.Gather(nbytes=[1, 2]), "nbytes has 2 sizes; give one for each of the ranks"),
        (thalweg.Alltoall(nbytes=[[1]]), "nbytes must have a row for each sender"),
        (thalweg.Alltoall(nbytes=[[1]] * 4), "give one for each of the ranks"),
        (operations.Exact(Collective(Kind.scan, 2)), "needs 2 ranks, not 4"),
    ],
)
def test_what_is_impossible_is_said(operation: Operation, complaint: str) -> None:
    with pytest.raises(UserError) as raised:
        operation.collective(4)
    assert complaint in str(raised.value)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match="reduce_scatter"):
        operations.make("cast", "1MB")


def test_names_of_the_package() -> None:
    missing: Any = thalweg
    assert {"plan", "Bcast", "Schedule", "UserError"} <= set(dir(thalweg))
    assert all(hasattr(thalweg, name) for name in thalweg.__all__)
    with pytest.raises(AttributeError, match="no attribute 'plam'"):
        missing.plam  # noqa: B018
