"""The bars that results must meet, and whether they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.summary import ratio, relative_difference, slower_beyond_noise, speedup, summarise

most_dilation_difference = 0.05
most_regret = 0.10  # of a choice against the best candidate
undecided = "not decided"


@dataclass(frozen=True)
class Bar:
    """Limits for one collective; None: no limit."""

    times_bound: float | None = None  # at most this many times the bound
    times_faster: float | None = None  # than native, at least
    never_slower: bool = False  # than native, beyond noise

    def text(self) -> str:
        parts = []
        if self.times_bound is not None:
            parts.append(f"<= {self.times_bound:g}x bound")
        if self.times_faster is not None:
            parts.append(f">= {self.times_faster:g}x faster")
        if self.never_slower:
            parts.append("not slower beyond noise")
        return ", ".join(parts)

    def missed(
        self, ours: Sequence[float], native: Sequence[float], bound: float | None
    ) -> list[str]:
        """Returns the parts of the bar that the valid samples miss, as text; empty if none."""
        time = summarise(ours).median
        missed = []
        if self.times_bound is not None and (bound is None or time > self.times_bound * bound):
            missed.append("no bound" if bound is None else f"{time / bound:.2f}x bound")
        if self.times_faster is not None:
            faster = speedup(summarise(native).median, time)
            if faster < self.times_faster:
                missed.append(f"{faster:.2f}x faster")
        if self.never_slower and slower_beyond_noise(ours, native):
            worst = ratio(ours, native)
            missed.append(f"{worst.value:.2f}x as slow ({worst.low:.2f} to {worst.high:.2f})")
        return missed


def dilation_disagrees(at_d: Sequence[float], at_2d: Sequence[float]) -> str:
    """Says how much the medians differ, in which case the CPU was measured; else empty."""
    difference = relative_difference(summarise(at_d).median, summarise(at_2d).median)
    return "" if difference <= most_dilation_difference else f"{100 * difference:.1f} %"


def close_to_best(regret: float, *, is_whole: bool) -> str:
    """Whether a choice is close to the best candidate, of which it takes so much more; not decided
    if some aren't measured, which might be better."""
    if regret > most_regret:
        return "no"
    return "yes" if is_whole else undecided
