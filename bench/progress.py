"""The progress of a long run, and the expected time of the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from bench.report import console


class Progress:
    """Announces the parts of a run, each with the time expected for it and for what follows.

    Estimates are corrected by what the parts so far took in comparison with theirs.
    """

    def __init__(
        self, estimates: Mapping[str, float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`estimates`: seconds by name, in the order of the run."""
        self._left = dict(estimates)
        self._count = len(self._left)
        self._clock = clock
        self._expected = self._taken = 0.0  # by the parts that are done

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Times a part; one that fails doesn't change the estimates of the others."""
        console.print(f"[bold]{self.announcement(name)}[/bold]")
        expected, began = self._left.pop(name), self._clock()
        yield
        self._expected += expected
        self._taken += self._clock() - began

    def announcement(self, name: str) -> str:
        """Announces a part."""
        own = self._left[name] * self._correction()
        rest = sum(self._left.values()) * self._correction() - own
        then = f"; then {duration(rest)} for the rest" if len(self._left) > 1 else ""
        at = self._count - len(self._left) + 1
        return f"part {at} of {self._count}: {name}: {duration(own)}{then}"

    def _correction(self) -> float:
        return self._taken / self._expected if self._expected else 1.0


def duration(seconds: float) -> str:
    """Prints a time such as "about 2 h 10 min", "about 40 s"."""
    if seconds < 90:
        return f"about {seconds:.0f} s"
    minutes = round(seconds / 60)
    hours, minutes = divmod(minutes, 60)
    return f"about {hours} h {minutes} min" if hours else f"about {minutes} min"
