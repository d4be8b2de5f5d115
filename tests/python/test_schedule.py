"""Schedules as Python sees them; the C++ tests cover the rest."""

import pytest

from thalweg.collective import Collective, Kind, is_reduction, is_rooted, parse_kind
from thalweg.errors import UserError
from thalweg.schedule import How, Layout, Range, Schedule, Transfer, verify


def test_a_schedule_is_verified() -> None:
    bcast = Collective(Kind.bcast, 3, root=1)
    first = Transfer(1, 0, 0, How.copy, [Range(0, 2)])
    second = Transfer(0, 2, 1, How.copy, [Range(0, 2)])
    schedule = Schedule(2, [first, second], segments=4, period=2, window=3)
    verify(bcast, schedule)
    assert [(t.from_, t.to, t.step) for t in schedule.transfers] == [(1, 0, 0), (0, 2, 1)]
    assert schedule.transfers[0].what[0].count == 2
    assert (schedule.chunks, schedule.segments, schedule.period) == (2, 4, 2)
    assert schedule.window == 3
    with pytest.raises(ValueError, match="step 1, 0 -> 2: register 0 of rank 0 lacks chunk 0"):
        verify(bcast, Schedule(2, [second]))


def test_a_layout_cuts_data_into_chunks() -> None:
    layout = Layout(10, 1, 2, [1, 3])
    assert (layout.interval(0, 0), layout.interval(0, 1)) == ((0, 2), (2, 10))
    with pytest.raises(ValueError, match="1 chunks from 2 of segment 0 aren't in a layout"):
        layout.interval(0, 2)


def test_collectives() -> None:
    assert parse_kind("allreduce") is Kind.allreduce
    with pytest.raises(UserError, match='"all" is not a collective: choose one of bcast'):
        parse_kind("all")
    assert is_rooted(Kind.gather) and not is_reduction(Kind.gather)
    scatter = Collective(Kind.scatter, 3, root=2)
    assert scatter.blocks == 3
    assert [scatter.after(rank, 1) for rank in range(3)] == [False, True, False]
    with pytest.raises(ValueError, match="there is no rank 3: the scatter has 3"):
        scatter.before(3, 0)
    with pytest.raises(ValueError, match="a bcast of 2 ranks with the root 2"):
        Collective(Kind.bcast, 2, root=2)
