"""Lanes of a timeline: intervals that overlap are drawn beside each other."""

import heapq
from collections.abc import Sequence


def lanes(begins: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Returns the lowest free lane for each interval, in the order of their begins. O(n log n)."""
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    found, count = [], 0
    for begin, end in zip(begins, ends, strict=True):
        while busy and busy[0][0] < begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, count = count, count + 1
        heapq.heappush(busy, (end, lane))
        found.append(lane)
    return found
