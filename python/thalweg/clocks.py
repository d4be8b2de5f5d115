"""The clocks of hosts, as a run compared them with that of world rank 0's host."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST_DRIFT = 1e-4
"""Drift of a clock that was compared only once: no host's clock is worse than 100 ppm, or it is
broken."""


@dataclass(frozen=True)
class HostClock:
    """A host's CLOCK_MONOTONIC against rank 0's host's: on lines from comparison to comparison.

    A time of this clock plus its offset is a time of rank 0's. The true offset is within the error
    of the one given if the drift is constant between two comparisons, however asymmetric the paths
    between the hosts are.
    """

    at_ns: Sequence[int]
    """When it was compared, by this clock: at the start of the run, now and then in a long one, and
    at the end, if it came to it."""
    offset_ns: Sequence[int]
    error_ns: Sequence[int]

    def offset(self, time_ns: Any) -> NDArray[np.float64]:
        """Returns the offset at times of this clock, in nanoseconds."""
        if not self.at_ns:
            return np.zeros_like(time_ns, np.float64)
        if not self._has_lines:
            return np.full_like(time_ns, self.offset_ns[0], np.float64)
        line, share = self._lines(time_ns)
        offset = np.asarray(self.offset_ns, np.float64)
        return np.asarray(offset[line] + share * np.diff(offset)[line], np.float64)

    def error(self, time_ns: Any) -> NDArray[np.float64]:
        """Returns how far the offset may be wrong at times of this clock, in nanoseconds."""
        if not self.at_ns:
            return np.full_like(time_ns, np.inf, np.float64)
        if not self._has_lines:
            since = np.abs(np.asarray(time_ns) - self.at_ns[0])
            unknown = LARGEST_DRIFT if self.error_ns[0] else 0  # rank 0's own clock has no error
            return np.asarray(self.error_ns[0] + unknown * since, np.float64)
        line, share = self._lines(time_ns)
        error = np.asarray(self.error_ns, np.float64)
        return np.asarray(
            np.abs(1 - share) * error[line] + np.abs(share) * error[line + 1], np.float64
        )

    @property
    def drift(self) -> float:
        """Seconds per second that this clock loses against rank 0's; 0 if not known."""
        if not self._has_lines:
            return 0.0
        return (self.offset_ns[-1] - self.offset_ns[0]) / (self.at_ns[-1] - self.at_ns[0])

    @property
    def drift_error(self) -> float:
        """How far the drift may be wrong."""
        if not self._has_lines:
            return 0.0 if self.error_ns and not self.error_ns[0] else LARGEST_DRIFT
        return (self.error_ns[0] + self.error_ns[-1]) / (self.at_ns[-1] - self.at_ns[0])

    @property
    def _has_lines(self) -> bool:
        return len(self.at_ns) > 1 and all(a < b for a, b in pairwise(self.at_ns))

    def _lines(self, time_ns: Any) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Returns for each time the line on which it is, and how far along: 0 to 1 between its two
        comparisons."""
        at = np.asarray(self.at_ns, np.int64)
        time = np.asarray(time_ns)
        line = np.searchsorted(at[1:-1], time, side="right")
        since = np.asarray(time - at[line], np.float64)
        return line, since / np.diff(at)[line]


def are_one(clocks: Sequence[HostClock]) -> bool:
    """Whether all hosts have rank 0's clock, as containers and emulated hosts of one machine have.

    Clocks of machines begin when these start, so that none is within the error of another by
    chance.
    """
    compared = [
        abs(offset) <= error
        for clock in clocks for offset, error in zip(clock.offset_ns, clock.error_ns, strict=True)
    ]  # fmt: skip
    return all(len(clock.at_ns) > 0 for clock in clocks) and all(compared)


UNKNOWN = HostClock((), (), ())
"""A clock that was never compared."""
RANK_0S = HostClock((0,), (0,), (0,))
"""Rank 0's own clock."""


def of_fit(fit: Any) -> HostClock:
    """Returns the clock of a file's header: arrays of two, errors negative where nothing is."""
    known = [at for at in range(2) if fit["error_ns"][at] >= 0]
    names = ("at_ns", "offset_ns", "error_ns")
    return HostClock(*(tuple(int(fit[name][at]) for at in known) for name in names))


FIT = np.dtype([("at_ns", "<i8", 2), ("offset_ns", "<i8", 2), ("error_ns", "<i8", 2)])
"""The comparisons in the header of a file."""

SCALE = np.dtype([("ticks", "<i8"), ("ns", "<i8"), ("ns_per_tick", "<f8")])
"""Ticks as nanoseconds of CLOCK_MONOTONIC: `ns` at `ticks`, and how long a tick is."""


def to_ns(ticks: NDArray[np.int64], scale: Any) -> NDArray[np.int64]:
    """Returns times in ticks as nanoseconds of CLOCK_MONOTONIC."""
    since = (ticks - scale["ticks"]) * float(scale["ns_per_tick"])
    return np.asarray(np.rint(since), np.int64) + np.int64(scale["ns"])
